"""
Prove a function free of races and deadlocks for given trip counts, or show the interleaving: `check(module, function)`.

Each combination of trip counts is executed once, on scalars and synchronisation alone. Happens-before makes that
execution speak for every interleaving if the program is phase-determinate, which the execution itself tests
(`barriers`). Where it is not, all interleavings are tried within a bound; where that does not suffice the report says
`undecided`, and why. What is right for all trip counts that were executed is then proved for every trip count, by
induction (`recurrence`), or the report says why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.interfaces import AgentLikeOpInterface, LoopLikeOpInterface
from tileas_xdsl.machine.agents import Agent
from tileas_xdsl.machine.arguments import (
    ArgumentError,
    argument_at,
    argument_names,
    bind_arguments,
    find_function,
    is_integer_scalar,
    is_scalar,
    public_functions,
)
from tileas_xdsl.machine.barriers import judge_open_phases
from tileas_xdsl.machine.diagnosis import blame_first_wait
from tileas_xdsl.machine.execution import Machine
from tileas_xdsl.machine.exploration import RedundantRunError, explore
from tileas_xdsl.machine.orders import Lazy, Order, Timed
from tileas_xdsl.machine.over_waits import Cost, OverWait, Relaxation, over_waits
from tileas_xdsl.machine.recurrence.extent import deepest
from tileas_xdsl.machine.report import Finding, Report
from tileas_xdsl.machine.running import execute
from tileas_xdsl.machine.timing import timed_run
from tileas_xdsl.machine.values import UNKNOWN
from tileas_xdsl.machine.violations import Party, UndecidedError, UnsupportedError, Violation, ViolationKind
from tileas_xdsl.machine.witnesses import witness_of_undrained
from tileas_xdsl.machine.works import AsyncWork
from tileas_xdsl.targets.timing import timing_table

if TYPE_CHECKING:
    from tileas_xdsl.machine.recurrence.tape import Tape

DEFAULT_TRIP_COUNTS = tuple(range(9))
MOST_COMBINATIONS = 256
"""Combinations of trip counts that are run before the caller is asked to fix some arguments."""
DYNAMIC_EXTENT = 1024
"""The extent that a dynamic dimension of an array argument gets when only addresses matter."""
TIMED_AS = "generic"
"""The target with whose cycles the cost of a wait is told."""
EXTENT_OF_PROOFS = 1 << 16
"""The same where trip counts grow: an array is taken to be as large as the loops that walk it."""


@dataclass(frozen=True)
class Assumptions:
    """What the caller vouches for."""

    capture: str = "completion"
    may_alias: tuple[tuple[str, str], ...] = ()
    pure: frozenset[str] = frozenset()


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
) -> Report:
    """
    Check `function`, or every public function with a body, of `module`.

    Index and integer arguments that bound loops take each of `trip_counts`; `args` fixes some of them. By default these
    are 0 to 8, or to 2 S + 2 where a ring has S > 3 slots, and every trip count is proved from there; `prove` says
    whether to do that. Arrays are objects of their own unless `may_alias` pairs them. Ops named in `assume_pure` count
    as functions of their operands.

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
    for name in names:
        _check_function(module, name, counts, dict(args or {}), assumptions, report, may_add_counts=not asked)
    return report


def _must_be_arguments(module: Operation, functions: Sequence[str], named: Sequence[str]) -> None:
    """Raises `ArgumentError` for a name that is no argument of any of `functions`."""
    bodies = [find_function(module, name)[1] for name in functions]
    for name in named:
        if not any(_is_argument(body, name) for body in bodies):
            known = dict.fromkeys(argument for body in bodies for argument in argument_names(body))
            raise ArgumentError(f"there is no argument '{name}'; there are: {', '.join(known) or 'none'}")


def _is_argument(body: Region, name: str) -> bool:
    names = argument_names(body)
    return name in names or (name.isdecimal() and int(name) < len(names))


def _check_function(
    module: Operation,
    name: str,
    counts: Sequence[int],
    fixed: Mapping[str, int],
    assumptions: Assumptions,
    report: Report,
    *,
    may_add_counts: bool,
) -> None:
    op, body = find_function(module, name)
    names = argument_names(body)
    fixed = {names[argument_at(body, n).index]: value for n, value in fixed.items() if _is_argument(body, n)}
    bounds = [n for n in bounding_arguments(body) if n not in fixed]
    combinations = len(counts) ** len(bounds)
    if combinations > MOST_COMBINATIONS:
        raise ArgumentError(
            f"@{name} has {len(bounds)} arguments that bound loops ({', '.join(bounds)}): {combinations} combinations "
            f"of trip counts; fix some with --arg {bounds[-1]}=4"
        )
    case = _Case(name, op, body, fixed, bounds, assumptions, report)
    for values in product(counts, repeat=len(bounds)):
        case.check(values)
    if len(bounds) == 1 and may_add_counts and not case.is_open:
        report.trip_counts = _with_more(report.trip_counts, 2 * case.deepest + 2)
        for number in range(counts[-1] + 1, 2 * case.deepest + 3):
            case.check((number,))
    if report.tries_every_trip_count and not case.is_open:
        case.check_every_trip_count(counts)
    if report.tries_every_trip_count and not case.is_open:
        case.look_for_over_waits()


def _with_more(counts: tuple[int, ...], last: int) -> tuple[int, ...]:
    return (*counts, *range(counts[-1] + 1, last + 1))


class _Case:
    """One function with some of its arguments fixed, and others (`bounds`) to be varied."""

    def __init__(
        self,
        name: str,
        op: Operation,
        body: Region,
        fixed: Mapping[str, int],
        bounds: Sequence[str],
        assumptions: Assumptions,
        report: Report,
    ) -> None:
        self.name = name
        self.op = op
        self.body = body
        self.fixed = fixed
        self.bounds = bounds
        self.assumptions = assumptions
        self.report = report
        self.deepest = 0
        """Slots of the deepest ring that was met."""
        self.is_open = False
        """Whether something was found, or left undecided."""
        self._seen: set[object] = set()
        self._right: list[Sequence[int]] = []
        """The values that were executed and found right."""
        self._waits: dict[Operation, dict[int | None, None]] = {}

    def check(self, values: Sequence[int]) -> None:
        """Execute with these values of the arguments, and report."""
        try:
            violations, doubt = self._decide(values, None)
        except UndecidedError as error:
            self.is_open = True
            self.report.undecided.append(str(error))
            self.report.stopped_at.append(error.op)
            return
        self._note(values, violations, doubt)

    def _note(self, values: Sequence[int], violations: list[Violation], doubt: str | None) -> None:
        self.is_open |= bool(violations) or doubt is not None
        arguments = dict(zip(self.bounds, values, strict=True))
        for violation in violations:
            if violation.key not in self._seen:
                self._seen.add(violation.key)
                self.report.findings.append(Finding(self.name, arguments, violation))
        if doubt is not None and doubt not in self.report.undecided:
            self.report.undecided.append(doubt)

    def _decide(self, values: Sequence[int], tape: Tape | None) -> tuple[list[Violation], str | None]:
        scalars = {**self.fixed, **dict(zip(self.bounds, values, strict=True))}
        machine, violations, doubt = _decide(self.op, self.body, scalars, self.assumptions, self.report, tape)
        if tuple(values) == (1,):
            self.deepest = deepest(machine)
        if tape is None and machine.is_right_beyond_doubt:
            self._right.append(values)
            for op, counts in machine.waits_met.items():
                self._waits.setdefault(op, {}).update(counts)
        return violations, doubt

    # Waits that are too strong ----------------------------------------------------------------------------------------

    def look_for_over_waits(self) -> None:
        """Report the waits that could be weaker, one by one, at each of the trip counts that were executed."""
        for relaxation, counts in over_waits(self._waits, self._is_right_with):
            self.report.warnings.append(OverWait(self.name, relaxation, counts, self._cost_of(relaxation)))

    def _is_right_with(self, relaxation: Relaxation) -> bool:
        return all(self._execute_relaxed(values, relaxation) for values in self._right)

    def _execute_relaxed(self, values: Sequence[int], relaxation: Relaxation) -> bool:
        unreported = Report([], ())
        scalars = {**self.fixed, **dict(zip(self.bounds, values, strict=True))}
        try:
            machine, _, _ = _decide(self.op, self.body, scalars, self.assumptions, unreported, relaxed=relaxation)
        except (UndecidedError, UnsupportedError):
            return False
        return machine.is_right_beyond_doubt

    def _cost_of(self, relaxation: Relaxation) -> Cost | None:
        """Cycles of the call with the largest values, under the order `timed`."""
        values = dict(zip(self.bounds, self._right[-1], strict=True))
        cycles: list[int] = []
        for relaxed in (None, relaxation):
            machine = Machine(Timed(timing_table(TIMED_AS)), with_data=False, assume_pure=self.assumptions.pure)
            machine.relaxed = relaxed
            try:
                arguments = symbolic_arguments(self.body, {**self.fixed, **values}, self.assumptions)
                results = execute(machine, self.op, arguments)
            except (UndecidedError, UnsupportedError):
                return None
            cycles.append(timed_run(self.name, machine, results).cycles)
        call = f"@{self.name}({', '.join(f'{name} = {value}' for name, value in values.items())})"
        return Cost(call, *cycles)

    # Every trip count -------------------------------------------------------------------------------------------------

    def check_every_trip_count(self, counts: Sequence[int]) -> None:
        """Prove what was found right so far for every trip count, or report why not, or what is wrong."""
        reason = self._reason_against(counts)
        if reason is not None:
            self.report.bounded.append(f"@{self.name}: {reason}")

    def _reason_against(self, counts: Sequence[int]) -> str | None:
        extent = next((op for op in self.op.get_toplevel_object().walk() if _bounds_loops_by_an_extent(op)), None)
        if extent is not None:
            error = UndecidedError(extent, f"bounds a loop by an extent, which is taken to be {DYNAMIC_EXTENT}")
            return f"{error}; give the array a fixed size, or the loop an argument"
        if not self.bounds:
            return None
        if len(self.bounds) > 1:
            names = ", ".join(self.bounds)
            return f"{len(self.bounds)} arguments bound loops ({names}); fix all but one with --arg to prove the rest"
        if tuple(counts) != tuple(range(len(counts))):
            return "the trip counts that were executed do not begin at 0 without gaps"
        from tileas_xdsl.machine.recurrence.induction import NoProofError, WrongError, prove

        try:
            self.report.proofs[self.name] = prove(self._execute, max(counts[-1], 2 * self.deepest + 2))
        except NoProofError as error:
            return str(error)
        except WrongError as error:
            self.check((error.trip_count,))
            return f"trip count {error.trip_count} could not be shown to be right" if not self.is_open else None
        return None

    def _execute(self, trip_count: int, tape: Tape) -> bool:
        from tileas_xdsl.machine.recurrence.induction import NoProofError

        try:
            violations, doubt = self._decide((trip_count,), tape)
        except (UndecidedError, UnsupportedError) as error:
            raise NoProofError(f"trip count {trip_count} cannot be executed: {error}") from None
        return not violations and doubt is None


def _decide(
    op: Operation,
    body: Region,
    scalars: Mapping[str, int],
    assumptions: Assumptions,
    report: Report,
    tape: Tape | None = None,
    relaxed: Relaxation | None = None,
) -> tuple[Machine, list[Violation], str | None]:
    """
    One execution; more where it cannot speak for all. Returns the machine of the first one, and what is wrong, or else
    the doubt that remains. With a `tape` to write, or a wait that is `relaxed`, it is one execution that says no more
    than whether it is right.
    """

    extent = DYNAMIC_EXTENT if tape is None else EXTENT_OF_PROOFS

    def make(order: Order) -> Machine:
        report.executions += 1
        return Machine(order, with_data=False, capture=assumptions.capture, assume_pure=assumptions.pure)

    def run(machine: Machine) -> None:
        machine.at_end.append(report_undrained)
        execute(machine, op, symbolic_arguments(body, scalars, assumptions, extent))
        # What nobody waits for completes some time, too, and may complete a phase of a barrier.
        machine.perform_all()
        judge_open_phases(machine)

    def explored(order: Order) -> tuple[Machine, bool]:
        machine = make(order)
        try:
            run(machine)
        except RedundantRunError:
            return machine, False
        return machine, True

    def rerun(inverted_wait: Operation) -> Machine:
        other = make(Lazy())
        other.inverted_wait = inverted_wait
        run(other)
        return other

    machine = make(Lazy())
    # Most programs are right, and a trace of what happened is only needed to tell of mistakes.
    machine.trace.recording = False
    machine.tape, machine.relaxed = tape, relaxed
    run(machine)
    if tape is not None or relaxed is not None or machine.is_right_beyond_doubt:
        doubt = None if machine.is_right_beyond_doubt else "it may be wrong"
        return machine, list(machine.violations.values()), doubt
    report.executions -= 1
    machine = make(Lazy())
    run(machine)
    blame_first_wait(machine, rerun)
    if machine.open_questions and not machine.violations:
        question = machine.open_questions[0]
        report.stopped_at.append(question.op)
        return machine, [], str(UndecidedError(question.op, question.reason))
    if not machine.indeterminacies:
        return machine, list(machine.violations.values()), None
    doubt = machine.indeterminacies[0]
    exploration = explore(explored)
    violations = list({**machine.violations, **exploration.violations}.values())
    if exploration.exhausted:
        return machine, violations, None
    reason = UndecidedError(doubt.op, doubt.reason)
    if violations:
        report.unexplored.append(f"{reason}; {exploration.runs} interleavings were tried, there are more")
        return machine, violations, None
    return machine, [], f"{reason}; {exploration.runs} interleavings were tried and none went wrong"


def symbolic_arguments(
    body: Region, scalars: Mapping[str, int], assumptions: Assumptions, extent: int = DYNAMIC_EXTENT
) -> list[Any]:
    """Arguments for a check: objects without data, the given scalars, and nothing known of any other scalar."""
    block = body.first_block
    assert block is not None
    given: dict[str, Any] = dict(scalars)
    for name, argument in zip(argument_names(body), block.args, strict=True):
        if is_scalar(argument.type) and name not in given and str(argument.index) not in given:
            given[name] = UNKNOWN
    aliases = [pair for pair in assumptions.may_alias if all(_is_argument(body, name) for name in pair)]
    return bind_arguments(body, given, with_data=False, aliases=aliases, dynamic_size=extent)


def report_undrained(first: Agent) -> None:
    """Asynchronous work of which the function does not know, at its end, that it is complete."""
    for work in first.machine.works:
        if not first.mind.knows_work(work):
            _report_undrained_work(first, work)


def _report_undrained_work(first: Agent, work: AsyncWork) -> None:
    role = f"issues {work.label}, which nobody waits for"
    party = Party(work.op, work.issuer.name, work.iteration, role)
    violation = Violation(
        ViolationKind.UNDRAINED,
        "asynchronous work may be unfinished when the function ends",
        (party,),
        "a wait for it on every path to the end of the function",
    )
    first.machine.report(violation, lambda: witness_of_undrained(first, work, party))


def bounding_arguments(body: Region) -> list[str]:
    """Names of the integer arguments from which a loop bound or a branch is computed, in order."""
    block = body.first_block
    assert block is not None
    return [
        name
        for name, argument in zip(argument_names(body), block.args, strict=True)
        if is_integer_scalar(argument.type) and _decides_control(argument)
    ]


EXTENTS = frozenset({"memref.dim", "tensor.dim", "memref.extract_strided_metadata", "nv_tileaa.dim", "nv_tileas.dim"})
"""Ops that tell the extents of arrays, which are made up where they are open."""


def _is_passed_to_a_call(value: SSAValue) -> bool:
    return any(use.operation.name in ("func.call", "llvm.call", "async.call") for use in value.uses)


def _bounds_loops_by_an_extent(op: Operation) -> bool:
    if op.name not in EXTENTS or not any(_decides_control(r) or _is_passed_to_a_call(r) for r in op.results):
        return False
    kind = op.operands[0].type
    return not isinstance(kind, ShapedType) or DYNAMIC_INDEX in kind.get_shape()


CONTROL_OPERANDS = {
    "scf.for": 3,
    "scf.if": 1,
    "scf.condition": 1,
    "scf.index_switch": 1,
    "cf.cond_br": 1,
    "cf.switch": 1,
}
"""How many leading operands of an op decide what runs."""


def _decides_control(argument: SSAValue) -> bool:
    stack, seen = [argument], {argument}
    while stack:
        for use in stack.pop().uses:
            op = use.operation
            if use.index < CONTROL_OPERANDS.get(op.name, 0):
                return True
            for value in _flows_to(op, use.index):
                if value not in seen:
                    seen.add(value)
                    stack.append(value)
    return False


def _flows_to(op: Operation, index: int) -> list[SSAValue]:
    """The values that operand `index` of `op` may reach: results, and the block arguments that receive it."""
    values: list[SSAValue] = list(op.results)
    loop = LoopLikeOpInterface.of(op)
    if loop is not None:
        values.extend(loop.carried_arguments)
    if AgentLikeOpInterface.of(op) is not None:
        for region in op.regions:
            entry = region.first_block
            arguments: Sequence[BlockArgument] = entry.args if entry is not None else ()
            values.extend(arguments[index : index + 1])
    return values
