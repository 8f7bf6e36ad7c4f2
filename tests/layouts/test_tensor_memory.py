"""Who holds what of a tile that comes from tensor memory: against the pictures of the PTX manual, and Triton."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from tests.layouts.tensor_pictures import PICTURES, REGISTERS
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, check_distributed
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import DataPath
from tileas_xdsl.layouts.memory import OFFSET, row_major
from tileas_xdsl.layouts.tensor_memory import SHAPES, Transfer, transfers
from tileas_xdsl.layouts.tensor_threads import (
    SHAPE_OF,
    Cells,
    check_reach,
    fresh_cells,
    load_words,
    loaded,
    store_words,
    stored,
)
from tileas_xdsl.layouts.threads import Elements, held, packed
from tileas_xdsl.machine.meanings.nvvm.tcgen05 import STEPS

DISTANCE = 64
"""In columns, from the first access of `.16x32bx2` to the second."""
UNSPLIT = [name for name in PICTURES if name != "16x32bx2"]


def transfer(name: str, columns: int, bits: int = 32, warps: int = 4) -> Transfer:
    (found,) = (t for t in transfers(row_major([128, columns]), bits, warps) if t.shape.name == name)
    return found


@pytest.mark.parametrize("name", UNSPLIT)
def test_a_step_is_as_the_manual_draws_it(name: str):
    """Two steps side by side, in the first warp and in the last."""
    shape = next(shape for shape in SHAPES if shape.name == name)
    layout = transfer(name, 2 * shape.columns).registers
    for warp in (0, 3):
        for lane in range(32):
            for register in range(2 * shape.registers):
                row, column = PICTURES[name](lane, register, DISTANCE)
                assert layout.at(register=register, lane=lane, warp=warp) == (32 * warp + row, column)


def test_extents_of_a_step_are_those_that_the_machine_moves():
    known = {kind.value.removeprefix("shape_"): extents for kind, extents in STEPS.items()}
    assert {each.name: (each.lanes, each.columns, each.registers) for each in SHAPES} == known
    assert {each.name: each.registers for each in SHAPES} == REGISTERS


@pytest.mark.parametrize("columns", [1, 2, 8, 64, 512])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_every_element_is_held_once(columns: int, warps: int, bits: int):
    if columns < warps // 4:
        with pytest.raises(LayoutError, match="cannot share"):
            transfers(row_major([128, columns * 32 // bits]), bits, warps)
        return
    for found in transfers(row_major([128, columns * 32 // bits]), bits, warps):
        check_distributed(found.registers)
        assert found.registers.is_injective
        moved = found.steps * found.shape.registers * found.instructions
        assert moved == found.registers.input_size(REGISTER) * bits // 32 <= 512
        assert found.steps * found.shape.registers <= 128
        assert (found.registers.input_size(LANE), found.registers.input_size(WARP)) == (32, warps)


def test_the_instructions_have_their_names():
    assert transfer("32x32b", 512).instruction("ld") == "tcgen05.ld.sync.aligned.32x32b.x128.b32 x 4"
    assert transfer("32x32b", 64).instruction("st") == "tcgen05.st.sync.aligned.32x32b.x64.b32"
    assert transfer("16x256b", 64, 16).instruction("ld") == "tcgen05.ld.sync.aligned.16x256b.x4.b32 x 2"
    assert transfer("16x256b", 64, 32, 8).instruction("ld") == "tcgen05.ld.sync.aligned.16x256b.x8.b32"


@pytest.mark.parametrize(
    ("shape", "bits", "warps", "reason"),
    [
        ((128, 64), 64, 4, "elements of 8, 16 or 32 bits, not of 64"),
        ((128, 64), 4, 4, "elements of 8, 16 or 32 bits, not of 4"),
        ((128, 1), 16, 4, "does not fill a column of 128 lanes"),
        ((64, 1), 32, 4, "does not fill a column of 128 lanes"),
        ((128, 1024), 32, 4, "takes 1024 columns of 128 lanes, and tensor memory has 512"),
        ((128, 64), 32, 2, "2 warps do not share 128 lanes"),
        ((128, 64), 32, 12, "12 warps do not share 128 lanes"),
        ((128, 1), 32, 8, "8 warps cannot share the 1 columns"),
    ],
)
def test_what_does_not_fit_is_refused(shape: tuple[int, int], bits: int, warps: int, reason: str):
    memory = row_major(shape)
    assert memory.input_size(OFFSET) == shape[0] * shape[1]
    with pytest.raises(LayoutError, match=reason):
        transfers(memory, bits, warps)


# Threads --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_an_instruction_moves_the_cells_of_its_picture_and_no_others(name: str, steps: int):
    """Each cell has a number of its own; every warp, from two columns on."""
    shape = SHAPE_OF[name]
    cells = np.arange(128 * 512, dtype=np.uint32).reshape(128, 512)
    for warp in range(4):
        lane, column, target = 32 * warp, 2, fresh_cells()
        words = load_words(cells, shape, lane, column, steps, DISTANCE)
        store_words(target, words, shape, lane, column, steps, DISTANCE)
        expected = fresh_cells()
        for thread in range(32):
            for register in range(steps * shape.registers):
                row, place = PICTURES[name](thread, register, DISTANCE)
                assert words[thread, register] == cells[lane + row, column + place]
                expected[lane + row, column + place] = words[thread, register]
        assert np.array_equal(target, expected)


def laid(tile: Elements, rows: int, bits: int, column: int) -> Cells:
    """Tensor memory with a tile in it: row i of 128 in lane i; of 64, in lane 32 (i // 16) + i % 16."""
    cells = fresh_cells()
    words = packed(tile, bits).view(np.uint32)
    lanes = np.arange(128) if rows == 128 else np.arange(64) // 16 * 32 + np.arange(64) % 16
    cells[lanes, column : column + words.shape[1]] = words
    return cells


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("columns", [1, 2, 16, 256])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_threads_load_and_store_what_the_layout_says(rows: int, columns: int, warps: int, bits: int):
    """Every shape: what `held` says, by the instructions of each warp; and the same cells on the way back."""
    shape = [rows, columns * 32 // bits]
    memory = DataPath(rows).linear(shape, bits)
    tile = np.random.default_rng(rows + columns).integers(0, 1 << bits, shape, dtype=np.uint64)
    cells = laid(tile, rows, bits, 3)
    if columns < warps // 4 * (2 if rows == 64 else 1):
        with pytest.raises(LayoutError, match="cannot share"):
            transfers(memory, bits, warps)
        return
    found = transfers(memory, bits, warps)
    assert [each.shape.lanes for each in found if each.shape.name == "32x32b"] == [32] * (rows == 128)
    for each in found:
        check_distributed(each.registers)
        registers = loaded(cells, each, 3, bits)
        assert np.array_equal(registers, held(tile, each.registers)[0])
        back = fresh_cells()
        stored(back, registers, each, 3, bits)
        assert np.array_equal(back, cells)


def test_a_plan_of_another_shape_gives_wrong_numbers():
    """What was loaded by one shape is not what another holds."""
    tile = np.arange(128 * 64, dtype=np.uint64).reshape(128, 64)
    cells, names = laid(tile, 128, 32, 0), UNSPLIT
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        wrong = replace(transfer(name, 64), registers=transfer(other, 64).registers)
        assert not np.array_equal(loaded(cells, wrong, 0, 32), held(tile, wrong.registers)[0])


def test_a_warp_reaches_no_lanes_of_another():
    with pytest.raises(LayoutError, match="warp 5 reaches lanes 48 to 79, and has 32 to 63"):
        check_reach(5, 48, 32)
    with pytest.raises(LayoutError, match="warp 2 reaches lanes 32 to 47, and has 64 to 95"):
        check_reach(2, 32, 16)
    check_reach(7, 112, 16)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("columns", [16, 128])
@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("rows", [64, 128])
def test_triton_gives_the_same_registers(rows: int, bits: int, columns: int, warps: int):
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[dev]'")
        pytest.skip("needs Triton 3.9: pip install '.[dev]'")
    from triton.experimental.gluon import language as gl  # pyright: ignore
    from triton.experimental.gluon.language.nvidia import blackwell  # pyright: ignore

    shape, element = [rows, columns], {16: gl.float16, 32: gl.float32}[bits]
    encoding = blackwell.TensorMemoryLayout(tuple(shape), col_stride=1)
    for found in transfers(DataPath(rows).linear(shape, bits), bits, warps):
        name = found.shape.name.replace("16x32bx2", "32x32b")  # Triton takes the one for the other where rows are 64
        theirs = blackwell._compute_tmem_reg_layout(element, shape, shape, encoding, warps, name)  # pyright: ignore
        assert [list(b) for b in found.registers.bases(REGISTER)] == theirs.reg_bases
        assert [list(b) for b in found.registers.bases(LANE)] == theirs.lane_bases
        assert [list(b) for b in found.registers.bases(WARP)] == theirs.warp_bases
