"""
What depends on who comes first is no fixed number: the rank of a member of a group, the stage that a put takes.

Tasks that happens-before leaves unordered may add their members in any order, so a program is right if it is right with
each. Where they are ordered, ranks are fixed. The same holds for agents that put into one queue. What stays open though
every order is right, the verdict says.
"""

from __future__ import annotations

from itertools import permutations, repeat

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import run

PROGRAM = """
func.func @k(%a: memref<8xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 1.0 : f32
  %g = async.create_group %c{tasks} : !async.group
  {body}
  async.await_all %g
  func.return
}}
"""


def task(number: int, use: str = "memref.store %f, %a[%r] : memref<8xf32>", after: str = "") -> str:
    return f"""
  %t{number} = async.execute {after} {{
    %i = async.execute {{
      async.yield
    }}
    %r = async.add_to_group %i, %g : !async.token
    {use}
    async.yield
  }}"""


def judged(*body: str, tasks: int = 2) -> Report:
    return check(parse(PROGRAM.format(body="\n".join(body), tasks=tasks)))


def await_(*numbers: int) -> str:
    return "\n".join(f"async.await %t{number} : !async.token" for number in numbers)


LOAD_0 = "%x = memref.load %a[%c0] : memref<8xf32>"
STORE_0 = "memref.store %f, %a[%c0] : memref<8xf32>"
LOAD_1 = "%y = memref.load %a[%c1] : memref<8xf32>"
FIRST_ONLY = f"%first = arith.cmpi eq, %r, %c0 : index\nscf.if %first {{\n{LOAD_0}\n}}"

RIGHT = {
    "each stores to a place of its own": (task(0), task(1), await_(0, 1), LOAD_0, LOAD_1),
    "one after the other, and the first is awaited": (task(0), await_(0), task(1), LOAD_0, await_(1)),
    "the second depends on the first": (task(0), task(1, after="[%t0]"), await_(0), LOAD_0, await_(1)),
    "the ranks are not used": (
        task(0, "memref.store %f, %a[%c0] : memref<8xf32>"),
        task(1, ""),
        await_(0),
        LOAD_0,
        await_(1),
    ),
}
WRONG = {
    "the first is taken to be first": (task(0), task(1), await_(0), LOAD_0, await_(1)),
    "the second is taken to be second": (task(0), task(1), await_(1), LOAD_1, await_(0)),
    "whoever is first loads, unordered": (
        task(0, FIRST_ONLY),
        task(1, ""),
        await_(1),
        STORE_0,
        await_(0),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_with_all_ranks_is_safe(name: str) -> None:
    report = judged(*RIGHT[name])
    assert report.verdict is Verdict.SAFE, report


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_some_ranks_is_found(name: str) -> None:
    assert judged(*WRONG[name]).kinds == ["race"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_tasks_are_written_makes_no_difference(order: tuple[int, ...]) -> None:
    tasks = [task(number) for number in order]
    assert judged(*tasks, await_(0, 1, 2), LOAD_0, tasks=3).verdict is Verdict.SAFE
    assert judged(*tasks, await_(0, 1), LOAD_0, await_(2), tasks=3).kinds == ["race"]


LOOP = """scf.for %j = %c0 to %n step %c1 {
    %i = async.execute {
      async.yield
    }
    %r = async.add_to_group %i, %g : !async.token
  }
"""


def test_ranks_in_a_loop_of_one_task_are_fixed_for_every_trip_count() -> None:
    text = PROGRAM.format(body=LOOP, tasks=0).replace("create_group %c0", "create_group %n")
    report = check(parse(text))
    assert report.verdict is Verdict.SAFE, report
    assert report.is_proved


# Stages of a queue ----------------------------------------------------------------------------------------------------

TILE = "tensor<8xf32>"
STEPS = {
    "store": "memref.store %f, %a[%c{}] : memref<8xf32>",
    "load": "%v{n} = memref.load %a[%c{}] : memref<8xf32>",
    "put": "nv_tileaa.queue.put %{}, %tile : ({queue}, {tile}) -> ()",
    "put at": "nv_tileaa.queue.put %q[%c{}], %tile : ({queue}, index, {tile}) -> ()",
    "get": "%v{n} = nv_tileaa.queue.get %{} : ({queue}) -> {tile}",
}
OPEN = ("who comes first for the next stage of queue 'q'",)


def with_queues(*agents: str, depth: int = 2) -> str:
    """Agents that do steps, `put q; get r; put at 0`, with two queues."""
    queue = f"!nv_tileaa.queue<[{TILE}], depth = {depth}>"
    bodies: list[str] = []
    for place, agent in enumerate(agents):
        body: list[str] = []
        for number, step in enumerate(agent.split("; ")):
            kind, _, what = step.rpartition(" ")
            body.append(STEPS[kind].format(what, n=f"{place}_{number}", queue=queue, tile=TILE))
        bodies.append("\n".join(body))
    counts = ", ".join(repeat("1", len(agents)))
    regions = "}, {\n".join(bodies)
    return f"""
func.func @k(%a: memref<8xf32>, %tile: {TILE}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %q = nv_tileaa.create_queue : () -> {queue}
  %r = nv_tileaa.create_queue : () -> {queue}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {counts}>}} {{
{regions}
}} : () -> ()
  func.return
}}"""


IN_ANY_ORDER = {
    "all is taken before what was stored is read": (
        "store 0; put q",
        "store 1; put q",
        "get q; get q; load 0; load 1",
    ),
    "two agents take every tile": ("put q", "put q", "get q; get q", "get q; get q"),
}
IN_ONE_ORDER = {
    "a queue each": ("store 0; put q", "put r", "get q; load 0; get r"),
    "the second waits by another queue": (
        "store 0; put q; put r",
        "get r; put q",
        "get q; load 0; get q",
    ),
    "the consumer asks for the second": ("put q", "get r; put q", "get q; put r; get q"),
    "slots that the puts name": ("put at 0", "put at 1", "get q; get q"),
    "one puts, the other goes on behind it": ("put at 0; put r", "get r; put q", "get q; get q"),
}
IN_NO_ORDER = {
    "the first tile is taken for one producer's": ("race", ("store 0; put q", "put q", "get q; load 0; get q")),
    "one tile is left": ("undrained", ("put q", "put q", "get q")),
    "a slot that is named, or the next": ("malformed", ("put at 0", "put q", "get q; get q")),
    "the next slot, or one that is named": ("malformed", ("put q", "put at 0", "get q; get q")),
}


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_an_order_of_producers_that_makes_no_difference_is_safe_and_said_to_be_open(name: str, depth: int) -> None:
    report = check(parse(with_queues(*IN_ANY_ORDER[name], depth=depth)))
    assert report.verdict is Verdict.SAFE, report
    assert report.scope.left_open == OPEN
    assert "open: who comes first for the next stage of queue 'q'" in report.last_line


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", IN_ONE_ORDER)
def test_producers_that_are_ordered_leave_nothing_open(name: str, depth: int) -> None:
    report = check(parse(with_queues(*IN_ONE_ORDER[name], depth=depth)))
    assert report.verdict is Verdict.SAFE, report
    assert report.scope.left_open == ()


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", IN_NO_ORDER)
def test_what_some_order_of_producers_breaks_is_found(name: str, depth: int) -> None:
    kind, agents = IN_NO_ORDER[name]
    assert kind in check(parse(with_queues(*agents, depth=depth))).kinds


def test_a_deadlock_that_only_some_orders_have_is_found() -> None:
    """The consumer asks for what a producer sends behind two tiles. If the other comes before, a slot is lacking."""
    agents = ("put q; put q; put r", "put q", "get q; get r; get q; get q")
    assert "deadlock" in check(parse(with_queues(*agents, depth=1))).kinds
    assert check(parse(with_queues(*agents, depth=2))).verdict is Verdict.SAFE


def test_a_run_says_what_its_order_has_decided() -> None:
    agents = IN_ANY_ORDER["two agents take every tile"]
    assert run(parse(with_queues(*agents)), "k").machine.left_open == list(OPEN)
    assert run(parse(with_queues("put q", "put r", "get q; get r")), "k").machine.left_open == []


def test_ranks_that_no_order_fixes_are_said_to_be_open() -> None:
    report = judged(*RIGHT["each stores to a place of its own"])
    assert report.scope.left_open == ("who comes first for a rank in a group",)
    assert judged(*RIGHT["the second depends on the first"]).scope.left_open == ()
