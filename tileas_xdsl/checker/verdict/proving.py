"""
Proofs of a case for every trip count, or the reason why there is none.

With one argument that bounds loops, every value of it is proved. With two, every value of each is proved where the
other takes the values that were executed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.checker.proof.shifts import MOST_TURNS, near_power
from tileas_xdsl.checker.snapshot.snapshot import MergedError
from tileas_xdsl.checker.verdict.answers import Unguided
from tileas_xdsl.checker.verdict.behind_loops import with_counts_behind_loops
from tileas_xdsl.checker.verdict.blocks import PROGRAMS, TURNS
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.flat_nests import with_flat_nests, with_running_totals
from tileas_xdsl.checker.verdict.long_loops import LONG, constant_bounds
from tileas_xdsl.checker.verdict.loop_bounds import has_loops_as_long_as_others, made_up_extent
from tileas_xdsl.checker.verdict.preconditions import as_called
from tileas_xdsl.checker.verdict.report import Outcome, Report, span
from tileas_xdsl.checker.verdict.suspicions import confirm
from tileas_xdsl.machine.arguments import DYNAMIC_EXTENT, argument_at, argument_names
from tileas_xdsl.machine.core.assumptions import BELOW_OVERFLOW, NONE_OVERFLOWS
from tileas_xdsl.machine.core.code import Code
from tileas_xdsl.machine.core.deadline import Deadline, TimeUpError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.loops.open_counts import OpenCounts
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH
from tileas_xdsl.machine.core.orders import InStep, Order, Prompt
from tileas_xdsl.machine.core.values import bit_width
from tileas_xdsl.machine.core.violations import BlockDependentError, UndecidedError, UnsupportedError
from tileas_xdsl.machine.core.what_if import AS_WRITTEN, WhatIf

if TYPE_CHECKING:
    from tileas_xdsl.checker.decisions.open_loops import OpenLoops
    from tileas_xdsl.checker.decisions.prove import Problem
    from tileas_xdsl.checker.decisions.steered_run import PutAside
    from tileas_xdsl.checker.proof.outcomes import Proof, SuspicionError
    from tileas_xdsl.checker.proof.recorded_run import RecordedRun

STEPS_OF_PROOFS = 2_000_000
"""Steps after which one execution of a proof is given up: the trip count may be large (`proof.induction`)."""


def check_every_trip_count(case: Case, counts: Sequence[int]) -> None:
    """Prove what was found right so far for every trip count, or report why not, or what is wrong."""
    reason = _reason_against(case, counts)
    if reason is not None:
        case.is_bounded = True
        case.report.absorb(Outcome(bounded=[f"@{case.name}: {reason}"]))


def _reason_against(case: Case, counts: Sequence[int]) -> str | None:
    extent = made_up_extent(case.subject.op)
    if extent is not None:
        error = UndecidedError(extent, f"bounds a loop by an extent, which is taken to be {DYNAMIC_EXTENT}")
        return f"{error}; give the array a fixed size, or the loop an argument"
    if not case.bounds:
        return None
    if tuple(counts) != tuple(range(len(counts))):
        return "the trip counts that were executed do not begin at 0 without gaps"
    if len(case.bounds) > 1:
        reason = reason_against_all_at_once(case)
        return _reason_with_several(case, counts, reason) if reason else None
    if case.too_deep:
        return case.too_deep
    if case.left_out:
        return case.left_out.reason_against_a_proof()
    from tileas_xdsl.checker.proof.induction import prove
    from tileas_xdsl.checker.proof.outcomes import NoProofError, WrongError

    is_first = goes_at_once_first(case)
    if is_first and (not reason_against_all_at_once(case, MOST_AT_ONCE) or case.is_open):
        return None
    try:
        proof = prove(partial(_execute, case), counts[-1], case.target)
    except NoProofError as error:
        return str(error) if is_first or reason_against_all_at_once(case) else None
    except WrongError as error:
        case.check((error.trip_count,))
        return f"trip count {error.trip_count} could not be shown to be right" if not case.is_open else None
    case.report.proofs[case.name] = proof
    _assume_no_overflow(case, proof)
    return None


MANY_OPS = 1000
"""Code of threads that has more ops takes long to execute."""
MOST_AT_ONCE = Fraction(3, 4)
"""The part of the time that is left which a proof of all loop counts at once may take where an induction follows."""


def goes_at_once_first(case: Case) -> bool:
    """Whether a proof of all loop counts at once is tried before an induction, which executes more, and longer runs."""
    body = case.subject.body
    if block_shape_of(case.subject.op) is not None and sum(1 for _ in body.walk()) > MANY_OPS:
        return True
    return has_loops_as_long_as_others(body) or _comes_round_late(body) or _turns_for_each_turn(case)


def _assume_no_overflow(case: Case, proof: Proof) -> None:
    """Note the trip count from which on an integer may overflow that `proof` follows, if a call may have it."""
    (name,) = case.bounds
    names = argument_names(case.subject.body)
    width = bit_width(argument_at(case.subject.body, name).type) if name in names else LEAST_WIDTH
    largest = min((1 << (width - 1)) - 1, MOST_TURNS, inf if case.target is None else case.target)
    reached = largest if proof.end is None else min(largest, proof.end.trip_count - 1)
    if proof.overflow <= reached:
        number = as_called(case.subject.assumptions.preconditions, {name: int(proof.overflow)})[name]
        case.report.assumed[BELOW_OVERFLOW.about(f"{name} < {near_power(number)}")] = None


def _turns_for_each_turn(case: Case) -> bool:
    """Whether loops inside of others are as long: an execution grows with the square of the trip count then."""
    from tileas_xdsl.checker.decisions.open_loops import open_loops
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    if _reason_not_to_try(case) is not None:
        # What bounds the loops may be no argument of the function then.
        return False
    (name,) = case.bounds
    try:
        opened = open_loops(case.subject.body, {name: argument_at(case.subject.body, name)})
    except NoProofError:
        return False
    return any(loop.depth for loop in opened.loops.values())


LATE = range(5, 129)
"""Moduli: an induction compares twice as many executions, each longer than that. Beyond that nothing is proved."""


def _comes_round_late(body: Region) -> bool:
    """Whether what the program computes by remainders comes round after so many turns that states are cheaper."""
    from tileas_xdsl.checker.decisions.demand import demand

    return max(demand(body).values(), default=1) in LATE


def reason_against_all_at_once(case: Case, share: Fraction = Fraction(1)) -> str:
    """
    Prove the function for all loop counts at once, in that `share` of the time that is left; return what is against it,
    or nothing where that is done. A call that is found wrong on the way is reported.
    """
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    reason = _reason_not_to_try(case)
    if reason is not None:
        return reason
    try:
        _prove_at_once(case, partial(confirm, case), share)
    except NoProofError as error:
        return str(error)
    return ""


def is_proved_at_once(case: Case) -> bool:
    """
    Whether the function is proved for all loop counts at once. Where it is not, nothing is reported, and what looks
    wrong is not looked into.
    """
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    if _reason_not_to_try(case) is not None:
        return False
    try:
        _prove_at_once(case, lambda _: True)
    except NoProofError:
        return False
    return True


def _reason_not_to_try(case: Case) -> str | None:
    """Why not all loop counts are proved at once, if that is known without an attempt."""
    if case.left_out:
        return case.left_out.reason_against_a_proof()
    if TURNS in case.bounds or not case.subject.numbers.isdisjoint(case.bounds):
        return "ids of blocks are among what bounds them"
    if PROGRAMS in case.bounds:
        return "the number of programs is among what bounds them"
    return None


def _prove_at_once(case: Case, is_wrong: Callable[[SuspicionError], bool], share: Fraction = Fraction(1)) -> None:
    """
    Prove the function for all loop counts at once, in parts where that has to be, and in that `share` of the time that
    is left; `is_wrong` says whether a suspicion is confirmed. Raises `NoProofError`.
    """
    from tileas_xdsl.checker.decisions.parts import Parts
    from tileas_xdsl.checker.decisions.prove import problem_of

    counted = _in_time(_counted(case), share)
    problem = problem_of(counted.subject.body, counted.bounds, partial(_steer, counted))
    parts = Parts(is_wrong, counted.subject.deadline.has_passed, case.failures)
    proof = case.report.proofs_by_decisions[case.name] = parts.prove(problem)
    if proof.overflows:
        case.report.assumed[NONE_OVERFLOWS] = None


def _counted(case: Case) -> Case:
    """The case, where a copy of the function counts what nests and products of turns come to."""
    flat = _in_copy(case, with_flat_nests(case.subject.op, case.subject.body, case.name, case.bounds))
    total = _in_copy(flat, with_running_totals(flat.subject.op, flat.name, flat.bounds))
    return _in_copy(total, with_counts_behind_loops(total.subject.op, total.name, total.bounds))


def _in_copy(case: Case, copied: tuple[Operation, Region] | None) -> Case:
    """The case with another function, if there is one, and its body."""
    if copied is None:
        return case
    op, body = copied
    subject = replace(case.subject, op=op, body=body, code=Code())
    return Case(case.name, subject, case.fixed, case.bounds, case.report, case.tell, case.told)


def _in_time(case: Case, share: Fraction) -> Case:
    """The case with that `share` of the time that is left."""
    subject = replace(case.subject, deadline=case.subject.deadline.part(share))
    return Case(case.name, subject, case.fixed, case.bounds, case.report, case.tell, case.told)


def _take_over(case: Case, alone: Case) -> None:
    """Report what was found with more arguments fixed."""
    found = alone.report
    case.report.absorb(
        Outcome(executions=found.executions, findings=found.findings, undecided=found.undecided, assumed=found.assumed)
    )
    case.is_open |= alone.is_open


def holds_with_open_loops(case: Case) -> bool:
    """
    Whether the function, in which loops with constant bounds are long, is right however often its loops turn. If not,
    it may still be right with the bounds as they stand.
    """
    if not any(bounds.turns > LONG for bounds in constant_bounds(case.subject.op)):
        return False
    # If that fails, there must be time left to execute the function as it stands.
    subject = replace(case.subject, deadline=case.subject.deadline.halfway())
    return not reason_against_all_at_once(
        Case(case.name, subject, case.fixed, case.bounds, case.report, case.tell, case.told)
    )


def _reason_with_several(case: Case, counts: Sequence[int], reason: str) -> str | None:
    """Prove each of two arguments where the other takes the values that were executed; return what is left open."""
    names = case.bounds
    proved = [name for name in names if len(names) == 2 and not case.is_open and _is_proved(case, name, counts)]
    if case.is_open:
        return None
    others = [next(n for n in names if n != name) for name in proved]
    known = [
        f"every {name} is proved where {other} is {span(tuple(_programs(case, other, counts)))}"
        for name, other in zip(proved, others, strict=True)
    ]
    deadline = case.subject.deadline
    stopped = [_stopped(deadline)] if deadline.has_passed() else []
    several = f"{len(names)} arguments bound loops ({', '.join(names)}), and not all at once are proved: {reason}"
    what = "; ".join([several, *known, *stopped])
    return f"{what}; fix all but one with --arg to prove the rest"


def _programs(case: Case, name: str, counts: Sequence[int]) -> list[int]:
    """The `counts` of argument `name`, one of two, with which some call is not left out."""
    return [count for count in counts if not case.left_out.holds_all_with(name, count, len(counts))]


def _is_proved(case: Case, name: str, counts: Sequence[int]) -> bool:
    """Prove every value of the argument `name` for each value of the other one; report what is found wrong."""
    other = next(n for n in case.bounds if n != name)
    for value in _programs(case, other, counts):
        report = Report([case.name], tuple(counts))
        alone = Case(case.name, case.subject, {**case.fixed, other: value}, [name], report, case.tell, case.bounds)
        check_every_trip_count(alone, counts)
        _take_over(case, alone)
        if report.bounded or alone.is_open:
            return False
    return True


def is_proved_with(case: Case, changed: WhatIf, counts: Sequence[int]) -> bool:
    """
    Whether the function is right for every trip count with a wait `changed`, given that it is right, and proved, as it
    stands, and right with that change for `counts`. Nothing is reported.
    """
    if not case.bounds:
        return True
    if len(case.bounds) > 1:
        return False
    from tileas_xdsl.checker.decisions.prove import prove_all_counts
    from tileas_xdsl.checker.proof.induction import prove
    from tileas_xdsl.checker.proof.outcomes import NoProofError, WrongError

    try:
        problem = _problem_with(case, changed)
        if problem is not None:
            prove_all_counts(replace(problem, asks_for_faults=False))
        else:
            prove(partial(_execute, case, changed=changed), counts[-1], case.target)
    except (NoProofError, WrongError, BlockDependentError):
        return False
    return True


def _problem_with(case: Case, changed: WhatIf) -> Problem | None:
    """
    The problem of proving all loop counts at once with a wait `changed`, of a function that was proved so as it stands;
    None where it was not, or only a copy of it was, which has other waits.
    """
    from tileas_xdsl.checker.decisions.prove import problem_of
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    proved = case.report.proofs_by_decisions.get(case.name)
    if proved is None:
        return None
    try:
        return problem_of(case.subject.body, case.bounds, partial(_steer, case, changed=changed), proved.reach)
    except NoProofError:
        return None


def _stopped(deadline: Deadline, where: str = "") -> str:
    return f"the proof was stopped after {deadline}{where}; {deadline.way_out}"


def _steer(
    case: Case, opened: OpenLoops, run: RecordedRun, aside: PutAside | None, changed: WhatIf = AS_WRITTEN
) -> bool:
    """An execution with the open loops of `opened`, under the guide of `run`; or one that was put `aside` goes on."""
    from tileas_xdsl.checker.proof.outcomes import NeverProvedError, NoProofError

    case.report.absorb(Outcome(executions=int(changed is AS_WRITTEN)))
    case.tell(f"@{case.name}: proving all loop counts at once")
    machine = _machine_with_open_loops(case, opened, run, changed) if aside is None else aside.machine
    try:
        if aside is None:
            case.subject.execute(machine, case.scalars([COUNTLESS] * len(case.bounds)))
        else:
            case.subject.execute_on(machine, aside.agent)
    except MergedError:
        run.ended(machine)
    except TimeUpError as error:
        raise NoProofError(_stopped(error.deadline)) from None
    except (UndecidedError, UnsupportedError, BlockDependentError) as error:
        raise NoProofError(f"it cannot be executed with open loops: {error}") from None
    case.report.absorb(Outcome(assumed=dict.fromkeys(machine.assumptions)))
    if machine.opaque_names and machine.grid.loops:
        raise NeverProvedError("loops over blocks are not followed with open loops")
    return machine.is_right_beyond_doubt


def _machine_with_open_loops(case: Case, opened: OpenLoops, run: RecordedRun, changed: WhatIf) -> Machine:
    machine = _machine_of_proof(case, InStep(), run)
    machine.what_if = changed
    machine.part(OpenCounts).loops = opened.loops
    machine.part(OpenCounts).known = opened.known
    machine.part(OpenCounts).comparisons = opened.comparisons
    if opened.comparisons:
        machine.code = opened.code
    return machine


COUNTLESS = 1 << 19
"""What an argument is that bounds open loops only: nothing comes of it."""


def _machine_of_proof(case: Case, order: Order, run: RecordedRun) -> Machine:
    machine = case.subject.machine(order)
    machine.trace.recording = False
    machine.observer = run
    machine.guide = Unguided()
    machine.step_budget = STEPS_OF_PROOFS
    return machine


def _execute(case: Case, trip_count: int, run: RecordedRun, changed: WhatIf = AS_WRITTEN) -> bool:
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    case.report.absorb(Outcome(executions=int(changed is AS_WRITTEN)))
    case.tell(f"{case.call((trip_count,))}: proving every trip count")
    machine = _machine_of_proof(case, Prompt(), run)
    machine.what_if = changed
    try:
        case.subject.execute(machine, case.scalars((trip_count,)))
        # Its entries will be compared with those of another trip count.
        machine.deadline.spend(len(run.entries))
    except TimeUpError as error:
        raise NoProofError(_stopped(error.deadline, f", at trip count {trip_count}")) from None
    except (UndecidedError, UnsupportedError) as error:
        known = (trip_count,) in case.right
        without = " where floats are not followed, as in a proof" if known else ""
        raise NoProofError(f"trip count {trip_count} cannot be executed{without}: {error}") from None
    return machine.is_right_beyond_doubt
