"""
The scope of a verdict: what was fixed, only tried, assumed or left out in this program.

Everything that a reader must know beside `safe` stands here once, for the last line of a report and for JSON. What is
assumed comes from the machine (`Machine.assume`), from the arguments that are varied, and from the memory that the
executions touched (`assumptions_about_memory`).

What a scope looks like: a pipe gets one last line, so that scripts find the verdict with its scope there; a terminal
gets the verdict, and an assumption a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE, SEPARATE, STAYS_INSIDE, Assumption, in_words
from tileas_xdsl.machine.core.opaque_numbers import PartsOfArrays
from tileas_xdsl.machine.core.violations import DivisionByZeroError, NoStepError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.memory import MemoryObject


@dataclass(frozen=True)
class Scope:
    """What a verdict holds for, beside the trip counts that its line names. Empty where nothing is to be said."""

    fixed: tuple[tuple[str, int], ...] = ()
    """Arguments, and the number that the caller gave to each."""
    tried: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """What was tried at some numbers and not proved for the others: arguments and block ids, with the numbers."""
    assumed: tuple[str, ...] = ()
    """Clauses, in the order in which the program came to rest on them."""
    left_out: tuple[str, ...] = ()
    """Calls that were left out: sentences."""
    short_loops: tuple[str, ...] = ()
    """Turns of loops that no call has made which was tried: noun phrases."""
    left_open: tuple[str, ...] = ()
    """What the order of the agents decides, so that results may depend on it: noun phrases."""

    @property
    def clauses(self) -> list[str]:
        """The end of the last line of a report: a clause for each kind of limit."""
        kinds = {
            "not tried": self.short_loops,
            "open": self.left_open,
            "assumed": self.assumed,
            "left out": self.summed_up,
        }
        return [f"{kind}: {'; '.join(clauses)}" for kind, clauses in kinds.items() if clauses]

    @property
    def summed_up(self) -> list[str]:
        """What was left out, a clause for each kind."""
        kinds = {NoStepError: "a loop has no positive step", DivisionByZeroError: "a divisor is zero"}
        return [
            f"calls in which {what}"
            for error, what in kinds.items()
            if any(error.complaint in calls for calls in self.left_out)
        ]

    def as_data(self) -> dict[str, Any]:
        """The scope as plain data, for JSON."""
        return {
            "fixed": dict(self.fixed),
            "tried": {name: list(numbers) for name, numbers in self.tried},
            "assumed": list(self.assumed),
            "left_out": list(self.left_out),
            "short_loops": list(self.short_loops),
            "open": list(self.left_open),
        }


def scope_of(
    fixed: Mapping[str, int],
    tried: Mapping[str, Sequence[int]],
    assumed: Iterable[Assumption],
    left_out: Iterable[str],
    arguments: Sequence[str] = (),
    short_loops: Iterable[str] = (),
    left_open: Iterable[str] = (),
) -> Scope:
    """The scope from what a report has collected, of functions with `arguments`."""
    return Scope(
        tuple(fixed.items()),
        tuple((name, tuple(numbers)) for name, numbers in tried.items()),
        tuple(in_words(assumed, arguments)),
        tuple(left_out),
        tuple(short_loops),
        tuple(left_open),
    )


def assumptions_about_memory(
    machine: Machine, arguments: Mapping[str, MemoryObject], *, of_a_kernel: bool
) -> Iterable[Assumption]:
    """
    What an execution on `machine` rests on, of the `arguments` that name memory: their extents, that they do not
    overlap, and that no other block of a kernel touches them. Only of those that it touched, and the last two only if
    it writes: to one of several in one space, and to global memory.
    """
    parts = machine.part(PartsOfArrays)
    reached = {
        name: [p for p in parts.of(base) if machine.history_of(p) is not None] for name, base in arguments.items()
    }
    touched = {name: arguments[name] for name, found in reached.items() if found}
    yield from (STAYS_INSIDE.about(name) for name in touched if any(part.is_open for part in reached[name]))
    for space in dict.fromkeys(base.space for base in touched.values()):
        names = {name: base for name, base in touched.items() if base.space == space}
        if not any(_is_written(machine, part) for name in names for part in reached[name]):
            continue
        if len({id(base) for base in names.values()}) > 1:
            yield from map(SEPARATE.about, names)
        if of_a_kernel and space == "global":
            yield BLOCKS_ALONE


def _is_written(machine: Machine, base: MemoryObject) -> bool:
    history = machine.history_of(base)
    return history is not None and history.holds_a_write
