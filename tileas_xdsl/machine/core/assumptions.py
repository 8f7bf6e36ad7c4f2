"""
What an execution takes for granted about the program at hand, for the scope of a verdict.

Whoever rests on an assumption says so when it does, so that a verdict names those of its own program and no others:

    agent.machine.assume(TOUCHES_ARGUMENTS_ONLY.about(callee))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Assumption:
    """Something that is not looked for, and has to hold for a verdict to be right."""

    what: str
    """A clause: "waits order the threads of a warp". `{}` in it stands for the `subject`."""
    subject: str = ""

    def about(self, subject: str) -> Assumption:
        """The same assumption about `subject`: an argument, a function, an op."""
        return replace(self, subject=subject)


ASSERTION_HOLDS = Assumption("assertions about data hold")
"""Of an assertion about what a check does not compute."""


def in_words(assumptions: Iterable[Assumption]) -> list[str]:
    """One clause for each kind of assumption, which names all of its subjects, in the order of first mention."""
    subjects: dict[str, dict[str, None]] = {}
    for assumption in assumptions:
        subjects.setdefault(assumption.what, {})[assumption.subject] = None
    return [what.format(", ".join(about)) for what, about in subjects.items()]
