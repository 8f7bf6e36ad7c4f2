"""
What nobody needs goes, and nothing else: numbers stay, programs stay safe, and every wait that is left is needed or has
its reason.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.corpora import each
from tests.support.ir import example, parse, print_custom, run_passes, through
from tests.support.materialize_async import ARRAYS, DOT, LOAD_A, LOAD_B, ORDERS, PRODUCT, assert_kept, program
from tests.support.random_tile_kernels import assert_right_and_safe, random_kernel
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp
from tileas_xdsl.machine.running import run

PASS = "tileas-remove-dead-work"
QUEUES = f"tileas-queue-to-pipeline,tileas-materialize-async,tileas-optimize-pipeline-region,{PASS}"
LOOPS = f"tileas-materialize-async,tileas-unspecialized-pipeline{{num-stages=2}},tileas-optimize-pipeline-region,{PASS}"


def waits(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, AsyncWaitOp | FutureWaitOp)]


# Waits ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "spec", "left"),
    [
        ("gemm_loop", LOOPS, 0),
        ("gemm_loop", "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}", 0),
        ("gemm_loop", "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}", 1),
        ("gemm_queue", QUEUES, 0),
        ("gemm_queue", "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}", 0),
        ("gemm_queue", "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}", 0),
        ("attention_queue", QUEUES, 0),
    ],
)
def test_no_wait_is_left_that_the_checker_calls_needless_but_those_with_a_reason(
    name: str, spec: str, left: int
) -> None:
    """A product is awaited before its slots are given back, be it for the last time."""
    module = through(example(name), spec)
    report = check(module)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    found = [over.relaxation.op for over in report.warnings]
    assert len(found) == left, [str(op) for op in found]
    assert all(_is_before_a_release(op) for op in found)


def _is_before_a_release(op: Operation) -> bool:
    return op.next_op is not None and op.next_op.name.endswith("consumer_release")


def more(text: str) -> str:
    """The producer fills for `%m` turns, the consumer takes for `%n`."""
    return text.replace("%n: index", "%n: index, %m: index").replace("%k = %c0 to %n", "%k = %c0 to %m", 1)


def stores_behind(array: str, element: str) -> Callable[[str], str]:
    """The producer stores a tile of zeros into `array` behind its loop."""
    tile = f"tensor<128x64x{element}>"
    ops = [
        "    }",
        f"    %z = arith.constant dense<0.0> : {tile}",
        f"    nv_tileaa.tiled_store {array}[%row, %row], %z : (memref<?x?x{element}>, {tile}, index, index) -> ()",
        "  }, {",
    ]
    return lambda text: text.replace("    }\n  }, {", "\n".join(ops))


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda text: text, 0),
        (more, 1),
        (stores_behind("%c", "f32"), 0),
        (stores_behind("%a", "f16"), 1),
    ],
    ids=["all is taken", "other bounds", "a store behind", "a store into what it reads"],
)
def test_an_agent_that_fills_waits_behind_its_loop_unless_others_take_it_all(
    change: Callable[[str], str], left: int
) -> None:
    text = change(example("gemm_queue"))
    module = through(text, QUEUES)
    producer = next(op for op in module.walk() if isinstance(op, AgentSwitchOp)).agent_regions[0]
    assert sum(isinstance(op, AsyncWaitOp) for op in producer.block.ops) == left, print_custom(module)


LATE = """    %q, %done = nv_tileas.async.dot %x, %y, %acc : (!shared, !shared, !tile) -> (!tile, !nv_tileas.token)
    nv_tileas.async.wait %done : (!nv_tileas.token) -> ()
    %next = arith.addf %q, %acc : !tile"""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (program(PRODUCT), 0),
        (program(f"{LOAD_A}\n{DOT.replace('%y', '%x')}"), 0),
        (program(f"{LOAD_A}\n{LOAD_B}\n{LATE}"), 3),
    ],
    ids=["two loads", "one load", "an asynchronous reader"],
)
def test_waits_for_stages_that_are_read_at_once_go(text: str, left: int) -> None:
    """A product that reads a stage later on is awaited, and so are the reads, in the loop and behind it."""
    road, _, _ = LOOPS.partition(",")
    module = through(text, f"{road},{PASS}")
    assert len(waits(module)) == left, print_custom(module)
    for n in (0, 1, 2, 5):
        assert_kept(parse(text), module, {"n": n, **ARRAYS})
    assert check(module, "f").verdict is Verdict.SAFE


BETWEEN = """
func.func @f(%a: memref<4x4xf32>, %new: tensor<4x4xf32>) {{
  %c0 = arith.constant 0 : index
  %p, %f = nv_tileas.async.pipeline.produce_one_async %c0 attributes {{producer_types = [tensor<4x4xf32>]}} {{
  ^bb0(%slot: tensor<4x4xf32>):
    %x = nv_tileaa.tiled_load %a[%c0, %c0] : (memref<4x4xf32>, index, index) -> tensor<4x4xf32>
    nv_tileas.async.pipeline.yield %x : (tensor<4x4xf32>) -> ()
  }} : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)
  %d = nv_tileas.async.pipeline.producer_commit %f : (!nv_tileas.token) -> !nv_tileas.token
  %s = nv_tileas.async.token_to_async %d : (!nv_tileas.token) -> !nv_tileas.token
  nv_tileas.async.wait %s : (!nv_tileas.token) -> ()
  {store}
  %h = nv_tileas.async.pipeline.consume_one %f attributes {{consumer_types = [tensor<4x4xf32>]}}
    : (!nv_tileas.token) -> !nv_tileas.token
  %v = nv_tileas.async.pipeline.consumer_read %h : (!nv_tileas.token) -> tensor<4x4xf32>
  nv_tileas.async.pipeline.consumer_release %h : (!nv_tileas.token) -> ()
  func.return
}}"""
STORE = "nv_tileaa.tiled_store %a[%c0, %c0], %new : (memref<4x4xf32>, tensor<4x4xf32>, index, index) -> ()"


@pytest.mark.parametrize(("store", "left"), [("", 0), (STORE, 1)], ids=["nothing between", "a store to its source"])
def test_a_wait_that_a_store_relies_on_stays(store: str, left: int) -> None:
    module = through(BETWEEN.format(store=store), PASS)
    assert len(waits(module)) == left
    assert check(module, "f").verdict is Verdict.SAFE, str(check(module, "f"))


# Dead ops -------------------------------------------------------------------------------------------------------------

DEAD = """
#smem = #nv_tileas.layout<smem>
!i = tensor<8x4xf32>
!a = tensor<8x4xf16, #smem>
!b = tensor<4x8xf16, #smem>
!c = tensor<8x8xf32>
!q = !nv_tileaa.queue<[!a, !b], depth = 2>
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q {
      ^bb0(%s0: !a, %s1: !b):
        %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf32>, index, index) -> !i
        %dead = arith.mulf %at, %at : !i
        %worse = arith.mulf %dead, %at : !i
        %f = arith.truncf %at : !i to tensor<8x4xf16>
        %as = nv_tileas.convert_layout %f : (tensor<8x4xf16>) -> !a
        %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
        nv_tileaa.queue.yield %as, %bt : (!a, !b) -> ()
      } : (!q) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !c
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %zero) -> (!c) {
      %s = nv_tileaa.queue.get %q {
      ^bb0(%at: !a, %bt: !b):
        %s1 = nv_tileaa.dot %at, %bt, %x : (!a, !b, !c) -> !c
        nv_tileaa.queue.yield %s1 : (!c) -> ()
      } : (!q) -> !c
      scf.yield %s : !c
    }
    nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}"""


@pytest.mark.parametrize("strategy", ["warp-specialize", "unspecialize"])
def test_the_driver_leaves_no_dead_work_in_the_region_of_a_put(strategy: str) -> None:
    before, module = parse(DEAD), through(DEAD, f"tileir{{compute-capability=sm_90 pipeline-strategy={strategy}}}")
    assert "mulf" not in print_custom(module)
    draw = np.random.default_rng(3)
    for n in (0, 1, 2, 3, 6):
        given = {
            "a": draw.integers(-2, 3, (8, 4 * max(n, 1))).astype(np.float32),
            "b": draw.integers(-2, 3, (4 * max(n, 1), 8)).astype(np.float16),
            "c": np.zeros((8, 8), np.float32),
            "n": n,
        }
        for order, seed in ORDERS:
            first, second = (run(each, "f", given, order=order, seed=seed) for each in (before, module))
            assert second.violations == ()
            assert first.arrays["c"].tobytes() == second.arrays["c"].tobytes()
    assert check(module, "f").verdict is Verdict.SAFE


KEPT = """
func.func @f(%x: f32, %ok: i1, %m: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  cf.assert %ok, "stays"
  memref.store %x, %m[%c0] : memref<1xf32>
  scf.while : () -> () {
    scf.condition(%ok)
  } do {
    scf.yield
  }
  %forever = scf.while (%y = %x) : (f32) -> f32 {
    scf.condition(%ok) %y : f32
  } do {
  ^bb0(%y: f32):
    scf.yield %y : f32
  }
  func.return
}"""


def test_what_has_an_effect_or_may_not_end_stays() -> None:
    assert print_custom(through(KEPT, PASS)) == print_custom(parse(KEPT))


def test_dead_loops_and_branches_go_with_all_that_they_need() -> None:
    text = """
func.func @f(%x: f32, %ok: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = arith.addf %x, %x : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %y) -> (f32) {
    %s = arith.mulf %acc, %y : f32
    scf.yield %s : f32
  }
  %b = scf.if %ok -> (f32) {
    scf.yield %r : f32
  } else {
    scf.yield %y : f32
  }
  func.return
}"""
    assert [op.name for op in through(text, PASS).walk()] == ["builtin.module", "func.func", "func.return"]


@each("seed", range(200), 6, slow=(68, 116, 165))
def test_random_kernels_are_right_without_it_and_with_it(seed: int) -> None:
    """The compact form, which the driver does not expand: waits in the loop go where consumers wait themselves."""
    source = random_kernel(seed)
    module = through(source, f"tileas-materialize-async,{PASS}")
    assert_right_and_safe(module, source, (0, 1, 3), seed)
    assert print_custom(run_passes(module.clone(), PASS)) == print_custom(module)
