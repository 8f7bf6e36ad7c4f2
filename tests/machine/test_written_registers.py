"""
Accumulators that ordinary instructions write: `wgmma.fence` has to come behind the last of them and before the product
(PTX ISA, "wgmma.fence"). Names are followed through branches and loops.
"""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check

STRUCT = f"!llvm.struct<({', '.join(['f32'] * 4)})>"
FENCE = "nvvm.wgmma.fence.aligned"
DONE = "nvvm.wgmma.commit.group.sync.aligned\n nvvm.wgmma.wait.group.sync.aligned 0"


def product(name: str, added: str) -> str:
    form = "<m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>]"
    return f"{name} = nvvm.wgmma.mma_async %word, %word, {added}, {form} : {STRUCT} -> {STRUCT}"


def written(name: str, into: str = "%undef") -> str:
    return f"{name} = llvm.insertvalue %x, {into}[0] : {STRUCT}"


def scaled(name: str, of: str) -> str:
    """As attention does it with its sum."""
    old, new = f"{name}_old", f"{name}_new"
    return (
        f"{old} = llvm.extractvalue {of}[0] : {STRUCT}\n {new} = arith.mulf {old}, %x : f32\n"
        f"{name} = llvm.insertvalue {new}, {of}[0] : {STRUCT}"
    )


def loop(*body: str, begins: str = "%start") -> str:
    """`%r` is what the last turn yields."""
    lines = "\n ".join(body)
    return f"%r = scf.for %i = %c0 to %n step %c1 iter_args(%a = {begins}) -> ({STRUCT}) {{\n {lines}\n }}"


def choice(first: str, second: str, condition: str = "%more") -> str:
    sides = (f"{text}\n scf.yield %{side} : {STRUCT}" for side, text in (("yes", first), ("no", second)))
    return f"%r = scf.if {condition} -> ({STRUCT}) {{\n" + "\n} else {\n".join(sides) + "\n}"


def yields(name: str) -> str:
    return f"scf.yield {name} : {STRUCT}"


def found(turns: int, *body: str) -> str:
    """The verdict on a warpgroup that does `body`, and why."""
    lines = "\n  ".join(body)
    text = f"""
      llvm.mlir.global internal @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<16384 x i8>
      func.func private @fenced() {{
        {FENCE}
        func.return
      }}
      func.func @f(%n: index, %x: f32) attributes {{nvvm.reqntid = array<i32: 128>}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %more = arith.cmpi sgt, %n, %c1 : index
        %other = arith.cmpi sge, %n, %c1 : index
        %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
        %place = llvm.ptrtoint %shared : !llvm.ptr<3> to i64
        %four = arith.constant 4 : i64
        %low = arith.shrui %place, %four : i64
        %high = arith.constant 4611686293372403712 : i64
        %word = arith.ori %low, %high : i64
        %undef = llvm.mlir.undef : {STRUCT}
        {lines}
        func.return
      }}"""
    report = check(parse(text), "f", trip_counts=[turns], prove=False)
    assert not report.undecided, report
    return ", ".join(report.kinds) or "safe"


MISSING = "missing-fence"
START, END = written("%start"), (product("%d", "%r"), DONE)
TURN = (product("%p", "%a"), DONE, scaled("%s", "%p"), yields("%s"))
"""A product, which is scaled for the next turn."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((FENCE, written("%r"), *END), MISSING),
        ((written("%r"), FENCE, *END), "safe"),
        ((written("%s"), FENCE, written("%r", "%s"), *END), MISSING),
        ((FENCE, product("%d", "%undef"), DONE), "safe"),
        ((FENCE, choice(written("%yes"), written("%no")), *END), MISSING),
        ((choice(written("%yes"), written("%no")), FENCE, *END), "safe"),
        ((FENCE, choice(product("%yes", "%undef"), product("%no", "%undef")), DONE, *END), "safe"),
    ],
)
def test_the_fence_stands_behind_what_writes(body: tuple[str, ...], expected: str) -> None:
    assert found(2, *body) == expected


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("body", "wrong_from"),
    [
        ((START, loop(FENCE, *TURN)), 99),
        ((START, FENCE, loop(*TURN)), 2),
        ((START, FENCE, loop(product("%p", "%a"), DONE, FENCE, scaled("%s", "%p"), yields("%s"))), 2),
        ((START, FENCE, loop(product("%p", "%a"), DONE, scaled("%s", "%p"), FENCE, yields("%s"))), 99),
        ((FENCE, START, loop(FENCE, *TURN)), 99),
        ((FENCE, START, loop(*TURN)), 1),
        ((START, FENCE, loop(FENCE, *TURN), *END), 1),
        ((START, loop(FENCE, *TURN), FENCE, *END), 99),
        ((START, FENCE, loop(product("%p", "%a"), yields("%p")), DONE), 99),
    ],
)
def test_a_turn_takes_what_the_turn_before_has_written(body: tuple[str, ...], wrong_from: int, turns: int) -> None:
    assert found(turns, *body) == (MISSING if turns >= wrong_from else "safe")


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_branch_on_the_same_condition_goes_to_the_same_side(turns: int) -> None:
    """What is added was written in one branch, and only the other hands on what was there before."""
    first = choice(written("%yes"), f"%no = llvm.mlir.undef : {STRUCT}")
    same, other = (f"scf.if {name} {{\n {product('%d', '%r')}\n {DONE}\n }}" for name in ("%more", "%other"))
    assert found(turns, FENCE, first, same) == (MISSING if turns > 1 else "safe")
    assert found(turns, FENCE, first, other) == "safe"


def test_which_branch_was_taken_is_left_open_in_a_loop() -> None:
    """The branch of the turn before is another one, so nothing is claimed of it."""
    branch = choice(f"{written('%yes')}", f"%no = llvm.mlir.undef : {STRUCT}", "%other")
    assert found(3, START, FENCE, loop(product("%p", "%a"), DONE, branch, yields("%r"))) == "safe"


def test_a_fence_in_a_function_that_is_called_is_one() -> None:
    assert found(0, written("%r"), "func.call @fenced() : () -> ()", *END) == "safe"
