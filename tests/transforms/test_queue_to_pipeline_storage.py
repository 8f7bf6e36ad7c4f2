"""
The queue rewrite where queues lie in one storage: a get of a view holds its slot longer than the queue did, up to the
last use of the view, so the slot may not be filled by another queue meanwhile. Every order of two queues is tried.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.support.ir import parse, print_generic, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics

PASS = "tileas-queue-to-pipeline"
SMEM = "tensor<4xf32, #nv_tileas.layout<smem>>"
QUEUE = f"!nv_tileaa.queue<[{SMEM}], depth = 1>"
NOTE = "!nv_tileaa.queue<[tensor<4xf32>], depth = 1>"
MARK = f"nv_tileaa.mark_for_reuse %a, %b attributes {{partitions = array<i32: 1, 1>}} : ({QUEUE}, {QUEUE}) -> ()"

STEPS = {
    f"{step} {queue}": text.replace("@", queue)
    for queue in "ab"
    for step, text in {
        "put": f"nv_tileaa.queue.put %@, %v : ({QUEUE}, {SMEM}) -> ()",
        "get": f"%got_@ = nv_tileaa.queue.get %@ : ({QUEUE}) -> {SMEM}",
        "use": f"%read_@ = nv_tileas.convert_layout %got_@ : ({SMEM}) -> tensor<4xf32>",
    }.items()
}
ORDERS = [
    order
    for order in permutations(STEPS)
    if all([step[:3] for step in order if step[-1] == name] == ["put", "get", "use"] for name in "ab")
]


def program(body: str) -> str:
    return f"""
    func.func @f(%v: {SMEM}, %w: tensor<4xf32>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = nv_tileaa.create_queue : () -> {QUEUE}
      %b = nv_tileaa.create_queue : () -> {QUEUE}
      %note = nv_tileaa.create_queue : () -> {NOTE}
      {MARK}
      {body}
      func.return
    }}"""


def is_safe_and_stays_so(text: str) -> bool | None:
    """Whether the rewrite keeps `text` safe; None where it refuses, and then the IR is as it was."""
    assert check(parse(text)).verdict is Verdict.SAFE
    module = parse(text)
    before = print_generic(module)
    try:
        with recorded_diagnostics():
            run_passes(module, PASS)
    except RefusedError as error:
        refusal = str(error)
    else:
        return check(module).verdict is Verdict.SAFE
    assert "holds a view of its slot across 'nv_tileaa.queue." in refusal
    assert "read the tile into registers first" in refusal
    assert print_generic(module) == before
    return None


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_one_agent_in_every_order(order: tuple[str, ...], repeated: bool) -> None:
    """Of two queues in one storage, what is safe is rewritten where no put comes in between, and else refused."""
    body = "\n".join(STEPS[step] for step in order)
    text = program(f"scf.for %i = %c0 to %n step %c1 {{\n{body}\n}}" if repeated else body)
    in_use_together = any(
        order.index(f"put {one}") < order.index(f"put {other}") < order.index(f"get {one}")
        for one, other in ("ab", "ba")
    )
    if in_use_together:
        assert check(parse(text)).verdict is Verdict.VIOLATION
        return
    held = any(
        order.index(f"get {one}") < order.index(f"put {other}") < order.index(f"use {one}")
        for one, other in ("ab", "ba")
    )
    assert is_safe_and_stays_so(text) is (None if held else True)


def test_the_orders_are_all_there() -> None:
    assert len(ORDERS) == 20


def test_a_put_of_the_view_itself_holds_the_slot_too() -> None:
    put = f"nv_tileaa.queue.put %b, %got_a : ({QUEUE}, {SMEM}) -> ()"
    text = program("\n".join([STEPS["put a"], STEPS["get a"], put, STEPS["get b"], STEPS["use b"]]))
    assert is_safe_and_stays_so(text) is None


def test_a_put_in_a_loop_between_get_and_use_counts() -> None:
    puts = f"scf.for %i = %c0 to %n step %c1 {{\n{STEPS['put b']}\n{STEPS['get b']}\n}}"
    text = program("\n".join([STEPS["put a"], STEPS["get a"], puts, STEPS["use a"]]))
    assert is_safe_and_stays_so(text) is None


@pytest.mark.parametrize("told_first", [False, True])
def test_another_agent_fills_the_storage_when_it_is_told(told_first: bool) -> None:
    """The note says that the view has been read, or is given too early: while the view is still to be read."""
    tell = f"nv_tileaa.queue.put %note, %w : ({NOTE}, tensor<4xf32>) -> ()"
    use = [tell, STEPS["use a"]] if told_first else [STEPS["use a"], tell]
    first = "\n".join([STEPS["put a"], STEPS["get a"], *use])
    told = f"%told = nv_tileaa.queue.get %note : ({NOTE}) -> tensor<4xf32>"
    second = "\n".join([told, STEPS["put b"], STEPS["get b"], STEPS["use b"]])
    counts = "num_agents_per_group = array<i32: 1, 1>"
    text = program(f"nv_tileaa.execute attributes {{{counts}}} {{\n{first}\n}}, {{\n{second}\n}} : () -> ()")
    assert is_safe_and_stays_so(text) is (None if told_first else True)


def test_queues_of_one_partition_lie_side_by_side() -> None:
    order = ("put a", "get a", "put b", "use a", "get b", "use b")
    text = program("\n".join(STEPS[step] for step in order))
    assert is_safe_and_stays_so(text) is None
    assert is_safe_and_stays_so(text.replace("array<i32: 1, 1>", "array<i32: 2>"))
