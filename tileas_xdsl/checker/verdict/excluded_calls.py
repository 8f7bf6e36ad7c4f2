"""
Calls that are left out of a check, because a loop has no positive step with the values that were tried.

    scf.for %i = %c0 to %n step %s        n and s are varied from 0 on; a call with s = 0 has no meaning

MLIR requires the step of `scf.for` to be positive (dialect `scf`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from xdsl.ir import Operation, Region

from tileas_xdsl.checker.verdict.loop_bounds import step_arguments
from tileas_xdsl.checker.verdict.report import span
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.core.violations import NoStepError


class ExcludedCalls:
    """The calls of a function that are left out, each by the values of the arguments `bounds`, which are varied."""

    def __init__(self, body: Region, bounds: Sequence[str]) -> None:
        self._body = body
        self._bounds = bounds
        self._errors: dict[tuple[int, ...], NoStepError] = {}

    def add(self, values: Sequence[int], error: NoStepError) -> None:
        """Leave out the call with `values`. Raises `error` where the step comes from nothing that is varied."""
        if not self._names(error.op):
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
        """One for each loop: which values of the arguments its step comes from were left out."""
        return [
            sentence(op, f"has no positive step where {self._which(op)}")
            for op in dict.fromkeys(error.op for error in self._errors.values())
        ]

    def reason_against_a_proof(self) -> str:
        """Why there is no proof for every value of the only argument that is varied."""
        op = next(iter(self._errors.values())).op
        return sentence(op, f"takes its step from {self._bounds[0]}; fix it with --arg {self._bounds[0]}=1")

    def _names(self, loop: Operation) -> list[str]:
        return [name for name in step_arguments(self._body, loop) if name in self._bounds]

    def _which(self, loop: Operation) -> str:
        """`s is 0`, `s is 3..8`, `(s, m) is (0, 0), (1, 1)`."""
        names = self._names(loop)
        places = [self._bounds.index(name) for name in names]
        calls = [values for values, error in self._errors.items() if error.op is loop]
        found = list(dict.fromkeys(tuple(values[place] for place in places) for values in calls))
        if len(names) == 1:
            return f"{names[0]} is {span(tuple(sorted(value for (value,) in found)))}"
        return f"({', '.join(names)}) is {', '.join(map(str, found))}"
