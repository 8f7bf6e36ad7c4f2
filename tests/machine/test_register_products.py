"""
Products of `wgmma` whose A is in registers, on the machine, against the PTX manual's formulas written out here; and
what goes wrong with their sums and with the slot of B.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.machine.test_warpgroup_products import SPACE, laid_out, operand
from tests.support.ir import parse
from tests.support.loaded_operands import loaded
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import RegisterProduct
from tileas_xdsl.layouts.descriptors import wgmma_descriptor
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import Outcome, run

TYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Case:
    """An op of the form, and how the parts of B lie: each 4096 bytes behind the one before."""

    kind: str = "f16"
    n: int = 16
    steps: int = 1
    swizzle: int = 32
    k_major: bool = True

    @property
    def form(self) -> RegisterProduct:
        return RegisterProduct(self.n, WGMMAType(self.kind), self.steps, self.k_major)


PART = 4096
"""Bytes between two parts of B; four fit into the space of an operand."""
DONE = "nvvm.wgmma.commit.group.sync.aligned\n  nvvm.wgmma.wait.group.sync.aligned 0"
LOADED = loaded("b")


def started(case: Case, name: str, sums: str) -> str:
    """The op of the form, which adds to `sums`."""
    form = case.form
    parts = [", ".join([*(f"%a{4 * step + number}" for number in range(4)), f"%d{step}"]) for step in range(case.steps)]
    types = ", ".join(map(str, form.types))
    return f'{name} = nvvm.inline_ptx "{form.text}" ro({", ".join([sums, *parts])} : {types}) -> {form.sums}'


def program(case: Case, *body: str) -> str:
    """Loads B, A and the sums %s of each thread, does `body`, and stores the sums %r."""
    count, struct = case.n // 2, case.form.sums
    high = int(np.int64(np.uint64(wgmma_descriptor(operand(case.n, 2, case.swizzle, k_major=case.k_major)))))
    lines = [f"%high = arith.constant {high} : i64", f"%s_0 = llvm.mlir.undef : {struct}"]
    for step in range(case.steps):
        lines += [
            f"%far{step} = arith.constant {step * PART // 16} : i64",
            f"%w{step} = llvm.add %sb, %far{step} : i64",
            f"%d{step} = llvm.or %w{step}, %high : i64",
        ]
    for number in range(4 * case.steps):
        lines += [
            f"%ra{number} = arith.constant {number} : index",
            f"%a{number} = memref.load %a[%t, %ra{number}] : memref<128x{4 * case.steps}xi32>",
        ]
    for number in range(count):
        lines += [
            f"%r{number} = arith.constant {number} : index",
            f"%v{number} = memref.load %c[%t, %r{number}] : memref<128x{count}xf32>",
            f"%s_{number + 1} = llvm.insertvalue %v{number}, %s_{number}[{number}] : {struct}",
        ]
    lines += [text.replace("%s ", f"%s_{count} ").replace("%s,", f"%s_{count},") for text in body]
    for number in range(count):
        lines += [
            f"%x{number} = llvm.extractvalue %r[{number}] : {struct}",
            f"memref.store %x{number}, %c[%t, %r{number}] : memref<128x{count}xf32>",
        ]
    placed = "{addr_space = 3 : i32, alignment = 1024 : i64}"
    arrays = (("sb", SPACE), ("bar", 8))
    shared = "\n".join(f"llvm.mlir.global internal @{n}() {placed} : !llvm.array<{size} x i8>" for n, size in arrays)
    head = f"%b: !llvm.ptr<1>, %a: memref<128x{4 * case.steps}xi32>, %c: memref<128x{count}xf32>"
    text = "\n  ".join(lines)
    threads = "attributes {nvvm.reqntid = array<i32: 128>}"
    return f"{shared}\nfunc.func @f({head}) {threads} {{{LOADED}\n  {text}\n  func.return\n}}"


def once(case: Case) -> str:
    return program(case, started(case, "%r", "%s"), DONE)


# Numbers --------------------------------------------------------------------------------------------------------------


def a_registers(a: Any) -> Any:
    """
    By thread and register, as i32 (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16": A): rows 8 below, then
    columns 8 further, two neighbours in each.
    """
    thread, register, half = np.arange(128)[:, None, None], np.arange(4)[None, :, None], np.arange(2)[None, None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
    column = thread % 4 * 2 + half + register // 2 * 8
    parts = [np.ascontiguousarray(a[row, column + 16 * step]) for step in range(a.shape[1] // 16)]
    return np.concatenate([part.view(np.int32)[..., 0] for part in parts], axis=1)


def sum_registers(matrix: Any) -> Any:
    """By thread and register (PTX ISA, the same section: D)."""
    thread, element = np.arange(128)[:, None], np.arange(matrix.shape[1] // 2)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + element // 2 % 2 * 8
    return np.ascontiguousarray(matrix[row, thread % 4 * 2 + element % 2 + element // 4 * 8])


def ran(case: Case, text: str, a: Any, b: Any, before: Any) -> Outcome:
    """`b` is N x K."""
    of = operand(case.n, 2, case.swizzle, k_major=case.k_major)
    memory = np.full(SPACE, 0x3C, np.uint8)
    for step in range(case.steps):
        part = laid_out(b[:, 16 * step : 16 * (step + 1)], of, k_major=case.k_major)
        memory[step * PART : (step + 1) * PART] = part[:PART]
    return run(parse(text), "f", {"a": a_registers(a), "b": memory, "c": sum_registers(before)})


CASES = [
    *(Case(kind, 16, steps) for kind in TYPES for steps in (1, 2, 4)),
    *(Case(n=n, swizzle=swizzle) for n in (8, 24, 64, 128) for swizzle in (0, 32)),
    *(Case("bf16", 64, 2, swizzle, False) for swizzle in (32, 64, 128)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers(case: Case) -> None:
    """Rounded after each k, bit for bit: the sums that were there, then k = 0, 1, 2, ..."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((rows, 16 * case.steps)).astype(TYPES[case.kind]) for rows in (64, case.n))
    before = rng.standard_normal((64, case.n)).astype(np.float32)
    outcome = ran(case, once(case), a, b, before)
    expected = before.copy()
    for k in range(16 * case.steps):
        expected = expected + a[:, k, None].astype(np.float32) * b[None, :, k].astype(np.float32)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["c"], sum_registers(expected))


def test_the_order_within_a_thread_is_that_of_ptx() -> None:
    """Each element of A alone reaches the row and the k that the manual gives it."""
    case, b = Case(), np.arange(16 * 16).reshape(16, 16).astype(np.float16)
    for row, k in product((0, 7, 8, 15, 33, 63), (0, 1, 6, 9, 15)):
        a = np.zeros((64, 16), np.float16)
        a[row, k] = 1
        outcome = ran(case, once(case), a, b, np.zeros((64, 16), np.float32))
        assert np.array_equal(outcome.arrays["c"], sum_registers(a.astype(np.float32) @ b.astype(np.float32).T))


# What goes wrong ------------------------------------------------------------------------------------------------------

ONE = Case(n=8)
FORM = "<m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>]"
SUMS = ONE.form.sums


def by_descriptors(name: str, sums: str) -> str:
    """A product that reads A from shared memory, into `sums`."""
    return f"{name} = nvvm.wgmma.mma_async %d0, %d0, {sums}, {FORM} : {SUMS} -> {SUMS}"


def scaled(name: str, of: str) -> str:
    old, new = f"{name}_old", f"{name}_new"
    return (
        f"{old} = llvm.extractvalue {of}[0] : {SUMS}\n {new} = arith.mulf {old}, %v1 : f32\n"
        f"{name} = llvm.insertvalue {new}, {of}[0] : {SUMS}"
    )


def commit() -> str:
    return DONE.splitlines()[0]


SAFE, RACE, FENCE = "safe for every trip count", "unsafe: race", "unsafe: missing-fence"
BODIES = {
    "one": ((started(ONE, "%r", "%s"), DONE), SAFE),
    "looked at before the wait": ((started(ONE, "%r", "%s"), commit()), RACE),
    "a group of its own": ((started(ONE, "%r", "%s"), DONE.replace("aligned 0", "aligned 1")), RACE),
    "never committed": ((started(ONE, "%r", "%s"), DONE.splitlines()[1]), RACE),
    "added to one that is under way": ((started(ONE, "%d", "%s"), started(ONE, "%r", "%d"), DONE), RACE),
    "added to one that is done": ((started(ONE, "%d", "%s"), DONE, started(ONE, "%r", "%d"), DONE), SAFE),
    "written in between": ((started(ONE, "%d", "%s"), DONE, scaled("%e", "%d"), started(ONE, "%r", "%e"), DONE), SAFE),
    "an accumulator under way": (
        ("nvvm.wgmma.fence.aligned", by_descriptors("%d", "%s"), started(ONE, "%r", "%d"), DONE),
        RACE,
    ),
    "descriptors add to it at once": ((started(ONE, "%d", "%s"), by_descriptors("%r", "%d"), DONE), SAFE),
    "descriptors add to what was touched": (
        (started(ONE, "%d", "%s"), DONE, scaled("%e", "%d"), by_descriptors("%r", "%e"), DONE),
        FENCE,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_verdicts(name: str) -> None:
    """What the instructions of the form read in registers has to be there; what they give comes with the wait."""
    body, verdict = BODIES[name]
    found = check(parse(program(ONE, *body))).verdict_line
    assert found.split("; ")[0] == verdict


def test_b_is_read_until_the_wait() -> None:
    """By the asynchronous proxy: whoever fills the slot again has to wait for the group, and a thread has to fence."""
    refill = "llvm.store %v0, %pb : f32, !llvm.ptr<3>"
    early = program(ONE, started(ONE, "%r", "%s"), commit(), f"scf.if %first {{\n{refill}\n}}", DONE.splitlines()[1])
    assert "race" in check(parse(early)).verdict_line


@pytest.mark.parametrize(
    ("old", "new"),
    [("wgmma.fence.sync.aligned; ", ""), ("p, 1, 1, 0;", "p, 1, -1, 0;"), ("mov.b32 $0, $4; ", "")],
)
def test_other_text_is_refused(old: str, new: str) -> None:
    """Both by a run and by a check; nobody may assume that it only computes."""
    text = once(ONE)
    assert old in text
    module = parse(text.replace(old, new, 1))
    with pytest.raises(UnsupportedError, match=r"'nvvm\.inline_ptx' op runs PTX that has no meaning here"):
        check(module)
    zeros = np.zeros((64, 16), np.float16)
    with pytest.raises(UnsupportedError, match=r"nvvm\.inline_ptx"):
        ran(ONE, text.replace(old, new, 1), zeros, zeros[:8], np.zeros((64, 8), np.float32))


def test_fewer_threads_than_a_warpgroup() -> None:
    text = once(ONE).replace("array<i32: 128>", "array<i32: 64>")
    with pytest.raises(UnsupportedError, match="takes a warpgroup of 128 threads, and the block has 64"):
        check(parse(text))
