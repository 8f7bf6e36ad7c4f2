"""
Calls that are left out of a check, because the function is not defined for the values that were tried.

    scf.for %i = %c0 to %n step %s        n and s are varied from 0 on; a call with s = 0 has no meaning
    %trips = arith.divui %extent, %s      nor has it here

MLIR requires the step of `scf.for` to be positive (dialect `scf`), and leaves division by zero undefined (`arith`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from xdsl.ir import Region

from tileas_xdsl.checker.verdict.loop_bounds import arguments_behind
from tileas_xdsl.checker.verdict.preconditions import Numbers, as_called
from tileas_xdsl.checker.verdict.report import span
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.core.violations import NoStepError, UndefinedCallError


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
