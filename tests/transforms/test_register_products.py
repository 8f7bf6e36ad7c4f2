"""
A of `wgmma` that stays in registers: where the lowering says so, what it saves, and what becomes of it in LLVM and PTX.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.llvm_ir import normal_form, translated
from tests.support.mlir import run as run_tool
from tests.support.ptx import assembled, ptx_of
from tests.support.thread_kernels import BY_NAME, DOWN, driver_of, threads_of, to_threads
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp
from tileas_xdsl.dialects.nvvm.register_products import RegisterProduct
from tileas_xdsl.dialects.nvvm.thread import InlinePtxOp
from tileas_xdsl.dialects.nvvm.warp_matrix import StMatrixOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.to_llvm.tiles.register_products import takes_registers

TARGET = "sm_90a"
STRATEGIES = ("unspecialize", "warp-specialize")
CASES = [(name, strategy) for name in ("attention_64", "attention_128", "chained_gemm") for strategy in STRATEGIES]


def forms_in(module: ModuleOp) -> list[RegisterProduct | None]:
    return [RegisterProduct.of(op) for op in module.walk() if isinstance(op, InlinePtxOp)]


@cache
def wide(strategy: str) -> tuple[ModuleOp, ModuleOp]:
    """Attention with 32 keys a step and a head of 32, as tiles and as threads: a chain of two."""
    text = BY_NAME["attention_64"].text.replace("<16x16x", "<32x32x").replace("<64x16x", "<64x32x")
    tiles = run_passes(parse(text), driver_of(TARGET, strategy))
    return tiles, run_passes(tiles.clone(), to_threads(TARGET))


# Where ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_products_of_products_stay_in_registers(case: tuple[str, str]) -> None:
    """Nothing is stored for the tensor core: no matrices go into shared memory, where no result does so either."""
    module = threads_of(*case, TARGET)
    found = forms_in(module)
    assert found
    assert all(form is not None and form.steps == 1 for form in found)
    assert not any(isinstance(op, StMatrixOp) for op in module.walk())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_chain_along_k_is_one_op(strategy: str) -> None:
    found = forms_in(wide(strategy)[1])
    assert {form and (form.columns, form.steps) for form in found} == {(32, 2)}


A, ACC = "mma<m64n16k16, operand = a, warps = 4>", "mma<m64n16k16, operand = acc, warps = 4>"
OTHER = "mma<m64n16k16, operand = a, warps = 8>"
ROWS = "blocked<[1, 8], [16, 2], [4, 1], order = [1, 0]>"
LOOP = """
func.func @f(%a: tensor<64x16xf16, #nv_tileas.layout<rmem, A>>,
             %b: tensor<16x16xf16, #nv_tileas.layout<smem, swizzle<32>>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : SUMS
  %none = nv_tileas.create_none : () -> !nv_tileas.token
  %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero, %before = %none) -> (SUMS, !nv_tileas.token) {
    FIRST
    %d, %done = nv_tileas.async.dot WEIGHTS, %b, %c : (tensor<64x16xf16, #nv_tileas.layout<rmem, A>>,
      tensor<16x16xf16, #nv_tileas.layout<smem, swizzle<32>>>, SUMS) -> (SUMS, !nv_tileas.token)
    LAST
    scf.yield NEXT, %done : SUMS, !nv_tileas.token
  }
  func.return
}
"""
WAIT = "nv_tileas.async.wait %done : (!nv_tileas.token) -> ()"
EARLIER = "nv_tileas.async.wait %before : (!nv_tileas.token) -> ()"
MADE = f"%w = arith.addf %a, %a : tensor<64x16xf16, #nv_tileas.layout<rmem, {A}>>"
WAYS = {
    "the product of the turn before goes on": ("", "", "%d", A, False),
    "it is waited for in this turn, and nobody says which one it is": (EARLIER, "", "%d", A, False),
    "it is waited for in its own turn": ("", WAIT, "%d", A, True),
    "ordinary ops hand on the sums": ("", f"{WAIT}\n %e = arith.addf %d, %d : SUMS", "%e", A, True),
    "the next A is made behind the wait": (f"{EARLIER}\n {MADE}", "", "%zero", A, True),
    "the next A is made in front of the wait": (f"{MADE}\n {EARLIER}", "", "%zero", A, False),
    "the product of the last turn is waited for by nobody": (MADE, "", "%zero", A, False),
    "A lies otherwise": ("", WAIT, "%d", ROWS, False),
    "A is for other warps": ("", WAIT, "%d", OTHER, False),
}
"""What comes before and behind the product in a turn, the sums that it hands on, how A lies; and what is to be."""


@pytest.mark.parametrize("way", WAYS)
def test_sums_have_to_be_there_and_registers_are_kept(way: str) -> None:
    """Otherwise A goes through shared memory, and products add to one another while they go on."""
    first, last, following, layout, expected = WAYS[way]
    text = LOOP.replace("FIRST", first).replace("LAST", last).replace("NEXT", following)
    text = text.replace("WEIGHTS", "%w" if "%w" in first else "%a").replace("rmem, A>", f"rmem, {layout}>")
    module = parse(text.replace("SUMS", f"tensor<64x16xf32, #nv_tileas.layout<rmem, {ACC}>>"))
    (product,) = (op for op in module.walk() if isinstance(op, AsyncDotOp))
    assert takes_registers(product) is expected


TWICE = """
    %e, %gone = nv_tileas.async.dot %a, %b, %zero : (tensor<64x16xf16, #nv_tileas.layout<rmem, A>>,
      tensor<16x16xf16, #nv_tileas.layout<smem, swizzle<32>>>, SUMS) -> (SUMS, !nv_tileas.token)
    IN FRONT
    %which = arith.cmpi eq, %i, %c0 : index
    %s0 = scf.if %which -> (SUMS) {
      scf.yield %e : SUMS
    } else {
      scf.yield %c : SUMS
    }"""


@pytest.mark.parametrize("waits_first", [True, False])
def test_sums_that_come_by_two_ways_have_to_be_there_by_both(waits_first: bool) -> None:
    """A branch hands them on in front of the wait, and the loop behind it."""
    wait = "nv_tileas.async.wait %gone : (!nv_tileas.token) -> ()"
    text = LOOP.replace("FIRST", TWICE.replace("IN FRONT", wait if waits_first else "")).replace(
        "%b, %c :", "%b, %s0 :"
    )
    text = text.replace("LAST", f"{WAIT}\n    {wait}").replace("NEXT", "%e").replace("WEIGHTS", "%a")
    text = text.replace("rmem, A>", f"rmem, {A}>").replace("SUMS", f"tensor<64x16xf32, #nv_tileas.layout<rmem, {ACC}>>")
    product = [op for op in parse(text).walk() if isinstance(op, AsyncDotOp)][-1]
    assert takes_registers(product) is waits_first


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_numbers_of_a_chain(strategy: str) -> None:
    """Those of the tiles."""
    rng = np.random.default_rng(2)
    extents = {"q": (64, 32), "k": (32, 96), "v": (96, 32)}
    given = {name: (rng.integers(-2, 3, shape) / 4).astype(np.float16) for name, shape in extents.items()}
    tiles, threads = (
        run(module, "f", {**given, "c": np.zeros((64, 32), np.float32), "n": 3}).arrays["c"]
        for module in wide(strategy)
    )
    assert np.allclose(tiles, threads, rtol=2.0**-10, atol=2.0**-10)
    assert threads.any()


# Down -----------------------------------------------------------------------------------------------------------------


def test_waits_take_the_registers_of_a() -> None:
    """They are LLVM's again behind the wait for their product, and not behind the product."""
    text = str(run_passes(wide("warp-specialize")[1].clone(), DOWN))
    waits = re.findall(r'"wgmma\.wait_group\.sync\.aligned (\d);", "([^"]*)"', text)
    taken = [(count, letters.split(",").count("r")) for count, letters in waits]
    assert ("1", 8) in taken
    assert ("0", 0) in taken


def test_the_form_is_assembly_that_keeps_outputs_and_inputs_apart() -> None:
    """Text of several instructions writes the sums, which come in the registers of the result, before it reads A."""
    text = str(run_passes(threads_of("attention_64", "warp-specialize", TARGET).clone(), DOWN))
    found = dict(re.findall(r'"(\{ \.reg \.pred p;[^"]*wgmma\.mma_async[^"]*)", "([^"]*)"', text))
    assert set(found.values()) == {",".join([*["=&f"] * 8, *["r"] * 4, "l", *map(str, range(8)), "~{memory}"])}
    assert all("mov" not in chain and "{$8, $9, $10, $11}, $12, p" in chain for chain in found)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_our_text_is_that_of_mlir(strategy: str, tmp_path: Path) -> None:
    """After the same optimiser, by llvm-diff."""
    module = run_passes(threads_of("attention_64", strategy, TARGET).clone(), DOWN)
    files = [tmp_path / "ours.ll", tmp_path / "theirs.ll"]
    for file, text in zip(files, (llvm_ir_of(module), translated(module)), strict=True):
        file.write_text(normal_form(text, "default<O2>"))
    difference = run_tool("llvm-diff", "", *map(str, files))
    assert difference.returncode == 0, difference.stderr


def test_a_chain_assembles_without_spills_and_products_overlap() -> None:
    """In several agents; the registers of A go into the instructions as they are."""
    ptx = ptx_of(wide("warp-specialize")[1].clone(), TARGET, DOWN)
    assembled(ptx, TARGET)
    assert re.search(r"wgmma\.mma_async\S* \{[^}]*\}, \{(%r\d+(, )?){4}\}, %rd\d+, p, 1, 1, 1;", ptx)


@pytest.mark.parametrize("name", ["attention_64", "attention_128"])
def test_nobody_meets_for_the_weights(name: str) -> None:
    """The threads that compute meet once they have stored the result, and in front of it; in the loop they do not."""
    module = threads_of(name, "warp-specialize", TARGET)
    loops = [op for op in module.walk() if op.name == "scf.for" and any(isinstance(i, InlinePtxOp) for i in op.walk())]
    assert loops
    assert not any(isinstance(op, Barrier0Op | BarrierOp) for loop in loops for op in loop.walk())
