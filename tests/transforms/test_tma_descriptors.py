"""
Tiles that TMA copies, by descriptors that are arguments: the passes `lower-tma-load-store-to-async` and
`tileas-attach-tma-desc-args`. Between them a program is one of tiles still: it runs, and it is proved.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32

from tests.support.corpora import each
from tests.support.ir import parse, print_custom, run_passes
from tests.support.thread_kernels import BY_NAME, TO_THREADS, assert_computes, assert_no_code, tiles_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileaa.memory import TiledStoreOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp
from tileas_xdsl.dialects.nv_tileas.tma import MakeTiledTmaDescOp, TiledTmaLoadOp, TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.types import TmaDescriptorType
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.to_llvm.attach_tma_desc_args import (
    BEYOND_DEVICE,
    BEYOND_HOST,
    IN_CONTROL,
    NO_COUNTS,
    NO_NUMBER,
    AttachTmaDescArgsPass,
)
from tileas_xdsl.transforms.to_llvm.lower_tma_load_store_to_async import (
    NO_BARRIER,
    NO_BYTES,
    NO_PADDING,
    LowerTmaLoadStoreToAsyncPass,
)
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import NOT_ATTACHED

LOWER, ATTACH = "lower-tma-load-store-to-async", "tileas-attach-tma-desc-args"
TARGET = "sm_90a"
GEMM = ("gemm_64x64x16", "warp-specialize", TARGET)
CASES = [
    (name, strategy, road)
    for name in ("gemm_64x64x16", "gemm_128x64x16", "elementwise", "layer_norm", "reduction", "attention_64")
    for strategy in ("unspecialize", "warp-specialize")
    for road in (LOWER, f"{LOWER},{ATTACH}")
]


def the_function(module: ModuleOp) -> func.FuncOp:
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function


WORDS = {
    NO_PADDING: "TmaLoad only support zero padding now",
    NO_BARRIER: "failed to get MBarrier object",
    NO_BYTES: "failed to get expected tx-count",
    NO_COUNTS: "funcOp lack tmaDeviceNum and tmaHostNum attr",
    NO_NUMBER: "not find tmaIdx.",
    BEYOND_HOST: "tmaIdx exceed tmaHostNum.",
    BEYOND_DEVICE: "tmaIdx exceed tmaDeviceNum.",
    IN_CONTROL: "expected MakeTiledTMADescOp not depends on scf",
    NOT_ATTACHED: "expect lower MakeTiledTMADescOp",
}
"""The texts of TileAS."""


# Meaning --------------------------------------------------------------------------------------------------------------


@each("case", CASES, 6, ids="-".join)
def test_the_same_numbers_and_a_proof(case: tuple[str, str, str]) -> None:
    name, strategy, road = case
    module = run_passes(tiles_of(name, strategy, TARGET).clone(), road)
    for trips in (0, 1, 2, 5):
        assert_computes(module, BY_NAME[name], trips, "random")
    report = check(module, timeout=None)
    assert report.verdict_line.startswith("safe"), str(report)


def test_what_tma_copies_is_copied_by_descriptor_and_nothing_else_is() -> None:
    before, after = tiles_of(*GEMM), run_passes(tiles_of(*GEMM).clone(), LOWER)
    kinds = [type(op) for op in after.walk()]
    assert kinds.count(TiledTmaLoadOp) == sum(isinstance(op, ProduceOneAsyncOp) for op in before.walk()) == 2
    assert kinds.count(TiledTmaStoreOp) == sum(isinstance(op, TiledStoreOp) for op in before.walk()) == 1
    assert TiledStoreOp not in kinds
    for_sm_80 = tiles_of("gemm_64x64x16", "unspecialize", "sm_80")
    assert print_custom(run_passes(for_sm_80.clone(), f"{LOWER},{ATTACH}")) == print_custom(for_sm_80)


def test_a_copy_says_its_bytes_and_its_descriptor() -> None:
    module = run_passes(tiles_of(*GEMM).clone(), LOWER)
    made = [op for op in module.walk() if isinstance(op, MakeTiledTmaDescOp)]
    assert [op.tma_idx.value.data for op in made if op.tma_idx is not None] == [0, 1, 2]
    for op in module.walk():
        if isinstance(op, TiledTmaLoadOp):
            assert op.tx_count is not None
            assert op.tx_count.value.data == 64 * 16 * 2
            assert isinstance(op.descriptor.owner, MakeTiledTmaDescOp)
            assert op.tma_idx == op.descriptor.owner.tma_idx


def test_equal_descriptors_are_one() -> None:
    """The peeled copies of one loop are eight loads of two arrays."""
    module = run_passes(tiles_of("gemm_64x64x16", "unspecialize", TARGET).clone(), LOWER)
    kinds = [type(op) for op in module.walk()]
    assert kinds.count(TiledTmaLoadOp) == 8
    assert kinds.count(MakeTiledTmaDescOp) == 3


@pytest.mark.parametrize("road", [LOWER, f"{LOWER},{ATTACH}"])
def test_twice_is_once(road: str) -> None:
    once = run_passes(tiles_of(*GEMM).clone(), road)
    again = run_passes(once.clone(), road)
    assert print_custom(again) == print_custom(once)


def test_they_are_described_in_the_words_of_the_original() -> None:
    said = "lowering TiledLoad or TiledStore which with tma atom to async tiled load or tiled store"
    assert said == LowerTmaLoadStoreToAsyncPass.DESCRIPTION
    assert AttachTmaDescArgsPass.DESCRIPTION == "Attach TMA descriptor arguments and separate host TMA bookkeeping"


@pytest.mark.parametrize("said", WORDS)
def test_refusals_are_those_of_the_original(said: str) -> None:
    assert said == WORDS[said]


# The parameter list ---------------------------------------------------------------------------------------------------

SHARED = "tensor<64x64xf16, #nv_tileas.layout<smem, swizzle<128>>>"
DESC = "!nv_tileas.tma_desc"
COPY = f"""
func.func @f(%x: memref<?x?xf16>, %y: memref<?x?xf16>) attributes {{tmaHostNum = 1 : i32, tmaDeviceNum = 0 : i32}} {{
  %c0 = arith.constant 0 : index
  %map = nv_tileas.make_tiled_tma_desc %x attributes {{atom = #nv_tileas<atom tma_load {{box = array<i64: 64, 64>}}>, tmaIdx = 0 : i32}} : (memref<?x?xf16>) -> {DESC}
  %slot = nv_tileas.alloc_tensor : () -> {SHARED}
  %t = nv_tileas.async.tiled_tma_load %map[%c0, %c0], %slot attributes {{atom = #nv_tileas<atom tma_load {{box = array<i64: 64, 64>}}>, tx_count = 8192 : i32}} : ({DESC}, {SHARED}, index, index) -> !nv_tileas.token
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  nv_tileaa.tiled_store %y[%c0, %c0], %slot : (memref<?x?xf16>, {SHARED}, index, index) -> ()
  func.return
}}"""  # noqa: E501
OTHERWISE = COPY.replace(
    "  func.return",
    f"  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf16>, index, index) -> {SHARED}\n  func.return",
)


def test_an_array_that_is_only_copied_gives_its_place_to_the_descriptor() -> None:
    function = the_function(run_passes(parse(COPY), ATTACH))
    assert [(argument.name_hint, str(argument.type)) for argument in function.args] == [
        ("x", DESC),
        ("y", "memref<?x?xf16>"),
    ]
    assert "tmaHostNum" not in function.attributes
    given = {"x": np.arange(64 * 64).reshape(64, 64).astype(np.float16), "y": np.zeros((64, 64), np.float16)}
    found = run(parse(str(function)), "f", given).arrays["y"]
    assert np.array_equal(found, given["x"])


def test_an_array_that_is_used_otherwise_stays_and_the_descriptor_comes_behind() -> None:
    function = the_function(run_passes(parse(OTHERWISE), ATTACH))
    assert [argument.name_hint for argument in function.args] == ["x", "y", "map"]
    assert isinstance(function.args[2].type, TmaDescriptorType)
    assert function.arg_attrs is not None
    assert [bool(each.data) for each in function.arg_attrs.data] == [False, False, True]


def test_a_descriptor_that_says_nothing_cannot_be_handed_over() -> None:
    text = str(run_passes(parse(COPY), ATTACH))
    start, end = text.index(" {tileas.tensor_map"), text.index("}}") + 2
    with pytest.raises(ArgumentError, match=r"argument 'x' is a descriptor; say by tileas\.tensor_map what it maps"):
        run(parse(text[:start] + text[end:]), "f", {"x": np.zeros((64, 64)), "y": np.zeros((64, 64), np.float16)})


# Refusals -------------------------------------------------------------------------------------------------------------

IN_A_BRANCH = COPY.replace("  %map", "  %yes = arith.constant true\n  %map").replace(
    "%map = nv_tileas.make", f"%map = scf.if %yes -> ({DESC}) {{\n  %own = nv_tileas.make"
)
IN_A_BRANCH = IN_A_BRANCH.replace(
    f"-> {DESC}\n  %slot", f"-> {DESC}\n  scf.yield %own : {DESC}\n}} else {{\n  scf.yield %z : {DESC}\n}}\n  %slot"
).replace(", %y: memref<?x?xf16>)", f", %y: memref<?x?xf16>, %z: {DESC})")
OF_THE_KERNEL = COPY.replace("  %map", "  %own = memref.alloc(%c0, %c0) : memref<?x?xf16>\n  %map").replace(
    "tma_desc %x ", "tma_desc %own "
)
NOT_ARGUMENTS = {
    NO_COUNTS: COPY.replace("tmaHostNum = 1 : i32, ", ""),
    NO_NUMBER: COPY.replace(", tmaIdx = 0 : i32", ""),
    BEYOND_HOST: COPY.replace("tmaIdx = 0", "tmaIdx = 1"),
    BEYOND_DEVICE: OF_THE_KERNEL,
    IN_CONTROL: IN_A_BRANCH,
    "is of an array that is copied in different boxes": COPY.replace(
        "  nv_tileas.async.wait",
        f"  nv_tileas.async.future_wait %t : (!nv_tileas.token) -> ()\n"
        f"  %u = nv_tileas.async.tiled_tma_load %map[%c0, %c0], %other attributes {{atom = #nv_tileas<atom tma_load "
        f"{{box = array<i64: 64, 64>}}>}} : ({DESC}, {SHARED.replace('64x64', '32x64')}, index, index) "
        "-> !nv_tileas.token\n  nv_tileas.async.wait",
    ).replace("  %t = ", f"  %other = nv_tileas.alloc_tensor : () -> {SHARED.replace('64x64', '32x64')}\n  %t = "),
}
"""What is said -> a program of which no arguments are made."""


def assert_refused(module: ModuleOp, name: str, said: str) -> None:
    """The function is as it was but for bit 2."""
    before = print_custom(module)
    with pytest.raises(RefusedError) as refused, recorded_diagnostics():
        run_passes(module, name)
    assert said in str(refused.value)
    function = the_function(module)
    assert failed_softly(function, name)
    function.attributes.pop("nv_tileas.pass_status")
    assert print_custom(module) == before


@pytest.mark.parametrize("said", NOT_ARGUMENTS)
def test_descriptors_that_are_no_arguments(said: str) -> None:
    assert_refused(parse(NOT_ARGUMENTS[said]), ATTACH, said)


TILES = str(tiles_of(*GEMM))
A = "tensor<64x16xf16"
A_TILE = f"{A}, #nv_tileas.layout<smem, swizzle<32>>>"
C_TILE = A_TILE.replace("64x16xf16", "64x64xf32")
DENSE, SPACED = "memref<?x?xf16>", "memref<?x40xf16, strided<[64, 1]>>"
VIEW = "!nv_tileaa.tiled_view<64x16xf16>"
END = "    func.return"


def changed(*pairs: tuple[str, str]) -> str:
    text = TILES
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def _results_of(text: str) -> tuple[str, str]:
    """The types of the op that fills the slots of A, and those with the tile in front."""
    end = text.index("\n        } : ", text.index("%at_own_tile")) + 1
    old = text[end : text.index("\n", end)]
    return old, old.replace("-> (", f"-> ({A_TILE}, ")


WITHOUT_A_SLOT = changed(
    (f"        ^bb0(%at_slot: {A_TILE}):\n", ""),
    (f"producer_types = [{A_TILE}], ", ""),
    ("%at_filled, %1 = ", "%at_own_tile, %at_filled, %1 = "),
)
NOT_COPIED = {
    NO_BARRIER: WITHOUT_A_SLOT.replace(*_results_of(WITHOUT_A_SLOT)),
    NO_BYTES: changed(("smem, swizzle<32>", "smem")),
    NO_PADDING: changed(
        ("%at = nv_tileaa.tiled_load %a[%c0, %k]", "%at = nv_tileaa.tiled_load %a[%c0, %k] mask(%mask)"),
        (f"({DENSE}, index, index) -> {A}", f"({DENSE}, index, index, tensor<64x16xi1>) -> {A}"),
        ("    %c0 = ", "    %mask = arith.constant dense<true> : tensor<64x16xi1>\n    %c0 = "),
    ),
    "from an array that the kernel writes": changed(
        (END, f"    %own = nv_tileas.alloc_tensor : () -> {A_TILE}\n    nv_tileaa.tiled_store %a[%c0, %c0], %own : "
              f"({DENSE}, {A_TILE}, index, index) -> ()\n{END}"),
    ),
    "from an array that the kernel writes, by a view of it": changed(
        (END, f"    %ones = arith.constant dense<1.0> : {A}>\n    %view = nv_tileaa.block_tile %a attributes "
              f"{{tileSizes = array<i64: 64, 16>, dimGroups = [array<i32: 0>, array<i32: 1>]}} : ({DENSE}) -> {VIEW}\n"
              f"    %old = nv_tileaa.tiled_atomic_rmw %view[%c0, %c0], %ones attributes {{rmw_mode = "
              f"#nv_tileaa<rmw_mode add>}} : ({VIEW}, {A}>, index, index) -> {A}>\n{END}"),
    ),
    "to an array that the kernel accesses otherwise, too": changed(
        (END, f"    %w = nv_tileaa.tiled_load %c[%c0, %c0] : (memref<?x?xf32>, index, index) -> {C_TILE}\n{END}"),
    ),
    "an array that is no argument of the kernel": changed(
        ("%a: memref<?x?xf16>, ", ""), ("    %c0 = ", "    %a = memref.alloc(%n, %n) : memref<?x?xf16>\n    %c0 = ")
    ),
    "whose rows are dense": changed(
        (f"%a: {DENSE}", f"%a: {SPACED}"), (f"({DENSE}, index, index) -> {A}", f"({SPACED}, index, index) -> {A}")
    ),
    "into shared memory for it": changed(("    nv_tileas.copy %r, %r_1", "    %r_2 = nv_tileas.view %r_1 : "
        f"({C_TILE}) -> {C_TILE}\n    nv_tileas.copy %r, %r_1"), ("%c[%c0, %c0], %r_1", "%c[%c0, %c0], %r_2")),
}  # fmt: skip
"""What is said -> a matrix product of which TMA does not do all copies."""


@pytest.mark.parametrize("said", NOT_COPIED)
def test_copies_that_tma_does_not_do(said: str) -> None:
    assert_refused(parse(NOT_COPIED[said]), LOWER, said.partition(", by")[0])


def test_the_host_says_how_far_apart_rows_are() -> None:
    rows = DENSE.replace(">", ", strided<[?, 1]>>")
    loads = (f"({DENSE}, index, index) -> {A}", f"({rows}, index, index) -> {A}")
    text = changed((f"%a: {DENSE}", f"%a: {rows}"), loads)
    copied = str(run_passes(parse(text), f"{LOWER},{ATTACH}"))
    assert copied.count("tiled_tma_load") == TILES.count("nv_tileaa.tiled_load")
    assert "array = memref<?x?xf16>" in copied


COPIES = str(run_passes(parse(TILES), f"{LOWER},{ATTACH}"))
UNDESCRIBED = re.sub(r" \{tileas.tensor_map = .*?\}\}", "", COPIES, count=1)
UNSWIZZLED = COPIES.replace("swizzle = 32 : i64", "swizzle = 48 : i64")
UNFIT = {
    NOT_ATTACHED: str(run_passes(parse(TILES), LOWER)),
    "by TMA with something else than copies by descriptor": TILES,
    "says no tx_count": COPIES.replace(", tx_count = 2048 : i32", "", 1),
    "has an argument 'a' that is a descriptor of nothing": UNDESCRIBED,
    "by boxes of (64, 8), swizzled by 32": COPIES.replace("64, 16>, swizzle = ", "64, 8>, swizzle = "),
    "has an argument 'a' that has a swizzle of 48 bytes": UNSWIZZLED,
    "has an argument 'd' that is a descriptor of nothing": COPIES.replace("@f(", f"@f(%d: {DESC}, "),
    "is not waited for": re.sub(r"nv_tileas.async.wait (%\d+) : .*\n(    \} : )", r"\2", COPIES),
}  # fmt: skip
"""What the passes down to threads say -> tiles whose copies they do not take."""


@pytest.mark.parametrize("said", UNFIT)
def test_copies_that_have_no_code(said: str) -> None:
    assert_no_code(parse(UNFIT[said]), TO_THREADS, TARGET, re.escape(said))


BY_COPIES = {
    "by a descriptor of which nobody says what it maps": UNDESCRIBED,
    "and the array has a swizzle of 48 bytes": UNSWIZZLED,
}
"""The same where the function is a kernel already: what its copies lack."""


@pytest.mark.parametrize("said", BY_COPIES)
def test_copies_of_kernels_that_have_no_code(said: str) -> None:
    module = parse(BY_COPIES[said])
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    function.attributes["nvvm.reqntid"] = DenseArrayBase.from_list(i32, [256])
    assert_no_code(module, TO_THREADS[1:], TARGET, re.escape(said))


def test_a_copy_outside_of_pipelines_has_no_code() -> None:
    """No barrier counts its bytes."""
    module = run_passes(parse(COPY), ATTACH)
    assert_no_code(module, TO_THREADS, TARGET, "copies by TMA, and names no mbarrier that counts its bytes")
