"""The edges that pipelines add to the dependence graph: order within a side, waits between sides, reuse of slots."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from tests.support.ir import parse
from tileas_xdsl.analysis.dependence import DependenceGraph, dependence_graph
from tileas_xdsl.analysis.pipeline_dependence import pipeline_edges
from tileas_xdsl.analysis.pipeline_root import PipelineRoots

BEFORE = """
func.func @f(%n: index, %go: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
"""


def ring(depth: int, producer: str = "p", consumer: str = "c") -> str:
    return f"""  %{producer}, %{consumer} = nv_tileas.async.pipeline.create_pipeline attributes {{
    numStages = {depth} : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  }} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)\n"""


def produce(name: str = "put", end: str = "p") -> str:
    return f"""nv_tileas.async.pipeline.produce_one %{end}, %i attributes {{producer_types = [f32], id = "{name}"}}
      : (!nv_tileas.producer_token, index) -> ()\n"""


def consume(name: str = "get", end: str = "c") -> str:
    return f"""nv_tileas.async.pipeline.consume_one %{end}, %i attributes {{consumer_types = [f32], id = "{name}"}}
      : (!nv_tileas.consumer_token, index) -> ()\n"""


def graph_of(body: str, before: str) -> DependenceGraph:
    module = parse(f"{BEFORE}{before}  scf.for %i = %c0 to %n step %c1 {{\n{body}  }}\n  func.return\n}}")
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    return dependence_graph(loop, providers=[pipeline_edges])


def label(op: Operation) -> str:
    name = op.attributes.get("id")
    return name.data if isinstance(name, StringAttr) else op.name


def told(graph: DependenceGraph) -> list[str]:
    return [f"{label(e.source)} -> {label(e.sink)} {e.kind.value} {e.distance}" for e in graph.edges]


def between(graph: DependenceGraph, source: str, sink: str) -> list[str]:
    return [edge for edge in told(graph) if edge.startswith(f"{source} -> {sink} ")]


# Sides ----------------------------------------------------------------------------------------------------------------


def test_ops_of_one_side_keep_their_order() -> None:
    graph = graph_of(produce("a") + produce("b"), ring(2))
    assert told(graph) == ["a -> b output 0", "b -> a output 1"]


def test_two_pipelines_do_not_order_each_other() -> None:
    graph = graph_of(produce("a") + produce("b", "q"), ring(2) + ring(2, "q", "d"))
    assert told(graph) == ["a -> a output 1", "b -> b output 1"]


def test_a_side_is_called_by_the_name_of_its_pipeline() -> None:
    """The name appears in diagnostics, so it must be readable and the same in every run."""
    graph = graph_of(produce("put", "loads") + consume("get", "views"), ring(2, "loads", "views"))
    carriers = {edge.carrier for edge in graph.edges}
    assert carriers == {
        "the producer's side of pipeline %loads",
        "the consumer's side of pipeline %loads",
        "pipeline %loads",
    }


def test_a_pipeline_without_a_name_and_copies_of_one() -> None:
    graph = graph_of(produce("a", "0") + produce("b", "0"), ring(2, "0", "1"))
    assert {edge.carrier for edge in graph.edges} == {"the producer's side of an unnamed pipeline"}
    copy = """nv_tileas.async.pipeline.produce_one_async %i attributes {producer_types = [f32], pipeline_id = 3 : i32}
      : (index) -> (!nv_tileas.producer_token, !nv_tileas.token)\n"""
    graph = graph_of(copy + copy, "")
    assert {edge.carrier for edge in graph.edges} == {"the producer's side of pipeline 3"}


# Stages and slots -----------------------------------------------------------------------------------------------------


def test_a_stage_is_published_before_it_is_taken() -> None:
    assert between(graph_of(produce() + consume(), ring(3)), "put", "get") == ["put -> get token 0"]


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_slot_comes_round_after_depth_iterations(depth: int) -> None:
    graph = graph_of(produce() + consume(), ring(depth))
    assert between(graph, "get", "put") == [f"get -> put anti {depth}"]


def test_two_stages_an_iteration_come_round_twice_as_soon() -> None:
    graph = graph_of(produce("a") + produce("b") + consume("x") + consume("y"), ring(3))
    slots = {edge for source in "xy" for sink in "ab" for edge in between(graph, source, sink)}
    assert slots == {"x -> b anti 1", "y -> a anti 2"}


# Steps that cannot be counted -----------------------------------------------------------------------------------------

INNER = 'scf.for %j = %c0 to %c4 step %c1 {{\n{}}} {{id = "{}"}}\n'
BRANCH = 'scf.if %go {{\n{}}} {{id = "{}"}}\n'


@pytest.mark.parametrize("around", [INNER, BRANCH], ids=["loop", "branch"])
def test_where_nobody_knows_how_many_each_side_keeps_its_place(around: str) -> None:
    """Three slots do not let the filler run three iterations ahead when an iteration fills four."""
    graph = graph_of(around.format(produce(), "fill") + around.format(consume(), "drain"), ring(3))
    assert between(graph, "fill", "drain") == ["fill -> drain token 0"]
    assert between(graph, "drain", "fill") == ["drain -> fill anti 1"]


def test_all_that_precedes_is_waited_for() -> None:
    """`y` may wait for what `b` publishes, though it is the second of each."""
    body = produce("a") + INNER.format(produce(), "b") + consume("x") + consume("y")
    graph = graph_of(body, ring(8))
    assert between(graph, "b", "x") == ["b -> x token 0"]
    assert between(graph, "x", "y") == ["x -> y output 0"]


# Cost -----------------------------------------------------------------------------------------------------------------


def test_roots_are_found_once_along_a_chain_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read hands its token to the next. The walk back from each would be quadratic."""
    steps = Counter[int]()
    searched = PipelineRoots._sources

    def counted(roots: PipelineRoots, value: SSAValue, seen: set[SSAValue]) -> object:
        steps[length] += 1
        return searched(roots, value, seen)

    monkeypatch.setattr(PipelineRoots, "_sources", counted)
    for length in (20, 40):
        tokens = ["%c", *(f"%t{k}" for k in range(length))]
        reads = [
            f"%v{k}, %t{k} = nv_tileas.async.pipeline.consumer_read {tokens[k]}, %i "
            ": (!nv_tileas.consumer_token, index) -> (f32, !nv_tileas.consumer_token)\n"
            for k in range(length)
        ]
        graph_of("".join(reads), ring(2))
    assert steps[40] < 2.5 * steps[20]
