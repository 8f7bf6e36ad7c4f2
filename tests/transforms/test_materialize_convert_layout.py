"""Layout conversions made of what threads do: meaning, plans, options, failures."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.layout import linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp, CopyOp, ShuffleOp, ViewOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.conversion import Abilities, plans
from tileas_xdsl.layouts.threads import converted as converted_by_threads
from tileas_xdsl.layouts.threads import gathered, held
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.materialize_convert_layout import DIAGNOSTIC

PASS = "tileas-materialize-convert-layout"
ROOT = "nv_tileas.root_reg_to_reg_copy_op"

ROWS = "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>"
COLUMNS = "rmem, blocked<[8, 1], [8, 4], [1, 4], order = [0, 1]>"
ACC = "rmem, mma<m64n64k16, operand = acc, warps = 4>"
A = "rmem, mma<m64n64k16, operand = a, warps = 4>"
B = "rmem, mma<m16n8k16, operand = b, warps = [2, 2]>"
ACC_8 = "rmem, mma<m64n64k32, operand = acc, warps = 4>"
A_8 = "rmem, mma<m64n64k32, operand = a, warps = 4>"
SWIZZLED, PLAIN = "smem, swizzle<128>", "smem, row_major"
SELECTED = "rmem, linear<register = [[0, 1], [0, 2]], lane = [[1, 1], [2, 0], [4, 0], [8, 0], [16, 0]]>"
UNSELECTED = "rmem, linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>"


def converted(source: str, target: str, tile: str = "64x64xf16", attributes: str = "") -> ModuleOp:
    """A program that loads a tile in one layout, converts it, and stores it."""
    array = f"memref<{tile}>"
    first, second = (f"tensor<{tile}, #nv_tileas.layout<{layout}>>" for layout in (source, target))
    return parse(f"""
    func.func @f(%a: {array}, %out: {array}) {attributes} {{
      %c0 = arith.constant 0 : index
      %x = nv_tileaa.tiled_load %a[%c0, %c0] : ({array}, index, index) -> {first}
      %y = nv_tileas.convert_layout %x : ({first}) -> {second}
      nv_tileaa.tiled_store %out[%c0, %c0], %y : ({array}, {second}, index, index) -> ()
      func.return
    }}""")


def materialized(module: ModuleOp, options: str = "") -> ModuleOp:
    return run_passes(module, PASS + (f"{{{options}}}" if options else ""))


def conversions(module: ModuleOp) -> list[ConvertLayoutOp]:
    return [op for op in module.walk() if isinstance(op, ConvertLayoutOp)]


def only(module: ModuleOp) -> ConvertLayoutOp:
    (op,) = conversions(module)
    return op


def atom_of(op: ConvertLayoutOp) -> str:
    assert op.atom_plan is not None
    return str(op.atom_plan.atom_descriptor)


PAIRS = [
    (ROWS, COLUMNS),
    (ROWS, B),
    (ACC, A),
    (ACC, ROWS),
    (ACC, SWIZZLED),
    (SWIZZLED, B),
    (PLAIN, A),
    (B, ACC),
    (COLUMNS, SWIZZLED),
]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_the_tile_is_the_same(source: str, target: str, order: str):
    module = materialized(converted(source, target))
    assert all(op.atom_plan is not None for op in conversions(module))
    tile = np.arange(64 * 64, dtype=np.float16).reshape(64, 64)
    outcome = run(module, "f", [tile, np.zeros_like(tile)], order=order)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"], tile)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_program_is_as_safe_as_before(source: str, target: str):
    assert check(converted(source, target)).verdict == check(materialized(converted(source, target))).verdict


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("options", ["", "reg2reg-vec-size=4", "reinterpret-to-i8=true"])
def test_a_second_run_changes_nothing(source: str, target: str, options: str):
    once = print_custom(materialized(converted(source, target), options))
    assert print_custom(materialized(parse(once), options)) == once


# Plans ----------------------------------------------------------------------------------------------------------------


def test_through_shared_memory():
    module = materialized(converted(ROWS, COLUMNS))
    op = only(module)
    assert op.atom_plan is not None
    assert op.atom_plan.tag.data == 1
    assert any(isinstance(other, AllocTensorOp) for other in module.walk())
    assert any(isinstance(other, CopyOp) for other in module.walk())


def test_the_accumulator_of_a_product_is_operand_a_of_the_next():
    """The P of attention: one op, no copy, no shuffle."""
    module = materialized(converted(ACC, A))
    assert atom_of(only(module)) == '#cute<atom "mov">'
    assert not any(isinstance(op, CopyOp | ShuffleOp | AllocTensorOp) for op in module.walk())


def test_lanes_exchange_words():
    module = materialized(converted(ACC_8, A_8, "64x64xf8E4M3FN"))
    op = only(module)
    assert isinstance(op.source.owner, ShuffleOp)
    assert atom_of(op) == '#cute<atom "shfl.sync.idx.b32 x 8">'


def test_registers_that_lanes_select():
    module = materialized(converted(SELECTED, UNSELECTED, "32x4xf32"))
    op = only(module)
    assert isinstance(op.source.owner, CopyOp)
    assert atom_of(op) == '#cute<atom "selp 16 bytes">'


@pytest.mark.parametrize(("capability", "atom"), [(70, "ld.shared 4 bytes"), (75, "ldmatrix.x4"), (90, "ldmatrix.x4")])
def test_the_target_says_which_instructions_there_are(capability: int, atom: str):
    attributes = f"attributes {{nv_tileaa.compute_capability = {capability} : i32}}"
    assert atom_of(only(materialized(converted(SWIZZLED, A, attributes=attributes)))) == f'#cute<atom "{atom}">'


@pytest.mark.parametrize(("capability", "atom"), [(80, "st.shared 4 bytes"), (90, "stmatrix.x4")])
def test_stores_of_fragments(capability: int, atom: str):
    attributes = f"attributes {{nv_tileaa.compute_capability = {capability} : i32}}"
    module = materialized(converted(ACC, SWIZZLED, attributes=attributes))
    (copy,) = [op for op in module.walk() if isinstance(op, CopyOp)]
    assert str(copy.atom_descriptor) == f'#cute<atom "{atom}">'


def test_conflicts_that_the_layouts_force_are_remarked():
    with recorded_diagnostics() as said:
        materialized(converted(ACC, PLAIN))
    (remark,) = said
    assert "takes 128 wavefronts a warp, 112 of them for bank conflicts" in str(remark)
    assert "a swizzle of 128 bytes takes 16" in str(remark)


def test_conflicts_of_the_best_layout_that_a_store_of_tma_accepts_are_remarked():
    """Each lane has an element of another row: with any swizzle, some of them meet in a bank."""
    by_columns = "rmem, blocked<[1, 1], [32, 1], [2, 2], order = [0, 1]>"
    by_rows = "rmem, blocked<[1, 4], [2, 16], [4, 1], order = [1, 0]>"
    attributes = "attributes {nv_tileaa.compute_capability = 90 : i32}"
    with recorded_diagnostics() as said:
        module = materialized(converted(by_columns, by_rows, "64x64xf32", attributes))
    assert "#nv_tileas.layout<smem, swizzle<128>>" in print_custom(module)
    (remark,) = said
    assert "takes 128 wavefronts a warp, 96 of them for bank conflicts" in str(remark)
    assert "no swizzle of TMA has fewer" in str(remark)


def test_a_layout_that_nothing_beats_is_not_remarked():
    with recorded_diagnostics() as said:
        materialized(converted(ACC, SWIZZLED))
    assert said == []


def test_words_say_nothing_about_threads():
    before = converted('smem, "swizzled"', 'rmem, "wgmma_a"')
    text = print_custom(before)
    assert print_custom(materialized(before)) == text


# Options --------------------------------------------------------------------------------------------------------------


def test_below_16_bytes_the_root_of_the_chain_is_marked():
    for width, marked in ((15, True), (16, False), (4, True)):
        module = materialized(converted(ACC_8, A_8, "64x64xf8E4M3FN"), f"reg2reg-vec-size={width}")
        assert [ROOT in op.attributes for op in module.walk() if isinstance(op, ShuffleOp)] == [marked]


def test_a_narrow_cap_makes_shared_memory_the_cheaper_way():
    """Words of one byte would take 32 shuffles."""
    module = materialized(converted(ACC_8, A_8, "64x64xf8E4M3FN"), "reg2reg-vec-size=1")
    plan = only(module).atom_plan
    assert plan is not None
    assert plan.tag.data == 1


COLUMNS_OF_PAIRS = "rmem, blocked<[4, 2], [8, 4], [1, 4], order = [1, 0]>"
LANES_TURNED = "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [0, 1]>"
AS_BYTES = "reinterpret-to-i8=true"
NARROW = {
    "f8E4M3FN": "64x64xi8",
    "f8E5M2": "64x64xi8",
    "f6E2M3FN": "64x64xi8",
    "f6E3M2FN": "64x64xi8",
    "f4E2M1FN": "64x32xi8",
}
"""Narrow floats, and a tile of 64 x 64 of them as bytes."""


def numbers(element: str) -> np.ndarray[Any, Any]:
    """Every code of a narrow float, in an order that no layout has. Their names are those of MLIR in lower case."""
    kind, _, form = element.partition("E")
    bits = int(kind[1:])
    dtype = np.dtype(getattr(ml_dtypes, f"float{bits}_e{form.lower()}"))
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (64, 64), dtype=np.uint8)
    return codes.view(dtype)


@pytest.mark.parametrize("element", NARROW)
def test_narrow_floats_are_converted_as_bytes(element: str):
    module = materialized(converted(ROWS, COLUMNS_OF_PAIRS, f"64x64x{element}"), AS_BYTES)
    op = only(module)
    assert op.reinterpret_byte is not None
    assert str(op.result.type).startswith(f"tensor<{NARROW[element]}")
    plain = materialized(converted(ROWS, COLUMNS_OF_PAIRS, f"64x64x{element}"))
    assert only(plain).reinterpret_byte is None


@pytest.mark.parametrize("element", NARROW)
@pytest.mark.parametrize("options", ["", AS_BYTES, "reg2reg-vec-size=8", "reg2reg-vec-size=8 reinterpret-to-i8=true"])
@pytest.mark.parametrize("target", [COLUMNS_OF_PAIRS, LANES_TURNED])
def test_narrow_floats_keep_their_bits(element: str, options: str, target: str):
    """Not a number stays the one that it is, so bits are compared."""
    module = materialized(converted(ROWS, target, f"64x64x{element}"), options)
    once = print_custom(module)
    assert print_custom(materialized(parse(once), options)) == once
    tile = numbers(element)
    outcome = run(module, "f", [tile, np.zeros_like(tile)], order="random")
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"].view(np.uint8), tile.view(np.uint8))


@pytest.mark.parametrize("element", [*NARROW])
def test_the_threads_carry_bytes_where_narrow_floats_go(element: str):
    """The plan between the layouts of bytes, executed by lanes and in shared memory, on the codes packed by hand."""
    module = materialized(converted(ROWS, COLUMNS_OF_PAIRS, f"64x64x{element}"), AS_BYTES)
    op = only(module)
    first = next(view for view in module.walk() if isinstance(view, ViewOp) and element in str(view.source.type))
    source, target = linear_layout(first.result.type), linear_layout(op.result.type)
    assert source is not None
    assert target is not None
    codes = numbers(element).view(np.uint8).astype(np.uint64)
    packed = codes[:, 0::2] | codes[:, 1::2] << np.uint64(4) if element.startswith("f4") else codes
    for plan in plans(source, target, 8, Abilities()):
        moved = converted_by_threads(held(packed, source), source, target, plan)
        assert np.array_equal(gathered(moved, target), packed)


@pytest.mark.parametrize("element", ["f6E2M3FN", "f8E5M2"])
@pytest.mark.parametrize(("first", "last"), [(True, False), (False, True), (True, True)])
def test_an_end_that_is_bytes_already_needs_no_view(element: str, first: bool, last: bool):
    """The other end is seen as bytes by a view of its own: one end, or none."""
    floats = [f"tensor<64x64x{element}, #nv_tileas.layout<{layout}>>" for layout in (ROWS, COLUMNS_OF_PAIRS)]
    bytes_ = [f"tensor<64x64xi8, #nv_tileas.layout<{layout}>>" for layout in (ROWS, COLUMNS_OF_PAIRS)]
    taken, given = bytes_[0] if first else floats[0], bytes_[1] if last else floats[1]
    array, out = (f"memref<64x64x{'i8' if is_bytes else element}>" for is_bytes in (first, last))
    module = parse(f"""
    func.func @f(%a: {array}, %out: {out}) {{
      %c0 = arith.constant 0 : index
      %l = nv_tileaa.tiled_load %a[%c0, %c0] : ({array}, index, index) -> {taken}
      {f"%x = nv_tileas.view %l : ({taken}) -> {floats[0]}" if first else ""}
      %y = nv_tileas.convert_layout {"%x" if first else "%l"} : ({floats[0]}) -> {floats[1]}
      {f"%z = nv_tileas.view %y : ({floats[1]}) -> {given}" if last else ""}
      nv_tileaa.tiled_store %out[%c0, %c0], {"%z" if last else "%y"} : ({out}, {given}, index, index) -> ()
      func.return
    }}""")
    materialized(module, AS_BYTES)
    assert only(module).reinterpret_byte is not None
    between = [op for op in module.walk() if isinstance(op, ViewOp) and element in f"{op.source.type} {op.result.type}"]
    views = [op for op in between if op.source.type != op.result.type]
    assert len(views) == 2 - first - last
    tile = numbers(element)
    zeros = np.zeros_like(tile)
    given_arrays = [tile.view(np.int8) if first else tile, zeros.view(np.int8) if last else zeros]
    outcome = run(module, "f", given_arrays)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"].view(np.uint8), tile.view(np.uint8))


def test_packing_fixes_the_width_of_copies():
    """Every plan is infeasible below 4 bytes; both ways out that the diagnostic names work."""
    for options in ("reg2reg-vec-size=2", "reg2reg-vec-size=3"):
        with pytest.raises(RefusedError, match="raise it to 4, or set reinterpret-to-i8"):
            materialized(converted(ROWS, COLUMNS_OF_PAIRS, "64x64xf4E2M1FN"), options)
    materialized(converted(ROWS, COLUMNS_OF_PAIRS, "64x64xf4E2M1FN"), "reg2reg-vec-size=4")
    bytes_ = "reg2reg-vec-size=2 reinterpret-to-i8=true"
    assert only(materialized(converted(ROWS, COLUMNS_OF_PAIRS, "64x64xf4E2M1FN"), bytes_)).atom_plan is not None


# Failures -------------------------------------------------------------------------------------------------------------

OTHER_BLOCKS = (
    "rmem, linear<lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], block = [[32, 0]]>",
    "rmem, linear<lane = [[1, 0], [2, 0], [4, 0], [8, 0], [32, 0]], block = [[16, 0]]>",
)


@pytest.mark.parametrize(
    ("source", "target", "tile", "options", "reason"),
    [
        (*OTHER_BLOCKS, "64x1xf32", "", "to another block; blocks share no shared memory"),
        (ROWS, COLUMNS, "64x64xf16", "reg2reg-vec-size=0", "so at least 1, not 0"),
        (ROWS, 'rmem, "wgmma_a"', "64x64xf16", "", "does not say which bits"),
        (SWIZZLED, PLAIN, "64x64xf16", "", "both layouts are of memory"),
        (ROWS, "gmem, row_major", "64x64xf16", "", "the catalogue has registers and shared memory, not gmem"),
        (ROWS, COLUMNS, "512x512xf32", "", "staging takes 1048576 bytes of shared memory"),
        (ROWS, COLUMNS, "64x64xf4E2M1FN", "reinterpret-to-i8=true", "that share a byte do not lie together"),
        (ROWS, COLUMNS, "64x64xf4E2M1FN", "", "no thread holds a whole byte of neighbours"),
        (ROWS, COLUMNS, "64x64xi6", "", "elements of 6 bits straddle bytes"),
        (ROWS, COLUMNS, "64x64xi24", "reinterpret-to-i8=true", "hold each in an integer whose width is a power of two"),
    ],
)
def test_what_has_no_plan_is_refused_and_stays(source: str, target: str, tile: str, options: str, reason: str):
    module = converted(source, target, tile)
    before = str(only(module))
    with pytest.raises(RefusedError) as refusal:
        materialized(module, options)
    assert reason in str(refusal.value)
    (diagnostic,) = refusal.value.diagnostics
    assert diagnostic.message == DIAGNOSTIC == "failed to query target spec for convert_layout"
    assert str(only(module)) == before
    assert [failed_softly(function, PASS) for function in functions_in(module)] == [True]


def test_the_other_conversions_are_made_all_the_same():
    module = converted(ROWS, COLUMNS)
    bad = converted(SWIZZLED, PLAIN)
    for function in list(bad.body.block.ops):
        function.detach()
        function.properties["sym_name"] = type(function.properties["sym_name"])("g")
        module.body.block.add_op(function)
    with pytest.raises(RefusedError):
        materialized(module)
    assert [op.atom_plan is not None for op in conversions(module)] == [True, False]
    assert [failed_softly(function, PASS) for function in functions_in(module)] == [False, True]


def test_a_later_run_clears_the_bit():
    module = converted(ROWS, COLUMNS)
    with pytest.raises(RefusedError):
        materialized(module, "reg2reg-vec-size=0")
    materialized(module)
    assert [failed_softly(function, PASS) for function in functions_in(module)] == [False]


# Random pairs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_layouts(seed: int):
    """Half of the ends are arbitrary bases."""
    generator = random.Random(seed)
    source, target = (_random_layout(generator) for _ in range(2))
    module = materialized(converted(source, target, "32x16xf16"))
    tile = np.arange(32 * 16, dtype=np.float16).reshape(32, 16)
    outcome = run(module, "f", [tile, np.zeros_like(tile)])
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"], tile)


def _random_layout(generator: random.Random) -> str:
    if generator.random() < 0.5:
        return generator.choice([ROWS, COLUMNS, ACC, A])
    bits = [[1 << k, 0] for k in range(5)] + [[0, 1 << k] for k in range(4)]
    generator.shuffle(bits)
    one, other = generator.sample(range(9), 2)
    bits[one] = [a ^ b for a, b in zip(bits[one], bits[other], strict=True)]
    return f"rmem, linear<register = {bits[:2]}, lane = {bits[2:7]}, warp = {bits[7:]}>"
