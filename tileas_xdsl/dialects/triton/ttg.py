"""
The dialect `ttg`: shared memory, its views, `cp.async` and its groups, barriers of threads, partitions of warps.

    %a = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
    %slot = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x128x64xf16, ..> -> !ttg.memdesc<128x64xf16, ..>
    %t = ttg.async_copy_global_to_local %ptrs, %slot : tensor<128x64x!tt.ptr<f16>, #blocked> -> <128x64xf16, ..>
    %g = ttg.async_commit_group tokens %t
    %w = ttg.async_wait %g {num = 2 : i32}

As Triton 3.9 prints it. Source: the op definitions that Triton's package carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i1, i32
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike

from tileas_xdsl.dialects.triton.computing import Row, computing_ops
from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.encodings import TTG_ENCODINGS
from tileas_xdsl.dialects.triton.forms import TritonOp, same
from tileas_xdsl.dialects.triton.partitions import PARTITION_OPS
from tileas_xdsl.dialects.triton.tt import FALSE, SEGMENTS, behind, mask_of
from tileas_xdsl.dialects.triton.types import AsyncTokenType, MemDescType
from tileas_xdsl.interfaces import AllocationOpInterface

TOKEN = AsyncTokenType()

# Shared memory --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class LocalAllocOp(TritonOp, AllocationOpInterface):
    """`%a = ttg.local_alloc %t : (tensor<..>) -> !ttg.memdesc<..>`: shared memory, and what is in it."""

    name = "ttg.local_alloc"

    src = opt_operand_def()
    result = result_def(MemDescType)
    alignment = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "( $src)? {} : signature"

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return self.results


@irdl_op_definition
class LocalDeallocOp(TritonOp):
    """`ttg.local_dealloc %a : !ttg.memdesc<..>`: from here on the bytes may be something else's."""

    name = "ttg.local_dealloc"

    src = operand_def(MemDescType)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src {} : type($src)"


@irdl_op_definition
class MemdescIndexOp(TritonOp):
    """`%s = ttg.memdesc_index %a[%i] : .. -> ..`: element `%i` of the leading dimension."""

    name = "ttg.memdesc_index"

    src = operand_def(MemDescType)
    index = operand_def(i32)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    FORM: ClassVar = "$src[$index] {} : type($src) -> type($result)"
    IMPLIED: ClassVar = {"index": i32}


@irdl_op_definition
class MemdescSubsliceOp(TritonOp):
    """`%s = ttg.memdesc_subslice %a[0, 16] : .. -> ..`: a box at constant offsets."""

    name = "ttg.memdesc_subslice"

    src = operand_def(MemDescType)
    result = result_def(MemDescType)
    offsets = prop_def(DenseArrayBase)

    traits = traits_def(Pure())
    FORM: ClassVar = "$src[numbers($offsets)] {} : type($src) -> type($result)"


@irdl_op_definition
class MemdescSubviewOp(TritonOp):
    """
    `%s = ttg.memdesc_subview %a[%i, %j, %k] : .. -> ..`: a box, less leading dimensions that its type lacks.

    Releases of Triton before 3.5 have it for `memdesc_index` and `memdesc_subslice`.
    """

    name = "ttg.memdesc_subview"

    src = operand_def(MemDescType)
    offsets = var_operand_def(i32)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    FORM: ClassVar = "$src[$offsets] {} : type($src) -> type($result)"
    IMPLIED: ClassVar = {"offsets": i32}


class RenamingOp(TritonOp):
    """Base of the ops that give the same bytes another type."""

    src = operand_def(MemDescType)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    FORM: ClassVar = "$src {} : type($src) -> type($result)"


@irdl_op_definition
class MemdescTransOp(RenamingOp):
    """`%t = ttg.memdesc_trans %a {order = array<i32: 1, 0>} : .. -> ..`: the dimensions in another order."""

    name = "ttg.memdesc_trans"

    order = prop_def(DenseArrayBase)


@irdl_op_definition
class MemdescReshapeOp(RenamingOp):
    """`%t = ttg.memdesc_reshape %a : .. -> ..`: the same elements under another shape."""

    name = "ttg.memdesc_reshape"


@irdl_op_definition
class MemdescReinterpretOp(RenamingOp):
    """`%t = ttg.memdesc_reinterpret %a : .. -> ..`: the same bytes as other elements."""

    name = "ttg.memdesc_reinterpret"


@irdl_op_definition
class LocalLoadOp(TritonOp):
    """`%t = ttg.local_load %a token %w : !ttg.memdesc<..> -> tensor<..>`: read shared memory."""

    name = "ttg.local_load"

    src = operand_def(MemDescType)
    token = opt_operand_def(TOKEN)
    result = result_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src( token $token)? {} : type($src) -> type($result)"
    IMPLIED: ClassVar = {"token": TOKEN}


@irdl_op_definition
class LocalStoreOp(TritonOp):
    """`ttg.local_store %t, %a : tensor<..> -> !ttg.memdesc<..>`: write shared memory."""

    name = "ttg.local_store"

    src = operand_def()
    dst = operand_def(MemDescType)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src, $dst {} : type($src) -> type($dst)"


@irdl_op_definition
class LocalGatherOp(TritonOp):
    """`%t = ttg.local_gather %a[%i] {axis = 0 : i32} : .., tensor<..> -> tensor<..>`: read at computed places."""

    name = "ttg.local_gather"

    src = operand_def(MemDescType)
    indices = operand_def()
    token = opt_operand_def(TOKEN)
    result = result_def()
    axis = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$src[$indices]( token $token)? {} : type($src), type($indices) -> type($result)"
    IMPLIED: ClassVar = {"token": TOKEN}


@irdl_op_definition
class LocalScatterOp(TritonOp):
    """`ttg.local_scatter %a[%i], %v {axis = 0 : i32} : .., tensor<..>, tensor<..>`: write at computed places."""

    name = "ttg.local_scatter"

    dst = operand_def(MemDescType)
    values = operand_def()
    indices = operand_def()
    token = opt_operand_def(TOKEN)
    axis = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$dst[$indices], $values( token $token)? {} : type($dst), type($indices), type($values)"
    IMPLIED: ClassVar = {"token": TOKEN}


@irdl_op_definition
class LocalAtomicScatterRMWOp(TritonOp):
    """`%old = ttg.local_atomic_scatter_rmw add, %a[%i], %v {axis = 0 : i32} : (...) -> tensor<..>`."""

    name = "ttg.local_atomic_scatter_rmw"

    dst = operand_def(MemDescType)
    values = operand_def()
    indices = operand_def()
    mask = opt_operand_def()
    result = result_def()
    atomic_rmw_op = prop_def(IntegerAttr)
    axis = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$atomic_rmw_op<atomic>, $dst[$indices], $values(, $mask)? {} : signature"


# cp.async -------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class AsyncCopyGlobalToLocalOp(TritonOp):
    """
    Copy from global to shared memory: PTX `cp.async`, complete when its group is.

    `%t = ttg.async_copy_global_to_local %ptrs, %a mask %m other %o : tensor<..> -> <..>`
    """

    name = "ttg.async_copy_global_to_local"

    src = operand_def()
    result = operand_def(MemDescType)
    mask = opt_operand_def()
    other = opt_operand_def()
    token = result_def(TOKEN)
    cache = opt_prop_def()
    evict = opt_prop_def()
    cachePolicy = opt_prop_def()
    isVolatile = opt_prop_def()
    contiguity = opt_prop_def()

    irdl_options = (SEGMENTS,)
    traits = traits_def(TouchesMemory())
    FORM: ClassVar = (
        "$src, $result( mask $mask)?( other $other)?( cacheModifier = $cache<cache>)?"
        "( evictionPolicy = $evict<eviction>)? {} : type($src) -> short($result)"
    )
    IMPLIED: ClassVar = {"mask": mask_of("src"), "other": behind("src"), "token": TOKEN}
    DEFAULTS: ClassVar = {"isVolatile": FALSE, "contiguity": IntegerAttr(1, i32)}


@irdl_op_definition
class AsyncCommitGroupOp(TritonOp):
    """`%g = ttg.async_commit_group tokens %t, %u`: all copies that are in no group become one."""

    name = "ttg.async_commit_group"

    input_tokens = var_operand_def(TOKEN)
    token = result_def(TOKEN)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "( tokens $input_tokens)? {}"
    IMPLIED: ClassVar = {"input_tokens": TOKEN, "token": TOKEN}


@irdl_op_definition
class AsyncWaitOp(TritonOp):
    """`%w = ttg.async_wait %g {num = 2 : i32}`: wait until at most the `num` youngest groups are unfinished."""

    name = "ttg.async_wait"

    tokens = var_operand_def(TOKEN)
    token = result_def(TOKEN)
    num = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "( $tokens)? {}"
    IMPLIED: ClassVar = {"tokens": TOKEN, "token": TOKEN}


# Threads and places ---------------------------------------------------------------------------------------------------


@irdl_op_definition
class BarrierOp(TritonOp):
    """`ttg.barrier local|global_read`: the threads of the agent meet, and order their accesses to these memories."""

    name = "ttg.barrier"

    addrSpace = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$addrSpace<spaces> {}"


@irdl_op_definition
class WarpIdOp(TritonOp):
    """`%w = ttg.warp_id`: the number of the warp."""

    name = "ttg.warp_id"

    result = result_def(i32)
    omitUniformHint = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{}"
    IMPLIED: ClassVar = {"result": i32}


@irdl_op_definition
class GlobalScratchAllocOp(TritonOp, AllocationOpInterface):
    """`%p = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>`: global memory."""

    name = "ttg.global_scratch_alloc"

    result = result_def()
    nbytes = prop_def(IntegerAttr)
    alignment = opt_prop_def()
    third_party_allocation = opt_prop_def()
    shared_cluster_state = opt_prop_def()

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "{} : type($result)"

    @property
    def allocated_values(self) -> Sequence[SSAValue]:
        return self.results


@irdl_op_definition
class MaskOp(IRDLOperation):
    """`"ttg.mask"(%p) ({ ... }) : (i1) -> (f32)`: what the pipeliner has not expanded yet."""

    name = "ttg.mask"

    pred = operand_def(i1)
    results_ = var_result_def()
    body = region_def()

    traits = traits_def(RecursiveMemoryEffect())


@irdl_op_definition
class MaskReturnOp(TritonOp):
    """`ttg.mask.return %x : f32`."""

    name = "ttg.mask.return"

    result = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike())
    FORM: ClassVar = "$result {} : type($result)"


@irdl_op_definition
class PredicateStageOp(TritonOp):
    """`%p = ttg.predicate_stage %iv, %ub, %step maxStage 2 stage 0 : i32 -> i1`: what the pipeliner expands."""

    name = "ttg.predicate_stage"

    iv = operand_def()
    ub = operand_def()
    step = operand_def()
    result = result_def()
    maxStage = prop_def(IntegerAttr)
    stage = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$iv, $ub, $step maxStage $maxStage stage $stage {} : type($iv) -> type($result)"
    IMPLIED: ClassVar = {"ub": same("iv"), "step": same("iv")}


COMPUTING = tuple(
    computing_ops(
        "ttg",
        [
            Row(
                "convert_layout",
                "src",
                "result",
                "$src {} : type($src) -> type($result)",
                attributes="force_warp_shuffle",
            ),
            Row("fp4_to_fp", "src", "result", "$src {} : type($src) -> type($result)", attributes="axis"),
        ],
    )
)
"""What only computes on tiles."""

OPS = (
    LocalAllocOp,
    LocalDeallocOp,
    MemdescIndexOp,
    MemdescSubsliceOp,
    MemdescSubviewOp,
    MemdescTransOp,
    MemdescReshapeOp,
    MemdescReinterpretOp,
    LocalLoadOp,
    LocalStoreOp,
    LocalGatherOp,
    LocalScatterOp,
    LocalAtomicScatterRMWOp,
    AsyncCopyGlobalToLocalOp,
    AsyncCommitGroupOp,
    AsyncWaitOp,
    BarrierOp,
    WarpIdOp,
    GlobalScratchAllocOp,
    MaskOp,
    MaskReturnOp,
    PredicateStageOp,
)

TTG = Dialect("ttg", [*OPS, *PARTITION_OPS, *COMPUTING], [MemDescType, AsyncTokenType, *TTG_ENCODINGS])
