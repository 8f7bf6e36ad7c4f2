"""A client that knows what every iteration leaves as it was is led through each body once, in program order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from tests.support.ir import parse
from tileas_xdsl.analysis.forward_flow import Arrival, InvariantClient, analyse
from tileas_xdsl.interfaces import functions_in


class Ups(InvariantClient[int]):
    """Counts the ops `t.up`; takes each loop for one that runs twice."""

    def __init__(self) -> None:
        self.come_to: list[str] = []

    def join(self, arrivals: Sequence[Arrival[int]]) -> int:
        return max(arrival.state for arrival in arrivals)

    def enter(self, op: Operation, state: int) -> int:
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        self.come_to.append(name)
        return state + (name == "t.up")

    def runs_in_place(self, op: Operation) -> bool:
        return isinstance(op, UnregisteredOp) and op.op_name.data == "t.once"

    def head(self, loop: Operation, before: int) -> int:
        return before

    def behind(self, loop: Operation, before: int, tested: int, end: int) -> int:
        return tested + 2 * (end - before)


def ups(body: str) -> tuple[Ups, int | None]:
    head = 'func.func @f(%n: index, %b: i1) { %c0 = "t.zero"() : () -> index'
    (function,) = functions_in(parse(f"{head} {body} func.return }}", allow_unregistered=True))
    client = Ups()
    return client, analyse(function, client, 0).end


UP = '"t.up"() : () -> ()'


def loop(body: str, upper: str = "%n") -> str:
    return f"scf.for %i{len(body)} = %c0 to {upper} step %n {{ {body} scf.yield }}"


def test_a_body_is_come_to_once_also_in_loops_that_do_not_run() -> None:
    client, end = ups(loop(UP, "%c0") + UP)
    assert client.come_to == ["t.zero", "scf.for", "t.up", "scf.yield", "t.up", "func.return"]
    assert end == 3


def test_a_while_loop_is_left_where_it_tests() -> None:
    assert ups(f"scf.while () : () -> () {{ {UP} scf.condition(%b) }} do {{ {UP} scf.yield }}")[1] == 1 + 2 * 2


def test_regions_that_the_client_knows_to_run_in_place() -> None:
    assert ups(f'"t.once"() ({{ {UP} }}) : () -> ()')[1] == 1


def test_the_work_is_that_of_the_ops() -> None:
    body = UP
    for _ in range(40):
        body = loop(body + UP)
    client, end = ups(body)
    assert len(client.come_to) == 1 + 41 + 2 * 40 + 1
    assert end is not None
    assert end > 2**40
