"""
What the tests of MaterializeAsync share: running it, comparing what programs mean before and after, and programs.

Programs over arrays are made by `program`, programs over one pipeline by `single_agent`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp, ProduceOneAsyncOp
from tileas_xdsl.machine.parts.rings import Rings
from tileas_xdsl.machine.running import Outcome, run

PASS = "tileas-materialize-async"
ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(3))]
TRIPS = (0, 1, 2, 3, 7)


# Running and comparing ------------------------------------------------------------------------------------------------


def materialized(text: str, spec: str = PASS) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(parse(text), spec)


def ops_of(module: Operation, *kinds: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kinds)]


def attribute(op: Operation, name: str) -> Any:
    """The number or string in an attribute."""
    entry: Any = op.attributes[name]
    return entry.value.data if isinstance(entry, IntegerAttr) else entry.data


def loops_of(module: Operation) -> list[scf.ForOp]:
    return [op for op in module.walk() if isinstance(op, scf.ForOp)]


def staged_names(module: Operation) -> list[str | None]:
    """The names of the tiles that are loaded inside produce ops."""
    return [
        result.name_hint
        for op in module.walk()
        if isinstance(op, ProduceOneAsyncOp)
        for inner in op.walk()
        if "load" in inner.name or "queue.get" in inner.name
        for result in inner.results[:1]
    ]


def turns(outcome: Outcome) -> list[list[tuple[str, int, int, int]]]:
    """For each pipeline that the program creates itself: the (side, stage, slot, phase) of its turns, by side."""
    rings = [ring for ring in outcome.machine.part(Rings).made if isinstance(ring.op, CreatePipelineOp)]
    return [sorted(ring.log) for ring in rings]


def assert_kept(before: ModuleOp, after: ModuleOp, arguments: dict[str, Any]) -> None:
    """Equal numbers and turns under every order, and no violations."""
    for order, seed in ORDERS:
        fresh = [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()} for _ in range(2)]
        first, second = (
            run(module, "f", given, order=order, seed=seed)
            for module, given in zip((before, after), fresh, strict=True)
        )
        assert second.violations == (), f"{arguments}\n{print_custom(after)}"
        for name, array in first.arrays.items():
            assert array.tobytes() == second.arrays[name].tobytes(), f"{name}, {order}\n{print_custom(after)}"
        assert turns(first) == turns(second)


def assert_meaning_and_idempotence(
    text: str, trips: tuple[int, ...] = TRIPS, spec: str = PASS, verdict: Verdict = Verdict.SAFE, **given: Any
) -> ModuleOp:
    """The pass keeps what `@f(%n: index, ...)` means, leaves it safe, and does nothing the second time."""
    before, after = parse(text), materialized(text, spec)
    for n in trips:
        assert_kept(before, after, {"n": n, **given})
    report = check(after, "f", trip_counts=trips)
    assert report.verdict is verdict, f"{report}\n{print_custom(after)}"
    once = print_custom(after)
    assert print_custom(run_passes(after, PASS)) == once
    return after


def tagged(module: ModuleOp, stages: int) -> ModuleOp:
    """Tag the ops of the only loop by hand: producers in stage 0, all from the wait on in the last one."""
    (loop,) = loops_of(module)
    for op in loop.body.block.ops:
        entry = op.attributes.get("pipeline_stage")
        if isinstance(entry, IntegerAttr):
            stage = (stages - 1) * entry.value.data
            op.attributes |= {"stage": IntegerAttr(stage, i32), "iter_offset": IntegerAttr(-stage, i32)}
    return module


# Programs -------------------------------------------------------------------------------------------------------------


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


ARRAYS = {"a": numbers(4, 64), "b": numbers(64, 4, seed=1), "out": np.zeros((4, 4), np.float32)}


def program(body: str, *, bounds: str = "%c0 to %n step %c1", before: str = "", arguments: str = "") -> str:
    """
    A loop over 4x4 tiles of `%a` and `%b` with an accumulator `%acc`, which `%next` follows; the sum goes to `%out`.
    """
    constants = "\n".join(f"  %c{k} = arith.constant {k} : index" for k in range(4))
    return f"""
#smem = #nv_tileas.layout<smem>
!tile = tensor<4x4xf32>
!shared = tensor<4x4xf32, #smem>
func.func @f(%n: index, %a: memref<4x64xf32>, %b: memref<64x4xf32>, %out: memref<4x4xf32>{arguments}) {{
{constants}
  %zero = arith.constant dense<0.0> : !tile
{before}
  %sum = scf.for %i = {bounds} iter_args(%acc = %zero) -> (!tile) {{
{body}
    scf.yield %next : !tile
  }}
  nv_tileaa.tiled_store %out[%c0, %c0], %sum : (memref<4x4xf32>, !tile, index, index) -> ()
  func.return
}}"""


LOAD_A = "    %x = nv_tileaa.tiled_load %a[%c0, %i] : (memref<4x64xf32>, index, index) -> !shared"
LOAD_B = "    %y = nv_tileaa.tiled_load %b[%i, %c0] : (memref<64x4xf32>, index, index) -> !shared"
DOT = "    %next = nv_tileaa.dot %x, %y, %acc : (!shared, !shared, !tile) -> !tile"
PRODUCT = "\n".join([LOAD_A, LOAD_B, DOT])
SCALED_BOUNDS = """  %twice = arith.muli %n, %c2 : index
  %end = arith.addi %twice, %c1 : index"""


# One pipeline ---------------------------------------------------------------------------------------------------------


SMEM, REGISTERS = "tensor<4xf32, #smem>", "tensor<4xf32>"
BUFFER = np.zeros(4, np.float32)


def created(producer: str, consumer: str, depth: int) -> str:
    """A pipeline between two ends of one agent."""
    return f"""  %{producer}, %{consumer} = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  }} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)"""


def single_agent(body: str, *, depth: int = 2, before: str = "", behind: str = "", payload: str = REGISTERS) -> str:
    """A loop over one pipeline `%p`, `%c` of `!slot`s, with a tile `%t` for each iteration and a sum `%next`."""
    return f"""
#smem = #nv_tileas.layout<smem>
!slot = {payload}
!tile = tensor<4xf32>
!p = !nv_tileas.producer_token
!c = !nv_tileas.consumer_token
func.func @f(%n: index, %out: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : !tile
{created("p", "c", depth)}
{before}
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (!tile) {{
    %i32 = arith.index_cast %i : index to i32
    %value = arith.sitofp %i32 : i32 to f32
    %spread = nv_tileaa.splat %value : (f32) -> !tile
    %t = arith.addf %spread, %x : !tile
{body}
    scf.yield %next : !tile
  }}
{behind}
  nv_tileaa.store %out[%c0], %sum : (memref<4xf32>, !tile, index) -> ()
  func.return
}}"""


PRODUCE = """    %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {producer_types = [!slot]} {
    ^bb0(%slot: !slot):
      nv_tileas.async.pipeline.yield %t : (!slot) -> ()
    } : (!p, index) -> !p"""
PRODUCE_BY_STEPS = """    %p1 = nv_tileas.async.pipeline.produce_one %p, %i {
      %own = nv_tileas.async.pipeline.producer_acquire %p, %i : (!p, index) -> !p
      %full = nv_tileas.async.pipeline.producer_write %own, %i, %t : (!p, index, !slot) -> !p
      %published = nv_tileas.async.pipeline.producer_commit %full : (!p) -> !p
      nv_tileas.async.pipeline.yield : () -> ()
    } : (!p, index) -> !p"""


# The examples ---------------------------------------------------------------------------------------------------------


def gemm(trips: int) -> dict[str, Any]:
    generator = np.random.default_rng(trips)
    columns = 64 * max(trips, 1)
    return {
        "a": generator.integers(-4, 4, (128, columns)).astype(np.float16),
        "b": generator.integers(-4, 4, (columns, 128)).astype(np.float16),
        "c": np.zeros((128, 128), np.float32),
        "n": trips,
    }


def attention(trips: int) -> dict[str, Any]:
    generator = np.random.default_rng(trips)
    keys = 64 * max(trips, 1)
    return {
        "q": generator.standard_normal((64, 64)).astype(np.float16),
        "kt": generator.standard_normal((64, keys)).astype(np.float16),
        "v": generator.standard_normal((keys, 64)).astype(np.float16),
        "o": np.zeros((64, 64), np.float32),
        "n": trips,
    }
