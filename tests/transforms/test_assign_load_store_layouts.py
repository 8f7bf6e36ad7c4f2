"""Loads and stores bound to instructions: which, for which target, and that numbers and tags stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr, bound_atom
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.assign_load_store_layouts.accesses import access_of
from tileas_xdsl.transforms.tileas.assign_load_store_layouts.groups import NO_COMMON_KIND

PASS = "tileas-assign-load-store-layouts"
PIPELINES = "tileas-queue-to-pipeline,tileas-materialize-async"
LAYOUTS = "tileas-assign-layouts,tileas-remove-layout-conversions,tileas-materialize-convert-layout"
KERNELS = sorted((ROOT / "tests/kernels").glob("*.mlir"))
EXAMPLES = [ROOT / f"examples/{name}.mlir" for name in ("gemm_loop", "gemm_queue", "attention_queue")]

SW = "smem, swizzle<128>"
ROWS = "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>"


def laid_out(path: Path) -> ModuleOp:
    return run_passes(parse(path.read_text()), f"{PIPELINES},{LAYOUTS}")


def bound(module: ModuleOp, target: str = "sm_90", **options: int) -> ModuleOp:
    said = "".join(f" {name.replace('_', '-')}={value}" for name, value in options.items())
    return run_passes(module, f"{PASS}{{compute-capability={target}{said}}}")


def labels(module: ModuleOp) -> list[str]:
    """The atoms of accesses to global memory, in order."""
    return [atom.label.data for op in module.walk() if (atom := bound_atom(op)) is not None]


def moved(array: str, tile: str, layout: str, *, store: bool = False, more: str = "") -> ModuleOp:
    """One load or store of a tile."""
    type_ = f"tensor<{tile}, #nv_tileas.layout<{layout}>>"
    access = (
        f"nv_tileaa.tiled_store %a[%i, %i], %x : ({array}, {type_}, index, index) -> ()"
        if store
        else f"%y = nv_tileaa.tiled_load %a[%i, %i] {more}: ({array}, index, index) -> {type_}"
    )
    return parse(f"func.func @f(%a: {array}, %x: {type_}, %i: index) {{\n {access}\n func.return\n}}")


# What is bound --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "atoms"),
    [
        ("sm_75", ["sm70_ldg_128_f16", "sm70_ldg_128_f16", "sm70_stg_128_f32"]),
        ("sm_80", ["sm80_cp_async_16_f16", "sm80_cp_async_16_f16", "sm70_stg_128_f32"]),
        ("sm_90a", ["sm90_tma_load_2d_f16", "sm90_tma_load_2d_f16", "sm90_stg_128_f32"]),
    ],
)
def test_atoms_of_the_gemm_by_target(target: str, atoms: list[str]):
    assert labels(bound(laid_out(EXAMPLES[1]), target)) == atoms


@pytest.mark.parametrize(("element", "atom"), [("f8E5M2", "tma_load_2d_f8E5M2"), ("f6E3M2FN", "cp_async_16_f6E3M2FN")])
def test_tma_brings_no_floats_of_6_bits(element: str, atom: str):
    """It packs them, and a layout has each in a byte."""
    module = moved(f"memref<?x128x{element}>", f"64x128x{element}", SW)
    (label,) = labels(bound(module))
    assert label.endswith(atom)


def test_boxes_of_tma_follow_the_swizzle():
    """A tile 128 elements wide is brought in two boxes, as its swizzle of 128 bytes lies in memory."""
    atoms = [bound_atom(op) for op in bound(laid_out(EXAMPLES[1])).walk()]
    assert [atom.box for atom in atoms if atom is not None] == [(128, 64), (64, 64), None]


@pytest.mark.parametrize(
    ("array", "atom"),
    [
        ("memref<128x64xf16>", "sm80_cp_async_16_f16"),
        ("memref<128x?xf16>", "sm80_cp_async_16_f16"),
        ("memref<128x68xf16>", "sm80_cp_async_8_f16"),
        ("memref<128x66xf16>", "sm80_cp_async_4_f16"),
        ("memref<128x65xf16>", "sm70_ldg_16_f16"),
        ("memref<128x64xf16, strided<[?, 1], offset: 8>>", "sm80_cp_async_16_f16"),
        ("memref<128x64xf16, strided<[72, 1], offset: 4>>", "sm80_cp_async_8_f16"),
        ("memref<128x64xf16, strided<[1, 128]>>", "sm70_ldg_16_f16"),
        ("memref<128x64xf16, affine_map<(i, j) -> (j, i)>>", "sm70_ldg_16_f16"),
        ("!nv_tileaa.memref<128x64xf16, 1, strides = [72, 1]>", "sm80_cp_async_16_f16"),
        ("!nv_tileaa.memref<128x68xf16, 1>", "sm80_cp_async_8_f16"),
    ],
)
def test_what_is_known_of_rows_bounds_the_width(array: str, atom: str):
    assert labels(bound(moved(array, "64x64xf16", SW), "sm_80")) == [atom]


@pytest.mark.parametrize(("alignment", "atom"), [(1, "ldg_16"), (4, "cp_async_4"), (32, "cp_async_16")])
def test_what_the_option_says_of_open_rows(alignment: int, atom: str):
    module = bound(moved("memref<?x?xf16>", "64x64xf16", SW), "sm_80", row_alignment=alignment)
    assert [label.split("_", 1)[1].removesuffix("_f16") for label in labels(module)] == [atom]


def test_a_detour_through_registers_is_remarked():
    with recorded_diagnostics() as said:
        bound(moved("memref<128x65xf16>", "64x64xf16", SW), "sm_80")
    assert "goes through registers: rows of the array do not begin at multiples of 4 bytes" in str(said[0])
    with recorded_diagnostics() as said:
        bound(moved("memref<128x65xf16>", "64x64xf16", SW), "sm_75")
        bound(moved("memref<128x64xf16>", "64x64xf16", SW), "sm_80")
    assert said == []


@pytest.mark.parametrize(
    ("tile", "layout", "atom"),
    [
        ("64x64xf16", ROWS, "sm90_stg_128_f16"),
        ("64x64xf16", "rmem, mma<m16n8k16, operand = acc, warps = 4>", "sm90_stg_32_f16"),
        ("64x64xf16", "rmem, blocked<[8, 1], [8, 4], [1, 4], order = [0, 1]>", "sm90_stg_16_f16"),
        ("64x64xf16", SW, "sm90_tma_store_2d_f16"),
        ("64x64xf16", "smem, swizzle<128>, order = [0, 1]", "sm90_stg_16_f16"),
    ],
)
def test_stores(tile: str, layout: str, atom: str):
    assert labels(bound(moved("memref<?x?xf16>", tile, layout, store=True))) == [atom]


def test_masks_and_pointers_are_accessed_by_element():
    text = """
    #l = #nv_tileas.layout<rmem, blocked<[4], [32], [1], order = [0]>>
    func.func @f(%p: tensor<128x!nv_tileaa.ptr<f32, 1>>, %a: memref<?xf32>, %i: index, %m: tensor<128xi1>) {
      %x = nv_tileaa.load %p : (tensor<128x!nv_tileaa.ptr<f32, 1>>) -> tensor<128xf32, #l>
      %y = nv_tileaa.tiled_load %a[%i] mask(%m) : (memref<?xf32>, index, tensor<128xi1>) -> tensor<128xf32, #l>
      %z = nv_tileaa.tiled_load %a[%i] : (memref<?xf32>, index) -> tensor<128xf32, #l>
      func.return
    }"""
    assert labels(bound(parse(text))) == ["sm90_ldg_32_f32", "sm90_ldg_32_f32", "sm90_ldg_128_f32"]


def test_ops_of_the_lower_dialect_have_the_atom_themselves():
    text = f"""
    #l = #nv_tileas.layout<{ROWS}>
    !view = !nv_tileas.tiled_view<64x64xf16, gmem>
    func.func @f(%v: !view, %i: index) {{
      %x = nv_tileas.tiled_load %v[%i, %i] : (!view, index, index) -> tensor<64x64xf16, #l>
      nv_tileas.tiled_store %v[%i, %i], %x : (!view, tensor<64x64xf16, #l>, index, index) -> ()
      func.return
    }}"""
    module = bound(parse(text))
    assert labels(module) == ["sm90_ldg_128_f16", "sm90_stg_128_f16"]
    assert "attributes {atom = #nv_tileas<atom sm90_ldg_128_f16>}" in print_custom(module)


def test_padding_that_tma_lacks_is_written_by_the_threads():
    text = """
    #s = #nv_tileas.layout<smem, swizzle<128>>
    !view = !nv_tileas.tiled_view<64x64xf16, gmem>
    func.func @f(%v: !view, %i: index) {
      %x = nv_tileas.tiled_load %v[%i, %i] attributes {padding_value = #nv_tileas<padding_value PAD>}
        : (!view, index, index) -> tensor<64x64xf16, #s>
      func.return
    }"""
    assert labels(bound(parse(text.replace("PAD", "zero")))) == ["sm90_tma_load_2d_f16"]
    assert labels(bound(parse(text.replace("PAD", "pos_inf")))) == ["sm90_cp_async_16_f16".replace("90", "80", 1)]


def test_words_and_bare_tiles_are_left_alone():
    module = parse("""
    func.func @f(%a: memref<?x?xf16>, %i: index) {
      %x = nv_tileaa.tiled_load %a[%i, %i] : (memref<?x?xf16>, index, index) -> tensor<4x8xf16>
      %y = nv_tileaa.tiled_load %a[%i, %i] : (memref<?x?xf16>, index, index)
        -> tensor<8x8xf16, #nv_tileas.layout<smem, "swizzled">>
      func.return
    }""")
    before = print_custom(module)
    assert print_custom(bound(module)) == before


# Plans ----------------------------------------------------------------------------------------------------------------


def descriptors(module: ModuleOp) -> list[str]:
    found = [op.atom_descriptor for op in module.walk() if isinstance(op, CopyOp)]
    plans = [op.atom_plan for op in module.walk() if isinstance(op, ConvertLayoutOp)]
    return [*map(str, found), *(str(plan.atom_descriptor) for plan in plans if plan is not None)]


PLANNED = f"""
#s = #nv_tileas.layout<{SW}>
#a = #nv_tileas.layout<rmem, mma<m16n8k16, operand = a, warps = 4>>
#c = #nv_tileas.layout<rmem, mma<m16n8k16, operand = acc, warps = 4>>
func.func @f(%x: tensor<64x64xf16, #s>, %y: tensor<64x64xf16, #c>) {{
  %r = nv_tileas.convert_layout %x attributes {{atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #s>}}
    : (tensor<64x64xf16, #s>) -> tensor<64x64xf16, #a>
  nv_tileas.copy %y, %x : (tensor<64x64xf16, #c>, tensor<64x64xf16, #s>) -> ()
  func.return
}}"""


@pytest.mark.parametrize(
    ("target", "store", "load"),
    [
        ("sm_70", "st.shared 4 bytes", "ld.shared 4 bytes"),
        ("sm_80", "st.shared 4 bytes", "ldmatrix.x4"),
        ("sm_90", "stmatrix.x4", "ldmatrix.x4"),
    ],
)
def test_plans_get_the_instruction_of_the_target(target: str, store: str, load: str):
    module = bound(parse(PLANNED), target)
    assert descriptors(module) == [f'#cute<atom "{store}">', f'#cute<atom "{load}">']
    assert descriptors(bound(module, "sm_70"))[1] == '#cute<atom "ld.shared 4 bytes">'


def test_an_atom_that_somebody_chose_is_kept():
    text = PLANNED.replace("smem = #s>", 'smem = #s, atom_descriptor = #cute<atom "TiledCopy<...>">>')
    assert descriptors(bound(parse(text)))[1] == '#cute<atom "TiledCopy<...>">'
    module = parse(print_custom(bound(laid_out(EXAMPLES[1]), "sm_75")))
    assert labels(bound(module, "sm_90")) == labels(module)


@pytest.mark.parametrize("path", [*EXAMPLES, *KERNELS], ids=lambda path: path.stem)
def test_tags_layouts_and_types_stay(path: Path):
    module = laid_out(path)

    def plans() -> list[tuple[object, ...]]:
        found = [op.atom_plan for op in module.walk() if isinstance(op, ConvertLayoutOp)]
        return [(plan.tag, plan.smem, plan.atom_layout) for plan in found if plan is not None]

    def types() -> list[str]:
        return [str(value.type) for op in module.walk() for value in op.results]

    before = plans(), types()
    bound(module)
    assert (plans(), types()) == before
    assert all(access.atom is not None for op in module.walk() if (access := access_of(op)) is not None)


# Pipelines ------------------------------------------------------------------------------------------------------------

TWO_PRODUCERS = """
#s = #nv_tileas.layout<smem, swizzle<128>>
!tile = tensor<64x64xf16, #s>
func.func @f(%a: memref<128x64xf16>, %b: memref<128xWIDTHxf16>, %i: index) {
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8,
    consumerGroupId = 1 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_kind = "KIND", producer_types = [!tile]} {
  ^bb0(%slot: !tile):
    %x = nv_tileaa.tiled_load %a[%i, %i] ATOM: (memref<128x64xf16>, index, index) -> !tile
    nv_tileas.async.pipeline.yield %x : (!tile) -> ()
  } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  %p2 = nv_tileas.async.pipeline.produce_one %p1, %i attributes {producer_types = [!tile]} {
  ^bb0(%slot: !tile):
    %x = nv_tileaa.tiled_load %b[%i, %i] OTHER: (memref<128xWIDTHxf16>, index, index) -> !tile
    nv_tileas.async.pipeline.yield %x : (!tile) -> ()
  } : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
  func.return
}"""


def two(width: int = 64, kind: str = "tma", atom: str = "", other: str = "") -> ModuleOp:
    said = [f"attributes {{nv_tileas.atom = #nv_tileas<atom {name}>}} " if name else "" for name in (atom, other)]
    text = TWO_PRODUCERS.replace("WIDTH", str(width)).replace("KIND", kind)
    return parse(text.replace("ATOM", said[0]).replace("OTHER", said[1]))


@pytest.mark.parametrize(
    ("program", "target", "atoms"),
    [
        (two(), "sm_90", ["sm90_tma_load_2d_f16"] * 2),
        (two(kind="async_copy"), "sm_90", ["sm80_cp_async_16_f16"] * 2),
        (two(65), "sm_80", ["sm90_ldg_128_f16".replace("90", "70"), "sm70_ldg_16_f16"]),
        (two(66), "sm_80", ["sm80_cp_async_16_f16", "sm80_cp_async_4_f16"]),
        (two(atom="sm80_cp_async_8_f16"), "sm_90", ["sm80_cp_async_8_f16", "sm80_cp_async_16_f16"]),
    ],
)
def test_the_loads_of_a_pipeline_go_one_way(program: ModuleOp, target: str, atoms: list[str]):
    """What one of them cannot do none does; what one of them is bound to binds all."""
    with recorded_diagnostics():
        assert labels(bound(program, target)) == atoms


def test_loads_bound_to_different_kinds_have_nothing_in_common():
    module = two(atom="sm80_cp_async_8_f16", other="sm90_tma_load_2d_f16")
    _is_refused(module, "the loads into this pipeline go by cp.async; tma")


def test_tiles_of_a_pipeline_in_different_memories_are_refused():
    text = TWO_PRODUCERS.replace(
        "func.return",
        """
      %got = nv_tileas.async.pipeline.consumer_wait %c, %i
        : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
      %y, %done = nv_tileas.async.pipeline.consumer_read %got, %i : (!nv_tileas.consumer_token, index)
        -> (tensor<64x64xf16, #nv_tileas.layout<tmem>>, !nv_tileas.consumer_token)
      func.return""",
    )
    text = text.replace("WIDTH", "64").replace("KIND", "tma").replace("ATOM", "").replace("OTHER", "")
    _is_refused(parse(text), "the tiles of this pipeline lie in smem, tmem: let them lie in one memory")


def _is_refused(module: ModuleOp, way_out: str) -> None:
    before = labels(module)
    with pytest.raises(RefusedError) as refusal:
        bound(module)
    (diagnostic,) = refusal.value.diagnostics
    assert diagnostic.message == NO_COMMON_KIND == " can not find common memKind among pipeline alias group\n"
    assert way_out in str(diagnostic)
    assert labels(module) == before
    assert [failed_softly(function, PASS) for function in functions_in(module)] == [True]


# Meaning --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_numbers_are_those_of_before(path: Path, turns: int):
    generator = np.random.default_rng(1)

    def arguments() -> dict[str, object]:
        shapes = {"a": (128, 64 * turns), "b": (64 * turns, 128), "c": (128, 128)}
        if path.stem == "attention_queue":
            shapes = {"q": (64, 64), "kt": (64, 64 * turns), "v": (64 * turns, 64), "o": (64, 64)}
        out = "o" if "o" in shapes else "c"
        arrays = {name: generator.integers(-2, 3, shape).astype(np.float16) for name, shape in shapes.items()}
        return {**arrays, out: np.zeros(shapes[out], np.float32), "n": turns}

    given = arguments()
    out = "o" if "o" in given else "c"
    given_again = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in given.items()}
    before = run(parse(path.read_text()), None, given)
    after = run(bound(laid_out(path)), None, given_again, order="random", seed=turns)
    assert not after.violations
    assert np.array_equal(before.arrays[out], after.arrays[out], equal_nan=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_verdicts_are_those_of_before(path: Path):
    assert check(bound(laid_out(path))).verdict == check(parse(path.read_text())).verdict == "safe"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_a_second_run_changes_nothing(path: Path, target: str):
    once = print_custom(bound(laid_out(path), target))
    assert print_custom(bound(parse(once), target)) == once


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "value"), [("num-warps", 3), ("row-alignment", 0)])
def test_options_are_powers_of_two(option: str, value: int):
    with pytest.raises(PassFailedException, match=f"{option}={value}: a power of two is needed"):
        run_passes(parse("func.func @f() {\n func.return\n}"), f"{PASS}{{{option}={value}}}")


def test_an_unknown_target_is_refused():
    with pytest.raises(RefusedError, match="'hopper' is no target"):
        bound(parse("func.func @f() {\n func.return\n}"), "hopper")


def test_elements_that_share_a_byte_and_belong_to_several_threads():
    single = "rmem, blocked<[1, 1], [1, 32], [4, 1], order = [1, 0]>"
    module = moved("memref<?x?xf4E2M1FN>", "64x64xf4E2M1FN", single)
    with pytest.raises(RefusedError, match="share a byte that belongs to several threads"):
        bound(module)
    assert labels(module) == []


# Plans that no longer fit ---------------------------------------------------------------------------------------------

FITS = "tag = 1, smem = #s, atom_layout = #a"


@pytest.mark.parametrize(
    ("source", "target", "plan", "text"),
    [
        ("#s", "#a", "tag = 0", "expects an atom plan of tag 0 to lead between registers"),
        ("#c", "#far", "tag = 0", "expects an atom plan of tag 0 to stay in registers"),
        ("#s", "#a", "tag = 0, smem = #s", "expects no smem layout in an atom plan of tag 0"),
        ("#c", "#a", "tag = 1, smem = #c", "to lead from shared memory to registers"),
        ("#s", "#s", "tag = 1, smem = #s", "to lead from shared memory to registers"),
        ("#s", "#a", "tag = 1, smem = #other", "to name the operand's layout as smem"),
        ("#s", "#a", "tag = 1, smem = #s, atom_layout = #c", "expects an atom plan for the result's layout"),
    ],
)
def test_a_plan_that_does_not_fit_its_op_is_rejected(source: str, target: str, plan: str, text: str):
    def program(plan: str) -> str:
        return f"""
        #s = #nv_tileas.layout<{SW}>
        #other = #nv_tileas.layout<smem, row_major>
        #a = #nv_tileas.layout<rmem, mma<m16n8k16, operand = a, warps = 4>>
        #c = #nv_tileas.layout<rmem, mma<m16n8k16, operand = acc, warps = 4>>
        #far = #nv_tileas.layout<{ROWS}>
        func.func @f(%x: tensor<64x64xf16, {source}>) {{
          %r = nv_tileas.convert_layout %x {plan} : (tensor<64x64xf16, {source}>) -> tensor<64x64xf16, {target}>
          func.return
        }}"""

    parse(program(""))
    with pytest.raises(VerifyException, match=text):
        parse(program(f"attributes {{atom_plan = #nv_tileas.atom_plan<{plan}>}}"))


def test_a_tag_that_somebody_changes_is_rejected():
    module = bound(laid_out(EXAMPLES[0]))
    op = next(op for op in module.walk() if isinstance(op, ConvertLayoutOp))
    assert op.atom_plan is not None
    op.atom_plan = AtomPlanAttr.of(0, None, op.atom_plan.atom_layout, op.atom_plan.atom_descriptor)
    with pytest.raises(VerifyException, match="expects an atom plan of tag 0 to lead between registers"):
        module.verify()
