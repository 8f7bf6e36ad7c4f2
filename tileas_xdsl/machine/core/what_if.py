"""Executions of a program with one wait changed: removed, weaker, or for the other parity."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation


@dataclass(frozen=True)
class Relaxation:
    """The wait at `op` leaves `more` unfinished than it says; with `more` None the wait is absent."""

    op: Operation
    more: int | None


@dataclass(frozen=True)
class WhatIf:
    """At most one wait that differs from the program as written."""

    inverted: Operation | None = None
    """A wait that asks for the other parity than it says."""
    relaxed: Relaxation | None = None
    """A wait that is weaker than it says."""


AS_WRITTEN = WhatIf()
"""The program as it stands."""
