"""`convert-rocdl-marks-to-counters`: the programs of LLVM's document, random ones, and assembly for three targets."""

from __future__ import annotations

import random
import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.corpora import corpus, each, sample
from tests.support.counting_programs import random_program, waits_in
from tests.support.ir import parse, print_generic, run_passes
from tests.support.lowering import amd_assembly_of
from tests.support.meaning import assert_same_meaning
from tests.support.mlir import mlir_opt
from tests.transforms.test_convert_queue_to_rocdl import MOST_PATHS, arguments, some_bits
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.rocdl.transfers import GlobalLoadAsyncLdsOp, GlobalLoadLdsOp, LoadAsyncToLdsOp, LoadToLdsOp
from tileas_xdsl.dialects.rocdl.waits import SWaitcntOp, WaitAsynccntOp, WaitLoadcntOp, WaitTensorcntOp
from tileas_xdsl.targets.amdgpu import waitcnt_field

COUNTED = sample(range(300, 360), 25)
PASS = "convert-rocdl-marks-to-counters"
TARGETS = ("gfx942", "gfx950", "gfx1250")

GFX9 = "  rocdl.global.load.async.lds %g, %l, 4, {0}, 0 : !llvm.ptr<1>, !llvm.ptr<3>\n"
GFX1250 = "  rocdl.global.load.async.to.lds.b32 %g, %l, {0}, 0 : !llvm.ptr<1>, !llvm.ptr<3>\n"
MARK = "  rocdl.asyncmark\n"


def load(cell: int, target: str = "gfx950") -> str:
    return (GFX1250 if target == "gfx1250" else GFX9).format(4 * cell)


def use(cell: int) -> str:
    """A read of a cell of LDS."""
    return f"""  %p{cell} = llvm.getelementptr %l[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  %v{cell} = llvm.load %p{cell} : !llvm.ptr<3> -> f32
"""


def wait(count: int) -> str:
    return f"  rocdl.wait.asyncmark {count}\n"


def function(body: str, name: str = "foo", arguments: str = "") -> str:
    return f"func.func @{name}(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>{arguments}) {{\n{body}  func.return\n}}\n"


def converted(text: str, target: str = "gfx950") -> ModuleOp:
    return run_passes(parse(text), f"{PASS}{{target={target}}}")


ASYNC_TWINS: dict[type[Operation], type[Operation]] = {
    LoadToLdsOp: LoadAsyncToLdsOp,
    GlobalLoadLdsOp: GlobalLoadAsyncLdsOp,
}


def without_waits_of_the_compiler(module: ModuleOp) -> ModuleOp:
    """The module with transfers for which only its counters wait; before the others the compiler waits, too."""
    for op in [op for op in module.walk() if type(op) in ASYNC_TWINS]:
        twin = ASYNC_TWINS[type(op)].create(operands=op.operands, properties=op.properties)
        Rewriter.replace_op(op, twin)
    return module


def vmcnt(op: SWaitcntOp) -> int:
    field = op.bitfield.value.data
    assert field & ~(15 | 3 << 14) == 7 << 4 | 15 << 8
    return field & 15 | field >> 14 << 4


def counts_in(module: ModuleOp) -> list[tuple[str, int]]:
    """The counters that are waited for, and the numbers, in program order."""
    found: list[tuple[str, int]] = []
    for op in module.walk():
        match op:
            case SWaitcntOp():
                found.append(("vmcnt", vmcnt(op)))
            case WaitAsynccntOp():
                found.append(("asynccnt", op.count.value.data))
            case WaitTensorcntOp():
                found.append(("tensorcnt", op.count.value.data))
            case _:
                pass
    return found


def vmcnts(text: str) -> list[int]:
    return [count for _, count in counts_in(converted(text))]


# The programs of LLVM's "AMDGPU Asynchronous Operations" --------------------------------------------------------------


def uneven(target: str) -> str:
    blocks = (range(3), range(3, 8), range(8, 10))
    return "".join("".join(load(cell, target) for cell in block) + MARK for block in blocks)


@pytest.mark.parametrize("target", TARGETS)
def test_uneven_blocks_give_seven(target: str) -> None:
    text = function(uneven(target) + wait(2) + use(0) + use(2) + wait(0))
    module = converted(text, target)
    counter = "asynccnt" if target == "gfx1250" else "vmcnt"
    assert counts_in(module) == [(counter, 7), (counter, 0)]
    assert check(module).kinds == []


def test_eight_would_be_a_race() -> None:
    module = without_waits_of_the_compiler(converted(function(uneven("gfx950") + wait(2) + use(0) + use(2) + wait(0))))
    first = next(op for op in module.walk() if isinstance(op, SWaitcntOp))
    first.properties["bitfield"] = SWaitcntOp(waitcnt_field(8)).bitfield
    assert check(module).kinds == ["race"]


PIPELINE = """
func.func @foo(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  scf.for %i = %c0 to %c3 step %c1 : i32 {
    %two = arith.addi %i, %i : i32
    %to = llvm.getelementptr %l[%two] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    rocdl.global.load.async.lds %g, %to, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.global.load.async.lds %g, %to, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
  }
  scf.for %i = %c0 to %n step %c1 : i32 {
    rocdl.wait.asyncmark 2
    %two = arith.addi %i, %i : i32
    %use = llvm.getelementptr %l[%two] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %use : !llvm.ptr<3> -> f32
    %j = arith.addi %i, %c3 : i32
    %next = arith.addi %j, %j : i32
    %to = llvm.getelementptr %l[%next] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    rocdl.global.load.async.lds %g, %to, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.global.load.async.lds %g, %to, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
  }
  rocdl.wait.asyncmark 2
  rocdl.wait.asyncmark 1
  rocdl.wait.asyncmark 0
  func.return
}
"""


def test_a_software_pipeline_counts_what_its_blocks_hold() -> None:
    module = converted(PIPELINE)
    assert counts_in(module) == [("vmcnt", 4), ("vmcnt", 4), ("vmcnt", 2), ("vmcnt", 0)]
    assert check(module).verdict_line == check(parse(PIPELINE)).verdict_line == "safe for every trip count"


def test_a_call_issues_nothing_that_may_be_counted() -> None:
    """The third program: the callee may or may not make transfers; the caller counts its own."""
    bar = "func.func private @bar()\n"
    call = "  func.call @bar() : () -> ()\n"
    text = bar + function(load(0) + MARK + load(1) + MARK + call + load(2) + MARK + wait(1) + use(1) + wait(0) + use(2))
    assert vmcnts(text) == [1, 0]


CALLEE = function(load(5) + MARK, "callee")
CALL = "  func.call @callee(%g, %l) : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()\n"


def test_marks_of_a_callee_are_its_own() -> None:
    """The fourth program before inlining: the wait is for B, and C is the caller's only newer operation."""
    text = CALLEE + function(load(0) + MARK + load(1) + MARK + CALL + wait(1) + use(0) + wait(0))
    module = converted(text)
    assert counts_in(module) == [("vmcnt", 1), ("vmcnt", 0)]
    assert check(module, "foo").kinds == []


# Paths ----------------------------------------------------------------------------------------------------------------


def branch(then: str, otherwise: str = "") -> str:
    return f"  scf.if %c {{\n{then}  }} else {{\n{otherwise}  }}\n"


def test_what_only_one_path_issues_is_not_counted() -> None:
    open_path = load(0) + MARK + branch(load(1) + load(2), load(3)) + wait(0) + use(0)
    module = converted(function(open_path + MARK + wait(0), arguments=", %c: i1"))
    assert counts_in(module) == [("vmcnt", 1), ("vmcnt", 0)]
    for condition in (0, 1):
        assert check(module, args={"c": condition}).kinds == []


def test_paths_with_fewer_marks_do_not_matter() -> None:
    text = function(branch(load(0) + MARK + load(1) + load(2)) + wait(0) + MARK + wait(0), arguments=", %c: i1")
    assert vmcnts(text) == [2, 0]


def test_a_wait_that_cannot_block_goes() -> None:
    assert vmcnts(function(load(0) + MARK + wait(1) + wait(0))) == [0]
    assert vmcnts(function(load(0) + wait(0))) == []


def test_counts_end_at_what_the_counter_holds() -> None:
    many = "".join(load(cell) for cell in range(70))
    assert vmcnts(function(load(70) + MARK + many + MARK + wait(1) + wait(0))) == [63, 0]


def test_both_counters_of_gfx1250() -> None:
    tensor = "  rocdl.tensor.load.to.lds.d2 %d0, %d1 cachepolicy 0 : vector<4xi32>, vector<8xi32>\n"
    text = function(
        load(0, "gfx1250") + tensor + MARK + load(1, "gfx1250") + load(2, "gfx1250") + tensor + MARK + wait(1),
        arguments=", %d0: vector<4xi32>, %d1: vector<8xi32>",
    )
    assert counts_in(converted(text, "gfx1250")) == [("asynccnt", 2), ("tensorcnt", 1)]


def test_a_counter_that_only_others_use_is_waited_for_too() -> None:
    """A mark covers what callees issued: their operations may be counted by another counter."""
    tensor = "  rocdl.tensor.load.to.lds.d2 %d0, %d1 cachepolicy 0 : vector<4xi32>, vector<8xi32>\n"
    callee = f"func.func @callee(%d0: vector<4xi32>, %d1: vector<8xi32>) {{\n{tensor}  func.return\n}}\n"
    call = "  func.call @callee(%d0, %d1) : (vector<4xi32>, vector<8xi32>) -> ()\n"
    text = callee + function(
        load(0, "gfx1250") + call + MARK + wait(0), arguments=", %d0: vector<4xi32>, %d1: vector<8xi32>"
    )
    assert counts_in(converted(text, "gfx1250")) == [("asynccnt", 0), ("tensorcnt", 0)]
    external = "func.func private @bar()\n" + function(MARK + "  func.call @bar() : () -> ()\n" + MARK + wait(0))
    assert counts_in(converted(external, "gfx1250")) == [("asynccnt", 0), ("tensorcnt", 0)]


# Transfers ------------------------------------------------------------------------------------------------------------

ARGUMENTS = ", %r: !llvm.ptr<8>, %v: vector<4xi32>, %o: i32"
TRANSFERS = [
    ("rocdl.load.async.to.lds %g, %l, 4, 8, 0 : !llvm.ptr<1>, !llvm.ptr<3>", "rocdl.load.to.lds %g, %l, 4, 8, 0 : <1>"),
    (load(2).strip(), "rocdl.global.load.lds %g, %l, 4, 8, 0"),
    (
        "rocdl.raw.ptr.buffer.load.async.lds %r, %l, %o, %o, %o, %o, %o",
        "rocdl.raw.ptr.buffer.load.lds %r, %l, %o, %o, %o, %o, %o",
    ),
    (
        'llvm.call_intrinsic "llvm.amdgcn.raw.buffer.load.async.lds"(%v, %l, %o, %o, %o, %o, %o) : '
        "(vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()",
        'llvm.call_intrinsic "llvm.amdgcn.raw.buffer.load.lds"(%v, %l, %o, %o, %o, %o, %o) : '
        "(vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()",
    ),
    (
        'llvm.call_intrinsic "llvm.amdgcn.load.async.to.lds.p1"(%g, %l, %o, %o, %o) : '
        "(!llvm.ptr<1>, !llvm.ptr<3>, i32, i32, i32) -> ()",
        'llvm.call_intrinsic "llvm.amdgcn.load.to.lds.p1"(%g, %l, %o, %o, %o) : '
        "(!llvm.ptr<1>, !llvm.ptr<3>, i32, i32, i32) -> ()",
    ),
]


@pytest.mark.parametrize(("before", "after"), TRANSFERS)
def test_transfers_become_their_twins(before: str, after: str) -> None:
    module = converted(function(f"  {before}\n{MARK}{wait(0)}", arguments=ARGUMENTS))
    expected = parse(function(f"  {after}\n  rocdl.s.waitcnt {waitcnt_field(0)}\n", arguments=ARGUMENTS))
    assert module.is_structurally_equivalent(expected)


def test_twins_move_the_same_bytes() -> None:
    body = "  %four = arith.constant 4 : i32\n  %zero = arith.constant 0 : i32\n"
    body += "  rocdl.raw.ptr.buffer.load.async.lds %r, %l, %four, %four, %four, %zero, %zero\n"
    body += load(3) + MARK + wait(0) + use(0) + use(3)
    body += "  llvm.store %v0, %g : f32, !llvm.ptr<1>\n  llvm.store %v3, %r : f32, !llvm.ptr<8>\n"
    text = function(body, arguments=", %r: !llvm.ptr<8>")
    assert_same_meaning(parse(text), converted(text), "foo", [{}])


def test_the_bit_field_of_s_waitcnt() -> None:
    assert [waitcnt_field(n) for n in (0, 1, 15, 16, 63)] == [3952, 3953, 3967, 3952 + (1 << 14), 3967 + (3 << 14)]


# Random programs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@each("seed", range(200, 216), 4)
def test_random_programs_keep_their_numbers_and_their_safety(seed: int, target: str) -> None:
    program = random_program(seed, chance=True)
    before = parse(program.text())
    with recorded_diagnostics():
        after = run_passes(
            parse(program.text()), f"convert-queue-to-rocdl{{target={target}}},{PASS}{{target={target}}}"
        )
    assert not any(op.name in ("rocdl.asyncmark", "rocdl.wait.asyncmark") for op in after.walk())
    sets = [arguments(bits) for bits in some_bits(program, seed)]
    assert_same_meaning(before, after, "f", sets, orders=("lazy", "random:1"))


@corpus(len(COUNTED))
def test_counts_are_the_least_on_any_path_and_one_more_is_a_race() -> None:
    """Per wait: transfers issued since the mark that it is for, by a walk of all paths."""
    compared = raced = 0
    for seed in COUNTED:
        program = random_program(seed, chance=True, queues=1)
        paths = list(program.paths(MOST_PATHS + 1))
        if len(paths) > MOST_PATHS:
            continue
        for site in waits_in(program.statements):
            known = [
                (since, path.bits)
                for path in paths
                for visit in path.visits
                if visit.site == site.site and (since := visit.copies_since(site.count)) is not None
            ]
            if not known:
                continue
            module = parse(program.text(only=site.site))
            run_passes(module, "convert-queue-to-rocdl{barriers=false}")
            run_passes(module, PASS)
            least = min(since for since, _ in known)
            first_counter = next((op for op in module.walk() if isinstance(op, SWaitcntOp)), None)
            if first_counter is None:
                assert not any(".lds" in op.name for op in module.walk())
                continue
            assert vmcnt(first_counter) == least, f"seed {seed}, site {site.site}"
            compared += 1
            raced += races_with_one_more(module, first_counter, [bits for since, bits in known if since == least])
    assert compared > 20
    assert raced > 10


def races_with_one_more(module: ModuleOp, op: SWaitcntOp, attaining: list[int]) -> bool:
    """
    Whether one operation more in flight is a race on a path that attains the count. Where the group that is waited for
    has no copies of its own, nothing reads what the wait protects, and it is not.
    """
    without_waits_of_the_compiler(module)
    count = vmcnt(op)
    bits = random.Random(count).choice(attaining)
    assert check(module, "f", args={"bits": bits}).kinds == []
    # The counter of gfx12 does not count the stores of these programs, which would make up for one transfer more.
    Rewriter.replace_op(op, WaitLoadcntOp(count + 1))
    return check(module, "f", args={"bits": bits}).kinds == ["race"]


# Refusals -------------------------------------------------------------------------------------------------------------

REFUSED = [
    (load(0), "gfx1250", "'rocdl.global.load.async.lds' op is no transfer of gfx1250"),
    (load(0, "gfx1250"), "gfx942", "'rocdl.global.load.async.to.lds.b32' op is no transfer of gfx942"),
    (
        "  rocdl.global.load.async.lds %g, %l, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>\n",
        "gfx942",
        "op moves 16 bytes for each lane, and gfx942 moves 1, 2, 4",
    ),
    (
        "  %t = async.execute {\n    rocdl.asyncmark\n    async.yield\n  }\n",
        "gfx950",
        "'rocdl.asyncmark' op stands in an 'async.execute', which another thread runs",
    ),
]


@pytest.mark.parametrize(("body", "target", "reason"), REFUSED)
def test_refusals_leave_the_module_as_it_was(body: str, target: str, reason: str) -> None:
    module = parse(function(body + MARK + wait(0)))
    before = print_generic(module)
    with pytest.raises(RefusedError, match=re.escape(reason)):
        run_passes(module, f"{PASS}{{target={target}}}")
    assert print_generic(module) == before


# Assembly -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_mlir_knows_all_that_is_left(target: str) -> None:
    module = converted(function(uneven(target) + wait(2) + wait(0)), target)
    assert '"rocdl.' not in mlir_opt(print_generic(module), "--allow-unregistered-dialect")


@pytest.mark.parametrize("target", TARGETS)
def test_uneven_blocks_become_assembly_with_their_counts(target: str) -> None:
    body = uneven(target) + wait(2) + "  rocdl.s.barrier\n" + wait(0)
    assembly = amd_assembly_of(converted(function(body), target), target)
    if target == "gfx1250":
        assert re.findall(r"s_wait_asynccnt (\w+)", assembly) == ["0x7", "0x0"]
        assert assembly.count("global_load_async_to_lds_b32") == 10
    else:
        after_transfers = assembly.rpartition("global_load_lds_dword")[2]
        assert re.findall(r"s_waitcnt vmcnt\((\d+)\)", after_transfers)[0] == "7"
        assert len(re.findall(r"global_load_lds_dword\b", assembly)) == 10


RING = """
func.func @ring(%src: memref<64x4xf32>, %out: memref<64x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c63 = arith.constant 63 : index
  %lds = memref.alloc() : memref<2x4xf32, 3>
  async_queue.commit 0 {
    async_queue.scope {
      scf.for %j = %c0 to %c4 step %c1 {
        %x = memref.load %src[%c0, %j] : memref<64x4xf32>
        memref.store %x, %lds[%c0, %j] : memref<2x4xf32, 3>
      }
    }
  }
  scf.for %i = %c0 to %c63 step %c1 {
    %slot = arith.remui %i, %c2 : index
    %next = arith.addi %i, %c1 : index
    %next_slot = arith.remui %next, %c2 : index
    async_queue.commit 0 {
      async_queue.scope {
        scf.for %j = %c0 to %c4 step %c1 {
          %x = memref.load %src[%next, %j] : memref<64x4xf32>
          memref.store %x, %lds[%next_slot, %j] : memref<2x4xf32, 3>
        }
      }
    }
    async_queue.wait 0, 1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %x = memref.load %lds[%slot, %j] : memref<2x4xf32, 3>
        memref.store %x, %out[%i, %j] : memref<64x4xf32>
      }
    }
  }
  async_queue.wait 0, 0
  func.return
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_ring_of_queues_becomes_assembly(target: str) -> None:
    """From counts of groups by way of marks to counts of transfers: a row of four is on its way while one is used."""
    before, module = parse(RING), parse(RING)
    run_passes(module, f"convert-queue-to-rocdl{{target={target}}},{PASS}{{target={target}}}")
    assert [count for _, count in counts_in(module)] == [4, 0]
    assert_same_meaning(before, module, "ring", [{}], orders=("lazy", "random:1"))
    assembly = amd_assembly_of(module, target)
    if target == "gfx1250":
        assert "s_wait_asynccnt 0x4" in assembly
    else:
        assert "global_load_lds_dword" in assembly
        assert "s_waitcnt vmcnt(" in assembly
