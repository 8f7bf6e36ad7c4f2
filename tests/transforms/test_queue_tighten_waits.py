"""Waits are raised to the last count that is safe and no further, on random programs whose counts were lowered."""

from __future__ import annotations

import os
import random

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tests.support.counted_programs import random_rotation, rotating_program
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tests.support.queue_exactness import slack_waits, waits_in, with_count
from tests.support.token_programs import token_program
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.checking import check
from tileas_xdsl.machine.report import Verdict

PROGRAMS = 12 if os.environ.get("TILEAS_CASES") == "full" else 3
PASS = "queue-tighten-waits"


def is_safe(module: ModuleOp) -> bool:
    return check(module, "f", trip_counts=range(6)).verdict is Verdict.SAFE


def counts(module: ModuleOp) -> list[int]:
    found = [wait.count for wait in waits_in(module)]
    return [count for count in found if isinstance(count, int)]


def lowered(module: ModuleOp, rng: random.Random) -> ModuleOp:
    """The module with some of its counts smaller, which is as safe."""
    for wait in waits_in(module):
        count = wait.count
        if isinstance(count, int):
            wait.properties["count"] = IntegerAttr(rng.randint(0, count), i64)
    return module


def tightened(text: str) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(parse(text), PASS)


def assert_tight(before: ModuleOp, after: ModuleOp, arguments: list[dict[str, int]]) -> None:
    """Safe, with the same numbers; no wait that is left may leave a group more."""
    assert_same_meaning(before, after, "f", arguments, orders=("lazy", "random:2"))
    assert is_safe(after)
    assert not slack_waits(after, is_safe)
    for number, wait in enumerate(waits_in(after)):
        count = wait.count
        assert isinstance(count, int)
        assert not is_safe(with_count(after, number, count + 1))


def tighten_lowered(original: ModuleOp, seed: int, arguments: list[dict[str, int]]) -> list[int] | None:
    """Lower counts, tighten them, and check what comes out; the counts then, None where the pass let all stay."""
    before = lowered(original.clone(), random.Random(seed))
    after = before.clone()
    with recorded_diagnostics() as remarks:
        run_passes(after, PASS)
    if any("stay as they are" in str(remark) for remark in remarks):
        assert print_custom(before) == print_custom(after)
        return None
    assert_tight(before, after, arguments)
    return counts(after)


def test_rotating_programs_get_their_counts_back():
    """The waits in front of the last one; the last one may go where nothing is left by then."""
    back = 0
    for seed in range(5, 5 + PROGRAMS):
        original = parse(rotating_program(random_rotation(seed)))
        if not is_safe(original):
            continue
        found = tighten_lowered(original, seed, [{"n": n, "k": 1} for n in (0, 1, 4)])
        if found is not None:
            assert found == counts(original)[: len(found)]
            back += 1
    assert back >= PROGRAMS // 2


def test_token_programs_get_counts_that_are_exact():
    judged = 0
    for seed in range(6, 6 + PROGRAMS):
        original = run_passes(parse(token_program(seed).text), "convert-async-to-queue")
        arguments = [{"n": n, "c": c} for n, c in ((0, 0), (1, 1), (4, 0))]
        judged += tighten_lowered(original, seed, arguments) is not None
    assert judged >= PROGRAMS // 2


# Case by case ---------------------------------------------------------------------------------------------------------


def ring(count: int, drain: str = "async_queue.wait 0, 0") -> str:
    return f"""
    func.func @f(%n: index, %out: memref<?xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %x = arith.constant 1.0 : f32
      %ring = memref.alloc() : memref<3xf32>
      async_queue.commit 0 {{
        async_queue.scope {{
          memref.store %x, %ring[%c0] : memref<3xf32>
        }}
      }}
      async_queue.commit 0 {{
        async_queue.scope {{
          memref.store %x, %ring[%c1] : memref<3xf32>
        }}
      }}
      scf.for %i = %c0 to %n step %c1 {{
        %ahead = arith.addi %i, %c2 : index
        %slot = arith.remui %ahead, %c3 : index
        async_queue.commit 0 {{
          async_queue.scope {{
            memref.store %x, %ring[%slot] : memref<3xf32>
          }}
        }}
        async_queue.wait 0, {count} {{
          %here = arith.remui %i, %c3 : index
          %y = memref.load %ring[%here] : memref<3xf32>
          memref.store %y, %out[%i] : memref<?xf32>
        }}
      }}
      {drain}
      func.return
    }}
    """


def test_a_ring_of_three_leaves_two():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(0)), PASS)
    assert counts(after) == [2, 0]
    assert len(remarks) == 1
    text = str(remarks[0])
    assert "raised from 0 to 2; with 3: read after write on" in text
    assert "in @f(n = 1)" in text


def test_what_is_exact_stays():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(2)), PASS)
    assert print_custom(after) == print_custom(parse(ring(2)))
    assert not remarks


def test_waits_that_nothing_needs_go_and_their_bodies_stay():
    text = ring(
        2,
        "async_queue.wait 0, 3\nasync_queue.wait 1, 0 {\nmemref.store %x, %out[%c0] : memref<?xf32>\n}\n"
        "async_queue.wait 0, 0",
    )
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(text), PASS)
    assert counts(after) == [2, 0]
    assert [str(remark) for remark in remarks if "removed: all is as safe" not in str(remark)] == []
    assert "memref.store %x, %out[%c0]" in print_custom(after)


def test_a_program_that_races_stays_with_a_remark():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(3)), PASS)
    assert print_custom(after) == print_custom(parse(ring(3)))
    assert "stay as they are: read after write" in str(remarks[0])


def test_an_op_that_the_checker_does_not_know_keeps_the_waits():
    text = ring(0, 'async_queue.wait 0, 0\n"test.what"() : () -> ()')
    module = parse(text, allow_unregistered=True)
    with recorded_diagnostics() as remarks:
        run_passes(module, PASS)
    assert counts(module) == [0, 0]
    assert "stay as they are" in str(remarks[0])


def test_a_function_that_others_call_is_judged_with_them():
    """The wait in the callee covers the caller's group: alone it would be needed by nobody."""
    text = """
    func.func private @settle() {
      async_queue.wait 0, 0
      func.return
    }
    func.func @f(%m: memref<4xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      func.call @settle() : () -> ()
      %y = memref.load %m[%c0] : memref<4xf32>
      func.return %y : f32
    }
    """
    assert counts(tightened(text)) == [0]


def test_computed_counts_stay():
    text = ring(0, "async_queue.wait 0, %c0")
    after = tightened(text)
    assert counts(after) == [2]
    assert len(waits_in(after)) == 2


def test_capture_at_issue_needs_fewer_waits():
    """A source that is read at issue may be overwritten at once."""
    text = """
    func.func @f(%m: memref<4xf32>, %k: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          %y = memref.load %m[%c0] : memref<4xf32>
          memref.store %y, %k[%c0] : memref<4xf32>
        }
      }
      async_queue.wait 0, 0
      memref.store %x, %m[%c0] : memref<4xf32>
      async_queue.wait 0, 0
      func.return
    }
    """
    with recorded_diagnostics():
        at_completion = run_passes(parse(text), PASS)
        at_issue = run_passes(parse(text), f"{PASS}{{capture=issue}}")
    assert print_custom(at_completion).index("async_queue.wait") < print_custom(at_completion).index("memref.store %x")
    assert print_custom(at_issue).index("async_queue.wait") > print_custom(at_issue).index("memref.store %x")
    assert counts(at_completion) == counts(at_issue) == [0]
