"""Integers as linear forms: `3 * %n - %m + 2`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from tileas_xdsl.analysis.value_range import NO_LIMIT, Range

Terms = frozenset[tuple[Hashable, int]]
"""What is multiplied by which factor: each atom once, no factor 0. An atom is a value, or an object of its own."""


@dataclass(frozen=True)
class LinearForm:
    """The sum of `terms`, plus `constant`. Equal numbers may have different forms; equal forms are equal numbers."""

    terms: Terms = frozenset()
    constant: int = 0

    @staticmethod
    def of(atom: Hashable) -> LinearForm:
        return LinearForm(frozenset({(atom, 1)}))

    def __add__(self, other: LinearForm | int) -> LinearForm:
        if isinstance(other, int):
            return LinearForm(self.terms, self.constant + other)
        factors = Counter[Hashable](dict(self.terms))
        for atom, factor in other.terms:
            factors[atom] += factor
        terms = frozenset((atom, factor) for atom, factor in factors.items() if factor)
        return LinearForm(terms, self.constant + other.constant)

    def __sub__(self, other: LinearForm | int) -> LinearForm:
        return self + (-other if isinstance(other, int) else other.times(-1))

    def times(self, factor: int) -> LinearForm:
        if factor == 0:
            return LinearForm()
        return LinearForm(frozenset((atom, factor * old) for atom, old in self.terms), factor * self.constant)

    @property
    def as_constant(self) -> int | None:
        return None if self.terms else self.constant

    @property
    def as_atom(self) -> Hashable | None:
        """The only atom, where the form is one, plus a constant."""
        if len(self.terms) != 1:
            return None
        ((atom, factor),) = self.terms
        return atom if factor == 1 else None


def moved(found: Range, by: int) -> Range:
    """`found`, with both ends moved; what has no limit keeps none."""
    low = found.low if found.low <= -NO_LIMIT else found.low + by
    return Range(low, found.high if found.high >= NO_LIMIT else found.high + by)


def scaled(found: Range, by: int) -> Range:
    """All multiples of the numbers of `found` by a factor other than 0, from the least to the greatest."""
    ends = [end if abs(end) >= NO_LIMIT else end * abs(by) for end in (found.low, found.high)]
    return Range(ends[0], ends[1]) if by > 0 else Range(-ends[1], -ends[0])


def added(left: Range, right: Range) -> Range:
    low = -NO_LIMIT if -NO_LIMIT in (left.low, right.low) else left.low + right.low
    high = NO_LIMIT if NO_LIMIT in (left.high, right.high) else left.high + right.high
    return Range(low, high)


def common(left: Range, right: Range) -> Range | None:
    """What lies in both; None where nothing does."""
    low, high = max(left.low, right.low), min(left.high, right.high)
    return Range(low, high) if low <= high else None
