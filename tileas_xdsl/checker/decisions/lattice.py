"""
Lattices of integer vectors, by which the numbers of a state may differ from visit to visit.

A lattice is all sums and differences of its generators. It is kept in row echelon form (Hermite normal form; Cohen, "A
Course in Computational Algebraic Number Theory", 2.4), so that whether a vector lies in it is decided row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

Vector = tuple[int, ...]


class Lattice:
    """All integer combinations of the vectors that were added."""

    def __init__(self) -> None:
        self._rows: dict[int, list[int]] = {}
        """Index of the first entry that is not zero, which is positive -> the row."""

    @property
    def rank(self) -> int:
        return len(self._rows)

    @property
    def volume(self) -> tuple[tuple[int, int], ...]:
        """(index, leading entry) of each row: two lattices, one inside the other, are equal if these are."""
        return tuple(sorted((place, row[place]) for place, row in self._rows.items()))

    def __contains__(self, vector: Sequence[int]) -> bool:
        rest = list(vector)
        for place in range(len(rest)):
            if rest[place]:
                row = self._rows.get(place)
                if row is None or rest[place] % row[place]:
                    return False
                _subtract(rest, row, rest[place] // row[place])
        return True

    def add(self, vector: Sequence[int]) -> bool:
        """Add a generator. Returns whether the lattice has grown."""
        if vector in self:
            return False
        rest = list(vector)
        for place in range(len(rest)):
            if not rest[place]:
                continue
            row = self._rows.get(place)
            if row is None:
                self._rows[place] = rest if rest[place] > 0 else [-entry for entry in rest]
                return True
            while rest[place]:
                _subtract(row, rest, row[place] // rest[place])
                row, rest = rest, row
            self._rows[place] = row if row[place] > 0 else [-entry for entry in row]
        return True


def _subtract(vector: list[int], row: Sequence[int], times: int) -> None:
    for place, entry in enumerate(row):
        vector[place] -= times * entry
