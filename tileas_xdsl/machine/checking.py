"""
Prove a function free of races and deadlocks for given trip counts, or show the interleaving: `check(module, function)`.

Each combination of trip counts is decided by itself (`deciding`). What is right for all of them is then proved for
every trip count, by induction (`recurrence`), or the report says why not. Of what is right, waits that are stronger
than they need be are told (`over_waits`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.machine.arguments import (
    DYNAMIC_EXTENT,
    ArgumentError,
    argument_at,
    argument_names,
    find_function,
    is_argument,
    public_functions,
)
from tileas_xdsl.machine.deciding import Assumptions, Decision, Subject, decide
from tileas_xdsl.machine.garbage import seldom_collecting
from tileas_xdsl.machine.left_out import LeftOut
from tileas_xdsl.machine.long_loops import generalised
from tileas_xdsl.machine.loop_bounds import bounding_arguments, bounds_loops_by_an_extent
from tileas_xdsl.machine.orders import Lazy, Prompt, Timed
from tileas_xdsl.machine.over_waits import Cost, OverWait, Relaxation, over_waits
from tileas_xdsl.machine.recurrence.extent import deepest
from tileas_xdsl.machine.report import Finding, Report, span
from tileas_xdsl.machine.running import execute
from tileas_xdsl.machine.timing import timed_run
from tileas_xdsl.machine.violations import NoStepError, UndecidedError, UnsupportedError
from tileas_xdsl.targets.timing import timing_table

if TYPE_CHECKING:
    from tileas_xdsl.machine.execution import Machine
    from tileas_xdsl.machine.recurrence.tape import Tape

DEFAULT_TRIP_COUNTS = tuple(range(9))
MOST_COMBINATIONS = 256
"""Combinations of trip counts that are run; for more of them the caller is asked to fix some arguments."""
TIMED_AS = "generic"
"""The target with whose cycles the cost of a wait is told."""
Tell = Callable[[str], None]
"""Takes what is done from now on, in a few words, for those who wait."""
EXTENT_OF_PROOFS = 1 << 16
"""The same where trip counts grow: an array is taken to be as large as the loops that walk it."""
STEPS_OF_PROOFS = 2_000_000
"""Steps after which an execution for a proof is given up, which may be one of a far trip count."""


def check(
    module: Operation,
    function: str | None = None,
    *,
    trip_counts: Sequence[int] | None = None,
    capture: str = "completion",
    args: Mapping[str, int] | None = None,
    may_alias: Sequence[tuple[str, str]] = (),
    assume_pure: Sequence[str] = (),
    prove: bool | None = None,
    tell: Tell | None = None,
) -> Report:
    """
    Check `function`, or every public function with a body, of `module`.

    Index and integer arguments that bound loops take each of `trip_counts`; `args` fixes some of them. By default these
    are 0 to 8, or to 2 S + 2 where a ring has S > 3 slots and that is below `MOST_COMBINATIONS`, and every trip count
    is proved from there; `prove` says whether to do that. Arrays are objects of their own unless `may_alias` pairs
    them. Ops named in `assume_pure` count as functions of their operands. `tell` is called with what is being done.

    Raises `ArgumentError` when there is nothing to check or too much, `UnsupportedError` for ops without a meaning.
    """
    counts = tuple(trip_counts) if trip_counts is not None else DEFAULT_TRIP_COUNTS
    names = [function] if function is not None else public_functions(module)
    if not names:
        raise ArgumentError("there is no public function with a body to check")
    _must_be_arguments(module, names, [*(args or {}), *(n for pair in may_alias for n in pair)])
    asked = trip_counts is not None
    report = Report(names, counts, tries_every_trip_count=not asked if prove is None else prove)
    assumptions = Assumptions(capture, tuple(may_alias), frozenset(assume_pure))
    with seldom_collecting():
        tried = [
            _check_function(
                module, name, counts, dict(args or {}), assumptions, report, tell or _nobody, may_add_counts=not asked
            )
            for name in names
        ]
    # What is said of all functions is what each of them was tried with.
    report.trip_counts = min((each for each in tried if each is not None), key=len, default=counts)
    report.varies_trip_counts = any(each is not None for each in tried)
    return report


def _nobody(_text: str) -> None:
    """Nobody wants to be told."""


def _must_be_arguments(module: Operation, functions: Sequence[str], named: Sequence[str]) -> None:
    """Raises `ArgumentError` for a name that is no argument of any of `functions`."""
    bodies = [find_function(module, name)[1] for name in functions]
    for name in named:
        if not any(is_argument(body, name) for body in bodies):
            known = dict.fromkeys(argument for body in bodies for argument in argument_names(body))
            raise ArgumentError(f"there is no argument '{name}'; there are: {', '.join(known) or 'none'}")


def _check_function(
    module: Operation,
    name: str,
    counts: tuple[int, ...],
    fixed: Mapping[str, int],
    assumptions: Assumptions,
    report: Report,
    tell: Tell,
    *,
    may_add_counts: bool,
) -> tuple[int, ...] | None:
    """Returns the trip counts that were tried, None where the function has no argument that varies."""
    op, body = find_function(module, name)
    names = argument_names(body)
    fixed = {names[argument_at(body, n).index]: value for n, value in fixed.items() if is_argument(body, n)}
    bounds = [n for n in bounding_arguments(body) if n not in fixed]
    combinations = len(counts) ** len(bounds)
    if combinations > MOST_COMBINATIONS:
        raise ArgumentError(
            f"@{name} has {len(bounds)} arguments that bound loops ({', '.join(bounds)}): {combinations} combinations "
            f"of trip counts; fix some with --arg {bounds[-1]}=4"
        )
    report.makes_up_extents |= _made_up_extent(op) is not None
    case = _Case(name, Subject(op, body, assumptions), fixed, bounds, report, tell)
    asks_for_all = report.tries_every_trip_count and may_add_counts
    if bounds or not asks_for_all or not _holds_in_general(case, counts):
        counts = case.decide(counts, may_add_counts=may_add_counts)
    return counts if bounds else None


def _made_up_extent(function: Operation) -> Operation | None:
    """The first op around `function`, in it or in what it may call, that tells an open extent which bounds a loop."""
    return next((op for op in function.get_toplevel_object().walk() if bounds_loops_by_an_extent(op)), None)


def _holds_in_general(case: _Case, counts: tuple[int, ...]) -> bool:
    """
    Whether a function with loops that are long, and constant, is right however often they turn. If so that is reported;
    if not, nothing is said: it may be right as it is.
    """
    general = generalised(case.subject.op)
    if general is None:
        return False
    report = Report([case.name], counts, tries_every_trip_count=True)
    larger = _Case(
        case.name,
        Subject(general.op, general.body, case.subject.assumptions),
        case.fixed,
        [general.turns],
        report,
        case.tell,
    )
    larger.target = general.number
    try:
        larger.decide(counts, may_add_counts=True)
    except UnsupportedError:
        return False
    case.report.executions += report.executions
    if report.holds_for_every_trip_count:
        case.report.proofs |= report.proofs
        case.report.warnings += report.warnings
    return report.holds_for_every_trip_count


class _Case:
    """One function with some of its arguments fixed, and others (`bounds`) to be varied."""

    def __init__(
        self,
        name: str,
        subject: Subject,
        fixed: Mapping[str, int],
        bounds: Sequence[str],
        report: Report,
        tell: Tell,
        told: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.subject = subject
        self.fixed = fixed
        self.bounds = bounds
        self.report = report
        self.tell = tell
        self.told = told or bounds
        """The arguments that a finding names."""
        self.target: int | None = None
        """The one trip count for which a proof is wanted, if it is one only: see `long_loops`."""
        self.deepest = 0
        """Slots of the deepest ring that was met."""
        self.too_deep = ""
        """Why it is so deep that not all the trip counts are tried that a proof would start from."""
        self.left_out = LeftOut(subject.body, bounds)
        """Values with which there is no program."""
        self.is_open = False
        """Whether something was found, or left undecided."""
        self._seen: set[object] = set()
        self._right: list[Sequence[int]] = []
        """The values that were executed and found right."""
        self._waits: dict[Operation, dict[int | None, None]] = {}

    def decide(self, counts: tuple[int, ...], *, may_add_counts: bool) -> tuple[int, ...]:
        """
        Decide about all combinations of `counts`, more of them where rings are deep, and every one if asked for.
        Returns the trip counts that were tried.

        Raises `NoStepError` where none is.
        """
        report = self.report
        for values in product(counts, repeat=len(self.bounds)):
            self.check(values)
        if self.left_out and len(self.left_out) == len(counts) ** len(self.bounds):
            self.left_out.raise_first()
        if len(self.bounds) == 1 and may_add_counts and not self.is_open:
            more = self._more_than(counts)
            for number in more:
                self.check((number,))
            counts = (*counts, *more)
        if report.tries_every_trip_count and not self.is_open:
            self.check_every_trip_count(counts)
        if report.tries_every_trip_count and not self.is_open:
            self.look_for_over_waits()
        report.left_out += [f"@{self.name}: {calls}" for calls in self.left_out.sentences()]
        return tuple(count for count in counts if (count,) not in self.left_out)

    def _more_than(self, counts: Sequence[int]) -> range:
        """The trip counts behind `counts` up to those at which the deepest ring has turned twice; none if too many."""
        last = 2 * self.deepest + 2
        if last >= MOST_COMBINATIONS:
            self.too_deep = (
                f"a ring has {self.deepest} slots, so that trip counts up to {last} would have to be tried; "
                "fix the depth or ask with --trip-counts"
            )
            return range(0)
        return range(counts[-1] + 1, last + 1)

    def check(self, values: Sequence[int]) -> None:
        """
        Decide about these values of the arguments, and report.

        Raises `NoStepError` where a loop has no positive step for another reason than these values.
        """
        self.tell(self._call(values))
        try:
            decision = decide(self.subject, self._scalars(values))
        except NoStepError as error:
            self.left_out.add(values, error)
            return
        except UndecidedError as error:
            self.is_open = True
            self.report.undecided.append(str(error))
            self.report.stopped_at.append(error.op)
            return
        self._report(values, decision)
        if not self.is_open:
            self._keep(values, decision.machine)

    def _scalars(self, values: Sequence[int]) -> dict[str, int]:
        return {**self.fixed, **dict(zip(self.bounds, values, strict=True))}

    def _call(self, values: Sequence[int]) -> str:
        """`@ring(n = 4)`."""
        scalars = self._scalars(values)
        return f"@{self.name}({', '.join(f'{name} = {scalars[name]}' for name in self.told)})"

    def _report(self, values: Sequence[int], decision: Decision) -> None:
        report = self.report
        report.executions += decision.executions
        self.is_open |= bool(decision.violations) or decision.doubt is not None
        scalars = self._scalars(values)
        arguments = {name: scalars[name] for name in self.told}
        for violation in decision.violations:
            if violation.key not in self._seen:
                self._seen.add(violation.key)
                report.findings.append(Finding(self.name, arguments, violation))
        if decision.doubt is not None and decision.doubt not in report.undecided:
            report.undecided.append(decision.doubt)
        if decision.stopped_at is not None:
            report.stopped_at.append(decision.stopped_at)
        if decision.unexplored is not None:
            report.unexplored.append(decision.unexplored)

    def _keep(self, values: Sequence[int], machine: Machine) -> None:
        """What later questions need to know of an execution without faults."""
        if tuple(values) == (1,):
            self.deepest = deepest(machine)
        if machine.is_right_beyond_doubt:
            self._right.append(values)
            for op, counts in machine.waits_met.items():
                self._waits.setdefault(op, {}).update(counts)

    # Waits that are too strong ----------------------------------------------------------------------------------------

    def look_for_over_waits(self) -> None:
        """Report the waits that could be weaker, one by one, at each of the trip counts that were executed."""
        for relaxation, counts in over_waits(self._waits, self._is_right_with):
            self.report.warnings.append(OverWait(self.name, relaxation, counts, self._cost_of(relaxation)))

    def _is_right_with(self, relaxation: Relaxation) -> bool:
        return all(self._execute_relaxed(values, relaxation) for values in self._right)

    def _execute_relaxed(self, values: Sequence[int], relaxation: Relaxation) -> bool:
        self.tell(f"{self._call(values)}: waits that could be weaker")
        machine = self.subject.machine(Lazy())
        machine.relaxed = relaxation
        return self._is_right(machine, values)

    def _is_right(self, machine: Machine, values: Sequence[int]) -> bool:
        """Whether one execution, of which nobody will be told, is right beyond doubt."""
        machine.trace.recording = False
        try:
            self.subject.execute(machine, self._scalars(values))
        except (UndecidedError, UnsupportedError):
            return False
        return machine.is_right_beyond_doubt

    def _cost_of(self, relaxation: Relaxation) -> Cost | None:
        """Cycles of the call with the largest values, under the order `timed`."""
        try:
            cycles = [self._cycles_of(relaxed) for relaxed in (None, relaxation)]
        except (UndecidedError, UnsupportedError):
            return None
        return Cost(self._call(self._right[-1]), *cycles)

    def _cycles_of(self, relaxed: Relaxation | None) -> int:
        machine = self.subject.machine(Timed(timing_table(TIMED_AS)))
        machine.relaxed = relaxed
        arguments = self.subject.arguments(self._scalars(self._right[-1]))
        return timed_run(self.name, machine, execute(machine, self.subject.op, arguments)).cycles

    # Every trip count -------------------------------------------------------------------------------------------------

    def check_every_trip_count(self, counts: Sequence[int]) -> None:
        """Prove what was found right so far for every trip count, or report why not, or what is wrong."""
        reason = self._reason_against(counts)
        if reason is not None:
            self.report.bounded.append(f"@{self.name}: {reason}")

    def _reason_against(self, counts: Sequence[int]) -> str | None:
        extent = _made_up_extent(self.subject.op)
        if extent is not None:
            error = UndecidedError(extent, f"bounds a loop by an extent, which is taken to be {DYNAMIC_EXTENT}")
            return f"{error}; give the array a fixed size, or the loop an argument"
        if not self.bounds:
            return None
        if tuple(counts) != tuple(range(len(counts))):
            return "the trip counts that were executed do not begin at 0 without gaps"
        if len(self.bounds) > 1:
            return self._reason_with_several(counts)
        if self.too_deep:
            return self.too_deep
        if self.left_out:
            return self.left_out.reason_against_a_proof()
        from tileas_xdsl.machine.recurrence.induction import prove
        from tileas_xdsl.machine.recurrence.outcomes import NoProofError, WrongError

        try:
            self.report.proofs[self.name] = prove(self._execute, counts[-1], self.target)
        except NoProofError as error:
            return str(error)
        except WrongError as error:
            self.check((error.trip_count,))
            return f"trip count {error.trip_count} could not be shown to be right" if not self.is_open else None
        return None

    def _reason_with_several(self, counts: Sequence[int]) -> str | None:
        """Of two arguments each is proved where the other takes the values that were executed."""
        names = self.bounds
        proved = [name for name in names if len(names) == 2 and not self.is_open and self._is_proved(name, counts)]
        if self.is_open:
            return None
        others = [next(n for n in names if n != name) for name in proved]
        known = [
            f"every {name} is proved where {other} is {span(tuple(self._programs(other, counts)))}"
            for name, other in zip(proved, others, strict=True)
        ]
        what = "; ".join([f"{len(names)} arguments bound loops ({', '.join(names)})", *known])
        return f"{what}; fix all but one with --arg to prove the rest"

    def _programs(self, name: str, counts: Sequence[int]) -> list[int]:
        """The `counts` that the argument `name`, of two, can have."""
        return [count for count in counts if not self.left_out.holds_all_with(name, count, len(counts))]

    def _is_proved(self, name: str, counts: Sequence[int]) -> bool:
        """Prove every value of the argument `name` for each value of the other one; report what is found wrong."""
        other = next(n for n in self.bounds if n != name)
        for value in self._programs(other, counts):
            report = Report([self.name], tuple(counts))
            alone = _Case(self.name, self.subject, {**self.fixed, other: value}, [name], report, self.tell, self.bounds)
            alone.check_every_trip_count(counts)
            self.report.executions += report.executions
            self.report.findings += report.findings
            self.report.undecided += report.undecided
            self.is_open |= alone.is_open
            if report.bounded or alone.is_open:
                return False
        return True

    def _execute(self, trip_count: int, tape: Tape) -> bool:
        from tileas_xdsl.machine.recurrence.outcomes import NoProofError

        self.report.executions += 1
        self.tell(f"{self._call((trip_count,))}: proving every trip count")
        machine = self.subject.machine(Prompt())
        machine.trace.recording = False
        machine.tape = tape
        machine.step_budget = STEPS_OF_PROOFS
        try:
            self.subject.execute(machine, self._scalars((trip_count,)), EXTENT_OF_PROOFS)
        except (UndecidedError, UnsupportedError) as error:
            known = (trip_count,) in self._right
            without = " where floats are not followed, as in a proof" if known else ""
            raise NoProofError(f"trip count {trip_count} cannot be executed{without}: {error}") from None
        return machine.is_right_beyond_doubt
