"""The region shrinker: refusals that no verified text can show, idempotence, meaning, and its cost."""

from __future__ import annotations

import gc
import random
from time import process_time

import pytest
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from tests.support.ir import context, parse, print_custom, run_passes
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumeOneOp
from tileas_xdsl.machine.parts.rings import Rings
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.optimize_pipeline_region import OptimizePipelineRegionPass

PASS = "tileas-optimize-pipeline-region"


def consumer(body: str, yielded: str) -> str:
    return f"""
func.func @f(%t: !nv_tileas.token, %x: f32) {{
  %r = nv_tileas.async.pipeline.consume_one %t {{
{body}
    nv_tileas.async.pipeline.yield {yielded} : (f32) -> ()
  }} : (!nv_tileas.token) -> f32
  "test.op"(%r) : (f32) -> ()
  func.return
}}"""


def chain(length: int, seed: int) -> str:
    """A body of `length` ops of which about half lead to the last one."""
    generator = random.Random(seed)
    lines, live = [], "%x"
    for number in range(length):
        alive = generator.random() < 0.5 or number == length - 1
        lines.append(f"    %v{number} = arith.addf {live}, %x : f32")
        if alive:
            live = f"%v{number}"
    return consumer("\n".join(lines), live)


def test_op_with_properties_is_refused_and_left_alone() -> None:
    """An op with properties does not verify; only code that builds one with verification off gets here."""
    module = parse(consumer("    %dead = arith.subf %x, %x : f32", "%x"))
    op = next(op for op in module.walk() if isinstance(op, ConsumeOneOp))
    op.properties["left_over"] = UnitAttr()
    before = print_custom(module)
    with pytest.raises(
        RefusedError, match=r"'nv_tileas\.async\.pipeline\.consume_one' op has properties \(left_over\)"
    ):
        OptimizePipelineRegionPass().apply(context(), module)
    assert print_custom(module) == before


def test_region_that_is_its_own_slice_is_untouched() -> None:
    module = parse(consumer("    %y = arith.addf %x, %x : f32", "%y"))
    op = next(op for op in module.walk() if isinstance(op, ConsumeOneOp))
    run_passes(module, PASS)
    assert next(inner for inner in module.walk() if isinstance(inner, ConsumeOneOp)) is op


@pytest.mark.parametrize("seed", range(10))
def test_second_run_changes_nothing(seed: int) -> None:
    once = run_passes(parse(chain(40, seed)), PASS)
    text = print_custom(once)
    assert print_custom(run_passes(once, PASS)) == text


def test_siblings_and_nests_are_shrunk_back_to_front() -> None:
    """The inner region of the outer op loses its dead op, and so does the sibling that comes after."""
    text = """
func.func @f(%t: !nv_tileas.token, %x: f32) {
  nv_tileas.async.pipeline.consume_one %t {
    %dead = arith.subf %x, %x : f32
    nv_tileas.async.pipeline.consume_one %t {
      %dead_inside = arith.mulf %x, %x : f32
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!nv_tileas.token) -> ()
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.token) -> ()
  nv_tileas.async.pipeline.consume_one %t {
    %dead_behind = arith.divf %x, %x : f32
    nv_tileas.async.pipeline.yield : () -> ()
  } : (!nv_tileas.token) -> ()
  func.return
}"""
    printed = print_custom(run_passes(parse(text), PASS))
    assert "dead" not in printed
    assert printed.count("consume_one") == 3


WORKING = """
func.func @f(%n: index, %out: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %p, %t = nv_tileas.async.pipeline.produce_one_async %i attributes {producer_types = [f32]}
      : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
    %r = nv_tileas.async.pipeline.consume_one %t attributes {consumer_types = [f32]} {
    ^bb0(%slot: f32):
      %square = arith.mulf %slot, %slot : f32
      %dead = arith.subf %slot, %square : f32
      %loaded = memref.load %out[%i] : memref<16xf32>
      %sum = arith.addf %square, %slot : f32
      memref.store %square, %out[%i] : memref<16xf32>
      nv_tileas.async.pipeline.yield %sum : (f32) -> ()
    } : (!nv_tileas.token) -> f32
    %old = memref.load %out[%i] : memref<16xf32>
    %new = arith.addf %old, %r : f32
    memref.store %new, %out[%i] : memref<16xf32>
  }
  func.return
}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 7])
@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_meaning_is_kept(trips: int, order: str) -> None:
    before, after = parse(WORKING), run_passes(parse(WORKING), PASS)
    assert "%dead" not in print_custom(after)
    assert "%loaded" not in print_custom(after)
    runs = [run(module, "f", {"n": trips}, order=order) for module in (before, after)]
    assert (runs[0].arrays["out"] == runs[1].arrays["out"]).all()
    assert all(outcome.violations == () for outcome in runs)
    assert runs[0].machine.part(Rings).made == [] or (
        runs[0].machine.part(Rings).made[0].log == runs[1].machine.part(Rings).made[0].log
    )


def seconds_to_shrink(ops: int) -> tuple[float, float]:
    """Seconds that the pass and xDSL's verifier take on a region of `ops` ops, half of them dead."""
    module: ModuleOp = parse(chain(ops, 0))
    gc.collect()
    gc.disable()
    try:
        start = process_time()
        module.verify()
        verified = process_time()
        OptimizePipelineRegionPass().apply(context(), module)
        return process_time() - verified, verified - start
    finally:
        gc.enable()


def test_shrinking_is_linear_and_cheaper_than_verifying() -> None:
    small, _ = min(seconds_to_shrink(1_000) for _ in range(3))
    large, verify = min(seconds_to_shrink(10_000) for _ in range(3))
    assert large / small <= 20
    assert large < verify
