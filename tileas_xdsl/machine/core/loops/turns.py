"""
The turns of a counted loop: each begins where the one before has ended.

How many there are is known when the loop begins, or it is left open: then a question at each head decides
(`open_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from xdsl.ir import Block, Operation

from tileas_xdsl.machine.core.loops.open_counts import Looper, OpenTurns
from tileas_xdsl.machine.core.observer import AnyObserver
from tileas_xdsl.machine.core.standings import Answer, Done, Enter, Pause, Request, continuation


class Turner(Looper, Protocol):
    """An agent that runs a loop."""

    @property
    def observer(self) -> AnyObserver: ...

    def check_budget(self, at: Operation | Block) -> None: ...

    def begin_iteration(self, body: Block, outside: tuple[int, ...], number: int) -> None: ...

    def end_loop(self, body: Block, outside: tuple[int, ...]) -> None: ...


class LoopTurn(NamedTuple):
    """Iteration `number` of a counted loop."""

    body: Block
    inductions: Sequence[Any] | OpenTurns
    outside: tuple[int, ...]
    """The iterations of the loops around it."""
    turns: Any
    """What the observer of the execution notes of the loop."""
    number: int = 0

    def next(self) -> LoopTurn:
        return LoopTurn(self.body, self.inductions, self.outside, self.turns, self.number + 1)


def run_iteration(agent: Turner, carried: tuple[Any, ...], iteration: LoopTurn) -> Request:
    """Run `iteration`, if the loop has it, and those after it. The outcome is what the last one yields."""
    if isinstance(iteration.inductions, OpenTurns):
        # Whoever is least advanced goes first, and may decide how often this loop turns.
        iteration.inductions.come_to(iteration.number)
        return Pause().then(_come_to_head, carried, iteration)
    if iteration.number == len(iteration.inductions):
        return _end(agent, carried, iteration)
    return _begin(agent, carried, iteration)


def _end(agent: Turner, carried: tuple[Any, ...], iteration: LoopTurn) -> Request:
    agent.end_loop(iteration.body, iteration.outside)
    return Done(carried)


def _begin(agent: Turner, carried: tuple[Any, ...], iteration: LoopTurn) -> Request:
    agent.check_budget(iteration.body)
    agent.begin_iteration(iteration.body, iteration.outside, iteration.number)
    if iteration.turns is not None and iteration.turns.begins():
        return Pause().then(_run_body, carried, iteration)
    return _body_of(carried, iteration)


def _body_of(carried: tuple[Any, ...], iteration: LoopTurn) -> Request:
    induction = iteration.inductions[iteration.number]
    return Enter(iteration.body, (induction, *carried)).then(_next_iteration, iteration)


@continuation
def _run_body(_agent: Turner, _op: Operation, _: None, carried: tuple[Any, ...], iteration: LoopTurn) -> Answer:
    return _body_of(carried, iteration)


@continuation
def _next_iteration(agent: Turner, _op: Operation, carried: tuple[Any, ...], iteration: LoopTurn) -> Answer:
    return run_iteration(agent, carried, iteration.next())


# Where it is open how often a loop turns ------------------------------------------------------------------------------


@continuation
def _come_to_head(agent: Turner, op: Operation, _: None, carried: tuple[Any, ...], iteration: LoopTurn) -> Answer:
    turns = iteration.inductions
    assert isinstance(turns, OpenTurns)
    if turns.goes_on() is None and turns.cannot_end():
        turns.decide(True)
    if turns.goes_on() is not None:
        return _decided(agent, op, None, carried, iteration)
    agent.observer.asks(agent, op)
    return Pause().then(_decided, carried, iteration)


@continuation
def _decided(agent: Turner, _op: Operation, _: None, carried: tuple[Any, ...], iteration: LoopTurn) -> Answer:
    turns = iteration.inductions
    assert isinstance(turns, OpenTurns)
    decided = turns.goes_on()
    if decided is None:
        decided = agent.observer.decides_to_go_on()
        turns.decide(decided)
    if decided:
        return _begin(agent, carried, iteration)
    turns.leave(agent)
    return _end(agent, carried, iteration)
