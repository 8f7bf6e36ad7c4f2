"""
What does not hold up a loop: memories that cannot overlap, asynchronous products and the waits for them, directives and
assertions, transfers into slots. And what still does.
"""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tests.support.ir import parse, run_passes
from tileas_xdsl.analysis.dependence import DependenceGraph, dependence_graph
from tileas_xdsl.analysis.pipeline_dependence import pipeline_edges
from tileas_xdsl.diagnostics import Diagnostic, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import ProduceOneAsyncOp

TYPES = """
#smem = #nv_tileas.layout<smem>
#tmem = #nv_tileas.layout<tmem>
!a = tensor<8x4xf16, #smem>
!b = tensor<4x8xf16, #smem>
!c = tensor<8x8xf32>
!cm = tensor<8x8xf32, #tmem>
!am = tensor<8x8xf32, #smem>
!token = !nv_tileas.token
"""

LOADS = """
    %at = nv_tileaa.tiled_load %a[%c0, %k] attributes {id = "a"} : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] attributes {id = "b"} : (memref<?x?xf16>, index, index) -> !b
"""
DOT = '    %s, %t = nv_tileas.async.dot %at, %bt, %acc attributes {id = "dot"} : (!a, !b, !c) -> (!c, !token)\n'
WAIT = '    nv_tileas.async.wait %t attributes {id = "wait"} : (!token) -> ()\n'


def in_registers(body: str) -> str:
    """A loop over k with an accumulator in registers."""
    return f"""{TYPES}
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index, %go: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
{body}
    scf.yield %s : !c
  }}
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}"""


def in_tensor_memory(body: str) -> str:
    return f"""{TYPES}
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = nv_tileas.alloc_tensor : () -> !cm
  nv_tileas.copy %zero, %acc : (!c, !cm) -> ()
  scf.for %k = %c0 to %n step %c1 {{
{body}
  }}
  %r = nv_tileas.convert_layout %acc : (!cm) -> !c
  nv_tileaa.tiled_store %c[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}"""


TENSOR_DOT = DOT.replace("!c)", "!cm)").replace("(!c,", "(!cm,")


def graph_of(text: str) -> DependenceGraph:
    loop = next(op for op in parse(text).walk() if isinstance(op, scf.ForOp))
    return dependence_graph(loop, providers=[pipeline_edges])


def label(op: Operation) -> str:
    name = op.attributes.get("id")
    return name.data if isinstance(name, StringAttr) else op.name


def between(graph: DependenceGraph, source: str, sink: str) -> list[str]:
    return [
        f"{edge.kind.value} {edge.distance}"
        for edge in graph.edges
        if label(edge.source) == source and label(edge.sink) == sink
    ]


def staged(text: str) -> tuple[int, list[Diagnostic]]:
    """How many loads become asynchronous, and what is said."""
    with recorded_diagnostics() as said:
        module = run_passes(parse(text), "tileas-materialize-async")
    return sum(isinstance(op, ProduceOneAsyncOp) for op in module.walk()), said


@pytest.mark.parametrize("text", [in_registers(LOADS + DOT + WAIT), in_tensor_memory(LOADS + TENSOR_DOT + WAIT)])
def test_asynchronous_products_leave_the_loads_alone(text: str) -> None:
    assert staged(text) == (2, [])


@pytest.mark.parametrize(
    "extra",
    [
        '    nv_tileas.pragma attributes {ocgEnterDirectives = ["x"]} : () -> ()\n',
        '    cf.assert %go, "odd"\n',
    ],
    ids=["pragma", "assertion"],
)
def test_directives_and_assertions_leave_the_loads_alone(extra: str) -> None:
    assert staged(in_registers(LOADS + extra + DOT + WAIT)) == (2, [])


def test_a_store_keeps_its_order_with_an_assertion() -> None:
    body = """
    cf.assert %go, "odd" {id = "assert"}
    nv_tileaa.tiled_store %c[%c0, %k], %acc attributes {id = "store"} : (memref<?x?xf32>, !c, index, index) -> ()
"""
    graph = graph_of(in_registers(LOADS + body + DOT + WAIT))
    assert between(graph, "assert", "store") == ["anti 0"]


def test_the_next_product_does_not_wait_for_this_one() -> None:
    for text in (in_registers(LOADS + DOT + WAIT), in_tensor_memory(LOADS + TENSOR_DOT + WAIT)):
        graph = graph_of(text)
        assert between(graph, "dot", "wait") == ["token 0"]
        assert between(graph, "wait", "dot") == []
        assert between(graph, "dot", "dot"), "but it is issued after it"


READ_VALUE = '    %u = arith.addf %s, %s {id = "read"} : !c\n'
READ_TILE = '    %u = nv_tileas.convert_layout %acc attributes {id = "read"} : (!cm) -> !c\n'


@pytest.mark.parametrize(
    "text",
    [in_registers(LOADS + DOT + WAIT + READ_VALUE), in_tensor_memory(LOADS + TENSOR_DOT + WAIT + READ_TILE)],
    ids=["registers", "tensor memory"],
)
def test_a_reader_of_the_accumulator_waits_and_is_waited_for(text: str) -> None:
    graph = graph_of(text)
    assert between(graph, "wait", "read") == ["flow 0"]
    assert between(graph, "read", "dot") == ["anti 1"]


def test_a_write_of_what_is_loaded_still_counts() -> None:
    body = "    nv_tileaa.tiled_store %a[%c0, %k], %h : (memref<?x?xf16>, !h, index, index) -> ()\n"
    text = in_registers(LOADS + DOT + WAIT + "    %h = arith.truncf %acc : !c to tensor<8x8xf16>\n" + body)
    loads, said = staged(text.replace("!h,", "tensor<8x8xf16>,"))
    assert loads == 1
    assert [diagnostic.message for diagnostic in said] == [
        "stays synchronous: 'nv_tileaa.tiled_store' may write what it reads"
    ]


RING = """  %p, %q = nv_tileas.async.pipeline.create_pipeline attributes {
    numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  } : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %desc = nv_tileas.make_tiled_tma_desc %a attributes {atom = #nv_tileas<atom tma_load>, box = array<i64: 8, 8>}
    : (memref<64x64xf16>) -> !nv_tileas.tma_desc
"""


def test_a_transfer_into_a_slot_touches_the_slot_alone() -> None:
    """The slot is nobody else's memory, so a load of another array may pass the transfer."""
    text = f"""
#smem = #nv_tileas.layout<smem>
!slot = tensor<8x8xf16, #smem>
func.func @f(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{RING}
  scf.for %i = %c0 to %n step %c1 {{
    %p1 = nv_tileas.async.pipeline.produce_one %p, %i attributes {{producer_types = [!slot], id = "put"}} {{
    ^bb0(%s: !slot):
      %t = nv_tileas.async.tiled_tma_load %desc[%i, %c0], %s attributes {{atom = #nv_tileas<atom tma_load>}}
        : (!nv_tileas.tma_desc, !slot, index, index) -> !nv_tileas.token
      nv_tileas.async.pipeline.yield %s : (!slot) -> ()
    }} : (!nv_tileas.producer_token, index) -> !nv_tileas.producer_token
    %v = memref.load %b[%i, %c0] {{id = "load"}} : memref<64x64xf16>
    memref.store %v, %b[%c0, %i] {{id = "store"}} : memref<64x64xf16>
  }}
  func.return
}}"""
    graph = graph_of(text)
    assert between(graph, "put", "load") == between(graph, "load", "put") == []
    assert between(graph, "put", "store") == between(graph, "store", "put") == []


STEPS = """
    %own = nv_tileas.async.pipeline.producer_acquire %p, %i attributes {id = "acquire"} : (!pt, index) -> !pt
    %full = nv_tileas.async.pipeline.producer_write %own, %i, %v attributes {id = "write"} : (!pt, index, !v) -> !pt
    nv_tileas.async.pipeline.producer_commit %full attributes {id = "commit"} : (!pt) -> ()
    %got = nv_tileas.async.pipeline.consumer_wait %q, %i attributes {id = "take"} : (!ct, index) -> !ct
    %x, %read = nv_tileas.async.pipeline.consumer_read %got, %i attributes {id = "read"} : (!ct, index) -> (!v, !ct)
    nv_tileas.async.pipeline.consumer_release %FREE attributes {id = "release"} : (!ct) -> ()
"""


@pytest.mark.parametrize("freed", ["read", "got"])
def test_what_takes_and_what_gives_up_stages_need_not_alternate(freed: str) -> None:
    """But a stage is taken, used and given up in this order, whichever token is handed on."""
    graph = graph_of(
        f"""
!pt = !nv_tileas.producer_token
!ct = !nv_tileas.consumer_token
!v = tensor<4xf32>
func.func @f(%v: !v, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p, %q = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  }} : () -> (!pt, !ct)
  scf.for %i = %c0 to %n step %c1 {{
{STEPS.replace("FREE", freed)}
  }}
  func.return
}}"""
    )
    assert between(graph, "release", "take") == []
    assert between(graph, "commit", "acquire") == []
    assert between(graph, "take", "take") == ["output 1"]
    assert between(graph, "release", "release") == ["output 1"]
    assert "anti 3" in between(graph, "release", "acquire")
    assert between(graph, "read", "release"), "nothing is given up before it has been read"
    assert between(graph, "write", "commit")
