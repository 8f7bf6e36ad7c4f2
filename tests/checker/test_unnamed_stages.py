"""
A put knows which stage it fills, and so which phase it waits for: the parity alone would let it pass too early.

Where several producers take the next stage without naming it, which stage each gets depends on who comes first.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.exchanged_agents import exchanges
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import run


def queues(*bodies: list[str], depth: int) -> str:
    """Agents around a queue %q of so many slots, and a queue %r of one slot."""
    regions = ", ".join("{\n" + "\n".join(body) + "\n}" for body in bodies)
    sizes = ", ".join("1" for _ in bodies)
    make = "nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = {}>"
    return f"""
func.func @main(%v: tensor<8xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = {make.format(depth)}
  %r = {make.format(1)}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {sizes}>}} {regions} : () -> ()
  func.return
}}
"""


def at(name: str, depth: int) -> tuple[Callable[..., str], Callable[[], str]]:
    """How to put into, and get from, the queue `name`."""
    kind = f"!nv_tileaa.queue<[tensor<8xf32>], depth = {depth}>"

    def put(stage: int | None = None) -> str:
        if stage is None:
            return f"nv_tileaa.queue.put %{name}, %v : ({kind}, tensor<8xf32>) -> ()"
        return f"nv_tileaa.queue.put %{name}[%c{stage}], %v : ({kind}, index, tensor<8xf32>) -> ()"

    return put, lambda: f"nv_tileaa.queue.get %{name} : ({kind}) -> tensor<8xf32>"


PUT_R, GET_R = (make() for make in at("r", 1))


def reports(text: str) -> list[Report]:
    found = [check(parse(text))]
    for exchange in exchanges(text):
        with exchange.on_machine():
            found.append(check(exchange.of(text)))
    return found


@pytest.mark.parametrize("puts", [1, 2])
def test_more_producers_than_slots_are_wrong_in_every_order(puts: int) -> None:
    """The put of stage 2 finds the barrier as the put of stage 0 did, and passes."""
    put, get = at("q", 1)
    text = queues([put()] * (puts + 1), [put()] * puts, [get()] * (2 * puts + 1), depth=1)
    first, *others = reports(text)
    assert "phase" in first.kinds
    assert any("where phase 1 is meant" in str(finding) for finding in first.findings)
    assert [other.kinds for other in others] == [first.kinds] * len(others)


def test_as_many_slots_as_producers_are_enough() -> None:
    """All interleavings are tried, since it depends on them who fills which slot."""
    put, get = at("q", 2)
    for report in reports(queues([put()] * 2, [put()] * 2, [get()] * 4, depth=2)):
        assert report.verdict is Verdict.SAFE, str(report)
        assert report.executions > 1


def test_producers_in_turn_need_one_execution() -> None:
    put, get = at("q", 1)
    for report in reports(queues([put(), PUT_R], [GET_R, put()], [get()] * 2, depth=1)):
        assert report.verdict is Verdict.SAFE, str(report)
        assert report.executions == 1


def test_producers_that_name_their_stages_need_one_execution() -> None:
    put, get = at("q", 2)
    for report in reports(queues([put(0)], [put(1)], [get()] * 2, depth=2)):
        assert report.verdict is Verdict.SAFE, str(report)
        assert report.executions == 1


def test_who_comes_first_decides_what_is_ordered() -> None:
    """The consumer takes the first stage for that of one producer, and reads what this one has written before."""
    put, get = at("q", 2)
    text = queues(
        ["memref.store %f, %m[%c0] : memref<4xf32>", put()],
        [put()],
        [get(), "memref.load %m[%c0] : memref<4xf32>"],
        depth=2,
    )
    text = text.replace("%n: index", "%m: memref<4xf32>, %f: f32").replace("memref.load", "%x = memref.load")
    first, *others = reports(text)
    assert first.kinds == ["race", "undrained"]
    assert [other.kinds for other in others] == [first.kinds] * len(others)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_one_producer_is_proved_for_every_trip_count(depth: int) -> None:
    put, get = at("q", depth)

    def loop(line: str) -> list[str]:
        return ["scf.for %i = %c0 to %n step %c1 {", line, "}"]

    text = queues(loop(put()), loop(get()), depth=depth)
    for report in reports(text):
        assert report.holds_for_every_trip_count, str(report)
    for trips in (0, 1, depth, 2 * depth + 3):
        for order in ("eager", "lazy", "random"):
            run(parse(text), "main", {"n": trips}, order=order)
