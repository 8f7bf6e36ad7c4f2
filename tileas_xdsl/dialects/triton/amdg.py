"""
The dialect `amdg`: accesses through buffer resources, copies into shared memory (LDS), the tensor data mover (TDM) and
barriers in LDS, as Triton drives them on AMD's GPUs.

    %t = amdg.buffer_load_to_local %p[%offsets] mask = %m into %a : !tt.ptr<f16>[tensor<..>]  -> <64x64xf16, ..>
    %x = amdg.buffer_load %p[%offsets], %m, %other : !tt.ptr<f32> -> tensor<..>
    %t = amdg.async_tdm_copy_global_to_local %d into %a, barrier = %b : !tt.tensordesc<..>, !ttg.memdesc<..> -> ..
    %w = amdg.async_tdm_wait %t {num = 1 : i32}

As Triton 3.9 prints it; copies by `cp.async`'s names (`ttg.async_copy_global_to_local`) and their groups are those of
`ttg`. Sources: Triton's op definitions, and
[their page](https://triton-lang.org/main/dialects/TritonAMDGPUOps.html).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i1, i32
from xdsl.ir import Dialect
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from tileas_xdsl.dialects.triton.computing import Row, computing_ops
from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.forms import Rule, TritonOp, same
from tileas_xdsl.dialects.triton.tt import SEGMENTS, mask_of
from tileas_xdsl.dialects.triton.types import AsyncTokenType, MemDescType, PointerType, element_of, like

TOKEN = AsyncTokenType()
CONTIGUITY = {"contiguity": IntegerAttr(1, i32)}


def _offsets_of(name: str) -> Rule:
    """The type of 32-bit offsets, one for each element of the group `name`."""
    return lambda types: [like(types[name][0], i32)]


def _pointer_to(name: str) -> Rule:
    """The type of a pointer to the elements of the group `name`."""
    return lambda types: [PointerType(element_of(types[name][0]), IntAttr(1))]


class EffectOp(TritonOp):
    """Base of the ops that touch memory or synchronise."""

    traits = traits_def(TouchesMemory())


# Global memory, through buffer resources ------------------------------------------------------------------------------


@irdl_op_definition
class BufferLoadOp(EffectOp):
    """`%x = amdg.buffer_load %p[%offsets], %mask, %other : !tt.ptr<f32> -> tensor<..>`: read global memory."""

    name = "amdg.buffer_load"

    ptr = operand_def()
    offsets = operand_def()
    stride = opt_operand_def(i32)
    mask = opt_operand_def()
    other = opt_operand_def()
    result = result_def()
    cache = opt_prop_def()
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = "$ptr[$offsets](, $mask)?(, $other)?( stride = $stride)? {} : type($ptr) -> type($result)"
    FORMER_FORMS: ClassVar = (
        "$ptr[$offsets](, $mask)?(, $other)?( cacheModifier = $cache<cache>)?( stride = $stride)? {} : type($result)",
    )
    IMPLIED: ClassVar = {
        "ptr": _pointer_to("result"),
        "offsets": _offsets_of("result"),
        "stride": i32,
        "mask": mask_of("result"),
        "other": same("result"),
    }
    DEFAULTS: ClassVar = CONTIGUITY


@irdl_op_definition
class BufferStoreOp(EffectOp):
    """`amdg.buffer_store %x, %p[%offsets], %mask : !tt.ptr<f32> -> tensor<..>`: write global memory."""

    name = "amdg.buffer_store"

    value = operand_def()
    ptr = operand_def()
    offsets = operand_def()
    stride = opt_operand_def(i32)
    mask = opt_operand_def()
    cache = opt_prop_def()
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = "$value, $ptr[$offsets](, $mask)?( stride = $stride)? {} : type($ptr) -> type($value)"
    FORMER_FORMS: ClassVar = (
        "$value, $ptr[$offsets](, $mask)?( cacheModifier = $cache<cache>)?( stride = $stride)? {} : type($value)",
    )
    IMPLIED: ClassVar = {
        "ptr": _pointer_to("value"),
        "offsets": _offsets_of("value"),
        "stride": i32,
        "mask": mask_of("value"),
    }
    DEFAULTS: ClassVar = CONTIGUITY


@irdl_op_definition
class BufferAtomicRMWOp(EffectOp):
    """`%old = amdg.buffer_atomic_rmw fadd, acq_rel, gpu, %x, %p[%offsets], %mask : !tt.ptr<f32> -> tensor<..>`."""

    name = "amdg.buffer_atomic_rmw"

    ptr = operand_def()
    offsets = operand_def()
    value = operand_def()
    stride = opt_operand_def(i32)
    mask = opt_operand_def()
    result = result_def()
    atomic_rmw_op = prop_def(IntegerAttr)
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = (
        "$atomic_rmw_op<atomic>, $sem<semantic>, $scope<scope>, $value, $ptr[$offsets](, $mask)?( stride = $stride)? {}"
        " : type($ptr) -> type($result)"
    )
    FORMER_FORMS: ClassVar = (
        "$atomic_rmw_op<atomic>, $sem<semantic>, $scope<scope>, $value, $ptr[$offsets](, $mask)?( stride = $stride)? {}"
        " : type($result)",
    )
    IMPLIED: ClassVar = {
        "ptr": _pointer_to("result"),
        "offsets": _offsets_of("result"),
        "value": same("result"),
        "stride": i32,
        "mask": mask_of("result"),
    }


@irdl_op_definition
class BufferAtomicCASOp(EffectOp):
    """`%old = amdg.buffer_atomic_cas acq_rel, gpu, %expected, %x, %p[%offsets] : !tt.ptr<i32> -> tensor<..>`."""

    name = "amdg.buffer_atomic_cas"

    ptr = operand_def()
    offsets = operand_def()
    cmp = operand_def()
    val = operand_def()
    stride = opt_operand_def(i32)
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    FORM: ClassVar = (
        "$sem<semantic>, $scope<scope>, $cmp, $val, $ptr[$offsets]( stride = $stride)? {} : type($ptr) -> type($result)"
    )
    FORMER_FORMS: ClassVar = (
        "$sem<semantic>, $scope<scope>, $cmp, $val, $ptr[$offsets]( stride = $stride)? {} : type($result)",
    )
    IMPLIED: ClassVar = {
        "ptr": _pointer_to("result"),
        "offsets": _offsets_of("result"),
        "cmp": same("result"),
        "val": same("result"),
        "stride": i32,
    }


# Shared memory --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class BufferLoadToLocalOp(EffectOp):
    """
    Copy from global to shared memory asynchronously; complete when its group is.

    `%t = amdg.buffer_load_to_local %p[%offsets] mask = %m other = %o into %a : !tt.ptr<f16>[tensor<..>] .. -> <..>`
    """

    name = "amdg.buffer_load_to_local"

    dest = operand_def(MemDescType)
    ptr = operand_def()
    offsets = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    stride = opt_operand_def(i32)
    token = result_def(TOKEN)
    cache = opt_prop_def()
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def()

    irdl_options = (SEGMENTS,)
    FORM: ClassVar = (
        "$ptr[$offsets]( mask = $mask)?( other = $other)?( stride = $stride)?( cachePolicy = $cachePolicy)? into $dest"
        " {} : type($ptr)[type($offsets)] (type($other))? -> short($dest)"
    )
    FORMER_FORMS: ClassVar = (
        "$ptr[$offsets]( mask = $mask)?( other = $other)?( stride = $stride)?( cacheModifier = $cache<cache>)?"
        " into $dest {} : short($ptr)[type($offsets)] (type($other))? -> short($dest)",
    )
    SHORT: ClassVar = {"ptr": PointerType}
    IMPLIED: ClassVar = {"mask": mask_of("offsets"), "stride": i32, "token": TOKEN}
    DEFAULTS: ClassVar = CONTIGUITY


@irdl_op_definition
class AsyncCopyLocalToGlobalOp(EffectOp):
    """`%t = amdg.async_copy_local_to_global %a, %ptrs mask %m : !ttg.memdesc<..> -> tensor<..>`: copy out."""

    name = "amdg.async_copy_local_to_global"

    src = operand_def(MemDescType)
    dst = operand_def()
    mask = opt_operand_def()
    token = result_def(TOKEN)
    cache = opt_prop_def()
    evict = opt_prop_def()
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def()

    FORM: ClassVar = "$src, $dst( mask $mask)?( cachePolicy = $cachePolicy)? {} : type($src) -> type($dst)"
    FORMER_FORMS: ClassVar = (
        "$src, $dst( mask $mask)?( cacheModifier = $cache<cache>)?( evictionPolicy = $evict<eviction>)? {}"
        " : type($src) -> type($dst)",
    )
    IMPLIED: ClassVar = {"mask": mask_of("dst"), "token": TOKEN}
    DEFAULTS: ClassVar = CONTIGUITY


@irdl_op_definition
class LocalLoadPackedTransposedOp(EffectOp):
    """`%t = amdg.local_load_packed_transposed %a token %w : !ttg.memdesc<..> -> tensor<..>`: read, and pack anew."""

    name = "amdg.local_load_packed_transposed"

    src = operand_def(MemDescType)
    token = opt_operand_def(TOKEN)
    result = result_def()

    FORM: ClassVar = "$src( token $token)? {} : type($src) -> type($result)"
    IMPLIED: ClassVar = {"token": TOKEN}


class CountedWaitOp(EffectOp):
    """Base of waits that count what is still outstanding."""

    asyncToken = var_operand_def(TOKEN)
    retToken = result_def(TOKEN)

    FORM: ClassVar = "( $asyncToken)? {}"
    IMPLIED: ClassVar = {"asyncToken": TOKEN, "retToken": TOKEN}


@irdl_op_definition
class AsyncWaitOp(CountedWaitOp):
    """`%w = amdg.async_wait %t {num_inst = 4 : i32}`: wait until at most so many instructions are outstanding."""

    name = "amdg.async_wait"

    num_inst = prop_def(IntegerAttr)


# The tensor data mover ------------------------------------------------------------------------------------------------


@irdl_op_definition
class AsyncTDMCopyGlobalToLocalOp(EffectOp):
    """Copy the box that a descriptor names into shared memory; then arrive at the barrier, if there is one."""

    name = "amdg.async_tdm_copy_global_to_local"

    desc = operand_def()
    result = operand_def(MemDescType)
    barrier = opt_operand_def(MemDescType)
    token = result_def(TOKEN)
    cache = opt_prop_def()
    warp_used_hint = opt_prop_def()

    FORM: ClassVar = "$desc into $result(, barrier = $barrier)? {} : type($desc)(, type($barrier))? -> type($result)"
    IMPLIED: ClassVar = {"token": TOKEN}
    DEFAULTS: ClassVar = {"cache": IntegerAttr(1, i32)}


@irdl_op_definition
class AsyncTDMFusedCopyGlobalToLocalOp(EffectOp):
    """`amdg.async_tdm_fused_copy_global_to_local %d, %e into %a, %b : .. -> ..`: boxes of several descriptors."""

    name = "amdg.async_tdm_fused_copy_global_to_local"

    descs = var_operand_def()
    dests = var_operand_def(MemDescType)
    token = result_def(TOKEN)
    warp_used_hints = opt_prop_def()

    irdl_options = (SameVariadicOperandSize(),)
    FORM: ClassVar = "$descs into $dests {} : type($descs) -> type($dests)"
    IMPLIED: ClassVar = {"token": TOKEN}


@irdl_op_definition
class AsyncTDMCopyLocalToGlobalOp(EffectOp):
    """Copy from shared memory into the box that a descriptor names; then arrive at the barrier, if there is one."""

    name = "amdg.async_tdm_copy_local_to_global"

    desc = operand_def()
    src = operand_def(MemDescType)
    barrier = opt_operand_def(MemDescType)
    token = result_def(TOKEN)
    cache = opt_prop_def()

    FORM: ClassVar = "$desc from $src(, barrier = $barrier)? {} : type($src)(, type($barrier))? -> type($desc)"
    IMPLIED: ClassVar = {"token": TOKEN}
    DEFAULTS: ClassVar = {"cache": IntegerAttr(1, i32)}


@irdl_op_definition
class AsyncTDMGatherOp(EffectOp):
    """`amdg.async_tdm_gather %d[%rows] to %a, barrier = %b : .. -> ..`: copy rows into shared memory."""

    name = "amdg.async_tdm_gather"

    desc = operand_def()
    src_row_indices = operand_def()
    dst = operand_def(MemDescType)
    barrier = opt_operand_def(MemDescType)
    token = result_def(TOKEN)

    FORM: ClassVar = (
        "$desc[$src_row_indices] to $dst(, barrier = $barrier)? {}"
        " : type($src_row_indices), type($dst)(, type($barrier))? -> type($desc)"
    )
    IMPLIED: ClassVar = {"token": TOKEN}


@irdl_op_definition
class AsyncTDMScatterOp(EffectOp):
    """`amdg.async_tdm_scatter %d[%rows] from %a, barrier = %b : .. -> ..`: copy rows out of shared memory."""

    name = "amdg.async_tdm_scatter"

    desc = operand_def()
    dst_row_indices = operand_def()
    src = operand_def(MemDescType)
    barrier = opt_operand_def(MemDescType)
    retToken = result_def(TOKEN)

    FORM: ClassVar = (
        "$desc[$dst_row_indices] from $src(, barrier = $barrier)? {}"
        " : type($dst_row_indices), type($src)(, type($barrier))? -> type($desc)"
    )
    IMPLIED: ClassVar = {"retToken": TOKEN}


@irdl_op_definition
class AsyncTDMWaitOp(CountedWaitOp):
    """`%w = amdg.async_tdm_wait %t {num = 1 : i32}`: wait until at most so many ops of the mover are outstanding."""

    name = "amdg.async_tdm_wait"

    num = prop_def(IntegerAttr)

    FORM: ClassVar = "$asyncToken {}"


@irdl_op_definition
class AsyncTDMIntrinsicWaitOp(CountedWaitOp):
    """`%w = amdg.async_tdm_intrinsic_wait %t {count = 1 : i32}`: the same, counted by instructions."""

    name = "amdg.async_tdm_intrinsic_wait"

    count = prop_def(IntegerAttr)


@irdl_op_definition
class UpdateTensorDescriptorOp(TritonOp):
    """`%e = amdg.update_tensor_descriptor %d add_offsets = [%x, %y] pred = %p : !tt.tensordesc<..>`: another box."""

    name = "amdg.update_tensor_descriptor"

    desc = operand_def()
    add_offsets = var_operand_def(i32)
    set_bounds = var_operand_def(i32)
    pred = opt_operand_def(i32)
    result = result_def()
    clamp_bounds = opt_prop_def()

    irdl_options = (SEGMENTS,)
    traits = traits_def(Pure())
    FORM: ClassVar = (
        "$desc( add_offsets = [$add_offsets])?( set_bounds = [$set_bounds])?( pred = $pred)? {} : type($desc)"
    )
    IMPLIED: ClassVar = {"add_offsets": i32, "set_bounds": i32, "pred": i32, "result": same("desc")}


# Barriers -------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class InitBarrierOp(EffectOp):
    """`amdg.init_barrier %b, 128 : !ttg.memdesc<1xi64, ..>`: made for so many arrivals a phase."""

    name = "amdg.init_barrier"

    alloc = operand_def(MemDescType)
    count = prop_def(IntegerAttr)

    FORM: ClassVar = "$alloc, $count {} : type($alloc)"


@irdl_op_definition
class ArriveBarrierOp(EffectOp):
    """`%parity = amdg.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, ..> -> i32`: each thread arrives, with that count."""

    name = "amdg.arrive_barrier"

    alloc = operand_def(MemDescType)
    result = result_def(i32)
    count = prop_def(IntegerAttr)

    FORM: ClassVar = "$alloc, $count {} : type($alloc) -> type($result)"


@irdl_op_definition
class WaitBarrierOp(EffectOp):
    """`amdg.wait_barrier %b, %phase : !ttg.memdesc<1xi64, ..>`: wait until the phase of that parity is complete."""

    name = "amdg.wait_barrier"

    alloc = operand_def(MemDescType)
    phase = operand_def(i32)

    FORM: ClassVar = "$alloc, $phase {} : type($alloc)"
    IMPLIED: ClassVar = {"phase": i32}


@irdl_op_definition
class AsyncCopyMBarrierArriveOp(EffectOp):
    """`amdg.async_copy_mbarrier_arrive %b : ..`: each thread arrives when its copies are complete."""

    name = "amdg.async_copy_mbarrier_arrive"

    barrier = operand_def(MemDescType)

    FORM: ClassVar = "$barrier {} : type($barrier)"


@irdl_op_definition
class CondBarrierOp(EffectOp):
    """`amdg.cond_barrier %p`: only warps for which `%p` holds meet."""

    name = "amdg.cond_barrier"

    pred = operand_def(i1)

    FORM: ClassVar = "$pred {}"
    IMPLIED: ClassVar = {"pred": i1}


@irdl_op_definition
class ClusterBarrierArriveOp(EffectOp):
    """`amdg.cluster_barrier_arrive`: the block arrives at the barrier of its cluster."""

    name = "amdg.cluster_barrier_arrive"

    FORM: ClassVar = "{}"


@irdl_op_definition
class ClusterBarrierWaitOp(EffectOp):
    """`amdg.cluster_barrier_wait`: wait until all blocks of the cluster have arrived."""

    name = "amdg.cluster_barrier_wait"

    FORM: ClassVar = "{}"


SCALED = "$input scale $scale {} : type($input), type($scale) -> type($output)"

COMPUTING = tuple(
    computing_ops(
        "amdg",
        [
            Row(
                "extract_slice",
                "source",
                "result",
                "$source [longs($static_offsets)] {} : type($source) to type($result)",
                attributes="static_offsets",
            ),
            Row("concat", "sources*", "result", "$sources {} : type($sources) -> type($result)"),
            Row("in_thread_transpose", "src", "result", "$src {} : type($src) -> type($result)"),
            *(
                Row(f"scaled_{name}", "input scale", "output", SCALED, attributes="axis")
                for name in ("upcast_fp4", "upcast_fp8", "downcast_fp4", "downcast_fp8")
            ),
        ],
    )
)
"""What only computes on tiles."""

OPS = (
    BufferLoadOp,
    BufferStoreOp,
    BufferAtomicRMWOp,
    BufferAtomicCASOp,
    BufferLoadToLocalOp,
    AsyncCopyLocalToGlobalOp,
    LocalLoadPackedTransposedOp,
    AsyncWaitOp,
    AsyncTDMCopyGlobalToLocalOp,
    AsyncTDMFusedCopyGlobalToLocalOp,
    AsyncTDMCopyLocalToGlobalOp,
    AsyncTDMGatherOp,
    AsyncTDMScatterOp,
    AsyncTDMWaitOp,
    AsyncTDMIntrinsicWaitOp,
    UpdateTensorDescriptorOp,
    InitBarrierOp,
    ArriveBarrierOp,
    WaitBarrierOp,
    AsyncCopyMBarrierArriveOp,
    CondBarrierOp,
    ClusterBarrierArriveOp,
    ClusterBarrierWaitOp,
)

AMDG = Dialect("amdg", [*OPS, *COMPUTING], [])
