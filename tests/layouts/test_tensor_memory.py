"""Who holds what of a tile that comes from tensor memory: against the pictures of the PTX manual, and Triton."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, check_distributed
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.memory import OFFSET, row_major
from tileas_xdsl.layouts.tensor_memory import SHAPES, Transfer, transfers
from tileas_xdsl.machine.meanings.nvvm.tcgen05 import STEPS

# The pictures of "tcgen05.ld", "Data Movement Shape", written out once more: (lane, register) -> (row, column).
PICTURES: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "32x32b": lambda lane, register: (lane, register),
    "16x64b": lambda lane, register: (lane % 2 * 8 + lane // 4, lane // 2 % 2 + 2 * register),
    "16x128b": lambda lane, register: (lane // 4 + register % 2 * 8, lane % 4 + register // 2 * 4),
    "16x256b": lambda lane, register: (
        lane // 4 + register // 2 % 2 * 8,
        lane % 4 * 2 + register % 2 + register // 4 * 8,
    ),
}


def transfer(name: str, columns: int, bits: int = 32, warps: int = 4) -> Transfer:
    (found,) = (t for t in transfers(row_major([128, columns]), bits, warps) if t.shape.name == name)
    return found


@pytest.mark.parametrize("name", PICTURES)
def test_a_step_is_as_the_manual_draws_it(name: str):
    """Two steps side by side, in the first warp and in the last."""
    shape = next(shape for shape in SHAPES if shape.name == name)
    layout = transfer(name, 2 * shape.columns).registers
    for warp in (0, 3):
        for lane in range(32):
            for register in range(2 * shape.registers):
                row, column = PICTURES[name](lane, register)
                assert layout.at(register=register, lane=lane, warp=warp) == (32 * warp + row, column)


def test_extents_of_a_step_are_those_that_the_machine_moves():
    known = {kind.value.removeprefix("shape_"): extents for kind, extents in STEPS.items()}
    assert {each.name: (each.lanes, each.columns, each.registers) for each in SHAPES}.items() <= known.items()


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


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("columns", [16, 128])
@pytest.mark.parametrize("bits", [16, 32])
def test_triton_gives_the_same_registers(bits: int, columns: int, warps: int):
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[dev]'")
        pytest.skip("needs Triton 3.9: pip install '.[dev]'")
    from triton.experimental.gluon import language as gl  # pyright: ignore
    from triton.experimental.gluon.language.nvidia import blackwell  # pyright: ignore

    shape, element = [128, columns], {16: gl.float16, 32: gl.float32}[bits]
    encoding = blackwell.TensorMemoryLayout(tuple(shape), col_stride=1)
    for found in transfers(row_major(shape), bits, warps):
        theirs = blackwell._compute_tmem_reg_layout(element, shape, shape, encoding, warps, found.shape.name)  # pyright: ignore
        assert [list(b) for b in found.registers.bases(REGISTER)] == theirs.reg_bases
        assert [list(b) for b in found.registers.bases(LANE)] == theirs.lane_bases
        assert [list(b) for b in found.registers.bases(WARP)] == theirs.warp_bases
