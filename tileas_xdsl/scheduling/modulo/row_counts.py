"""
A number for each row, all of them at once: bit `row` of integer `k` is bit k of the number of that row.

    counts.add(rows, 3)        these rows, given as bits, get 3 more each
    counts.at_least(5)         the rows, as bits, that have 5 or more

So adding and comparing take as many steps as the numbers have bits, however many rows there are. (Bit slicing: Biham,
"A Fast New DES Implementation in Software", FSE 1997.)
"""

from __future__ import annotations


class RowCounts:
    """Numbers of the rows that are the bits of `rows`, all 0 at first; none is ever negative."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._planes: list[int] = []

    def add(self, rows: int, amount: int) -> None:
        """Add `amount` in each of `rows`."""
        planes, carry, place = self._planes, 0, 0
        while amount >> place or carry:
            if place == len(planes):
                planes.append(0)
            plane, addend = planes[place], rows if amount >> place & 1 else 0
            planes[place] = plane ^ addend ^ carry
            carry = plane & addend | carry & (plane ^ addend)
            place += 1

    def subtract(self, rows: int, amount: int) -> None:
        """Take `amount` from each of `rows`, which have as much."""
        planes, borrow, place = self._planes, 0, 0
        while amount >> place or borrow:
            plane, less = planes[place], rows if amount >> place & 1 else 0
            planes[place] = plane ^ less ^ borrow
            borrow = ~plane & (less | borrow) | less & borrow
            place += 1

    def at_least(self, number: int) -> int:
        """The rows that have `number` or more."""
        planes = self._planes
        if number >> len(planes):
            return 0
        more, as_many = 0, self.rows
        for place in range(len(planes) - 1, -1, -1):
            plane = planes[place]
            if number >> place & 1:
                as_many &= plane
            else:
                more |= as_many & plane
                as_many &= ~plane
        return more | as_many
