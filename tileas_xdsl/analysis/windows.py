"""
The number of units issued since the k-th newest group. It converts one wait count into another.

A *sequence* is what the waits of the source program count in: the groups of a queue, the marks of a function. A *unit*
is what the target counts in: groups of the one hardware queue, marks, memory operations. A wait that leaves the N
newest groups of a sequence unfinished needs the (N + 1)-th newest to be complete. Where units complete in the order of
issue, it may leave unfinished the units issued since that group:

    commit 0; commit 1; commit 1; wait 0, 0      a unit each: window of the newest group of queue 0 is 2   ->  wait 2
    (3 copies) mark (5) mark (2) mark; wait 2    copies are units: window of the third newest mark is 7    ->  wait 7

The window of k is the least number over all paths that have k groups; no window means that no path has k groups. A
window that is too small is safe, one that is too large is a race. So loops are iterated to a fixpoint of minima, calls
that are not followed count as issuing nothing, and a group that may belong to several sequences is a group of each.
Merging queues, inlining calls and counting operations in place of marks are all this computation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.interfaces import CallOpInterface, FunctionOpInterface, functions_in

Windows = tuple[int, ...]
"""
Entry k - 1 is the window of the k-th newest group. There is one entry for each group that some path has, up to the
depth asked for.
"""

State = tuple[Windows, ...]
"""The windows of each sequence."""


MOST_GROUPS = 1 << 10
"""How many groups of a sequence are told apart. Hardware counters have 6 bits: they count to 63."""


@dataclass(frozen=True)
class Count:
    """The effect of an op on the counts: it issues `units`, and then closes a group of each sequence in `closes`."""

    units: int = 0
    closes: tuple[Hashable, ...] = ()


NOTHING = Count()


class WindowAnalysis(FlowClient[State]):
    """
    The windows of several sequences at every op of the functions of a module.

    `depths` gives for each sequence how many of its newest groups are tracked; `count` gives the effect of an op. With
    `across_calls`, sequences continue through calls, as queues do; an op that calls a function without a body may have
    closed any groups, each of them a unit. Without it every function has its own sequences, as with marks, and a call
    has no effect.
    """

    def __init__(
        self,
        module: Operation,
        depths: Mapping[Hashable, int],
        count: Callable[[Operation], Count],
        *,
        across_calls: bool,
    ) -> None:
        self._count = count
        self._across_calls = across_calls
        self._depths = list(depths.values())
        self._place = {sequence: index for index, sequence in enumerate(depths)}
        self._before: dict[Operation, State] = {}
        called = called_functions(module) if across_calls else frozenset[str]()
        functions = functions_in(module)
        for function in functions:
            if function_name(function) not in called:
                self._run(function, self.at_entry)
        # The functions left are called by each other only (recursion): what was issued before them is unknown.
        for function in functions:
            if not self._is_reached(function):
                self._run(function, self._anything)

    # Answers --------------------------------------------------------------------------------------------------------

    def windows_at(self, op: Operation, sequence: Hashable) -> Windows:
        """The windows of `sequence` when control reaches `op`; empty where no path leads there with a group."""
        state = self._before.get(op)
        return () if state is None else state[self._place[sequence]]

    def window(self, op: Operation, sequence: Hashable, k: int) -> int | None:
        """
        The window of the `k`-th newest group of `sequence` at `op` (1 is the newest); None where no path has so many.
        """
        windows = self.windows_at(op, sequence)
        return windows[k - 1] if k <= len(windows) else None

    # The lattice ----------------------------------------------------------------------------------------------------

    def join(self, arrivals: Sequence[Arrival[State]]) -> State:
        states = [arrival.state for arrival in arrivals]
        return tuple(least(windows) for windows in zip(*states, strict=True))

    def leave(self, op: Operation, state: State) -> State:
        count = self._count(op)
        if count is NOTHING:
            return state
        closed = {self._place[sequence] for sequence in count.closes}
        return tuple(
            self._advanced(windows, index, count.units, closes=index in closed) for index, windows in enumerate(state)
        )

    def _advanced(self, windows: Windows, index: int, units: int, *, closes: bool) -> Windows:
        later = tuple(window + units for window in windows)
        return (0, *later)[: self._depths[index]] if closes else later

    @property
    def at_entry(self) -> State:
        """The state in which nothing has been issued."""
        return tuple(() for _ in self._depths)

    @property
    def _anything(self) -> State:
        """
        The state in which any groups may have been closed, each a unit: the k-th newest of a sequence is k - 1 units
        old.
        """
        return tuple(tuple(range(depth)) for depth in self._depths)

    # Functions and calls --------------------------------------------------------------------------------------------

    def _run(self, function: Operation, initial: State) -> None:
        for op, state in analyse(function, self, initial).before.items():
            old = self._before.get(op)
            self._before[op] = state if old is None else self.join([Arrival(old), Arrival(state)])

    def _is_reached(self, function: Operation) -> bool:
        view = FunctionOpInterface.of(function)
        assert view is not None
        first = view.function_body.first_block
        return first is None or first.first_op is None or first.first_op in self._before

    def callee(self, op: Operation) -> str | None:
        return symbol_called(op) if self._across_calls else None

    def opaque_call(self, op: Operation, state: State) -> State:
        return self._anything


class LongestWindows(WindowAnalysis):
    """
    The upper bound: the largest number of units since the k-th newest group on any path.

    On paths that have fewer than k groups it counts from the entry of the function. Numbers above the depth of the
    sequence are reported as that depth. A wait whose count is at least this number blocks, on every path, for no unit
    issued after the group.
    """

    def join(self, arrivals: Sequence[Arrival[State]]) -> State:
        states = [arrival.state for arrival in arrivals]
        return tuple(tuple(map(max, zip(*windows, strict=True))) for windows in zip(*states, strict=True))

    def _advanced(self, windows: Windows, index: int, units: int, *, closes: bool) -> Windows:
        most = self._depths[index]
        return tuple(min(window, most) for window in super()._advanced(windows, index, units, closes=closes))

    @property
    def at_entry(self) -> State:
        return tuple((0,) * depth for depth in self._depths)


def require_few_groups(wait: Operation, count: int) -> None:
    """Raise `RefusedError` for a wait that leaves more groups unfinished than `MOST_GROUPS`."""
    if count >= MOST_GROUPS:
        refuse(
            wait,
            f"leaves {count} groups unfinished, and no more than {MOST_GROUPS - 1} are told apart",
            "remove it where there are never so many, or leave fewer",
        )


def least(windows: Iterable[Windows]) -> Windows:
    """The least of two windows, entry by entry; an entry exists where one of them has it."""
    columns: list[int] = []
    for one in windows:
        columns[: len(one)] = [min(pair) for pair in zip(columns, one, strict=False)] + list(one[len(columns) :])
    return tuple(columns)


def symbol_called(op: Operation) -> str | None:
    """The name of the function that `op` calls, if it is a call that runs in place; else None."""
    call = CallOpInterface.of(op)
    return None if call is None else call.callee_name


def called_functions(module: Operation) -> frozenset[str]:
    """The names of the functions that some op in `module` calls."""
    symbols = (symbol_called(op) for op in module.walk())
    return frozenset(symbol for symbol in symbols if symbol is not None)


def function_name(function: Operation) -> str:
    view = FunctionOpInterface.of(function)
    assert view is not None
    return view.function_name


def functions_with_body(module: Operation) -> list[Operation]:
    """The functions of `module` that have a body, in program order."""
    views = ((function, FunctionOpInterface.of(function)) for function in functions_in(module))
    return [function for function, view in views if view is not None and view.function_body.blocks]
