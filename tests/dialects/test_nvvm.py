"""
The dialect `nvvm` against mlir-opt 22: what it prints we print, in both forms, and nothing that synchronises gets lost.

Every op has at least one line here. What mlir-opt rejects is in `test_nvvm_refusals.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from xdsl.dialects import llvm, test
from xdsl.dialects.builtin import IntAttr, VectorType, f32, i1, i8, i16, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from tests.dialects import nvvm_matrix_lines
from tests.support.ir import assert_round_trips, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tests.support.upstream import OpTable
from tileas_xdsl.dialects.nvvm import (
    attributes,
    barrier,
    bulk,
    cluster_launch,
    cp_async,
    fence,
    mbarrier,
    registers,
    tcgen05,
    tcgen05_mma,
    thread,
    warp_matrix,
    wgmma,
)
from tileas_xdsl.dialects.nvvm import matrix_attributes as matrix
from tileas_xdsl.dialects.nvvm.dialect import NVVM
from tileas_xdsl.dialects.upstream import address_space, pointer_type

ARGUMENTS = (
    "%p: !llvm.ptr, %g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %m: !llvm.ptr<3>, %d: !llvm.ptr<7>, %t: !llvm.ptr<6>, "
    "%i: i32, %j: i32, %k: i32, %l: i64, %h: i16, %b: i1, %c: !llvm.ptr<4>, %o: !llvm.ptr<5>, %f: f32, %wide: i128, "
    + nvvm_matrix_lines.ARGUMENTS
)
"""The values that the lines below use: pointers into each address space, integers, a predicate and a float."""

LOAD = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
STORE = "nvvm.cp.async.bulk.tensor.global.shared.cta"
REDUCE = "nvvm.cp.async.bulk.tensor.reduce"

MBARRIER_LINES = """
nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32
nvvm.mbarrier.init %p, %i : !llvm.ptr, i32
nvvm.mbarrier.init %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
nvvm.mbarrier.inval %s : !llvm.ptr<3>
nvvm.mbarrier.expect_tx %s, %i : !llvm.ptr<3>, i32
nvvm.mbarrier.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
nvvm.mbarrier.complete_tx %s, %i : !llvm.ptr<3>, i32
%0 = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64
nvvm.mbarrier.arrive %s : !llvm.ptr<3>
%1 = nvvm.mbarrier.arrive %s, %i : !llvm.ptr<3> -> i64
nvvm.mbarrier.arrive %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
%2 = nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3> -> i64
nvvm.mbarrier.arrive %s {a, relaxed = true, s = 1 : i32, scope = #nvvm.mem_scope<cluster>, z} : !llvm.ptr<3>
"nvvm.mbarrier.arrive"(%s) {relaxed = true} : (!llvm.ptr<3>) -> ()
%3 = nvvm.mbarrier.arrive.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
%3 = nvvm.mbarrier.arrive_drop.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64
%4 = nvvm.mbarrier.arrive_drop %s : !llvm.ptr<3> -> i64
nvvm.mbarrier.arrive_drop %s, %i : !llvm.ptr<3>
nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32
%5 = nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32 -> i64
nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1
nvvm.mbarrier.arrive.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
%5 = nvvm.mbarrier.arrive_drop.expect_tx %s, %i {relaxed = true} : !llvm.ptr<3>, i32 -> i64
nvvm.mbarrier.try_wait.parity %s, %i, %j : !llvm.ptr<3>, i32, i32
%6 = nvvm.mbarrier.try_wait %s, %i : !llvm.ptr<3>, i32 -> i1
%7 = nvvm.mbarrier.try_wait %s, %i, %j : !llvm.ptr<3>, i32, i32 -> i1
%8 = nvvm.mbarrier.try_wait %s, %l : !llvm.ptr<3>, i64 -> i1
%8 = nvvm.mbarrier.try_wait %p, %l {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr, i64 -> i1
%9 = nvvm.mbarrier.test.wait %s, %l : !llvm.ptr<3>, i64 -> i1
%10 = nvvm.mbarrier.test.wait %s, %i : !llvm.ptr<3>, i32 -> i1
"""

CP_ASYNC_LINES = """
nvvm.cp.async.shared.global %s, %g, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %s, %g, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %s, %g, 8, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %s, %g, 16, cache = cg, %i {tag} : !llvm.ptr<3>, !llvm.ptr<1>, i32
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 2
nvvm.cp.async.wait.group -1
nvvm.cp.async.mbarrier.arrive %s : !llvm.ptr<3>
nvvm.cp.async.mbarrier.arrive %s {noinc = true} : !llvm.ptr<3>
"""

BULK_LINES = f"""
{LOAD} %d, %p, %m, box[%i, %j] : !llvm.ptr<7>, !llvm.ptr
{LOAD} %d, %p, %m, box[%i, %j] multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, !llvm.ptr
{LOAD} %s, %p, %m, box[%i] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr
{LOAD} %s, %p, %m, box[%i, %j] predicate = %b : !llvm.ptr<3>, !llvm.ptr
{LOAD} %d, %p, %m, box[%i, %j, %k, %i] im2col[%h, %h] {{mode = #nvvm.tma_load_mode<im2col>}} : !llvm.ptr<7>, !llvm.ptr
{LOAD} %d, %p, %m, box[%i, %j, %k] im2col[%h, %h] {{mode = #nvvm.tma_load_mode<im2col_w_128>}} : !llvm.ptr<7>, !llvm.ptr
{LOAD} %d, %p, %m, box[%i, %j, %k, %i, %i] {{mode = #nvvm.tma_load_mode<tile_gather4>}} : !llvm.ptr<7>, !llvm.ptr
{LOAD} %d, %p, %m, box[%i, %j] {{group = #nvvm.cta_group<cta_2>}} : !llvm.ptr<7>, !llvm.ptr
{STORE} %p, %s, box[%i, %j] : !llvm.ptr, <3>
{STORE} %p, %s, box[%i, %j] : !llvm.ptr, !llvm.ptr<3>
{STORE} %p, %s, box[%i, %j] l2_cache_hint = %l : !llvm.ptr, <3>
{STORE} %p, %s, box[%i, %j], predicate = %b : !llvm.ptr, <3>
{STORE} %p, %s, box[%i, %j, %k, %i, %i] {{mode = #nvvm.tma_store_mode<tile_scatter4>}} : !llvm.ptr, <3>
{REDUCE} %p, %s, box[%i, %j] {{redKind = #nvvm.tma_redux_kind<add>}} : !llvm.ptr, <3>
{REDUCE} %g, %s, box[%i, %j, %k] {{mode = #nvvm.tma_store_mode<im2col>, redKind = #nvvm.tma_redux_kind<xor>}} : <1>, <3>
{REDUCE} %p, %s, box[%i] l2_cache_hint = %l {{redKind = #nvvm.tma_redux_kind<inc>}} : !llvm.ptr, <3>
nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j] : !llvm.ptr
nvvm.cp.async.bulk.tensor.prefetch %p, box[%i] l2_cache_hint = %l : !llvm.ptr
nvvm.cp.async.bulk.tensor.prefetch %p, box[%i, %j, %k] im2col[%h] {{mode = #nvvm.tma_load_mode<im2col>}} : !llvm.ptr
nvvm.prefetch tensormap, %p : !llvm.ptr
nvvm.prefetch tensormap in_param_space, %p, predicate = %b : !llvm.ptr, i1
nvvm.prefetch level =  L1 uniform, %p : !llvm.ptr
nvvm.prefetch level = L2, evict_priority = evict_last, %g : !llvm.ptr<1>
nvvm.prefetch level = L2, %o : !llvm.ptr<5>
nvvm.prefetch tensormap, %c : !llvm.ptr<4>
nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i : !llvm.ptr<7>, <1>
nvvm.cp.async.bulk.shared.cluster.global %s, %g, %m, %i : !llvm.ptr<3>, <1>
nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i multicast_mask = %h l2_cache_hint = %l : !llvm.ptr<7>, <1>
nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : <1>, <3>
nvvm.cp.async.bulk.global.shared.cta %g, %s, %i l2_cache_hint = %l byte_mask = %h : <1>, <3>
nvvm.cp.async.bulk.shared.cluster.shared.cta %d, %s, %m, %i : <7>, <3>
nvvm.cp.async.bulk.prefetch %g, %i : <1>
nvvm.cp.async.bulk.prefetch %g, %i l2_cache_hint = %l : <1>
nvvm.st.bulk %s, size = %l : !llvm.ptr<3>
nvvm.st.bulk %p, size = %l {{a}} : !llvm.ptr
nvvm.cp.async.bulk.commit.group
nvvm.cp.async.bulk.wait_group 1
nvvm.cp.async.bulk.wait_group 0 {{read}}
nvvm.cp.async.bulk.wait_group 2 {{a, read, zz = 1 : i32}}
"""

CLUSTER_LAUNCH_LINES = """
nvvm.clusterlaunchcontrol.try.cancel %s, %m
nvvm.clusterlaunchcontrol.try.cancel multicast, %s, %m
%0 = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %wide : i1
%0 = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_z, %wide : i32
"""

WGMMA_LINES = """
nvvm.wgmma.fence.aligned
nvvm.wgmma.commit.group.sync.aligned
nvvm.wgmma.wait.group.sync.aligned 0
nvvm.wgmma.wait.group.sync.aligned {tag} 3
"""

BARRIER_LINES = """
nvvm.barrier0
nvvm.barrier
"nvvm.barrier"() : () -> ()
nvvm.barrier id = %i
nvvm.barrier id = %i number_of_threads = %j
%0 = nvvm.barrier #nvvm.reduction<popc> %i -> i32
nvvm.barrier #nvvm.reduction<or> %i {tag}
nvvm.barrier.arrive id = %i number_of_threads = %j
nvvm.barrier.arrive number_of_threads = %j
nvvm.bar.warp.sync %i : i32
nvvm.cluster.arrive
nvvm.cluster.arrive {aligned}
nvvm.cluster.arrive {a, aligned, b}
nvvm.cluster.arrive.relaxed {aligned}
nvvm.cluster.wait
nvvm.cluster.wait {aligned}
%1 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7>
%1 = nvvm.mapa %p, %i : !llvm.ptr -> !llvm.ptr
nvvm.griddepcontrol  wait
nvvm.griddepcontrol launch_dependents
"""

FENCE_LINES = """
nvvm.memory.barrier <gpu>
nvvm.memory.barrier #nvvm.mem_scope<sys>
nvvm.fence.sc.cluster
nvvm.fence.mbarrier.init
nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
nvvm.fence.proxy {space = #nvvm.shared_space<cluster>, kind = #nvvm.proxy_kind<async.shared>}
nvvm.fence.proxy.acquire <gpu> %p, %i
nvvm.fence.proxy.release <cta>
nvvm.fence.proxy.release <gpu> from_proxy = <generic> to_proxy = <tensormap>
nvvm.fence.proxy.release #nvvm.mem_scope<cta> from_proxy = #nvvm.proxy_kind<generic>
nvvm.fence.proxy.release <cta> to_proxy = #nvvm.proxy_kind<tensormap>
nvvm.fence.proxy.acquire <gpu> %p, %i from_proxy = #nvvm.proxy_kind<generic>
nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}
nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}
"""

THREAD_LINES = """
nvvm.setmaxregister  increase 232
nvvm.setmaxregister #nvvm<action decrease> 40
%2 = nvvm.elect.sync -> i1
%3 = nvvm.elect.sync %i -> i1
nvvm.nanosleep %i
nvvm.nanosleep {tag} %i
nvvm.exit
%4 = nvvm.shfl.sync  idx %i, %j, %k, %k : i32 -> i32
%4 = nvvm.shfl.sync bfly %i, %f, %k, %k : f32 -> f32
%4 = nvvm.shfl.sync up %i, %f, %k, %k {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
%5 = nvvm.vote.sync  ballot %i, %b -> i32
%5 = nvvm.vote.sync any %i, %b -> i1
nvvm.inline_ptx "mbarrier.init.b64 [$0], $1;" ro(%p, %i : !llvm.ptr, i32), predicate = %b
nvvm.inline_ptx "nanosleep.u32 7;"
%6 = nvvm.inline_ptx "mov.b32 $0, $1;" ro(%i : i32) -> i32
%7, %8 = nvvm.inline_ptx "x" ro(%i : i32) rw(%l : i64), predicate = %b -> i32, f32
"""

REGISTER_LINES = """
%0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
%0 = nvvm.read.ptx.sreg.tid.x range <i32, -1, -1> {tag} : i32
%0 = nvvm.read.ptx.sreg.tid.x range <i8, 0, 200> : i32
%0 = nvvm.read.ptx.sreg.laneid range <i64, 128, 0> : i32
%0 = nvvm.read.ptx.sreg.globaltimer {tag} : i64
""" + "".join(f"%0 = {op.name} : i32\n" for op in registers.REGISTER_OPS if ".sreg." in op.name)

WARP_MATRIX_LINES = nvvm_matrix_lines.WARP_LINES

TABLE = OpTable(
    ARGUMENTS,
    [
        line
        for family in (
            MBARRIER_LINES,
            CP_ASYNC_LINES,
            BULK_LINES,
            CLUSTER_LAUNCH_LINES,
            WGMMA_LINES,
            nvvm_matrix_lines.LINES,
            WARP_MATRIX_LINES,
            BARRIER_LINES,
            FENCE_LINES,
            THREAD_LINES,
            REGISTER_LINES,
        )
        for line in family.strip().splitlines()
    ],
)


@pytest.mark.parametrize("line", TABLE.lines)
def test_prints_what_mlir_prints(line: str) -> None:
    TABLE.assert_same_text(line)


@pytest.mark.parametrize("line", TABLE.lines)
def test_custom_and_generic_form_read_back(line: str) -> None:
    assert_round_trips(TABLE.function(line))


def test_every_op_has_a_line() -> None:
    written = {op.name for line in TABLE.lines for op in parse(TABLE.function(line)).walk()}
    assert {op.name for op in NVVM.operations} <= written


def test_every_attribute_is_one_of_the_dialect() -> None:
    """`#llvm.constant_range` alone is one of `llvm`, as in MLIR."""
    declared = {attr for attr in vars(attributes).values() if isinstance(attr, type) and attr.__name__.endswith("Attr")}
    declared.remove(attributes.ConstantRangeAttr)
    assert {attr for attr in NVVM.attributes if attr.__module__ == attributes.__name__} == {
        attr for attr in declared if attr.__module__ == attributes.__name__
    }


RANGES = {
    "#llvm.constant_range<i32, 0, 128>": "<i32, 0, 128>",
    "#llvm.constant_range<i8, 0, 200>": "<i8, 0, -56>",
    "#llvm.constant_range<i1, 1, 0>": "<i1, -1, 0>",
    "#llvm.constant_range<i128, -1, -1>": "<i128, -1, -1>",
}
"""What is written in the generic form -> what the custom form shows. Bounds wrap around."""


@pytest.mark.parametrize("written", RANGES)
def test_a_range_in_the_generic_form(written: str) -> None:
    text = f'%0 = "nvvm.read.ptx.sreg.tid.x"() <{{range = {written}}}> : () -> i32'
    module = assert_round_trips(text)
    assert f"tid.x range {RANGES[written]} : i32" in print_custom(module)
    assert f"tid.x range {RANGES[written]} : i32" in mlir_opt(print_generic(module))


# Effects --------------------------------------------------------------------------------------------------------------

PURE = {
    *(op for op in registers.REGISTER_OPS if issubclass(op, registers.SpecialRegisterOp | registers.RangedRegisterOp)),
    barrier.MapaOp,
    cluster_launch.ClusterLaunchControlQueryCancelOp,
    tcgen05.Tcgen05MmaSmemDescOp,
}


def _only_op(line: str) -> Operation:
    """The op that `line` is, on a line of its own among its operands."""
    return next(op for op in parse(TABLE.function(line)).walk() if op.name.startswith("nvvm."))


@pytest.mark.parametrize("line", TABLE.lines)
def test_what_synchronises_survives_dce_and_cse(line: str) -> None:
    """Two equal ops with unused results: passes keep both, unless the op is pure."""
    op = _only_op(line)
    module = run_passes(parse(TABLE.function(f"{line}\n  {_twin(line)}")), "cse,dce,canonicalize")
    kept = sum(other.name == op.name for other in module.walk())
    assert kept == (0 if type(op) in PURE else 2)


def _twin(line: str) -> str:
    """`line` again, with fresh names for its results."""
    return re.sub(r"^%[\w, %]* = ", lambda results: results[0].replace("%", "%twin"), line)


def test_registers_are_read_once() -> None:
    text = """func.func @f() -> (i32, i32, i32, i32) {
      %a = nvvm.read.ptx.sreg.tid.x : i32
      %b = nvvm.read.ptx.sreg.tid.x : i32
      %c = nvvm.read.ptx.sreg.clock : i32
      %d = nvvm.read.ptx.sreg.clock : i32
      func.return %a, %b, %c, %d : i32, i32, i32, i32
    }"""
    assert "func.return %a, %a, %c, %d" in print_custom(run_passes(parse(text), "cse"))


EFFECTS = {
    "nvvm.cp.async.shared.global %s, %g, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>": ({"<1>"}, {"<3>"}),
    "nvvm.mbarrier.init %s, %i : !llvm.ptr<3>, i32": (set(), {"<3>"}),
    "nvvm.mbarrier.expect_tx %d, %i : !llvm.ptr<7>, i32": ({"<7>"}, {"<7>"}),
    "nvvm.mbarrier.arrive %s : !llvm.ptr<3>": ({"all"}, {"all"}),
    "nvvm.barrier0": ({"all"}, {"all"}),
    "nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : <1>, <3>": ({"<3>"}, {"<1>"}),
    f"{STORE} %p, %s, box[%i] : !llvm.ptr, <3>": ({"<0>", "<3>"}, {"all"}),
}


@pytest.mark.parametrize("line", EFFECTS)
def test_effects_name_the_memory(line: str) -> None:
    """Memory is named by the address space of the operand that points to it."""
    effects = get_effects(_only_op(line))
    assert effects is not None

    def touched(kind: MemoryEffectKind) -> set[str]:
        values = [effect.value for effect in effects if effect.kind is kind]
        return {f"<{address_space(v.type)}>" if isinstance(v, SSAValue) else "all" for v in values}

    assert (touched(MemoryEffectKind.READ), touched(MemoryEffectKind.WRITE)) == EFFECTS[line]


# Builders -------------------------------------------------------------------------------------------------------------

_TYPES = {
    "p": LLVMPointerType(),
    "g": pointer_type(1),
    "s": pointer_type(3),
    "m": pointer_type(3),
    "d": pointer_type(7),
    "i": i32,
    "j": i32,
    "k": i32,
    "l": i64,
    "h": i16,
    "b": i1,
    "t": pointer_type(6),
    "e": i8,
    "q": VectorType(i32, [4]),
    "u": llvm.LLVMStructType.from_type_list([f32] * 4),
    "f": f32,
}
_VALUES = test.TestOp(result_types=list(_TYPES.values())).results
for _name, _value in zip(_TYPES, _VALUES, strict=True):
    _value.name_hint = _name
P, G, S, M, D, N, N2, N3, STATE, MASK, FLAG, T, BYTE, LANES, SUMS, FLOAT = _VALUES
MMA = (T, STATE, STATE, N, FLAG)

ACCUMULATOR = "!llvm.struct<(f32, f32, f32, f32)>"
CLUSTER = attributes.MemScope.CLUSTER

BUILDERS: dict[str, Callable[[], Operation]] = {
    "nvvm.mbarrier.init %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1": lambda: mbarrier.MBarrierInitOp(S, N, FLAG),
    "nvvm.mbarrier.inval %s : !llvm.ptr<3>": lambda: mbarrier.MBarrierInvalOp(S),
    "nvvm.mbarrier.expect_tx %d, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32": (
        lambda: mbarrier.MBarrierExpectTxOp(D, N, scope=CLUSTER)
    ),
    "nvvm.mbarrier.complete_tx %s, %i : !llvm.ptr<3>, i32": lambda: mbarrier.MBarrierCompleteTxOp(S, N),
    "%0 = nvvm.mbarrier.arrive %s, %i : !llvm.ptr<3> -> i64": (
        lambda: mbarrier.MBarrierArriveOp(S, N, returns_state=True)
    ),
    "nvvm.mbarrier.arrive %d {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>": (
        lambda: mbarrier.MBarrierArriveOp(D, scope=CLUSTER, relaxed=True)
    ),
    "nvvm.mbarrier.arrive_drop %s : !llvm.ptr<3>": lambda: mbarrier.MBarrierArriveDropOp(S),
    "%0 = nvvm.mbarrier.arrive.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64": (
        lambda: mbarrier.MBarrierArriveNocompleteOp(S, N)
    ),
    "%0 = nvvm.mbarrier.arrive_drop.nocomplete %s, %i : !llvm.ptr<3>, i32 -> i64": (
        lambda: mbarrier.MBarrierArriveDropNocompleteOp(S, N)
    ),
    "nvvm.mbarrier.arrive.expect_tx %s, %i, predicate = %b : !llvm.ptr<3>, i32, i1": (
        lambda: mbarrier.MBarrierArriveExpectTxOp(S, N, FLAG)
    ),
    "nvvm.mbarrier.arrive_drop.expect_tx %s, %i : !llvm.ptr<3>, i32": (
        lambda: mbarrier.MBarrierArriveDropExpectTxOp(S, N)
    ),
    "nvvm.mbarrier.try_wait.parity %s, %i, %j : !llvm.ptr<3>, i32, i32": (
        lambda: mbarrier.MBarrierTryWaitParityOp(S, N, N2)
    ),
    "%0 = nvvm.mbarrier.try_wait %s, %i, %j : !llvm.ptr<3>, i32, i32 -> i1": (
        lambda: mbarrier.MBarrierTryWaitOp(S, N, N2)
    ),
    "%0 = nvvm.mbarrier.test.wait %s, %l : !llvm.ptr<3>, i64 -> i1": lambda: mbarrier.MBarrierTestWaitOp(S, STATE),
    "nvvm.cp.async.shared.global %s, %g, 16, cache =  cg, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32": (
        lambda: cp_async.CpAsyncOp(S, G, 16, attributes.LoadCacheModifier.CG, N)
    ),
    "nvvm.cp.async.commit.group": cp_async.CpAsyncCommitGroupOp,
    "nvvm.cp.async.wait.group 2": lambda: cp_async.CpAsyncWaitGroupOp(2),
    "nvvm.cp.async.mbarrier.arrive %s {noinc = true} : !llvm.ptr<3>": (
        lambda: cp_async.CpAsyncMBarrierArriveOp(S, noinc=True)
    ),
    f"{LOAD} %d, %p, %m, box[%i] multicast_mask = %h {{group = #nvvm.cta_group<cta_2>}} : !llvm.ptr<7>, !llvm.ptr": (
        lambda: bulk.CpAsyncBulkTensorGlobalToSharedClusterOp(
            D, P, M, [N], multicast_mask=MASK, group=attributes.CTAGroup.CTA_2
        )
    ),
    f"{STORE} %p, %s, box[%i, %j] l2_cache_hint = %l : !llvm.ptr, <3>": (
        lambda: bulk.CpAsyncBulkTensorSharedCTAToGlobalOp(P, S, [N, N2], l2_cache_hint=STATE)
    ),
    "nvvm.cp.async.bulk.tensor.reduce %p, %s, box[%i] {redKind = #nvvm.tma_redux_kind<max>} : !llvm.ptr, <3>": (
        lambda: bulk.CpAsyncBulkTensorReduceOp(P, S, [N], attributes.TMAReduxKind.MAX)
    ),
    "nvvm.cp.async.bulk.shared.cluster.global %d, %g, %m, %i multicast_mask = %h : !llvm.ptr<7>, <1>": (
        lambda: bulk.CpAsyncBulkGlobalToSharedClusterOp(D, G, M, N, multicast_mask=MASK)
    ),
    "nvvm.cp.async.bulk.global.shared.cta %g, %s, %i byte_mask = %h : <1>, <3>": (
        lambda: bulk.CpAsyncBulkSharedCTAToGlobalOp(G, S, N, byte_mask=MASK)
    ),
    "nvvm.cp.async.bulk.shared.cluster.shared.cta %d, %s, %m, %i : <7>, <3>": (
        lambda: bulk.CpAsyncBulkSharedCTAToSharedClusterOp(D, S, M, N)
    ),
    "nvvm.prefetch tensormap, %p : !llvm.ptr": lambda: bulk.PrefetchOp.tensor_map(P),
    "nvvm.cp.async.bulk.commit.group": bulk.CpAsyncBulkCommitGroupOp,
    "nvvm.cp.async.bulk.wait_group 0 {read}": lambda: bulk.CpAsyncBulkWaitGroupOp(0, read=True),
    "nvvm.wgmma.fence.aligned": wgmma.WgmmaFenceAlignedOp,
    "nvvm.wgmma.commit.group.sync.aligned": wgmma.WgmmaGroupSyncAlignedOp,
    "nvvm.wgmma.wait.group.sync.aligned 1": lambda: wgmma.WgmmaWaitGroupSyncOp(1),
    "%0 = nvvm.wgmma.mma_async %l, %l, %u, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], "
    f"B[<f16>, <neg>, <row>] : {ACCUMULATOR} -> {ACCUMULATOR}": (
        lambda: wgmma.WgmmaMmaAsyncOp(
            SUMS,
            (STATE, STATE),
            matrix.MMAShapeAttr(IntAttr(64), IntAttr(8), IntAttr(16)),
            (matrix.WGMMAType.F16, matrix.WGMMAType.F16, matrix.WGMMAType.F32),
            negated=(False, True),
            layouts=(matrix.MMALayout.ROW, matrix.MMALayout.ROW),
        )
    ),
    "nvvm.tcgen05.alloc %s, %i : !llvm.ptr<3>, i32": lambda: tcgen05.Tcgen05AllocOp(S, N),
    "nvvm.tcgen05.dealloc %t, %i : !llvm.ptr<6>, i32": lambda: tcgen05.Tcgen05DeallocOp(T, N),
    "nvvm.tcgen05.relinquish_alloc_permit": tcgen05.Tcgen05RelinquishAllocPermitOp,
    "nvvm.tcgen05.fence <after>": lambda: tcgen05.Tcgen05FenceOp(matrix.Tcgen05Fence.AFTER),
    "nvvm.tcgen05.wait <load>": lambda: tcgen05.Tcgen05WaitOp(matrix.Tcgen05Wait.LOAD),
    "nvvm.tcgen05.commit %s, multicast_mask = %h : !llvm.ptr<3>, i16": lambda: tcgen05.Tcgen05CommitOp(S, MASK),
    "nvvm.tcgen05.cp %t, %l {shape = #nvvm.tcgen05_cp_shape<shape_4x256b>, "
    "srcFormat = #nvvm.tcgen05_cp_src_fmt<b4x16_p64>}": (
        lambda: tcgen05.Tcgen05CpOp(
            T,
            STATE,
            matrix.Tcgen05CpShape.SHAPE_4X256B,
            source_format=matrix.Tcgen05CpSourceFormat.B4X16_P64,
        )
    ),
    "%0 = nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>": (
        lambda: tcgen05.Tcgen05LdOp(T, matrix.Tcgen05LdStShape.SHAPE_32X32B, 4, pack=True)
    ),
    "nvvm.tcgen05.st %t, %q unpack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>": (
        lambda: tcgen05.Tcgen05StOp(T, LANES, matrix.Tcgen05LdStShape.SHAPE_32X32B, unpack=True)
    ),
    "nvvm.tcgen05.mma %t, %l, %l, %i, %b mask = %q {ctaGroup = #nvvm.cta_group<cta_1>, "
    "kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<4xi32>)": (
        lambda: tcgen05_mma.Tcgen05MMAOp(MMA, matrix.Tcgen05MMAKind.F16, mask=LANES)
    ),
    "nvvm.barrier0": barrier.Barrier0Op,
    "nvvm.barrier id = %i number_of_threads = %j": lambda: barrier.BarrierOp(N, N2),
    "%0 = nvvm.barrier #nvvm.reduction<and> %i -> i32": (
        lambda: barrier.BarrierOp(reduction=(attributes.BarrierReduction.AND, N))
    ),
    "nvvm.barrier.arrive id = %i number_of_threads = %j": lambda: barrier.BarrierArriveOp(N2, N),
    "nvvm.bar.warp.sync %i : i32": lambda: barrier.SyncWarpOp(N),
    "nvvm.cluster.arrive {aligned}": lambda: barrier.ClusterArriveOp(aligned=True),
    "nvvm.cluster.arrive.relaxed": barrier.ClusterArriveRelaxedOp,
    "nvvm.cluster.wait {aligned}": lambda: barrier.ClusterWaitOp(aligned=True),
    "%0 = nvvm.mapa %s, %i : !llvm.ptr<3> -> !llvm.ptr<7>": lambda: barrier.MapaOp(S, N),
    "nvvm.griddepcontrol  wait": lambda: barrier.GriddepcontrolOp(attributes.GridDepAction.WAIT),
    "nvvm.memory.barrier <gpu>": lambda: fence.MembarOp(attributes.MemScope.GPU),
    "nvvm.fence.mbarrier.init": fence.FenceMbarrierInitOp,
    "nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}": (
        lambda: fence.FenceSyncRestrictOp(attributes.MemOrder.ACQUIRE)
    ),
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}": (
        lambda: fence.FenceProxyOp(attributes.ProxyKind.ASYNC_SHARED, attributes.SharedSpace.CTA)
    ),
    "nvvm.fence.proxy.acquire <gpu> %p, %i": lambda: fence.FenceProxyAcquireOp(attributes.MemScope.GPU, P, N),
    "nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}": (
        lambda: fence.FenceProxySyncRestrictOp(attributes.MemOrder.RELEASE)
    ),
    "nvvm.setmaxregister  increase 232": (
        lambda: registers.SetMaxRegisterOp(attributes.SetMaxRegisterAction.INCREASE, 232)
    ),
    "%0 = nvvm.elect.sync %i -> i1": lambda: registers.ElectSyncOp(N),
    "%0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32": lambda: registers.ThreadIdXOp(bounds=(0, 128)),
    "%0 = nvvm.read.ptx.sreg.laneid : i32": registers.LaneIdOp,
    "%0 = nvvm.read.ptx.sreg.envreg7 : i32": registers.ENVIRONMENT_REGISTER_OPS[7],
    "%0 = nvvm.read.ptx.sreg.clock64 : i64": lambda: registers.Clock64Op(i64),
    "%0 = nvvm.shfl.sync  idx %i, %j, %k, %k : i32 -> i32": (
        lambda: thread.ShflOp(attributes.ShflKind.IDX, N, N2, N3, N3)
    ),
    "%0 = nvvm.ldmatrix %s {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, "
    "num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>": (
        lambda: warp_matrix.LdMatrixOp(S, 2, transposed=True)
    ),
    "nvvm.stmatrix %s, %i {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, "
    "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32": (lambda: warp_matrix.StMatrixOp(S, [N])),
    "%0 = nvvm.mma.sync A[%i, %i]  B[%i]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>, "
    "layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = "
    "#nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> "
    "!llvm.struct<(f32, f32, f32, f32)>": (
        lambda: warp_matrix.MmaSyncOp([N, N], [N], [FLOAT] * 4, (16, 8, 8), (matrix.MMAType.BF16, matrix.MMAType.BF16))
    ),
    "nvvm.exit": thread.ExitOp,
    '%0 = nvvm.inline_ptx "x" ro(%i : i32) rw(%l : i64), predicate = %b -> i32': (
        lambda: thread.InlinePtxOp("x", [N], [STATE], FLAG, [i32])
    ),
}


@pytest.mark.parametrize("line", BUILDERS)
def test_builders(line: str) -> None:
    op = BUILDERS[line]()
    op.verify()
    assert print_custom(op) == line
