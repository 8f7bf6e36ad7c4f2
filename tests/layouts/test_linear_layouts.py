"""The algebra of layouts, by its laws and element by element."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileas_xdsl.layouts.distributed import (
    LANE,
    REGISTER,
    WARP,
    blocked,
    broadcast,
    check_distributed,
    from_bases,
    sliced,
    transposed,
)
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout

SMALL = LinearLayout.of({"register": [(0, 1)], "lane": [(0, 2), (1, 0)]}, {"dim0": 2, "dim1": 4})


@st.composite
def layouts(draw: st.DrawFn, inputs: tuple[str, ...] = ("a", "b"), outputs: tuple[str, ...] = ("x", "y")):
    sizes = {name: 1 << draw(st.integers(0, 2)) for name in outputs}
    basis = st.tuples(*(st.integers(0, size - 1) for size in sizes.values()))
    return LinearLayout.of({name: draw(st.lists(basis, max_size=3)) for name in inputs}, sizes)


def test_a_place_leads_to_the_exclusive_or_of_its_bases():
    assert SMALL.at(register=1, lane=3) == (1, 3)
    assert SMALL.at(lane=1) == (0, 2)
    assert str(SMALL) == "(dim0: 2, dim1: 4) from register = [[0, 1]], lane = [[0, 2], [1, 0]]"


@given(layouts())
def test_the_table_agrees_with_single_places(layout: LinearLayout):
    bits = len(layout.images("a"))
    for place, image in enumerate(layout.table):
        assert layout.unpacked(image) == layout.at(a=place & ((1 << bits) - 1), b=place >> bits)
    assert layout.is_injective == (len(set(layout.table)) == len(layout.table))
    assert layout.is_surjective == (len(set(layout.table)) == 1 << layout.output_bits)


@given(layouts(), layouts(inputs=("x", "y"), outputs=("u", "v")))
def test_composition_is_one_map_after_the_other(first: LinearLayout, second: LinearLayout):
    if any(first.output_size(name) > second.input_size(name) for name in ("x", "y")):
        with pytest.raises(LayoutError, match="more than what follows can read"):
            first.then(second)
        return
    last = first.input_size("b") - 1
    for a in range(first.input_size("a")):
        x, y = first.at(a=a, b=last)
        assert first.then(second).at(a=a, b=last) == second.at(x=x, y=y)


@given(layouts())
def test_a_pseudo_inverse_finds_a_place_for_every_element(layout: LinearLayout):
    if not layout.is_surjective:
        with pytest.raises(LayoutError, match="does not cover"):
            layout.pseudo_inverse()
        return
    back = layout.pseudo_inverse()
    identity = back.then(layout)
    assert identity.table == tuple(range(1 << layout.output_bits))
    if layout.is_injective:
        assert layout.then(layout.inverse()).table == tuple(range(len(layout.table)))
    else:
        with pytest.raises(LayoutError, match="twice"):
            layout.inverse()


@given(layouts(), layouts())
def test_places_of_another_layout_hold_the_same_elements(one: LinearLayout, other: LinearLayout):
    if one.outputs != other.outputs:
        with pytest.raises(LayoutError, match="not of one tile"):
            one.into_places_of(other)
    elif set(one.table) <= set(other.table):
        assert one.into_places_of(other).then(other) == one
    else:
        with pytest.raises(LayoutError, match="does not hold"):
            one.into_places_of(other)


@given(layouts(), layouts())
def test_a_product_repeats_a_tile_and_division_takes_it_back(inner: LinearLayout, outer: LinearLayout):
    product = inner * outer
    assert product.output_size("x") == inner.output_size("x") * outer.output_size("x")
    last = inner.input_size("b") - 1
    for a in range(outer.input_size("a")):
        (ix, iy), (ox, oy) = inner.at(b=last), outer.at(a=a)
        at = product.at(a=a * inner.input_size("a"), b=last)
        assert at == (ix + ox * inner.output_size("x"), iy + oy * inner.output_size("y"))
    assert product.divided_by(inner) == outer


def test_what_is_no_multiple_cannot_be_divided():
    assert SMALL.divided_by(LinearLayout.identity("lane", "dim1", 2)) is None
    assert SMALL.divided_by(LinearLayout.identity("thread", "dim1", 2)) is None
    assert SMALL.divided_by(LinearLayout.identity("register", "dim1", 2)) is not None


def test_names_and_order_of_outputs_change_no_element():
    turned = SMALL.with_outputs(["dim1", "dim0"])
    assert turned.at(register=1, lane=3) == (3, 1)
    assert transposed(SMALL, [1, 0]).at(register=1, lane=3) == (3, 1)
    assert transposed(SMALL, [1, 0]).output_names == ("dim0", "dim1")
    assert SMALL.with_inputs(["lane", "warp"]).input_names == ("lane", "warp")
    assert SMALL.into({"dim1": 8, "dim2": 2}).at(lane=1) == (0, 2, 0)
    assert SMALL.flattened("place", "element").at(place=3) == (6,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearLayout.of({}, {"x": 12}), "the extent of x is 12, and layouts over bits need a power of two"),
        (lambda: LinearLayout.of({"a": [(4,)]}, {"x": 4}), "4 lies outside x, which has the extent 4"),
        (lambda: LinearLayout.of({"a": [(0, 1)]}, {"x": 4}), r"\(0, 1\) are not coordinates in 1 dimensions"),
        (lambda: SMALL.at(lane=4), "there is no lane 4, only 4 of them"),
        (lambda: SMALL.with_outputs(["dim2"]), "a layout of dim0, dim1 has no dimension dim2"),
        (lambda: SMALL.into({"dim1": 2}), "dim1 has the extent 4, not 2"),
        (lambda: from_bases({"thread": []}, [4]), "'thread' is none of register, lane, warp, block"),
        (lambda: blocked([1, 1], [8, 4], [2, 2], [1, 1], [8, 8]), "does not name each dimension once"),
        (lambda: blocked([1], [8, 4], [2, 2], [1, 0], [8, 8]), "says each of its numbers for every dimension"),
        (lambda: blocked([1], [24], [1], [0], [64]), "the extent of lane is 24"),
        (lambda: blocked([1], [32], [1], [0], [96]), "the extent of dim0 is 96"),
        (lambda: sliced(SMALL, 2), "has no dimension 2"),
        (lambda: transposed(SMALL, [0, 0]), "is no permutation"),
        (lambda: broadcast(SMALL, 0, 4), "1 is what can be repeated"),
        (lambda: check_distributed(SMALL), "a warp has 32 lanes, not 4"),
        (lambda: check_distributed(LinearLayout.zeros(LANE, "dim0", 32).into({"dim0": 2})), "held by nobody"),
    ],
)
def test_what_is_no_layout_is_refused_by_name(make, message: str):
    with pytest.raises(LayoutError, match=message):
        make()


# Distributed layouts --------------------------------------------------------------------------------------------------


def test_a_blocked_layout_repeats_its_boxes_and_wraps_around():
    layout = blocked([1, 2], [8, 4], [1, 2], [1, 0], [16, 32])
    assert layout.at(register=1) == (0, 1)
    assert layout.at(lane=5) == (1, 2)
    assert layout.at(warp=1) == (0, 8)
    assert layout.at(register=2) == (0, 16)
    assert layout.at(register=4) == (8, 0)
    small = blocked([1, 2], [8, 4], [1, 2], [1, 0], [8, 8])
    assert small.at(warp=1) == (0, 0)
    assert small.is_surjective
    check_distributed(small)


def test_a_slice_keeps_who_holds_what_of_the_rest():
    parent = blocked([1, 2], [8, 4], [1, 2], [1, 0], [16, 32])
    rows = sliced(parent, 1)
    for lane in range(32):
        assert rows.at(lane=lane) == parent.at(lane=lane)[:1]
    assert rows.input_size(REGISTER) == 2
    assert rows.input_size(WARP) == 2
    assert rows.is_surjective


def test_a_broadcast_repeats_a_column_in_every_thread():
    column = blocked([1, 1], [8, 4], [1, 1], [1, 0], [8, 1])
    wide = broadcast(column, 1, 4)
    assert wide.shape == (8, 4)
    assert {wide.at(register=r, lane=4) for r in range(4)} == {(1, c) for c in range(4)}
