"""The driver for few and ordered states (`forward_flow/levels.py`): like the ordinary one, and linear in nests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from tests.support.ir import parse
from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, LevelClient, LevelFlow, analyse, analyse_levels
from tileas_xdsl.interfaces import functions_in

TOP = 6


def step(op: Operation, level: int) -> int:
    """`up` counts one up as far as the top, `down` goes down to 1."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else ""
    return min(level + 1, TOP) if name == "t.up" else min(level, 1) if name == "t.down" else level


class Levels(LevelClient):
    def __init__(self) -> None:
        self.top = TOP
        self.calls = 0

    def join(self, levels: Iterable[int]) -> int:
        return max(levels)

    def touches(self, op: Operation) -> bool:
        return isinstance(op, UnregisteredOp)

    def leave(self, op: Operation, level: int) -> int:
        self.calls += 1
        return step(op, level)


class States(FlowClient[int]):
    def join(self, arrivals: Sequence[Arrival[int]]) -> int:
        return max(arrival.state for arrival in arrivals)

    def leave(self, op: Operation, state: int) -> int:
        return step(op, state)


def function_of(body: str) -> Operation:
    head = "func.func @f(%n: index, %b: i1, %zero: index, %one: index, %three: index) {"
    constants = "%c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c3 = arith.constant 3 : index"
    (function,) = functions_in(parse(f"{head} {constants} {body} func.return }}", allow_unregistered=True))
    return function


UP, DOWN = '"t.up"() : () -> ()', '"t.down"() : () -> ()'


def loop(body: str, upper: str = "%n") -> str:
    return f"scf.for %i{len(body)} = %c0 to {upper} step %c1 {{ {body} scf.yield }}"


@pytest.mark.parametrize(
    "body",
    [
        UP + UP + DOWN + UP,
        loop(UP),
        loop(UP, "%c3") + UP,
        loop(UP + DOWN) + UP,
        loop(loop(UP) + DOWN) + DOWN,
        loop(loop(UP, "%c3") + DOWN, "%c3"),
        f"scf.if %b {{ {UP} scf.yield }} else {{ {UP} {UP} scf.yield }}" + UP,
        f"scf.if %b {{ {UP} scf.yield }}" + UP,
        f"scf.while () : () -> () {{ {UP} scf.condition(%b) }} do {{ {UP} scf.yield }}" + DOWN,
        f"scf.execute_region {{ {UP} scf.yield }}" + UP,
        f"scf.index_switch %n case 1 {{ {UP} scf.yield }} default {{ scf.yield }}" + UP,
        f"async_queue.commit 0 {{ {UP} }}" + UP,
        f'"t.unknown"() ({{ {UP} }}) : () -> ()' + UP,
    ],
)
def test_levels_are_those_of_the_ordinary_driver(body: str) -> None:
    function = function_of(body)
    levels, flow = analyse_levels(function, Levels()), analyse(function, States(), 0)
    assert levels.end == flow.end
    assert levels.before
    assert levels.before == {op: flow.before[op] for op in levels.before}


def test_the_work_grows_with_the_ops_and_not_with_the_rounds_of_nested_loops() -> None:
    def work(depth: int) -> tuple[LevelFlow, int]:
        body = UP
        for _ in range(depth):
            body = loop(body + UP)
        client = Levels()
        return analyse_levels(function_of(body), client), client.calls

    (_, shallow), (flow, deep) = work(10), work(40)
    assert flow.end == TOP
    assert deep < 5 * shallow
