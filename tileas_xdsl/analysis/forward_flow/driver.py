"""
The driver of a forward analysis: carries the client's states along the paths through a function.

The docstring of the package says which control flow is followed and what is approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic

from xdsl.dialects import cf, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.forward_flow.client import (
    Arrival,
    EdgeKind,
    Flow,
    FlowClient,
    FlowEdge,
    InvariantClient,
    State,
)
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.value_flow import handed_on_by
from tileas_xdsl.dialects.async_queue import QueueScope
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, FunctionOpInterface

MAX_EXACT_TRIPS = 256
"""A nest of constant loops with at most this many iterations in total is run through iteration by iteration."""

MAX_CALLS = 1000
"""The number of calls that one analysis follows; further calls are opaque."""


def analyse(function: Operation, client: FlowClient[State], initial: State) -> Flow[State]:
    """
    Analyse the body of `function`, which is entered in state `initial`.

    The client's methods are called once for each op, for each round of a loop until its fixpoint, for each trip of a
    short constant loop, and for each call that leads to the op. With an
    `InvariantClient`, which knows what holds in every iteration, a loop takes one round.
    """
    driver = _Driver(client, function)
    view = FunctionOpInterface.of(function)
    for region in function.regions if view is None else [view.function_body]:
        driver.flow.end = driver.run_function(function, region, initial)
    return driver.flow


@dataclass(frozen=True)
class _Exit(Generic[State]):
    """One way out of a region or a block: by its terminator, or off its end where it has none."""

    terminator: Operation | None
    state: State

    @property
    def values(self) -> Sequence[SSAValue]:
        """The operands of the terminator."""
        return () if self.terminator is None else handed_on_by(self.terminator)


class _Driver(Generic[State]):
    def __init__(self, client: FlowClient[State], function: Operation) -> None:
        self.client = client
        self.flow = Flow[State]()
        self._functions = _functions_around(function)
        self._active: list[Operation] = []
        """The functions that are being run through, the caller first."""
        self._calls = 0
        self._trips = 1
        """How often the constant loops around run through what they hold."""
        self._last_meeting: tuple[State, State, State] | None = None

    # Regions and blocks ---------------------------------------------------------------------------------------------

    def run_function(self, function: Operation, body: Region, state: State) -> State | None:
        """The state in which `function` returns when called with arguments of which nothing is known."""
        if body.first_block is None:
            return state
        state = self._assign_unknown(state, body.first_block.args)
        exit = self._run_body(function, body, state)
        return None if exit is None else exit.state

    def _run_body(self, function: Operation, body: Region, state: State) -> _Exit[State] | None:
        """Run through a function whose arguments are assigned; several returns are joined into one."""
        self._active.append(function)
        exits = self._region(body, state)
        self._active.pop()
        if len(exits) < 2:
            return exits[0] if exits else None
        # The values returned are those of the first return: each other one assigns its own to them.
        first, *rest = exits
        arrivals = [self._jump_from(first, first.state)]
        arrivals += [self._jump_from(exit, self._assign(exit.state, first.values, exit.values)) for exit in rest]
        return _Exit(first.terminator, self.client.join(arrivals))

    def _jump_from(self, exit: _Exit[State], state: State) -> Arrival[State]:
        return Arrival(state, None if exit.terminator is None else FlowEdge(exit.terminator, EdgeKind.JUMP))

    def _region(self, region: Region, state: State) -> list[_Exit[State]]:
        """The ways out of `region`, whose arguments are already assigned in `state`."""
        if region.first_block is None:
            return [_Exit(None, state)]
        if region.first_block is not region.last_block:
            return self._graph(region, state)
        exit = self._block(region.first_block, state)
        return [] if exit is None else [exit]

    def _once(self, region: Region, state: State) -> _Exit[State] | None:
        """The one way out of a region with at most one block; None where control does not leave it."""
        exits = self._region(region, state)
        return exits[0] if exits else None

    def _block(self, block: Block, state: State) -> _Exit[State] | None:
        for op in self.client.ops(block):
            self._record(op, state)
            if op.successors or op.has_trait(IsTerminator, value_if_unregistered=False):
                return _Exit(op, self.client.leave(op, self.client.enter(op, state)))
            after = self._op(op, state)
            if after is None:
                return None
            state = after
        return _Exit(None, state)

    def _graph(self, region: Region, state: State) -> list[_Exit[State]]:
        """
        The blocks of a region with branches: a block whose entry state has changed is run through again, in program
        order.
        """
        blocks = list(region.blocks)
        number = {block: index for index, block in enumerate(blocks)}
        entries: dict[Block, State] = {blocks[0]: state}
        ends: dict[Block, _Exit[State] | None] = {}
        waiting = [0]
        while waiting:
            block = blocks[heappop(waiting)]
            ends[block] = self._block(block, entries[block])
            for target, arrived in self._jumps(ends[block]):
                old = entries.get(target)
                met = arrived if old is None else self._meet(old, arrived)
                if old is not None and self.client.same(old, met):
                    continue
                entries[target] = met
                if number[target] not in waiting:
                    heappush(waiting, number[target])
        found = [ends.get(block) for block in blocks]
        return [exit for exit in found if exit is not None and not _successors(exit)]

    def _jumps(self, exit: _Exit[State] | None) -> list[tuple[Block, State]]:
        """The successors of a terminator, each with the state after its arguments are assigned."""
        if exit is None or exit.terminator is None:
            return []
        found: list[tuple[Block, State]] = []
        for target, sources in _destinations(exit.terminator):
            known = sources is not None and len(sources) == len(target.args)
            passed = sources if known and sources is not None else [None] * len(target.args)
            found.append((target, self._assign(exit.state, target.args, passed)))
        return found

    def _record(self, op: Operation, state: State) -> None:
        old = self.flow.before.get(op)
        self.flow.before[op] = state if old is None else self._meet(old, state)

    def _meet(self, first: State, second: State) -> State:
        """Join two states. Neighbouring ops often ask for the same join, so the last answer is kept."""
        if first is second:
            return first
        last = self._last_meeting
        if last is None or last[0] is not first or last[1] is not second:
            last = (first, second, self.client.join([Arrival(first), Arrival(second)]))
            self._last_meeting = last
        return last[2]

    def _assign(self, state: State, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> State:
        return self.client.assign(state, targets, sources) if targets else state

    def _assign_unknown(self, state: State, targets: Sequence[SSAValue]) -> State:
        return self._assign(state, targets, [None] * len(targets))

    # Ops ------------------------------------------------------------------------------------------------------------

    def _op(self, op: Operation, state: State) -> State | None:
        """The state after `op`, which is no terminator; None where control does not pass it."""
        if not op.regions:
            return self._call(op, state)
        entered = self.client.enter(op, state)
        match op:
            case scf.ForOp() | scf.WhileOp() if isinstance(self.client, InvariantClient):
                after = self._by_invariant(self.client, op, entered)
            case scf.ForOp():
                after = self._for(op, entered)
            case scf.WhileOp():
                after = self._while(op, entered)
            case scf.IfOp() | scf.IndexSwitchOp():
                after = self._branch(op, entered)
            case scf.ExecuteRegionOp() | QueueScope():
                after = self._in_place(op, entered)
            case _ if self.client.runs_in_place(op):
                after = self._in_place(op, entered)
            case _ if AgentLikeOpInterface.of(op) is not None or AsyncRegionOpInterface.of(op) is not None:
                after = self._elsewhere(op, entered)
            case _:
                after = self._any_number_of_times(op, entered)
        return None if after is None else self.client.leave(op, after)

    def _for(self, loop: scf.ForOp, state: State) -> State | None:
        trips = static_trip_count(loop)
        if trips == 0:
            return self._assign(state, loop.res, loop.iter_args)
        arguments = loop.body.block.args
        entry = self._assign(state, arguments, [None, *loop.iter_args])
        if trips is not None and self._trips * trips <= MAX_EXACT_TRIPS:
            return self._exact_for(loop, entry, trips)
        end: _Exit[State] | None = None

        def iterate(head: State) -> State | None:
            nonlocal end
            end = self._once(loop.body, head)
            return None if end is None else self._assign(end.state, arguments, [None, *end.values])

        self._settle(loop, entry, iterate)
        skipped = [Arrival(self._assign(state, loop.res, loop.iter_args), FlowEdge(loop, EdgeKind.SKIP))]
        return self._leave_loop(loop, end, [] if trips is not None else skipped)

    def _exact_for(self, loop: scf.ForOp, head: State, trips: int) -> State | None:
        """A loop of `trips` iterations, run through one by one."""
        arguments, end = loop.body.block.args, None
        self._trips *= trips
        for _ in range(trips):
            end = self._once(loop.body, head)
            if end is None:
                break
            following = self._assign(end.state, arguments, [None, *end.values])
            if self.client.same(head, following):
                break
            head = following
        self._trips //= trips
        return self._leave_loop(loop, end, [])

    def _leave_loop(self, loop: Operation, end: _Exit[State] | None, others: Sequence[Arrival[State]]) -> State | None:
        """
        The state after a loop: its last iteration's, if the loop ever ends, joined with the paths `others` that skip
        it.
        """
        arrivals = list(others)
        if end is not None:
            left = self._assign(end.state, loop.results, end.values)
            arrivals.append(Arrival(left, FlowEdge(loop, EdgeKind.LAST)))
        return self._joined(arrivals)

    def _while(self, loop: scf.WhileOp, state: State) -> State | None:
        first, second = loop.before_region, loop.after_region
        entry = self._assign(state, first.block.args, loop.arguments)
        tested: _Exit[State] | None = None

        def iterate(head: State) -> State | None:
            nonlocal tested
            tested = self._once(first, head)
            if tested is None:
                return None
            end = self._once(second, self._assign(tested.state, second.block.args, tested.values))
            return None if end is None else self._assign(end.state, first.block.args, end.values)

        self._settle(loop, entry, iterate)
        return self._leave_loop(loop, tested, [])

    def _by_invariant(
        self, client: InvariantClient[State], loop: scf.ForOp | scf.WhileOp, state: State
    ) -> State | None:
        """Run through the body of a loop once. An iteration that does not end is never the last one."""
        head = client.head(loop, state)
        if isinstance(loop, scf.ForOp):
            end = self._once(loop.body, head)
            return state if end is None else client.behind(loop, state, head, end.state)
        tested = self._once(loop.before_region, head)
        if tested is None:
            return None
        end = self._once(loop.after_region, tested.state)
        return tested.state if end is None else client.behind(loop, state, tested.state, end.state)

    def _settle(self, loop: Operation, head: State, iterate: Callable[[State], State | None]) -> None:
        """
        Iterate from the loop's head to the fixpoint; the last iteration sees the states that hold in every iteration.
        """
        while (back := iterate(head)) is not None:
            met = self.client.join([Arrival(head), Arrival(back, FlowEdge(loop, EdgeKind.AGAIN))])
            if self.client.same(head, met):
                return
            head = met

    def _branch(self, op: scf.IfOp | scf.IndexSwitchOp, state: State) -> State | None:
        arrivals: list[Arrival[State]] = []
        for index, region in enumerate(op.regions):
            exit = self._once(region, state)
            if exit is not None:
                edge = FlowEdge(op, EdgeKind.BRANCH if region.blocks else EdgeKind.SKIP, index)
                arrivals.append(Arrival(self._assign(exit.state, op.results, exit.values), edge))
        return self._joined(arrivals)

    def _in_place(self, op: Operation, state: State) -> State | None:
        """Regions that run once, one after the other, as part of the thread's own control flow."""
        for region in op.regions:
            exits = self._region(region, state)
            arrivals = [self._jump_from(exit, self._assign(exit.state, op.results, exit.values)) for exit in exits]
            after = self._joined(arrivals)
            if after is None:
                return None
            state = after
        return state

    def _elsewhere(self, op: Operation, state: State) -> State:
        """Regions that other agents run: control does not pass through them."""
        for region in op.regions:
            entered = self.client.enter_elsewhere(op, region, state)
            self._region(region, self._assign_unknown(entered, region.first_block.args if region.first_block else ()))
        return self._assign_unknown(self.client.leave_elsewhere(op, state), op.results)

    def _any_number_of_times(self, op: Operation, state: State) -> State:
        """Regions known only to run in place: in any order, each any number of times."""
        while True:
            arrivals = [Arrival(state)]
            for region in op.regions:
                entry = self._assign_unknown(state, region.first_block.args if region.first_block else ())
                exits = self._region(region, entry)
                arrivals += [Arrival(exit.state, FlowEdge(op, EdgeKind.AGAIN)) for exit in exits]
            met = self.client.join(arrivals)
            if self.client.same(state, met):
                return self._assign_unknown(met, op.results)
            state = met

    def _joined(self, arrivals: Sequence[Arrival[State]]) -> State | None:
        """The state after any one of the arrivals; None where there is none."""
        if len(arrivals) > 1:
            return self.client.join(arrivals)
        return arrivals[0].state if arrivals else None

    # Calls ----------------------------------------------------------------------------------------------------------

    def _call(self, op: Operation, state: State) -> State | None:
        """An op without regions, which may be a call."""
        entered = self.client.enter(op, state)
        symbol = self.client.callee(op)
        if symbol is None:
            return self.client.leave(op, entered)
        body = self._followed(symbol)
        if body is None:
            after = self.client.opaque_call(op, self._assign_unknown(entered, op.results))
            return self.client.leave(op, after)
        self._calls += 1
        block = body.first_block
        assert block is not None
        exit = self._run_body(self._functions[symbol], body, self._assign(entered, block.args, op.operands))
        if exit is None:
            return None
        return self.client.leave(op, self._assign(exit.state, op.results, exit.values))

    def _followed(self, symbol: str) -> Region | None:
        """The body of the function of this name, where a call of it can be followed."""
        function = self._functions.get(symbol)
        if function is None or function in self._active or self._calls >= MAX_CALLS:
            return None
        view = FunctionOpInterface.of(function)
        return view.function_body if view is not None and view.function_body.blocks else None


def _functions_around(function: Operation) -> dict[str, Operation]:
    """The functions that stand beside `function`, itself included, by name."""
    found: dict[str, Operation] = {}
    for op in function.parent.ops if function.parent is not None else (function,):
        view = FunctionOpInterface.of(op)
        if view is not None:
            found.setdefault(view.function_name, op)
    return found


def _successors(exit: _Exit[State]) -> Sequence[Block]:
    return exit.terminator.successors if exit.terminator is not None else ()


def _destinations(terminator: Operation) -> list[tuple[Block, Sequence[SSAValue] | None]]:
    """
    The blocks that a terminator may branch to, each with the values it passes there; None where these are not known.
    """
    match terminator:
        case cf.BranchOp():
            return [(terminator.successor, terminator.arguments)]
        case cf.ConditionalBranchOp():
            return [
                (terminator.then_block, terminator.then_arguments),
                (terminator.else_block, terminator.else_arguments),
            ]
        case _:
            return [(block, None) for block in terminator.successors]
