"""Where the chunks of a box lie behind a swizzle: as on the GPU on which `bench/gpu/swizzles.cu` was run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i8

from tests.support.ir import ROOT
from tileas_xdsl.dialects.tensor_maps import TensorMap, TensorMapError
from tileas_xdsl.layouts.atoms import box_of
from tileas_xdsl.layouts.memory import swizzled
from tileas_xdsl.machine.tiles.tensor_maps import permuted, straightened

MEASURED: list[dict[str, Any]] = json.loads((ROOT / "bench/gpu/results/swizzles.json").read_text())["boxes"]
ROWS, CHUNK = 16, 16
ARRAY = MemRefType(i8, [DYNAMIC_INDEX, DYNAMIC_INDEX])


def name_of(box: dict[str, Any]) -> str:
    return f"{box['row_bytes']} in {box['swizzle']}"


@pytest.mark.parametrize("box", MEASURED, ids=name_of)
def test_a_map_is_accepted_where_the_driver_accepts_it(box: dict[str, Any]) -> None:
    """A swizzle takes rows of up to its own width. Without one rows may have any length."""
    if box["places"] is None:
        with pytest.raises(TensorMapError, match="a swizzle takes rows of up to"):
            TensorMap(ARRAY, (ROWS, box["row_bytes"]), box["swizzle"])
    else:
        assert TensorMap(ARRAY, (ROWS, box["row_bytes"]), box["swizzle"]).row_bytes == box["row_bytes"]


@pytest.mark.parametrize("box", [box for box in MEASURED if box["places"] is not None], ids=name_of)
def test_rows_lie_as_far_apart_as_their_swizzle_is_wide(box: dict[str, Any]) -> None:
    """Chunks of rows that are as wide lie where the machine puts them. A tile with narrower rows has no box."""
    row, width, places = box["row_bytes"], box["swizzle"], box["places"]
    plain = np.repeat(np.arange(ROWS * row // CHUNK, dtype=np.uint8), CHUNK)
    apart = max(row, width) // CHUNK
    assert {place // apart for place in places[: row // CHUNK]} == {0}
    packed = swizzled((ROWS, row), 8, width)
    if row < width:
        assert max(places) >= ROWS * row // CHUNK
        assert box_of(packed, 8) != (ROWS, row) or packed == swizzled((ROWS, row), 8, 0)
        return
    held = permuted(plain, 0, width)
    assert [int(held[place * CHUNK]) for place in places] == list(range(len(places)))
    assert np.array_equal(straightened(held, 0, width), plain)
    assert box_of(packed, 8) == (ROWS, row)
