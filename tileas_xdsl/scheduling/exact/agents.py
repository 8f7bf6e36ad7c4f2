"""
What a partition into agents asks of a block: warps, and registers for each thread.

Warps of an agent lie together, at a multiple of their number, in the order of the agents, as the mapping of execution
units puts them; `setmaxnreg` gives registers to groups of 4 warps in steps of 8, between 24 and 256 (PTX ISA).

Values that one op needs in registers at once: where they are too many, no interval and no agents help.

Whatever an op reads and does not let go at its start lies there at its start, in registers of its agent, brought from
another one or not; and so does what it makes, which takes its registers no later. So the words of these are a lower
bound of what the agent needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.problem import ExactProblem, RegisterFile, RegisterValue
from tileas_xdsl.targets.warps import LEAST_REGISTERS, MOST_REGISTERS, REGISTER_STEP, WARP, block_warps, up_to_groups


@dataclass(frozen=True)
class CrowdedOp:
    """An op at whose start more has to lie in registers than there is room for."""

    op: str
    held: tuple[tuple[str, int], ...]
    """Values and constants with their words."""
    room: int
    pool: str | None = None
    kept: int = 0
    """Words of the pool that are taken for the whole kernel."""

    @property
    def words(self) -> int:
        return sum(words for _, words in self.held)

    @property
    def group(self) -> RuleGroup:
        return RuleGroup(RuleKind.REGISTERS, self.pool or "")

    def __str__(self) -> str:
        of = f" of {self.pool}" if self.pool else ""
        held = " and ".join(f"{name} {words}" for name, words in self.held)
        beside = f" beside {self.kept} that are kept" if self.kept else ""
        return f"registers{of}: {self.op} needs {held} at once, {self.words} words of {self.room}{beside}"


def crowded_op(problem: ExactProblem) -> CrowdedOp | None:
    """The first op whose values do not fit together, if there is one; then the problem has no schedule at all."""
    crowds = (crowd for op in problem.ops for crowd in _crowds(problem, op.name))
    return next((crowd for crowd in crowds if crowd.held and crowd.words + crowd.kept > crowd.room), None)


def _crowds(problem: ExactProblem, op: str) -> Iterator[CrowdedOp]:
    """What lies in each pool, and with the agent, at the start of the op."""
    for pool in problem.machine.pools:
        yield CrowdedOp(op, tuple(_held(problem, op, pool.name)), pool.words, pool.name, pool.kept)
    if problem.machine.registers is not None:
        yield CrowdedOp(op, tuple(_held(problem, op, None)), _largest_budget(problem))


def _held(problem: ExactProblem, op: str, pool: str | None) -> Iterator[tuple[str, int]]:
    for value in problem.values:
        if value.words and value.pool == pool and (_is_read_by(value, op) or _is_made_by(problem, value, op)):
            yield value.name, value.words
    if pool is None:
        for constant in problem.constants:
            if constant.words and (constant.op == op or problem.agents == 1):
                yield constant.name, constant.words


def _is_read_by(value: RegisterValue, op: str) -> bool:
    return any(read.op == op and read.hold for read in value.uses)


def _is_made_by(problem: ExactProblem, value: RegisterValue, op: str) -> bool:
    """Whether `op` makes it, and it is still needed after the start of `op`, where it is or to be brought elsewhere."""
    takes_time = value.move is None or value.move.cycles > 0 or problem.op(op).latency > 0
    return value.definition == op and takes_time and any(read.hold for read in value.uses)


def _largest_budget(problem: ExactProblem) -> int:
    """The most words that an agent may have, whatever the warps."""
    blocks = (tuple(warps for warps in agents if warps) for agents in possible_warps(problem, problem.agents))
    return max((max(register_budgets(problem, block) or (0,)) for block in blocks), default=0)


def round_warps(warps: int) -> int:
    """An agent is one warp, or whole groups of four."""
    return 1 if warps == 1 else up_to_groups(warps)


def register_budgets(problem: ExactProblem, agents: Sequence[int]) -> tuple[int, ...] | None:
    """Words a thread for the values of each agent, given the warps of each; None where the file has too few."""
    file = problem.machine.registers
    if file is None:
        return (0,) * len(agents)
    producers = agents[:1] if problem.has_producer and len(agents) > 1 else ()
    left = file.words - sum(warps * WARP * file.producer for warps in producers)
    threads = WARP * sum(agents[len(producers) :])
    share = _registers_each(left, threads)
    if left < 0 or share < LEAST_REGISTERS:
        return None
    compute = max(min(share - file.reserve, file.budget), 0)
    return (*(_producer_budget(file) for _ in producers), *(compute for _ in agents[len(producers) :]))


def _registers_each(words: int, threads: int) -> int:
    if threads == 0:
        return MOST_REGISTERS
    return min(words // threads // REGISTER_STEP * REGISTER_STEP, MOST_REGISTERS)


def _producer_budget(file: RegisterFile) -> int:
    return max(file.producer - file.reserve, 0)


def possible_warps(problem: ExactProblem, count: int) -> Iterator[tuple[int, ...]]:
    """The warps that up to `count` agents may have, 0 for one that is not used, so that the block can be made."""
    levels = sorted({round_warps(op.min_warps) for op in problem.ops})
    for used in range(1, count + 1):
        for agents in product(levels, repeat=used):
            if block_warps(agents) <= problem.machine.warps and register_budgets(problem, agents) is not None:
                yield (*agents, *(0,) * (count - used))
