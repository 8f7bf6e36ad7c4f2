"""
Prove a function free of races and deadlocks for given trip counts, or show the interleaving: `check(module, function)`.

Each combination of trip counts is decided by itself (`cases`, `deciding`). What is right for all of them is then proved
for every trip count, by induction (`proving`, `proof.induction`), or the report says why not. Of what is right, waits
that are stronger than they need be are reported (`over_waits`).

Without a trace first. A check executes without a trace, and again with one where something was found: most programs are
right, and a witness needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import inf
from typing import TypedDict

from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.any_programs import is_proved_for_any_programs
from tileas_xdsl.checker.verdict.blocks import PROGRAMS, TURNS, assignments, is_extent, loops_over_blocks
from tileas_xdsl.checker.verdict.cases import Case, OutOfTime, Tell, tell_none
from tileas_xdsl.checker.verdict.checking_turns import Question, check_turns
from tileas_xdsl.checker.verdict.collector import seldom_collecting
from tileas_xdsl.checker.verdict.deciding import Assumptions, Subject
from tileas_xdsl.checker.verdict.free_turns import with_free_turns
from tileas_xdsl.checker.verdict.in_order import is_in_order, leave_to_order
from tileas_xdsl.checker.verdict.long_loops import generalised, short_loops, try_longer_loops
from tileas_xdsl.checker.verdict.loop_bounds import (
    bounding_arguments,
    made_up_extent,
    masking_arguments,
    switching_arguments,
)
from tileas_xdsl.checker.verdict.over_waits import look_for_over_waits
from tileas_xdsl.checker.verdict.preconditions import Numbers, Precondition, left_by, numbers_of, parse_preconditions
from tileas_xdsl.checker.verdict.proving import (
    MOST_AT_ONCE,
    check_every_trip_count,
    goes_at_once_first,
    holds_with_open_loops,
    is_proved_at_once,
)
from tileas_xdsl.checker.verdict.report import Outcome, Report
from tileas_xdsl.checker.verdict.tile_ir import judge_blocks, judge_tile_ir
from tileas_xdsl.diagnostics import op_name, stated_assumptions
from tileas_xdsl.dialects.nvvm.registers import FIRST_IF_NEEDED
from tileas_xdsl.machine.arguments import (
    ArgumentError,
    argument_at,
    argument_names,
    find_function,
    is_argument,
    numbers_of_block,
    public_functions,
    threads_given,
)
from tileas_xdsl.machine.core.assumptions import ENDS, PROMISED, Assumption
from tileas_xdsl.machine.core.code import Code
from tileas_xdsl.machine.core.deadline import Deadline
from tileas_xdsl.machine.core.handles import synchronises
from tileas_xdsl.machine.core.threads.hardware import Elections, WhichLaneError
from tileas_xdsl.machine.core.threads.slices import NeededAfterAllError
from tileas_xdsl.machine.core.violations import BlockDependentError, UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.programs import takes_programs_over

DEFAULT_TRIP_COUNTS = tuple(range(9))
MOST_COMBINATIONS = 256
"""Combinations of trip counts that are run; for more of them the caller is asked to fix some arguments."""
MOST_SWITCHES = 4
"""Arguments of one bit of which all settings are checked, one after the other."""
STEPS = 2_500_000
"""Steps for each function (`machine.core.deadline`), unless the caller asks for more or for less."""
TIMEOUT = inf
"""Seconds of processor time for each function, unless the caller gives a number: none, since computers differ."""


class CheckOptions(TypedDict, total=False):
    """The options of `check` for those who pass them on."""

    trip_counts: Sequence[int] | None
    capture: str
    args: Mapping[str, int]
    may_alias: Sequence[tuple[str, str]]
    assume: Sequence[str]
    assume_pure: Sequence[str]
    relaxed_proxy: bool
    threads: int | None
    prove: bool | None
    programs: int | None
    judge_waits: bool
    timeout: float | None
    steps: float | None
    tell: Tell | None


def check(
    module: Operation,
    function: str | None = None,
    *,
    trip_counts: Sequence[int] | None = None,
    capture: str = "completion",
    args: Mapping[str, int] | None = None,
    may_alias: Sequence[tuple[str, str]] = (),
    assume: Sequence[str] = (),
    assume_pure: Sequence[str] = (),
    relaxed_proxy: bool = False,
    threads: int | None = None,
    prove: bool | None = None,
    programs: int | None = None,
    judge_waits: bool = True,
    timeout: float | None = TIMEOUT,
    steps: float | None = None,
    tell: Tell | None = None,
) -> Report:
    """
    Check `function`, or every public function with a body, of `module`.

    Index and integer arguments that bound loops take each of `trip_counts`; `args` fixes some of them. By default these
    are 0 to 8, or to 2 S + 2 where a ring has S > 3 slots and that is below `MOST_COMBINATIONS`, and every trip count
    is proved from there; `prove` says whether to do that. Preconditions of integer arguments (`assume`: "K >= 1",
    "K % 64 == 0") narrow what is tried and proved to the calls that keep them; trip counts are then numbers of those
    calls, the least first. Arrays are objects of their own unless `may_alias` pairs
    them. Ops named in `assume_pure` count as functions of their operands. A function that does not say how many threads
    run it has `threads`, or one. `capture` says when asynchronous work reads its sources: at some time until its
    `completion`, or at its `issue`. With `relaxed_proxy` a generic read that no proxy fence separates from a later
    asynchronous write is a warning. `tell` is called with what is being done. A persistent loop computes `programs`
    programs; where that is None, their number is one more argument that bounds loops. `judge_waits` says whether waits
    that could be weaker are looked for in what is proved: that takes longer than the proof, and changes no verdict.

    After `steps` steps (infinity: never; `machine.core.deadline`) the check of a function ends: the verdict is for the
    trip counts that were executed by then, and says what there was no time for. That is the same on every computer.
    After `timeout` seconds of processor time (None: never) it ends as well. Without `steps` these are `STEPS`, or no
    limit where `timeout` is given.

    Raises `ArgumentError` when there is nothing to check or too much, `UnsupportedError` for ops without a meaning.
    """
    counts = tuple(trip_counts) if trip_counts is not None else DEFAULT_TRIP_COUNTS
    names = [function] if function is not None else public_functions(module)
    if not names:
        raise ArgumentError("there is no public function with a body to check")
    conditions = left_by(args or {}, parse_preconditions(assume))
    promised = numbers_of(conditions)
    named = [name for numbers in promised.items() for name in (numbers[0], *(other for other, _ in numbers[1].others))]
    _must_be_arguments(module, names, [*(args or {}), *(n for pair in may_alias for n in pair), *named])
    _must_be_free(args or {}, promised)
    _must_only_compute(module, assume_pure)
    _must_take_programs_over(module, names, programs)
    report = _report_on(module, names, counts, threads, conditions)
    report = replace(report, tries_every_trip_count=trip_counts is None if prove is None else prove)
    assumptions = Assumptions(capture, tuple(may_alias), frozenset(assume_pure), relaxed_proxy, threads_given(threads))
    question = Question(counts, args or {}, programs, may_add_counts=trip_counts is None)
    limit = steps if steps is not None else STEPS if timeout == TIMEOUT else inf
    tried: list[tuple[int, ...] | None] = []
    with seldom_collecting():
        for name in names:
            op, body = find_function(module, name)
            deadline = Deadline.after(timeout, limit)
            subject = Subject(op, body, assumptions, deadline=deadline, judges_waits=judge_waits)
            subject = _under_preconditions(name, replace(subject, elections=_elections_of(op)), promised)
            answer = _answer_again(name, subject, question, report, tell or tell_none)
            tried.append(answer)
            report.absorb(Outcome(steps=deadline.meter.spent))
    judge_blocks({name: find_function(module, name)[0] for name in names}, report)
    judge_tile_ir(module, report, names)
    # What is said of all functions is what each of them was tried with.
    varied = [each for each in tried if each is not None]
    return replace(report, trip_counts=min(varied, key=len, default=counts), varies_trip_counts=bool(varied))


def _answer_again(
    name: str, subject: Subject, question: Question, report: Report, tell: Tell
) -> tuple[int, ...] | None:
    """Check one function, once more with all ops, and with the first lane elected, where that is found to matter."""
    try:
        return _answer(name, subject, question, report, tell)
    except NeededAfterAllError:
        return _answer_again(name, replace(subject, slices=False, code=Code()), question, report, tell)
    except WhichLaneError:
        return _answer_again(name, replace(subject, elections=Elections.FIRST, code=Code()), question, report, tell)


def _elections_of(function: Operation) -> Elections:
    """Whether it is asked which lane is elected where that matters, since the elections of `function` allow it."""
    return Elections.ASKED if any(FIRST_IF_NEEDED in op.attributes for op in function.walk()) else Elections.OPEN


def _under_preconditions(name: str, subject: Subject, promised: Mapping[str, Numbers]) -> Subject:
    """The function, called `name`, with the calls only that keep the preconditions of its arguments."""
    own = {argument: numbers for argument, numbers in promised.items() if is_argument(subject.body, argument)}
    if not own:
        return subject
    return subject.under(name, own)


def _report_on(
    module: Operation,
    names: list[str],
    counts: tuple[int, ...],
    threads: int | None,
    conditions: Sequence[Precondition],
) -> Report:
    """An empty report on the functions called `names`, for calls that keep `conditions`."""
    stated = [*map(Assumption, stated_assumptions(module)), *(PROMISED.about(each.text) for each in conditions)]
    bodies = (find_function(module, name)[1] for name in names)
    return Report(
        names,
        counts,
        threads=threads,
        assumed=dict.fromkeys(stated),
        arguments=list(dict.fromkeys(argument for body in bodies for argument in argument_names(body))),
        preconditions=numbers_of(conditions),
    )


def _answer(name: str, subject: Subject, question: Question, report: Report, tell: Tell) -> tuple[int, ...] | None:
    """Check one function. Returns the trip counts that were tried, None where it has no argument that varies."""
    asks_for_all = question.may_add_counts and report.tries_every_trip_count and question.programs is None
    if asks_for_all and is_proved_for_any_programs(name, subject, question.fixed, report, tell):
        return question.counts
    by_default = question.may_add_counts and not question.fixed
    if by_default and check_turns(name, subject, report, tell, _check_function):
        return question.counts
    if not asks_for_all or not is_in_order(subject.op):
        return _check_function(name, subject, question, report, tell)
    attempt = Report([name], question.counts, tries_every_trip_count=True)
    tried = _check_function(name, subject, question, attempt, tell)
    leave_to_order(subject.op, attempt, report)
    return tried


def _must_be_arguments(module: Operation, functions: Sequence[str], named: Sequence[str]) -> None:
    """Raises `ArgumentError` for a name that is no argument of any of `functions`, and no number of their grid."""
    bodies = [find_function(module, name)[1] for name in functions]
    for name in named:
        if not any(is_argument(body, name) for body in bodies) and name not in numbers_of_block(module):
            known = dict.fromkeys(argument for body in bodies for argument in argument_names(body))
            raise ArgumentError(f"there is no argument '{name}'; there are: {', '.join(known) or 'none'}")


def _must_be_free(fixed: Mapping[str, int], promised: Mapping[str, Numbers]) -> None:
    """Raises `ArgumentError` for an argument with a number that a precondition gives in terms of others."""
    name = next((name for name in promised if name in fixed), None)
    if name is not None:
        raise ArgumentError(
            f"'{name}' is {fixed[name]}, and its precondition names others: say the numbers of these, or none"
        )


def _must_take_programs_over(module: Operation, functions: Sequence[str], programs: int | None) -> None:
    """Raises `ArgumentError` for a number of programs that is none, or that none of `functions` asks for."""
    if programs is None:
        return
    if programs < 0:
        raise ArgumentError(f"{programs} is no number of programs")
    if not any(takes_programs_over(find_function(module, name)[0]) for name in functions):
        raise ArgumentError(
            "no function takes programs over, and a check of one block speaks for every block: leave the number of "
            "programs out"
        )


def _must_only_compute(module: Operation, assumed: Sequence[str]) -> None:
    """Raises `ArgumentError` for a name in `assumed` of ops that synchronise."""
    for op in module.walk() if assumed else ():
        if op_name(op) in assumed and synchronises(op):
            raise ArgumentError(
                f"'{op_name(op)}' synchronises, and cannot be assumed to only compute from its operands"
            )


def _check_function(
    name: str, subject: Subject, question: Question, report: Report, tell: Tell
) -> tuple[int, ...] | None:
    """Returns the trip counts that were tried, None where the function has no argument that varies."""
    op, body = subject.op, subject.body
    names = argument_names(body)
    given, counts = question.fixed, question.counts
    fixed = {names[argument_at(body, n).index]: value for n, value in given.items() if is_argument(body, n)}
    if question.programs is not None and takes_programs_over(op):
        fixed[PROGRAMS] = question.programs
    of_grid = {name: given[name] for name in numbers_of_block(op) if name in given}
    fixed |= of_grid
    report.absorb(Outcome(makes_up_extents=made_up_extent(op) is not None, fixed=dict(fixed)))
    loops = loops_over_blocks(body)
    if loops is not None and not fixed.keys().isdisjoint(loops.arguments):
        loops = None
    numbers: tuple[str, ...] = ()
    subject = replace(subject, loops=None if of_grid else loops, numbers=frozenset(of_grid))
    while True:
        attempt = Report([name], counts, tries_every_trip_count=report.tries_every_trip_count)
        try:
            case = Case(name, subject, fixed, (), attempt, tell)
            tried = _check_blocks(case, numbers, counts, question.may_add_counts)
        except BlockDependentError as error:
            # What decides is an argument from here on; the loops over blocks have to be as they stand then.
            report.absorb(Outcome(executions=attempt.executions))
            known, numbers = numbers, tuple(sorted({*numbers, *error.names.difference(names, of_grid)}))
            if known == numbers and subject.loops is None:
                report.absorb(Outcome(undecided=[str(error)], stopped_at=[error.op]))
                return None
            subject = replace(subject, loops=None, numbers=frozenset([*numbers, *of_grid]))
            continue
        report.absorb(attempt)
        return tried


def _check_blocks(
    case: Case, numbers: Sequence[str], counts: tuple[int, ...], may_add_counts: bool
) -> tuple[int, ...] | None:
    """
    Check the function of `case` with the ids and extents called `numbers` as arguments.

    Raises `BlockDependentError` where another one decides something.
    """
    bounds, switches = _bounds_of(case), _switches_of(case)
    if not numbers and not switches:
        return _check_bounds(case.with_bounds(bounds), counts, may_add_counts)
    if len(numbers) == 1 and not bounds and not switches and not is_extent(numbers[0]):
        return _check_bounds(case.with_bounds(numbers), counts, may_add_counts)
    tried: tuple[int, ...] | None = None
    found = assignments(numbers)
    settings = [dict(zip(switches, values, strict=True)) for values in product((0, 1), repeat=len(switches))]
    ahead = deque(product(settings, found))
    while ahead:
        setting, assignment = ahead.popleft()
        alone = case.with_bounds(bounds, {**case.fixed, **setting, **assignment}, told=switches)
        alone.judges_waits = False
        tried = _check_bounds(alone, counts, may_add_counts)
        if alone.is_open:
            break
        if ahead and alone.out_of_time is not None:
            # There is no time for the others either.
            case.report.absorb(Outcome(undecided=[str(alone.out_of_time)], stopped_at=[alone.out_of_time.error.op]))
            break
    case.report.absorb(Outcome(only_tried={name: tuple(sorted({each[name] for each in found})) for name in numbers}))
    return tried


def _bounds_of(case: Case) -> list[str]:
    """The arguments that vary: those that bound loops, and the number of turns of the loops over blocks."""
    body, loops = case.subject.body, case.subject.loops
    taken = {*case.fixed, *_switches_of(case), *(loops.arguments if loops is not None else ())}
    bounds = [name for name in bounding_arguments(body) if name not in taken]
    if takes_programs_over(case.subject.op) and PROGRAMS not in taken:
        bounds.append(PROGRAMS)
    return bounds if loops is None else [*bounds, TURNS]


def _switches_of(case: Case) -> list[str]:
    """The arguments of one bit that decide something: both values of each are checked, and that is all there are."""
    switches = [name for name in switching_arguments(case.subject.body) if name not in case.fixed]
    return switches if len(switches) <= MOST_SWITCHES else []


def _check_bounds(case: Case, counts: tuple[int, ...], may_add_counts: bool) -> tuple[int, ...] | None:
    """Check the function of `case` with its `bounds` varied. Returns the trip counts that were tried."""
    name, bounds, report = case.name, case.bounds, case.report
    if may_add_counts:
        counts = _as_many_as_can_be_combined(counts, bounds)
    combinations = len(counts) ** len(bounds)
    if combinations > MOST_COMBINATIONS:
        raise ArgumentError(
            f"@{name} has {len(bounds)} arguments that bound loops ({', '.join(bounds)}): {combinations} combinations "
            f"of trip counts; fix some with --arg {bounds[-1]}=4"
        )
    arguments = argument_names(case.subject.body)
    promised = case.subject.assumptions.preconditions
    signed = [bound for bound in bounds if bound in arguments and not (bound in promised and promised[bound].has_least)]
    report.absorb(Outcome(varied=list(bounds), may_be_negative=signed))
    asks_for_all = report.tries_every_trip_count and may_add_counts
    if not asks_for_all or not (
        _holds_in_general(case, counts)
        or _holds_under_any_mask(case, counts)
        or _holds_for_any_turns(case, counts)
        or holds_with_open_loops(case)
    ):
        counts = _decide(case, counts, may_add_counts=may_add_counts)
    return counts if bounds else None


def _as_many_as_can_be_combined(counts: tuple[int, ...], bounds: Sequence[str]) -> tuple[int, ...]:
    """The first of the `counts`, at least two, as many as all combinations of `bounds` can be tried with."""
    number = len(counts)
    while number > 2 and number ** len(bounds) > MOST_COMBINATIONS:
        number -= 1
    return counts[:number]


def _holds_in_general(case: Case, counts: tuple[int, ...]) -> bool:
    """
    Whether the function is right for every trip count of its long loops with constant bounds (`long_loops`).

    If so that is reported. If not, nothing is: the function may still be right with the bounds as they stand.
    """
    general = None if case.bounds else generalised(case.subject.op)
    if general is None:
        return False
    report = Report([case.name], counts, tries_every_trip_count=True)
    subject = replace(case.subject.of(general.op, general.body), numbers=case.subject.numbers)
    larger = Case(case.name, subject, case.fixed, [general.turns], report, case.tell)
    larger.target = general.number
    return _is_proved_by(larger, counts, case.report)


def _holds_under_any_mask(case: Case, counts: tuple[int, ...]) -> bool:
    """
    Whether the function is right whatever its masks say: arguments that decide nothing else are left unknown, so that
    each masked access takes place. If so that is reported. If not, nothing is: some of them may never take place.
    """
    masking = {name for name in masking_arguments(case.subject.body) if name in case.bounds}
    if not masking:
        return False
    report = Report([case.name], counts, tries_every_trip_count=True)
    left = [name for name in case.bounds if name not in masking]
    return _is_proved_by(Case(case.name, case.subject, case.fixed, left, report, case.tell), counts, case.report)


def _holds_for_any_turns(case: Case, counts: tuple[int, ...]) -> bool:
    """Whether the function is right however often its `while` loop turns (`free_turns`). If so that is reported."""
    free = with_free_turns(case.subject.op)
    if free is None:
        return False
    report = Report([case.name], counts, tries_every_trip_count=True)
    subject = replace(case.subject.of(free.op, free.body), numbers=case.subject.numbers)
    other = Case(case.name, subject, case.fixed, (), report, case.tell)
    if not _is_proved_by(other.with_bounds(_bounds_of(other), case.fixed), counts, case.report):
        return False
    case.report.absorb(Outcome(assumed={ENDS.about("'scf.while'"): None}))
    return True


def _is_proved_by(other: Case, counts: tuple[int, ...], report: Report) -> bool:
    """Whether another case is proved for every trip count; `report` says so then."""
    found = other.report
    try:
        _decide(other, counts, may_add_counts=True)
    except (BlockDependentError, UndecidedError, UnsupportedError):
        return False
    if not found.is_proved:
        report.absorb(Outcome(executions=found.executions))
        return False
    proofs, by_decisions = found.proofs, found.proofs_by_decisions
    report.absorb(
        Outcome(
            executions=found.executions,
            proofs=proofs,
            proofs_by_decisions=by_decisions,
            assumed=found.assumed,
            warnings=found.warnings,
        )
    )
    return True


def _decide(case: Case, counts: tuple[int, ...], *, may_add_counts: bool) -> tuple[int, ...]:
    """
    Decide about all combinations of `counts`, more of them where rings are deep, and every one if asked for.
    Returns the trip counts that were tried, with all their combinations.

    Raises `UndefinedCallError` where none is.
    """
    report = case.report
    first = FIRST_COUNTS if _may_be_proved_early(case, may_add_counts=may_add_counts) else len(counts)
    tried = _try_all(case, counts[:first])
    if first < len(counts) and case.out_of_time is None:
        if _spares_executions(case) and _is_proved_early(case):
            return tried
        tried = _try_all(case, counts, first)
    if case.left_out and len(case.left_out) == len(counts) ** len(case.bounds):
        case.left_out.raise_first()
    if len(case.bounds) == 1 and may_add_counts and not case.is_open and case.out_of_time is None:
        tried = _try_all(case, (*tried, *_more_than(case, counts)), len(tried))
    if case.out_of_time is not None:
        is_for_some = _report_out_of_time(case, case.out_of_time, tried)
        tried = tried if is_for_some else counts
    if report.tries_every_trip_count and not case.is_open and case.out_of_time is None:
        check_every_trip_count(case, tried)
        if not case.is_open and not case.is_bounded and case.judges_waits and case.subject.judges_waits:
            look_for_over_waits(case, tried, partial(_is_safe_as, case, counts))
    if not case.is_open and (case.is_bounded or not report.tries_every_trip_count):
        _look_at_lengths(case, tried, may_add_counts=may_add_counts)
    report.absorb(Outcome(left_out=[f"@{case.name}: {calls}" for calls in case.left_out.sentences()]))
    return tuple(count for count in tried if (count,) not in case.left_out)


def _look_at_lengths(case: Case, tried: tuple[int, ...], *, may_add_counts: bool) -> None:
    """Try calls in which loops turn as often as `tried` says, of what is not proved; note the loops that do not."""
    if may_add_counts and not case.is_open and case.out_of_time is None:
        try_longer_loops(case, tried)
    case.report.absorb(Outcome(short_loops=short_loops(case, tried)))


def _is_safe_as(case: Case, counts: tuple[int, ...], op: Operation, body: Region) -> bool:
    """Whether another function, with the arguments of the one of `case`, is judged safe for every trip count."""
    report = Report([case.name], counts, tries_every_trip_count=True)
    loops = None if case.subject.loops is None else loops_over_blocks(body)
    subject = replace(case.subject, op=op, body=body, code=Code(), loops=loops, judges_waits=False)
    other = Case(case.name, subject, case.fixed, case.bounds, report, case.tell)
    other.target = case.target
    try:
        _decide(other, counts, may_add_counts=True)
    except (BlockDependentError, UnsupportedError):
        return False
    return report.is_proved


FIRST_COUNTS = 4
"""So many trip counts of each argument are executed before all at once are tried as a proof."""
HALF = Fraction(1, 2)
"""The part of the time that is left which that may take where many executions are left."""


def _may_be_proved_early(case: Case, *, may_add_counts: bool) -> bool:
    """Whether a proof for all loop counts at once may come before the other executions."""
    return may_add_counts and case.report.tries_every_trip_count and bool(case.bounds)


def _spares_executions(case: Case) -> bool:
    """
    Whether an early proof would spare many executions: all combinations of several arguments, or of answers to the
    tests of barriers; or, where nothing else asks for them, those of code for which that proof comes first anyway.
    """
    if len(case.bounds) > 1 or case.asks:
        return True
    return not (case.judges_waits and case.subject.judges_waits) and goes_at_once_first(case)


def _is_proved_early(case: Case) -> bool:
    """Whether what is right so far is proved. If not, there is time left for the other executions."""
    if case.is_open or case.left_out or made_up_extent(case.subject.op) is not None:
        return False
    subject = case.subject
    share = HALF if len(case.bounds) > 1 or case.asks else MOST_AT_ONCE
    case.subject = replace(subject, deadline=subject.deadline.part(share))
    try:
        return is_proved_at_once(case)
    finally:
        case.subject = subject


def _try_all(case: Case, counts: tuple[int, ...], known: int = 0) -> tuple[int, ...]:
    """
    Decide about all combinations of `counts`, those of the first counts first; those of the first `known` are decided.
    Returns the counts with all combinations of which there was time for.
    """
    for number in range(known, len(counts) if case.bounds else 1):
        for values in product(counts[: number + 1], repeat=len(case.bounds)):
            if counts[number] in values or not case.bounds:
                case.check(values)
            if case.out_of_time is not None:
                return counts[:number]
    return counts


def _report_out_of_time(case: Case, where: OutOfTime, tried: tuple[int, ...]) -> bool:
    """
    Report the call that was not executed to its end. Returns whether there is a verdict for those in `tried`; where
    certain trip counts were asked for, there is not.
    """
    if case.bounds and tried and case.report.tries_every_trip_count:
        case.report.absorb(Outcome(bounded=[str(where)]))
        return True
    case.report.absorb(Outcome(undecided=[str(where)], stopped_at=[where.error.op]))
    return False


def _more_than(case: Case, counts: Sequence[int]) -> range:
    """The trip counts after `counts` up to two rounds of the deepest ring; none if they would be too many."""
    last = 2 * case.deepest + 2
    if last >= MOST_COMBINATIONS:
        case.too_deep = (
            f"a ring has {case.deepest} slots, so that trip counts up to {last} would have to be tried; "
            "fix the depth or ask with --trip-counts"
        )
        return range(0)
    return range(counts[-1] + 1, last + 1)
