"""Copies to and from tensor memory made of what threads do: meaning, instructions, failures."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp, ViewOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.legalize_tmem_copy import NO_REGISTER_LAYOUT, NO_SOURCE_LAYOUT

PASS = "tileas-legalize-tmem-copy"

TENSOR = "tmem, row_major"
LANES = "rmem, blocked<[1, 64], [32, 1], [4, 1], order = [1, 0]>"
ROWS = "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>"
SWIZZLED, PLAIN, COLUMNS = "smem, swizzle<128>", "smem, row_major", "smem, row_major, order = [0, 1]"
OTHERS = [LANES, ROWS, SWIZZLED, PLAIN, COLUMNS, "rmem"]


def program(into: str, out: str, tile: str = "128x64xf16", tensor: str = TENSOR, capability: int = 100) -> ModuleOp:
    """Takes each tile of `in` into tensor memory and out again, in place and as a value, and doubles it on the way."""
    array = f"memref<?x{tile.partition('x')[2]}>"
    first, held, second = (f"tensor<{tile}, #nv_tileas.layout<{layout}>>" for layout in (into, tensor, out))
    target = f"nv_tileaa.compute_capability = {capability} : i32"
    return parse(f"""
    func.func @f(%n: index, %in: {array}, %out: {array}) attributes {{{target}}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %place = nv_tileas.alloc_tensor : () -> {held}
      scf.for %i = %c0 to %n step %c1 {{
        %x = nv_tileaa.tiled_load %in[%i, %c0] : ({array}, index, index) -> {first}
        nv_tileas.copy %x, %place : ({first}, {held}) -> ()
        %y = nv_tileas.copy %place : ({held}) -> {second}
        %back = nv_tileas.alloc_tensor : () -> {second}
        %again = nv_tileas.copy %x : ({first}) -> {held}
        nv_tileas.copy %again, %back : ({held}, {second}) -> ()
        %sum = arith.addf %y, %back : {second}
        nv_tileaa.tiled_store %out[%i, %c0], %sum : ({array}, {second}, index, index) -> ()
      }}
      func.return
    }}""")


def legalized(module: ModuleOp, options: str = "") -> ModuleOp:
    return run_passes(module, PASS + (f"{{{options}}}" if options else ""))


def one(source: str, target: str, tile: str = "128x64xf16") -> ModuleOp:
    """A single copy, of an argument."""
    first, second = (f"tensor<{tile}, #nv_tileas.layout<{layout}>>" for layout in (source, target))
    return parse(f"""
    func.func @f(%x: {first}) -> {second} attributes {{nv_tileaa.compute_capability = 100 : i32}} {{
      %y = nv_tileas.copy %x : ({first}) -> {second}
      func.return %y : {second}
    }}""")


def atoms(module: ModuleOp) -> list[str]:
    """The instructions of the copies and of the loads from shared memory, in order."""
    found: list[str] = []
    for op in module.walk():
        if isinstance(op, CopyOp):
            found.append(str(op.atom_descriptor).removeprefix('#cute<atom "').removesuffix('">'))
        elif isinstance(op, ConvertLayoutOp):
            assert op.atom_plan is not None
            found.append(str(op.atom_plan.atom_descriptor).removeprefix('#cute<atom "').removesuffix('">'))
    return found


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize(("into", "out"), [(a, b) for a in OTHERS for b in OTHERS][::5] + [(a, a) for a in OTHERS[1:]])
def test_the_numbers_are_the_same(into: str, out: str, trips: int):
    tiles = np.arange(128 * trips * 64, dtype=np.float16).reshape(128 * trips, 64) % 1024
    module = program(into, out)
    before = run(module, "f", [trips, tiles, np.zeros_like(tiles)], order="random")
    after = run(legalized(module), "f", [trips, tiles, np.zeros_like(tiles)], order="random")
    assert not after.violations
    assert np.array_equal(after.arrays["out"], before.arrays["out"])
    assert np.array_equal(after.arrays["out"], 2 * tiles)


HALF_LANES = "tmem, datapath<64>"


@pytest.mark.parametrize("trips", [0, 1, 3])
@pytest.mark.parametrize(("into", "out"), [(ROWS, SWIZZLED), (SWIZZLED, ROWS), (PLAIN, COLUMNS), (COLUMNS, "rmem")])
@pytest.mark.parametrize("columns", [8, 64])
def test_64_rows_in_the_lower_half_of_the_lanes(into: str, out: str, columns: int, trips: int):
    tile = f"64x{columns}xf32"
    tiles = np.arange(64 * trips * columns, dtype=np.float32).reshape(64 * trips, columns)
    module = legalized(program(into.replace("<128>", "<32>"), out.replace("<128>", "<32>"), tile, HALF_LANES))
    named = [name for name in atoms(module) if "tcgen05" in name]
    assert len(named) == 4
    assert not any("32x32b" in name for name in named)
    after = run(module, "f", [trips, tiles, np.zeros_like(tiles)], order="random")
    assert not after.violations
    assert np.array_equal(after.arrays["out"], 2 * tiles)
    assert check(module).verdict == "safe"


def test_of_64_rows_the_threads_share_each():
    """The upper half of the threads has the columns on the right; the distance stands behind the name."""
    module = legalized(one(HALF_LANES, "rmem, blocked<[1, 32], [16, 2], [4, 1], order = [1, 0]>", "64x64xf32"))
    assert atoms(module)[0] == "tcgen05.ld.sync.aligned.16x32bx2.x32.b32 + 32"
    module = legalized(one(HALF_LANES, "rmem", "64x64xf16"))
    assert atoms(module) == ["tcgen05.ld.sync.aligned.16x32bx2.x16.b32 + 16"]


def test_the_accumulator_of_wgmma_is_a_shape_of_64_rows():
    module = legalized(one(HALF_LANES, "rmem, mma<m64n64k16, operand = acc, warps = 4>", "64x64xf32"))
    assert atoms(module) == ["tcgen05.ld.sync.aligned.16x256b.x8.b32"]


@pytest.mark.parametrize("other", OTHERS)
def test_the_verdict_is_the_same(other: str):
    assert check(program(other, other)).verdict == check(legalized(program(other, other))).verdict


@pytest.mark.parametrize("other", OTHERS)
def test_every_copy_has_its_instruction_and_a_second_run_changes_nothing(other: str):
    module = legalized(program(other, other))
    for op in module.walk():
        if isinstance(op, CopyOp) and "tmem" in str(
            (op.source.type, *(o.type for o in op.destinations), *op.result_types)
        ):
            assert "tcgen05." in str(op.atom_descriptor)
    once = print_custom(module)
    assert print_custom(legalized(parse(once))) == once


# Instructions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (TENSOR, LANES, ["tcgen05.ld.sync.aligned.32x32b.x32.b32"]),
        (LANES, TENSOR, ["tcgen05.st.sync.aligned.32x32b.x32.b32"]),
        (TENSOR, SWIZZLED, ["tcgen05.ld.sync.aligned.16x128b.x8.b32 x 2", "stmatrix.x4"]),
        (SWIZZLED, TENSOR, ["ldmatrix.x4", "tcgen05.st.sync.aligned.16x128b.x8.b32 x 2"]),
        (TENSOR, "rmem", ["tcgen05.ld.sync.aligned.32x32b.x32.b32"]),
        ("rmem", TENSOR, ["tcgen05.st.sync.aligned.32x32b.x32.b32"]),
        (
            TENSOR,
            ROWS,
            ["tcgen05.ld.sync.aligned.32x32b.x32.b32", "st.shared 16 bytes", "ld.shared 16 bytes"],
        ),
    ],
)
def test_the_instructions(source: str, target: str, expected: list[str]):
    assert atoms(legalized(one(source, target))) == expected


def test_the_accumulator_of_wgmma_is_a_shape_of_its_own():
    """Rows of one warp lie 16 apart there: what `.16x256b` gives, with no exchange between lanes."""
    module = legalized(
        one(
            TENSOR,
            "rmem, linear<register = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [16, 0]], "
            "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[32, 0], [64, 0]]>",
            "128x64xf32",
        )
    )
    assert atoms(module) == ["tcgen05.ld.sync.aligned.16x256b.x8.b32 x 2"]


def test_what_needs_other_registers_of_the_same_thread_renames_them():
    module = legalized(
        one(
            TENSOR,
            "rmem, linear<register = [[0, 32], [0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], "
            "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]]>",
            "128x64xf32",
        )
    )
    assert atoms(module) == ["tcgen05.ld.sync.aligned.32x32b.x64.b32", "mov"]


def test_words_say_nothing_of_threads():
    """A view stands between the registers of the instruction and a tile whose layout is in words."""
    module = legalized(one(TENSOR, "rmem"))
    (view,) = (op for op in module.walk() if isinstance(op, ViewOp))
    assert isinstance(view.source.owner, CopyOp)


def test_the_option_says_how_many_warps_where_no_layout_does():
    assert atoms(legalized(one(TENSOR, "rmem"), "num-warps=8")) == ["tcgen05.ld.sync.aligned.32x32b.x16.b32"]


# What is left alone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"), [("tmem", "rmem"), (ROWS, SWIZZLED), (SWIZZLED, LANES), ("smem", "tmem")]
)
def test_other_copies_are_left_alone(source: str, target: str):
    module = one(source, target)
    before = print_custom(module)
    assert print_custom(legalized(module)) == before


@pytest.mark.parametrize("capability", [80, 90, 120])
def test_targets_without_tensor_memory_are_left_alone(capability: int):
    module = program(LANES, LANES, capability=capability)
    before = print_custom(module)
    assert print_custom(legalized(module)) == before


# Refusals -------------------------------------------------------------------------------------------------------------

REFUSALS = {
    "words in tensor memory": ("tmem", LANES, "128x64xf16", "", "give it a layout such as row_major"),
    "words in shared memory": (TENSOR, "smem", "128x64xf16", "", "give it a layout such as swizzle<128>"),
    "half of the lanes": (TENSOR, "rmem", "64x1xf32", "", "does not fill a column of 128 lanes"),
    "64 rows in 8 groups": (HALF_LANES, "rmem", "64x4xf32", "num-warps=32", "32 warps cannot share the 4 columns"),
    "wide elements": (TENSOR, "rmem", "128x64xf64", "", "elements of 8, 16 or 32 bits, not of 64"),
    "too few warps": (TENSOR, "rmem", "128x64xf32", "num-warps=2", "2 warps do not share 128 lanes"),
    "no warps": (TENSOR, "rmem", "128x64xf32", "num-warps=0", "0 warps do not share 128 lanes"),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("loads", [True, False])
def test_failures_keep_the_copy(case: str, loads: bool):
    tensor, other, tile, options, reason = REFUSALS[case]
    module = one(tensor, other, tile) if loads else one(other, tensor, tile)
    said = (
        "failed to infer register layout from tmem layout"
        if loads
        else "failed to infer source layout from tmem layout"
    )
    assert said == (NO_REGISTER_LAYOUT if loads else NO_SOURCE_LAYOUT)
    (copy,) = (op for op in module.walk() if isinstance(op, CopyOp))
    with recorded_diagnostics(), pytest.raises(RefusedError) as raised:
        legalized(module, options)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.message == said
    assert reason in (diagnostic.way_out or "")
    assert copy.atom_descriptor is None
    assert failed_softly(next(iter(functions_in(module))), PASS)


def test_the_other_copies_are_made():
    """One copy fails, the next is bound."""
    held, worded, said = (f"tensor<128x64xf16, #nv_tileas.layout<{layout}>>" for layout in (TENSOR, "smem", SWIZZLED))
    module = parse(f"""
    func.func @f(%x: {held}) attributes {{nv_tileaa.compute_capability = 100 : i32}} {{
      %s = nv_tileas.copy %x : ({held}) -> {worded}
      %r = nv_tileas.copy %x : ({held}) -> {said}
      func.return
    }}""")
    with pytest.raises(RefusedError):
        legalized(module)
    copies = [op for op in module.walk() if isinstance(op, CopyOp)]
    assert copies[0].atom_descriptor is None
    assert all(op.atom_descriptor is not None for op in copies[1:])
