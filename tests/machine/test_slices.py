"""
What a check leaves out of code for single threads, and of kernels of Triton's, makes no difference to its verdict.

Each program is checked twice: with all ops, and with what addresses, waits and branches need. The programs are those
that a slice could get wrong, threads of random tile programs, kernels of Triton's, and these with one synchronising op
dropped.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.corpora import each
from tests.support.ir import parse
from tests.support.mutated_threads import mutated, mutations
from tests.support.thread_kernels import threads_of
from tests.support.threads_and_tiles import lowered
from tests.threads.random_programs import Program
from tileas_xdsl.analysis.threads.needed import slice_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import RefusedError, op_name
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.orders import Order
from tileas_xdsl.machine.core.threads.slices import ROLES
from tileas_xdsl.machine.core.violations import DivisionByZeroError, UnsupportedError
from tileas_xdsl.tools.inputs import full_context, parse_module


def kernel(*lines: str, threads: int = 64) -> str:
    body = "\n".join(lines)
    return f"""
    llvm.mlir.global external @s() {{addr_space = 3 : i32}} : !llvm.array<4096 x i8>
    func.func @k(%x: !llvm.ptr<1>, %n: index) attributes {{nvvm.reqntid = array<i32: {threads}>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %i1 = arith.constant 1 : i32
      %f = arith.constant 1.0 : f32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %s = llvm.mlir.addressof @s : !llvm.ptr<3>
      %p = llvm.getelementptr %s[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      {body}
      func.return
    }}"""


HALF = "%h = arith.shrui %tid, %i1 : i32\n%q = llvm.getelementptr %s[%h] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32"
OF_THREAD = "%v = arith.uitofp %tid : i32 to f32\n%w = arith.addf %v, %f : f32"
OF_NOBODY = "%v = arith.addf %f, %f : f32"
CARRIED = """%r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %f) -> (f32) {
  %l = llvm.load %p : !llvm.ptr<3> -> f32
  %b = arith.addf %a, %l : f32
  scf.yield %b : f32
}"""
EXCHANGE = "%all = arith.constant -1 : i32\n%last = arith.constant 31 : i32"
NEIGHBOUR = f"{EXCHANGE}\n%e = nvvm.shfl.sync bfly %all, %w, %i1, %last : f32 -> f32"
FROM_NEIGHBOUR = (
    f"{EXCHANGE}\n%h = nvvm.shfl.sync bfly %all, %tid, %i1, %last : i32 -> i32\n"
    "%q = llvm.getelementptr %s[%h] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32"
)
FROM_FIRST = FROM_NEIGHBOUR.replace("bfly %all, %tid, %i1", "idx %all, %tid, %none").replace(
    EXCHANGE, f"{EXCHANGE}\n%none = arith.constant 0 : i32"
)
READ_BACK = """%o = arith.addi %i1, %i1 : i32
llvm.store %o, %s : i32, !llvm.ptr<3>
nvvm.barrier0
%d = llvm.load %s : !llvm.ptr<3> -> i32
%is = arith.cmpi eq, %d, %i1 : i32
scf.if %is { llvm.store %f, %s : f32, !llvm.ptr<3> }"""
READ_BACK_IN_A_BRANCH = READ_BACK.replace(
    "%d = llvm.load %s : !llvm.ptr<3> -> i32",
    """%some = arith.cmpi slt, %c0, %n : index
%d = scf.if %some -> (i32) {
  %in = llvm.load %s : !llvm.ptr<3> -> i32
  scf.yield %in : i32
} else {
  scf.yield %i1 : i32
}""",
)
CASES = {
    "each its own": (f"{OF_THREAD}\nllvm.store %w, %p : f32, !llvm.ptr<3>", "safe"),
    "two to one place": (f"{HALF}\n{OF_THREAD}\nllvm.store %w, %q : f32, !llvm.ptr<3>", "race"),
    "two to one place, one value": (f"{HALF}\n{OF_NOBODY}\nllvm.store %v, %q : f32, !llvm.ptr<3>", "safe"),
    "all to one place": (f"{OF_THREAD}\nllvm.store %w, %s : f32, !llvm.ptr<3>", "race"),
    "all to one place, one value": (f"{OF_NOBODY}\nllvm.store %v, %s : f32, !llvm.ptr<3>", "safe"),
    "carried": (f"{CARRIED}\nllvm.store %r, %p : f32, !llvm.ptr<3>", "safe"),
    "carried, to one place": (f"{CARRIED}\nllvm.store %r, %s : f32, !llvm.ptr<3>", "race"),
    "exchanged": (f"{OF_THREAD}\n{NEIGHBOUR}\nllvm.store %e, %p : f32, !llvm.ptr<3>", "safe"),
    "exchanged, to one place": (f"{OF_THREAD}\n{NEIGHBOUR}\nllvm.store %e, %s : f32, !llvm.ptr<3>", "race"),
    "to an exchanged place": (f"{FROM_NEIGHBOUR}\n{OF_THREAD}\nllvm.store %w, %q : f32, !llvm.ptr<3>", "safe"),
    "all to the place of the first": (f"{FROM_FIRST}\n{OF_THREAD}\nllvm.store %w, %q : f32, !llvm.ptr<3>", "race"),
    "read back": (READ_BACK, "safe"),
    "read back in a branch": (READ_BACK_IN_A_BRANCH, "safe"),
}


def checked(module: ModuleOp, monkeypatch: pytest.MonkeyPatch, *, slices: bool) -> Report:
    made = Subject.machine

    def with_all_ops(subject: Subject, order: Order) -> Machine:
        return made(replace(subject, slices=False), order)

    with monkeypatch.context() as patch:
        if not slices:
            patch.setattr(Subject, "machine", with_all_ops)
        return check(module, judge_waits=False, trip_counts=(0, 1, 2), steps=300_000)


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_makes_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, expected = CASES[name]
    module = parse(kernel(body))
    whole, sliced = (checked(module, monkeypatch, slices=slices) for slices in (False, True))
    assert (sliced.verdict_line, sliced.kinds) == (whole.verdict_line, whole.kinds)
    assert expected in (*sliced.kinds, sliced.verdict.value)


@pytest.mark.parametrize("slices", [False, True])
def test_what_may_fail_is_not_left_out(slices: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse(kernel("%z = arith.subi %i1, %i1 : i32\n%d = arith.divui %i1, %z : i32"))
    with pytest.raises(DivisionByZeroError):
        checked(module, monkeypatch, slices=slices)


def left_out_of(module: ModuleOp) -> frozenset[Operation]:
    return slice_of(functions_in(module)[0].regions[0], ROLES).left_out


def test_data_are_left_out_and_addresses_are_not() -> None:
    module = parse(kernel(HALF, OF_THREAD, "llvm.store %w, %q : f32, !llvm.ptr<3>"))
    left_out = {op_name(op) for op in left_out_of(module)}
    assert left_out == {"arith.uitofp", "arith.addf", "arith.constant"}


def test_stores_of_numbers_that_are_read_keep_their_data() -> None:
    module = parse(kernel(READ_BACK))
    assert not any(isinstance(op, arith.AddiOp) for op in left_out_of(module))


def test_what_lanes_exchange_is_left_out_unless_it_gives_an_address() -> None:
    data = parse(kernel(CASES["exchanged"][0]))
    assert any(isinstance(op, arith.AddfOp) for op in left_out_of(data))
    places = parse(kernel(FROM_NEIGHBOUR.replace("%tid,", "%t,").replace(EXCHANGE, f"{EXCHANGE}\n{SHIFTED}"), STORED))
    assert not any(isinstance(op, arith.AddiOp) for op in left_out_of(places))


SHIFTED, STORED = "%t = arith.addi %tid, %i1 : i32", "llvm.store %f, %q : f32, !llvm.ptr<3>"


def test_a_number_that_a_loop_carries_is_not_read_from_memory() -> None:
    """The phase of a barrier has as many bits as the sums that the kernel stores, and does not keep them."""
    phase = CARRIED.replace("iter_args(%a = %f) -> (f32)", "iter_args(%a = %f, %o = %i1) -> (f32, i32)").replace(
        "scf.yield %b : f32", "%t = arith.addi %o, %i1 : i32\nscf.yield %b, %t : f32, i32"
    )
    place = "%q = llvm.getelementptr %s[%r#1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32"
    module = parse(kernel(phase.replace("%r = ", "%r:2 = "), place, "llvm.store %r#0, %q : f32, !llvm.ptr<3>"))
    left_out = left_out_of(module)
    assert {op_name(op) for op in left_out} == {"arith.addf", "arith.constant"}


def test_one_look_at_late_registers_is_kept_between_two_waits() -> None:
    module = threads_of("gemm_64x64x16", "unspecialize", "sm_90a")
    left_out = left_out_of(module)
    looks = [op for op in module.walk() if isinstance(op, llvm.ExtractValueOp)]
    kept = [op for op in looks if op not in left_out]
    assert 0 < len(kept) < len(looks)


VARIANTS = list(
    product(
        ("elementwise", "gemm_64x64x16", "reduction", "attention_64"),
        ("sm_80", "sm_90a"),
        ("unspecialize", "warp-specialize"),
    )
)
PARTS = 48
"""Each takes one of so many changes of its threads."""


@each("case", list(product(VARIANTS, range(PARTS))), 2, ids=str)
def test_threads_and_their_mutants(case: tuple[tuple[str, str, str], int], monkeypatch: pytest.MonkeyPatch) -> None:
    (name, target, strategy), part = case
    module = threads_of(name, strategy, target)
    changed = [mutated(module, mutation) for mutation in mutations(module)[part::PARTS]]
    for each_of_them in [module, *changed][part != 0 :]:
        whole, sliced = (checked(each_of_them, monkeypatch, slices=slices) for slices in (False, True))
        assert (sliced.verdict_line, sliced.kinds) == (whole.verdict_line, whole.kinds)


@each("seed", range(300), 2)
def test_threads_of_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(seed)
    try:
        module = lowered(program.text, "sm_90a unspecialize", program.warps)
    except RefusedError:
        return
    whole, sliced = (checked(module, monkeypatch, slices=slices) for slices in (False, True))
    assert (sliced.verdict_line, sliced.kinds) == (whole.verdict_line, whole.kinds)


OF_TRITON = sorted((Path(__file__).parents[1] / "triton" / "ttgir").glob("*.ttgir"))


def of_triton(path: Path) -> ModuleOp:
    return parse_module(path.read_text(), path.name, full_context())


@each("path", OF_TRITON, 12, ids=str)
def test_kernels_of_triton_and_their_mutants(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, sliced = (checked(of_triton(path), monkeypatch, slices=slices) for slices in (False, True))
    assert (sliced.verdict_line, sliced.kinds) == (whole.verdict_line, whole.kinds)


@each("path", [path for path in OF_TRITON if path.stem.startswith("wgmma_ring")], 4, ids=str)
def test_looks_at_registers_of_products_of_triton(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, sliced = (checked(of_triton(path), monkeypatch, slices=slices) for slices in (False, True))
    assert (sliced.verdict_line, sliced.kinds) == (whole.verdict_line, whole.kinds)
    assert sliced.steps < whole.steps


SLOTS = "!ttg.memdesc<2x128xf16, #shared, #smem, mutable>"
SLOT = f"""
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32}} {{
  tt.func public @kernel() {{
    %c5 = arith.constant 5 : i32
    %b = ttg.local_alloc : () -> {SLOTS}
    %v = ttg.memdesc_index %b[%c5] : {SLOTS} -> {SLOTS.replace("2x", "", 1)}
    tt.return
  }}
}}"""


@pytest.mark.parametrize("slices", [False, True])
def test_slots_that_are_not_there_are_not_left_out(slices: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedError, match="takes slot 5 of the 2"):
        checked(parse_module(SLOT, "kernel.ttgir", full_context()), monkeypatch, slices=slices)
