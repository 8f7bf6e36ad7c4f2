"""Upper limits of numbers (`checker.decisions.limits`): no turn comes to more, and simple ones are exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import scf
from xdsl.ir import Operation

from tests.support.ir import parse
from tileas_xdsl.checker.decisions.limits import Limits, never_negative
from tileas_xdsl.machine.arguments import argument_at, find_function

OPS: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": int.__add__,
    "arith.muli": int.__mul__,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.andi": int.__and__,
    "arith.divui": lambda x, y: x // max(y, 1),
    "arith.divsi": lambda x, y: x // max(y, 1),
    "arith.remui": lambda x, y: x % max(y, 1),
    "arith.remsi": lambda x, y: x % max(y, 1),
    "arith.subi": int.__sub__,
    "arith.ori": int.__or__,
}
NUMBERS = ("t", "j", "k")
"""Turns of two loops, and a number that the inner one carries."""


def limits_of(text: str) -> tuple[Limits, Operation]:
    op, body = find_function(parse(text), None)
    return Limits(body, never_negative(body, [argument_at(body, "n")])), op


def limit(text: str) -> int | None:
    """Of what the function stores."""
    limits, function = limits_of(text)
    store = next(op for op in function.walk() if op.name == "memref.store")
    return limits.of(store.operands[0])


def nest(body: list[str], carried: str, tiles: str, steps: str) -> str:
    ops = "\n".join(f"%v{number} = {line} : i32" for number, line in enumerate(body))
    constants = "\n".join(f"%c{c} = arith.constant {c} : i32" for c in range(9))
    return f"""
func.func @k(%out: memref<i32>, %n: i32) {{
  {constants}
  scf.for %t = %c0 to {tiles} step %c1 : i32 {{
    %last = scf.for %j = %c0 to {steps} step %c1 iter_args(%k = %c2) -> (i32) : i32 {{
      {ops}
      memref.store %v{len(body) - 1}, %out[] : memref<i32>
      scf.yield {carried} : i32
    }}
  }}
  func.return
}}"""


def test_limits_that_the_text_says() -> None:
    assert limit(nest(["arith.addi %t, %j"], "%k", "%c8", "%c4")) == 7 + 3
    assert limit(nest(["arith.addi %t, %j"], "%k", "%n", "%c4")) is None
    assert limit(nest(["arith.remui %n, %c4"], "%k", "%n", "%n")) == 3
    assert limit(nest(["arith.addi %k, %c1", "arith.remui %v0, %c5", "arith.addi %k, %c0"], "%v1", "%n", "%n")) == 4
    assert limit(nest(["arith.addi %k, %c1"], "%v0", "%c8", "%c8")) is None
    assert limit(nest(["arith.subi %t, %c1"], "%k", "%c8", "%c8")) is None


def test_what_may_overflow_has_no_limit() -> None:
    square = [f"arith.muli %v{number}, %v{number}" for number in range(8)]
    assert limit(nest(["arith.addi %c8, %t", *square[:3]], "%k", "%c5", "%c1")) == 12**8
    assert limit(nest(["arith.addi %c8, %t", *square[:4]], "%k", "%c5", "%c1")) is None


def test_a_minimum_of_a_negative_number_without_a_sign_is_no_minimum() -> None:
    assert limit(nest(["arith.subi %t, %c4", "arith.divui %v0, %c2"], "%k", "%c8", "%c8")) is None


Line = tuple[str, str, str]
BOUNDS = (1, 3, 8)


@st.composite
def bodies(draw: st.DrawFn) -> list[Line]:
    body: list[Line] = []
    for number in range(draw(st.integers(1, 6))):
        earlier = [*NUMBERS, "c1", "c3", "c8", *(f"v{other}" for other in range(number))]
        operand = st.sampled_from(earlier)
        name = draw(st.sampled_from(sorted(OPS)))
        divides = name.startswith(("arith.div", "arith.rem"))
        body.append((name, draw(operand), draw(st.sampled_from(["c1", "c3", "c8"]) if divides else operand)))
    return body


def values_of(body: list[Line], carried: str, tiles: int, steps: int) -> list[list[int]]:
    """What each line computes in each turn, up to the first that no 62 bits hold."""
    found: list[list[int]] = [[] for _ in body]
    for t in range(tiles):
        k = 2
        for j in range(steps):
            names = {"t": t, "j": j, "k": k, "c1": 1, "c3": 3, "c8": 8}
            for number, (op, left, right) in enumerate(body):
                names[f"v{number}"] = OPS[op](names[left], names[right])
                found[number].append(names[f"v{number}"])
                if abs(found[number][-1]) >> 62:
                    return found
            k = names[carried]
    return found


@given(bodies(), st.sampled_from(BOUNDS), st.sampled_from(BOUNDS), st.data())
def test_no_turn_comes_to_more(body: list[Line], tiles: int, steps: int, data: st.DataObject) -> None:
    carried = data.draw(st.sampled_from(["k", *(f"v{number}" for number in range(len(body)))]))
    lines = [f"{op} %{left}, %{right}" for op, left, right in body]
    limits, function = limits_of(nest(lines, f"%{carried}", f"%c{tiles}", f"%c{steps}"))
    inner = [op for op in function.walk() if isinstance(op, scf.ForOp)][-1]
    computed = [op for op in inner.body.block.ops if len(op.results) == 1]
    for op, values in zip(computed, values_of(body, carried, tiles, steps), strict=True):
        most = limits.of(op.results[0])
        assert most is None or max(values, default=0) <= most, str(op)
