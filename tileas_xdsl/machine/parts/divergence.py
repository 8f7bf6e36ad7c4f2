"""
Branches that some threads of a warp take and others do not.

    scf.if %elected { nvvm.mbarrier.arrive %empty }         one arrival
    scf.if %first { nvvm.mbarrier.init %full, %c1 }         %first: tid is 0

The threads that take it are the active ones meanwhile. Only one arm may act: whether the threads in two of them wait
for each other depends on how a warp is scheduled, which PTX leaves open, so that is undecided. *Assumed*, and said by
the verdict: what the threads of a warp, or of an agent that does tiles, did before such a branch comes before what the
branch does, and that before what they do next. PTX promises neither (`bar.warp.sync` would); compilers keep both.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import OF_ONE_THREAD, is_for_tiles
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import (
    HANDS_OVER_BEHIND_BARRIERS,
    ORDERS_ITS_AGENT,
    ORDERS_ITS_WARP,
    Assumption,
)
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.meaning import Kind, meaning_of
from tileas_xdsl.machine.core.standings import Answer, Request, continuation, give_results
from tileas_xdsl.machine.core.threads.by_thread import known_to_all, per_thread
from tileas_xdsl.machine.core.threads.hardware import Active, PerThread, Varies, common_value
from tileas_xdsl.machine.core.threads.own_copies import note_own_wait
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError

QUIET = frozenset({Kind.PURE, Kind.TERMINATOR, Kind.CONTROL, Kind.JUMP})
"""Kinds of ops that do nothing that others could see."""


def rests_on_own_copies(agent: Agent, works: Iterable[AsyncWork]) -> None:
    """Note that a wait of several threads for `works`, each for its own, is taken for a wait of all of them."""
    if agent.size > 1:
        note_own_wait(agent, works)
        agent.assume(HANDS_OVER_BEHIND_BARRIERS)


def order_among(agent: Agent) -> Assumption:
    """What is assumed of the threads of `agent` where only some of them do something."""
    return ORDERS_ITS_AGENT if agent.is_of_several_warps else ORDERS_ITS_WARP


def refuse_tiles_of_some(agent: Agent, op: Operation, regions: Sequence[Region]) -> None:
    """Raises `UndecidedError` where some threads of an agent of several warps do what all do together."""
    if not agent.is_of_several_warps:
        return
    for inner in (each for region in regions for each in region.walk()):
        if is_for_tiles(inner) and op_name(inner) not in OF_ONE_THREAD:
            raise UndecidedError(inner, "is done by some threads of an agent, and tiles by all of them; do it outside")


@dataclass(frozen=True)
class Arms:
    """The arms of a branch that have run, and those that are to run: each with the threads that take it."""

    outside: Active | None
    """The threads that are active around the branch."""
    varies: Varies
    running: Active
    ahead: tuple[tuple[Region, Active], ...]
    done: tuple[tuple[Active, tuple[Any, ...]], ...] = ()
    """What each arm that has run yields."""


def branch(agent: Agent, op: scf.IfOp, condition: PerThread) -> Request:
    """
    Run the arms of `op`, each by the threads that take it. The outcome is its results.

    Raises `UndecidedError` where two arms act, and where nobody says which threads take one.
    """
    if known_by_all(agent, condition):
        taken = op.true_region if known_to_all(agent, condition, op, "branches on") else op.false_region
        return agent.run_region(taken).then(give_results)
    yes, no = split(agent, op, condition)
    must_not_both_act(op, agent.code.fact(_acting_arms, op))
    taken_by = ((op.true_region, yes), (op.false_region, no))
    arms = [(region, active) for region, active in taken_by if _matters(agent, op, region)]
    if not arms:
        return agent.run_region(op.false_region).then(give_results)
    refuse_tiles_of_some(agent, op, [region for region, _ in arms])
    agent.assume(order_among(agent))
    return _run_next(agent, Arms(agent.active, condition.varies, arms[0][1], tuple(arms)))


def known_by_all(agent: Agent, condition: Any) -> bool:
    """Whether all active threads of `agent` have the same `condition`, or it is one thread that was elected."""
    if not isinstance(condition, PerThread) or agent.is_elected:
        return True
    return common_value(condition.values, agent.lanes)[0]


def must_not_both_act(op: Operation, acting: tuple[bool, bool]) -> None:
    """Raises `UndecidedError` if both sides of `op`, which threads of one warp take, do what others can see."""
    if all(acting):
        raise UndecidedError(
            op,
            "lets threads of one warp take both arms, and how these are scheduled is open; branch on the warp, or let "
            "only one arm do something",
        )


def split(agent: Agent, op: Operation, condition: PerThread) -> tuple[Active, Active]:
    """The threads for which `condition` holds, and the others; it must differ between the active ones."""
    if any(condition.values[lane] is UNKNOWN for lane in agent.lanes):
        raise UndecidedError(op, "branches on data that is not computed when checking")
    yes = tuple(lane for lane in agent.lanes if condition.values[lane])
    no = tuple(lane for lane in agent.lanes if not condition.values[lane])
    if condition.varies is Varies.BY_THREAD:
        return Active(yes), Active(no)
    if condition.varies is not Varies.BY_ELECTION or 1 not in (len(yes), len(no)):
        raise UndecidedError(op, "branches on an election and on the number of the thread; nobody says who is elected")
    one = Active(tuple(agent.lanes), is_elected=True)
    return (one, Active(no)) if len(yes) == 1 else (Active(yes), one)


def _matters(agent: Agent, op: scf.IfOp, region: Region) -> bool:
    acts = agent.code.fact(_acting_arms, op)
    return bool(op.results) or acts[0 if region is op.true_region else 1]


def _acting_arms(op: scf.IfOp) -> tuple[bool, bool]:
    return acts(op.true_region.walk()), acts(op.false_region.walk())


def acts(ops: Iterable[Operation]) -> bool:
    """Whether something among `ops` can be seen by others."""
    for op in ops:
        meaning = meaning_of(op)
        if meaning is None or meaning.kind not in QUIET or meaning.facts.calls:
            return True
    return False


def _run_next(agent: Agent, arms: Arms) -> Request:
    (region, active), *_ = arms.ahead
    agent.active = active
    return agent.run_region(region).then(_leave_arm, arms)


@continuation
def _leave_arm(agent: Agent, op: Operation, values: tuple[Any, ...], arms: Arms) -> Answer:
    done = (*arms.done, (arms.running, values))
    if len(arms.ahead) > 1:
        ahead = arms.ahead[1:]
        return _run_next(agent, Arms(arms.outside, arms.varies, ahead[0][1], ahead, done))
    agent.active = arms.outside
    results = tuple(merged(agent, number, done, arms.varies) for number in range(len(op.results)))
    return results[0] if len(results) == 1 else results


def merged(agent: Agent, number: int, done: Sequence[tuple[Active, tuple[Any, ...]]], varies: Varies) -> Any:
    """Value `number` behind a branch, from what its arms hand over."""
    merged: list[Any] = [UNKNOWN] * agent.size
    for active, values in done:
        value = values[number]
        if isinstance(value, PerThread):
            varies |= value.varies
        lanes = active.lanes[:1] if active.is_elected else active.lanes
        for lane in lanes:
            merged[lane] = value.values[lane] if isinstance(value, PerThread) else value
    return per_thread(agent, merged, varies)


def each_place(agent: Agent, op: Operation, address: Any) -> Iterator[Any]:
    """
    The places that threads of `agent` have in `address`, one after the other; those threads are the active ones then.

    Raises `UndecidedError` where `op` has a result, or it is not known which threads have which place.
    """
    if not isinstance(address, PerThread):
        yield address
        return
    if op.results or agent.is_elected or address.varies is not Varies.BY_THREAD:
        yield known_to_all(agent, address, op, "takes")
        return
    threads: dict[tuple[int, int], list[int]] = {}
    for lane in agent.lanes:
        threads.setdefault(agent.known(address.values[lane], op, "uses a barrier at").key, []).append(lane)
    for lanes in threads.values():
        with _acting(agent, tuple(lanes)):
            yield address.values[lanes[0]]


@contextmanager
def _acting(agent: Agent, lanes: tuple[int, ...]) -> Generator[None]:
    """Inside, only the threads `lanes` of those that are active act."""
    outside = agent.active
    if len(lanes) < len(agent.lanes):
        agent.assume(order_among(agent))
        agent.active = Active(lanes)
    try:
        yield
    finally:
        agent.active = outside


@contextmanager
def predicated(agent: Agent, op: Operation, predicate: Any) -> Generator[int]:
    """
    How many threads of `agent` do `op`: those for which `predicate` is true. They are the active ones inside.

    Raises `UndecidedError` where nobody says which threads these are.
    """
    if not isinstance(predicate, PerThread) or agent.is_elected:
        yield agent.threads if agent.known(predicate, op, "has a predicate from") else 0
        return
    if Varies.BY_ELECTION in predicate.varies and predicate.varies is not Varies.BY_ELECTION:
        raise UndecidedError(op, "has a predicate from an election and the number of the thread")
    chosen = tuple(lane for lane in agent.lanes if agent.known(predicate.values[lane], op, "has a predicate from"))
    is_election = predicate.varies is Varies.BY_ELECTION
    if is_election and len(chosen) > 1:
        raise UndecidedError(op, "has a predicate that is true for all but an elected thread")
    outside = agent.active
    if chosen and len(chosen) < len(agent.lanes):
        agent.assume(order_among(agent))
        agent.active = Active(tuple(agent.lanes), is_elected=True) if is_election else Active(chosen)
    try:
        yield len(chosen)
    finally:
        agent.active = outside
