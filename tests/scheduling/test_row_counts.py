"""Counts of all rows at once are the counts of each row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileas_xdsl.scheduling.modulo.reservation import RowCounts

ROWS = 9
CHANGES = st.lists(st.tuples(st.integers(0, (1 << ROWS) - 1), st.integers(0, 40)), max_size=8)


def rows_of(bits: int) -> list[int]:
    return [row for row in range(ROWS) if bits >> row & 1]


@given(CHANGES, st.data())
def test_they_count_as_lists_of_numbers_do(changes: list[tuple[int, int]], data: st.DataObject) -> None:
    counts, numbers = RowCounts((1 << ROWS) - 1), [0] * ROWS
    for rows, amount in changes:
        counts.add(rows, amount)
        for row in rows_of(rows):
            numbers[row] += amount
    for rows, amount in data.draw(st.permutations(changes)):
        for number in range(max(numbers) + 3):
            assert rows_of(counts.at_least(number)) == [row for row in range(ROWS) if numbers[row] >= number]
        counts.subtract(rows, amount)
        for row in rows_of(rows):
            numbers[row] -= amount
    assert not any(numbers)
    assert not counts.at_least(1)
