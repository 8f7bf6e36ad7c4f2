"""
Over-waits, waits that are stronger than the program needs: each is weakened by itself, and the function executed again.

    async_queue.wait 0, 0     where one group may be in flight:   1 would do
    async.await %token        of something that is known to be complete:   can go

Each trial is the whole function at every trip count that was executed: a wait is too strong only if no access, no other
wait and no end of a buffer relies on it. The count of a wait is raised by one as long as that stays right; a wait for a
token is left out. What goes right at these trip counts is then proved for every one, as the function itself is: a ring
of 12 slots needs its wait from trip count 13 on. Without such a proof nothing is said. That a wait can go is said once
the program without it was judged like any program, by all rules, and is safe. Waits for phases of barriers and stages
of pipelines are not judged: they synchronise agents. A wait that a compiler put in is named as such.

    x = tl.load(a)            ttg.async_copy_global_to_local ..  loc("kernel.py":7:9)      the compiler's:
                              ttg.async_wait {num = 2}           loc("kernel.py":7:9)      made for the load
    async_copy.wait_group(1)  ttg.async_wait {num = 1}           loc("kernel.py":12:5)     the user's: its own place
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.proving import is_proved_with
from tileas_xdsl.checker.verdict.report import Outcome, OverWait, WaitCost
from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.calling import execute
from tileas_xdsl.machine.core.meaning import Kind, meaning_of
from tileas_xdsl.machine.core.orders import Lazy
from tileas_xdsl.machine.core.violations import BlockDependentError, UndecidedError, UnsupportedError
from tileas_xdsl.machine.core.what_if import Relaxation, WhatIf

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


def function_without(function: Operation, body: Region, wait: Operation) -> tuple[Operation, Region] | None:
    """
    A copy of `function` and of its `body`, in a copy of what is around it, in which `wait` is absent. What it passes on
    is handed over directly. None if its results are something else that is used: then no program is without it.
    """
    root = _root_of(function)
    copy = root.clone()
    copies = dict(zip(root.walk(), copy.walk(), strict=True))
    absent = copies[wait]
    for number, result in enumerate(absent.results):
        passed_on = absent.operands[number : number + 1]
        if passed_on and passed_on[0].type == result.type:
            result.replace_all_uses_with(passed_on[0])
        elif result.first_use is not None:
            return None
    absent.detach()
    absent.erase()
    copied = copies[function]
    return copied, copied.regions[function.regions.index(body)]


def _root_of(op: Operation) -> Operation:
    while (above := op.parent_op()) is not None:
        op = above
    return op


def is_put_in_by_compiler(wait: Operation) -> bool:
    """
    Whether a compiler put `wait` in: it has no place in a source, or that of another op for which it was put in.
    """
    function = enclosing_function(wait)
    if function is None:
        return False
    place = location_of(wait)
    others = [op for op in function.walk() if op is not wait and op.name != wait.name]
    if place is None:
        return any(location_of(op) is not None for op in others)
    return any(location_of(op) == place and _does_something(op) for op in others)


def _does_something(op: Operation) -> bool:
    """Whether `op` is more than a number that a call needs."""
    meaning = meaning_of(op)
    return meaning is None or meaning.kind not in (Kind.PURE, Kind.TERMINATOR)


MOST_WAITS = 64
"""The largest number of waits of one function that are judged."""
MOST_MORE = 16
"""The largest amount by which a count is raised."""


Waits = Mapping[Operation, Mapping[int | None, None]]
"""The waits that were executed -> the counts that each left unfinished; None for a token."""


Judge = Callable[[Relaxation], bool]
JudgeOfPrograms = Callable[[Operation, Region], bool]
"""Whether a function, and its body, is safe under all rules for every trip count that the case is proved for."""


def over_waits(
    waits: Waits, goes_right: Judge, is_proved: Judge
) -> Iterator[tuple[Relaxation, tuple[int | None, ...]]]:
    """
    The over-waits among `waits`: each weakened as far as it goes right in executions and is proved to do so in all
    others, with the counts that it had.
    """
    for op, counts in list(waits.items())[:MOST_WAITS]:
        weakest = _weakest(op, counts, goes_right)
        if weakest is not None and (proved := _proved(weakest, is_proved)) is not None:
            yield proved, tuple(counts)


def _proved(weakest: Relaxation, is_proved: Judge) -> Relaxation | None:
    """The weakest that is proved of those up to `weakest`. What is right stays right with a wait less weakened."""
    if is_proved(weakest):
        return weakest
    known, most = 0, (MOST_MORE if weakest.more is None else weakest.more - 1)
    while known < most:
        middle = (known + most + 1) // 2
        known, most = (middle, most) if is_proved(Relaxation(weakest.op, middle)) else (known, middle - 1)
    return Relaxation(weakest.op, known) if known else None


def _weakest(op: Operation, counts: Mapping[int | None, None], is_right: Judge) -> Relaxation | None:
    gone = Relaxation(op, None)
    if None in counts:
        return gone if is_right(gone) else None
    found: Relaxation | None = None
    for more in range(1, MOST_MORE + 1):
        weaker = Relaxation(op, more)
        if not is_right(weaker):
            return found
        if more == 1 and is_right(gone):
            return gone
        found = weaker
    return found


# The search of a case -------------------------------------------------------------------------------------------------

TIMED_AS = "generic"
"""The target whose table of cycles the cost of a wait is computed with."""


def look_for_over_waits(case: Case, counts: Sequence[int], is_safe: JudgeOfPrograms) -> None:
    """
    Report each wait that could be weaker at every trip count, of a function that is right for every one; and where the
    time was up before all were tried. `counts` are the trip counts that were tried. Nothing is said, and nothing tried,
    where several arguments bound loops: there is no proof of it.
    """
    if len(case.bounds) > 1:
        return

    def goes_right(relaxation: Relaxation) -> bool:
        return _is_right_with(case, relaxation)

    def is_proved(relaxation: Relaxation) -> bool:
        can_go = relaxation.more is None
        if can_go and not _is_safe_without(case, relaxation.op, is_safe):
            return False
        # What is in a wait goes with it, and has to be right behind one that does not wait.
        holds_more = not can_go or any(region.blocks for region in relaxation.op.regions)
        return not holds_more or is_proved_with(case, WhatIf(relaxed=relaxation), counts)

    costs = _Costs(case)
    for relaxation, counts_met in over_waits(case.waits, goes_right, is_proved):
        by_compiler = is_put_in_by_compiler(relaxation.op)
        found = OverWait(case.name, relaxation, counts_met, costs.of(relaxation), by_compiler)
        case.report.absorb(Outcome(warnings=[found]))
    deadline = case.subject.deadline
    if case.waits and deadline.has_passed():
        search = f"the search for waits that could be weaker, after {deadline}; {deadline.way_out}"
        case.report.absorb(Outcome(cut_short=[f"@{case.name}: {search}"]))


def _is_safe_without(case: Case, wait: Operation, is_safe: JudgeOfPrograms) -> bool:
    copied = function_without(case.subject.op, case.subject.body, wait)
    return copied is not None and is_safe(*copied)


def _is_right_with(case: Case, relaxation: Relaxation) -> bool:
    return all(_execute_relaxed(case, values, relaxation) for values in case.right)


def _execute_relaxed(case: Case, values: Sequence[int], relaxation: Relaxation) -> bool:
    case.tell(f"{case.call(values)}: waits that could be weaker")
    machine = case.subject.machine(Lazy())
    machine.what_if = WhatIf(relaxed=relaxation)
    return _is_right(case, machine, values)


def _is_right(case: Case, machine: Machine, values: Sequence[int]) -> bool:
    """Whether an execution of `case` on `machine` is right beyond doubt; it is not reported."""
    machine.trace.recording = False
    try:
        case.subject.execute(machine, case.scalars(values))
    except (UndecidedError, UnsupportedError, BlockDependentError):
        return False
    return machine.is_right_beyond_doubt


class _Costs:
    """What waits cost in cycles in the call of a case with the last values, under the order `timed`."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def of(self, relaxation: Relaxation) -> WaitCost | None:
        """The cost of the wait that `relaxation` weakens; None where the call cannot be timed."""
        try:
            return WaitCost(self.case.call(self.case.right[-1]), self.as_it_is, _cycles_of(self.case, relaxation))
        except (UndecidedError, UnsupportedError):
            return None

    @cached_property
    def as_it_is(self) -> int:
        return _cycles_of(self.case, None)


def _cycles_of(case: Case, relaxed: Relaxation | None) -> int:
    from tileas_xdsl.machine.time.simulated_time import Timed
    from tileas_xdsl.machine.time.simulation import timed_run
    from tileas_xdsl.targets.cycles import timing_table

    machine = case.subject.machine(Timed(timing_table(TIMED_AS)))
    machine.what_if = WhatIf(relaxed=relaxed)
    arguments = case.subject.prepare(machine, case.scalars(case.right[-1]))
    return timed_run(case.name, machine, execute(machine, case.subject.op, arguments)).cycles
