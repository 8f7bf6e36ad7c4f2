"""Bounds on unfinished groups: the example of the module's docstring, and random programs against execution."""

from __future__ import annotations

import pytest

from tests.support.counted_programs import wild_program
from tests.support.ir import parse
from tileas_xdsl.analysis.in_flight import UNBOUNDED, InFlight, in_flight
from tileas_xdsl.dialects.async_queue import WaitOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.core.synchronization import GroupQueue
from tileas_xdsl.machine.running import run

GROUP = "async_queue.commit 0 { async_queue.scope {} }"


def facts(text: str, *, least: bool = False) -> InFlight:
    (function,) = functions_in(parse(text))
    return in_flight(function, least=least)


def bounds_at_waits(body: str, *, least: bool = False) -> list[int]:
    head = "func.func @f(%n: index, %b: i1, %c0: index, %c1: index) {"
    constants = "%k0 = arith.constant 0 : index %k1 = arith.constant 1 : index %k2 = arith.constant 2 : index"
    found = facts(f"{head} {constants} {body} func.return }}", least=least)
    return [bounds[0] for bounds in found.before.values()]


@pytest.mark.parametrize(
    ("body", "most", "least"),
    [
        (f"{GROUP} {GROUP} async_queue.wait 0, 0 async_queue.wait 0, 0", [2, 0], [2, 0]),
        (f"scf.for %i = %k0 to %k2 step %k1 {{ {GROUP} }} async_queue.wait 0, 2", [2], [2]),
        (
            f"scf.for %i = %k0 to %k2 step %k1 {{ {GROUP} }} "
            f"scf.for %i = %c0 to %n step %c1 {{ {GROUP} async_queue.wait 0, 2 }} async_queue.wait 0, 0",
            [3, 2],
            [3, 2],
        ),
        (f"scf.for %i = %c0 to %n step %c1 {{ {GROUP} async_queue.wait 0, 2 }}", [3], [1]),
        (f"scf.for %i = %c0 to %n step %c1 {{ {GROUP} }} async_queue.wait 0, 0", [UNBOUNDED], [0]),
        (f"scf.if %b {{ {GROUP} }} async_queue.wait 0, 0", [1], [0]),
        (f"scf.if %b {{ {GROUP} }} else {{ {GROUP} {GROUP} }} async_queue.wait 0, 0", [2], [1]),
    ],
)
def test_bounds(body: str, most: list[int], least: list[int]) -> None:
    assert bounds_at_waits(body) == most
    assert bounds_at_waits(body, least=True) == least


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_no_execution_has_more_unfinished_groups_than_the_bound(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each wait of random programs: the groups committed, less those that earlier waits have forced to complete."""
    import tileas_xdsl.machine.meanings.async_queue as meanings

    seen: dict[WaitOp, list[tuple[int, int]]] = {}
    original = meanings.wait_for_queue

    def spy(agent, queue: GroupQueue, count: int, op: WaitOp):
        forced = max((forced for (name, forced) in marks if name == queue.name), default=0)
        seen.setdefault(op, []).append((int(queue.name), queue.committed - forced))
        marks.append((queue.name, max(queue.committed - max(count, 0), forced)))
        return original(agent, queue, count, op)

    monkeypatch.setattr(meanings, "wait_for_queue", spy)
    compared = 0
    for seed in range(first, first + 10):
        module = parse(wild_program(seed))
        (function,) = functions_in(module)
        found = in_flight(function)
        seen.clear()
        for n in (0, 1, 4):
            marks: list[tuple[str, int]] = []
            run(module, "f", {"n": n, "k": 1})
        for op, numbers in seen.items():
            for queue, unfinished in numbers:
                if queue in found.queues:
                    assert unfinished <= found.before[op][queue], f"{seed}: {unfinished} groups of queue {queue}"
                    compared += 1
    assert compared > 20
