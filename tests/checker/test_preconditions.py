"""Preconditions leave out calls, and nothing else: a proof under them is one for all calls that keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ir import parse
from tileas_xdsl.checker.verdict import checking
from tileas_xdsl.checker.verdict.bound_formulas import Formula, least_of, number_of
from tileas_xdsl.checker.verdict.cases import Case
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.preconditions import numbers_of, parse_preconditions, stated_in
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.dialects.upstream_models.integers import EXACT, IntegerFunction
from tileas_xdsl.machine.arguments import ArgumentError

HEAD = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
"""
COPY = """
  %copy = nvgpu.device_async_copy %x[%c0], %s[%c0], 4 : memref<?xf32> to memref<64xf32, 3>
  %token = nvgpu.device_async_create_group %copy
"""
WAIT = "nvgpu.device_async_wait %token"
READ = "%v = memref.load %s[%c0] : memref<64xf32, 3>"


def program(body: str, arguments: str = "%K: index", head: str = HEAD) -> str:
    return f"func.func @k({arguments}, %x: memref<?xf32>, %s: memref<64xf32, 3>) {{{head}{body}\n  func.return\n}}"


def waits_in(bounds: str, *, then: str = READ) -> str:
    """A copy that the turns of a loop wait for, and a read behind: right if it turns at all."""
    return program(f"{COPY}scf.for %k = {bounds} {{ {WAIT} }}\n{then}")


def waits_if(relation: str, left: str, right: str, *, arguments: str = "%K: index", before: str = "") -> str:
    """A copy that is waited for if the comparison holds, and a read behind."""
    body = f"{COPY}{before}%is = arith.cmpi {relation}, {left}, {right} : index\nscf.if %is {{ {WAIT} }}\n{READ}"
    return program(body, arguments)


def checked(text: str, *assume: str, **options: object) -> Report:
    return check(parse(text), assume=assume, **options)  # pyright: ignore


# Which numbers keep them ----------------------------------------------------------------------------------------------

CONDITIONS: dict[str, Callable[[int], bool]] = {
    "K >= 3": lambda k: k >= 3,
    "K > 3": lambda k: k > 3,
    "5 <= K": lambda k: k >= 5,
    "2 < K": lambda k: k > 2,
    "3 * K >= 7": lambda k: 3 * k >= 7,
    "K + K > 5": lambda k: 2 * k > 5,
    "2 * K - 9 > K": lambda k: k > 9,
    "-K <= -4": lambda k: k >= 4,
    "K % 4 == 0": lambda k: k % 4 == 0,
    "K % 6 == 2": lambda k: k % 6 == 2,
    "(K + 1) % 4 == 0": lambda k: (k + 1) % 4 == 0,
    "3 * K % 8 == 4": lambda k: 3 * k % 8 == 4,
    "2 * K % 6 == 4": lambda k: 2 * k % 6 == 4,
    "K % 3 == 7": lambda k: (k - 7) % 3 == 0,
    "K == 12": lambda k: k == 12,
    "3 * K == 24": lambda k: k == 8,
}


@settings(max_examples=200)
@given(st.lists(st.sampled_from(sorted(CONDITIONS)), min_size=1, max_size=3))
def test_the_numbers_are_those_that_keep_all_conditions(texts: list[str]) -> None:
    kept = [n for n in range(200) if all(CONDITIONS[text](n) for text in texts)]
    try:
        numbers = numbers_of(parse_preconditions(texts))["K"]
    except ArgumentError:
        assert kept == []
        return
    assert list(dict.fromkeys(numbers.number(n, {}) for n in range(200)))[: len(kept)] == kept
    assert kept


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("K", "is not read"),
        ("K >=", "is not read"),
        ("K >= 1 or K == 0", "is not read"),
        ("0 <= K <= 8", "is not read"),
        ("K != 3", "is not read"),
        ("K * K >= 1", "is not read"),
        ("K / 2 == 1", "is not read"),
        ("K % 4 >= 1", "is not read"),
        ("K % K == 0", "is not read"),
        ("K % 0 == 0", "is not read"),
        ("K >= 1.5", "is not read"),
        ("K >= True", "is not read"),
        ("(" * 5000, "is not read"),
        ("1 >= 0", "is about no argument"),
        ("K <= 8", "is an upper bound"),
        ("K % 2 == 0 and K % 4 == 1", "no number keeps"),
        ("2 * K % 4 == 1", "no number keeps"),
        ("K == 3 and K == 4", "no number keeps"),
        ("2 * K == 3", "no number keeps"),
        ("K == 3 and K >= 4", "no number keeps"),
        ("2 * K >= 3 * N", "in terms of the others"),
        ("K == N and K >= 1", "another precondition"),
        ("K >= N and N >= K", "depend on each other"),
        ("Q >= 1", "there is no argument 'Q'"),
        ("x >= 1", "preconditions are about integers"),
        ("K >= i", "relates one type"),
    ],
)
def test_what_is_no_precondition_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        checked(waits_in("%c0 to %K step %c1").replace("%K: index", "%K: index, %N: index, %i: i32"), text)


def test_a_number_has_to_keep_the_preconditions() -> None:
    """A comment in the source states them for every check of it."""
    text = waits_in("%c0 to %K step %c1")
    assert checked(text, "K >= 1 and K % 8 == 0", args={"K": 8}).last_line.startswith("safe, with K = 8")
    for assume in ("K >= 9", "K % 3 == 0", "K == 7"):
        with pytest.raises(ArgumentError, match=f"K = 8 does not keep the precondition '{assume}'"):
            checked(text, assume, args={"K": 8})


def test_a_number_beside_a_precondition_in_terms_of_others() -> None:
    text = waits_if("sge", "%K", "%N", arguments="%K: index, %N: index")
    assert checked(text, "K >= N", args={"N": 3}).is_proved
    assert checked(text, "K >= N", args={"N": 3, "K": 5}).findings == []
    with pytest.raises(ArgumentError, match="K = 2, N = 3 does not keep"):
        checked(text, "K >= N", args={"N": 3, "K": 2})
    with pytest.raises(ArgumentError, match="say the numbers of these, or none"):
        checked(text, "K >= N", args={"K": 3})


# Verdicts -------------------------------------------------------------------------------------------------------------

SUM = "%sum = arith.addi %N, %c3 : index\n"
REST = "%rest = arith.remui %K, %c64 : index\n"
PROGRAMS: list[tuple[str, Sequence[str], Sequence[str]]] = [
    (waits_in("%c0 to %K step %c1"), ["K >= 1", "K > 0", "0 < %K", "K == 1", "K % 8 == 3"], ["K >= 0", "K % 8 == 0"]),
    (waits_in("%c0 to %K step %c64"), ["K % 64 == 0 and K >= 1", "K >= 64", "K >= 1"], ["K % 64 == 0"]),
    (waits_in("%c2 to %K step %c1"), ["K >= 3"], ["K >= 2", "K > 1"]),
    (waits_if("eq", "%rest", "%c0", before=REST), ["K % 64 == 0", "K % 128 == 0"], ["K % 32 == 0", "K >= 64"]),
    (waits_if("sge", "%K", "%N", arguments="%K: index, %N: index"), ["K >= N", "K == N + 2"], ["K >= 4", "N >= K"]),
    (waits_if("eq", "%K", "%N", arguments="%K: index, %N: index"), ["K == N", "N == K"], ["K >= N", "2 * N == K"]),
    (
        waits_if("sge", "%K", "%sum", arguments="%K: index, %N: index", before=SUM),
        ["K >= N + 3", "K - N >= 3", "K > N + 2 and N >= 1"],
        ["K >= N + 2"],
    ),
]


@pytest.mark.parametrize(("text", "enough", "too_little"), PROGRAMS)
def test_what_is_right_under_a_precondition_is_proved_and_nothing_else(
    text: str, enough: Sequence[str], too_little: Sequence[str]
) -> None:
    assert checked(text).findings != []
    for assume in enough:
        report = checked(text, assume)
        assert report.verdict is Verdict.SAFE, f"{assume}: {report}"
        assert report.is_proved or "N" in report.varied, f"{assume}: {report}"
        assert all(clause in report.last_line for clause in assume.replace("%K", "K").split(" and "))
    for assume in too_little:
        assert "race" in checked(text, assume).kinds, assume


@pytest.mark.parametrize(("text", "enough", "too_little"), PROGRAMS[:4])
def test_the_calls_of_findings_keep_the_preconditions(
    text: str, enough: Sequence[str], too_little: Sequence[str]
) -> None:
    """And each finding is there when the program is called so."""
    for assume in too_little:
        for finding in checked(text, assume).findings:
            number = finding.arguments["K"]
            numbers = numbers_of(parse_preconditions([assume]))["K"]
            assert number in [numbers.number(n, {}) for n in range(300)]
            assert str(finding.violation.kind) in checked(text, args={"K": number}).kinds
    for assume in enough:
        numbers = numbers_of(parse_preconditions([assume]))["K"]
        for n in range(4):
            assert checked(text, args={"K": numbers.number(n, {})}).findings == []


def test_two_loops_as_long_as_each_other() -> None:
    """Groups are committed in one loop and waited for in the other."""
    turn = f"{COPY}scf.for %j = %c0 to %c1 step %c1 {{ {WAIT} }}"
    loops = f"scf.for %k = %c0 to %K step %c1 {{ {turn} }}\n{COPY}scf.for %k = %c0 to %N step %c1 {{ {WAIT} }}\n{READ}"
    text = program(loops, "%K: index, %N: index")
    assert checked(text, "N >= 1").is_proved
    assert checked(text, "N > K").verdict is Verdict.SAFE
    assert checked(text, "K >= 1", "N >= K").verdict is Verdict.SAFE
    assert checked(text, "N == K").kinds == ["race", "undrained"]


def test_of_several_functions_a_precondition_is_about_those_with_the_argument() -> None:
    other = program("", "%n: index").replace("@k", "@other")
    report = checked(waits_in("%c0 to %K step %c1") + "\n" + other, "K >= 1")
    assert report.is_proved
    assert report.functions == ["k", "other"]


def test_integers_of_32_bits() -> None:
    head = HEAD.replace("index", "i32")
    loop = f"%zero = arith.constant 0 : index\n{COPY}scf.for %k = %c0 to %K step %c64 : i32 {{ {WAIT} }}\n{READ}"
    text = program(loop.replace("[%c0]", "[%zero]"), "%K: i32", head).replace(READ, READ.replace("%c0", "%zero"))
    text = text.replace("%s[%c0]", "%s[%zero]")
    assert checked(text).kinds == ["race", "undrained"]
    report = checked(text, "K >= 1", "K % 64 == 0")
    assert report.is_proved, str(report)


# What is said ---------------------------------------------------------------------------------------------------------


def test_the_numbers_that_were_tried_are_those_of_the_caller() -> None:
    report = checked(waits_in("%c0 to %K step %c64"), "K % 64 == 0", "K >= 1", trip_counts=[0, 1, 2])
    assert report.verdict_line == "safe for K in 64, 128, 192"
    assert report.as_data()["scope"]["tried"] == {"K": [64, 128, 192]}
    assert "K % 64 == 0, K >= 1" in report.last_line
    assert "K >= 0" not in report.scope.assumed


def test_the_witness_says_how_the_caller_calls() -> None:
    text = waits_in("%c64 to %K step %c1")
    report = checked(text, "K % 64 == 0", "K >= 1")
    assert {finding.call for finding in report.findings} == {"in @k(K = 64)"}
    report = checked(waits_if("sgt", "%K", "%N", arguments="%K: index, %N: index"), "K >= N")
    assert report.findings[0].arguments == {"K": 0, "N": 0}


def test_a_negative_least_number_is_tried() -> None:
    report = checked(waits_if("sge", "%K", "%c0"), "K >= -2")
    assert report.findings[0].arguments == {"K": -2}


def test_the_last_line_names_a_sign_that_no_precondition_states() -> None:
    assert "K >= 0" in checked(waits_if("eq", "%rest", "%c0", before=REST), "K % 64 == 0").scope.assumed
    assert "K >= 0" not in checked(waits_in("%c0 to %K step %c1"), "K > 0").scope.assumed


def test_comments_state_preconditions() -> None:
    text = "// tileas: assume K >= 1 and K % 64 == 0\n  #  tileas:assume N >= K  \nx = 1  # tileas: assume M >= 1\n"
    assert stated_in(text) == ["K >= 1 and K % 64 == 0", "N >= K"]


# Triton ---------------------------------------------------------------------------------------------------------------

KERNEL = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:80"} {
  tt.func public @k(%p: tensor<128x!tt.ptr<f32>, #blocked>, %K: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c63 = arith.constant 63 : i32
    %c64 = arith.constant 64 : i32
    %s = ttg.local_alloc : () -> !ttg.memdesc<128xf32, #shared, #smem, mutable>
    %copy = ttg.async_copy_global_to_local %p, %s
      : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %group = ttg.async_commit_group tokens %copy
    %up = arith.addi %K, %c63 : i32
    %n = arith.divsi %up, %c64 : i32
    scf.for %k = %c0 to %n step %c1 : i32 {
      %done = ttg.async_wait %group {num = 0 : i32}
    }
    %v = ttg.local_load %s : !ttg.memdesc<128xf32, #shared, #smem, mutable> -> tensor<128xf32, #blocked>
    tt.return
  }
}
"""


def test_the_bound_of_a_kernel_is_a_formula_of_what_is_promised() -> None:
    assert checked(KERNEL).kinds == ["race", "undrained"]
    assert checked(KERNEL, "K >= 1").is_proved
    assert checked(KERNEL, "K % 64 == 0 and K > 0").is_proved
    report = checked(KERNEL, "K % 64 == 0")
    assert report.kinds == ["race", "undrained"]
    assert report.findings[0].arguments["K"] == 0


@pytest.mark.parametrize(
    ("change", "assume", "is_right"),
    [
        ("%n to %n", "K >= 1", False),
        ("%c1 to %n", "K >= 65", True),
        ("%c1 to %n", "K >= 64", False),
        ("%c1 to %n", "K > 64 and K % 64 == 0", True),
        ("%c0 to %n", "K % 64 == 1", True),
        ("%c0 to %n", "K == 0", False),
        ("%c0 to %n", "K == 1", True),
    ],
)
def test_loops_begin_with_the_least_number_of_turns(change: str, assume: str, is_right: bool) -> None:
    report = checked(KERNEL.replace("%c0 to %n", change), assume)
    assert report.is_proved if is_right else report.kinds == ["race", "undrained"], str(report)


def test_the_turns_that_were_tried_begin_with_the_least_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave_open(case: Case, _counts: Sequence[int]) -> None:
        case.is_bounded = True
        case.report.bounded.append("the test leaves it open")

    monkeypatch.setattr(checking, "check_every_trip_count", leave_open)
    assert checked(KERNEL, "K >= 65").verdict_line == "safe for trip count in 2..10"


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(sorted(EXACT, key=str)), st.integers(-3, 6)), max_size=4), st.integers(-2, 5))
def test_the_least_number_of_a_formula_is_none_too_large(steps: list[tuple[IntegerFunction, int]], first: int) -> None:
    leaf: Formula = ("argument", 0)
    formula = leaf
    for kind, constant in steps:
        formula = (kind, formula, ("constant", constant))
    least = least_of(formula, {leaf: first})
    for number in range(first, first + 40):
        with suppress(ArithmeticError):
            assert least is None or number_of(formula, {leaf: number}) >= least
