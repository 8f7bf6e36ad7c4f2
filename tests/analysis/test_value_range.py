"""Ranges hold every number that is computed: random index arithmetic, run on the machine."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects import memref, scf

from tests.support.ir import parse
from tileas_xdsl.analysis.value_range import ANYTHING, NO_LIMIT, Range, ValueRanges
from tileas_xdsl.machine.running import run

UNTOUCHED = -(1 << 40)

OPS = ("addi", "subi", "muli", "remui", "remsi", "divui", "divsi", "minsi", "maxsi", "minui", "maxui", "select")


def program(seed: int) -> str:
    """A function that stores the six numbers that it computes in each iteration in a row of their own."""
    rng = random.Random(seed)
    constants = [rng.randint(-3, 6) for _ in range(4)] + [rng.randint(1, 5)]
    lines = [f"%k{number} = arith.constant {value} : index" for number, value in enumerate(constants)]
    names = [f"%k{number}" for number in range(len(constants))] + ["%i", "%n"]
    body: list[str] = []
    for number in range(6):
        left, right = rng.choice(names), rng.choice(names)
        op = rng.choice(OPS)
        if op in ("remui", "remsi", "divui", "divsi"):
            right = "%k4"
        condition = [f"%b{number} = arith.cmpi slt, {left}, {right} : index"] if op == "select" else []
        operands = f"%b{number}, {left}, {right}" if op == "select" else f"{left}, {right}"
        body += [*condition, f"%v{number} = arith.{op} {operands} : index"]
        body.append(f"memref.store %v{number}, %out[%i, %p{number}] : memref<16x6xindex>")
        # Unsigned ops on negative numbers give what no index stands for; nothing is computed from them.
        if op not in ("remui", "divui", "remsi", "divsi", "minui", "maxui"):
            names.append(f"%v{number}")
    places = [f"%p{number} = arith.constant {number} : index" for number in range(6)]
    lower, trips, step = rng.randint(0, 3), rng.randint(1, 4), rng.randint(1, 3)
    bounds = [("from", lower), ("to", lower + trips * step), ("by", step)]
    lines += [f"%{name} = arith.constant {value} : index" for name, value in bounds]
    text = "\n".join(
        [
            "func.func @f(%n: index, %out: memref<16x6xindex>) {",
            *lines,
            *places,
            "scf.for %i = %from to %to step %by {",
            *body,
            "}",
            "func.return",
            "}",
        ]
    )
    return text


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_ranges_hold_what_is_computed(first: int) -> None:
    narrow = 0
    for seed in range(first, first + 20):
        text = program(seed)
        module = parse(text)
        ranges = ValueRanges()
        stores = [op for op in module.walk() if isinstance(op, memref.StoreOp)]
        found = [ranges.of(store.value) for store in stores]
        narrow += sum(one.is_finite for one in found)
        for n in (-2, 0, 5):
            outcome = run(module, "f", {"n": n, "out": np.full((16, 6), UNTOUCHED)})
            rows = [row for row in outcome.arrays["out"] if row[0] != UNTOUCHED]
            assert rows
            for row in rows:
                for value, one in zip(row, found, strict=True):
                    assert one.low <= value <= one.high, f"{seed}, n = {n}: {value} in {one}\n{text}"
    assert narrow > 20


def range_of(expression: str) -> Range:
    """Of `%x` in a loop of three trips from 0, with an unknown `%n`."""
    text = f"""
func.func @f(%n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {{
    {expression}
    "test.op"(%x) : (index) -> ()
  }}
  func.return
}}
"""
    use = next(op for op in parse(text).walk() if op.name == "test.op")
    return ValueRanges().of(use.operands[0])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("%x = arith.subi %c2, %i : index", Range(0, 2)),
        ("%x = arith.remui %n, %c3 : index", Range(0, 2)),
        ("%x = arith.remsi %n, %c3 : index", Range(-2, 2)),
        ("%x = arith.remui %i, %c3 : index", Range(0, 2)),
        ("%x = arith.minsi %n, %c2 : index", Range(-NO_LIMIT, 2)),
        ("%x = arith.muli %i, %c2 : index", Range(0, 4)),
        ("%x = arith.addi %n, %c2 : index", ANYTHING),
    ],
)
def test_ranges_are_as_narrow_as_interval_arithmetic_can_tell(expression: str, expected: Range) -> None:
    assert range_of(expression) == expected


def test_what_is_assumed_of_a_value_is_taken_for_granted() -> None:
    """A ring that fills: in turn 1 one number, from turn 2 on another, in all turns three."""
    module = parse("""
    func.func @f(%out: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c9 = arith.constant 9 : index
      scf.for %i = %c0 to %c9 step %c1 {
        %count = arith.minui %i, %c2 : index
        %slot = arith.remui %i, %c3 : index
        %sum = arith.addi %count, %slot : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
      func.return
    }""")
    values = {value.name_hint: value for op in module.walk() for value in op.results}
    (loop,) = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    variable = loop.body.block.args[0]
    assert ValueRanges().of(values["count"]) == Range(0, 2)
    assert ValueRanges({variable: Range(1, 1)}).of(values["count"]) == Range(1, 1)
    assert ValueRanges({variable: Range(2, 8)}).of(values["count"]) == Range(2, 2)
    assert ValueRanges({variable: Range(7, 7)}).of(values["sum"]) == Range(3, 3)


@pytest.mark.parametrize(("op", "quotient"), [("divui", 2), ("ceildivui", 3), ("divsi", 2), ("ceildivsi", 3)])
def test_a_quotient_of_numbers_that_are_known_is_known(op: str, quotient: int) -> None:
    module = parse(
        f"""func.func @f(%n: index) -> index {{
          %c2 = arith.constant 2 : index
          %q = arith.{op} %n, %c2 : index
          func.return %q : index
        }}"""
    )
    divided = next(op for op in module.walk() if op.name.startswith("arith") and op.operands)
    ranges = ValueRanges({divided.operands[0]: Range(5, 5)})
    assert ranges.of(divided.results[0]) == Range(quotient, quotient)
