"""
The dialect `ttng`: mbarriers, TMA, `wgmma`, `tcgen05` and tensor memory, as Triton drives them on NVIDIA's GPUs.

    ttng.barrier_expect %bar, 32768, %pred : !ttg.memdesc<1xi64, ..>
    ttng.async_tma_copy_global_to_local %d[%x, %y] %a, %bar, %pred : !tt.tensordesc<..>, !ttg.memdesc<1xi64, ..> -> ..
    ttng.wait_barrier %bar, %phase, %pred deps %a : !ttg.memdesc<1xi64, ..>, !ttg.memdesc<..>
    %c = ttng.warp_group_dot %a, %b, %acc {isAsync = true} : !ttg.memdesc<..> * !ttg.memdesc<..> -> tensor<..>
    %t = ttng.tc_gen5_mma %a, %b, %d[], %use, %pred, %bar[%p] {is_async} : ..

As Triton 3.9 prints it. Source: the op definitions that Triton's package carries. What the ops do is said in the PTX
ISA under the instructions that they lower to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i16, i32, i64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from tileas_xdsl.dialects.triton.computing import Row, computing_ops
from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.encodings import TTNG_ENCODINGS
from tileas_xdsl.dialects.triton.forms import TritonOp, same
from tileas_xdsl.dialects.triton.tt import FALSE, SEGMENTS
from tileas_xdsl.dialects.triton.types import AsyncTokenType, Im2colDescType, MemDescType
from tileas_xdsl.interfaces import AllocationOpInterface

TOKEN = AsyncTokenType()
I128 = IntegerType(128)


class BarrierOp(TritonOp):
    """Base of the ops on mbarriers, which are arrays of i64 in shared memory."""

    traits = traits_def(TouchesMemory())


# mbarriers ------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class InitBarrierOp(BarrierOp):
    """`ttng.init_barrier %b, 1 : !ttg.memdesc<1xi64, ..>`: made for so many arrivals a phase."""

    name = "ttng.init_barrier"

    alloc = operand_def(MemDescType)
    count = prop_def(IntegerAttr)

    FORM: ClassVar = "$alloc, $count {} : type($alloc)"


@irdl_op_definition
class InvalBarrierOp(BarrierOp):
    """`ttng.inval_barrier %b : !ttg.memdesc<1xi64, ..>`: its life ends."""

    name = "ttng.inval_barrier"
    ENDS_LIFE: ClassVar = True

    alloc = operand_def(MemDescType)

    FORM: ClassVar = "$alloc {} : type($alloc)"


@irdl_op_definition
class BarrierExpectOp(BarrierOp):
    """`ttng.barrier_expect %b, 32768, %pred : !ttg.memdesc<1xi64, ..>`: one arrival, and so many bytes to come."""

    name = "ttng.barrier_expect"

    alloc = operand_def(MemDescType)
    pred = operand_def(i1)
    size = prop_def(IntegerAttr)
    fromCTA = opt_prop_def()

    FORM: ClassVar = "$alloc, $size {}, $pred : type($alloc)"
    IMPLIED: ClassVar = {"pred": i1}


@irdl_op_definition
class WaitBarrierOp(BarrierOp):
    """`ttng.wait_barrier %b, %phase, %pred deps %x : ..`: wait until the phase of that parity is complete."""

    name = "ttng.wait_barrier"

    alloc = operand_def(MemDescType)
    phase = operand_def(i32)
    pred = opt_operand_def(i1)
    deps = var_operand_def(MemDescType)

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = "$alloc, $phase(, $pred)?( deps $deps)? {} : type($alloc)(, type($deps))?"
    IMPLIED: ClassVar = {"phase": i32, "pred": i1}


@irdl_op_definition
class ArriveBarrierOp(BarrierOp):
    """`ttng.arrive_barrier %b, 2, %pred : !ttg.memdesc<1xi64, ..>`: one thread arrives, with that count."""

    name = "ttng.arrive_barrier"

    alloc = operand_def(MemDescType)
    pred = opt_operand_def(i1)
    count = prop_def(IntegerAttr)
    fromCTA = opt_prop_def()
    multicastCTA = opt_prop_def()

    FORM: ClassVar = "$alloc, $count(, $pred)? {} : type($alloc)"
    IMPLIED: ClassVar = {"pred": i1}
    DEFAULTS: ClassVar = {"multicastCTA": IntegerAttr(0, i32)}


@irdl_op_definition
class AsyncCopyMBarrierArriveOp(BarrierOp):
    """`ttng.async_copy_mbarrier_arrive %b {noIncrement} : ..`: each thread arrives when its `cp.async` are complete."""

    name = "ttng.async_copy_mbarrier_arrive"

    barrier = operand_def(MemDescType)
    noIncrement = opt_prop_def()

    FORM: ClassVar = "$barrier {} : type($barrier)"


# TMA ------------------------------------------------------------------------------------------------------------------


class CopyOp(TritonOp):
    """Base of the ops that copy asynchronously."""

    traits = traits_def(TouchesMemory())


@irdl_op_definition
class AsyncSharedStoreOp(CopyOp):
    """`ttng.async_shared_store %t, %a, %b : tensor<..> -> .., ..`: PTX `st.async`, whose bytes arrive at `%b`."""

    name = "ttng.async_shared_store"

    src = operand_def()
    dst = operand_def(MemDescType)
    mbarrier = operand_def(MemDescType)

    FORM: ClassVar = "$src, $dst, $mbarrier {} : type($src) -> type($dst), type($mbarrier)"


@irdl_op_definition
class AsyncTMACopyGlobalToLocalOp(CopyOp):
    """Copy a box into shared memory; its bytes arrive at the barrier."""

    name = "ttng.async_tma_copy_global_to_local"

    desc = operand_def()
    coord = var_operand_def(i32)
    offsets = var_operand_def(i16)
    barrier = operand_def(MemDescType)
    result = operand_def(MemDescType)
    pred = operand_def(i1)
    multicast = opt_prop_def()
    cache = opt_prop_def()
    evict = opt_prop_def()
    cachePolicy = opt_prop_def()
    isVolatile = opt_prop_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = (
        "$desc[$coord]( offsets = [$offsets])? $result, $barrier, $pred( cacheModifier = $cache<cache>)?"
        "( evictionPolicy = $evict<eviction>)? {} : type($desc), type($barrier) -> type($result)"
    )
    IMPLIED: ClassVar = {"coord": i32, "offsets": i16, "pred": i1}
    DEFAULTS: ClassVar = {"isVolatile": FALSE}


@irdl_op_definition
class AsyncTMAGatherOp(CopyOp):
    """`ttng.async_tma_gather %d[%rows, %y] %a, %b, %pred : types of all`: copy rows; their bytes arrive at `%b`."""

    name = "ttng.async_tma_gather"

    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def(i32)
    barrier = operand_def(MemDescType)
    result = operand_def(MemDescType)
    pred = operand_def(i1)
    multicast = opt_prop_def()
    cachePolicy = opt_prop_def()

    FORM: ClassVar = (
        "$desc[$x_offsets, $y_offset] $result, $barrier, $pred {}"
        " : type($desc), type($x_offsets), type($y_offset), type($barrier), type($result), type($pred)"
    )


@irdl_op_definition
class AsyncTMACopyLocalToGlobalOp(CopyOp):
    """`ttng.async_tma_copy_local_to_global %d[%x, %y] %a : .., ..`: copy a box out; a group of its own."""

    name = "ttng.async_tma_copy_local_to_global"

    desc = operand_def()
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    cachePolicy = opt_prop_def()

    FORM: ClassVar = "$desc[$coord] $src {} : type($desc), type($src)"
    IMPLIED: ClassVar = {"coord": i32}


@irdl_op_definition
class AsyncTMAReduceOp(CopyOp):
    """`ttng.async_tma_reduce add, %d[%x, %y] %a : .., ..`: add to a box; a group of its own."""

    name = "ttng.async_tma_reduce"

    desc = operand_def()
    coord = var_operand_def(i32)
    src = operand_def(MemDescType)
    kind = prop_def(IntegerAttr)

    FORM: ClassVar = "$kind<reduce>, $desc[$coord] $src {} : type($desc), type($src)"
    IMPLIED: ClassVar = {"coord": i32}


@irdl_op_definition
class AsyncTMAScatterOp(CopyOp):
    """`ttng.async_tma_scatter %d[%rows, %y] %a : types of all`: copy rows out; a group of its own."""

    name = "ttng.async_tma_scatter"

    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def(i32)
    src = operand_def(MemDescType)
    cachePolicy = opt_prop_def()

    FORM: ClassVar = "$desc[$x_offsets, $y_offset] $src {} : type($desc), type($x_offsets), type($y_offset), type($src)"


@irdl_op_definition
class AsyncTMAStoreWaitOp(CopyOp):
    """`ttng.async_tma_store_wait {pendings = 0 : i32, read_only}`: wait for stores, or for their reads only."""

    name = "ttng.async_tma_store_wait"

    pendings = prop_def(IntegerAttr)
    read_only = opt_prop_def()

    FORM: ClassVar = "{}"


@irdl_op_definition
class ReinterpretTensorDescriptorOp(TritonOp):
    """`%d = ttng.reinterpret_tensor_descriptor %p : !tt.ptr<i8> to !tt.tensordesc<..>`: a descriptor in memory."""

    name = "ttng.reinterpret_tensor_descriptor"

    rawDesc = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    FORM: ClassVar = "$rawDesc {} : type($rawDesc) to type($result)"


@irdl_op_definition
class TensormapCreateOp(CopyOp):
    """`ttng.tensormap_create %p, %base, [%box], [%shape], [%stride], [%step] {..} : (...) -> ()`."""

    name = "ttng.tensormap_create"

    desc_ptr = operand_def()
    global_address = operand_def()
    box_dim = var_operand_def(i32)
    global_dim = var_operand_def(i32)
    global_stride = var_operand_def(i64)
    element_stride = var_operand_def(i32)
    elem_type = opt_prop_def()
    interleave_layout = opt_prop_def()
    swizzle_mode = opt_prop_def()
    fill_mode = opt_prop_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = (
        "$desc_ptr, $global_address, [$box_dim], [$global_dim], [$global_stride], [$element_stride] {} : signature"
    )


@irdl_op_definition
class TensormapFenceproxyAcquireOp(CopyOp):
    """`ttng.tensormap_fenceproxy_acquire %p : !tt.ptr<i8>`: later copies see the descriptor as it is now."""

    name = "ttng.tensormap_fenceproxy_acquire"

    desc_ptr = operand_def()

    FORM: ClassVar = "$desc_ptr {} : type($desc_ptr)"


# wgmma ----------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class WarpGroupDotOp(TritonOp):
    """`%d = ttng.warp_group_dot %a, %b, %c, %useC {isAsync = true} : .. * .. -> tensor<..>`: PTX `wgmma.mma_async`."""

    name = "ttng.warp_group_dot"

    a = operand_def()
    b = operand_def(MemDescType)
    c = operand_def()
    useC = opt_operand_def(i1)
    d = result_def()
    inputPrecision = opt_prop_def()
    maxNumImpreciseAcc = opt_prop_def()
    isAsync = opt_prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$a, $b, $c(, $useC)? {} : type($a) * type($b) -> type($d)"
    IMPLIED: ClassVar = {"c": same("d"), "useC": i1}
    DEFAULTS: ClassVar = {
        "inputPrecision": IntegerAttr(2, i32),
        "maxNumImpreciseAcc": IntegerAttr(0, i32),
        "isAsync": FALSE,
    }


@irdl_op_definition
class WarpGroupDotWaitOp(TritonOp):
    """`%r:2 = ttng.warp_group_dot_wait %d, %a {pendings = 1 : i32} : ..`: leave at most so many unfinished."""

    name = "ttng.warp_group_dot_wait"

    inputs = var_operand_def()
    outputs = var_result_def()
    pendings = prop_def(IntegerAttr)
    warpGroupLocal = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$inputs {} : type($inputs)"
    IMPLIED: ClassVar = {"outputs": same("inputs")}


# tcgen05 and tensor memory --------------------------------------------------------------------------------------------


@irdl_op_definition
class TCGen5MMAOp(TritonOp):
    """`%t = ttng.tc_gen5_mma %a, %b, %d[%dep], %useD, %pred, %bar[%p] {is_async} : ..`: PTX `tcgen05.mma`."""

    name = "ttng.tc_gen5_mma"

    a = operand_def(MemDescType)
    b = operand_def(MemDescType)
    d = operand_def(MemDescType)
    acc_dep = opt_operand_def(TOKEN)
    useD = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MemDescType)
    barrier_preds = var_operand_def(i1)
    token = opt_result_def(TOKEN)
    is_async = opt_prop_def()
    two_ctas = opt_prop_def()
    multicast = opt_prop_def()
    is_unsigned = opt_prop_def()

    irdl_options = (SEGMENTS,)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$a, $b, $d~token($acc_dep, $token), $useD, $pred~barriers($barriers, $barrier_preds) {}"
        " : type($a), type($b), type($d)(, type($barriers))?"
    )
    IMPLIED: ClassVar = {"acc_dep": TOKEN, "useD": i1, "pred": i1, "barrier_preds": i1, "token": TOKEN}


@irdl_op_definition
class TCGen5MMAScaledOp(TritonOp):
    """The same with scales, which lie in tensor memory."""

    name = "ttng.tc_gen5_mma_scaled"

    a = operand_def(MemDescType)
    b = operand_def(MemDescType)
    d = operand_def(MemDescType)
    acc_dep = opt_operand_def(TOKEN)
    a_scale = operand_def(MemDescType)
    b_scale = operand_def(MemDescType)
    useD = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MemDescType)
    barrier_preds = var_operand_def(i1)
    token = opt_result_def(TOKEN)
    a_type = prop_def(IntegerAttr)
    b_type = prop_def(IntegerAttr)
    is_async = opt_prop_def()
    two_ctas = opt_prop_def()
    multicast = opt_prop_def()

    irdl_options = (SEGMENTS,)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$a, $b, $d~token($acc_dep, $token), $a_scale, $b_scale, $useD, $pred lhs = $a_type<scaled>"
        " rhs = $b_type<scaled>~barriers($barriers, $barrier_preds) {}"
        " : type($a), type($b), type($d), type($a_scale), type($b_scale)(, type($barriers))?"
    )
    IMPLIED: ClassVar = TCGen5MMAOp.IMPLIED


@irdl_op_definition
class TMEMCopyOp(TritonOp):
    """`ttng.tmem_copy %s, %d : .., ..`: PTX `tcgen05.cp`, from shared to tensor memory."""

    name = "ttng.tmem_copy"

    src = operand_def(MemDescType)
    dst = operand_def(MemDescType)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src, $dst {} : type($src), type($dst)"


@irdl_op_definition
class TCGen5CommitOp(TritonOp):
    """`ttng.tc_gen5_commit %b, %pred descs %x : ..`: arrive at `%b` when all earlier tcgen05 work is complete."""

    name = "ttng.tc_gen5_commit"

    barrier = operand_def(MemDescType)
    pred = opt_operand_def(i1)
    descs = var_operand_def(MemDescType)

    irdl_options = (SEGMENTS,)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$barrier(, $pred)?( descs $descs)? {} : type($barrier)(, type($descs))?"
    IMPLIED: ClassVar = {"pred": i1}


@irdl_op_definition
class TMEMAllocOp(TritonOp, AllocationOpInterface):
    """`%a, %t = ttng.tmem_alloc %v : (tensor<..>) -> (!ttg.memdesc<..>, !ttg.async.token)`: tensor memory."""

    name = "ttng.tmem_alloc"

    src = opt_operand_def()
    result = result_def(MemDescType)
    token = opt_result_def(TOKEN)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "( $src)? {} : signature"

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return (self.result,)


@irdl_op_definition
class TMEMSubsliceOp(TritonOp):
    """`%s = ttng.tmem_subslice %a {offset = 64 : i32} : .. -> ..`: columns (`dim = 0`: rows) from an offset on."""

    name = "ttng.tmem_subslice"

    src = operand_def(MemDescType)
    result = result_def(MemDescType)
    offset = prop_def(IntegerAttr)
    dim = opt_prop_def(IntegerAttr)

    traits = traits_def(Pure())
    FORM: ClassVar = "$src {} : type($src) -> type($result)"
    FORMERLY: ClassVar = {"N": "offset"}
    DEFAULTS: ClassVar = {"dim": IntegerAttr(1, i32)}


@irdl_op_definition
class TMEMLoadOp(TritonOp):
    """`%v, %t = ttng.tmem_load %a[%dep] : !ttg.memdesc<..> -> tensor<..>`: read tensor memory."""

    name = "ttng.tmem_load"

    src = operand_def(MemDescType)
    dep = opt_operand_def(TOKEN)
    result = result_def()
    token = opt_result_def(TOKEN)
    red = opt_result_def()
    redOp = opt_prop_def()
    abs = opt_prop_def()
    NaN = opt_prop_def()

    irdl_options = (AttrSizedResultSegments(as_property=True),)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src~token($dep, $token) {} : type($src) -> type($result)(, type($red))?"
    IMPLIED: ClassVar = {"dep": TOKEN, "token": TOKEN}


@irdl_op_definition
class TMEMStoreOp(TritonOp):
    """`%t = ttng.tmem_store %v, %a[%dep], %pred : tensor<..> -> !ttg.memdesc<..>`: write tensor memory."""

    name = "ttng.tmem_store"

    dst = operand_def(MemDescType)
    dep = opt_operand_def(TOKEN)
    src = operand_def()
    pred = operand_def(i1)
    token = opt_result_def(TOKEN)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src, $dst~token($dep, $token), $pred {} : type($src) -> type($dst)"
    IMPLIED: ClassVar = {"dep": TOKEN, "pred": i1, "token": TOKEN}


@irdl_op_definition
class TMEMWaitOp(TritonOp):
    """`ttng.tmem_wait load`: PTX `tcgen05.wait`, which the compiler puts in below."""

    name = "ttng.tmem_wait"

    kind = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$kind<tmem_wait> {}"


# Fences, clusters, launch control -------------------------------------------------------------------------------------


@irdl_op_definition
class FenceAsyncSharedOp(TritonOp):
    """`ttng.fence_async_shared {bCluster = false}`: generic accesses before, asynchronous ones behind."""

    name = "ttng.fence_async_shared"

    bCluster = opt_prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"


class ClusterOp(TritonOp):
    """Base of the ops by which blocks of a cluster meet."""

    relaxed = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"
    DEFAULTS: ClassVar = {"relaxed": FALSE}


@irdl_op_definition
class ClusterBarrierOp(ClusterOp):
    """`ttng.cluster_barrier`: all threads of the cluster meet."""

    name = "ttng.cluster_barrier"


@irdl_op_definition
class ClusterArriveOp(ClusterOp):
    """`ttng.cluster_arrive {relaxed = true}`: arrive at the barrier of the cluster."""

    name = "ttng.cluster_arrive"


@irdl_op_definition
class ClusterWaitOp(TritonOp):
    """`ttng.cluster_wait`: wait at the barrier of the cluster."""

    name = "ttng.cluster_wait"

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"


@irdl_op_definition
class FenceMBarrierInitReleaseClusterOp(TritonOp):
    """`ttng.fence_mbarrier_init_release_cluster`: barriers that were made are seen by the cluster."""

    name = "ttng.fence_mbarrier_init_release_cluster"

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"


@irdl_op_definition
class CLCTryCancelOp(TritonOp):
    """`ttng.clc_try_cancel %r, %b : .., ..`: ask for the work of another block; 16 bytes arrive at `%b`."""

    name = "ttng.clc_try_cancel"

    result = operand_def(MemDescType)
    mbarrier = operand_def(MemDescType)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$result, $mbarrier {} : type($result), type($mbarrier)"


@irdl_op_definition
class CLCTryCancelSyncOp(TritonOp):
    """`%r = ttng.clc_try_cancel_sync : tensor<2xi64, ..>`: ask for the work of another block, and have the answer."""

    name = "ttng.clc_try_cancel_sync"

    result = result_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{} : type($result)"


@irdl_op_definition
class CLCLoadResultOp(TritonOp):
    """`%r = ttng.clc_load_result %a : !ttg.memdesc<..> -> i128`: read the answer."""

    name = "ttng.clc_load_result"

    src = operand_def(MemDescType)
    clcResult = result_def(I128)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src {} : type($src) -> type($clcResult)"


@irdl_op_definition
class CLCIsCanceledOp(TritonOp):
    """`%w = ttng.clc_is_canceled %r : i128 -> i1`: whether there is work."""

    name = "ttng.clc_is_canceled"

    clcResult = operand_def(I128)
    is_canceled = result_def(i1)

    traits = traits_def(Pure())
    FORM: ClassVar = "$clcResult {} : type($clcResult) -> type($is_canceled)"


@irdl_op_definition
class CLCGetProgramIdOp(TritonOp):
    """`%x = ttng.clc_get_program_id %r, x : i128 -> i32`: the number of the block whose work it is."""

    name = "ttng.clc_get_program_id"

    clcResult = operand_def(I128)
    result = result_def(i32)
    dim = prop_def(IntegerAttr)

    traits = traits_def(Pure())
    FORM: ClassVar = "$clcResult, $dim<axis> {} : type($clcResult) -> type($result)"


COMPUTING = tuple(
    computing_ops(
        "ttng",
        [
            Row(
                "packed_arith",
                "operands_*",
                "result",
                "$op_kind<packed> $operands_ {} : signature",
                attributes="op_kind",
            ),
        ],
    )
)
"""What only computes on tiles."""

OPS = (
    InitBarrierOp,
    InvalBarrierOp,
    BarrierExpectOp,
    WaitBarrierOp,
    ArriveBarrierOp,
    AsyncCopyMBarrierArriveOp,
    AsyncSharedStoreOp,
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMAGatherOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
    AsyncTMAStoreWaitOp,
    ReinterpretTensorDescriptorOp,
    TensormapCreateOp,
    TensormapFenceproxyAcquireOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
    TCGen5MMAOp,
    TCGen5MMAScaledOp,
    TMEMCopyOp,
    TCGen5CommitOp,
    TMEMAllocOp,
    TMEMSubsliceOp,
    TMEMLoadOp,
    TMEMStoreOp,
    TMEMWaitOp,
    FenceAsyncSharedOp,
    ClusterBarrierOp,
    ClusterArriveOp,
    ClusterWaitOp,
    FenceMBarrierInitReleaseClusterOp,
    CLCTryCancelOp,
    CLCTryCancelSyncOp,
    CLCLoadResultOp,
    CLCIsCanceledOp,
    CLCGetProgramIdOp,
)

TTNG = Dialect("ttng", [*OPS, *COMPUTING], [Im2colDescType, *TTNG_ENCODINGS])
