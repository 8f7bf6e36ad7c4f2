"""
The dialect `rocdl` against mlir-opt 22, and the recognition of asynchronous LDS transfers.

What came after LLVM 22 (`tests/support/exemptions.py`) is compared with the text that LLVM 23 prints, and
passes through mlir-opt 22 as an unknown op: in generic form, unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import VectorType, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.exemptions import MLIR_EXEMPT
from tests.support.ir import assert_round_trips, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt, mlir_opt_rejects
from tests.support.upstream import OpTable, op_text
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.rocdl import ROCDL, LdsTransfer, async_lds_transfer, barriers, transfers, waits
from tileas_xdsl.dialects.upstream import address_space, pointer_type

ARGUMENTS = (
    "%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %p: !llvm.ptr, %r: !llvm.ptr<8>, %i: i32, %v: i64, "
    "%d: vector<4xi32>, %e: vector<8xi32>"
)

LINES = """
rocdl.s.setprio 2
rocdl.load.to.lds %g, %l, 16, 0, 0 : <1>
rocdl.load.to.lds %g, %l, 16, 0, 0 : !llvm.ptr<1>
rocdl.load.to.lds %p, %l, 4, 8, 1 {tag} : !llvm.ptr
rocdl.global.load.lds %g, %l, 4, 0, 0
rocdl.global.load.lds %g, %l, 4, 0, 0 {alias_scopes = [], noalias_scopes = [], tbaa = [], z}
rocdl.raw.ptr.buffer.load.lds %r, %l, %i, %i, %i, %i, %i
rocdl.global.load.async.to.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.global.load.async.to.lds.b32 %g, %l, 4, 1 : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.global.load.async.to.lds.b64 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.global.load.async.to.lds.b128 %g, %l, 0, 0 {tag} : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.cluster.load.async.to.lds.b8 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.cluster.load.async.to.lds.b32 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.cluster.load.async.to.lds.b64 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.cluster.load.async.to.lds.b128 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>
rocdl.tensor.load.to.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
rocdl.tensor.load.to.lds {tag} %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>
rocdl.tensor.store.from.lds %d, %e, %d, %d cachepolicy 3 : vector<4xi32>, vector<8xi32>
rocdl.tensor.load.to.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
rocdl.tensor.store.from.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>
rocdl.s.waitcnt 3953
rocdl.s.waitcnt {tag} 3953
rocdl.s.wait.dscnt 0
rocdl.s.wait.loadcnt 0
rocdl.s.wait.storecnt 0
rocdl.s.wait.expcnt 0
rocdl.s.wait.asynccnt 1 {tag}
rocdl.s.wait.tensorcnt 0
rocdl.s.barrier
rocdl.barrier
rocdl.barrier {tag}
rocdl.s.barrier.init %l member_cnt = 4 : !llvm.ptr<3>
rocdl.s.barrier.signal id = -1
rocdl.s.barrier.signal.var %l member_cnt = 1 : !llvm.ptr<3>
rocdl.s.barrier.join %l : !llvm.ptr<3>
rocdl.s.barrier.leave id = 1
rocdl.s.barrier.wait id = -1
%0 = rocdl.s.barrier.signal.isfirst id = 1 -> i1
%0 = rocdl.s.get.barrier.state id = 1 -> i32
%0 = rocdl.s.get.named.barrier.state %l : !llvm.ptr<3> -> i32
rocdl.s.wakeup.barrier %l : !llvm.ptr<3>
%0 = rocdl.ds.atomic.barrier.arrive.rtn.b64 %l, %v : !llvm.ptr<3>, i64 -> i64
rocdl.ds.atomic.async.barrier.arrive.b64 %l : !llvm.ptr<3>
rocdl.sched.barrier 0
rocdl.sched.group.barrier 8, 1, 0
"""

NEWER_LINES = {
    "rocdl.asyncmark": '"rocdl.asyncmark"() : () -> ()',
    "rocdl.wait.asyncmark 2": '"rocdl.wait.asyncmark"() <{count = 2 : i16}> : () -> ()',
    "rocdl.load.async.to.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.load.async.to.lds"(%g, %l) <{aux = 0 : i32, offset = 0 : i32, size = 4 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.load.async.to.lds %p, %l, 16, 0, 0 : !llvm.ptr, !llvm.ptr<3>": (
        '"rocdl.load.async.to.lds"(%p, %l) <{aux = 0 : i32, offset = 0 : i32, size = 16 : i32}>'
        " : (!llvm.ptr, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.global.load.async.lds"(%g, %l) <{aux = 0 : i32, offset = 0 : i32, size = 4 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.raw.ptr.buffer.load.async.lds %r, %l, %i, %i, %i, %i, %i": (
        '"rocdl.raw.ptr.buffer.load.async.lds"(%r, %l, %i, %i, %i, %i, %i)'
        " : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()"
    ),
    "rocdl.global.store.async.from.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.global.store.async.from.lds.b8"(%g, %l) <{aux = 0 : i32, offset = 0 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.global.store.async.from.lds.b32 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.global.store.async.from.lds.b32"(%g, %l) <{aux = 0 : i32, offset = 4 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.global.store.async.from.lds.b64 %g, %l, 8, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.global.store.async.from.lds.b64"(%g, %l) <{aux = 0 : i32, offset = 8 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
    "rocdl.global.store.async.from.lds.b128 %g, %l, 16, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        '"rocdl.global.store.async.from.lds.b128"(%g, %l) <{aux = 0 : i32, offset = 16 : i32}>'
        " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()"
    ),
}

REGISTERS = OpTable(
    ARGUMENTS,
    """
%w = rocdl.workitem.id.x : i32
%w = rocdl.workitem.id.y : i32
%w = rocdl.workitem.id.z : i32
%w = rocdl.workgroup.id.x : i32
%w = rocdl.workgroup.id.y : i32
%w = rocdl.workgroup.id.z : i32
%w = rocdl.workgroup.dim.x : i32
%w = rocdl.workgroup.dim.y : i32
%w = rocdl.workgroup.dim.z : i32
%w = rocdl.grid.dim.x : i32
%w = rocdl.grid.dim.y : i32
%w = rocdl.grid.dim.z : i32
%w = rocdl.workitem.id.x range <i32, 0, 64> : i32
%w = rocdl.wavefrontsize : i32
""".strip().splitlines(),
)


@pytest.mark.parametrize("line", REGISTERS.lines)
def test_the_numbers_of_work_items_are_those_of_mlir(line: str) -> None:
    module = parse(REGISTERS.function(line))
    assert op_text(print_custom(module)) == op_text(REGISTERS.from_custom[line])
    assert op_text(print_generic(module)) == op_text(REGISTERS.from_custom_generic[line])


TABLE = OpTable(ARGUMENTS, LINES.strip().splitlines())


@pytest.mark.parametrize("line", TABLE.lines)
def test_prints_what_mlir_prints(line: str) -> None:
    TABLE.assert_same_text(line)


@pytest.mark.parametrize("line", [*TABLE.lines, *NEWER_LINES])
def test_custom_and_generic_form_read_back(line: str) -> None:
    assert_round_trips(TABLE.function(line))


@pytest.mark.parametrize("line", NEWER_LINES)
def test_what_llvm_22_lacks(line: str) -> None:
    """The text of LLVM 23, and the generic form, which mlir-opt 22 prints unchanged."""
    module = parse(TABLE.function(line))
    assert f"    {line}\n" in print_custom(module)
    assert f"    {NEWER_LINES[line]}\n" in print_generic(module)
    back = mlir_opt(print_generic(module))
    assert op_text(back) == op_text(TABLE.function(NEWER_LINES[line]))
    assert parse(back).is_structurally_equivalent(module)


def test_exemptions_are_those_that_mlir_lacks() -> None:
    known = {op.name for line in (*TABLE.lines, *REGISTERS.lines) for op in parse(TABLE.function(line)).walk()}
    newer = {op.name for line in NEWER_LINES for op in parse(TABLE.function(line)).walk() if "rocdl" in op.name}
    assert newer == {name for name in MLIR_EXEMPT if name.startswith("rocdl.")}
    assert {op.name for op in ROCDL.operations} == {name for name in known if name.startswith("rocdl.")} | newer


@pytest.mark.parametrize("line", [*TABLE.lines, *NEWER_LINES])
def test_nothing_is_removed_or_merged(line: str) -> None:
    twin = re.sub(r"^%[\w, %]* = ", lambda results: results[0].replace("%", "%twin"), line)
    module = run_passes(parse(TABLE.function(f"{line}\n  {twin}")), "cse,dce,canonicalize")
    assert sum(op.name.startswith("rocdl.") for op in module.walk()) == 2


# Refusals -------------------------------------------------------------------------------------------------------------

POINTER = "LLVM pointer in address space"
VECTOR = "fixed-length vector of 32-bit signless integer values of length"

REFUSALS = {
    '"rocdl.load.to.lds"(%g, %p) <{aux = 0 : i32, offset = 0 : i32, size = 1 : i32}>'
    " : (!llvm.ptr<1>, !llvm.ptr) -> ()": (
        f"'rocdl.load.to.lds' op operand #1 must be {POINTER} 3, but got '!llvm.ptr'"
    ),
    '"rocdl.load.to.lds"(%i, %l) <{size = 1 : i32, offset = 0 : i32, aux = 0 : i32}> : (i32, !llvm.ptr<3>) -> ()': (
        "'rocdl.load.to.lds' op operand #0 must be LLVM pointer type, but got 'i32'"
    ),
    "rocdl.load.to.lds %g, %l, 4, 0, 0 {alias_scopes = [1 : i32]} : <1>": (
        "'rocdl.load.to.lds' op attribute 'alias_scopes' failed to satisfy constraint: LLVM dialect alias scope array"
    ),
    "rocdl.global.load.lds %g, %l, 4, 0, 0 {tbaa = [unit]}": (
        "'rocdl.global.load.lds' op attribute 'tbaa' failed to satisfy constraint: LLVM dialect TBAA tag metadata array"
    ),
    '"rocdl.global.load.lds"(%p, %l) <{size = 1 : i32, offset = 0 : i32, aux = 0 : i32}>'
    " : (!llvm.ptr, !llvm.ptr<3>) -> ()": (
        f"'rocdl.global.load.lds' op operand #0 must be {POINTER} 1, but got '!llvm.ptr'"
    ),
    '"rocdl.global.load.lds"(%g, %l) <{size = 3 : i64, offset = 0 : i32, aux = 0 : i32}>'
    " : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()": (
        "'rocdl.global.load.lds' op attribute 'size' failed to satisfy constraint: 32-bit signless integer attribute"
    ),
    '"rocdl.raw.ptr.buffer.load.lds"(%g, %l, %i, %i, %i, %i, %i)'
    " : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()": (
        f"'rocdl.raw.ptr.buffer.load.lds' op operand #0 must be {POINTER} 8, but got '!llvm.ptr<1>'"
    ),
    "rocdl.global.load.async.to.lds.b128 %p, %l, 0, 0 : !llvm.ptr, !llvm.ptr<3>": (
        f"'rocdl.global.load.async.to.lds.b128' op operand #0 must be {POINTER} 1, but got '!llvm.ptr'"
    ),
    "rocdl.cluster.load.async.to.lds.b32 %g, %g, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<1>": (
        f"'rocdl.cluster.load.async.to.lds.b32' op operand #1 must be {POINTER} 3, but got '!llvm.ptr<1>'"
    ),
    '"rocdl.tensor.load.to.lds.d2"(%e, %e) <{cachePolicy = 0 : i32}> : (vector<8xi32>, vector<8xi32>) -> ()': (
        f"'rocdl.tensor.load.to.lds.d2' op operand #0 must be {VECTOR} 4, but got 'vector<8xi32>'"
    ),
    '"rocdl.tensor.store.from.lds"(%d, %d, %d, %d) <{cachePolicy = 0 : i32}>'
    " : (vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32>) -> ()": (
        f"'rocdl.tensor.store.from.lds' op operand #1 must be {VECTOR} 8, but got 'vector<4xi32>'"
    ),
    '"rocdl.s.waitcnt"() <{bitfield = 0 : i16}> : () -> ()': (
        "'rocdl.s.waitcnt' op attribute 'bitfield' failed to satisfy constraint: 32-bit signless integer attribute"
    ),
    '"rocdl.s.wait.asynccnt"() <{count = 0 : i32}> : () -> ()': (
        "'rocdl.s.wait.asynccnt' op attribute 'count' failed to satisfy constraint: 16-bit signless integer attribute"
    ),
    "rocdl.s.barrier.join %p : !llvm.ptr": (
        f"'rocdl.s.barrier.join' op operand #0 must be {POINTER} 3, but got '!llvm.ptr'"
    ),
    "rocdl.s.barrier.init %g member_cnt = 1 : !llvm.ptr<1>": (
        f"'rocdl.s.barrier.init' op operand #0 must be {POINTER} 3, but got '!llvm.ptr<1>'"
    ),
    "%0 = rocdl.s.barrier.signal.isfirst id = 1 -> i32": (
        "'rocdl.s.barrier.signal.isfirst' op result #0 must be 1-bit signless integer, but got 'i32'"
    ),
    "%0 = rocdl.s.get.barrier.state id = 1 -> i64": (
        "'rocdl.s.get.barrier.state' op result #0 must be 32-bit signless integer, but got 'i64'"
    ),
}

NEWER_REFUSALS = {
    '"rocdl.wait.asyncmark"() <{count = 2 : i32}> : () -> ()': (
        "'rocdl.wait.asyncmark' op attribute 'count' failed to satisfy constraint: 16-bit signless integer attribute"
    ),
    "rocdl.wait.asyncmark -1": "count must not be negative, found -1",
    "rocdl.s.wait.asynccnt -2": "count must not be negative, found -2",
    "rocdl.wait.asyncmark 70000": "Integer value 70000 is out of range for type i16",
    "rocdl.load.async.to.lds %g, %p, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr": (
        f"'rocdl.load.async.to.lds' op operand #1 must be {POINTER} 3, but got '!llvm.ptr'"
    ),
    "rocdl.global.load.async.lds %p, %l, 4, 0, 0 : !llvm.ptr, !llvm.ptr<3>": (
        f"'rocdl.global.load.async.lds' op operand #0 must be {POINTER} 1, but got '!llvm.ptr'"
    ),
    "rocdl.global.store.async.from.lds.b32 %l, %g, 0, 0 : !llvm.ptr<3>, !llvm.ptr<1>": (
        f"'rocdl.global.store.async.from.lds.b32' op operand #0 must be {POINTER} 1, but got '!llvm.ptr<3>'"
    ),
}


@pytest.mark.parametrize("line", [*REFUSALS, *NEWER_REFUSALS])
def test_we_refuse(line: str) -> None:
    with pytest.raises((VerifyException, ParseError)) as refusal:
        parse(TABLE.function(line))
    assert (REFUSALS | NEWER_REFUSALS)[line] in str(refusal.value)


@pytest.mark.parametrize("line", REFUSALS)
def test_mlir_refuses_in_the_same_words(line: str) -> None:
    assert REFUSALS[line] in mlir_opt_rejects(TABLE.function(line))


# Transfers ------------------------------------------------------------------------------------------------------------

CONSTANT = "%four = llvm.mlir.constant(4 : i32) : i32\n  "
INTRINSIC = 'llvm.call_intrinsic "llvm.amdgcn.'
GATHERS = "(!llvm.ptr<1>, !llvm.ptr<3>, i32, i32, i32) -> ()"
RAW = "(%d, %l, %four, %i, %i, %i, %i) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()"
RAW_PTR = "(%r, %l, %four, %i, %i, %i, %i) : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32, i32) -> ()"
STRUCT = "(%d, %l, %four, %i, %i, %i, %i, %i) : (vector<4xi32>, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32) -> ()"
STRUCT_PTR = "(%r, %l, %i, %i, %i, %i, %i, %i) : (!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32, i32, i32) -> ()"
STORE = "(%g, %l, %i, %i) : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32) -> ()"

TRANSFERS = {
    "rocdl.load.async.to.lds %g, %l, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 16),
    "rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 4),
    "rocdl.raw.ptr.buffer.load.async.lds %r, %l, %four, %i, %i, %i, %i": ("r", "l", 4),
    "rocdl.raw.ptr.buffer.load.async.lds %r, %l, %i, %i, %i, %i, %i": ("r", "l", None),
    "rocdl.global.load.async.to.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 1),
    "rocdl.global.load.async.to.lds.b32 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 4),
    "rocdl.global.load.async.to.lds.b64 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 8),
    "rocdl.global.load.async.to.lds.b128 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 16),
    "rocdl.cluster.load.async.to.lds.b8 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 1),
    "rocdl.cluster.load.async.to.lds.b32 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 4),
    "rocdl.cluster.load.async.to.lds.b64 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 8),
    "rocdl.cluster.load.async.to.lds.b128 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": ("g", "l", 16),
    "rocdl.global.store.async.from.lds.b8 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("l", "g", 1),
    "rocdl.global.store.async.from.lds.b32 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("l", "g", 4),
    "rocdl.global.store.async.from.lds.b64 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("l", "g", 8),
    "rocdl.global.store.async.from.lds.b128 %g, %l, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ("l", "g", 16),
    f'{INTRINSIC}global.store.async.from.lds.b64"{STORE}': ("l", "g", 8),
    "rocdl.tensor.load.to.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>": ("d", "d", None),
    "rocdl.tensor.store.from.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>": ("d", "d", None),
    "rocdl.tensor.load.to.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>": ("d", "d", None),
    "rocdl.tensor.store.from.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>": ("d", "d", None),
    f'{INTRINSIC}load.async.to.lds"(%g, %l, %four, %i, %i) : {GATHERS}': ("g", "l", 4),
    f'{INTRINSIC}load.async.to.lds.p1"(%g, %l, %four, %i, %i) : {GATHERS}': ("g", "l", 4),
    f'{INTRINSIC}global.load.async.lds"(%g, %l, %i, %i, %i) : {GATHERS}': ("g", "l", None),
    f'{INTRINSIC}raw.buffer.load.async.lds"{RAW}': ("d", "l", 4),
    f'{INTRINSIC}raw.ptr.buffer.load.async.lds"{RAW_PTR}': ("r", "l", 4),
    f'{INTRINSIC}struct.buffer.load.async.lds"{STRUCT}': ("d", "l", 4),
    f'{INTRINSIC}struct.ptr.buffer.load.async.lds"{STRUCT_PTR}': ("r", "l", None),
}


def _transfers_in(line: str) -> list[LdsTransfer]:
    module = parse(TABLE.function(CONSTANT + line))
    return [transfer for op in module.walk() if (transfer := async_lds_transfer(op)) is not None]


@pytest.mark.parametrize("line", TRANSFERS)
def test_asynchronous_transfers_are_recognised(line: str) -> None:
    (transfer,) = _transfers_in(line)
    assert (transfer.source.name_hint, transfer.destination.name_hint, transfer.bytes) == TRANSFERS[line]


def test_every_asynchronous_op_is_a_transfer() -> None:
    recognised = {line.split()[0] for line in TRANSFERS if line.startswith("rocdl.")}
    assert recognised == {
        op.name for op in ROCDL.operations if re.search(r"(load|store)\..*async|async.*(load|store)", op.name)
    } | {op.name for op in ROCDL.operations if ".tensor." in op.name and "wait" not in op.name}


@pytest.mark.parametrize(
    "line",
    [
        "rocdl.load.to.lds %g, %l, 16, 0, 0 : <1>",
        "rocdl.asyncmark",
        "rocdl.s.wait.asynccnt 0",
        "rocdl.ds.atomic.async.barrier.arrive.b64 %l : !llvm.ptr<3>",
        f'{INTRINSIC}raw.ptr.buffer.load.lds"{RAW_PTR}',
    ],
)
def test_other_ops_are_no_transfers(line: str) -> None:
    assert _transfers_in(line) == []


def test_an_intrinsic_with_too_few_operands_is_refused() -> None:
    line = f'{INTRINSIC}raw.buffer.load.async.lds"(%d, %l, %i) : (vector<4xi32>, !llvm.ptr<3>, i32) -> ()'
    with pytest.raises(RefusedError, match=r"raw\.buffer\.load\.async\.lds takes 7 operands, found 3"):
        _transfers_in(line)


EFFECTS = {
    "rocdl.load.async.to.lds %g, %l, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": ({1}, {3}),
    "rocdl.global.load.lds %g, %l, 16, 0, 0": ({1}, {3}),
    "rocdl.raw.ptr.buffer.load.lds %r, %l, %i, %i, %i, %i, %i": ({8}, {3}),
    "rocdl.cluster.load.async.to.lds.b8 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": ({1}, {3, None}),
    "rocdl.tensor.load.to.lds.d2 %d, %e cachepolicy 0 : vector<4xi32>, vector<8xi32>": ({None}, {None}),
    "rocdl.asyncmark": ({None}, {None}),
    "rocdl.s.barrier": ({None}, {None}),
}


@pytest.mark.parametrize("line", EFFECTS)
def test_effects_name_the_memory(line: str) -> None:
    """By the address space of the operand that points to it; None is memory that no operand names."""
    (op,) = (op for op in parse(TABLE.function(line)).walk() if op.name.startswith("rocdl."))
    effects = get_effects(op)
    assert effects is not None

    def touched(kind: MemoryEffectKind) -> set[int | None]:
        values = [effect.value for effect in effects if effect.kind is kind]
        return {address_space(value.type) if isinstance(value, SSAValue) else None for value in values}

    assert (touched(MemoryEffectKind.READ), touched(MemoryEffectKind.WRITE)) == EFFECTS[line]


# Builders -------------------------------------------------------------------------------------------------------------

_TYPES = {
    "g": pointer_type(1),
    "l": pointer_type(3),
    "r": pointer_type(8),
    "i": i32,
    "v": i64,
    "d": VectorType(i32, [4]),
    "e": VectorType(i32, [8]),
}
_VALUES = test.TestOp(result_types=list(_TYPES.values())).results
for _name, _value in zip(_TYPES, _VALUES, strict=True):
    _value.name_hint = _name
G, LDS, R, N, N64, D4, D8 = _VALUES

BUILDERS: dict[str, Callable[[], Operation]] = {
    "rocdl.global.store.async.from.lds.b8 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GLOBAL_STORES[1](G, LDS, 4)
    ),
    "rocdl.global.store.async.from.lds.b32 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GLOBAL_STORES[4](G, LDS, 4)
    ),
    "rocdl.global.store.async.from.lds.b64 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GLOBAL_STORES[8](G, LDS, 4)
    ),
    "rocdl.global.store.async.from.lds.b128 %g, %l, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GLOBAL_STORES[16](G, LDS, 4)
    ),
    "rocdl.load.to.lds %g, %l, 16, 0, 0 : <1>": lambda: transfers.LoadToLdsOp(G, LDS, 16),
    "rocdl.global.load.lds %g, %l, 4, 8, 1": lambda: transfers.GlobalLoadLdsOp(G, LDS, 4, 8, 1),
    "rocdl.raw.ptr.buffer.load.lds %r, %l, %i, %i, %i, %i, %i": (
        lambda: transfers.RawPtrBufferLoadLdsOp(R, LDS, N, N, N, N, N)
    ),
    "rocdl.load.async.to.lds %g, %l, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.LoadAsyncToLdsOp(G, LDS, 16)
    ),
    "rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GlobalLoadAsyncLdsOp(G, LDS, 4)
    ),
    "rocdl.raw.ptr.buffer.load.async.lds %r, %l, %i, %i, %i, %i, %i": (
        lambda: transfers.RawPtrBufferLoadAsyncLdsOp(R, LDS, N, N, N, N, N)
    ),
    "rocdl.global.load.async.to.lds.b32 %g, %l, 8, 1 : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.GLOBAL_LOADS[4](G, LDS, 8, 1)
    ),
    "rocdl.cluster.load.async.to.lds.b64 %g, %l, 0, 0, %i : !llvm.ptr<1>, !llvm.ptr<3>": (
        lambda: transfers.CLUSTER_LOADS[8](G, LDS, N)
    ),
    "rocdl.tensor.load.to.lds %d, %e, %d, %d cachepolicy 0 : vector<4xi32>, vector<8xi32>": (
        lambda: transfers.TensorLoadToLdsOp(D4, D8, D4, D4)
    ),
    "rocdl.tensor.store.from.lds.d2 %d, %e cachepolicy 3 : vector<4xi32>, vector<8xi32>": (
        lambda: transfers.TensorStoreFromLdsD2Op(D4, D8, 3)
    ),
    "rocdl.asyncmark": waits.AsyncmarkOp,
    "rocdl.wait.asyncmark 2": lambda: waits.WaitAsyncmarkOp(2),
    "rocdl.s.wait.asynccnt 1": lambda: waits.WaitAsynccntOp(1),
    "rocdl.s.waitcnt 3953": lambda: waits.SWaitcntOp(3953),
    "rocdl.s.barrier": barriers.SBarrierOp,
    "rocdl.s.barrier.signal id = -1": lambda: barriers.BarrierSignalOp(-1),
    "rocdl.s.barrier.wait id = -1": lambda: barriers.BarrierWaitOp(-1),
    "rocdl.s.barrier.init %l member_cnt = 4 : !llvm.ptr<3>": lambda: barriers.BarrierInitOp(LDS, 4),
    "rocdl.s.barrier.join %l : !llvm.ptr<3>": lambda: barriers.BarrierJoinOp(LDS),
}


@pytest.mark.parametrize("line", BUILDERS)
def test_builders(line: str) -> None:
    op = BUILDERS[line]()
    op.verify()
    assert print_custom(op) == line
