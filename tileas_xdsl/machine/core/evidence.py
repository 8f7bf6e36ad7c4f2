"""
What a violation rests on: the places of an execution that somebody who explains it has to look at.
"""

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
    """Two places that nothing orders; or two that are ordered, and lack a fence."""

    earlier: Side
    later: Side
    parties: Sequence[Party]
    """What collides there."""
    lacks_fence: bool = False


@dataclass(frozen=True)
class Misuse:
    """Something (barriers, tasks) that is used as it must not be, which shows where `agent` stands now."""

    agent: Agent
    things: Sequence[object]
    parties: Sequence[Party]


@dataclass(frozen=True)
class Standstill:
    """Agents that wait for what cannot happen any more."""

    blocked: Sequence[Agent]
    parties: Sequence[Party]


Evidence: TypeAlias = Unordered | Misuse | Standstill
