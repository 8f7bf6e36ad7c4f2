"""
What happened in an execution, step by step, and the part of it that shows a violation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.core.happens_before import Clock


@dataclass(slots=True, eq=False)
class Happening:
    """One step that others can see: an issue, a completion, a wait that went through, an arrival, an access."""

    step: int
    agent: int
    agent_name: str
    moment: int
    op: Operation
    iteration: tuple[int, ...]
    kind: str
    """
    `issue`, `complete`, `wait`, `arrive`, `expect`, `commit`, `fork`, `finish`, `take`, `free`, `access` or `fence`.
    """
    text: str
    on: object | None = None
    """The barrier, queue, work or task that the step is about; None for a step that concerns its agent alone."""
    turn: int = 0
    """The number of the phase of a barrier, or of the group of a queue, that the step is about."""
    learnt: Clock | None = None
    """For a `wait`: what its agent knows from then on. For a `fork`: what the new agent knows."""
    time: int | None = None
    """In which cycle, under the order `timed`."""

    @property
    def who(self) -> str:
        """Agent and iteration."""
        turn = f" [{', '.join(map(str, self.iteration))}]" if self.iteration else ""
        return f"{self.agent_name}{turn}"

    @property
    def does(self) -> str:
        return f"{op_name(self.op)}: {self.text}"

    def __str__(self) -> str:
        place = location_of(self.op)
        return f"{self.who}: {self.does}{f'  ({place})' if place else ''}"

    def as_data(self) -> dict[str, Any]:
        return {
            "agent": self.agent_name,
            "iteration": list(self.iteration),
            "place": location_of(self.op),
            "op": op_name(self.op),
            "kind": self.kind,
            "text": self.text,
        }


@dataclass
class Trace:
    """The happenings of one execution, in the order of the execution."""

    happenings: list[Happening] = field(default_factory=list[Happening])
    recording: bool = True

    def add(self, happening: Happening) -> None:
        if self.recording:
            self.happenings.append(happening)

    def of(self, agent: int) -> list[Happening]:
        """The happenings of one agent, in program order; not what its works do on their own."""
        return [h for h in self.happenings if h.agent == agent and h.kind != "complete"]

    def about(self, things: Sequence[object]) -> list[Happening]:
        """The happenings that concern one of `things`."""
        return [h for h in self.happenings if any(h.on is thing for thing in things)]
