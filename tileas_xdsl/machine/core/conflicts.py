"""
Races, missing fences and deadlocks in words: the two accesses, and the edge of happens-before that is missing between
them.

A generic read before an asynchronous write of the same bytes needs a proxy fence, as in the PTX memory model;
`--relaxed-proxy` makes a warning of that one case.

For a deadlock the words say which agent waits for what, and which event is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Exclusive
from tileas_xdsl.machine.core.happens_before import TENSOR_MEMORY, Access, Conflict, Proxy, Who
from tileas_xdsl.machine.core.memory import ByteRegion
from tileas_xdsl.machine.core.synchronization import EndOfAgents, RendezvousCondition
from tileas_xdsl.machine.core.violations import Effect, Misuse, Party, Standstill, Violation, ViolationKind

QUOTED = "'"


def region_text(region: ByteRegion) -> str:
    """`shared 'ring'[1:2, 0:64]`, or the byte range where the region is no box."""
    base = region.base
    # Slots of pipelines have names with quotes in them: slot 0 of pipeline 'a'.
    name = f"{base.space} {base.name if base.name.endswith(QUOTED) else repr(base.name)}"
    if region.box is None:
        return f"{name} bytes {region.start}:{region.stop}"
    if all((low, high) == (0, extent) for (low, high), extent in zip(region.box, base.shape, strict=True)):
        return name
    axes = [(low, high) for low, high in region.box if not base.zero or (low, high) != (0, 1)]
    spans = ", ".join(_span(low - base.zero, high - base.zero) for low, high in axes)
    return f"{name}[{spans}]"


def _span(low: int, high: int) -> str:
    return str(low) if high == low + 1 else f"{low}:{high}"


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


def _noun(access: Access) -> str:
    return "write" if access.is_write else "read"


def kind_of_conflict(conflict: Conflict) -> ViolationKind:
    if conflict.earlier.bounds_block or conflict.later.bounds_block:
        return ViolationKind.ABSENT
    return ViolationKind.MISSING_FENCE if conflict.missing_fence else ViolationKind.RACE


def violation_of_conflict(conflict: Conflict) -> Violation:
    """A race, a missing proxy fence, or memory of a block that need not be there."""
    earlier, later = conflict.earlier, conflict.later
    if earlier.bounds_block or later.bounds_block:
        return _violation_of_bound(*((later, earlier) if earlier.bounds_block else (earlier, later)))
    parties = (party_of(earlier), party_of(later))
    where = region_text(later.region)
    message = f"{_dependence(earlier, later)} on {where} with nothing that orders the two"
    missing = _missing_edge(earlier, later)
    if conflict.missing_fence and later.proxy is Proxy.TENSORMAP:
        message = f"generic {_noun(earlier)}, then use as a tensor map of {where}, and no proxy fences between them"
        missing = "a fence.proxy.release after the descriptor is written, and a fence.proxy.acquire before it is used"
    elif conflict.missing_fence and later.proxy in TENSOR_MEMORY:
        message = f"{_dependence(earlier, later)} on {where}, and no tcgen05.fence between the threads"
        missing = (
            "a tcgen05.fence <after> behind the synchronisation by which the later one learns of the earlier one, and "
            "a <before> ahead of it if the earlier one is a load or store of registers"
        )
    elif conflict.missing_fence:
        message = (
            f"generic {_noun(earlier)}, then asynchronous {_noun(later)} of {where}, and no proxy fence between them"
        )
        missing = (
            "a fence.proxy.async by a thread that already observes the first access (before its arrive), or by the "
            "issuer after it waited for it"
        )
    return Violation(kind_of_conflict(conflict), message, parties, missing)


def _violation_of_bound(access: Access, bound: Access) -> Violation:
    """The block that `bound` starts or ends need not be there at the time of `access`."""
    where, starts = region_text(access.region), bound.moment == 0
    why, does = ("not be there yet", "starts the block") if starts else ("be gone", "ends the block")
    order = "behind the start" if starts else "before the end"
    between = "the start of the block and the first" if starts else "the last"
    return Violation(
        ViolationKind.ABSENT,
        f"{where} may {why}: nothing orders the access {order} of its block",
        (party_of(access), Party(bound.op, bound.agent.name, (), f"{does}, and with it its shared memory")),
        f"a barrier of the cluster between {between} access from another block{'' if starts else ' and its end'}",
    )


def violation_of_access_to_object(access: Access, name: str) -> tuple[Violation, Misuse]:
    """The violation of an ordinary access to the bytes of the live mbarrier `name`, and its evidence."""
    party = party_of(access)
    violation = Violation(
        ViolationKind.RACE,
        f"{name} is valid, and an ordinary access {access.verb} its bytes",
        (party,),
        "other bytes for the access, or an nvvm.mbarrier.inval before it, after every use of the barrier",
        leads_to=Effect.HANG_OR_WRONG,
    )
    return violation, Misuse(access.agent, (), (party,))


def _missing_edge(earlier: Access, later: Access) -> str:
    first, second = op_name(earlier.op), op_name(later.op)
    work = earlier.work
    resource = _resource_of(earlier)
    if resource is not None and resource is _resource_of(later):
        return (
            f"both run on resource '{resource.name}', so they never overlap, but either may come first: let "
            f"{_on_resource(later)} depend on the token of {_on_resource(earlier)}"
        )
    if work is not None:
        reached = "issued" if later.work is not None else "reached"
        return f"a wait that completes '{first}' before '{second}' is {reached}"
    if later.work is not None:
        return f"an edge that lets '{second}' start only after '{first}' of {earlier.agent.name}"
    return f"a synchronisation of {later.agent.name} with {earlier.agent.name} after '{first}' and before '{second}'"


def _resource_of(access: Access) -> Exclusive | None:
    """The resource that the work or launch holds that made `access`, if any."""
    return access.work.resource if access.work is not None else access.agent.resource


def _on_resource(access: Access) -> str:
    """The work or launch that made `access`, in the words of a message."""
    if access.work is not None or access.agent.started_by is None:
        return f"'{op_name(access.op)}'"
    return f"'{op_name(access.agent.started_by)}' of {access.agent.name}"


def deadlock_of(live: Sequence[Who], works: Sequence[AsyncWork]) -> tuple[Violation, Standstill]:
    """
    The violation, and its evidence, for an execution with these `works` in which none of the `live` agents can go on.
    """
    waiting = [agent for agent in live if agent.waiting_for is not None]
    # Who merely waits for the end of blocked agents is blocked by them, and says nothing about why.
    blocked = [agent for agent in waiting if not isinstance(agent.waiting_for, EndOfAgents)] or waiting
    parties = tuple(_blocked_party(agent) for agent in blocked)
    asynchronous = [work for work in works if not work.complete]
    missing = "; ".join(dict.fromkeys(_needed(agent) for agent in blocked))
    if asynchronous:
        missing += "; issued but never able to complete: " + ", ".join(map(_standing_still, asynchronous[:3]))
    message = "no agent can go on, and no asynchronous work can complete"
    met = [each.barrier for agent in blocked if isinstance(each := agent.waiting_for, RendezvousCondition)]
    violation = Violation(
        ViolationKind.DEADLOCK,
        message,
        parties,
        missing,
        stuck=True,
        instead=met[0].arrived if met else None,
    )
    return violation, Standstill(blocked, parties)


def _standing_still(work: AsyncWork) -> str:
    """`work` in words, with the resource that it waits for, if it waits for one."""
    if work.ready and work.resource is not None:
        return f"{work.label}, which needs {work.resource.describe()}"
    return work.label


def _needed(agent: Who) -> str:
    return agent.waiting_for.needed() if agent.waiting_for is not None else "nothing"


def _condition(agent: Who) -> str:
    return agent.waiting_for.describe() if agent.waiting_for is not None else "nothing"


def _blocked_party(agent: Who) -> Party:
    op = agent.waiting_at or agent.current_op
    assert op is not None
    return Party(op, agent.name, agent.iteration, f"waits for {_condition(agent)}")
