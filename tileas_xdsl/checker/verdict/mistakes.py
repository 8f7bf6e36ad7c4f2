"""
One mistake, one finding: the violations of a report that have one cause, put together.

A mistake seldom shows once. Without a wait, a copy races with the read behind it and with the copy of the next turn,
and is unfinished at the end. Where an agent passes a phase too early, everything behind it goes wrong. Two violations
in one function have one cause if they have in common what is at fault:

- *an op*, as it is written: an access, a wait, an arrival, the op that makes a barrier, the op that starts a task. A
  compiler may have made several of it, where it unrolled a loop or inlined a function;
- *what stands behind the ops* (`blame`): the wait that let both through, the barrier that a work signals, the ops at
  which all agents stand in a standstill, the agent whose barriers nobody was told of.

The cause is judged by what the executions have shown; no program is repaired and tried. So two mistakes that meet in
one op count as one, and the second is found when the first is repaired.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from tileas_xdsl.checker.witnesses.witness import at_fault_in
from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.core.violations import ViolationKind

if TYPE_CHECKING:
    from tileas_xdsl.checker.verdict.report import Finding

SEEN_FIRST = (
    ViolationKind.DEADLOCK,
    ViolationKind.RACE,
    ViolationKind.MISSING_FENCE,
    ViolationKind.ABSENT,
    ViolationKind.SLOT,
    ViolationKind.MALFORMED,
    ViolationKind.UNDRAINED,
    ViolationKind.PHASE,
)
"""What a user notices first: the kernel hangs, then its numbers are wrong, then something is left over."""
ALSO = "the same mistake also shows as"
EXPLAINS_MOST = (
    ViolationKind.MALFORMED,
    ViolationKind.SLOT,
    ViolationKind.MISSING_FENCE,
    ViolationKind.ABSENT,
    ViolationKind.RACE,
    ViolationKind.PHASE,
    ViolationKind.UNDRAINED,
    ViolationKind.DEADLOCK,
)
"""Which kind is nearest to the cause: a deadlock says least of why."""


@dataclass(frozen=True)
class SourceEdit:
    """An edit as text: the lines of the file from `line` on that change, and what they become."""

    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    verdict: str
    """What is said of the program with the edit: for which trip counts it is safe."""
    file: str | None = None
    """The Python file; None for the file that was checked itself."""

    def as_data(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "before": "\n".join(self.before),
            "after": "\n".join(self.after),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Mistake:
    """Violations with one cause."""

    first: Finding
    """The one that explains most, in the first call in which the mistake shows."""
    also: tuple[Finding, ...]
    """The others: what a user notices first is in front, and of one kind what shows in an earlier call."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (self.first, *self.also)

    @property
    def shows_also(self) -> list[str]:
        """The others in words, each kind and place once: `deadlock at ring.mlir:29:7 (n = 2)`."""
        shown: dict[str, str] = {}
        for finding in self.also:
            shown.setdefault(_in_short(finding), _arguments_of(finding))
        return [where + arguments for where, arguments in shown.items()]

    def __str__(self) -> str:
        return "\n".join([str(self.first), *(f"  {ALSO}: {each}" for each in self.shows_also)])

    def as_data(self, findings: Sequence[Finding], edit: SourceEdit | None = None) -> dict[str, Any]:
        """The places of its violations in the list `findings`, and the edit that repairs it."""
        places = [next(at for at, other in enumerate(findings) if other is each) for each in self.findings]
        return {"first": places[0], "also": places[1:], "edit": None if edit is None else edit.as_data()}


def _in_short(finding: Finding) -> str:
    """Its kind, and its place, or its op where that is not known."""
    violation = finding.violation
    party = violation.parties[0]
    place = party.place or f"'{op_name(party.op)}'"
    return f"{violation.word} at {place}"


def _arguments_of(finding: Finding) -> str:
    arguments = ", ".join(f"{name} = {value}" for name, value in finding.arguments.items())
    return f" ({arguments})" if arguments else ""


def mistakes_of(findings: Sequence[Finding]) -> list[Mistake]:
    """`findings` by their causes. Each is in one mistake, and the mistakes are in the order in which they show."""
    groups: list[tuple[list[int], set[Hashable]]] = []
    for number, finding in enumerate(findings):
        members, at_fault = [number], set(_at_fault(finding))
        apart: list[tuple[list[int], set[Hashable]]] = []
        for group in groups:
            if at_fault.isdisjoint(group[1]):
                apart.append(group)
            else:
                members, at_fault = group[0] + members, at_fault | group[1]
        groups = [*apart, (members, at_fault)]
    order = _Order(findings)
    mistakes = [order.mistake([findings[number] for number in members]) for members, _ in groups]
    return sorted(mistakes, key=lambda mistake: order.of_cause(mistake.first))


def _at_fault(finding: Finding) -> Iterator[Hashable]:
    """In the function of `finding`: the ops of its parties, those within them, and what stands behind them."""
    for party in finding.violation.parties:
        yield from ((finding.function, _written(op)) for op in party.op.walk())
    yield from ((finding.function, _written(each)) for each in at_fault_in(finding.violation))


def _written(thing: Hashable) -> Hashable:
    """An op as its author wrote it: a compiler may have unrolled and inlined it into several."""
    if not isinstance(thing, Operation):
        return thing
    place = location_of(thing)
    return thing if place is None else (op_name(thing), place)


class _Order:
    """Orders violations by their calls, their kinds and their ops, in whatever order an execution came to them."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.calls = list(dict.fromkeys(finding.call for finding in findings))
        self.places = _places(findings)

    def mistake(self, findings: Sequence[Finding]) -> Mistake:
        first = min(findings, key=self.of_cause)
        return Mistake(first, tuple(sorted((each for each in findings if each is not first), key=self.as_seen)))

    def of_cause(self, finding: Finding) -> tuple[object, ...]:
        """First what explains most, then what shows in an earlier iteration, then data that is read too early."""
        last = max(party.iteration for party in finding.violation.parties)
        overwrites = "write after read" in finding.violation.message
        rank = EXPLAINS_MOST.index(_rooted(finding))
        return self.calls.index(finding.call), rank, last, overwrites, self._ops(finding)

    def as_seen(self, finding: Finding) -> tuple[object, ...]:
        """What a user notices first comes first."""
        shows_as = finding.violation.symptom or finding.violation.kind
        return SEEN_FIRST.index(shows_as), self.calls.index(finding.call), self._ops(finding)

    def _ops(self, finding: Finding) -> tuple[int, ...]:
        return tuple(self.places.get(party.op, -1) for party in finding.violation.parties)


def _rooted(finding: Finding) -> ViolationKind:
    """The kind by which `finding` explains: a wrong phase behind a race explains as much as the race."""
    violation = finding.violation
    return ViolationKind.RACE if violation.symptom is ViolationKind.RACE else violation.kind


def _places(findings: Sequence[Finding]) -> Mapping[Operation, int]:
    """Where the ops of the programs stand in them."""
    programs = dict.fromkeys(
        program
        for finding in findings
        for party in finding.violation.parties
        if isinstance(program := party.op.get_toplevel_object(), Operation)
    )
    return {op: place for program in programs for place, op in enumerate(program.walk())}
