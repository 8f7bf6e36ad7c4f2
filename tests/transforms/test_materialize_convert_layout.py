"""Layout conversions made of what threads do: meaning, plans, options, failures."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp, CopyOp, ShuffleOp
from tileas_xdsl.interfaces import functions_in
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


NARROW = [("f8E4M3FN", "64x64xi8", 64), ("f8E5M2", "64x64xi8", 64), ("f4E2M1FN", "64x32xi8", 64)]


@pytest.mark.parametrize(("element", "as_bytes", "columns"), NARROW)
def test_narrow_floats_are_converted_as_bytes(element: str, as_bytes: str, columns: int):
    module = materialized(converted(ROWS, COLUMNS_OF_PAIRS, f"64x{columns}x{element}"), "reinterpret-to-i8=true")
    op = only(module)
    assert op.reinterpret_byte is not None
    assert str(op.result.type).startswith(f"tensor<{as_bytes}")
    plain = materialized(converted(ROWS, COLUMNS_OF_PAIRS, f"64x{columns}x{element}"))
    assert only(plain).reinterpret_byte is None


COLUMNS_OF_PAIRS = "rmem, blocked<[4, 2], [8, 4], [1, 4], order = [1, 0]>"


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
        (ROWS, COLUMNS, "64x64xf6E2M3FN", "", "elements of 6 bits straddle bytes"),
        (ROWS, COLUMNS, "64x64xf6E3M2FN", "reinterpret-to-i8=true", "hold each in a byte, as i8"),
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
