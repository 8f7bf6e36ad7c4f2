"""
From what the machine noticed to what a person reads: violations with both parties, the missing edge and a witness.
"""

from __future__ import annotations

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.agents import Agent
from tileas_xdsl.machine.execution import Machine
from tileas_xdsl.machine.happens_before import Access, Clock, Conflict
from tileas_xdsl.machine.memory import ByteRegion
from tileas_xdsl.machine.trace import Witness
from tileas_xdsl.machine.violations import Party, Violation, ViolationKind


def region_text(region: ByteRegion) -> str:
    """`shared 'ring'[1:2, 0:64]`, or the byte range where the region is no box."""
    base = region.base
    if region.box is not None:
        if not region.box:
            return f"{base.space} '{base.name}'"
        spans = ", ".join(str(low) if high == low + 1 else f"{low}:{high}" for low, high in region.box)
        return f"{base.space} '{base.name}'[{spans}]"
    return f"{base.space} '{base.name}' bytes {region.start}:{region.stop}"


def party_of(access: Access) -> Party:
    how = "asynchronously " if access.work is not None else ""
    return Party(
        access.op,
        access.agent.name,
        access.iteration,
        f"{how}{access.verb} {region_text(access.region)}",
    )


def _dependence(earlier: Access, later: Access) -> str:
    if earlier.is_write and later.is_write:
        return "write after write"
    return "read after write" if earlier.is_write else "write after read"


def violation_of_conflict(machine: Machine, conflict: Conflict) -> Violation:
    """A race, or a missing proxy fence, between two accesses."""
    earlier, later = conflict.earlier, conflict.later
    parties = (party_of(earlier), party_of(later))
    where = region_text(later.region)
    if conflict.missing_fence:
        return Violation(
            ViolationKind.MISSING_FENCE,
            f"generic access to {where}, then an access of the asynchronous proxy, and no proxy fence between them",
            parties,
            "a fence.proxy.async by a thread that already observes the first access (before its arrive), or by the "
            "issuer after it waited for it",
            _witness(machine, earlier, later),
        )
    return Violation(
        ViolationKind.RACE,
        f"{_dependence(earlier, later)} on {where} with nothing that orders the two",
        parties,
        _missing_edge(earlier, later),
        _witness(machine, earlier, later),
    )


def _missing_edge(earlier: Access, later: Access) -> str:
    first, second = op_name(earlier.op), op_name(later.op)
    work = earlier.work
    if work is not None and later.work is not None and work.resource is not None:
        if work.resource is later.work.resource:
            return (
                "both run on one resource, so they never overlap, but either may come first: "
                f"let '{second}' depend on the token of '{first}'"
            )
    if work is not None:
        reached = "issued" if later.work is not None else "reached"
        return f"a wait that completes '{first}' before '{second}' is {reached}"
    if later.work is not None:
        return f"an edge that lets '{second}' start only after '{first}' of {earlier.agent.name}"
    return f"a synchronisation of {later.agent.name} with {earlier.agent.name} after '{first}' and before '{second}'"


def _past(access: Access) -> Clock:
    """The clock up to which things must have happened for `access` to take place."""
    if access.work is not None:
        return {**access.work.mind.clock, access.agent.number: access.work.moment}
    return {**access.agent.clock, access.agent.number: access.moment}


def _witness(machine: Machine, earlier: Access, later: Access) -> Witness:
    steps = machine.trace.before([_past(earlier), _past(later)])
    last = max(earlier.step, later.step)
    collision = (
        f"{party_of(earlier)}",
        f"{party_of(later)}, at the same time",
    )
    return Witness(tuple(step for step in steps if step.step <= last), collision)


def violation_of_deadlock(machine: Machine) -> Violation:
    """Nobody can go on: who waits for what, and what would have had to happen."""
    blocked = [agent for agent in machine.live if agent.waiting_for is not None]
    parties = tuple(_blocked_party(agent) for agent in blocked)
    asynchronous = [work for work in machine.works if not work.complete]
    missing = "; ".join(f"{agent.name} needs {_condition(agent)}" for agent in blocked)
    if asynchronous:
        missing += "; issued but never able to complete: " + ", ".join(w.label for w in asynchronous[:3])
    steps = tuple(machine.trace.happenings[-_LAST_STEPS:])
    return Violation(
        ViolationKind.DEADLOCK,
        "no agent can go on, and no asynchronous work can complete",
        parties,
        missing,
        Witness(steps, tuple(str(party) for party in parties)),
        stuck=True,
    )


_LAST_STEPS = 12
"""A deadlock's witness: the last steps before everything stood still."""


def _condition(agent: Agent) -> str:
    return agent.waiting_for.describe() if agent.waiting_for is not None else "nothing"


def _blocked_party(agent: Agent) -> Party:
    op = agent.waiting_at or agent.current_op
    assert op is not None
    return Party(op, agent.name, agent.iteration, f"waits for {_condition(agent)}")
