"""
An agent of several warps that does tiles: its threads do them together, and each does for itself what stands beside.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run

COPY = """
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
func.func @f(%x: memref<8x16xf32>, %y: memref<8x16xf32>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %count = arith.constant 64 : i32
  %ticks = arith.constant 1000 : i32
  %slots = nv_tileas.alloc_tensor attributes {stages = 2 : i32} : () -> tensor<2x8x16xf32, #nv_tileas.layout<smem>>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %first = arith.cmpi eq, %thread, %zero : i32
  scf.if %first {
    nvvm.mbarrier.init %full, %count : !llvm.ptr<3>, i32
  }
  nvvm.barrier0
  %slot = nv_tileas.view %slots[%c0] : (tensor<2x8x16xf32, #nv_tileas.layout<smem>>, index) -> tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>
  %t = nv_tileas.async.tiled_load %x[%c0, %c0], %slot : (memref<8x16xf32>, tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>, index, index) -> !nv_tileas.token
  nvvm.cp.async.mbarrier.arrive %full {noinc = true} : !llvm.ptr<3>
  nvvm.mbarrier.try_wait.parity %full, %zero, %ticks : !llvm.ptr<3>, i32, i32
  nv_tileaa.tiled_store %y[%c0, %c0], %slot : (memref<8x16xf32>, tensor<8x16xf32, #nv_tileas.layout<smem, row_major>>, index, index) -> ()
  func.return
}"""  # noqa: E501
BY_TMA = (
    COPY.replace(
        "%x: memref<8x16xf32>",
        "%x: !nv_tileas.tma_desc {tileas.tensor_map = {array = memref<8x16xf32>, box = array<i64: 8, 16>, "
        "swizzle = 0 : i64}}",
    )
    .replace("%count = arith.constant 64", "%bytes = arith.constant 512 : i32\n  %count = arith.constant 1")
    .replace("  }\n  nvvm.barrier0", "    nvvm.fence.mbarrier.init\n  }\n  nvvm.barrier0")
    .replace("  nvvm.cp.async.mbarrier.arrive %full {noinc = true} : !llvm.ptr<3>\n", "")
    .replace(
        "  %t = nv_tileas.async.tiled_load %x[%c0, %c0], %slot : (memref<8x16xf32>, ",
        "  scf.if %first {\n  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32\n"
        "  %t = nv_tileas.async.tiled_tma_load %x[%c0, %c0], %slot barrier(%full) "
        "attributes {atom = #nv_tileas<atom tma_load>} : (!nv_tileas.tma_desc, ",
    )
    .replace("index, index) -> !nv_tileas.token", "index, index, !llvm.ptr<3>) -> !nv_tileas.token\n  }")
)
"""The same by TMA: one thread says how many bytes come, and starts the copy."""
PROGRAMS = {"cp.async": COPY, "TMA": BY_TMA}


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name: str, order: str) -> None:
    given = np.arange(128, dtype=np.float32).reshape(8, 16)
    outcome = run(parse(PROGRAMS[name]), "f", {"x": given, "y": np.zeros_like(given)}, order=order)
    assert outcome.finished
    assert np.array_equal(outcome.arrays["y"], given)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_it_rests_on_is_said(name: str) -> None:
    report = str(check(parse(PROGRAMS[name])))
    assert "safe" in report
    assert "; what only some threads of an agent do is ordered with what its others do" in report


WAIT = "  nvvm.mbarrier.try_wait.parity %full, %zero, %ticks : !llvm.ptr<3>, i32, i32\n"
INIT, EXPECT = "\n    nvvm.mbarrier.init", "\n  nvvm.mbarrier.arrive.expect_tx"
WRONG = {
    "an arrival a warp": ("cp.async", "arith.constant 64", "arith.constant 2", "more arrivals"),
    "one thread too many": ("cp.async", "arith.constant 64", "arith.constant 65", "64 of 65 arrivals"),
    "no wait": ("cp.async", WAIT, "", "race"),
    "no meeting": ("cp.async", "  nvvm.barrier0\n", "", "race"),
    "an init of each thread": ("cp.async", f"%first {{{INIT}", f"%true {{{INIT}", "is made by 64 threads"),
    "fewer bytes": ("TMA", "arith.constant 512", "arith.constant 256", "unsafe"),
    "more bytes": ("TMA", "arith.constant 512", "arith.constant 1024", "512 bytes have come, and 1024 are expected"),
    "no fence behind the init": ("TMA", "    nvvm.fence.mbarrier.init\n", "", "missing-fence"),
    "copies of each thread": ("TMA", f"%first {{{EXPECT}", f"%true {{{EXPECT}", "more arrivals"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    program, old, new, said = WRONG[name]
    assert old in PROGRAMS[program]
    text = PROGRAMS[program].replace(old, new).replace("  %c0 =", "  %true = arith.constant true\n  %c0 =", 1)
    report = str(check(parse(text)))
    assert "unsafe" in report
    assert said in report, report


def test_code_that_needs_warps_of_its_own_is_undecided() -> None:
    """A warp that is elected, or shuffles, is no matter of an agent that does tiles."""
    text = COPY.replace("  nvvm.barrier0\n", "  %lane = nvvm.read.ptx.sreg.laneid : i32\n  nvvm.barrier0\n")
    assert "is done by 64 threads together, beside ops of single threads" in str(check(parse(text)))
