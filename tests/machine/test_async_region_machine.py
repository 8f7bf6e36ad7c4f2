"""
The programs of the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level" on the machine:
numbers in every order, and verdicts with and without each edge.

The programs stand in tests/filecheck/dialects/async-region.mlir, one a chunk. Where one leaves its tokens or its
numbers to the reader, a line is added here so that both can be looked at.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.ir import ROOT, chunks, parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.running import Outcome, run

Array = NDArray[Any]

ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(10))]


def _programs() -> dict[str, str]:
    """Every function of the file by name, with the chunk that it stands in."""
    texts = chunks(ROOT / "tests/filecheck/dialects/async-region.mlir")
    return {name: text for text in texts for name in re.findall(r"func\.func @(\w+)", text)}


PROGRAMS = _programs()


def edited(name: str, *edits: tuple[str, str]) -> str:
    """The program with each text replaced, wherever it stands; it must stand somewhere."""
    text = PROGRAMS[name]
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after)
    return text


def numbers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


# What the programs compute -------------------------------------------------------------------------------------------

LEFT, FIRST, SECOND, BIAS = numbers(0, 32, 8), numbers(1, 8, 32), numbers(2, 8, 32), numbers(3, 32)
DOTS = {"a": LEFT, "b": FIRST, "c": SECOND, "bias": BIAS}
DOTS_AND_BIAS = LEFT @ FIRST + LEFT @ SECOND + BIAS
LINE, OTHER_LINE = numbers(4, 1024), numbers(5, 1024)
EIGHT, OTHER_EIGHT = numbers(6, 8), numbers(7, 8)


def filled(number: int) -> tuple[str, str]:
    """`%0:2 = async_region.alloc` becomes an allocation and a copy of `%given0`, whose token stands for both."""
    return (
        f"%{number}:2 = async_region.alloc : memref<1024xf32>\n",
        f"%buffer{number}, %there{number} = async_region.alloc : memref<1024xf32>\n"
        f"%full{number} = async_region.copy [%there{number}] %given{number} to %buffer{number} "
        ": memref<1024xf32> to memref<1024xf32>\n",
    )


REGION_TOKEN = edited(
    "region_token",
    ("@region_token(%arg3", "@region_token(%given0: memref<1024xf32>, %given1: memref<1024xf32>, %arg3"),
    filled(0),
    filled(1),
    ("%0#0", "%buffer0"),
    ("%0#1", "%full0"),
    ("%1#0", "%buffer1"),
    ("%1#1", "%full1"),
)
ORDERED_REGIONS = [("%x: f32) {", "%x: f32) -> (!async.token, !async.token) {")]
SECOND_THEN_THIRD = edited(
    "second_then_third", *ORDERED_REGIONS, ("  return\n", "  return %second, %third : !async.token, !async.token\n")
)
PROMISES = edited(
    "promises",
    ("-> !async.token {", "-> (!async.token, !async.value<memref<1024xf32, 5>>) {"),
    ("return %moved : !async.token", "return %moved, %made : !async.token, !async.value<memref<1024xf32, 5>>"),
)
AWAIT_INSIDE = edited(
    "await_inside_or_before",
    ("-> (!async.token, !async.token) {", "-> (!async.token, !async.token, !async.value<memref<1024xf32, 5>>) {"),
    (
        "return %inside, %before : !async.token, !async.token",
        "return %inside, %before, %future : !async.token, !async.token, !async.value<memref<1024xf32, 5>>",
    ),
)
PARTIAL_COMPLETION = edited(
    "partial_completion",
    ("-> memref<8xf32, 1> {", "-> (memref<8xf32, 1>, memref<8xf32, 1>, !async.token) {"),
    (
        "return %first : memref<8xf32, 1>",
        "return %first, %second, %all : memref<8xf32, 1>, memref<8xf32, 1>, !async.token",
    ),
)
GENERIC = edited("generic", ("  return", "  async.await %c : !async.token\n  async.await %d : !async.token\n  return"))

Expected = tuple[list[Any], dict[str, Array]]
"""What a program returns, None for a token, and arguments that it changes."""

RUNS: dict[str, tuple[str, dict[str, Any], Expected]] = {
    "dots_on_tensors": (
        PROGRAMS["dots_on_tensors"],
        {**DOTS, "zero": np.zeros((32, 32), np.float32)},
        ([DOTS_AND_BIAS, None], {}),
    ),
    "dots_on_buffers": (PROGRAMS["dots_on_buffers"], DOTS, ([DOTS_AND_BIAS, None], {})),
    "sum_on_a_device": (PROGRAMS["sum_on_a_device"], DOTS, ([DOTS_AND_BIAS, None], {})),
    "region_token": (
        REGION_TOKEN,
        {"given0": LINE, "given1": OTHER_LINE, "arg3": np.zeros(1024, np.float32)},
        ([None], {"arg3": LINE + OTHER_LINE}),
    ),
    "two_engines": (PROGRAMS["two_engines"], {"source": EIGHT}, ([None, None], {"one": EIGHT, "two": EIGHT})),
    "one_engine": (PROGRAMS["one_engine"], {"source": EIGHT}, ([None, None], {"one": EIGHT, "two": EIGHT})),
    "launch_on_a_device": (PROGRAMS["launch_on_a_device"], {"x": 2.5}, ([None, np.float32(2.5)], {})),
    "second_then_third": (
        SECOND_THEN_THIRD,
        {"x": 1.5},
        ([None, None], {"m": np.array([1.5, 1.5], np.float32)}),
    ),
    "third_then_second": (
        SECOND_THEN_THIRD,
        {"x": 1.5},
        ([None, None], {"m": np.array([1.5, 1.5], np.float32)}),
    ),
    "promises": (PROMISES, {"given": LINE}, ([None, LINE], {"given": LINE})),
    "await_inside_or_before": (AWAIT_INSIDE, {"given": LINE}, ([None, None, LINE], {})),
    "partial_completion": (
        PARTIAL_COMPLETION,
        {"a": EIGHT, "b": OTHER_EIGHT},
        ([EIGHT, OTHER_EIGHT, None], {}),
    ),
    "loop_that_issues": (PROGRAMS["loop_that_issues"], {"a": EIGHT, "n": 3}, ([None], {"a": EIGHT, "b": EIGHT})),
    "generic": (GENERIC, {"m": EIGHT, "n": 8, "p": 3}, ([], {"m": EIGHT})),
}


def test_every_program_runs_here() -> None:
    assert set(RUNS) == set(PROGRAMS)


def assert_equal(found: Any, expected: Any, where: str) -> None:
    if expected is None:
        assert found is None, where
    else:
        np.testing.assert_array_equal(found, expected, err_msg=where)


@pytest.mark.parametrize("name", RUNS)
def test_every_order_gives_the_same_numbers(name: str) -> None:
    text, arguments, (results, arrays) = RUNS[name]
    module = parse(text)
    for order, seed in ORDERS:
        outcome = run(module, name, arguments, order=order, seed=seed)
        where = f"{order} {seed}"
        assert outcome.violations == (), f"{where}: {outcome.violations[0]}"
        assert len(outcome.results) == len(results)
        for found, expected in zip(outcome.results, results, strict=True):
            assert_equal(found, expected, where)
        for array, expected in arrays.items():
            assert_equal(outcome.arrays[array], expected, where)


@pytest.mark.parametrize("name", RUNS)
def test_every_program_is_safe(name: str) -> None:
    args = {"n": 1024} if name == "generic" else None
    report = check(parse(RUNS[name][0]), name, args=args)
    assert report.verdict is Verdict.SAFE, str(report)


@pytest.mark.parametrize("name", ["dots_on_buffers", "sum_on_a_device", "region_token", "loop_that_issues"])
def test_when_operands_are_looked_at_is_not_a_matter_of_capture(name: str) -> None:
    """Work that depends on tokens looks at its operands once these are complete, also with capture at issue."""
    text, arguments, (results, arrays) = RUNS[name]
    for order, seed in ORDERS:
        outcome = run(parse(text), name, arguments, order=order, seed=seed, capture="issue")
        assert outcome.violations == ()
        for found, expected in zip(outcome.results, results, strict=True):
            assert_equal(found, expected, order)
        for array, expected in arrays.items():
            assert_equal(outcome.arrays[array], expected, order)


# Missing edges -------------------------------------------------------------------------------------------------------

BROKEN = [
    ("dots_on_tensors", "[%t0, %t1]", "[%t0]", "race"),
    ("dots_on_buffers", "[%t0, %t1]", "[%t1]", "race"),
    ("dots_on_buffers", "return %sum, %t2 :", "return %sum, %t1 :", "undrained"),
    ("sum_on_a_device", "[%t3, %t5, %t7, %t9]", "[%t5, %t7, %t9]", "race"),
    ("sum_on_a_device", "[%t3, %t5, %t7, %t9]", "[%t3, %t5, %t7]", "race"),
    ("sum_on_a_device", "copy [%t4] %left", "copy %left", "race"),
    ("sum_on_a_device", "copy [%t10, %t11] %out", "copy [%t11] %out", "race"),
    ("sum_on_a_device", "copy [%t10, %t11] %out", "copy [%t10] %out", "race"),
    ("sum_on_a_device", " after [%t12]", "", "undrained"),
    ("region_token", "async_region.copy [%3#1]", "async_region.copy", "race"),
    ("region_token", "async_region.launch [%4, %6, %7#1]", "async_region.launch [%4, %7#1]", "race"),
    ("region_token", "async_region.copy [%8]", "async_region.copy", "race"),
    ("region_token", "[%full0, %full1 as %t]", "[%full1 as %t]", "race"),
    ("region_token", "yield after [%9]", "yield", "undrained"),
    ("launch_on_a_device", "launch [%allocated]", "launch", "race"),
    ("launch_on_a_device", "region [%written]", "region", "race"),
    ("launch_on_a_device", "yield after [%inner]", "yield", "race"),
    ("second_then_third", "%second = async_region.region [%event]", "%second = async_region.region", "race"),
    ("promises", " after [%allocated]", "", "race"),
    ("await_inside_or_before", ", %inside]", "]", "race"),
    ("partial_completion", "async_region.copy [%t1]", "async_region.copy", "race"),
    ("partial_completion", "[%t3], [%t2]", "[%t3], []", "undrained"),
    ("loop_that_issues", "async_region.copy [%before]", "async_region.copy [%ready]", "race"),
]


@pytest.mark.parametrize(("name", "before", "after", "kind"), BROKEN)
def test_an_edge_that_is_missing_is_found(name: str, before: str, after: str, kind: str) -> None:
    text = RUNS[name][0]
    assert before in text
    report = check(parse(text.replace(before, after, 1)), name)
    assert kind in report.kinds, str(report)


def test_the_region_token_passes_the_outer_dependencies_on() -> None:
    """Each alloc inside may do without it: what they name is new. What copies from outside may not."""
    without = REGION_TOKEN.replace("alloc [%t]", "alloc")
    assert check(parse(without), "region_token").kinds == ["race"]


def test_regions_without_edge_may_come_in_either_order() -> None:
    texts = {"second_then_third": SECOND_THEN_THIRD, "third_then_second": SECOND_THEN_THIRD}
    firsts: set[tuple[str, str]] = set()
    for name, text in texts.items():
        for seed in range(30):
            outcome = run(parse(text), name, {"x": 1.0}, order="random", seed=seed)
            finished = [h.agent_name for h in outcome.trace.happenings if h.kind == "finish" and h.agent_name != "main"]
            assert finished[0] == "task 0"
            firsts.add((name, finished[1]))
    assert len(firsts) == 4


# Values that come later ----------------------------------------------------------------------------------------------


def early_use(use: str) -> Report:
    return check(
        parse(f"""
        func.func @f(%m: memref<1xf32>, %n: memref<1xf32>, %x: f32) -> (!async.token, !async.token) {{
          %c0 = arith.constant 0 : index
          %t, %v, %b = async_region.region -> (f32, memref<1xf32>) {{
            %y = arith.addf %x, %x : f32
            %o = memref.alloc() : memref<1xf32>
            memref.store %y, %o[%c0] : memref<1xf32>
            async_region.yield %y, %o : f32, memref<1xf32>
          }}
          {use}
          return %t, %u : !async.token, !async.token
        }}""")
    )


STORE = "memref.store %v, %m[%c0] : memref<1xf32>"
COPY = "%b to %m : memref<1xf32> to memref<1xf32>"
BODY = "{ memref.store %v, %n[%c0] : memref<1xf32> async_region.yield }"
ISOLATED = "{ memref.store %w, %p[%c] : memref<1xf32> async_region.yield }"
PASSED = "(%v as %w: f32, %m as %p: memref<1xf32>, %c0 as %c: index)"
NOTHING = "%u = async_region.region { async_region.yield }"


@pytest.mark.parametrize(
    ("early", "in_time"),
    [
        (f"{STORE} {NOTHING}", f"async.await %t : !async.token {STORE} {NOTHING}"),
        (f"%u = async_region.copy {COPY}", f"%u = async_region.copy [%t] {COPY}"),
        (f"%u = async_region.region {BODY}", f"%u = async_region.region [%t] {BODY}"),
        (f"%u = async_region.launch {PASSED} {ISOLATED}", f"%u = async_region.launch [%t] {PASSED} {ISOLATED}"),
        (
            "%u = async.execute { memref.store %v, %n[%c0] : memref<1xf32> async.yield }",
            "%u = async.execute [%t] { memref.store %v, %n[%c0] : memref<1xf32> async.yield }",
        ),
        (
            f"%u = async_region.region [as %ready] {{ %c = async_region.copy {COPY} async_region.yield after [%c] }}",
            f"%u = async_region.region [%t as %ready] {{ %c = async_region.copy [%ready] {COPY} "
            "async_region.yield after [%c] }",
        ),
    ],
)
def test_a_value_may_be_used_once_a_token_says_so(early: str, in_time: str) -> None:
    report = early_use(early)
    assert report.kinds == ["race"], str(report)
    assert "a value of 'async_region.region' is used with nothing that orders the use after the value is there" in str(
        report
    )
    assert early_use(in_time).verdict is Verdict.SAFE, str(early_use(in_time))


def test_the_report_says_which_edge_is_missing() -> None:
    assert (
        "missing: a dependency of 'async_region.copy' on a token of 'async_region.region', one whose group covers the "
        "value\n"
    ) in str(early_use(f"%u = async_region.copy {COPY}"))
    assert (
        "missing: a wait for a token of 'async_region.region', one whose group covers the value, before "
        "'memref.store'\n"
    ) in str(early_use(f"{STORE} {NOTHING}"))


PASSED_ON = """
func.func @f(%m: memref<1xf32>, %x: f32) -> (!async.token, !async.token) {{
  %c0 = arith.constant 0 : index
  %all, %partial, %v = async_region.region -> (!async.token, f32) {{
    %inner, %w = async_region.region -> f32 {{
      %y = arith.addf %x, %x : f32
      async_region.yield %y : f32
    }}
    async_region.yield %w : f32 after {groups}
  }}
  %u = async_region.region [{token}] {{
    memref.store %v, %m[%c0] : memref<1xf32>
    async_region.yield
  }}
  return %all, %u : !async.token, !async.token
}}"""


@pytest.mark.parametrize(
    ("groups", "token", "verdict"),
    [
        ("[%inner], []", "%all", Verdict.SAFE),
        ("[%inner], []", "%partial", Verdict.VIOLATION),
        ("[], [%inner]", "%partial", Verdict.SAFE),
        ("[], [%inner]", "%all", Verdict.SAFE),
    ],
)
def test_a_value_that_was_itself_to_come_needs_a_token_whose_group_covers_it(
    groups: str, token: str, verdict: Verdict
) -> None:
    report = check(parse(PASSED_ON.format(groups=groups, token=token)))
    assert report.verdict is verdict, str(report)
    for order, seed in ORDERS:
        outcome = run(parse(PASSED_ON.format(groups=groups, token=token)), "f", {"x": 2.0}, order=order, seed=seed)
        assert bool(outcome.violations) is (verdict is Verdict.VIOLATION)
        assert outcome.arrays["m"] == [4.0]


def test_sizes_may_come_later() -> None:
    text = """
    func.func @f(%m: memref<4xf32>, %n: index, %out: memref<4xf32>) -> (!async.token, !async.token) {
      %t, %size = async_region.region -> index {
        %twice = arith.addi %n, %n : index
        async_region.yield %twice : index
      }
      %b, %there = async_region.alloc [%t] (%size) : memref<?xf32>
      %given = "memref.cast"(%m) : (memref<4xf32>) -> memref<?xf32>
      %in = async_region.copy [%there] %given to %b : memref<?xf32> to memref<?xf32>
      %taken = "memref.cast"(%out) : (memref<4xf32>) -> memref<?xf32>
      %back = async_region.copy [%in] %b to %taken : memref<?xf32> to memref<?xf32>
      return %there, %back : !async.token, !async.token
    }"""
    for order, seed in ORDERS:
        outcome = run(parse(text), "f", {"n": 2}, order=order, seed=seed)
        assert outcome.violations == ()
        np.testing.assert_array_equal(outcome.arrays["out"], outcome.arrays["m"])
    assert check(parse(text), args={"n": 2}).verdict is Verdict.SAFE
    assert "race" in check(parse(text.replace("alloc [%t]", "alloc")), args={"n": 2}).kinds


def test_memory_may_be_touched_once_its_token_says_so() -> None:
    text = """
    func.func @f(%x: f32) -> !async.token {
      %c0 = arith.constant 0 : index
      %b, %t = async_region.alloc : memref<1xf32>
      WAIT
      memref.store %x, %b[%c0] : memref<1xf32>
      return %t : !async.token
    }"""
    report = check(parse(text.replace("WAIT", "")))
    assert report.kinds == ["race"]
    assert "a wait that completes 'async_region.alloc' before 'memref.store' is reached" in str(report)
    assert check(parse(text.replace("WAIT", "async.await %t : !async.token"))).verdict is Verdict.SAFE


# Partial completion --------------------------------------------------------------------------------------------------

PARTIAL = """
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %out: memref<8xf32>) -> (!async.token, !async.token) {
  %all, %early, %first = async_region.region -> (!async.token, memref<8xf32, 1>) {
    %0, %t0 = async_region.alloc : memref<8xf32, 1>
    %1, %t1 = async_region.alloc : memref<8xf32, 1>
    %t2 = async_region.copy [%t0] %a to %0 : memref<8xf32> to memref<8xf32, 1>
    %t3 = async_region.copy [%t1] %b to %1 : memref<8xf32> to memref<8xf32, 1>
    async_region.yield %0 : memref<8xf32, 1> after [%t3], [%t2]
  }
  %used = async_region.region [%early] {
    linalg.add ins(%first, %first : memref<8xf32, 1>, memref<8xf32, 1>) outs(%out : memref<8xf32>)
    async_region.yield
  }
  return %used, %all : !async.token, !async.token
}"""
WHOLE = PARTIAL.replace("region [%early]", "region [%all]")


def _starts_before_the_second_copy(outcome: Outcome) -> bool:
    """Whether the consumer had what it waits for before the copy of %b, of which it needs nothing, was complete."""
    start = next(h.step for h in outcome.trace.happenings if h.agent_name == "task 1" and h.kind == "wait")
    copies = [h.step for h in outcome.trace.happenings if h.kind == "complete" and h.op.name == "async_region.copy"]
    assert len(copies) == 2
    return start < max(copies)


def test_partial_completion_starts_a_consumer_earlier() -> None:
    for text in (PARTIAL, WHOLE):
        assert check(parse(text)).verdict is Verdict.SAFE
    lazily = run(parse(PARTIAL), "f", {"a": EIGHT})
    assert _starts_before_the_second_copy(lazily)
    assert not _starts_before_the_second_copy(run(parse(WHOLE), "f", {"a": EIGHT}))
    at_random = [run(parse(PARTIAL), "f", {"a": EIGHT}, order="random", seed=seed) for seed in range(30)]
    assert 0 < sum(map(_starts_before_the_second_copy, at_random)) < 30
    for outcome in [lazily, *at_random]:
        np.testing.assert_array_equal(outcome.arrays["out"], EIGHT + EIGHT)
    for seed in range(30):
        outcome = run(parse(WHOLE), "f", {"a": EIGHT}, order="random", seed=seed)
        assert not _starts_before_the_second_copy(outcome)


def test_the_early_token_does_not_order_the_late_copy() -> None:
    """What the partial token leaves out may still be under way: a write to %b after it is a race."""
    text = PARTIAL.replace(
        "linalg.add ins", "linalg.copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)\n    linalg.add ins"
    )
    assert check(parse(text)).kinds == ["race"]
    assert check(parse(text.replace("region [%early]", "region [%all]"))).verdict is Verdict.SAFE


# Resources -----------------------------------------------------------------------------------------------------------

TRANSFERS = """
func.func @f(%source: memref<8xf32>, %one: memref<8xf32, 1>, %two: memref<8xf32, 1>) -> (!async.token, !async.token) {
  %dma1 = async_region.create_resource "dma"
  %dma2 = async_region.create_resource "dma"
  %t0 = async_region.launch (%source as %s: memref<8xf32>, %one as %d: memref<8xf32, 1>) on %dma1 {
    linalg.copy ins(%s : memref<8xf32>) outs(%d : memref<8xf32, 1>)
    %more = async_region.copy %s to %d : memref<8xf32> to memref<8xf32, 1>
    async_region.yield after [%more]
  }
  %t1 = async_region.launch (%source as %s: memref<8xf32>, %two as %d: memref<8xf32, 1>) on ENGINE {
    linalg.copy ins(%s : memref<8xf32>) outs(%d : memref<8xf32, 1>)
    %more = async_region.copy %s to %d : memref<8xf32> to memref<8xf32, 1>
    async_region.yield after [%more]
  }
  return %t0, %t1 : !async.token, !async.token
}"""
TWO_ENGINES = TRANSFERS.replace("ENGINE", "%dma2")
ONE_ENGINE = TRANSFERS.replace("ENGINE", "%dma1")


def held(outcome: Outcome) -> list[tuple[str, int, int]]:
    """When each task held its resource: from its start until it was complete."""
    steps = outcome.trace.happenings
    taken = {h.agent_name: h.step for h in steps if h.kind == "take"}
    freed = {h.agent_name: h.step for h in steps if h.kind == "free"}
    assert len(taken) == 2
    assert taken.keys() == freed.keys()
    return sorted((name, start, freed[name]) for name, start in taken.items())


def overlap(outcome: Outcome) -> bool:
    (_, start, end), (_, other_start, other_end) = held(outcome)
    return start < other_end and other_start < end


def first(outcome: Outcome) -> str:
    return min(held(outcome), key=lambda holding: holding[1])[0]


def test_one_engine_does_one_thing_at_a_time_in_either_order() -> None:
    outcomes = [run(parse(ONE_ENGINE), "f", {"source": EIGHT}, order="random", seed=seed) for seed in range(50)]
    assert not any(map(overlap, outcomes))
    assert set(map(first, outcomes)) == {"task 0", "task 1"}
    for outcome in outcomes:
        assert outcome.violations == ()
        np.testing.assert_array_equal(outcome.arrays["two"], EIGHT)


def test_two_engines_work_at_the_same_time() -> None:
    outcomes = [run(parse(TWO_ENGINES), "f", {"source": EIGHT}, order="random", seed=seed) for seed in range(50)]
    assert 0 < sum(map(overlap, outcomes)) < 50
    assert all(outcome.violations == () for outcome in outcomes)


def test_engines_of_one_name_are_two() -> None:
    for text in (ONE_ENGINE, TWO_ENGINES):
        assert check(parse(text)).verdict is Verdict.SAFE


MIXED = """
func.func @f(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>)
    -> (!async.token, !async.token) {
  %r = async_region.create_resource "dma"
  %t0 = async_region.launch (%a as %s: memref<8xf32>, %b as %m: memref<8xf32>) on %r {
    %more = async_region.copy %s to %m : memref<8xf32> to memref<8xf32>
    async_region.yield after [%more]
  }
  %t1 = async_region.copy %c to %d on %r : memref<8xf32> to memref<8xf32>
  return %t0, %t1 : !async.token, !async.token
}"""


@pytest.mark.parametrize("order", ["eager", "lazy", "random"])
def test_a_copy_waits_for_the_launch_that_holds_its_engine(order: str) -> None:
    inside: set[bool] = set()
    for seed in range(50):
        outcome = run(parse(MIXED), "f", {"a": EIGHT, "c": OTHER_EIGHT}, order=order, seed=seed)
        steps = outcome.trace.happenings
        start, end = (next(h.step for h in steps if h.kind == kind) for kind in ("take", "free"))
        copied = next(h.step for h in steps if h.kind == "complete" and h.agent_name == "main")
        assert not start < copied < end
        inside.add(copied < start)
        np.testing.assert_array_equal(outcome.arrays["d"], OTHER_EIGHT)
    assert len(inside) == (2 if order == "random" else 1)


ONE_TARGET = """
func.func @f(%m: memref<1xf32>, %x: memref<1xf32>, %y: memref<1xf32>) -> (!async.token, !async.token) {
  %r = async_region.create_resource "dma"
  %t0 = async_region.copy %x to %m on %r : memref<1xf32> to memref<1xf32>
  %t1 = async_region.copy %y to %m on %r : memref<1xf32> to memref<1xf32>
  return %t0, %t1 : !async.token, !async.token
}"""

ONE_TARGET_BY_LAUNCHES = """
func.func @f(%m: memref<1xf32>, %x: f32, %y: f32) -> (!async.token, !async.token) {
  %r = async_region.create_resource "device"
  %c0 = arith.constant 0 : index
  %t0 = async_region.launch (%m as %n: memref<1xf32>, %x as %v: f32, %c0 as %i: index) on %r {
    memref.store %v, %n[%i] : memref<1xf32>
    async_region.yield
  }
  %t1 = async_region.launch (%m as %n: memref<1xf32>, %y as %v: f32, %c0 as %i: index) on %r {
    memref.store %v, %n[%i] : memref<1xf32>
    async_region.yield
  }
  return %t0, %t1 : !async.token, !async.token
}"""


def test_exclusion_is_no_order() -> None:
    """Two transfers on one engine to one place never overlap, and still nobody knows which of them is the last."""
    report = check(parse(ONE_TARGET))
    assert report.kinds == ["race"]
    assert (
        "both run on resource 'dma 0', so they never overlap, but either may come first: let 'async_region.copy' "
        "depend on the token of 'async_region.copy'"
    ) in str(report)
    ordered = ONE_TARGET.replace("copy %y", "copy [%t0] %y")
    assert check(parse(ordered)).verdict is Verdict.SAFE
    report = check(parse(ONE_TARGET_BY_LAUNCHES))
    assert report.kinds == ["race"]
    assert (
        "both run on resource 'device 0', so they never overlap, but either may come first: let 'async_region.launch' "
        "of task 1 depend on the token of 'async_region.launch' of task 0"
    ) in str(report)
    arguments = {"m": [0.0], "x": 1.0, "y": 2.0}
    outcomes = [run(parse(ONE_TARGET_BY_LAUNCHES), "f", arguments, order="random", seed=s) for s in range(50)]
    assert {float(outcome.arrays["m"][0]) for outcome in outcomes} == {1.0, 2.0}
    assert all(outcome.violations[0].kind == "race" for outcome in outcomes)


def test_without_a_resource_the_message_does_not_speak_of_one() -> None:
    for text in (ONE_TARGET, ONE_TARGET_BY_LAUNCHES):
        report = check(parse(text.replace(" on %r", "")))
        assert report.kinds == ["race"]
        assert "resource" not in report.findings[0].violation.missing


HOLDS_AND_WAITS = """
func.func @f(%m: memref<1xf32>, %n: memref<1xf32>) -> !async.token {
  %r = async_region.create_resource "device"
  %t = async_region.launch (%m as %a: memref<1xf32>, %n as %b: memref<1xf32>, %r as %q: !async_region.resource) on %r {
    %inner = INNER
    async_region.yield after [%inner]
  }
  return %t : !async.token
}"""


@pytest.mark.parametrize(
    ("inner", "stuck"),
    [
        ("async_region.launch on %q { async_region.yield }", "waits for resource 'device 0', which"),
        (
            "async_region.copy %a to %b on %q : memref<1xf32> to memref<1xf32>",
            "async_region.copy to 'n', which needs resource 'device 0', which",
        ),
    ],
)
def test_a_launch_that_waits_for_its_own_resource_never_completes(inner: str, stuck: str) -> None:
    text = HOLDS_AND_WAITS.replace("INNER", inner)
    report = check(parse(text))
    assert report.kinds == ["deadlock"]
    assert f"{stuck} 'async_region.launch' of task 0 holds until it is complete" in str(report)
    for order, seed in ORDERS:
        assert not run(parse(text), "f", order=order, seed=seed).finished
    assert check(parse(text.replace(" on %q", ""))).verdict is Verdict.SAFE


WAITS_FOR_OTHER = """
func.func @f() -> (!async.token, !async.token) {
  %r = async_region.create_resource "device"
  %a = async_region.launch on %r {
    async_region.yield
  }
  %b = async_region.launch [DEPENDENCY] (%a as %t: !async.token) on %r {
    async.await %t : !async.token
    async_region.yield
  }
  return %a, %b : !async.token, !async.token
}"""

CROSSWISE = """
func.func @f() -> (!async.token, !async.token) {
  %r = async_region.create_resource "device"
  %s = async_region.create_resource "engine"
  %a = async_region.launch (%s as %q: !async_region.resource) on %r {
    %i = async_region.launch on %q { async_region.yield }
    async_region.yield after [%i]
  }
  %b = async_region.launch [DEPENDENCY] (%r as %q: !async_region.resource) on %s {
    %i = async_region.launch on %q { async_region.yield }
    async_region.yield after [%i]
  }
  return %a, %b : !async.token, !async.token
}"""


@pytest.mark.parametrize("text", [WAITS_FOR_OTHER, CROSSWISE])
def test_a_deadlock_that_only_some_orders_reach_is_found(text: str) -> None:
    """Who takes a resource first matters where somebody waits while holding it: all orders are tried then."""
    unordered = parse(text.replace(" [DEPENDENCY]", ""))
    finished = {run(unordered, "f", order="random", seed=seed).finished for seed in range(50)}
    assert finished == {True, False}
    assert check(unordered).kinds == ["deadlock"]
    report = check(parse(text.replace("DEPENDENCY", "%a")))
    assert report.verdict is Verdict.SAFE, str(report)


def test_launches_that_wait_for_nobody_need_one_execution() -> None:
    text = """
    func.func @f(%m: memref<64xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = async_region.create_resource "device"
      %group = async.create_group %n : !async.group
      scf.for %i = %c0 to %n step %c1 {
        %t = async_region.launch (%m as %b: memref<64xf32>, %i as %j: index) on %r {
          %x = memref.load %b[%j] : memref<64xf32>
          %inner = async_region.region {
            memref.store %x, %b[%j] : memref<64xf32>
            async_region.yield
          }
          async_region.yield after [%inner]
        }
        %rank = async.add_to_group %t, %group : !async.token
      }
      async.await_all %group
      return
    }"""
    report = check(parse(text), trip_counts=[0, 1, 8, 64])
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.executions == 4


# Length --------------------------------------------------------------------------------------------------------------

CHAIN = """
func.func @f(%a: memref<8xf32>, %b: memref<8xf32, 1>, %n: index, %x: f32) -> !async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = async_region.region {
    memref.store %x, %a[%c0] : memref<8xf32>
    async_region.yield
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {
    %round = async_region.region [%before as %ready] {
      %there = async_region.copy [%ready] %a to %b : memref<8xf32> to memref<8xf32, 1>
      %back = async_region.copy [%there] %b to %a : memref<8xf32, 1> to memref<8xf32>
      async_region.yield after [%back]
    }
    scf.yield %round : !async.token
  }
  return %last : !async.token
}"""


@pytest.mark.parametrize("order", ["eager", "lazy"])
def test_long_chains_do_not_exhaust_the_stack(order: str) -> None:
    """All are issued before the first can start, and each lets the next one start."""
    outcome = run(parse(CHAIN), "f", {"a": EIGHT, "n": 600, "x": 5.0}, order=order)
    assert outcome.violations == ()
    np.testing.assert_array_equal(outcome.arrays["b"], [5.0, *EIGHT[1:]])


def test_chains_are_safe() -> None:
    assert check(parse(CHAIN), trip_counts=[0, 1, 2, 100]).verdict is Verdict.SAFE
