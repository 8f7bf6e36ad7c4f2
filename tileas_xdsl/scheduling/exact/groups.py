"""
The constraints that a conflict may be made of, in the order in which an explanation tries to do without them.

Dependences within an iteration, and who signals whom, are no group: they are the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tileas_xdsl.scheduling.exact.problem import ExactProblem


class RuleKind(Enum):
    """What a group of constraints is about; the text stands in reports."""

    SLOT = "slot"
    BYTES = "memory"
    REGISTERS = "registers"
    ISSUE = "in-order issue"
    CARRIED = "carried dependences"
    STAGES = "constraints on stages"
    QUEUES = "engines that serve in order"
    WARPS = "warps"
    BARRIERS = "named barriers"
    STAY = "values that stay on their agent"
    PRODUCER = "a producer for the ops of varying latency"
    RULE = "rule"


@dataclass(frozen=True)
class RuleGroup:
    """Constraints that an explanation drops together."""

    kind: RuleKind
    name: str = ""
    """Of the slot, the space, the pool of registers or the rule."""


def groups_of(problem: ExactProblem, agents: int) -> Iterator[RuleGroup]:
    """All groups that constrain the problem with up to `agents` agents."""
    used = {use.slot for op in problem.ops for use in op.uses}
    yield from (RuleGroup(RuleKind.SLOT, slot.name) for slot in problem.machine.slots if slot.name in used)
    held = {ring.space for ring in problem.rings} | {it.move.space for it in problem.values if it.move is not None}
    yield from (RuleGroup(RuleKind.BYTES, space.name) for space in problem.machine.spaces if space.name in held)
    if problem.machine.registers is not None:
        yield RuleGroup(RuleKind.REGISTERS)
    yield from (RuleGroup(RuleKind.REGISTERS, pool.name) for pool in problem.machine.pools)
    if any(op.issue for op in problem.ops):
        yield RuleGroup(RuleKind.ISSUE)
    if any(it.distance for it in problem.dependences):
        yield RuleGroup(RuleKind.CARRIED)
    if limits_stages(problem):
        yield RuleGroup(RuleKind.STAGES)
    if problem.queues:
        yield RuleGroup(RuleKind.QUEUES)
    if agents > 1:
        yield from _joint_groups(problem)


def limits_stages(problem: ExactProblem) -> bool:
    """Whether it matters in which stage an op is."""
    on_ops = any(op.group is not None or op.max_stage is not None for op in problem.ops)
    return on_ops or problem.serial or problem.machine.ceiling is not None


def _joint_groups(problem: ExactProblem) -> Iterator[RuleGroup]:
    yield RuleGroup(RuleKind.WARPS)
    yield RuleGroup(RuleKind.BARRIERS)
    if any(value.move is None for value in problem.values):
        yield RuleGroup(RuleKind.STAY)
    if problem.has_producer:
        yield RuleGroup(RuleKind.PRODUCER)
    yield from (RuleGroup(RuleKind.RULE, rule.name) for rule in problem.rules)
