"""
Round trips between the models: tokens -> counts -> tokens -> counts, and counts -> marks -> counters.

The numbers stay, the verdict stays, and the counts of the second time are those of the first. `TILEAS_CASES=full` takes
500 programs for each of the two in place of a sample of 20.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.counted_programs import Rotation, distinct_rotations, rotating_program
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import run_in_order, same_bits
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.async_ import AwaitOp
from tileas_xdsl.dialects.async_queue import WaitOp

ROTATIONS = distinct_rotations(500)
TO_COUNTS, TO_TOKENS = "convert-async-to-queue", "convert-queue-to-async"
TO_MARKS = "convert-queue-to-rocdl{target=gfx942 barriers=false}"
TO_COUNTERS = "convert-rocdl-marks-to-counters{target=gfx942}"
batches = each("first", range(0, len(ROTATIONS), 4), 5, programs=4)


def counts(module: ModuleOp) -> list[object]:
    return [op.count for op in module.walk() if isinstance(op, WaitOp)]


def assert_equal_results(modules: list[ModuleOp], rotation: Rotation) -> None:
    """
    All of them give the same numbers, the last one also if work is performed at once, and the last one is safe.

    How many iterations there are differs from program to program: none, fewer than are ahead, many.
    """
    trips = (rotation.ahead + rotation.step + rotation.lower) % 4
    arguments = {"n": trips, "k": 0}
    outcomes = [run_in_order(module, "f", arguments, "lazy") for module in modules]
    outcomes.append(run_in_order(modules[-1], "f", arguments, "eager"))
    for outcome in outcomes:
        assert not outcome.violations, f"{rotation}, {trips}\n{outcome.violations[0]}"
        assert same_bits(outcome.arrays["out"], outcomes[0].arrays["out"]), f"{rotation}, {trips}"
    report = check(modules[-1], "f", args=arguments, trip_counts=[0])
    assert report.verdict is Verdict.SAFE, f"{rotation}\n{report}"


# Tokens and counts ----------------------------------------------------------------------------------------------------


@batches
def test_counts_that_went_through_tokens_come_back_the_same(first: int) -> None:
    for rotation in ROTATIONS[first : first + 4]:
        if rotation.predicated:
            rotation = replace(rotation, scopes=1)
        tokens = run_passes(parse(rotating_program(rotation)), TO_TOKENS)
        assert any(isinstance(op, AwaitOp) for op in tokens.walk())
        forms = [tokens]
        for step in (TO_COUNTS, TO_TOKENS, TO_COUNTS):
            forms.append(run_passes(forms[-1].clone(), step))
        _, queue, _, again = forms
        assert counts(again) == counts(queue), f"{rotation}\n{print_custom(queue)}\n{print_custom(again)}"
        assert_equal_results(forms, rotation)
        written = [left for left in counts(parse(rotating_program(rotation))) if left != 0]
        found = [left for left in counts(queue) if left != 0]
        # Tasks of one group may come back as groups of their own, and then each of them counts.
        assert rotation.scopes > 1 or found == written, f"{rotation}\n{print_custom(queue)}"


# Counts, marks and counters -------------------------------------------------------------------------------------------


def marks(module: ModuleOp) -> list[int]:
    waits = [op for op in module.walk() if op.name == "rocdl.wait.asyncmark"]
    return [int(str(op.properties["count"]).split(" ")[0]) for op in waits]


def counters(module: ModuleOp) -> list[int]:
    """vmcnt of each `s_waitcnt`: bits 0 to 3, and 14 and 15."""
    waits = [op for op in module.walk() if op.name == "rocdl.s.waitcnt"]
    fields = [int(str(op.properties["bitfield"]).split(" ")[0]) for op in waits]
    return [bits & 0xF | (bits >> 14 & 3) << 4 for bits in fields]


def expected_counters(rotation: Rotation) -> list[int]:
    """A group of so many transfers counts as so many; one whose transfers may not be made counts as none."""
    each = 0 if rotation.predicated else rotation.scopes
    return [left * each for left in counts(parse(rotating_program(rotation))) if isinstance(left, int)]


@batches
def test_counts_become_marks_and_marks_become_counters(first: int) -> None:
    for rotation in ROTATIONS[first : first + 4]:
        rotation = replace(rotation, copies=True)
        queue = parse(rotating_program(rotation))
        marked = run_passes(queue.clone(), TO_MARKS)
        counted = run_passes(marked.clone(), TO_COUNTERS)
        assert marks(marked) == counts(queue), f"{rotation}\n{print_custom(marked)}"
        assert counters(counted) == expected_counters(rotation), f"{rotation}\n{print_custom(counted)}"
        assert_equal_results([queue, marked, counted], rotation)
