"""Tasks, promises, groups and asynchronous functions of MLIR's `async` on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.async_programs import CONSTANTS, PROGRAMS
from tests.support.async_runtime import run_natively
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.running import Outcome, run

ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(20))]


# Numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_gives_the_same_numbers(name: str) -> None:
    program = PROGRAMS[name]
    results, arrays = program.answer
    module = parse(program.text)
    for order, seed in ORDERS:
        outcome = run(module, "f", program.arguments, order=order, seed=seed)
        assert outcome.violations == (), f"{order} {seed}: {outcome.violations[0]}"
        assert list(outcome.results) == results, (order, seed)
        for found, expected in zip(outcome.arrays.values(), arrays, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=f"{order} {seed}")


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.compiles])
def test_the_machine_agrees_with_mlir_s_own_runtime(name: str) -> None:
    program = PROGRAMS[name]
    outcome = run(parse(program.text), "f", program.arguments)
    found = [*map(float, outcome.results), *(float(x) for array in outcome.arrays.values() for x in array)]
    assert run_natively([program.native]) == [found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_safe(name: str) -> None:
    report = check(parse(PROGRAMS[name].text), "f", trip_counts=range(5))
    assert report.verdict is Verdict.SAFE, str(report)


# Missing edges ------------------------------------------------------------------------------------------------------

BROKEN = [
    ("a_chain", "async.execute [%first]", "async.execute", "race"),
    ("a_chain", "async.execute [%second] (%promise as", "async.execute (%promise as", None),
    ("a_chain", "  async.await %third : !async.token\n", "", None),
    (
        "nested",
        "    %1 = async.await %c : !async.value<f32>\n",
        "    %1 = memref.load %m[%c1] : memref<4xf32>\n",
        "undrained",
    ),
    ("a_group", "  async.await_all %group\n", "", "race"),
    ("functions", "  await %token : !async.token\n", "", "race"),
    ("a_promised_array", "memref.load %own[%c2]", "memref.load %m[%c2]", None),
    ("a_chain_in_a_loop", "async.execute [%before]", "async.execute [%start]", "race"),
    ("a_chain_in_a_loop", "  async.await %end : !async.token\n", "", "undrained"),
]


@pytest.mark.parametrize(("name", "before", "after", "kind"), BROKEN)
def test_an_edge_that_is_missing_is_found_and_no_other(name: str, before: str, after: str, kind: str | None) -> None:
    """With `kind` None the edge was implied by others: a promise, or the token that both come with."""
    text = PROGRAMS[name].text
    assert before in text
    report = check(parse(text.replace(before, after, 1)), "f", trip_counts=range(5))
    if kind is None:
        assert report.verdict is Verdict.SAFE, str(report)
    else:
        assert kind in report.kinds, str(report)


def test_awaiting_a_promise_of_a_token_says_nothing_about_the_token() -> None:
    """The outer token fires when the body is done; what the body started need not be."""
    once = f"""
    func.func @f(%m: memref<1xf32>, %x: f32) -> f32 {{{CONSTANTS}
      %outer, %started = async.execute -> !async.value<!async.token> {{
        %inner = async.execute {{
          memref.store %x, %m[%c0] : memref<1xf32>
          async.yield
        }}
        async.yield %inner : !async.token
      }}
      %token = async.await %started : !async.value<!async.token>
      AGAIN
      %0 = memref.load %m[%c0] : memref<1xf32>
      async.await %token : !async.token
      return %0 : f32
    }}"""
    assert check(parse(once.replace("AGAIN", ""))).kinds == ["race"]
    twice = once.replace("AGAIN", "async.await %token : !async.token")
    assert check(parse(twice)).verdict is Verdict.SAFE
    for order, seed in ORDERS:
        assert run(parse(twice), "f", {"x": 3.0}, order=order, seed=seed).results == (3.0,)


# Waiting ------------------------------------------------------------------------------------------------------------

WAITS_FOR_LATER = f"""
func.func @f(%m: memref<2xf32>, %x: f32) -> f32 {{{CONSTANTS}
  %group = async.create_group %c1 : !async.group
  %early, %sum = async.execute -> !async.value<f32> {{
    async.await_all %group
    %0 = memref.load %m[%c0] : memref<2xf32>
    %1 = arith.addf %0, %0 : f32
    async.yield %1 : f32
  }}
  %late = async.execute {{
    memref.store %x, %m[%c0] : memref<2xf32>
    async.yield
  }}
  %rank = async.add_to_group %late, %group : !async.token
  %result = async.await %sum : !async.value<f32>
  return %result : f32
}}"""


def _step(outcome: Outcome, agent: str, kind: str) -> int:
    return next(h.step for h in outcome.trace.happenings if h.agent_name == agent and h.kind == kind)


@pytest.mark.parametrize(("order", "seed"), ORDERS)
def test_a_wait_inside_suspends_its_task_only(order: str, seed: int) -> None:
    """The first task waits for a group that the function, still running, fills after it."""
    outcome = run(parse(WAITS_FOR_LATER), "f", {"x": 4.0}, order=order, seed=seed)
    assert outcome.results == (8.0,)
    assert outcome.violations == ()
    assert _step(outcome, "task 0", "wait") > _step(outcome, "task 1", "finish")


def test_a_group_that_never_fills() -> None:
    text = WAITS_FOR_LATER.replace("async.create_group %c1", "async.create_group %c2")
    report = check(parse(text))
    assert report.kinds == ["deadlock"]
    assert "a group of 2 to which only 1 were added" in str(report)


def test_a_task_that_nobody_awaits() -> None:
    text = f"""
    func.func @f(%m: memref<1xf32>, %x: f32) {{{CONSTANTS}
      %token = async.execute {{
        memref.store %x, %m[%c0] : memref<1xf32>
        async.yield
      }}
      return
    }}"""
    assert check(parse(text)).kinds == ["undrained"]
    returned = text.replace("%x: f32)", "%x: f32) -> !async.token").replace("return", "return %token : !async.token")
    assert check(parse(returned)).verdict is Verdict.SAFE
    outcome = run(parse(returned), "f", {"x": 2.0})
    assert outcome.arrays["m"] == [2.0]


def test_arguments_that_are_tokens_and_promises() -> None:
    text = f"""
    func.func @f(%t: !async.token, %p: !async.value<f32>, %q: !async.value<memref<2xf32>>) -> f32 {{{CONSTANTS}
      %token, %sum = async.execute [%t] (%p as %x: !async.value<f32>, %q as %m: !async.value<memref<2xf32>>)
          -> !async.value<f32> {{
        %0 = memref.load %m[%c1] : memref<2xf32>
        %1 = arith.addf %0, %x : f32
        memref.store %1, %m[%c0] : memref<2xf32>
        async.yield %1 : f32
      }}
      %result = async.await %sum : !async.value<f32>
      return %result : f32
    }}"""
    outcome = run(parse(text), "f", {"p": 1.5, "q": np.array([0, 2], np.float32)})
    assert outcome.results == (3.5,)
    np.testing.assert_array_equal(outcome.arrays["q"], [3.5, 2])
    assert check(parse(text)).verdict is Verdict.SAFE


def test_long_chains_do_not_exhaust_the_stack() -> None:
    program = PROGRAMS["a_chain_in_a_loop"]
    for order in ("eager", "lazy"):
        outcome = run(parse(program.text), "f", [program.arguments[0], 1.0, 700], order=order)
        assert outcome.arrays["m"][0] == 701.0


def test_a_task_that_does_nothing_need_not_be_awaited() -> None:
    """It is a name for what it depends on; what that is, somebody has to await."""
    text = """
func.func @f(%a: memref<4xf32>, %x: f32) {{
  %c0 = arith.constant 0 : index
  %t = async.execute {{
    memref.store %x, %a[%c0] : memref<4xf32>
    async.yield
  }}
  %joined = async.execute [%t] {{
    async.yield
  }}
  {}
  func.return
}}
"""
    assert check(parse(text.format("async.await %t : !async.token"))).verdict is Verdict.SAFE
    assert set(check(parse(text.format(""))).kinds) == {"undrained"}
