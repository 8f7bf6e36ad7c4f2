"""
Copies that the threads of a block share: each writes a part of the buffer, and reads what others wrote.

The text of one thread does not show that a buffer is written in whole before it is read. A buffer that is allocated in
the body of the loop needs no such proof; for one that stands before the loop, the refusal says so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.ir import ROOT, parse, run_passes
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.machine.running import run

REPORTED = ROOT / "tests" / "reported"
THREADS = 4

COPIES = """
func.func @kernel(%A: memref<?x4xf32>, %C: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %tid = gpu.thread_id x
  {before}
  scf.for %k = %c0 to %n step %c1 {
    {inside}
    async_queue.block {
      %v = memref.load %A[%k, %tid] : memref<?x4xf32>
      memref.store %v, %T[%tid] : memref<4xf32, 3>
    }
    async_queue.block {
      %other = arith.subi %c3, %tid : index
      %v = memref.load %T[%other] : memref<4xf32, 3>
      memref.store %v, %C[%k, %tid] : memref<?x4xf32>
    }
  } {software_pipeline_stage = array<i64: 0, 2>, software_pipeline_order = array<i64: 0, 1>,
     software_pipeline_async_stages = array<i64: 0>}
  func.return
}"""
ALLOCATION = "%T = memref.alloc() : memref<4xf32, 3>"


def copies(*, before: bool) -> str:
    text = COPIES.replace("{before}", ALLOCATION if before else "")
    return text.replace("{inside}", "" if before else ALLOCATION)


@pytest.mark.parametrize(
    "text",
    [copies(before=True), (REPORTED / "cooperative_copies.mlir").read_text()],
    ids=["mirrored row", "cooperative_copies"],
)
def test_a_buffer_before_the_loop_is_refused_with_the_way_out(text: str) -> None:
    module = parse(text)
    with pytest.raises(RefusedError, match=r"allocate %\w+ in the body of the loop, which gives each iteration a buf"):
        run_passes(module, "inject-software-pipeline")
    assert str(module) == str(parse(text))


def test_what_one_thread_does_alone_keeps_its_way_out() -> None:
    alone = copies(before=True).replace("%tid = gpu.thread_id x", "%tid = arith.addi %n, %c0 : index")
    with pytest.raises(RefusedError, match="write all of the buffer in each iteration before reading it, or put both"):
        run_passes(parse(alone), "inject-software-pipeline")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_the_way_out_works(count: int) -> None:
    """By numbers, on the threads of a block: each thread reads what another one has copied, some turns later."""
    module = run_passes(parse(copies(before=False)), "inject-software-pipeline,convert-queue-to-nvvm")
    assert "cp.async" in str(module)
    rows = np.arange(count * 4, dtype=np.float32).reshape(count, 4)
    for order, seed in (("eager", 0), ("lazy", 0), ("random", 1), ("random", 2)):
        given = {"A": rows, "C": np.zeros_like(rows), "n": count}
        outcome = run(module, None, given, order=order, seed=seed, threads=THREADS)
        assert outcome.finished
        assert outcome.violations == ()
        assert np.array_equal(outcome.arrays["C"], rows[:, ::-1])


def test_the_way_out_works_for_a_product_of_128_threads() -> None:
    """Vectors of four, three stages, and a predicate on the ragged end."""
    text = Path(REPORTED / "cooperative_copies_in_the_body.mlir").read_text()
    module = run_passes(parse(text), "inject-software-pipeline,convert-queue-to-nvvm")
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((64, 512), (512, 64)))
    given = {"A": a, "B": b, "C": np.zeros((64, 64), np.float32), "n": 1}
    outcome = run(module, None, given, threads=128)
    assert outcome.violations == ()
    assert np.array_equal(outcome.arrays["C"], a[:, :8] @ b[:8])
