"""
The kinds of mistake in asynchronous programs, and the records and exceptions with which the machine reports them.

One report a work. Asynchronous work that nobody waits for is reported once, at the end that it outlived.

`Evidence` is what a violation rests on: the accesses and standings of an execution that an explanation has to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol, TypeAlias

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import Error, location_of, op_name
from tileas_xdsl.machine.core.happens_before import Who

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.happens_before import Access
    from tileas_xdsl.machine.core.memory import MemoryObject


Side: TypeAlias = "Access | AsyncWork | Who"
"""An access, the issue of a work, or where an agent stands now."""


@dataclass(frozen=True)
class Unordered:
    """Two places that happens-before does not order, or that it orders and between which a fence is missing."""

    earlier: Side
    later: Side
    parties: Sequence[Party]
    """What collides there."""
    lacks_fence: bool = False


@dataclass(frozen=True)
class Misuse:
    """Something (barriers, tasks) used against its rules by `agent`, at the op where that agent stands now."""

    agent: Who
    things: Sequence[object]
    parties: Sequence[Party]


@dataclass(frozen=True)
class Standstill:
    """Agents whose conditions can no longer hold: a deadlock."""

    blocked: Sequence[Who]
    parties: Sequence[Party]


Evidence: TypeAlias = Unordered | Misuse | Standstill


class ViolationKind(StrEnum):
    """The kinds of mistake that `check` finds."""

    RACE = "race"
    DEADLOCK = "deadlock"
    PHASE = "phase"
    SLOT = "slot"
    MISSING_FENCE = "missing-fence"
    UNDRAINED = "undrained"
    ABSENT = "absent"
    MALFORMED = "malformed"


class Effect(StrEnum):
    """What the author of a kernel sees of a mistake when the kernel runs."""

    HANG = "hang"
    WRONG = "wrong numbers"
    UNSTEADY = "numbers that differ from run to run"
    FAULT = "fault"
    HANG_OR_WRONG = "hang or wrong numbers"
    UNDEFINED = "undefined behaviour"


EFFECTS = {
    ViolationKind.RACE: Effect.UNSTEADY,
    ViolationKind.DEADLOCK: Effect.HANG,
    ViolationKind.PHASE: Effect.HANG_OR_WRONG,
    ViolationKind.SLOT: Effect.WRONG,
    ViolationKind.MISSING_FENCE: Effect.WRONG,
    ViolationKind.UNDRAINED: Effect.UNSTEADY,
    ViolationKind.ABSENT: Effect.FAULT,
    ViolationKind.MALFORMED: Effect.UNDEFINED,
}
"""What a mistake of each kind leads to, unless it says so itself."""


@dataclass(frozen=True)
class Party:
    """One op that takes part in a violation: in which iteration and agent, and what it does there."""

    op: Operation
    agent: str
    """Its name; empty where it does not matter who did it."""
    iteration: tuple[int, ...]
    role: str
    """Completes the sentence "'the.op' ...", for example `writes shared memory 'ring'[1]`."""

    @property
    def place(self) -> str | None:
        """`file:line:col`, where it is known."""
        return location_of(self.op)

    @property
    def sentence(self) -> str:
        """What the op does, and which agent in which iteration."""
        turn = f", iteration {', '.join(map(str, self.iteration))}" if self.iteration else ""
        who = f" ({self.agent}{turn})" if self.agent else ""
        return f"'{op_name(self.op)}' {self.role}{who}"

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if self.place is not None else self.sentence


def violation_key(kind: ViolationKind, ops: Iterable[Operation]) -> tuple[object, ...]:
    """A key that is equal for the same mistake by the same ops in another iteration."""
    return (kind, *map(id, ops))


@dataclass(frozen=True)
class Violation:
    """One mistake: what kind, who takes part, and what is missing."""

    kind: ViolationKind
    message: str
    parties: tuple[Party, ...]
    missing: str
    """The edge or event that would make the program right, in words."""
    stuck: bool = False
    """Whether the program cannot finish."""
    symptom: ViolationKind | None = None
    """For a mistake in a phase, how it shows: a race, a deadlock, undrained work."""
    leads_to: Effect | None = None
    """What the author of the kernel sees, where that is not what the kind leads to."""
    instead: int | None = None
    """The number of arrivals or threads with which the program would go on, where a wrong one is the mistake."""

    @property
    def effect(self) -> Effect:
        """What the author of the kernel sees when it runs."""
        return self.leads_to or EFFECTS[self.symptom or self.kind]

    @property
    def word(self) -> ViolationKind:
        """The kind as people name it: a wrong phase in which agents stand still is a deadlock."""
        return ViolationKind.DEADLOCK if self.symptom is ViolationKind.DEADLOCK else self.kind

    @property
    def sentence(self) -> str:
        """The kind and the message."""
        return f"{self.kind}: {self.message}"

    @property
    def headline(self) -> str:
        """What the author of the kernel sees, and then the cause."""
        return f"{self.effect}: {self.word}: {self.message}"

    @property
    def key(self) -> tuple[object, ...]:
        """See `violation_key`: equal for the same mistake in another iteration."""
        return violation_key(self.kind, (party.op for party in self.parties))


class UndecidedError(Error):
    """The machine cannot go on: a branch or an address depends on data that is not known when only checking."""

    def __init__(self, op: Operation, reason: str) -> None:
        self.op = op
        self.reason = reason
        location = location_of(op)
        prefix = f"{location}: " if location else ""
        super().__init__(f"{prefix}'{op_name(op)}' op {reason}")


class BlockDependentError(Exception):
    """A number that differs between blocks decides something: the check has to take it as an argument."""

    def __init__(self, op: Operation, reason: str, names: frozenset[str]) -> None:
        self.op = op
        self.reason = reason
        self.names = names
        """The ids, extents and arguments that the number is computed from."""
        super().__init__(f"'{op_name(op)}' op {reason}")


class UnsupportedError(Error):
    """The input holds an op to which nobody has given a meaning, or uses one in a way that has none."""

    def __init__(self, op: Operation, reason: str) -> None:
        self.op = op
        self.reason = reason
        location = location_of(op)
        prefix = f"{location}: " if location else ""
        super().__init__(f"{prefix}error: '{op_name(op)}' op {reason}")


class UndefinedCallError(UnsupportedError):
    """An operand of an op has a value that makes it undefined: the function is not defined for these arguments."""

    operand: ClassVar[int]
    """Which operand of the op."""
    complaint: ClassVar[str]
    """Completes the sentence "'the.op' ..."."""


class NoStepError(UndefinedCallError):
    """A loop has a step that is not positive."""

    operand = 2
    complaint = "has no positive step"


class DivisionByZeroError(UndefinedCallError):
    """A divisor is zero."""

    operand = 1
    complaint = "divides by zero"


class MistakeError(UnsupportedError):
    """
    The program is wrong where this op is executed: it can be read, and what it does there is not defined. A check
    reports it as a violation; `things` are what is used against its rules (a ring, a buffer, a barrier). After the last
    `; ` its reason says what the op asks for, with the section of the manual.
    """

    leads_to: ClassVar[Effect | None] = None
    """What the author of the kernel sees of it; None if all is possible."""

    def __init__(self, op: Operation, reason: str, things: Sequence[object] = ()) -> None:
        super().__init__(op, reason)
        self.things = things

    def violation(self, agent: str, iteration: tuple[int, ...]) -> Violation:
        """The violation that `agent` has committed there."""
        role, _, rule = self.reason.rpartition("; ")
        party = Party(self.op, agent, iteration, role)
        message = "an op is used in a way that is not defined"
        return Violation(
            ViolationKind.MALFORMED,
            message,
            (party,),
            rule,
            stuck=True,
            leads_to=self.leads_to,
        )


class Reporter(Protocol):
    """Who keeps the violations of an execution, or hands them on to it."""

    def report(self, violation: Violation, evidence: Evidence | None = None) -> None: ...


class Reporting(Who, Reporter, Protocol):
    """An agent that reports what it finds."""


class Execution(Reporter, Protocol):
    """An execution, as a mistake that has ended it is reported."""

    @property
    def live(self) -> Sequence[Who]:
        """The agents that have not finished."""
        ...


def report_mistake(machine: Execution, error: MistakeError) -> None:
    """Report `error`, which has ended the execution on `machine`, as a violation of the agent that stands there."""
    agent = next((each for each in machine.live if each.current_op is error.op), None)
    if agent is None:
        machine.report(error.violation("", ()))
    else:
        violation = error.violation(agent.name, agent.iteration)
        machine.report(violation, Misuse(agent, [*error.things, agent], violation.parties))


class OutOfBoundsError(MistakeError):
    """An access reaches outside an object."""

    leads_to = Effect.FAULT


def out_of_bounds(op: Operation, base: MemoryObject, where: str, start: int, way_out: str = "") -> UnsupportedError:
    """
    The error to raise where `op` reaches outside `base`: `where` says how far, and `start` is the first place.

    That is a mistake of the program, unless a check has made up the size of `base`.
    """
    # Larger sizes help behind the end only.
    sizes = "run it with matching sizes, or fix the index" if start >= 0 else "no size has that place: fix the index"
    kind = UnsupportedError if base.is_open and start >= 0 else OutOfBoundsError
    return kind(op, f"reaches outside '{base.name}'{where}; {way_out or sizes}")


class NoMeaningError(Exception):
    """What comes next has no meaning, as the violation says that was reported for it: the execution ends here."""


class StuckError(Exception):
    """No agent can step and no issued work can complete. The machine turns this into a violation."""


# What an op may not do by its manual --------------------------------------------------------------------------------


def report_malformed(
    agent: Reporting, op: Operation, role: str, rule: str, *, stuck: bool = False, about: Sequence[object] = ()
) -> None:
    """
    Report `op`, which does `role` ("takes 16 as its barrier"); `rule` says in words what it may do. The witness shows
    what has happened to the things that it is `about`.
    """
    party = Party(op, agent.name, agent.iteration, role)
    message = "an op is used in a way that its manual leaves undefined"
    violation = Violation(ViolationKind.MALFORMED, message, (party,), rule, stuck=stuck)
    agent.report(violation, Misuse(agent, about, [party]))


def end_malformed(agent: Reporting, op: Operation, role: str, rule: str, *, about: Sequence[object] = ()) -> NoReturn:
    """The same for an op after which nothing that follows has a meaning. Raises `NoMeaningError`."""
    report_malformed(agent, op, role, rule, stuck=True, about=about)
    raise NoMeaningError
