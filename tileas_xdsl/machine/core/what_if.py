"""
Executions of a program that is a little other than written: what if one wait asked for something else?
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation


@dataclass(frozen=True)
class Relaxation:
    """What if the wait `op` allowed `more` unfinished; None: if it were not there."""

    op: Operation
    more: int | None


@dataclass(frozen=True)
class WhatIf:
    """One wait that is other than written, or none."""

    inverted: Operation | None = None
    """A wait that asks for the other parity than it says."""
    relaxed: Relaxation | None = None
    """A wait that is weaker than it says."""


AS_WRITTEN = WhatIf()
"""The program as it stands."""
