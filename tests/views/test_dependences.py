"""The view of who waits for whom: what the graph holds, and how it is written down."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, var_operand_def

from tests.checker.test_async_random import generated
from tests.machine.async_programs import PROGRAMS as TASKS
from tests.support.ir import ROOT, chunks, parse
from tileas_xdsl.dialects.async_ import TokenType
from tileas_xdsl.interfaces import AsyncOpInterface, functions_in
from tileas_xdsl.views.dependences import (
    BLOCKS,
    NEXT,
    ORDER,
    TOKEN,
    WaitGraph,
    dependence_dot,
    dependence_svg,
    dependences,
)
from tileas_xdsl.views.drawing import Arrow, Box, draw, rows_of

RFC = chunks(ROOT / "tests/filecheck/dialects/async-region.mlir")


def functions(text: str) -> list[Operation]:
    return functions_in(parse(text))


def graph_of(text: str) -> WaitGraph:
    return dependences(functions(text)[-1])


def edges(graph: WaitGraph, *kinds: str) -> list[tuple[str, str]]:
    labels = [node.label for node in graph.nodes]
    return [(labels[e.source], labels[e.target]) for e in graph.edges if e.kind in (kinds or (TOKEN, ORDER, NEXT))]


def reachable(graph: WaitGraph, source: str) -> set[str]:
    """The labels of the nodes that come to pass only after the one called `source`."""
    numbers = {node.label: node.number for node in graph.nodes}
    assert len(numbers) == len(graph.nodes)
    seen = {numbers[source]}
    stack = list(seen)
    while stack:
        here = stack.pop()
        fresh = {edge.target for edge in graph.edges if edge.source == here} - seen
        seen |= fresh
        stack += fresh
    return {node.label for node in graph.nodes if node.number in seen}


# The graph ------------------------------------------------------------------------------------------------------------

DEVICE = """
func.func @f(%start: !async.token, %x: memref<8xf32>, %y: memref<8xf32, 1>) {
  %region = async_region.region [%start as %ready] {
    %in = async_region.copy [%ready] %x to %y : memref<8xf32> to memref<8xf32, 1>
    %run = async_region.launch [%in] (%y as %z: memref<8xf32, 1>) {
      %w, %t = async_region.alloc : memref<8xf32, 1>
      %inner = async_region.copy %z to %w : memref<8xf32, 1> to memref<8xf32, 1>
      async_region.yield
    }
    async_region.yield after [%run]
  }
  async.await %region : !async.token
  %after = async_region.copy %x to %y : memref<8xf32> to memref<8xf32, 1>
  async.await %after : !async.token
  return
}"""


def test_tokens_lead_into_regions_and_out_of_them() -> None:
    assert edges(graph_of(DEVICE), TOKEN) == [
        ("%start", "%region = async_region.region"),
        ("%region = async_region.region", "%region = async_region.region complete"),
        ("%run = async_region.launch complete", "%region = async_region.region complete"),
        ("%region = async_region.region", "%in = async_region.copy"),
        ("%in = async_region.copy", "%run = async_region.launch"),
        ("%run = async_region.launch", "%run = async_region.launch complete"),
        ("%region = async_region.region complete", "async.await"),
        ("%after = async_region.copy", "async.await"),
    ]


def test_bodies_of_tasks_and_waits_order_what_comes_after_them() -> None:
    """The body of the launch is run by a task; that of the region by its issuer, who has waited for nothing yet."""
    assert edges(graph_of(DEVICE), ORDER) == [
        ("%run = async_region.launch", "%t = async_region.alloc"),
        ("%run = async_region.launch", "%inner = async_region.copy"),
        ("async.await", "%after = async_region.copy"),
    ]


def test_a_token_from_elsewhere_does_not_stand_for_a_wait() -> None:
    graph = graph_of("""
        func.func @f(%a: !async.token, %b: !async.token, %x: memref<8xf32>, %y: memref<8xf32>) {
          async.await %a : !async.token
          %t = async_region.copy [%b] %x to %y : memref<8xf32> to memref<8xf32>
          return
        }""")
    assert edges(graph) == [
        ("%a", "async.await"),
        ("%b", "%t = async_region.copy"),
        ("async.await", "%t = async_region.copy"),
    ]


def test_awaits_block_and_others_do_not() -> None:
    assert [node.label for node in graph_of(DEVICE).nodes if node.kind == BLOCKS] == ["async.await", "async.await"]


def test_what_is_inside_a_region_knows_it() -> None:
    graph = graph_of(DEVICE)
    by_label = {node.label: node for node in graph.nodes}
    region, launch = by_label["%region = async_region.region"], by_label["%run = async_region.launch"]
    assert region.cluster == ()
    assert launch.cluster == (region.number,)
    assert by_label["%inner = async_region.copy"].cluster == (region.number, launch.number)
    assert by_label["%region = async_region.region complete"].cluster == (region.number,)


def test_partial_tokens_wait_for_their_group() -> None:
    (text,) = [text for text in RFC if "@partial_completion" in text]
    graph = graph_of(text)
    tokens = edges(graph, TOKEN)
    early, everything = "%early of async_region.region complete", "%all = async_region.region complete"
    assert (early, "async.await") in tokens
    assert (everything, "async.await") not in tokens
    assert ("%t2 = async_region.copy", early) in tokens
    assert ("%t3 = async_region.copy", early) not in tokens
    assert ("%t2 = async_region.copy", everything) not in tokens
    assert (early, everything) in tokens
    assert ("%t3 = async_region.copy", everything) in tokens


def test_a_loop_leads_to_its_next_iteration() -> None:
    (text,) = [text for text in RFC if "@loop_that_issues" in text]
    graph = graph_of(text)
    assert edges(graph, NEXT) == [("%back = async_region.copy", "%there = async_region.copy")]
    region = "%done = async_region.region"
    assert {(region, "%there = async_region.copy"), ("%back = async_region.copy", f"{region} complete")} <= set(
        edges(graph, TOKEN)
    )
    # Without an iteration, the region token itself is what is yielded.
    assert (region, f"{region} complete") in edges(graph, TOKEN)


def test_a_choice_waits_for_either() -> None:
    graph = graph_of("""
        func.func @f(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) {
          %chosen = scf.if %c -> (!async.token) {
            %t = async_region.copy %x to %y : memref<8xf32> to memref<8xf32>
            scf.yield %t : !async.token
          } else {
            %u = async_region.copy %y to %x : memref<8xf32> to memref<8xf32>
            scf.yield %u : !async.token
          }
          async.await %chosen : !async.token
          return
        }""")
    assert edges(graph) == [("%t = async_region.copy", "async.await"), ("%u = async_region.copy", "async.await")]


def test_a_group_collects_its_members() -> None:
    assert edges(graph_of(TASKS["a_group"].text), TOKEN)[-2:] == [
        ("%token = async.execute complete", "%group = async.create_group"),
        ("%group = async.create_group", "async.await_all"),
    ]


def test_ops_with_external_models_are_asked_as_well() -> None:
    graph = graph_of("""
        func.func @f(%x: memref<4xf32>) {
          %go = "gpu.wait"() : () -> !gpu.async.token
          %m, %there = "gpu.alloc"(%go) {operandSegmentSizes = array<i32: 1, 0, 0>}
            : (!gpu.async.token) -> (memref<4xf32>, !gpu.async.token)
          %copied = "gpu.memcpy"(%there, %m, %x) {operandSegmentSizes = array<i32: 1, 1, 1>}
            : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
          "gpu.wait"(%copied) : (!gpu.async.token) -> ()
          return
        }""")
    assert edges(graph) == [
        ("%go = gpu.wait", "%there = gpu.alloc"),
        ("%there = gpu.alloc", "%copied = gpu.memcpy"),
        ("%copied = gpu.memcpy", "gpu.wait"),
    ]


@irdl_op_definition
class FreshOp(IRDLOperation, AsyncOpInterface):
    """An op of which nobody has ever heard."""

    name = "fresh.op"

    edges_in = var_operand_def()
    done = result_def(TokenType())

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        return self.edges_in

    @property
    def async_token(self) -> SSAValue:
        return self.done

    def add_async_dependency(self, token: SSAValue) -> None:
        self.operands = [*self.operands, token]


def test_no_op_is_known_by_name() -> None:
    first = FreshOp(operands=[[]], result_types=[TokenType()])
    second = FreshOp(operands=[[first.done]], result_types=[TokenType()])
    third = FreshOp(operands=[[second.done, first.done]], result_types=[TokenType()])
    graph = dependences(ModuleOp([first, second, third]))
    assert [(edge.source, edge.target, edge.kind) for edge in graph.edges] == [
        (0, 1, TOKEN),
        (1, 2, TOKEN),
        (0, 2, TOKEN),
    ]


def test_what_the_rfc_says_of_its_programs() -> None:
    (text,) = [text for text in RFC if "@sum_on_a_device" in text]
    graph = graph_of(text)
    assert "%t12 = async_region.copy" in reachable(graph, "%t0 = async_region.region")
    assert "%t10 = async_region.launch" in reachable(graph, "%t9 = async_region.copy")
    assert "%t7 = async_region.copy" not in reachable(graph, "%t5 = async_region.copy")
    assert "%t2 = async_region.region complete" in reachable(graph, "%t12 = async_region.copy")


# Writing it down ------------------------------------------------------------------------------------------------------

EVERYTHING = [*RFC, *(program.text for program in TASKS.values()), *(generated(seed)[0] for seed in range(30))]
LINE = re.compile(
    r'  *(node \[.*\];|n\d+ \[label="(?:[^"\\]|\\.)*", shape=\w+\];|subgraph cluster_\d+ \{|label="(?:[^"\\]|\\.)*";|\}'
    r"|n\d+ -> n\d+ \[style=(?:solid|dashed|dotted)(?:, constraint=false)?\];)"
)


@pytest.mark.parametrize("text", EVERYTHING)
def test_every_node_and_edge_is_in_the_text(text: str) -> None:
    for function in functions(text):
        graph, lines = dependences(function), dependence_dot(function).splitlines()
        assert lines[0].startswith('digraph "')
        assert lines[-1] == "}"
        assert all(LINE.fullmatch(line) for line in lines[1:-1])
        made = [int(n) for line in lines for n in re.findall(r"^ *n(\d+) \[label", line)]
        assert sorted(made) == [node.number for node in graph.nodes]
        assert sum(" -> " in line for line in lines) == len(graph.edges)
        assert sum("{" in line for line in lines) == sum("}" in line for line in lines)


@pytest.mark.parametrize("text", EVERYTHING)
def test_the_picture_holds_every_node_above_what_waits_for_it(text: str) -> None:
    for function in functions(text):
        graph = dependences(function)
        picture = ElementTree.fromstring(dependence_svg(function))
        space = "{http://www.w3.org/2000/svg}"
        tops = [int(box.get("y", "")) for box in picture.iter(f"{space}rect")]
        assert [text.text for text in picture.iter(f"{space}text")] == [node.label for node in graph.nodes]
        assert len(list(picture.iter(f"{space}path"))) == len(graph.edges) + 1  # and the tip of the arrows
        for edge in graph.edges:
            assert edge.kind == NEXT or tops[edge.source] < tops[edge.target]


def test_boxes_in_a_row_do_not_overlap() -> None:
    (text,) = [text for text in RFC if "@sum_on_a_device" in text]
    picture = ElementTree.fromstring(dependence_svg(functions(text)[0]))
    boxes = [
        tuple(int(box.get(name, "")) for name in ("y", "x", "width"))
        for box in picture.iter("{http://www.w3.org/2000/svg}rect")
    ]
    for (row, x, width), (next_row, next_x, _) in zip(sorted(boxes), sorted(boxes)[1:], strict=False):
        assert row != next_row or x + width < next_x
    assert all(x >= 0 and x + width <= int(picture.get("width", "")) for _, x, width in boxes)


def test_rows_are_longest_ways_and_circles_do_no_harm() -> None:
    assert rows_of(4, [Arrow(0, 1), Arrow(1, 2), Arrow(0, 3), Arrow(2, 3)]) == [0, 1, 2, 3]
    assert rows_of(2, [Arrow(0, 1), Arrow(1, 0, backwards=True)]) == [0, 1]
    assert sorted(rows_of(2, [Arrow(0, 1), Arrow(1, 0)])) == [0, 1]
    assert rows_of(0, []) == []


def test_texts_are_escaped() -> None:
    picture = ElementTree.fromstring(draw([Box('a<b> & "c"')], []))
    assert [text.text for text in picture.iterfind("{*}text")] == ['a<b> & "c"']


def test_the_text_is_the_same_every_time() -> None:
    for text in EVERYTHING:
        assert [dependence_dot(f) for f in functions(text)] == [dependence_dot(f) for f in functions(text)]


def test_long_functions_take_linear_time() -> None:
    def seconds(count: int) -> float:
        lines = [
            f"%t{i} = async_region.copy {f'[%t{i - 1}] ' if i else ''}%x to %y : memref<8xf32> to memref<8xf32>"
            for i in range(count)
        ]
        body = "\n".join(lines)
        (function,) = functions(f"func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {{ {body} return }}")
        start = time.process_time()
        dependence_dot(function)
        dependence_svg(function)
        return time.process_time() - start

    def least(count: int) -> float:
        """The best of three: what else the machine does only adds."""
        return min(seconds(count) for _ in range(3))

    assert least(2000) < 20 * max(least(250), 0.002)


@pytest.mark.parametrize("text", EVERYTHING)
def test_no_arrow_passes_behind_a_box(text: str) -> None:
    """Where an arrow passes a row it is a straight line, and there no box is in its way."""
    space = "{http://www.w3.org/2000/svg}"
    for function in functions(text):
        picture = ElementTree.fromstring(dependence_svg(function))
        boxes = [[int(box.get(name, "")) for name in ("x", "y", "width")] for box in picture.iter(f"{space}rect")]
        for path in list(picture.iter(f"{space}path"))[1:]:
            for x, y in re.findall(r"L (-?\d+) (\d+)", path.get("d", "")):
                row = [(left, left + width) for left, top, width in boxes if top <= int(y) <= top + 26]
                assert not any(left <= int(x) <= right for left, right in row)


def test_a_wait_in_a_loop_that_nothing_comes_before() -> None:
    graph = graph_of("""
    func.func @f(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %t = async.execute {
          async.yield
        }
        async.await %t : !async.token
      }
      func.return
    }
    """)
    assert edges(graph) == [
        ("%t = async.execute", "%t = async.execute complete"),
        ("%t = async.execute complete", "async.await"),
    ]


def test_a_picture_is_as_narrow_as_its_page() -> None:
    """It has a `viewBox`, so that it shrinks as a whole instead of being cut off."""
    picture = ElementTree.fromstring(draw([Box("a"), Box("b")], [Arrow(0, 1)]))
    assert picture.get("viewBox") == f"0 0 {picture.get('width')} {picture.get('height')}"
    assert "max-width: 100%" in (picture.get("style") or "")
