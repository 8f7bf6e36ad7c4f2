"""
Proofs of a case for every trip count, or the reason why there is none.

With one argument that bounds loops, every value of it is proved. With two, every value of each is proved where the
other takes the values that were executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tileas_xdsl.checker.verdict.answers import Unguided
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.loop_bounds import made_up_extent
from tileas_xdsl.checker.verdict.report import Report, span
from tileas_xdsl.machine.arguments import DYNAMIC_EXTENT
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.orders import Prompt
from tileas_xdsl.machine.core.violations import BlockDependentError, UndecidedError, UnsupportedError
from tileas_xdsl.machine.core.what_if import AS_WRITTEN, WhatIf

if TYPE_CHECKING:
    from tileas_xdsl.checker.proof.recorded_run import RecordedRun

STEPS_OF_PROOFS = 2_000_000
"""Steps after which one execution of a proof is given up: the trip count may be large (`far_trip_counts`)."""


def check_every_trip_count(case: Case, counts: Sequence[int]) -> None:
    """Prove what was found right so far for every trip count, or report why not, or what is wrong."""
    reason = _reason_against(case, counts)
    if reason is not None:
        case.is_bounded = True
        case.report.bounded.append(f"@{case.name}: {reason}")


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
        return _reason_with_several(case, counts)
    if case.too_deep:
        return case.too_deep
    if case.left_out:
        return case.left_out.reason_against_a_proof()
    from tileas_xdsl.checker.proof.induction import prove
    from tileas_xdsl.checker.proof.outcomes import NoProofError, WrongError

    try:
        case.report.proofs[case.name] = prove(partial(_execute, case), counts[-1], case.target)
    except NoProofError as error:
        return str(error)
    except WrongError as error:
        case.check((error.trip_count,))
        return f"trip count {error.trip_count} could not be shown to be right" if not case.is_open else None
    return None


def _reason_with_several(case: Case, counts: Sequence[int]) -> str | None:
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
    stopped = [f"the proof was stopped after {deadline}"] if deadline.has_passed() else []
    what = "; ".join([f"{len(names)} arguments bound loops ({', '.join(names)})", *known, *stopped])
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
        case.report.executions += report.executions
        case.report.findings += report.findings
        case.report.undecided += report.undecided
        case.is_open |= alone.is_open
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
    from tileas_xdsl.checker.proof.induction import prove
    from tileas_xdsl.checker.proof.outcomes import NoProofError, WrongError

    try:
        prove(partial(_execute, case, changed=changed), counts[-1], case.target)
    except (NoProofError, WrongError, BlockDependentError):
        return False
    return True


def _execute(case: Case, trip_count: int, run: RecordedRun, changed: WhatIf = AS_WRITTEN) -> bool:
    from tileas_xdsl.checker.proof.outcomes import NoProofError

    case.report.executions += changed is AS_WRITTEN
    case.tell(f"{case.call((trip_count,))}: proving every trip count")
    machine = case.subject.machine(Prompt())
    machine.what_if = changed
    machine.trace.recording = False
    machine.observer = run
    machine.guide = Unguided()
    machine.step_budget = STEPS_OF_PROOFS
    try:
        case.subject.execute(machine, case.scalars((trip_count,)))
    except TimeUpError as error:
        raise NoProofError(f"the proof was stopped after {error.deadline}, at trip count {trip_count}") from None
    except (UndecidedError, UnsupportedError) as error:
        known = (trip_count,) in case.right
        without = " where floats are not followed, as in a proof" if known else ""
        raise NoProofError(f"trip count {trip_count} cannot be executed{without}: {error}") from None
    return machine.is_right_beyond_doubt
