"""
Shapes of loops that random ones do not have, run before and after with mlir-runner for 0 to 8 iterations.
"""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects import scf

from tests.support.execution import Case, run_cases
from tests.support.ir import parse, print_custom
from tests.support.scf_pipelining import LOOP, ScheduleHooks, marked_loops, placements_of, spelled_out
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.transforms.loops.loop_expander import expand_loop
from tileas_xdsl.transforms.loops.loop_expander.plan import Epilogue, late_stages_first, plan_expansion

ARRAY = "memref<96xi64>"

LOOPS = {
    # Six stages: most trip counts are below them.
    "six_stages": """
      scf.for %i = %lb to %ub step %st {
        %a = memref.load %A[%i] {@0.6} : memref<96xi64>
        %b = arith.addi %a, %k3 {@1.5} : i64
        %c = arith.muli %b, %a {@2.4} : i64
        %d = arith.addi %c, %b {@3.3} : i64
        %e = arith.muli %d, %a {@4.2} : i64
        %f = arith.addi %e, %d {@5.0} : i64
        memref.store %f, %B[%i] {@5.1} : memref<96xi64>
      } {@}
    """,
    # Three values of the past, made in stage 1 and read in stages 1, 2 and 3.
    "history": """
      %r:3 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5, %z = %k7) -> (i64, i64, i64) {
        %a = memref.load %A[%i] {@0.5} : memref<96xi64>
        %b = arith.addi %a, %x {@1.4} : i64
        %c = arith.muli %b, %z {@2.2} : i64
        %d = arith.addi %c, %y {@3.0} : i64
        memref.store %d, %B[%i] {@3.1} : memref<96xi64>
        scf.yield %b, %x, %y : i64, i64, i64
      } {@}
      memref.store %r#0, %A[%c91] : memref<96xi64>
      memref.store %r#1, %A[%c92] : memref<96xi64>
      memref.store %r#2, %A[%c93] : memref<96xi64>
    """,
    # The same, made in the last stage: an empty or short loop ends with initial values of different age.
    "late_history": """
      %r:3 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5, %z = %k7) -> (i64, i64, i64) {
        %a = memref.load %A[%i] {@0.3} : memref<96xi64>
        %b = arith.muli %a, %k3 {@1.2} : i64
        %c = arith.addi %b, %z {@3.0} : i64
        memref.store %y, %B[%i] {@3.1} : memref<96xi64>
        scf.yield %c, %x, %y : i64, i64, i64
      } {@}
      memref.store %r#0, %A[%c91] : memref<96xi64>
      memref.store %r#1, %A[%c92] : memref<96xi64>
      memref.store %r#2, %A[%c93] : memref<96xi64>
    """,
    "late_pair": """
      %r:2 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5) -> (i64, i64) {
        %a = memref.load %A[%i] {@0.2} : memref<96xi64>
        %b = arith.addi %a, %x {@3.0} : i64
        memref.store %y, %B[%i] {@3.1} : memref<96xi64>
        scf.yield %b, %x : i64, i64
      } {@}
      memref.store %r#0, %A[%c91] : memref<96xi64>
      memref.store %r#1, %A[%c92] : memref<96xi64>
    """,
    # A sum that only its own stage, the first, looks at.
    "sum_in_front": """
      %r = scf.for %i = %lb to %ub step %st iter_args(%x = %k3) -> (i64) {
        %a = memref.load %A[%i] {@0.1} : memref<96xi64>
        %b = arith.addi %a, %x {@0.2} : i64
        memref.store %b, %B[%i] {@0.3} : memref<96xi64>
        memref.store %k3, %A[%i] {@1.0} : memref<96xi64>
        scf.yield %b : i64
      } {@}
    """,
    # One value carried from two starts, one of them with an older sibling.
    "two_starts": """
      %r:3 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5, %z = %k7) -> (i64, i64, i64) {
        %a = arith.addi %x, %y {@0.1} : i64
        %b = arith.muli %a, %k3 {@1.2} : i64
        %c = arith.addi %b, %z {@2.0} : i64
        memref.store %c, %B[%i] {@2.3} : memref<96xi64>
        scf.yield %a, %a, %y : i64, i64, i64
      } {@}
      memref.store %r#0, %A[%c91] : memref<96xi64>
      memref.store %r#1, %A[%c92] : memref<96xi64>
      memref.store %r#2, %A[%c93] : memref<96xi64>
    """,
    # Two numbers change places, a third is replaced by one from outside, a fourth never changes.
    "rotation": """
      %r:4 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5, %z = %k7, %w = %k9) \
-> (i64, i64, i64, i64) {
        %a = memref.load %A[%i] {@0.4} : memref<96xi64>
        %b = arith.muli %a, %x {@1.3} : i64
        %c = arith.addi %b, %y {@2.1} : i64
        %d = arith.muli %c, %z {@2.2} : i64
        %e = arith.addi %d, %w {@3.0} : i64
        memref.store %e, %B[%i] {@3.5} : memref<96xi64>
        scf.yield %y, %x, %k3, %w : i64, i64, i64, i64
      } {@}
      memref.store %r#0, %A[%c91] : memref<96xi64>
      memref.store %r#2, %A[%c92] : memref<96xi64>
      memref.store %r#3, %A[%c93] : memref<96xi64>
    """,
    # The same, read in the first stage only, and only one of the two.
    "early_rotation": """
      %r:2 = scf.for %i = %lb to %ub step %st iter_args(%x = %k3, %y = %k5) -> (i64, i64) {
        %a = memref.load %A[%i] {@0.1} : memref<96xi64>
        %b = arith.muli %a, %x {@0.2} : i64
        memref.store %b, %B[%i] {@1.0} : memref<96xi64>
        scf.yield %y, %x : i64, i64
      } {@}
    """,
    # Two buffers change places; all that touches them is one stage.
    "swapped_buffers": """
      %r:2 = scf.for %i = %lb to %ub step %st iter_args(%P = %A, %Q = %B) -> (memref<96xi64>, memref<96xi64>) {
        %n = arith.index_cast %i {@0.3} : index to i64
        %a = memref.load %P[%i] {@1.0} : memref<96xi64>
        %b = arith.addi %a, %n {@1.1} : i64
        memref.store %b, %Q[%i] {@1.2} : memref<96xi64>
        scf.yield %Q, %P : memref<96xi64>, memref<96xi64>
      } {@}
      memref.store %k9, %r#1[%c95] : memref<96xi64>
    """,
    # The induction variable of the iteration before.
    "late_induction": """
      %r = scf.for %i = %lb to %ub step %st iter_args(%j = %c95) -> (index) {
        %a = memref.load %A[%i] {@0.1} : memref<96xi64>
        memref.store %a, %B[%j] {@2.0} : memref<96xi64>
        scf.yield %i : index
      } {@}
      memref.store %k9, %A[%r] : memref<96xi64>
    """,
    # A region with its own loop reads values of another stage, and the induction variable.
    "nested_loop": """
      scf.for %i = %lb to %ub step %st {
        %a = memref.load %A[%i] {@0.2} : memref<96xi64>
        %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%t = %a) -> (i64) {
          %k = arith.addi %i, %j : index
          %b = memref.load %A[%k] : memref<96xi64>
          %u = arith.muli %t, %b : i64
          scf.yield %u : i64
        } {@1.1}
        memref.store %s, %B[%i] {@2.0} : memref<96xi64>
      } {@}
    """,
    # Some of the bounds are constants.
    "from_one": """
      scf.for %i = %c1 to %ub step %st {
        %a = memref.load %A[%i] {@0.2} : memref<96xi64>
        %b = arith.muli %a, %k3 {@1.1} : i64
        memref.store %b, %B[%i] {@2.0} : memref<96xi64>
      } {@}
    """,
    "in_steps_of_two": """
      scf.for %i = %lb to %ub step %c2 {
        %a = memref.load %A[%i] {@0.2} : memref<96xi64>
        %b = arith.muli %a, %k3 {@1.1} : i64
        memref.store %b, %B[%i] {@2.0} : memref<96xi64>
      } {@}
    """,
    # A loop over i8 that starts at its least number: the kernel's bound must not wrap around.
    "narrow": """
      %l8 = arith.index_cast %lb : index to i8
      %u8 = arith.index_cast %ub : index to i8
      %s8 = arith.index_cast %st : index to i8
      %base = arith.constant -128 : i8
      %from = arith.addi %l8, %base : i8
      %to = arith.addi %u8, %base : i8
      scf.for %i = %from to %to step %s8 : i8 {
        %o = arith.subi %i, %base {@0.5} : i8
        %p = arith.index_cast %o {@0.6} : i8 to index
        %a = memref.load %A[%p] {@1.4} : memref<96xi64>
        %b = arith.addi %a, %k3 {@2.3} : i64
        %q = arith.subi %i, %base {@3.0} : i8
        %v = arith.index_cast %q {@3.1} : i8 to index
        memref.store %b, %B[%v] {@3.2} : memref<96xi64>
      } {@}
    """,
    # A loop over i2 in four stages: it has at most three iterations, and the type no number for a fourth.
    "two_bits": """
      %from = arith.constant -2 : i2
      %one = arith.constant 1 : i2
      %u2 = arith.index_cast %ub : index to i2
      %to = arith.addi %u2, %from : i2
      scf.for %i = %from to %to step %one : i2 {
        %o = arith.subi %i, %from {@0.6} : i2
        %p = arith.extui %o {@0.7} : i2 to i64
        %q = arith.index_cast %p {@0.8} : i64 to index
        %a = memref.load %A[%q] {@1.5} : memref<96xi64>
        %b = arith.addi %a, %k3 {@2.4} : i64
        %r = arith.subi %i, %from {@3.0} : i2
        %v = arith.extui %r {@3.1} : i2 to i64
        %w = arith.index_cast %v {@3.2} : i64 to index
        memref.store %b, %B[%w] {@3.3} : memref<96xi64>
      } {@}
    """,
}


NARROW = ("narrow", "two_bits")
"""Loops that compute their bounds."""


def function(name: str, loop: str) -> str:
    constants = "\n".join(f"%k{n} = arith.constant {n} : i64" for n in (3, 5, 7, 9))
    indices = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 91, 92, 93, 95))
    return spelled_out(
        f"func.func @{name}(%A: {ARRAY}, %B: {ARRAY}, %lb: index, %ub: index, %st: index) {{\n{constants}\n{indices}\n"
        f"{loop}\nfunc.return\n}}"
    )


def expanded(name: str, loop: str, epilogue: Epilogue) -> str:
    module = parse(function(name, loop))
    for marked in marked_loops(module):
        expansion = expand_loop(plan_expansion(marked, placements_of(marked), epilogue=epilogue), ScheduleHooks())
        assert expansion.kernel is not None
    module.verify()
    verify_dominance(module)
    return "\n".join(print_custom(op) for op in module.body.block.ops)


def constant_bounds(loop: str, trips: int) -> str:
    """The loop from 2 in steps of 3, bounds constant."""
    bounds = {"%lb": 2, "%ub": 2 + 3 * trips, "%st": 3}
    text = loop
    for name, number in bounds.items():
        text = text.replace(name, f"{name}k")
        text = f"{name}k = arith.constant {number} : index\n{text}"
    return text


@cache
def outcomes() -> dict[tuple[str, str], object]:
    """Loop and way -> numbers, for bounds as arguments and constant ones; all in one run."""
    texts: dict[tuple[str, str], tuple[str, list[Case]]] = {}
    for name, loop in LOOPS.items():
        runs = [(0, 1), (2, 3)]
        for way in ("original", *Epilogue):
            label = way if isinstance(way, str) else way.value
            full = f"{name}_{label}"
            text = function(full, loop) if isinstance(way, str) else expanded(full, loop, way)
            cases = [Case(full, "i64", 96, 0, lower, step, 0, range(9)) for lower, step in runs]
            texts[name, label] = (text, cases)
    numbers = iter(
        run_cases("\n".join(text for text, _ in texts.values()), [c for _, cs in texts.values() for c in cs])
    )
    return {key: [next(numbers) for _ in cases] for key, (_, cases) in texts.items()}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("epilogue", Epilogue)
def test_the_loop_computes_the_same_as_before(name: str, epilogue: Epilogue) -> None:
    assert outcomes()[name, epilogue.value] == outcomes()[name, "original"]


@cache
def constant_outcomes() -> dict[tuple[str, int, str], object]:
    texts: dict[tuple[str, int, str], str] = {}
    for name, loop in LOOPS.items():
        if name in NARROW:
            continue
        for trips in (0, 1, 2, 3, 5, 6, 8):
            bound = constant_bounds(loop, trips)
            texts[name, trips, "original"] = function(f"{name}_{trips}_original", bound)
            for epilogue in Epilogue:
                module = parse(function(f"{name}_{trips}_{epilogue.value}", bound))
                for marked in marked_loops(module):
                    expand_loop(plan_expansion(marked, placements_of(marked), epilogue=epilogue), ScheduleHooks())
                module.verify()
                verify_dominance(module)
                text = "\n".join(print_custom(op) for op in module.body.block.ops)
                texts[name, trips, epilogue.value] = text
    cases = [Case(f"{n}_{t}_{way}", "i64", 96, 0, 0, 1, 0, range(1)) for n, t, way in texts]
    return dict(zip(texts, run_cases("\n".join(texts.values()), cases), strict=True))


@pytest.mark.parametrize("name", [name for name in LOOPS if name not in NARROW])
@pytest.mark.parametrize("epilogue", Epilogue)
def test_the_loop_with_constant_bounds_computes_the_same_as_before(name: str, epilogue: Epilogue) -> None:
    outcome = constant_outcomes()
    for trips in (0, 1, 2, 3, 5, 6, 8):
        assert outcome[name, trips, epilogue.value] == outcome[name, trips, "original"], trips


def test_a_pipeline_in_a_pipeline_computes_the_same_as_before() -> None:
    """The inner loop is expanded first; its parts then move as ops of stage 1 of the outer one."""
    nest = """
      scf.for %i = %lb to %ub step %st {
        %a = memref.load %A[%i] : memref<96xi64>
        %s = scf.for %j = %c0 to %i step %c1 iter_args(%t = %a) -> (i64) {
          %b = memref.load %A[%j] {@0.1} : memref<96xi64>
          %u = arith.muli %t, %b {@1.0} : i64
          scf.yield %u : i64
        } {@}
        memref.store %s, %B[%i] : memref<96xi64>
      }
    """
    module = parse(function("nest_ours", nest))
    (inner,) = marked_loops(module)
    outer = inner.parent_op()
    assert isinstance(outer, scf.ForOp)
    first = outer.body.block.first_op
    expand_loop(plan_expansion(inner, placements_of(inner)), ScheduleHooks())
    stages = {op: 0 if op is first else 1 for op in outer.body.block.ops if op is not outer.body.block.last_op}
    expand_loop(plan_expansion(outer, late_stages_first(outer, stages)))
    module.verify()
    verify_dominance(module)
    original = function("nest_original", nest).replace(f"{{{LOOP}}}", "")
    text = "\n".join([original, *(print_custom(op) for op in module.body.block.ops)])
    ways = [Case(f"nest_{way}", "i64", 96, 0, 1, 2, 0, range(9)) for way in ("original", "ours")]
    before, after = run_cases(text, ways)
    assert before == after
