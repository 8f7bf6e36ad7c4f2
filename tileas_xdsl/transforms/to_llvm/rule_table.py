"""The tables of a conversion to `llvm`: one rule an op, and what of an op cannot be lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)
ContextT = TypeVar("ContextT")
Refusal = tuple[str, str] | None
"""What cannot be lowered, and the way out; None if nothing is against it."""


class RuleTable(Generic[ContextT]):
    """Rules that work on a `ContextT`, by op."""

    def __init__(self) -> None:
        self.rules: dict[type[Operation], Callable[[Any, ContextT], Any]] = {}
        self.refusals: dict[type[Operation], Callable[[Any], Refusal]] = {}
        """Asked before anything is touched."""

    def rule(self, *ops: type[OpT]) -> Callable[[Callable[[OpT, ContextT], Any]], Any]:
        """Register how `ops` are lowered."""

        def register(lower: Callable[[OpT, ContextT], Any]) -> Callable[[OpT, ContextT], Any]:
            self.rules.update(dict.fromkeys(ops, lower))
            return lower

        return register

    def refusal(self, *ops: type[OpT]) -> Callable[[Callable[[OpT], Refusal]], Any]:
        """Register what of `ops` cannot be lowered."""

        def register(judge: Callable[[OpT], Refusal]) -> Callable[[OpT], Refusal]:
            self.refusals.update(dict.fromkeys(ops, judge))
            return judge

        return register
