"""
A case: one function with some arguments fixed, while others, which bound its loops, take one value after the other.

It decides each call, reports what is found, and keeps what a proof and the search for over-waits need later.

Calls for which the function is not defined are left out of the check.

    scf.for %i = %c0 to %n step %s        n and s are varied from 0 on; a call with s = 0 has no meaning
    %trips = arith.divui %extent, %s      nor has it here

MLIR requires the step of `scf.for` to be positive (dialect `scf`), and leaves division by zero undefined (`arith`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from xdsl.ir import Block, Operation, Region

from tileas_xdsl.checker.verdict.deciding import Decision, Subject, decide
from tileas_xdsl.checker.verdict.loop_bounds import arguments_behind
from tileas_xdsl.checker.verdict.preconditions import Numbers, as_called
from tileas_xdsl.checker.verdict.report import Finding, Outcome, Report, span
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.violations import (
    NoStepError,
    OutOfBoundsError,
    UndecidedError,
    UndefinedCallError,
    Violation,
)
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarriers
from tileas_xdsl.machine.parts.rings import Rings

if TYPE_CHECKING:
    from tileas_xdsl.checker.decisions.parts import Failures
    from tileas_xdsl.machine.core.execution import Machine


class ExcludedCalls:
    """The calls of a function that are left out, each by the values of the arguments `bounds`, which are varied."""

    def __init__(self, body: Region, bounds: Sequence[str], preconditions: Mapping[str, Numbers]) -> None:
        self._body = body
        self._bounds = bounds
        self._preconditions = preconditions
        self._errors: dict[tuple[int, ...], UndefinedCallError] = {}

    def add(self, values: Sequence[int], error: UndefinedCallError) -> None:
        """Leave out the call with `values`. Raises `error` where what makes it undefined comes from nothing varied."""
        if not self._names(error):
            raise error
        self._errors[tuple(values)] = error

    def __len__(self) -> int:
        return len(self._errors)

    def __contains__(self, values: tuple[int, ...]) -> bool:
        return values in self._errors

    def holds_all_with(self, name: str, value: int, combinations: int) -> bool:
        """Whether all `combinations` of calls in which argument `name` is `value` are left out."""
        place = self._bounds.index(name)
        return sum(values[place] == value for values in self._errors) == combinations

    def raise_first(self) -> NoReturn:
        """Raises the first error; there must be one."""
        raise next(iter(self._errors.values()))

    def sentences(self) -> list[str]:
        """One for each op: which values of the arguments behind its operand were left out."""
        first = {error.op: error for error in reversed(self._errors.values())}
        ops = dict.fromkeys(error.op for error in self._errors.values())
        return [sentence(op, f"{first[op].complaint} where {self._which(first[op])}") for op in ops]

    def reason_against_a_proof(self) -> str:
        """Why there is no proof for every value of the only argument that is varied."""
        error, name = next(iter(self._errors.values())), self._bounds[0]
        takes = "takes its step from" if isinstance(error, NoStepError) else "divides by what comes from"
        return sentence(error.op, f"{takes} {name}; fix it with --arg {name}=1")

    def _names(self, error: UndefinedCallError) -> list[str]:
        return [name for name in arguments_behind(self._body, error.op, error.operand) if name in self._bounds]

    def _called(self, values: Sequence[int]) -> list[int]:
        """The values as a caller gives them."""
        return list(as_called(self._preconditions, dict(zip(self._bounds, values, strict=True))).values())

    def _which(self, first: UndefinedCallError) -> str:
        """`s is 0`, `s is 3..8`, `(s, m) is (0, 0), (1, 1)`."""
        names = self._names(first)
        places = [self._bounds.index(name) for name in names]
        calls = [values for values, error in self._errors.items() if error.op is first.op]
        found = list(dict.fromkeys(tuple(self._called(values)[place] for place in places) for values in calls))
        if len(names) == 1:
            return f"{names[0]} is {span(tuple(sorted(value for (value,) in found)))}"
        return f"({', '.join(names)}) is {', '.join(map(str, found))}"


MANY = 8
"""Wrong calls after which others show hardly anything new."""
Tell = Callable[[str], None]
"""Called with what is being done, in a few words: progress for a person who waits."""


def tell_none(_text: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class OutOfTime:
    """A call, in words, and where it stood when the time was up."""

    call: str
    error: TimeUpError

    def __str__(self) -> str:
        return f"{self.call}: {self.error}"


class Case:
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
        """Slots of the deepest ring of the call with trip count 1; 0 before that was executed."""
        self.too_deep = ""
        """If that ring is too deep to execute all the trip counts that a proof starts from: why. Else empty."""
        self.left_out = ExcludedCalls(subject.body, bounds, subject.assumptions.preconditions)
        """The calls that are no programs: with their values a loop has no positive step, or a divisor is zero."""
        self.is_open = False
        """Whether something was found, or left undecided."""
        self.wrong_calls = 0
        self.is_bounded = False
        """Whether it is not proved for every trip count."""
        self.asks = False
        """Whether the program branches on tests of barriers, so that one execution never speaks for all."""
        self.out_of_time: OutOfTime | None = None
        """The call that was not executed to its end because the time was up; None if each was."""
        self.judges_waits = True
        """Whether waits that could be weaker are looked for: not where others of its cases may need them."""
        self.failures: Failures = {}
        """Why attempts to prove all loop counts at once have failed."""
        self._seen: set[object] = set()
        self.right: list[Sequence[int]] = []
        """The values that were executed and found right."""
        self.calls: list[Sequence[int]] = []
        """All values about which is decided."""
        self.heads: dict[Block, int] = {}
        """The head of a loop -> the largest number of an iteration that began there in one of these calls."""
        self.waits: dict[Operation, dict[int | None, None]] = {}
        """The waits for counts and tokens that were executed -> how many each left unfinished; None for a token."""

    def with_bounds(
        self, bounds: Sequence[str], fixed: Mapping[str, int] | None = None, told: Sequence[str] = ()
    ) -> Case:
        """A fresh case of the same function: other arguments are varied, others perhaps fixed, and `told` of those."""
        fixed = self.fixed if fixed is None else fixed
        extra = [name for name in fixed if name in self.subject.numbers or name in told]
        return Case(self.name, self.subject, fixed, bounds, self.report, self.tell, [*bounds, *extra])

    def check(self, values: Sequence[int]) -> None:
        """
        Decide the call in which `bounds` are `values`, and put what is found into the report. Where the time is up
        before that, nothing is reported (`out_of_time`).

        Raises `UndefinedCallError` where the function is not defined for another reason than these values.
        """
        self.tell(self.call(values))
        try:
            decision = decide(self.subject, self.scalars(values))
        except UndefinedCallError as error:
            self.left_out.add(values, error)
            return
        except TimeUpError as error:
            self.out_of_time = OutOfTime(self.call(values), error)
            return
        except UndecidedError as error:
            self.is_open = True
            self.report.absorb(Outcome(undecided=[str(error)], stopped_at=[error.op]))
            return
        self._take(values, decision)

    def check_further(self, values: Sequence[int]) -> bool:
        """
        The same for a call that nothing but the length of loops asks for. Returns whether it was decided: what cannot
        be decided there, takes too long or leaves an array is not reported.
        """
        self.tell(self.call(values))
        try:
            decision = decide(self.subject, self.scalars(values), leaves_arrays=True)
        except (OutOfBoundsError, UndefinedCallError, UndecidedError):
            return False
        if decision.doubt is not None and not decision.violations:
            return False
        self._take(values, decision)
        return True

    def _take(self, values: Sequence[int], decision: Decision) -> None:
        """Report a decision, and keep what is needed later."""
        self._report(values, decision)
        self.calls.append(values)
        for head, number in decision.machine.heads.items():
            self.heads[head] = max(number, self.heads.get(head, 0))
        if not self.is_open:
            self._keep(values, decision.machine)

    def scalars(self, values: Sequence[int]) -> dict[str, int]:
        """All integer arguments of the call by name: the fixed ones, and `values` for `bounds`."""
        return {**self.fixed, **dict(zip(self.bounds, values, strict=True))}

    def call(self, values: Sequence[int]) -> str:
        """The call in words: `@ring(n = 4)`."""
        return f"@{self.name}({', '.join(f'{name} = {number}' for name, number in self._said(values).items())})"

    def _said(self, values: Sequence[int]) -> dict[str, int]:
        """The arguments of the call that a finding names, as a caller gives them."""
        called = as_called(self.subject.assumptions.preconditions, self.scalars(values))
        return {name: called[name] for name in self.told}

    def _report(self, values: Sequence[int], decision: Decision) -> None:
        self.report.add_executions(decision.executions, decision.machine)
        self.is_open |= bool(decision.violations) or decision.doubt is not None
        self.wrong_calls += bool(decision.violations)
        if self.wrong_calls == MANY and not self.subject.known_wrong:
            self.subject = replace(self.subject, known_wrong=True)
        found = Outcome(
            findings=self._new(values, decision.violations),
            tolerated=self._new(values, decision.machine.tolerated.values()),
            undecided=[] if decision.doubt is None else [decision.doubt],
            stopped_at=[] if decision.stopped_at is None else [decision.stopped_at],
            unexplored=[] if decision.unexplored is None else [decision.unexplored],
        )
        self.report.absorb(found)

    def _new(self, values: Sequence[int], violations: Iterable[Violation]) -> list[Finding]:
        """Those of `violations` that no earlier call had."""
        found: list[Finding] = []
        for violation in violations:
            if violation.key not in self._seen:
                self._seen.add(violation.key)
                found.append(Finding(self.name, self._said(values), violation))
        return found

    def _keep(self, values: Sequence[int], machine: Machine) -> None:
        """Keep what a proof and the search for over-waits need of an execution without mistakes."""
        if tuple(values) == (1,):
            self.deepest = deepest(machine)
        if machine.asked:
            self.asks = True
            self.waits.clear()
        elif machine.is_right_beyond_doubt and not self.asks:
            self.right.append(values)
            for op, counts in machine.waits_met.items():
                self.waits.setdefault(op, {}).update(counts)


def deepest(machine: Machine) -> int:
    """
    Slots of the deepest pipeline or queue of an execution, or the barriers that one op has made; at least 0. Up to two
    rounds of it, a larger trip count may still differ.
    """
    depths = [ring.depth or 0 for ring in machine.part(Rings).made]
    makers = Counter(barrier.op for barrier in machine.part(PlacedBarriers).at.values())
    return max([*depths, *makers.values()], default=0)
