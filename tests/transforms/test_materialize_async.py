"""
MaterializeAsync by meaning: equal numbers under every order, safe, idempotent; which loads become stages and which
stay; what is refused, and that nothing was touched then. The text of what it makes is the subject of
`tests/filecheck/transforms/materialize-async.mlir`; pipelines that are there before, of
`test_materialize_async_regions.py`; what becomes of it, of `test_materialize_async_pipelined.py`.
"""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tests.support import tile_loops
from tests.support.corpora import each
from tests.support.ir import ROOT, chunks, context, parse, print_custom, print_generic, run_passes
from tests.support.materialize_async import (
    ARRAYS,
    DOT,
    LOAD_A,
    LOAD_B,
    PASS,
    PRODUCT,
    SCALED_BOUNDS,
    assert_kept,
    assert_meaning_and_idempotence,
    attribute,
    loops_of,
    materialized,
    numbers,
    ops_of,
    program,
    staged_names,
)
from tests.support.tile_loops import tile_loop_program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import PASS_STATUS, RefusedError, Severity, failed_softly, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReleaseOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import ToAsyncOp
from tileas_xdsl.transforms.tileas.materialize_async import MaterializeAsyncPass
from tileas_xdsl.transforms.tileas.materialize_async.patterns import AsyncWaitOpRemoval, ExtractSliceOpToAsync
from tileas_xdsl.transforms.tileas.materialize_async.plan import NOT_PIPELINABLE, TOKEN_ITER_IDX
from tileas_xdsl.transforms.tileas.materialize_async.reconcile import TWO_WRITERS

FOLDER = ROOT / "tests" / "filecheck" / "transforms"


# Load chains ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", ["%c0 to %n step %c1", "%c1 to %end step %c2", "%c3 to %end step %c3"])
def test_product_keeps_its_meaning(bounds: str) -> None:
    after = assert_meaning_and_idempotence(program(PRODUCT, bounds=bounds, before=SCALED_BOUNDS), **ARRAYS)
    assert staged_names(after) == ["x", "y"]


def test_one_commit_one_release_and_a_stage_on_every_produce_and_consume_op() -> None:
    after = materialized(program(PRODUCT))
    assert Counter(type(op) for op in after.walk() if isinstance(op, (ProducerCommitOp, ConsumerReleaseOp))) == {
        ProducerCommitOp: 1,
        ConsumerReleaseOp: 1,
    }
    stages = [
        (type(op), attribute(op, "pipeline_stage"))
        for op in ops_of(after, ProduceOneAsyncOp, ConsumeOneOp, ConsumeOneAsyncOp)
    ]
    assert stages == [(ProduceOneAsyncOp, 0)] * 2 + [(ConsumeOneOp, 1), (ConsumeOneAsyncOp, 1)] * 2
    assert len(ops_of(after, ToAsyncOp)) == 4


CHAINS = {
    "through views and slices": (
        LOAD_A
        + """
    %flat = nv_tileaa.view %x : (!shared) -> tensor<2x8xf32, #smem>
    %half = nv_tileaa.extract_slice %flat[%c0, %c0] : (tensor<2x8xf32, #smem>, index, index) -> tensor<2x8xf32, #smem>
    %y = nv_tileaa.view %half : (tensor<2x8xf32, #smem>) -> !shared
    %next = nv_tileaa.dot %y, %y, %acc : (!shared, !shared, !tile) -> !tile""",
        ["x"],
    ),
    "through a layout conversion": (
        LOAD_A
        + """
    %r = nv_tileas.convert_layout %x : (!shared) -> !tile
    %next = arith.addf %r, %acc : !tile""",
        ["x"],
    ),
    "used in a branch, through its result": (
        LOAD_A
        + """
    %first = arith.cmpi eq, %i, %c1 : index
    %z = scf.if %first -> (!shared) {
      scf.yield %x : !shared
    } else {
      %y = nv_tileaa.tiled_load %b[%i, %c0] : (memref<64x4xf32>, index, index) -> !shared
      scf.yield %y : !shared
    }
    %next = nv_tileaa.dot %z, %z, %acc : (!shared, !shared, !tile) -> !tile""",
        ["x"],
    ),
    "in registers, and carried on as a value": (
        """    %x = nv_tileaa.tiled_load %a[%c0, %i] : (memref<4x64xf32>, index, index) -> !tile
    %next = arith.addf %x, %acc : !tile""",
        ["x"],
    ),
    "plain loads at element indices": (
        """    %row = arith.muli %i, %c2 : index
    %x = nv_tileaa.load %a[%c0, %row] : (memref<4x64xf32>, index, index) -> !shared
    %col = arith.addi %row, %c1 : index
    %y = nv_tileaa.load %b[%col, %c0] : (memref<64x4xf32>, index, index) -> !shared
"""
        + DOT,
        ["x", "y"],
    ),
    "one tile used twice, early and late": (
        LOAD_A
        + "\n"
        + LOAD_B
        + """
    %square = nv_tileaa.dot %x, %x, %acc : (!shared, !shared, !tile) -> !tile
    %next = nv_tileaa.dot %y, %x, %square : (!shared, !shared, !tile) -> !tile""",
        ["x", "y"],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name: str) -> None:
    body, staged = CHAINS[name]
    after = assert_meaning_and_idempotence(program(body), **ARRAYS)
    assert staged_names(after) == staged


def test_release_stands_behind_the_last_use_of_any_view() -> None:
    after = materialized(program(CHAINS["used in a branch, through its result"][0]))
    (release,) = ops_of(after, ConsumerReleaseOp)
    assert release.prev_op is not None
    assert release.prev_op.name == "nv_tileaa.dot"


KEPT_SYNCHRONOUS = {
    "the loop stores to what it loads from": (
        LOAD_A.replace("%a", "%out").replace("4x64", "4x4").replace("[%c0, %i]", "[%c0, %c0]")
        + "\n"
        + LOAD_B
        + "\n"
        + DOT
        + "\n    nv_tileaa.tiled_store %out[%c0, %c0], %next : (memref<4x4xf32>, !tile, index, index) -> ()",
        ["y"],
    ),
    "a view of the tile is carried to the next iteration": (
        LOAD_A
        + """
    %y, %last = scf.for %j = %c0 to %c2 step %c1 iter_args(%p = %x, %q = %x) -> (!shared, !shared) {
      %z = nv_tileaa.tiled_load %a[%c0, %j] : (memref<4x64xf32>, index, index) -> !shared
      %s = nv_tileaa.dot %p, %z, %zero : (!shared, !shared, !tile) -> !tile
      scf.yield %z, %p : !shared, !shared
    }
    %next = nv_tileaa.dot %y, %last, %acc : (!shared, !shared, !tile) -> !tile""",
        ["x"],
    ),
    "its place depends on another load": (
        """    %table = nv_tileaa.load %places[%i] : (memref<16xi32>, index) -> tensor<1xi32>
    %place32 = nv_tileaa.extract %table[%c0] : (tensor<1xi32>, index) -> i32
    %place = arith.index_cast %place32 : i32 to index
    %x = nv_tileaa.tiled_load %a[%c0, %place] : (memref<4x64xf32>, index, index) -> !shared
    %next = nv_tileaa.dot %x, %x, %acc : (!shared, !shared, !tile) -> !tile""",
        ["table"],
    ),
    "its memory token orders others": (
        """    %t0 = nv_tileaa.create_mem_token : () -> !nv_tileaa.mem_token
    %x, %t1 = nv_tileaa.tiled_load %a[%c0, %i] token(%t0)
      : (memref<4x64xf32>, index, index, !nv_tileaa.mem_token) -> (!shared, !nv_tileaa.mem_token)
    %y, %t2 = nv_tileaa.tiled_load %b[%i, %c0] token(%t1)
      : (memref<64x4xf32>, index, index, !nv_tileaa.mem_token) -> (!shared, !nv_tileaa.mem_token)
"""
        + DOT,
        ["y"],
    ),
}


@pytest.mark.parametrize("name", KEPT_SYNCHRONOUS)
def test_load_that_stays_synchronous(name: str) -> None:
    body, staged = KEPT_SYNCHRONOUS[name]
    arguments = ", %places: memref<16xi32>" if "%places" in body else ""
    given: dict[str, Any] = {**ARRAYS, "places": np.arange(16, dtype=np.int32)[::-1]} if arguments else ARRAYS
    after = assert_meaning_and_idempotence(program(body, arguments=arguments), **given)
    assert [name for name in staged_names(after) if name != "z"] == staged


COPY_B = """    %done = nv_tileas.async.tiled_load %b[%i, %c0], %buffer
      : (memref<64x4xf32>, !shared, index, index) -> !nv_tileas.token
    nv_tileas.async.wait %done : (!nv_tileas.token) -> ()"""
STORE_B = """    %w = nv_tileaa.tiled_load %b[%i, %c0] : (memref<64x4xf32>, index, index) -> !tile
    nv_tileaa.tiled_store %a[%c0, %i], %w : (memref<4x64xf32>, !tile, index, index) -> ()"""


@pytest.mark.parametrize(
    ("between", "reason"),
    [
        (COPY_B, "'nv_tileas.async.wait' waits for a token of no pipeline, which may stand for a write of anything"),
        (STORE_B, "'nv_tileaa.tiled_store' may write what it reads"),
    ],
)
def test_load_that_stays_synchronous_is_named_with_the_reason(between: str, reason: str) -> None:
    buffer = "  %buffer = nv_tileas.alloc_tensor : () -> !shared"
    product = "    %next = nv_tileaa.dot %x, %buffer, %acc : (!shared, !shared, !tile) -> !tile"
    module = parse(program(f"{LOAD_A}\n{between}\n{product}", before=buffer))
    before = print_custom(module)
    with recorded_diagnostics() as said:
        run_passes(module, PASS)
    assert [(remark.severity, remark.op.name) for remark in said] == [(Severity.REMARK, "nv_tileaa.tiled_load")]
    assert said[0].message == f"stays synchronous: {reason}"
    assert said[0].way_out
    after = print_custom(module).replace(f' attributes {{{PASS_STATUS} = {{"{PASS}" = 4 : i32}}}}', "")
    assert after.replace(f" {{{NOT_PIPELINABLE}}}", "") == before
    with recorded_diagnostics() as again:
        run_passes(module, PASS)
    assert again == [], "the loop is flagged now, and is not looked at again"


# Nests, loops without a chain -----------------------------------------------------------------------------------------


NESTED = """    %w = nv_tileaa.tiled_load %b[%i, %c0] : (memref<64x4xf32>, index, index) -> !shared
    %next = scf.for %j = %c0 to %c3 step %c1 iter_args(%inner = %acc) -> (!tile) {
      %x = nv_tileaa.tiled_load %a[%c0, %j] : (memref<4x64xf32>, index, index) -> !shared
      %r = nv_tileaa.dot %x, %w, %inner : (!shared, !shared, !tile) -> !tile
      scf.yield %r : !tile
    }"""


def test_loops_at_both_levels_are_rewritten() -> None:
    """The outer tile is held over the whole inner loop, and released behind it."""
    after = assert_meaning_and_idempotence(program(NESTED), **ARRAYS)
    assert staged_names(after) == ["w", "x"]
    outer, inner = loops_of(after)
    assert all(TOKEN_ITER_IDX in loop.attributes for loop in (outer, inner))
    outer_release = next(op for op in outer.body.block.ops if isinstance(op, ConsumerReleaseOp))
    ops = list(outer.body.block.ops)
    assert ops.index(outer_release) > ops.index(inner)


WITHOUT_CHAIN = program("""    %next = arith.addf %acc, %acc : !tile""")
COPYING = program("""    %x = nv_tileaa.tiled_load %a[%c0, %i] : (memref<4x64xf32>, index, index) -> !tile
    nv_tileaa.tiled_store %b[%i, %c0], %x : (memref<64x4xf32>, !tile, index, index) -> ()
    %next = arith.addf %acc, %acc : !tile""")
WHILE = """
func.func @f(%n: index, %a: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.while (%i = %c0) : (index) -> index {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%j: index):
    %x = nv_tileaa.tiled_load %a[%c0, %j] : (memref<4x64xf32>, index, index) -> tensor<4x4xf32>
    %y = arith.addf %x, %x : tensor<4x4xf32>
    %k = arith.addi %j, %c1 : index
    scf.yield %k : index
  }
  func.return
}"""


@pytest.mark.parametrize("text", [WITHOUT_CHAIN, COPYING, WHILE])
def test_loop_without_a_chain_is_flagged_in_silence(text: str) -> None:
    before = parse(text)
    with recorded_diagnostics() as said:
        after = run_passes(parse(text), PASS)
    assert said == []
    (loop,) = ops_of(after, scf.ForOp, scf.WhileOp)
    (function,) = after.ops
    assert NOT_PIPELINABLE in loop.attributes
    assert failed_softly(function, PASS)
    once = print_custom(after)
    assert print_custom(run_passes(after, PASS)) == once
    del loop.attributes[NOT_PIPELINABLE], function.attributes[PASS_STATUS]
    assert print_custom(after) == print_custom(before)


def test_loop_around_a_chain_is_not_flagged() -> None:
    text = program("""    %next = scf.for %j = %c0 to %c3 step %c1 iter_args(%inner = %acc) -> (!tile) {
      %x = nv_tileaa.tiled_load %a[%c0, %j] : (memref<4x64xf32>, index, index) -> !shared
      %r = nv_tileaa.dot %x, %x, %inner : (!shared, !shared, !tile) -> !tile
      scf.yield %r : !tile
    }""")
    after = assert_meaning_and_idempotence(text, **ARRAYS)
    assert [NOT_PIPELINABLE in loop.attributes for loop in loops_of(after)] == [False, False]
    assert not failed_softly(next(iter(after.ops)), PASS)


def test_flagged_loop_beside_a_rewritten_one() -> None:
    """The bit says that some loop stays as it is; the others are rewritten all the same."""
    text = program(PRODUCT, before="  scf.for %j = %c0 to %n step %c1 {\n    %u = arith.addi %j, %c1 : index\n  }")
    after = assert_meaning_and_idempotence(text, **ARRAYS)
    assert [NOT_PIPELINABLE in loop.attributes for loop in loops_of(after)] == [True, False]
    assert failed_softly(next(iter(after.ops)), PASS)


# Queues that come from outside ----------------------------------------------------------------------------------------

QUEUE = "!nv_tileaa.queue<[!shared, tensor<4x4xf32>], depth = 3>"
QUEUE_BODIES = {
    "indexed": f"    %x, %y = nv_tileaa.queue.get %q[%i] : ({QUEUE}, index) -> (!shared, !tile)",
    "rotating": f"    %x, %y = nv_tileaa.queue.get %q : ({QUEUE}) -> (!shared, !tile)",
    "with a body": f"""    %x, %y = nv_tileaa.queue.get %q {{
    ^bb0(%s: !shared, %t: !tile):
      %sum = arith.addf %t, %t : !tile
      nv_tileaa.queue.yield %s, %sum : (!shared, !tile) -> ()
    }} : ({QUEUE}) -> (!shared, !tile)""",
}
FROM_QUEUE = "    %next = nv_tileaa.dot %x, %y, %acc : (!shared, !tile, !tile) -> !tile"


@pytest.mark.parametrize("name", QUEUE_BODIES)
def test_get_from_an_outside_queue(name: str) -> None:
    text = program(f"{QUEUE_BODIES[name]}\n{FROM_QUEUE}", arguments=f", %q: {QUEUE}")
    after = assert_meaning_and_idempotence(text, **ARRAYS)
    assert staged_names(after) == ["x"]


def test_gets_of_one_queue_move_together_or_not_at_all() -> None:
    """A get in a branch takes its turn where it stands, so the ones beside it must not pass it."""
    text = program(
        f"""    %first = arith.cmpi eq, %i, %c1 : index
    scf.if %first {{
      %u, %v = nv_tileaa.queue.get %q : ({QUEUE}) -> (!shared, !tile)
    }}
{QUEUE_BODIES["rotating"]}
{LOAD_A.replace("%x", "%z")}
    %mid = nv_tileaa.dot %z, %y, %acc : (!shared, !tile, !tile) -> !tile
{FROM_QUEUE.replace("%acc", "%mid")}""",
        arguments=f", %q: {QUEUE}",
    )
    after = assert_meaning_and_idempotence(text, **ARRAYS)
    assert staged_names(after) == ["z"]


def test_several_gets_of_one_queue_keep_their_order() -> None:
    second = QUEUE_BODIES["rotating"].replace("%x, %y", "%u, %v")
    text = program(
        f"""{QUEUE_BODIES["rotating"]}
    %mid = nv_tileaa.dot %x, %y, %acc : (!shared, !tile, !tile) -> !tile
{second}
    %next = nv_tileaa.dot %u, %v, %mid : (!shared, !tile, !tile) -> !tile""",
        arguments=f", %q: {QUEUE}",
    )
    after = assert_meaning_and_idempotence(text, **ARRAYS)
    assert staged_names(after) == ["x", "u"]


# Refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", chunks(FOLDER / "materialize-async-invalid.mlir"))
def test_refusal_leaves_everything_but_the_status(text: str) -> None:
    before, after = parse(text), parse(text)
    with recorded_diagnostics(), pytest.raises(RefusedError) as refusal:
        run_passes(after, PASS)
    assert all(diagnostic.severity is Severity.ERROR for diagnostic in refusal.value.diagnostics)
    functions = [op for op in after.ops if failed_softly(op, PASS)]
    assert functions
    for function in functions:
        del function.attributes[PASS_STATUS]
    assert print_generic(after) == print_generic(before)


CONFLICTS = [text for text in chunks(FOLDER / "materialize-async-invalid.mlir") if "two `produce-one-like`" in text]


def test_walk_goes_on_and_the_errors_come_together() -> None:
    """Two functions in conflict and one that is fine: two errors at the end, and the third is rewritten."""
    conflict = CONFLICTS[0].partition("func.func @f")[2].partition("// CHECK")[0]
    text = f"func.func @first{conflict}\nfunc.func @second{conflict}" + program(PRODUCT)
    module = parse(text)
    with pytest.raises(RefusedError) as refusal:
        MaterializeAsyncPass().apply(context(), module)
    assert [diagnostic.message for diagnostic in refusal.value.diagnostics] == [TWO_WRITERS, TWO_WRITERS]
    assert str(refusal.value).count(TWO_WRITERS) == 2
    first, second, third = module.ops
    assert [failed_softly(op, PASS) for op in (first, second, third)] == [True, True, False]
    assert staged_names(third) == ["x", "y"]


def test_verbatim_texts() -> None:
    said = (
        "there are two `produce-one-like` operations using different instructions to generate data into the same "
        "pipeline. It's a bug of MaterializeAsync Pass."
    )
    assert said == TWO_WRITERS
    assert AsyncWaitOpRemoval.DEBUG_NAME == "mlir::nv_tile_ir::as::{anonymous}::AsyncWaitOpRemoval]"
    assert ExtractSliceOpToAsync.DEBUG_NAME == "mlir::nv_tile_ir::as::{anonymous}::ExtractSliceOpToAsync]"


def test_status_of_an_earlier_run_is_cleared() -> None:
    module = parse(CONFLICTS[0])
    for _ in range(2):
        with pytest.raises(RefusedError):
            MaterializeAsyncPass().apply(context(), module)
    for op in ops_of(module, *{type(op) for op in module.walk()}):
        if "producer_kind" in op.attributes:
            del op.attributes["producer_kind"]
    for op in list(module.walk()):
        if op.name.endswith("produce_one") and not op.regions[0].blocks:
            op.detach()
            op.erase()
    MaterializeAsyncPass().apply(context(), module)
    assert not failed_softly(next(iter(module.ops)), PASS)


# Everything together --------------------------------------------------------------------------------------------------


@each("seed", range(200), 15)
def test_random_tile_loops(seed: int) -> None:
    """The meaning is kept, also after the result is pipelined in two stages where that is possible."""
    arrays = {name: numbers(16, 16, seed=seed) for name in ("a", "b", "out")}
    text = tile_loop_program(seed)
    after = assert_meaning_and_idempotence(text, tile_loops.TRIPS, **arrays)
    with recorded_diagnostics():
        run_passes(after, "tileas-unspecialized-pipeline{num-stages=2}")
    for n in tile_loops.TRIPS:
        assert_kept(parse(text), after, {"n": n, **arrays})
    assert check(after, "f", trip_counts=tile_loops.TRIPS).verdict is Verdict.SAFE


def test_every_op_has_the_location_of_one_that_was_there() -> None:
    module = parse(program(NESTED))
    places = {op: FileLineColLoc(StringAttr("f"), IntAttr(k), IntAttr(1)) for k, op in enumerate(module.walk())}
    for op, place in places.items():
        op.location = place
    run_passes(module, PASS)
    known = set(places.values())
    assert all(op.location in known for op in module.walk())


# Cost -----------------------------------------------------------------------------------------------------------------


def seconds_for(loads: int) -> float:
    body = "\n".join(
        f"""    %x{k} = nv_tileaa.tiled_load %a[%c0, %i] : (memref<4x64xf32>, index, index) -> !shared
    %s{k} = nv_tileaa.dot %x{k}, %x{k}, {"%acc" if k == 0 else f"%s{k - 1}"} : (!shared, !shared, !tile) -> !tile"""
        for k in range(loads)
    )
    module = parse(program(f"{body}\n    %next = arith.addf %s{loads - 1}, %acc : !tile"))
    start = process_time()
    MaterializeAsyncPass().apply(context(), module)
    return process_time() - start


def test_cost_is_linear() -> None:
    small = min(seconds_for(100) for _ in range(3))
    large = min(seconds_for(1000) for _ in range(2))
    assert large < 25 * small
