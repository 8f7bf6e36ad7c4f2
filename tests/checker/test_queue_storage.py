"""Queues that do not say how many slots they have, and queues that lie in one storage."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError, ViolationKind
from tileas_xdsl.machine.running import run

T = "tensor<4xf32>"


def program(queues: str, body: str) -> str:
    return f"""
    func.func @k(%v: {T}, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {queues}
      {body}
      func.return
    }}"""


def queue(name: str, depth: int | None) -> str:
    return f"%{name} = nv_tileaa.create_queue : () -> {kind(depth)}"


def kind(depth: int | None) -> str:
    return f"!nv_tileaa.queue<[{T}]{'' if depth is None else f', depth = {depth}'}>"


def put(name: str, depth: int | None) -> str:
    return f"nv_tileaa.queue.put %{name}, %v : ({kind(depth)}, {T}) -> ()"


def get(name: str, depth: int | None) -> str:
    return f"%got_{name} = nv_tileaa.queue.get %{name} : ({kind(depth)}) -> {T}"


def mark(depth: int | None, partitions: str = "1, 1") -> str:
    types = f"{kind(depth)}, {kind(depth)}"
    return f"nv_tileaa.mark_for_reuse %a, %b attributes {{partitions = array<i32: {partitions}>}} : ({types}) -> ()"


def in_loop(body: str) -> str:
    return f"scf.for %i = %c0 to %n step %c1 {{\n{body}\n}}"


def agents(first: str, second: str) -> str:
    counts = "num_agents_per_group = array<i32: 1, 1>"
    return f"nv_tileaa.execute attributes {{{counts}}} {{\n{first}\n}}, {{\n{second}\n}} : () -> ()"


def kinds(text: str) -> set[ViolationKind]:
    report = check(parse(text))
    assert report.verdict is not Verdict.UNDECIDED, report.undecided
    return {finding.violation.kind for finding in report.findings}


# Queues without a depth -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, None])
def test_one_slot_is_enough_for_a_handshake(depth: int | None) -> None:
    body = agents(in_loop(put("a", depth)), in_loop(get("a", depth)))
    report = check(parse(program(queue("a", depth), body)))
    assert report.verdict is Verdict.SAFE
    assert report.is_proved == check(parse(program(queue("a", 2), body.replace(kind(depth), kind(2))))).is_proved


def test_two_puts_in_a_row_may_block_for_ever_but_a_run_goes_on() -> None:
    text = program(queue("a", None), f"{put('a', None)}\n{put('a', None)}\n{get('a', None)}\n%x = {get('a', None)[9:]}")
    assert kinds(text) == {ViolationKind.DEADLOCK}
    assert not run(parse(text), "k", {"n": 1}).violations


def test_that_a_put_had_to_wait_orders_nothing() -> None:
    """With one slot the second put comes after the get, and with two it need not."""

    def passes_by_depth(depth: int | None) -> str:
        memory = "%m = memref.alloc() : memref<1xf32>\n%f = arith.constant 1.0 : f32"
        first = f"{put('a', depth)}\n{put('a', depth)}\nmemref.store %f, %m[%c0] : memref<1xf32>"
        load = "%x = memref.load %m[%c0] : memref<1xf32>"
        again = get("a", depth).replace("%got_a", "%again")
        return program(f"{memory}\n{queue('a', depth)}", agents(first, f"{load}\n{get('a', depth)}\n{again}"))

    assert kinds(passes_by_depth(1)) == set()
    assert kinds(passes_by_depth(None)) == kinds(passes_by_depth(2)) == {ViolationKind.RACE}


# Storage that is shared -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 3, None])
def test_queues_in_turn_may_share_storage(depth: int | None) -> None:
    body = in_loop("\n".join([put("a", depth), get("a", depth), put("b", depth), get("b", depth)]))
    report = check(parse(program(f"{queue('a', depth)}\n{queue('b', depth)}\n{mark(depth)}", body)), timeout=3)
    assert report.verdict is Verdict.SAFE
    assert report.is_proved or depth is None


@pytest.mark.parametrize("depth", [1, 3])
def test_queues_in_use_together_may_not(depth: int) -> None:
    body = in_loop("\n".join([put("a", depth), put("b", depth), get("a", depth), get("b", depth)]))
    text = program(f"{queue('a', depth)}\n{queue('b', depth)}\n{mark(depth)}", body)
    assert kinds(text) == {ViolationKind.SLOT}
    assert kinds(text.replace(mark(depth), "")) == set()
    assert kinds(text.replace(mark(depth), mark(depth, "2"))) == set(), "those of one group lie side by side"


def test_a_release_that_nothing_orders_with_the_next_use_is_a_race() -> None:
    """Each agent has a queue of its own: in some interleavings both are in use."""
    turns = [in_loop(f"{put(name, 1)}\n{get(name, 1)}") for name in "ab"]
    text = program(f"{queue('a', 1)}\n{queue('b', 1)}\n{mark(1)}", agents(*turns))
    assert kinds(text) & {ViolationKind.RACE, ViolationKind.SLOT}
    assert kinds(text.replace(mark(1), "")) == set()


def test_what_is_in_use_cannot_be_given_other_storage() -> None:
    text = program(f"{queue('a', 1)}\n{queue('b', 1)}", f"{put('a', 1)}\n{mark(1)}\n{get('a', 1)}")
    with pytest.raises(UnsupportedError, match="gives other storage to queue 'a', which is in use; do it before"):
        check(parse(text))


def test_a_partition_is_not_empty() -> None:
    with pytest.raises(VerifyException, match="non-empty"):
        parse(program(f"{queue('a', 1)}\n{queue('b', 1)}\n{mark(1, '2, 0')}", "")).verify()
