"""The lines of a generated program, and fresh names in them."""

from __future__ import annotations


class Lines:
    """Base of generators: `lines` in order, and `name` for one that was not used before."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names = 0

    def name(self, stem: str) -> str:
        self._names += 1
        return f"%{stem}{self._names}"

    def value(self, stem: str, text: str) -> str:
        """Put down a line that computes `text`. Returns the name of the result."""
        name = self.name(stem)
        self.lines.append(f"{name} = {text}")
        return name
