"""Windows of arrays by tiles, and reshapes of windows, against numpy."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects import test
from xdsl.dialects.builtin import f32

from tests.machine.support import machine_for
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.tiled_views import Lanes, TiledView, assembled, pieces_behind, read_pieces
from tileas_xdsl.machine.tiles.tiles import PointerTile, retyped_view, strides_of_reshape

F32 = ElementType(f32, np.dtype(np.float32))
OP = test.TestOp()


def random_factors(generator: random.Random, size: int) -> tuple[int, ...]:
    """A shape of `size` elements, unit axes among them."""
    shape: list[int] = []
    while size > 1:
        factor = generator.choice([n for n in range(2, size + 1) if size % n == 0])
        shape += [factor] + [1] * (generator.random() < 0.2)
        size //= factor
    return tuple(shape) or (1,)


@pytest.mark.parametrize("seed", range(40))
def test_strides_of_a_reshape_are_numpys_where_it_needs_no_copy(seed: int) -> None:
    generator = random.Random(seed)
    size = generator.choice([1, 4, 6, 12, 24, 36])
    shape, target = random_factors(generator, size), random_factors(generator, size)
    order = list(range(len(shape)))
    if generator.random() < 0.5:
        generator.shuffle(order)
    # A window of a larger array, whose axes may be permuted.
    room = tuple(extent + generator.randint(0, 1) for extent in shape)
    base = np.arange(np.prod(room), dtype=np.int64).reshape(room)
    window: Any = base[tuple(slice(extent) for extent in shape)].transpose(order)
    strides = strides_of_reshape(window.shape, window.strides, target)
    wanted = window.reshape(target)
    if strides is not None:
        assert np.array_equal(as_strided(window, target, strides), wanted)
    else:
        assert not np.shares_memory(wanted, base), "numpy finds strides where this does not"


def array_of(shape: tuple[int, ...]) -> tuple[View, Any]:
    contents = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    return MemoryObject.from_array("a", contents, F32).whole(), contents


def agent() -> Agent:
    return Agent(machine_for(), "main", None)


@pytest.mark.parametrize("seed", range(40))
def test_tiles_of_grouped_axes(seed: int) -> None:
    generator = random.Random(seed)
    rank = generator.randint(1, 4)
    shape = tuple(generator.randint(1, 5) for _ in range(rank))
    axes = list(range(rank))
    generator.shuffle(axes)
    cuts = sorted(generator.sample(range(1, rank), generator.randint(0, rank - 1)))
    groups = tuple(tuple(axes[a:b]) for a, b in zip([0, *cuts], [*cuts, rank], strict=True))
    tile = tuple(generator.randint(1, 6) for _ in groups)
    view, contents = array_of(shape)

    flat = contents.transpose(axes).reshape([int(np.prod([shape[d] for d in group])) for group in groups])
    margin = [(extent, 2 * extent) for extent in tile]
    padded = np.pad(flat, margin, constant_values=-7)
    coordinates = [range(-1, -(-length // extent) + 1) for length, extent in zip(flat.shape, tile, strict=True)]
    for place in product(*coordinates):
        window = TiledView(view, tile, groups).at(place)
        expected = padded[tuple(slice((c + 1) * n, (c + 2) * n) for c, n in zip(place, tile, strict=True))]
        result = read_pieces(agent(), OP, window.pieces(), Lanes(tile, F32, padding=-7))
        assert np.array_equal(result, expected)
        inside = [c * n >= 0 and (c + 1) * n <= length for c, n, length in zip(place, tile, flat.shape, strict=True)]
        assert window.sticks_out() == [axis for axis, fits in enumerate(inside) if not fits]


def test_a_tile_that_lies_in_one_piece_is_one_piece() -> None:
    view, _ = array_of((4, 8, 8))
    assert len(TiledView(view, (4, 4), ((0, 1), (2,))).at((3, 1)).pieces()) == 1
    assert len(TiledView(view, (4, 4), ((0, 2), (1,))).at((3, 1)).pieces()) == 1
    assert len(TiledView(view, (16, 4), ((0, 2), (1,))).at((1, 1)).pieces()) == 2


def test_pointers_that_are_evenly_apart_are_one_piece() -> None:
    view, contents = array_of((8, 8))
    even = np.add.outer(np.arange(4) * 64, np.arange(4) * 4)
    (piece,) = pieces_behind(agent(), OP, PointerTile(view.base, even), F32, None)
    assert (piece.view.shape, piece.view.strides) == ((4, 4), (64, 4))

    uneven = even.copy()
    uneven[1, 1] = 0
    pieces = pieces_behind(agent(), OP, PointerTile(view.base, uneven), F32, None)
    assert len(pieces) == 16
    tile = assembled(pieces, [p.view.array() for p in pieces], Lanes((4, 4), F32))
    assert np.array_equal(tile, contents.reshape(-1)[uneven // 4])

    mask = np.eye(4, dtype=np.bool_)
    assert len(pieces_behind(agent(), OP, PointerTile(view.base, even), F32, mask)) == 4


def test_a_reshape_that_needs_a_copy_is_refused() -> None:
    view, _ = array_of((4, 8))
    with pytest.raises(UnsupportedError, match="whose bytes are not evenly apart"):
        retyped_view(view.slice((0, 0), (4, 4)), (16,), F32, OP)
