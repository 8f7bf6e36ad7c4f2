"""
Numbers that states tell apart up to the constants with which they are compared: up to which, and what is not followed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import pytest
from xdsl.dialects import func
from xdsl.ir import SSAValue

from tests.checker.nest_programs import nest
from tests.checker.test_traps_of_nests import ARRIVE, LOOK, assert_proved, where
from tests.support.ir import parse
from tileas_xdsl.checker.decisions.open_loops import open_loops
from tileas_xdsl.checker.decisions.thresholds import thresholds
from tileas_xdsl.checker.proof.outcomes import NoProofError
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.arguments import argument_at

HEAD = """
func.func @f(%n: i32, %free: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c9 = arith.constant 9 : i32
  %c100 = arith.constant 100 : i32
"""


def ends_in(text: str) -> tuple[Mapping[str, int], int]:
    """The ends of the values of the function with that text behind `HEAD`; and how many comparisons are settled."""
    module = parse(f"{HEAD}{text}\n  func.return\n}}")
    (function,) = module.body.block.ops
    assert isinstance(function, func.FuncOp)
    ends, settled = thresholds(function.body, [function.body.block.args[0]])
    return {name_of(value): end for value, end in ends.items()}, len(settled)


def name_of(value: SSAValue) -> str:
    assert value.name_hint is not None
    return value.name_hint


def in_loop(body: str, carried: str = "") -> str:
    return f"scf.for %k = %c0 to %n step %c1 {carried} : i32 {{\n{body}\n}}"


def compared(number: str, constant: str = "%c9") -> str:
    return f"%is = arith.cmpi eq, {number}, {constant} : i32"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (compared("%k"), {"k": 9}),
        (f"{compared('%k')}\n%less = arith.cmpi slt, %c3, %k : i32", {"k": 9}),
        (f"%x = arith.addi %k, %c3 : i32\n{compared('%x')}", {"x": 9, "k": 6}),
        (f"%x = arith.addi %c3, %k : i32\n{compared('%x')}", {"x": 9, "k": 6}),
        (f"%x = arith.subi %k, %c3 : i32\n{compared('%x')}", {"x": 9, "k": 12}),
        (f"%x = arith.addi %k, %c0 : i32\n{compared('%x')}", {"x": 9, "k": 9}),
        ("%least = arith.minsi %c9, %k : i32", {"k": 9}),
    ],
)
def test_a_number_is_told_apart_as_far_as_what_is_computed_from_it(body: str, wanted: Mapping[str, int]) -> None:
    ends, settled = ends_in(in_loop(body))
    assert {name: end for name, end in ends.items() if name in wanted} == wanted
    assert settled == body.count("cmpi") + body.count("minsi")


def test_what_a_loop_carries_is_told_apart_as_far_as_what_it_becomes() -> None:
    """At the head nobody knows yet whether it is carried on or is the result."""
    loop = (
        "%last = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %c0) -> (i32) : i32 {{\n{}\nscf.yield %next : i32\n}}"
    )
    ends, _ = ends_in(f"{loop.format('%next = arith.addi %sum, %c1 : i32')}\n{compared('%last')}")
    assert ends["last"] == ends["sum"] == ends["next"] == 9
    assert ends_in(f"{loop.format('%next = arith.subi %sum, %c1 : i32')}\n{compared('%last')}") == ({}, 0)


@pytest.mark.parametrize(
    "body",
    [
        compared("%free"),
        compared("%n"),
        compared("%k", "%c100"),
        f"%x = arith.muli %k, %c3 : i32\n{compared('%x')}",
        f"%x = arith.addi %k, %c100 : i32\n{compared('%x')}",
        f"%x = arith.subi %c9, %k : i32\n{compared('%x')}",
        f"%x = arith.addi %k, %k : i32\n{compared('%x')}",
        "%x = arith.index_cast %k : i32 to index\n%y = arith.index_cast %x : index to i8\n"
        "%c = arith.constant 3 : i8\n%is = arith.cmpi eq, %y, %c : i8",
    ],
)
def test_what_is_not_followed_settles_nothing(body: str) -> None:
    assert ends_in(in_loop(body))[1] == 0


@dataclass
class Counter:
    """A loop over k that carries a sum, and compares what is computed from both; behind it the sum is compared."""

    first: int
    sum_first: int
    sum_step: int
    offsets: list[int]
    """Numbers: k or the sum (even or odd place) plus that."""
    constants: list[int]
    """With which the numbers are compared, and at the end the sum behind the loop."""

    @classmethod
    def drawn(cls, seed: int) -> Counter:
        pick = random.Random(seed)
        offsets = [pick.randint(-6, 6) for _ in range(pick.randint(1, 4))]
        constants = [pick.randint(0, 9) for _ in range(len(offsets) + 1)]
        return cls(pick.randint(-4, 3), pick.randint(-4, 3), pick.randint(0, 3), offsets, constants)

    def text(self) -> str:
        numbers = {self.first, self.sum_first, self.sum_step, *self.offsets, *self.constants}
        lines = [f"%v{number}_ = arith.constant {number} : i32" for number in sorted(numbers)]
        lines.append("%last = scf.for %k = %v{}_ to %n step %c1 iter_args(%sum = %v{}_) -> (i32) : i32 {{")
        for place, (offset, constant) in enumerate(zip(self.offsets, self.constants, strict=False)):
            lines.append(f"%x{place} = arith.addi %{('k', 'sum')[place % 2]}, %v{offset}_ : i32")
            lines.append(f"%is{place} = arith.cmpi sle, %x{place}, %v{constant}_ : i32")
        lines += [f"%next = arith.addi %sum, %v{self.sum_step}_ : i32", "scf.yield %next : i32", "}}"]
        lines.append(f"%is = arith.cmpi eq, %last, %v{self.constants[-1]}_ : i32")
        return "\n".join(lines).format(self.first, self.sum_first).replace("%v-", "%vm")

    def at(self, turn: int) -> tuple[dict[str, int], list[bool], bool]:
        """The numbers at the head of a turn; what the comparisons say in it, and if the loop ends there."""
        k, total = self.first + turn, self.sum_first + turn * self.sum_step
        numbers = [(k, total)[place % 2] + offset for place, offset in enumerate(self.offsets)]
        says = [number <= constant for number, constant in zip(numbers, self.constants, strict=False)]
        return {"k": k, "sum": total}, says, total == self.constants[-1]


@pytest.mark.parametrize("seed", range(0, 400, 100))
def test_states_that_are_drawn_alike_go_on_alike(seed: int) -> None:
    """What a state draws at the head of a loop says what follows: all comparisons, and what the next state draws."""
    told_apart = 0
    for number in range(seed, seed + 50):
        counter = Counter.drawn(number)
        ends, settled = ends_in(counter.text())
        assert settled == len(counter.constants)
        follows: dict[tuple[int, int], object] = {}
        drawn = [
            tuple(min(value, ends[name] + 1) if name in ends else 0 for name, value in counter.at(turn)[0].items())
            for turn in range(60)
        ]
        for turn, (here, there) in enumerate(pairwise(drawn)):
            found = (counter.at(turn)[1:], there)
            assert follows.setdefault(here, found) == found, f"{number}: turn {turn}\n{counter}"
        told_apart += len(follows)
    assert told_apart < 50 * 30, "far turns are drawn alike"


NEAR = "%c6 = arith.constant 6 : i32\n%cm9 = arith.constant -9 : i32\n%c9 = arith.constant 9 : i32"
FROM_BELOW = "scf.for %x = %cm9 to %m step %c1 : i32 {{{{\n%y = arith.addi %x, %c9 : i32\n{}\n}}}}"


@pytest.mark.parametrize(
    ("then", "n", "m"),
    [
        ("%same = arith.addi %t, %c0 : i32\n" + where("%is = arith.cmpi eq, %same, %c6", "{}"), 8, 2),
        (FROM_BELOW.format(where("%is = arith.cmpi eq, %y, %c3", "{}")), 2, 2),
    ],
)
def test_a_fault_behind_a_comparison_is_not_proved(then: str, n: int, m: int) -> None:
    """Each is wrong from some number on that is found by a sum with 0, or in numbers from -9 on."""
    wrong = nest(2, head=NEAR, consumer_after_tile=then.replace("{}", ARRIVE))
    report = check(parse(wrong), trip_counts=[0, 1], prove=True, timeout=120)
    assert report.findings, str(report)
    assert report.findings[0].arguments == {"n": n, "m": m}
    assert_proved(nest(2, head=NEAR, consumer_after_tile=then.replace("{}", LOOK)), [(n, m), (3, 1)])


def test_a_count_that_is_taken_from_a_constant_is_compared_with_nothing() -> None:
    """8 - m > 3 says that m is less than 5, not that it is more than 3."""
    left = where("%left = arith.subi %c8, %m : i32\n%is = arith.cmpi sgt, %left, %c3", LOOK)
    report = check(parse(nest(2, consumer_after_tile=left)), trip_counts=[0, 1], prove=True, timeout=120)
    assert "'arith.cmpi' takes 'm', which also bounds loops" in "; ".join(report.bounded)


@pytest.mark.parametrize(
    ("kind", "compute", "reason"),
    [
        ("i16", "%some = arith.extui %m : i16 to i32", "'m' has 16 bits, which overflow"),
        (
            "i32",
            "%narrow = arith.trunci %m : i32 to i8\n%some = arith.extui %narrow : i8 to i32",
            "'arith.trunci' takes",
        ),
        (
            "i32",
            "%x = arith.index_cast %m : i32 to index\n%y = arith.index_cast %x : index to i8\n"
            "%some = arith.extui %y : i8 to i32",
            "'arith.index_cast' takes",
        ),
        (
            "i32",
            "%less = arith.subi %m, %c1 : i32\n%wide = arith.extui %less : i32 to i64\n"
            "%some = arith.trunci %wide : i64 to i32",
            "'arith.extui' takes",
        ),
        ("i32", "%some = arith.muli %m, %c4096 : i32", "'arith.muli' takes"),
        ("i32", "%some = arith.shli %m, %c4096 : i32", "'arith.shli' takes"),
    ],
)
def test_counts_that_may_overflow_are_no_counts(kind: str, compute: str, reason: str) -> None:
    text = f"""
    func.func @f(%m: {kind}) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c4096 = arith.constant 4096 : i32
      {compute}
      scf.for %k = %c0 to %some step %c1 : i32 {{
      }}
      func.return
    }}"""
    (function,) = parse(text).body.block.ops
    assert isinstance(function, func.FuncOp)
    with pytest.raises(NoProofError, match=reason):
        open_loops(function.body, {"m": argument_at(function.body, "m")})
