"""
`wgmma` on the machine, against the PTX manual's formulas written out here: every type, both ways to lie in shared
memory, every swizzle; sums that are not added, signs, overflow; and accumulators that are looked at too early.
"""

# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.corpora import each
from tests.support.ir import parse
from tests.support.loaded_operands import loaded
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.layouts.descriptors import PATTERN, Operand, wgmma_descriptor
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import Outcome, run

TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
SPACE = 16384
"""Bytes of shared memory for each operand."""


@dataclass(frozen=True)
class Case:
    """One instruction, and how its operands lie."""

    a: str = "f16"
    b: str = "f16"
    d: str = "f32"
    n: int = 16
    swizzle: int = 128
    k_major: tuple[bool, bool] = (True, True)
    scale_d: str = "one"
    negated: tuple[bool, bool] = (False, False)
    register: str = ""
    overflow: str = ""
    threads: int = 128

    @property
    def k(self) -> int:
        return 32 // np.dtype(TYPES[self.a]).itemsize

    @property
    def kind(self) -> str:
        """The type of a register."""
        return self.register or {"f32": "f32", "f16": "i32", "s32": "i32"}[self.d]

    @property
    def count(self) -> int:
        """How many registers a thread has."""
        return self.n // (4 if self.d == "f16" else 2)


# How operands lie -----------------------------------------------------------------------------------------------------


def operand(rows: int, size: int, swizzle: int, *, k_major: bool) -> Operand:
    """Strides with which `rows` rows of M or N fit: groups of 8 along the stride, the other way along `leading`."""
    if k_major:
        return Operand(0, 128, 256, 0) if swizzle == 0 else Operand(0, 16, PATTERN[swizzle], swizzle)
    if swizzle == 0:
        return Operand(0, 128 * (rows * size // 16), 128, 0)
    return Operand(0, 2 * PATTERN[swizzle], PATTERN[swizzle], swizzle)


def place(of: Operand, row: int, k: int, size: int, *, k_major: bool) -> int:
    """
    The byte of an element behind the beginning of an operand (CUTLASS, mma_sm90_desc.hpp, canonical layouts; w is the
    swizzle in chunks): with K contiguous `Sw o ((8,n),(T,2)):((wT,SBO),(1,T))`, else `Sw o ((T,w,n),(8,k)):((1,T,LBO),
    (wT,SBO))`; without a swizzle `((8,n),(T,2)):((T,SBO),(1,LBO))` and `((T,1,n),(8,k)):((1,T,SBO),(T,LBO))`.
    """
    along, across = (k * size, row) if k_major else (row * size, k)
    chunk, byte = divmod(along, 16)
    group, line = divmod(across, 8)
    if of.swizzle == 0:
        steps = (of.leading, of.stride) if k_major else (of.stride, of.leading)
        return chunk * steps[0] + group * steps[1] + line * 16 + byte
    width = of.swizzle // 16
    far, near = (0, chunk) if k_major else divmod(chunk, width)
    address = group * of.stride + far * of.leading + line * of.swizzle + near * 16 + byte
    return address ^ ((address >> 7 & width - 1) << 4)


def laid_out(matrix: Any, of: Operand, *, k_major: bool) -> Any:
    """The bytes of shared memory with `matrix`, the others full of a number that would show."""
    size = matrix.dtype.itemsize
    found = np.full(SPACE, 0x3C, np.uint8)
    plain = np.ascontiguousarray(matrix)[..., None].view(np.uint8)
    for row, k in product(*map(range, matrix.shape)):
        start = place(of, row, k, size, k_major=k_major)
        found[start : start + size] = plain[row, k]
    return found


# Programs -------------------------------------------------------------------------------------------------------------

DESCRIBED = """
  %da = llvm.or %sa, %high_a : i64
  %db = llvm.or %sb, %high_b : i64"""
LOADED = f"{loaded('a', 'b')}{DESCRIBED}"


def program(case: Case, times: int = 1, *, waits: bool = True) -> str:
    """Loads both operands, multiplies `times` times by `case`, writes the registers of each thread to its row of %d."""
    element = "vector<2xf16>" if case.kind.startswith("vector") else case.kind
    struct = f"!llvm.struct<({', '.join([case.kind] * case.count)})>"
    lines = [f"%acc = llvm.mlir.undef : {struct}"]
    name = "%acc"
    for number in range(case.count):
        lines += [
            f"%r{number} = arith.constant {number} : index",
            f"%w{number} = memref.load %c[%t, %r{number}] : memref<128x{case.count}xi32>",
            f"%v{number} = llvm.bitcast %w{number} : i32 to {element}",
            f"%s{number} = llvm.insertvalue %v{number}, {name}[{number}] : {struct}",
        ]
        name = f"%s{number}"
    signs = ["neg" if minus else "one" for minus in case.negated]
    layouts = ["row" if case.k_major[0] else "col", "col" if case.k_major[1] else "row"]
    form = (
        f"<m = 64, n = {case.n}, k = {case.k}>, D[<{case.d}>, <{case.scale_d}>{case.overflow}], "
        f"A[<{case.a}>, <{signs[0]}>, <{layouts[0]}>], B[<{case.b}>, <{signs[1]}>, <{layouts[1]}>]"
    )
    lines.append("nvvm.wgmma.fence.aligned")
    for turn in range(times):
        lines.append(f"%d{turn} = nvvm.wgmma.mma_async %da, %db, {name}, {form} : {struct} -> {struct}")
        name = f"%d{turn}"
    lines.append("nvvm.wgmma.commit.group.sync.aligned")
    if waits:
        lines.append("nvvm.wgmma.wait.group.sync.aligned 0")
    for number in range(case.count):
        lines += [
            f"%x{number} = llvm.extractvalue {name}[{number}] : {struct}",
            f"%y{number} = llvm.bitcast %x{number} : {element} to i32",
            f"memref.store %y{number}, %d[%t, %r{number}] : memref<128x{case.count}xi32>",
        ]
    arguments = f"%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %high_a: i64, %high_b: i64, %c: memref<128x{case.count}xi32>, %d: memref<128x{case.count}xi32>"
    shared = "\n".join(
        f"llvm.mlir.global internal @{name}() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<{size} x i8>"
        for name, size in (("sa", SPACE), ("sb", SPACE), ("bar", 8))
    )
    body = "\n  ".join(lines)
    return f"{shared}\nfunc.func @f({arguments}) attributes {{nvvm.reqntid = array<i32: {case.threads}>}} {{{LOADED}\n  {body}\n  func.return\n}}"


def registers(matrix: Any, case: Case) -> Any:
    """The registers of all threads as i32 (PTX ISA, "Register Fragments for wgmma.mma_async": D)."""
    thread, element = np.arange(128)[:, None], np.arange(case.n // 2)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + element // 2 % 2 * 8
    held = matrix[row, thread % 4 * 2 + element % 2 + element // 4 * 8]
    return np.ascontiguousarray(held).view(np.int32)


def drawn(rng: np.random.Generator, kind: str, extents: tuple[int, int]) -> Any:
    return rng.integers(0 if kind == "u8" else -4, 5, extents).astype(TYPES[kind])


SUMS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}


def ran(case: Case, a: Any, b: Any, before: Any, **options: Any) -> Outcome:
    placed = [
        operand(len(factor), factor.dtype.itemsize, case.swizzle, k_major=k_major)
        for factor, k_major in zip((a, b), case.k_major, strict=True)
    ]
    high_a, high_b = (np.int64(np.uint64(wgmma_descriptor(each))) for each in placed)
    arguments = {
        "a": laid_out(a, placed[0], k_major=case.k_major[0]),
        "b": laid_out(b, placed[1], k_major=case.k_major[1]),
        "high_a": int(high_a),
        "high_b": int(high_b),
        "c": registers(before, case),
        "d": np.zeros((128, case.count), np.int32),
    }
    return run(parse(program(case, **options)), "f", arguments)


def assert_multiplies(case: Case, times: int = 1) -> None:
    rng = np.random.default_rng(7)
    a, b = drawn(rng, case.a, (64, case.k)), drawn(rng, case.b, (case.n, case.k))
    before = rng.integers(-20, 20, (64, case.n)).astype(SUMS[case.d])
    outcome = ran(case, a, b, before, times=times)
    signs = np.prod([-1 if minus else 1 for minus in case.negated])
    expected = signs * (a.astype(np.float64) @ b.astype(np.float64).T) * times
    if case.scale_d == "one":
        expected += before.astype(np.float64)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["d"], registers(expected.astype(SUMS[case.d]), case))


ONE = Case()
EVERY_TYPE = [
    Case("f16", "f16", "f32"),
    Case("f16", "f16", "f16"),
    Case("f16", "f16", "f16", register="vector<2xf16>"),
    Case("bf16", "bf16", "f32"),
    Case("tf32", "tf32", "f32"),
    Case("e4m3", "e5m2", "f32"),
    Case("e5m2", "e4m3", "f16"),
    Case("s8", "u8", "s32"),
    Case("u8", "s8", "s32"),
]


@pytest.mark.parametrize("case", EVERY_TYPE, ids=lambda case: f"{case.a}-{case.b}-{case.d}-{case.kind}")
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_every_type_with_every_swizzle(case: Case, swizzle: int) -> None:
    assert_multiplies(replace(case, swizzle=swizzle))


MAJORS = [(True, False), (False, True), (False, False)]
TURNED = [Case("bf16", "bf16", n=n, swizzle=s, k_major=k) for n in (64, 128) for k in MAJORS for s in (0, 32, 64, 128)]


@each("case", TURNED, 12, ids=str)
def test_operands_that_lie_the_other_way(case: Case) -> None:
    assert_multiplies(case)


@pytest.mark.parametrize("n", [8, 24, 96, 256])
def test_widths(n: int) -> None:
    assert_multiplies(replace(ONE, n=n, swizzle=32))


@pytest.mark.parametrize("negated", [(True, False), (False, True), (True, True)])
def test_signs(negated: tuple[bool, bool]) -> None:
    assert_multiplies(replace(ONE, negated=negated))


def test_an_accumulator_that_is_not_added() -> None:
    assert_multiplies(replace(ONE, scale_d="zero"))


def test_products_in_a_row_add_to_each_other() -> None:
    assert_multiplies(ONE, times=3)


@pytest.mark.parametrize(("word", "expected"), [("", -(2**31) + 32 * 127 * 127 - 1), (", <satfinite>", 2**31 - 1)])
def test_sums_that_are_too_large(word: str, expected: int) -> None:
    case = Case("s8", "s8", "s32", overflow=word)
    full = np.full((64, 32), 127, np.int8)
    outcome = ran(case, full, full[:16], np.full((64, 16), 2**31 - 1, np.int32))
    assert (outcome.arrays["d"] == expected).all()


def test_the_order_of_additions() -> None:
    """First the accumulator, then k = 0, 1, 2, ...: each sum is rounded to f32."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(extents).astype(np.float16) for extents in ((64, 16), (16, 16)))
    before = rng.standard_normal((64, 16)).astype(np.float32)
    expected = before.copy()
    for k in range(16):
        for row, column in product(range(64), range(16)):
            expected[row, column] += np.float32(a[row, k]) * np.float32(b[column, k])
    assert np.array_equal(ran(ONE, a, b, before).arrays["d"], registers(expected, ONE))


# What goes wrong ------------------------------------------------------------------------------------------------------


def test_registers_are_not_looked_at_before_the_wait() -> None:
    ones = np.ones((64, 16), np.float16)
    outcome = ran(ONE, ones, ones[:16], np.zeros((64, 16), np.float32), waits=False)
    assert "race" in [str(violation.kind) for violation in outcome.violations]


def with_descriptors(case: Case, **options: Any) -> str:
    """A program that says itself how its operands lie."""
    text = program(case, **options).replace("%high_a: i64, %high_b: i64, ", "")
    high = int(np.int64(np.uint64(wgmma_descriptor(operand(64, 2, case.swizzle, k_major=True)))))
    made = "".join(f"\n  %high_{which} = arith.constant {high} : i64" for which in "ab")
    return text.replace("\n  %tid =", f"{made}\n  %tid =")


@pytest.mark.parametrize("waits", [True, False])
def test_a_check_says_the_same(waits: bool) -> None:
    report = check(parse(with_descriptors(ONE, waits=waits)))
    assert report.verdict_line == ("safe for every trip count" if waits else "unsafe: race")


def test_an_unknown_number_of_threads() -> None:
    text = with_descriptors(ONE).replace(" attributes {nvvm.reqntid = array<i32: 128>}", "")
    zeros = np.zeros(SPACE, np.uint8)
    with pytest.raises(UndecidedError, match=r"nvvm\.reqntid"):
        run(parse(text), "f", {"a": zeros, "b": zeros})


def test_registers_of_one_f16() -> None:
    """They hold two each: MLIR lets other structs pass."""
    text = with_descriptors(replace(ONE, d="f16", register="f16", scale_d="zero"))
    text = text.replace("llvm.bitcast %w", "llvm.sitofp %w")
    zeros = np.zeros(SPACE, np.uint8)
    with pytest.raises(UnsupportedError, match="each holds two f16"):
        run(parse(text), "f", {"a": zeros, "b": zeros})
