"""
What happened in an execution, step by step, and the shortest part of it that shows a violation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import location_of, op_name
from tileas_xdsl.machine.happens_before import Clock


@dataclass(slots=True)
class Happening:
    """One step that others can see: an issue, a completion, a wait that went through, an arrival, an access."""

    step: int
    agent: int
    agent_name: str
    moment: int
    op: Operation
    iteration: tuple[int, ...]
    kind: str
    """`issue`, `complete`, `wait`, `arrive`, `commit`, `fork`, `access`, `fence`."""
    text: str

    def __str__(self) -> str:
        turn = f" [{', '.join(map(str, self.iteration))}]" if self.iteration else ""
        place = location_of(self.op)
        at = f"  ({place})" if place else ""
        return f"{self.agent_name}{turn}: {op_name(self.op)}: {self.text}{at}"


@dataclass(frozen=True)
class Witness:
    """An interleaving that shows a violation: the steps that must come before, then the steps that collide."""

    steps: tuple[Happening, ...]
    collision: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{number:3}. {step}" for number, step in enumerate(self.steps, 1)]
        lines += [f"  => {text}" for text in self.collision]
        return "\n".join(lines)


@dataclass
class Trace:
    """The happenings of one execution, in the order of the execution."""

    happenings: list[Happening] = field(default_factory=list[Happening])
    recording: bool = True

    def add(self, happening: Happening) -> None:
        if self.recording:
            self.happenings.append(happening)

    def before(self, clocks: Iterable[Clock]) -> list[Happening]:
        """
        The happenings that lie in the past of one of `clocks`: what must have taken place for their owners to stand
        where they do.
        """
        horizon: Clock = {}
        for clock in clocks:
            for agent, moment in clock.items():
                horizon[agent] = max(horizon.get(agent, -1), moment)
        return [h for h in self.happenings if h.moment <= horizon.get(h.agent, -1)]
