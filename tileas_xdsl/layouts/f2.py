"""
Vectors over F2, the field of two elements, and what linear algebra asks of them.

A vector is an int: bit i is its coordinate i, and addition is `^`. A matrix is the sequence of its columns. Subspaces
are given by any vectors that span them. Everything is Gaussian elimination on ints, so the work of any function is a
few machine words for each pair of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Vector = int


@dataclass
class Echelon:
    """
    A growing set of vectors with different leading bits, each with the combination of what was added that gives it.
    """

    rows: list[tuple[Vector, int]] = field(default_factory=list[tuple[Vector, int]])
    """A vector, and which of the added vectors sum up to it (bit i: the i-th); largest vector first."""
    added: int = 0

    def reduce(self, vector: Vector) -> tuple[Vector, int]:
        """What is left of `vector` after elimination, and which added vectors were subtracted; 0 left: in the span."""
        used = 0
        for row, made_of in self.rows:
            if vector ^ row < vector:  # exactly when the leading bit of the row is set in the vector
                vector, used = vector ^ row, used ^ made_of
        return vector, used

    def add(self, vector: Vector) -> bool:
        """Add `vector`; whether it was independent of those before."""
        rest, used = self.reduce(vector)
        mine = used ^ (1 << self.added)
        self.added += 1
        if rest:
            self.rows.append((rest, mine))
            self.rows.sort(reverse=True)
        return bool(rest)


def echelon(vectors: Iterable[Vector]) -> Echelon:
    """The echelon of `vectors`, added in order."""
    result = Echelon()
    for vector in vectors:
        result.add(vector)
    return result


def combination(columns: Sequence[Vector], chosen: int) -> Vector:
    """The matrix `columns` applied to the vector `chosen`."""
    result = 0
    while chosen:
        low = chosen & -chosen
        result ^= columns[low.bit_length() - 1]
        chosen ^= low
    return result


def table(columns: Iterable[Vector]) -> tuple[Vector, ...]:
    """The matrix `columns` applied to each vector, in order."""
    images = [0]
    for column in columns:
        images += [image ^ column for image in images]
    return tuple(images)


def rank(vectors: Iterable[Vector]) -> int:
    """The dimension of the span."""
    return len(echelon(vectors).rows)


def basis(vectors: Iterable[Vector]) -> tuple[Vector, ...]:
    """The vectors that are independent of those before them."""
    result = Echelon()
    return tuple(vector for vector in vectors if result.add(vector))


def contains(span: Iterable[Vector], vector: Vector) -> bool:
    """Whether `vector` lies in the span."""
    return echelon(span).reduce(vector)[0] == 0


def within(inner: Iterable[Vector], outer: Iterable[Vector]) -> bool:
    """Whether the span of `inner` lies in that of `outer`."""
    room = echelon(outer)
    return all(room.reduce(vector)[0] == 0 for vector in inner)


def solve(columns: Sequence[Vector], target: Vector) -> int | None:
    """x with `combination(columns, x) == target`, without any column that depends on earlier ones; None: no such x."""
    rest, used = echelon(columns).reduce(target)
    return None if rest else used


def kernel(columns: Sequence[Vector]) -> tuple[int, ...]:
    """A basis of all x with `combination(columns, x) == 0`."""
    result = Echelon()
    null: list[int] = []
    for number, column in enumerate(columns):
        rest, used = result.reduce(column)
        result.add(column)
        if not rest:
            null.append(used ^ (1 << number))
    return tuple(null)


def intersection(one: Sequence[Vector], other: Sequence[Vector]) -> tuple[Vector, ...]:
    """A basis of the vectors in both spans."""
    first, second = basis(one), basis(other)
    both = [*first, *second]
    return basis(combination(both, null & ((1 << len(first)) - 1)) for null in kernel(both))


def extension(inner: Sequence[Vector], outer: Iterable[Vector]) -> tuple[Vector, ...]:
    """Those of `outer`, in order, that extend `inner` to a basis of the sum of both spans."""
    room = echelon(inner)
    return tuple(vector for vector in outer if room.add(vector))


def units(dimension: int) -> tuple[Vector, ...]:
    """The unit vectors."""
    return tuple(1 << bit for bit in range(dimension))


def common_complement(one: Sequence[Vector], other: Sequence[Vector], dimension: int) -> tuple[Vector, ...]:
    """
    A subspace that is a complement of both spans in the space of `dimension`, where these are equally large.

    Extend a basis of the intersection by x1..xm to one span and by y1..ym to the other; then x1+y1, .., xm+ym and any
    complement of the sum of both do it. What is larger of the two decides: the smaller one is enlarged first, and the
    result only meets it in 0.
    """
    first, second = list(basis(one)), list(basis(other))
    for small, large in ((first, second), (second, first)):
        small.extend(extension(small, [*large, *units(dimension)])[: max(0, len(large) - len(small))])
    shared = intersection(first, second)
    pairs = zip(extension(shared, first), extension(shared, second), strict=True)
    return (*(x ^ y for x, y in pairs), *extension([*first, *second], units(dimension)))


def inverse(columns: Sequence[Vector], dimension: int) -> tuple[Vector, ...] | None:
    """
    The columns of a right inverse: one solution for each unit vector of `dimension`, None where there is none.

    For a square matrix of full rank that is the inverse; otherwise columns that depend on earlier ones are not used.
    """
    room = echelon(columns)
    solved = [room.reduce(unit) for unit in units(dimension)]
    return None if any(rest for rest, _ in solved) else tuple(used for _, used in solved)
