"""
A witness, the part of an execution that shows a mistake; and a violation that carries one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from tileas_xdsl.machine.core.trace import Happening
from tileas_xdsl.machine.core.violations import Violation


@dataclass(frozen=True)
class Elision:
    """Steps that are left out of a witness: they precede the mistake, and do not explain it."""

    counts: tuple[tuple[str, int], ...]
    """(name of an agent, number of its steps), in order of first appearance."""

    def __str__(self) -> str:
        return "... " + ", ".join(f"{n} step{'s' * (n != 1)} of {agent}" for agent, n in self.counts)

    def as_data(self) -> dict[str, Any]:
        return {"elided": dict(self.counts)}


@dataclass(frozen=True)
class Witness:
    """An interleaving that shows a violation: steps that come before, then the steps that collide."""

    steps: tuple[Happening | Elision, ...]
    collision: tuple[Happening, ...]

    def numbered(self) -> list[tuple[str, Happening | Elision]]:
        """Every line with what stands in front of it: a number, nothing for an elision, `=>` for what collides."""
        lines: list[tuple[str, Happening | Elision]] = []
        number = 0
        for step in self.steps:
            if isinstance(step, Happening):
                number += 1
            lines.append((f"{number}." if isinstance(step, Happening) else "", step))
        return [*lines, *(("=>", step) for step in self.collision)]

    def __str__(self) -> str:
        return "\n".join(f"{label:>4} {step}" for label, step in self.numbered())

    def as_data(self) -> list[dict[str, Any]]:
        return [step.as_data() for _, step in self.numbered()]


@dataclass(frozen=True)
class ShownViolation(Violation):
    """A violation with its witness."""

    witness: Witness | None = None
    at_fault: tuple[Hashable, ...] = field(default=(), hash=False, compare=False)
    """What is at fault beside the ops of its parties (`blame`): violations that share it have one cause."""


def witness_of(violation: Violation) -> Witness | None:
    """The interleaving that shows `violation`; None if no witness was looked for."""
    return violation.witness if isinstance(violation, ShownViolation) else None


def at_fault_in(violation: Violation) -> tuple[Hashable, ...]:
    """What is at fault beside the ops of its parties, as far as that was looked for."""
    return violation.at_fault if isinstance(violation, ShownViolation) else ()


def shown(violation: Violation, witness: Witness, at_fault: Iterable[Hashable] = ()) -> ShownViolation:
    """`violation` with its `witness`, and what is `at_fault` beside what is known to be."""
    known = {field.name: getattr(violation, field.name) for field in fields(Violation)}
    return ShownViolation(**known, witness=witness, at_fault=(*at_fault_in(violation), *at_fault))
