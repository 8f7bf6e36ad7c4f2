"""
`queue-per-slot` by meaning: waiting for whole queues waits for what the counts waited for, no more and no less.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.corpora import each
from tests.support.counted_programs import Rotation, random_rotation, rotating_program, wild_program
from tests.support.counts import assert_same_verdict_and_numbers
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp

PASS = "queue-per-slot"
TRIPS = (0, 1, 2, 5)


@each("first", range(0, 200, 20), 2, programs=20)
def test_wild_programs_keep_their_verdict_and_their_numbers(first: int) -> None:
    converted = 0
    for seed in range(first, first + 20):
        before = parse(wild_program(seed, computed_ids=False, counts=(0, 0, 1)))
        try:
            after = run_passes(before.clone(), PASS)
        except RefusedError:
            continue
        converted += 1
        assert all(op.count == 0 for op in after.walk() if isinstance(op, WaitOp))
        assert_same_verdict_and_numbers(before, after, [{"n": n, "k": 1} for n in (0, 1, 4)], f"wild {seed}")
    assert converted >= 5


@each("first", range(0, 40, 5), 3, programs=5)
def test_rotating_programs_keep_their_meaning(first: int) -> None:
    for seed in range(first, first + 5):
        before = parse(rotating_program(replace(random_rotation(seed), peeled=True)))
        after = run_passes(before.clone(), PASS)
        assert_same_meaning(before, after, "f", [{"n": n, "k": 0} for n in TRIPS])


def test_nothing_is_unrolled_and_nothing_carried() -> None:
    """The id is a function of the induction variable."""
    before = parse(rotating_program(Rotation(ahead=2, static_prologue=False)))
    after = run_passes(before.clone(), PASS)
    for module in (before, after):
        loops = [op for op in module.walk() if op.name == "scf.for"]
        assert len(loops) == 2
        assert not any(loop.results for loop in loops)
    commits = [op for op in after.walk() if isinstance(op, CommitOp)]
    assert len(commits) == 2
    assert not any(isinstance(op.queue, int) for op in commits)


@pytest.mark.parametrize("slots", [3, 4, 7])
def test_more_slots_than_are_needed_do_no_harm(slots: int) -> None:
    before = parse(rotating_program(Rotation(ahead=2)))
    after = run_passes(before.clone(), f"{PASS}{{slots={slots}}}")
    assert_same_meaning(before, after, "f", [{"n": n, "k": 0} for n in TRIPS])
    assert f"arith.constant {slots} : index" in print_custom(after)


LOOP = """
func.func @f(%n: index, %k: index, %c0: index, %c1: index, %q: index, %c: i1) {{
  scf.for %i = %c0 to %n step %c1 {{
    {inside}
  }}
  {behind}
  func.return
}}
"""
GROUP = "async_queue.commit 0 { async_queue.scope {} }"

REFUSALS = {
    "any number unfinished": (
        LOOP.format(inside=GROUP, behind="async_queue.wait 0, 1"),
        PASS,
        "'async_queue.wait' op leaves groups of queue 0 unfinished where any number may be",
    ),
    "too few slots": (
        LOOP.format(inside=f"{GROUP} async_queue.wait 0, 2", behind="async_queue.wait 0, 0"),
        f"{PASS}{{slots=2}}",
        "is reached when 3 groups of queue 0 may be unfinished, more than the 2 that slots=N allows for",
    ),
    "too many slots": (
        LOOP.format(inside=f"{GROUP} async_queue.wait 0, 70", behind="async_queue.wait 0, 0"),
        PASS,
        "more than the 64 that may become one for each",
    ),
    "a computed id": (
        LOOP.format(inside="", behind="async_queue.wait %q, 0 async_queue.commit 0"),
        PASS,
        "'async_queue.wait' op is for a queue whose id is computed already",
    ),
    "commits in a commit": (
        LOOP.format(
            inside="",
            behind=f"async_queue.commit 0 {{ scf.if %c {{ {GROUP} }} }} async_queue.wait 0, 0",
        ),
        PASS,
        "holds other commits that are made an unknown number of times",
    ),
}


@pytest.mark.parametrize(("text", "spec", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_name_op_reason_and_way_out_and_change_nothing(text: str, spec: str, reason: str) -> None:
    module = parse(text)
    before = print_custom(module)
    with pytest.raises(RefusedError) as refusal:
        run_passes(module, spec)
    assert reason in str(refusal.value)
    assert "help: " in str(refusal.value)
    assert print_custom(module) == before
