"""What a violation rests on: the accesses and standings of an execution that an explanation has to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.agents import Agent
    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
    from tileas_xdsl.machine.core.happens_before import Access
    from tileas_xdsl.machine.core.violations import Party

Side: TypeAlias = "Access | AsyncWork | Agent"
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

    agent: Agent
    things: Sequence[object]
    parties: Sequence[Party]


@dataclass(frozen=True)
class Standstill:
    """Agents whose conditions can no longer hold: a deadlock."""

    blocked: Sequence[Agent]
    parties: Sequence[Party]


Evidence: TypeAlias = Unordered | Misuse | Standstill
