"""
The report of `check`: a verdict, and for each mistake both parties, the missing edge of happens-before and a witness.

In a notebook it is a piece of a page: the verdict, what it rests on, and what was found, each to fold out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation
from xdsl.printer import Printer

from tileas_xdsl.checker.verdict.mistakes import ALSO, Mistake, SourceEdit, mistakes_of
from tileas_xdsl.checker.verdict.scope import Scope, scope_of
from tileas_xdsl.checker.witnesses.causes import Cause, cause_of
from tileas_xdsl.checker.witnesses.witness import Witness, witness_of
from tileas_xdsl.diagnostics import location_of, op_name, sentence
from tileas_xdsl.machine.arguments import DYNAMIC_EXTENT
from tileas_xdsl.machine.core.assumptions import NOT_NEGATIVE, OF_PROOFS, THREADS_GIVEN, UNFENCED_REFILLS, Assumption
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind
from tileas_xdsl.machine.core.what_if import Relaxation
from tileas_xdsl.tabular import Tabular

if TYPE_CHECKING:
    from tileas_xdsl.checker.decisions.prove import ProofByDecisions
    from tileas_xdsl.checker.proof.outcomes import Proof
    from tileas_xdsl.checker.verdict.preconditions import Numbers
    from tileas_xdsl.machine.core.execution import Machine


class Verdict(StrEnum):
    """The outcome of a check. The exit status of `tileas check` follows from it."""

    SAFE = "safe"
    VIOLATION = "violation"
    UNDECIDED = "undecided"

    @property
    def exit_status(self) -> int:
        return {Verdict.SAFE: 0, Verdict.VIOLATION: 1, Verdict.UNDECIDED: 3}[self]


GRAVEST = (Verdict.SAFE, Verdict.UNDECIDED, Verdict.VIOLATION)
"""The gravest last: of several verdicts that one counts."""


@dataclass(frozen=True)
class WaitCost:
    """Simulated cycles of a call as it stands (`cycles`), and with the wait weakened (`without`)."""

    call: str
    cycles: int
    without: int

    def __str__(self) -> str:
        if self.cycles <= self.without:
            return f"it costs no cycles in {self.call}"
        return f"it costs {self.cycles - self.without} of {self.cycles} cycles in {self.call}"


@dataclass(frozen=True)
class OverWait:
    """A wait that is stronger than the program needs, and how far it may be weakened."""

    function: str
    relaxation: Relaxation
    counts: tuple[int | None, ...]
    """The counts that it left unfinished in the executions; None for a token."""
    cost: WaitCost | None = None
    by_compiler: bool = False
    """Whether a compiler put it in, and not the user."""

    @property
    def place(self) -> str | None:
        return location_of(self.relaxation.op)

    @property
    def advice(self) -> str:
        """What could be weaker, as the end of the sentence "'async_queue.wait' ..."."""
        more = self.relaxation.more
        if more is None:
            return "can go: nothing relies on it"
        if len(self.counts) == 1 and self.counts[0] is not None:
            return f"waits until at most {self.counts[0]} are in flight, where {self.counts[0] + more} would do"
        return f"could allow {more} more in flight"

    @property
    def message(self) -> str:
        cost = f"; {self.cost}" if self.cost is not None else ""
        origin = ", which the compiler put in," if self.by_compiler else ""
        return f"'{op_name(self.relaxation.op)}'{origin} {self.advice}{cost}"

    def __str__(self) -> str:
        return f"{f'{self.place}: ' if self.place else ''}over-wait: {self.message}"

    def as_data(self) -> dict[str, Any]:
        return {
            "kind": "over-wait",
            "function": self.function,
            "place": self.place,
            "op": op_name(self.relaxation.op),
            "message": self.message,
            "counts": list(self.counts),
            "more": self.relaxation.more,
            "by_compiler": self.by_compiler,
            "cycles": None
            if self.cost is None
            else {"call": self.cost.call, "as it is": self.cost.cycles, "weakened": self.cost.without},
        }


@dataclass(frozen=True)
class Finding:
    """One violation, and the function and arguments of the call in which it was first found."""

    function: str
    arguments: dict[str, int]
    violation: Violation

    @property
    def witness(self) -> Witness | None:
        """The interleaving that shows the violation, if one was looked for."""
        return witness_of(self.violation)

    @property
    def cause(self) -> Cause:
        """What is wrong, with the number under which `tileas explain-error` shows it."""
        return cause_of(self.violation)

    @property
    def call(self) -> str:
        """The call in words: `in @ring(n = 4)`."""
        arguments = ", ".join(f"{name} = {value}" for name, value in self.arguments.items())
        return f"in @{self.function}({arguments})"

    def __str__(self) -> str:
        violation = self.violation
        place = violation.parties[0].place
        lines = [f"{f'{place}: ' if place else ''}{violation.headline} [{self.cause.code}]", f"  {self.call}"]
        for party in violation.parties:
            lines.append(f"    {party}")
            if party.place is None:
                lines.append(f"      {_printed(party.op)}")
        lines.append(f"  missing: {violation.missing}")
        if self.witness is not None:
            lines.append("  witness:")
            lines += [f"  {line}" for line in str(self.witness).splitlines()]
        return "\n".join(lines)

    def as_data(self) -> dict[str, Any]:
        violation = self.violation
        return {
            "kind": str(violation.kind),
            "cause": self.cause.code,
            "symptom": None if violation.symptom is None else str(violation.symptom),
            "effect": str(violation.effect),
            "function": self.function,
            "arguments": self.arguments,
            "message": violation.message,
            "missing": violation.missing,
            "parties": [_party_data(party) for party in violation.parties],
            "witness": [] if self.witness is None else self.witness.as_data(),
        }


def _printed(op: Operation) -> str:
    """The first line of `op` as IR, by which a reader finds an op without a location."""
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue().strip().partition("\n")[0]


def _party_data(party: Party) -> dict[str, Any]:
    return {
        "place": party.place,
        "op": op_name(party.op),
        "agent": party.agent,
        "iteration": list(party.iteration),
        "role": party.role,
    }


@dataclass(kw_only=True)
class Outcome:
    """What came of some of the work on a report: of calls that were tried, of a proof. `absorb` joins them."""

    findings: list[Finding] = field(default_factory=list[Finding])
    undecided: list[str] = field(default_factory=list[str])
    """Why a call could not be decided: sentences that name the op."""
    stopped_at: list[Operation] = field(default_factory=list[Operation])
    """The ops at which executions could not go on, or stayed open."""
    unexplored: list[str] = field(default_factory=list[str])
    """Where something was found before all interleavings were tried: there may be mistakes of other kinds."""
    warnings: list[OverWait] = field(default_factory=list[OverWait])
    """Waits that are stronger than they need be. They do not change the verdict."""
    tolerated: list[Finding] = field(default_factory=list[Finding])
    """Missing fences that were asked to be warnings (`relaxed_proxy`). They do not change the verdict."""
    executions: int = 0
    steps: int = 0
    """The steps that it took, the same on every computer (`machine.core.deadline`)."""
    proofs: dict[str, Proof] = field(default_factory=dict[str, "Proof"])
    """Name of a function -> its proof for every trip count."""
    proofs_by_decisions: dict[str, ProofByDecisions] = field(default_factory=dict[str, "ProofByDecisions"])
    """Of functions whose loops are bounded by several numbers, or by each other."""
    makes_up_extents: bool = False
    """Whether an extent that a type leaves open bounds a loop of one of them; `DYNAMIC_EXTENT` is taken for it."""
    varied: list[str] = field(default_factory=list[str])
    """What takes `trip_counts`, by name: arguments, an id that decides something, the turns of loops over blocks."""
    may_be_negative: list[str] = field(default_factory=list[str])
    """The arguments among these: a caller may give negative numbers."""
    also_tried: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    """Further numbers of arguments that were tried so that loops turn as often as `trip_counts` say."""
    short_loops: list[str] = field(default_factory=list[str])
    """What loops do not reach in any call that was tried: `a turn of 'scf.for'`."""
    left_open: dict[str, None] = field(default_factory=dict[str, None])
    """What the order of the agents decides, though every order is right: `who comes first for columns`."""
    fixed: dict[str, int] = field(default_factory=dict[str, int])
    """The arguments to which the caller gave a number, by name."""
    preconditions: dict[str, Numbers] = field(default_factory=dict[str, "Numbers"])
    """Arguments that count the numbers which keep their preconditions: trip counts say which of those."""
    only_tried: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    """Ids and extents of blocks that decide something, with the numbers that were tried and not proved to be all."""
    assumed: dict[Assumption, None] = field(default_factory=dict[Assumption, None])
    """What executions rested on and nobody looked for (`scope`)."""
    left_out: list[str] = field(default_factory=list[str])
    """Which values of arguments were left out, because the function is not defined for them: sentences."""
    bounded: list[str] = field(default_factory=list[str])
    """Why there is no proof for every trip count, one sentence a function."""
    cut_short: list[str] = field(default_factory=list[str])
    """The searches for which there was no time, and which the verdict does not depend on: sentences."""

    def add_executions(self, count: int, machine: Machine) -> None:
        """`machine` made the last one of so many, and knows what they rested on and left open."""
        left_open, assumed = dict.fromkeys(machine.left_open), dict.fromkeys(machine.assumptions)
        self.absorb(Outcome(executions=count, assumed=assumed, left_open=left_open))

    def absorb(self, other: Outcome) -> None:
        """Take over what `other` has collected about the same functions."""
        for name in (each.name for each in fields(Outcome)):
            own: Any = getattr(self, name)
            more: Any = getattr(other, name)
            if isinstance(own, list):
                said = cast("list[Any]", own)
                said += [each for each in dict.fromkeys(more) if each not in said] if name in SAID_ONCE else more
            else:
                setattr(self, name, own | more if isinstance(own, bool | dict) else own + more)


SAID_ONCE = ("undecided", "left_out", "bounded", "short_loops", "varied", "may_be_negative")
"""What is not repeated where two outcomes say the same."""


@dataclass
class Report(Outcome, Tabular):
    """The result of `check` for all functions: what was checked, what was found, and what could not be decided."""

    functions: list[str]
    trip_counts: tuple[int, ...]
    tries_every_trip_count: bool = False
    """Whether a proof for every trip count was asked for."""
    arguments: list[str] = field(default_factory=list[str])
    """The names of the functions' arguments, in their order."""
    threads: int | None = None
    """How many threads the caller said run a function that does not say so itself."""
    varies_trip_counts: bool = True
    """Whether any of the functions has an argument that takes `trip_counts`."""
    edit: SourceEdit | None = None
    """What repairs the only mistake, if that was looked for and found (`repairing`)."""

    @property
    def verdict(self) -> Verdict:
        if self.findings:
            return Verdict.VIOLATION
        return Verdict.UNDECIDED if self.undecided else Verdict.SAFE

    @property
    def is_proved(self) -> bool:
        """Whether it is right for every trip count within its scope: as far as arrays reach, with what was fixed."""
        return self.verdict is Verdict.SAFE and self.tries_every_trip_count and not self.bounded

    @property
    def holds_for_every_trip_count(self) -> bool:
        """Whether it is right for every trip count, without any limit of that scope."""
        return self.is_proved and not (self.fixed or self.only_tried or self.ends)

    @property
    def scope(self) -> Scope:
        """What the verdict holds for, beside the trip counts that its line names."""
        tried = {} if self.is_proved else {name: self._tried(name) for name in self.varied}
        signs = map(NOT_NEGATIVE.about, self.may_be_negative if self.is_proved else ())
        asked_for = [UNFENCED_REFILLS] if self.tolerated else []
        asked_for += [] if self.threads is None else [THREADS_GIVEN.about(str(self.threads))]
        of_proofs = () if self.is_proved else OF_PROOFS
        assumed = [*signs, *asked_for, *(each for each in self.assumed if each.what not in of_proofs)]
        short = () if self.is_proved else self.short_loops
        return scope_of(
            self.fixed,
            {**tried, **self.only_tried},
            assumed,
            self.left_out,
            arguments=self.arguments,
            short_loops=short,
            left_open=self.left_open,
        )

    @property
    def mistakes(self) -> list[Mistake]:
        """The findings by their causes: one mistake often shows in several ways."""
        return mistakes_of(self.findings)

    @property
    def kinds(self) -> list[str]:
        """The kinds of violation found, each once, in the order of `ViolationKind`: agents may change places."""
        found = {finding.violation.kind for finding in self.findings}
        return [str(kind) for kind in ViolationKind if kind in found]

    @property
    def bounds_that_matter(self) -> list[str]:
        """`bounded` where the verdict is `safe`, else nothing: a mistake needs no such restriction."""
        return self.bounded if self.verdict is Verdict.SAFE else []

    @property
    def ends(self) -> list[str]:
        """Where arrays of fixed sizes end before "every trip count" does, one clause a function."""
        if not self.is_proved:
            return []
        ends = {name: proof.end for name, proof in self.proofs.items()}
        return [f"@{name} up to {self._reached(end.trip_count - 1)}" for name, end in ends.items() if end is not None]

    def _reached(self, count: int) -> str:
        """The trip count, as a number of the only argument that is varied if that has a precondition."""
        numbers = self.preconditions.get(self.varied[0]) if len(self.varied) == 1 else None
        return f"trip count {count}" if numbers is None else f"{self.varied[0]} = {numbers.number(count, {})}"

    @property
    def verdict_line(self) -> str:
        """The verdict, with the trip counts and the numbers that it is restricted to."""
        if self.verdict is Verdict.VIOLATION:
            words = {finding.violation.word for finding in self.findings}
            return f"unsafe: {', '.join(str(kind) for kind in ViolationKind if kind in words)}"
        given = [f"{name} = {value}" for name, value in self.fixed.items()]
        given += [f"{name} in {span(numbers)}" for name, numbers in self.only_tried.items()]
        if not self.is_proved and not self.short_loops and not self.preconditions:
            given += [f"{name} in {span(self._tried(name))}" for name in self.also_tried]
        with_ = [f"with {', '.join(given)}"] if given else []
        return ", ".join([" for ".join([str(self.verdict), *self._covered]), *with_])

    @property
    def last_line(self) -> str:
        """The verdict line and, where it says that something is right, the rest of its scope."""
        clauses = self.scope.clauses if self.verdict is Verdict.SAFE else []
        return "; ".join([self.verdict_line, *clauses])

    @property
    def _covered(self) -> list[str]:
        """The trip counts or extents that the verdict is about; empty where no argument varies."""
        if self.is_proved:
            return self._proved
        if self.varies_trip_counts and (self.short_loops or self.preconditions):
            return [", ".join(f"{self._named(name)} in {span(self._tried(name))}" for name in self.varied)]
        if self.varies_trip_counts:
            return [f"trip counts {span(self.trip_counts)}"]
        return [f"open extents of {DYNAMIC_EXTENT}"] if self.makes_up_extents else []

    def _tried(self, name: str) -> tuple[int, ...]:
        """The numbers that the argument `name` took."""
        counts = (*self.trip_counts, *self.also_tried.get(name, ()))
        numbers = self.preconditions.get(name)
        return counts if numbers is None else tuple(numbers.number(count, {}) for count in counts)

    def _named(self, name: str) -> str:
        """What of the argument `name` takes `_tried`: how much larger it is than the others that it depends on."""
        numbers = self.preconditions.get(name)
        others = () if numbers is None else numbers.others
        return " - ".join([name, *(other if factor == 1 else f"{factor} * {other}" for other, factor in others)])

    @property
    def _proved(self) -> list[str]:
        if self.ends:
            return [f"every trip count as far as arrays reach: {', '.join(self.ends)}"]
        if self.holds_for_every_trip_count:
            return ["every trip count"]
        return [", ".join(f"every {name}" for name in dict.fromkeys(self.varied))] if self.varied else []

    def __str__(self) -> str:
        parts = [str(mistake) for mistake in self.mistakes]
        parts += [f"warning: {finding}" for finding in self.tolerated]
        parts += [str(warning) for warning in self.warnings]
        parts += [f"undecided: {reason}" for reason in self.undecided]
        parts += [f"not all tried: {reason}" for reason in self.unexplored]
        parts += [f"left out: {calls}" for calls in self.left_out]
        parts += [f"not for every trip count: {reason}" for reason in self.bounds_that_matter]
        parts += [f"cut short: {search}" for search in self.cut_short]
        return "\n\n".join([*parts, self.last_line])

    def __repr__(self) -> str:
        return f"Report({self.last_line})"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return report_html(self)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each finding."""
        return [
            {
                "kind": str(each.violation.kind),
                "cause": each.cause.code,
                "effect": str(each.violation.effect),
                "call": each.call,
                "what": each.violation.message,
            }
            for each in self.findings
        ]

    def to_dict(self) -> dict[str, Any]:
        """What `tileas check --format json` writes."""
        return self.as_data()

    def as_data(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        return {
            "verdict": str(self.verdict),
            "line": self.last_line,
            "scope": self.scope.as_data(),
            "functions": self.functions,
            "trip_counts": list(self.trip_counts),
            "findings": [finding.as_data() for finding in self.findings],
            "mistakes": [mistake.as_data(self.findings, self.edit) for mistake in self.mistakes],
            "undecided": self.undecided,
            "unexplored": self.unexplored,
            "executions": self.executions,
            "steps": self.steps,
            "warnings": [warning.as_data() for warning in self.warnings],
            "tolerated": [finding.as_data() for finding in self.tolerated],
            "left_out": self.left_out,
            "every_trip_count": self.holds_for_every_trip_count,
            "bounded": self.bounds_that_matter,
            "cut_short": self.cut_short,
            "proofs": {
                **{name: _proof_data(proof) for name, proof in self.proofs.items()},
                **{name: proof.as_data() for name, proof in self.proofs_by_decisions.items()},
            },
        }


def _proof_data(proof: Proof) -> dict[str, Any]:
    end = proof.end
    return {
        "executed": proof.executed,
        "period": proof.period,
        "ends": None if end is None else {"trip_count": end.trip_count, "sentence": sentence(end.op, end.what)},
    }


def span(counts: tuple[int, ...]) -> str:
    """`0..8, 64` for a run of numbers, and one beside it."""
    runs: list[list[int]] = []
    for count in counts:
        if runs and count == runs[-1][-1] + 1:
            runs[-1].append(count)
        else:
            runs.append([count])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


COLOURS = {"safe": "#1a7f37", "unsafe": "#cf222e", "undecided": "#9a6700"}
"""By the first word of a verdict; each can be read on white and on black."""


def report_html(report: Report) -> str:
    """`report` as HTML that brings its own style."""
    line = report.verdict_line
    colour = COLOURS[line.partition(":")[0].partition(" ")[0]]
    parts = [f'<p style="color:{colour};font-weight:600;margin:0">{escape(line)}</p>']
    if report.verdict == "safe":
        parts += [_list(report.scope.clauses)]
    for mistake in report.mistakes:
        parts += [_folded(mistake.first.violation.headline, str(mistake.first), is_open=True)]
        parts += [_folded(f"{ALSO}: {also.violation.headline}", str(also)) for also in mistake.also]
    parts += [_folded("undecided", doubt, is_open=True) for doubt in report.undecided]
    parts += [_folded("warning", str(finding)) for finding in report.tolerated]
    parts += [_folded("over-wait", str(warning)) for warning in report.warnings]
    parts += [_folded("left out", calls) for calls in report.left_out]
    parts += [_folded("not for every trip count", reason) for reason in report.bounds_that_matter]
    parts += [_folded("cut short", search) for search in report.cut_short]
    return f'<div class="tileas-report">{"".join(parts)}</div>'


def _list(clauses: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(clause)}</li>' for clause in clauses)}</ul>" if clauses else ""


def _folded(head: str, text: str, *, is_open: bool = False) -> str:
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(head)}</summary><pre>{escape(text)}</pre></details>"
