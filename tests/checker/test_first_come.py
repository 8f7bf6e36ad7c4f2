"""
What depends on who comes first is no fixed number: the rank of a member of a group.

Tasks that happens-before leaves unordered may add their members in any order, so a program is right if it is right with
each. Where they are ordered, ranks are fixed.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

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
