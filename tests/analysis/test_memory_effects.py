"""The memory effects that single ops state, and views where ops of both tile dialects meet."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.ir import Operation, SSAValue

from tests.support.ir import ROOT, parse
from tileas_xdsl.analysis.memory.effects import has_no_effects, only_computes, stated_effects
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.interfaces import Effect


def last_op(body: str, arguments: str) -> Operation:
    """The op in front of the return of a function with `body`."""
    function = next(iter(parse(f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}").ops))
    op = function.regions[0].block.last_op
    assert op is not None
    assert op.prev_op is not None
    return op.prev_op


def told(effects: list[Effect] | None) -> str:
    """Effects in short: `reads %a, writes anything`."""
    if effects is None:
        return "anything"

    def target(effect: Effect) -> str:
        if isinstance(effect.target, SSAValue):
            return f"%{effect.target.name_hint}"
        return "any memory" if effect.target is None else str(effect.target)

    return ", ".join(f"{'writes' if effect.writes else 'reads'} {target(effect)}" for effect in effects)


def said(body: str, arguments: str = "%a: memref<8xf32>, %b: memref<8xf32>, %p: !llvm.ptr, %q: i1") -> str:
    effects = stated_effects(last_op(body, arguments))
    return told(None if effects is None else list(effects))


COPY = '"memref.copy"(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (COPY, "reads %a, writes %b"),
        ("%v = llvm.load %p : !llvm.ptr -> i32", "reads %p"),
        ("%v = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32", "anything"),
        ("%v = arith.constant 1 : i32\nllvm.store %v, %p : i32, !llvm.ptr", "writes %p"),
        ('cf.assert %q, "odd"', "reads any memory"),
        (f'"scf.execute_region"() ({{\n{COPY}\nscf.yield\n}}) : () -> ()', ""),
        ('"gpu.barrier"() : () -> ()', "anything"),
        ("func.call @f(%a, %b, %p, %q) : (memref<8xf32>, memref<8xf32>, !llvm.ptr, i1) -> ()", "anything"),
    ],
)
def test_ops_of_xdsl_are_understood_by_class(body: str, expected: str) -> None:
    assert said(body) == expected


def test_an_atomic_or_volatile_store_may_be_anything() -> None:
    value = "%v = arith.constant 1 : i32\n"
    assert said(f"{value}llvm.store volatile %v, %p : i32, !llvm.ptr") == "anything"


def test_new_memory_is_no_effect_and_no_computation_either() -> None:
    alloca = last_op("%n = arith.constant 1 : i32\n%v = llvm.alloca %n x i32 : (i32) -> !llvm.ptr", "%p: !llvm.ptr")
    assert stated_effects(alloca) == ()
    assert not only_computes(alloca)


def test_an_op_that_may_do_anything_neither_computes_nor_is_without_effects() -> None:
    call = last_op("func.call @f() : () -> ()", "")
    assert not only_computes(call)
    assert not has_no_effects(call)


TILES = """  %i = arith.constant 0 : index
  %v = nv_tileas.alloc_tensor : () -> tensor<4xf32, #nv_tileas.layout<smem>>
  %k = nv_tileas.alloc_tensor : () -> tensor<4xi1, #nv_tileas.layout<smem>>
  %n = nv_tileas.alloc_tensor : () -> tensor<4xi32, #nv_tileas.layout<smem>>
"""
TILE, MASK, LANES = (f"tensor<4x{element}, #nv_tileas.layout<smem>>" for element in ("f32", "i1", "i32"))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (f"nv_tileas.tiled_store %a[%i], %v : (memref<8xf32>, {TILE}, index) -> ()", "writes %a, reads %v"),
        (f"nv_tileaa.tiled_store %a[%i], %v : (memref<8xf32>, {TILE}, index) -> ()", "writes %a, reads %v"),
        (
            f"nv_tileas.scatter_store %a[%n], %v : (memref<8xf32>, {TILE}, {LANES}) -> ()",
            "writes %a, reads %v, reads %n",
        ),
        (
            f"nv_tileas.store %p, %v mask(%k) : (tensor<4x!nv_tileaa.ptr<f32, 1>>, {TILE}, {MASK}) -> ()",
            "writes %p, reads %v, reads %k",
        ),
        (
            f"%r = nv_tileas.load %p mask(%k) : (tensor<4x!nv_tileaa.ptr<f32, 1>>, {MASK}) -> tensor<4xf32>",
            "reads %p, reads %k",
        ),
        (
            "%r = nv_tileas.tiled_atomic_rmw %a[%i], %v attributes {rmw_mode = #nv_tileas<rmw_mode add>} "
            f": (memref<8xf32>, {TILE}, index) -> {TILE}",
            "reads %a, writes %a, reads %v",
        ),
    ],
)
def test_an_access_reads_the_views_among_its_operands(op: str, expected: str) -> None:
    """A value to store, a mask or coordinates that lie in memory are read when the op runs."""
    assert said(TILES + op, "%a: memref<8xf32>, %p: tensor<4x!nv_tileaa.ptr<f32, 1>>") == expected


RELEASE = """
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {
    numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  } : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %i = arith.constant 0 : index
  %w = nv_tileas.async.pipeline.consumer_wait %c, %i : (!nv_tileas.consumer_token, index) -> !nv_tileas.consumer_token
"""


def test_a_step_of_a_pipeline_takes_its_turn() -> None:
    assert said(RELEASE, "") == "writes the consumer's side of pipeline %p"


def test_a_step_takes_its_turn_whatever_has_been_imported() -> None:
    """What an op states must not depend on which modules were imported before: here only the question itself was."""
    program = """
from tests.analysis.test_memory_effects import RELEASE, said
import sys
assert said(RELEASE, "") == "writes the consumer's side of pipeline %p"
assert "tileas_xdsl.analysis.pipeline_dependence" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_a_view_of_one_dialect_shows_the_slot_of_the_other() -> None:
    """`nv_tileaa.view` of a slot of a pipeline of `nv_tileas` reads the slot when it is used."""
    module = parse("""
      func.func @f(%t: tensor<4x8xf32>) {
        %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {
          numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
        } : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
        %i = arith.constant 0 : index
        nv_tileas.async.pipeline.consume_one %c, %i attributes {consumer_types = [tensor<4x8xf32>]} {
        ^bb0(%slot: tensor<4x8xf32>):
          %shown = nv_tileaa.view %slot : (tensor<4x8xf32>) -> tensor<8x4xf32>
          %sum = nv_tileaa.addf %shown, %shown : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
          nv_tileas.async.pipeline.yield : () -> ()
        } : (!nv_tileas.consumer_token, index) -> ()
        %own = nv_tileaa.view %t : (tensor<4x8xf32>) -> tensor<8x4xf32>
        func.return
      }
    """)
    values = {result.name_hint: result for op in module.walk() for result in op.results}
    assert is_view(values["shown"])
    assert not is_view(values["own"])
    addition = values["sum"].owner
    assert isinstance(addition, Operation)
    assert told(list(stated_effects(addition) or ())) == "reads %shown"
