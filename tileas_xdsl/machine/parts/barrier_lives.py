"""
The life of an mbarrier in memory: it is made, used and invalidated (PTX ISA, "Parallel Synchronization and
Communication Instructions: mbarrier").

An mbarrier object is 8 bytes of shared memory. `init` and `inval` are writes of these bytes, by the generic proxy, and
are recorded as such: whatever touches the bytes unordered with them is a race. Between the two the object is *valid*.
Then no other operation may touch its bytes (`MemoryObject.objects`), and no other barrier may overlap it. `init` wants
bytes in which no valid object lies; every other operation wants a valid one. So each use comes after `init` and before
`inval` by happens-before, in whichever order the execution at hand has them. Both are ops of single threads: where all
threads of a warp execute one, all but the first find a valid object already, or none any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.memory import OBJECT_BYTES
from tileas_xdsl.machine.core.synchronization import Condition, NotYetError, PhaseBarrier
from tileas_xdsl.machine.core.threads.clusters import Cluster, ClusterMemory, is_in_another_block
from tileas_xdsl.machine.core.violations import (
    Effect,
    Misuse,
    NoMeaningError,
    Party,
    UndecidedError,
    Violation,
    ViolationKind,
)
from tileas_xdsl.machine.parts.placed_barriers import (
    BarrierLook,
    PlacedBarrier,
    PlacedBarriers,
    UnfencedInits,
    knows_init,
)
from tileas_xdsl.machine.tiles.pointers import Pointer


def _write(agent: Agent, op: Operation, place: Pointer) -> None:
    """Note the write of the bytes of a barrier. In simulated time it costs a signal, as other ops on barriers do."""
    with agent.delegating():
        agent.touch(place.bytes(OBJECT_BYTES), op, write=True)


def name_at(place: Pointer) -> str:
    """What messages call the barrier at `place`."""
    if place.base.holds_barriers:
        return f"barrier '{place.base.name}'[{place.offset // OBJECT_BYTES}]"
    return f"mbarrier '{place.base.name}' + {place.offset}"


def make_barrier(
    agent: Agent, op: Operation, place: Pointer, expected: int, threads: int = 1, *, fenced: bool = False
) -> None:
    """
    `agent` makes a barrier at `place` for `expected` arrivals a phase. Reports a violation if a valid one lies there,
    or overlaps its bytes, which is then gone; and if several of its `threads` make it. Where it is `fenced`, the
    asynchronous proxy may see it at once.
    """
    _note_look(agent, op, place)
    _end_what_lives_there(agent, op, place)
    _write(agent, op, place)
    state = PhaseBarrier(name_at(place), expected, op, counted_by_hand=True)
    made_by = agent.active if agent.is_of_several_warps else None
    barrier = PlacedBarrier(state, agent, agent.moment, op, place.base.family, fenced, made_by)
    agent.shared(PlacedBarriers).at[place.key] = barrier
    place.base.objects[place.offset] = state.name
    if agent.block is not None:
        agent.shared(Cluster).at_end_of_block[end_barriers_of_block] = None
    if not fenced:
        agent.part(UnfencedInits).barriers.append(barrier)
    agent.note(op, "init", f"makes {state.name} for {expected} arrivals a phase", on=state)
    if threads > 1:
        _report_several(agent, op, state, f"{state.name} is made by {threads} threads: all but one make it over it")


def _report_several(agent: Agent, op: Operation, state: PhaseBarrier, text: str) -> None:
    party = Party(op, agent.name, agent.iteration, f"makes or invalidates {state.name}, thread by thread")
    violation = Violation(
        ViolationKind.PHASE, text, (party,), f"an nvvm.elect.sync, or a branch on one thread, around '{op_name(op)}'"
    )
    agent.report(violation, Misuse(agent, [state], (party,)))


def _end_what_lives_there(agent: Agent, op: Operation, place: Pointer) -> None:
    region = place.bytes(OBJECT_BYTES).region
    while place.base.object_under(region) is not None:
        offset = next(other for other in place.base.objects if abs(other - place.offset) < OBJECT_BYTES)
        before = agent.shared(PlacedBarriers).at.pop((place.base.serial, offset))
        del place.base.objects[offset]
        _report_made_over(agent, op, place, before)


def _report_made_over(agent: Agent, op: Operation, place: Pointer, before: PlacedBarrier) -> None:
    parties = (
        Party(before.op, before.maker.name, (), f"makes {before.state.name}"),
        Party(op, agent.name, agent.iteration, f"makes {name_at(place)} over it"),
    )
    violation = Violation(
        ViolationKind.PHASE,
        f"{before.state.name} is made anew, or overlapped, while it is valid: who still waits there waits for another",
        parties,
        f"an nvvm.mbarrier.inval of {before.state.name} after its last use, or other bytes: each barrier has 8",
    )
    agent.report(violation, Misuse(agent, [before.state], parties))


def end_barrier(agent: Agent, op: Operation, place: Pointer) -> None:
    """
    `agent` invalidates the barrier at `place`. Reports a violation if there is none, if somebody may still use it, and
    if several of its threads do it.
    """
    _note_look(agent, op, place)
    barriers = agent.shared(PlacedBarriers)
    barrier = barriers.at.pop(place.key, None)
    if barrier is None:
        agent.report(*_no_barrier(agent, op, place))
        return
    del place.base.objects[place.offset]
    _judge_end(agent, op, barrier)
    _write(agent, op, place)
    barriers.ended[place.key] = Party(op, agent.name, agent.iteration, f"invalidates {barrier.state.name}")
    agent.note(op, "inval", f"invalidates {barrier.state.name}", on=barrier.state)
    if agent.threads > 1:
        text = f"{barrier.state.name} is invalidated by {agent.threads} threads: all but one find no valid barrier"
        _report_several(agent, op, barrier.state, text)


def end_barriers_of_block(agent: Agent, op: Operation) -> None:
    """
    The barriers of the block that `agent` has run to its end, at `op`, are gone with its shared memory. Reports who
    may still use one of them from another block.
    """
    assert agent.block is not None
    barriers = agent.shared(PlacedBarriers)
    for base in agent.shared(ClusterMemory).objects_of(agent.block.rank):
        for offset in list(base.objects):
            barrier = barriers.at.pop((base.serial, offset))
            late = _still_in_use(agent, barrier, from_other_blocks=True)
            if late:
                agent.report(*_gone(agent, (*late, _end_of(agent, op)), barrier.state.name))
            barriers.ended[base.serial, offset] = _end_of(agent, op)
            del base.objects[offset]


def _end_of(agent: Agent, op: Operation) -> Party:
    return Party(op, agent.name, (), "ends the block, and its shared memory")


def _gone(agent: Agent, parties: tuple[Party, ...], name: str, *, stuck: bool = False) -> tuple[Violation, Misuse]:
    violation = Violation(
        ViolationKind.ABSENT,
        f"{name} may be gone: nothing lets its block stay until the last use from another block",
        parties,
        "a barrier of the cluster between the last use from another block and the end of the block",
        stuck,
    )
    return violation, Misuse(agent, (), parties[-1:])


def _still_in_use(agent: Agent, barrier: PlacedBarrier, *, from_other_blocks: bool = False) -> list[Party]:
    """Each agent and work whose last use of `barrier` does not come before what `agent` does now."""
    machine, name = agent.machine, barrier.state.name
    works = [work for work in barrier.works if not agent.mind.knows_work(work)]
    users = [number for number, moment in barrier.uses.items() if not agent.mind.knows_moment(number, moment)]
    if from_other_blocks:
        works = [work for work in works if work.issuer.block is not agent.block]
        users = [number for number in users if machine.agents[number].block is not agent.block]
    late = [Party(work.op, work.issuer.name, work.iteration, f"may still signal {name}") for work in works]
    late += [Party(barrier.users[number], machine.agents[number].name, (), f"may still use {name}") for number in users]
    return late


def _judge_end(agent: Agent, op: Operation, barrier: PlacedBarrier) -> None:
    """Report each agent and work whose last use of `barrier` does not come before what `agent` does now."""
    machine, name = agent.machine, barrier.state.name
    late = _still_in_use(agent, barrier)
    if not late:
        return
    parties = (*late, Party(op, agent.name, agent.iteration, f"invalidates {name}"))
    violation = Violation(
        ViolationKind.PHASE,
        f"{name} is invalidated while it may still be used",
        parties,
        "an edge from every use of the barrier to the inval: a wait for what it counts, and a barrier of all who wait",
    )
    machine.report(violation, Misuse(agent, [barrier.state], parties[-1:]))


def use_barrier(agent: Agent, op: Operation, place: Pointer) -> PlacedBarrier:
    """
    The barrier at `place`, which `agent` uses now. Reports a race if its initialisation is unordered with this use.

    Raises `NotYetError` if nobody has made one there yet: another agent may. It is a violation if none does
    (`MadeCondition`), and else the race that it is where that agent comes first. Raises `NoMeaningError` after
    reporting a violation where the barrier is gone, or would be in another block.
    """
    _note_look(agent, op, place)
    barriers = agent.shared(PlacedBarriers)
    found = barriers.at.get(place.key)
    if found is None:
        if place.key not in barriers.ended and not is_in_another_block(agent, place.base):
            raise NotYetError(MadeCondition(agent, place, op, barriers))
        agent.report(*_no_barrier(agent, op, place))
        raise NoMeaningError
    found.uses[agent.number] = agent.moment
    found.users[agent.number] = op
    if not knows_init(agent, found):
        _report_unordered_init(agent, op, found)
    return found


@dataclass
class MadeCondition(Condition):
    """There is a barrier at `place`, where `op` uses one."""

    agent: Agent
    """The one that waits for it."""
    place: Pointer
    op: Operation
    barriers: PlacedBarriers

    def holds(self) -> bool:
        return self.place.key in self.barriers.at

    def helpers(self) -> Iterable[AsyncWork]:
        return ()

    def observe(self, agent: Who) -> None:
        """Nothing orders the two."""

    def describe(self) -> str:
        return f"{name_at(self.place)} to be made"

    def mistake(self) -> Callable[[], None]:
        """
        Raises `UndecidedError` for a barrier that the caller of the function may have made: for how many arrivals is
        not known.
        """
        if self.place.base.is_callers:
            maker = "which the caller of the function makes: check the function that calls it"
            raise UndecidedError(self.op, f"uses {name_at(self.place)}, {maker}")
        found = _no_barrier(self.agent, self.op, self.place)
        return lambda: self.agent.report(*found)


def note_signal(barrier: PlacedBarrier, work: AsyncWork) -> None:
    """`work` will signal `barrier` when it is complete."""
    for before in [before for before in barrier.works if work.mind.knows_work(before)]:
        del barrier.works[before]
    barrier.works[work] = None


def note_switched_off(agent: Agent, op: Operation, place: Pointer) -> None:
    """Note in the trace that `op` does nothing at `place`, since its predicate is false."""
    barrier = agent.shared(PlacedBarriers).at.get(place.key)
    if barrier is not None:
        text = f"does not arrive at {barrier.state.name}: its predicate is false"
        agent.note(op, "skip", text, on=barrier.state, turn=barrier.state.phases_completed)


def _note_look(agent: Agent, op: Operation, place: Pointer) -> None:
    if agent.observer.watches_steps:
        agent.observer.looks(BarrierLook(op, place.base, place.offset, agent))


def _no_barrier(agent: Agent, op: Operation, place: Pointer) -> tuple[Violation, Misuse]:
    ended = agent.shared(PlacedBarriers).ended.get(place.key)
    user = Party(op, agent.name, agent.iteration, f"uses {name_at(place)}")
    if is_in_another_block(agent, place.base):
        return _no_barrier_there(agent, place, user, ended)
    why = "nobody has made it yet" if ended is None else f"'{op_name(ended.op)}' has invalidated it"
    parties = (user,) if ended is None else (ended, user)
    violation = Violation(
        ViolationKind.PHASE,
        f"{name_at(place)} is used and is no valid barrier: {why}",
        parties,
        "an nvvm.mbarrier.init before every use, and an nvvm.mbarrier.inval only after the last one",
        stuck=True,
    )
    return violation, Misuse(agent, (), parties)


def _no_barrier_there(agent: Agent, place: Pointer, user: Party, ended: Party | None) -> tuple[Violation, Misuse]:
    """
    The same where the barrier is to be in another block: whatever has not been made there yet, or is gone already,
    may be there in another interleaving.
    """
    name = name_at(place)
    if ended is not None:
        return _gone(agent, (ended, user), name, stuck=True)
    violation = Violation(
        ViolationKind.RACE,
        f"{name} is used by {agent.name} with nothing that orders its initialisation before, if there is one",
        (user,),
        "a barrier of the cluster between the initialisation and the first use from another block",
        stuck=True,
        leads_to=Effect.HANG_OR_WRONG,
    )
    return violation, Misuse(agent, (), (user,))


def _report_unordered_init(agent: Agent, op: Operation, barrier: PlacedBarrier) -> None:
    parties = (
        Party(barrier.op, barrier.maker.name, (), "initialises the barrier"),
        Party(op, agent.name, agent.iteration, "uses the barrier"),
    )
    violation = Violation(
        ViolationKind.RACE,
        f"{barrier.state.name} is used by {agent.name} with nothing that orders its initialisation before",
        parties,
        "a barrier of all threads between the initialisation and the first use",
        leads_to=Effect.HANG_OR_WRONG,
    )
    agent.report(violation, Misuse(agent, [barrier.maker, agent], parties))


def check_init_fence(agent: Agent, op: Operation, barrier: PlacedBarrier) -> None:
    """Report that asynchronous work of `op` is to signal a barrier that no fence has shown to its proxy."""
    if barrier.fenced:
        return
    parties = (
        Party(barrier.op, barrier.maker.name, (), "initialises the barrier"),
        Party(op, agent.name, agent.iteration, "lets asynchronous work signal it"),
    )
    violation = Violation(
        ViolationKind.MISSING_FENCE,
        f"{barrier.state.name} is made by a generic write and then used by the asynchronous proxy without a fence",
        parties,
        "an nvvm.fence.mbarrier.init (or a proxy fence) by the thread that makes the barrier, after it made it",
        leads_to=Effect.HANG_OR_WRONG,
    )
    agent.report(violation, Misuse(agent, [barrier.state], parties[1:]))
