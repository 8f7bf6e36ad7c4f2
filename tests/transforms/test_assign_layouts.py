"""Layouts given to every tile, conversions removed: meaning, agreement, and what remains for the road."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, context, parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.layout import element_bits, form_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.layouts.defaults import Instructions, coalesced, in_shared_memory, of_product
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.assign_layouts.agreement import agrees
from tileas_xdsl.transforms.tileas.layout_rules import has_rule
from tileas_xdsl.transforms.tileas.remove_layout_conversions import NOT_REWRITTEN, RemoveLayoutConversionsPass

ASSIGN, REMOVE, MATERIALIZE = (
    "tileas-assign-layouts",
    "tileas-remove-layout-conversions",
    "tileas-materialize-convert-layout",
)
LAYOUTS = f"{ASSIGN},{REMOVE},{MATERIALIZE}"
ROADS = [LAYOUTS, f"tileas-queue-to-pipeline,tileas-materialize-async,{LAYOUTS}"]
EXAMPLES = ["gemm_loop", "gemm_queue", "attention_queue"]


def example(name: str) -> ModuleOp:
    return parse((ROOT / f"examples/{name}.mlir").read_text())


def arguments(name: str) -> dict[str, object]:
    generator = np.random.default_rng(3)

    def array(*shape: int, kind: type = np.float16) -> np.ndarray:
        return generator.integers(-2, 3, shape).astype(kind)

    if name == "attention_queue":
        out = np.zeros((64, 64), np.float32)
        return {"n": 2, "q": array(64, 64), "kt": array(64, 128), "v": array(128, 64), "o": out}
    return {"n": 2, "a": array(128, 128), "b": array(128, 128), "c": np.zeros((128, 128), np.float32)}


def conversions(module: ModuleOp) -> list[ConvertLayoutOp]:
    return [op for op in module.walk() if isinstance(op, ConvertLayoutOp)]


def atoms(module: ModuleOp) -> list[str]:
    plans = [op.atom_plan for op in conversions(module)]
    return [str(plan.atom_descriptor) for plan in plans if plan is not None]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_compute_what_they_did(name: str, road: str):
    out = "o" if name == "attention_queue" else "c"
    expected = run(example(name), None, arguments(name)).arrays[out]
    outcome = run(run_passes(example(name), road), None, arguments(name), order="random", seed=5)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays[out], expected)
    assert np.any(expected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_stay_safe_for_every_trip_count(name: str):
    assert check(run_passes(example(name), ROADS[1])).verdict == check(example(name)).verdict == "safe"


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_tile_of_a_kernel_has_a_layout(name: str, road: str):
    """After the conversions are materialised, too; and each of them has a plan."""
    module = run_passes(example(name), road)
    for op in module.walk():
        blocks = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *blocks):
            if isinstance(value.type, TensorType) and element_bits(value.type) is not None:
                assert form_of(value.type) is not None, op
    assert all(op.atom_plan is not None for op in conversions(module))


@pytest.mark.parametrize("passes", [ASSIGN, f"{ASSIGN},{REMOVE}"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_operands_and_results_agree(name: str, passes: str):
    """Each thread computes with what it holds."""
    ops = [op for op in run_passes(example(name), passes).walk() if has_rule(op)]
    assert all(map(agrees, ops))
    assert name != "attention_queue" or len(ops) > 10


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_second_run_changes_nothing(name: str):
    once = print_custom(run_passes(example(name), f"{ASSIGN},{REMOVE}"))
    assert print_custom(run_passes(parse(once), f"{ASSIGN},{REMOVE}")) == once


def test_the_accumulator_stays_in_its_fragment():
    """Within the loop of the GEMM nothing is converted but the operands, which are loaded."""
    module = run_passes(example("gemm_loop"), f"{ASSIGN},{REMOVE},{MATERIALIZE}")
    assert atoms(module)[:2] == ['#cute<atom "ldmatrix.x4">', '#cute<atom "ldmatrix.x4.trans">']
    assert len(atoms(module)) == 3
    without = run_passes(example("gemm_loop"), ASSIGN)
    assert len(conversions(without)) > len(conversions(run_passes(without, REMOVE)))


def test_the_weights_of_attention_become_an_operand_by_renaming_registers():
    module = run_passes(example("attention_queue"), ROADS[1])
    assert '#cute<atom "mov">' in atoms(module)


def test_wgmma_reads_its_operands_from_shared_memory():
    module = example("gemm_loop")
    next(iter(module.body.block.ops)).attributes["nv_tileaa.compute_capability"] = _capability(90)
    run_passes(module, f"{ASSIGN},{REMOVE}")
    assert len(conversions(module)) == 1
    assert "mma<m64n128k16, operand = acc, warps = 4>" in print_custom(module)


def _capability(number: int) -> IntegerAttr:
    return IntegerAttr(number, i32)


TWICE = """
#rows = #nv_tileas.layout<rmem, blocked<[1, 4], [2, 16], [4, 1], order = [1, 0]>>
#acc = #nv_tileas.layout<rmem, mma<m16n8k16, operand = acc, warps = 4>>
func.func @f(%x: tensor<64x64xf32, #acc>, %n: index) -> tensor<64x64xf32, #rows> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = nv_tileas.convert_layout %x : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #rows>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%t = %start) -> (tensor<64x64xf32, #rows>) {
    %f = nv_tileas.convert_layout %t : (tensor<64x64xf32, #rows>) -> tensor<64x64xf32, #acc>
    %s = arith.addf %f, %f : tensor<64x64xf32, #acc>
    %r = nv_tileas.convert_layout %s : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #rows>
    OTHER
    scf.yield %r : tensor<64x64xf32, #rows>
  }
  func.return %end : tensor<64x64xf32, #rows>
}"""


def test_a_loop_carries_the_fragment():
    module = run_passes(parse(TWICE.replace("OTHER", "")), REMOVE)
    (last,) = conversions(module)
    assert last.parent_op() is next(iter(module.body.block.ops))


def test_what_reads_the_other_layout_in_the_loop_still_gets_it():
    text = TWICE.replace("OTHER", '"test.op"(%t) : (tensor<64x64xf32, #rows>) -> ()')
    module = parse(text, allow_unregistered=True)
    RemoveLayoutConversionsPass().apply(context(), module)
    module.verify()
    inside = [op for op in conversions(module) if op.parent_op() is not next(iter(module.body.block.ops))]
    assert len(inside) == 1


A_OF_WGMMA = "#nv_tileas.layout<rmem, mma<m64n64k16, operand = a, warps = 4>>"
A_SLICE = f"#nv_tileas.layout<rmem, slice<0, {A_OF_WGMMA.removeprefix('#nv_tileas.layout<rmem, ')}>"
NARROWED = """
func.func @f(%x: tensor<TILExf16, FROM>, %out: memref<TILExf8E5M2>) {
  %c0 = arith.constant 0 : index
  CONVERT
  %z = arith.truncf %y : tensor<TILExf16, ROWS> to tensor<TILExf8E5M2, ROWS>
  nv_tileaa.tiled_store %out[INDICES], %z : (memref<TILExf8E5M2>, tensor<TILExf8E5M2, ROWS>, KINDS) -> ()
  func.return
}"""


def narrowed(form: str, tile: str) -> ModuleOp:
    """A tile in a fragment is converted, and its elements become narrower than the fragment allows."""
    rank = tile.count("x") + 1
    rows = "blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>" if rank == 2 else "blocked<[1], [32], [4], order = [0]>"
    conversion = "%y = nv_tileas.convert_layout %x : (tensor<TILExf16, FROM>) -> tensor<TILExf16, ROWS>"
    text = NARROWED.replace("CONVERT", conversion)
    text = text.replace("INDICES", ", ".join(["%c0"] * rank)).replace("KINDS", ", ".join(["index"] * rank))
    return parse(text.replace("TILE", tile).replace("FROM", form).replace("ROWS", f"#nv_tileas.layout<rmem, {rows}>"))


@pytest.mark.parametrize(("form", "tile"), [(A_OF_WGMMA, "64x64"), (A_SLICE, "64")])
def test_an_op_whose_tiles_a_fragment_does_not_fit_stays_where_it_is(form: str, tile: str):
    module = narrowed(form, tile)
    before = print_custom(module)
    with recorded_diagnostics() as said:
        assert print_custom(run_passes(module, REMOVE)) == before
    (remarked,) = said
    assert remarked.message == NOT_REWRITTEN == "failed to rewrite in reg layout propagation"
    assert "arith.truncf keeps the layout of its tiles: m64n64k16 is no instruction for elements of 8" in str(remarked)


def test_a_fragment_that_fits_no_operand_but_the_first_is_converted():
    """The tile that is given has the fragment; those that get a layout have one that fits both."""
    text = f"""
    func.func @f(%x: tensor<64x64xf16, {A_OF_WGMMA}>) -> tensor<64x64xf8E5M2> {{
      %z = arith.truncf %x : tensor<64x64xf16, {A_OF_WGMMA}> to tensor<64x64xf8E5M2, #nv_tileas.layout<rmem>>
      %t = nv_tileas.view %z : (tensor<64x64xf8E5M2, #nv_tileas.layout<rmem>>) -> tensor<64x64xf8E5M2>
      func.return %t : tensor<64x64xf8E5M2>
    }}"""
    module = run_passes(parse(text), f"{ASSIGN},{REMOVE}")
    assert len(conversions(module)) == 1
    assert all(agrees(op) for op in module.walk() if has_rule(op))


def test_loads_are_not_folded():
    """From shared memory to registers and on to other registers: the first is a load, and stays."""
    text = """
    #sw = #nv_tileas.layout<smem, swizzle<128>>
    #rows = #nv_tileas.layout<rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>>
    #a = #nv_tileas.layout<rmem, mma<m16n8k16, operand = a, warps = 4>>
    func.func @f(%x: tensor<64x64xf16, #sw>) -> tensor<64x64xf16, #a> {
      %y = nv_tileas.convert_layout %x : (tensor<64x64xf16, #sw>) -> tensor<64x64xf16, #rows>
      %z = nv_tileas.convert_layout %y : (tensor<64x64xf16, #rows>) -> tensor<64x64xf16, #a>
      func.return %z : tensor<64x64xf16, #a>
    }"""
    assert print_custom(run_passes(parse(text), REMOVE)) == print_custom(parse(text))


# Refusals -------------------------------------------------------------------------------------------------------------


def test_extents_that_are_no_powers_of_two_are_refused_before_anything_changes():
    text = """
    func.func @f(%x: tensor<8x8xf32>, %y: tensor<3x8xf32>) {
      func.return
    }"""
    module = parse(text)
    before = print_custom(module)
    with pytest.raises(RefusedError, match=r"tensor<3x8xf32>, which no layout fits: the extent of dim0 is 3"):
        run_passes(module, ASSIGN)
    assert print_custom(module) == before


def test_the_number_of_warps_is_a_power_of_two():
    with pytest.raises(PassFailedException, match="num-warps=3: a power of two is needed"):
        run_passes(parse("func.func @f() {\n func.return\n}"), f"{ASSIGN}{{num-warps=3}}")


def test_what_is_said_already_is_kept():
    text = """
    func.func @f(%x: tensor<8x8xf32, #nv_tileas.layout<rmem, "mine">>, %y: tensor<8x!nv_tileaa.ptr<f16, 1>>) {
      func.return
    }"""
    assert print_custom(run_passes(parse(text), ASSIGN)) == print_custom(parse(text))


# Defaults -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("shape", [(), (1,), (64,), (4096,), (8, 1), (64, 64), (1, 128), (2, 4, 8)])
def test_default_layouts_cover_their_tiles(shape: tuple[int, ...], bits: int, warps: int):
    layout = coalesced(shape, bits, warps).linear(shape, bits)
    assert (layout.input_size("lane"), layout.input_size("warp")) == (32, warps)
    assert in_shared_memory(shape, bits).linear(shape, bits).is_injective


def test_products_that_the_tensor_core_has():
    doubles = of_product(64, 64, 64, 64, 4, Instructions.WGMMA)
    assert doubles is not None
    assert str(doubles.acc.shape) == "m8n8k4"
    assert of_product(8, 8, 8, 16, 4, Instructions.WGMMA) is None
    wgmma, sync = (
        of_product(64, 512, 64, 16, 4, Instructions.WGMMA),
        of_product(32, 64, 64, 16, 4, Instructions.MMA_SYNC),
    )
    assert wgmma is not None
    assert sync is not None
    assert (str(wgmma.acc.shape), wgmma.b) == ("m64n256k16", None)
    assert (str(sync.acc.shape), sync.acc.warps) == ("m16n8k16", (2, 2))
    with pytest.raises(LayoutError, match="power of two"):
        coalesced((3,), 16, 4)


# Stores ---------------------------------------------------------------------------------------------------------------

STORED = """
!s = tensor<16x16xf32, #nv_tileas.layout<smem>>
func.func @f(%x: memref<?x?xf32>, %c: memref<?x?xf32>, %i: index) {
  %t = nv_tileaa.tiled_load %x[%i, %i] : (memref<?x?xf32>, index, index) -> !s
  nv_tileaa.tiled_store %c[%i, %i], %t : (memref<?x?xf32>, !s, index, index) -> ()
  func.return
}"""


def test_what_lies_in_shared_memory_is_read_before_it_is_stored() -> None:
    module = run_passes(parse(STORED), ASSIGN)
    module.verify()
    (read,) = conversions(module)
    assert [str(use.operation.name) for use in read.result.uses] == ["nv_tileaa.tiled_store"]
    assert str(run_passes(module.clone(), ASSIGN)) == str(module)
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    before, after = (
        run(each, "f", {"x": x.copy(), "c": np.zeros_like(x), "i": 1}).arrays["c"]
        for each in (parse(STORED), run_passes(parse(STORED), LAYOUTS))
    )
    assert np.array_equal(before, after)
    assert after.any()


def test_what_was_copied_there_for_an_engine_stays() -> None:
    text = STORED.replace("  %t = nv_tileaa.tiled_load", "  %u = nv_tileaa.tiled_load").replace(
        "index, index) -> !s\n  nv_tileaa.tiled_store",
        "index, index) -> tensor<16x16xf32>\n  %t = nv_tileas.alloc_tensor : () -> !s\n"
        "  nv_tileas.copy %u, %t : (tensor<16x16xf32>, !s) -> ()\n  nv_tileaa.tiled_store",
    )
    assert not conversions(run_passes(parse(text), ASSIGN))
