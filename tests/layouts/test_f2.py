"""Linear algebra over F2 against plain enumeration of spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileas_xdsl.layouts import f2

vectors = st.lists(st.integers(0, 31), max_size=5)


def span(of: list[int] | tuple[int, ...]) -> set[int]:
    return {f2.combination(of, chosen) for chosen in range(1 << len(of))}


@given(vectors)
def test_rank_and_basis_say_how_large_the_span_is(given_vectors: list[int]):
    assert len(span(given_vectors)) == 1 << f2.rank(given_vectors)
    assert span(f2.basis(given_vectors)) == span(given_vectors)
    assert len(f2.basis(given_vectors)) == f2.rank(given_vectors)


@given(vectors, st.integers(0, 31))
def test_solve_finds_a_combination_where_there_is_one(columns: list[int], target: int):
    solved = f2.solve(columns, target)
    assert (solved is not None) == (target in span(columns)) == f2.contains(columns, target)
    assert solved is None or f2.combination(columns, solved) == target


@given(vectors)
def test_the_kernel_is_all_that_leads_to_zero(columns: list[int]):
    zeros = {chosen for chosen in range(1 << len(columns)) if f2.combination(columns, chosen) == 0}
    assert span(f2.kernel(columns)) == zeros


@given(vectors, vectors)
def test_the_intersection_is_what_lies_in_both(one: list[int], other: list[int]):
    assert span(f2.intersection(one, other)) == span(one) & span(other)
    assert f2.within(one, other) == (span(one) <= span(other))


@given(vectors, vectors)
def test_an_extension_reaches_the_sum_and_no_more(inner: list[int], outer: list[int]):
    added = f2.extension(inner, outer)
    assert span([*inner, *added]) == span([*inner, *outer])
    assert f2.rank([*inner, *added]) == f2.rank(inner) + len(added)


@given(vectors, vectors)
def test_a_common_complement_meets_both_spans_in_zero(one: list[int], other: list[int]):
    found = f2.common_complement(one, other, 5)
    assert len(found) == 5 - max(f2.rank(one), f2.rank(other)) == f2.rank(found)
    assert span(found) & span(one) == {0} == span(found) & span(other)


@given(vectors)
def test_a_right_inverse_is_one(columns: list[int]):
    inverse = f2.inverse(columns, 5)
    assert (inverse is not None) == (f2.rank(columns) == 5)
    if inverse is not None:
        assert [f2.combination(columns, chosen) for chosen in inverse] == list(f2.units(5))
