"""
The dialect `nvvm`: the part of MLIR's that synchronises, as in LLVM 22.1.

One file a family: `mbarrier` (barriers that count arrivals and bytes), `cp_async` (small copies), `bulk` (bulk and
tensor copies), `wgmma` (matrix multiplications of a warpgroup, and their order), `tcgen05` and `tcgen05_mma` (tensor
memory, and multiplications there), `barrier` (named barriers, warp, cluster, grid), `fence`, `registers` (election,
register counts, special registers) and `thread` (exchange within a warp, inline PTX), `warp_matrix` (matrices of a
warp, and their products). Each op prints and refuses what mlir-opt 22 prints and refuses. What the ops do is that of
the PTX instructions that they lower to (PTX ISA).

Not here: conversions of numbers, and the ops of `wmma`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.nvvm.attributes import (
    BarrierReductionAttr,
    CacheEvictionPriorityAttr,
    ConstantRangeAttr,
    CTAGroupAttr,
    GridDepActionAttr,
    LoadCacheModifierAttr,
    MemOrderAttr,
    MemScopeAttr,
    PrefetchCacheLevelAttr,
    ProxyKindAttr,
    SetMaxRegisterActionAttr,
    SharedSpaceAttr,
    ShflKindAttr,
    TMALoadModeAttr,
    TMAReduxKindAttr,
    TMAStoreModeAttr,
    VoteSyncKindAttr,
)
from tileas_xdsl.dialects.nvvm.barrier import BARRIER_OPS
from tileas_xdsl.dialects.nvvm.bulk import BULK_OPS
from tileas_xdsl.dialects.nvvm.cp_async import CP_ASYNC_OPS
from tileas_xdsl.dialects.nvvm.fence import FENCE_OPS
from tileas_xdsl.dialects.nvvm.matrix_attributes import MATRIX_ATTRIBUTES
from tileas_xdsl.dialects.nvvm.mbarrier import MBARRIER_OPS
from tileas_xdsl.dialects.nvvm.registers import REGISTER_OPS
from tileas_xdsl.dialects.nvvm.tcgen05 import TCGEN05_OPS
from tileas_xdsl.dialects.nvvm.tcgen05_mma import TCGEN05_MMA_OPS
from tileas_xdsl.dialects.nvvm.thread import THREAD_OPS
from tileas_xdsl.dialects.nvvm.warp_matrix import WARP_MATRIX_OPS
from tileas_xdsl.dialects.nvvm.wgmma import WGMMA_OPS

NVVM = Dialect(
    "nvvm",
    [
        *MBARRIER_OPS,
        *CP_ASYNC_OPS,
        *BULK_OPS,
        *WARP_MATRIX_OPS,
        *WGMMA_OPS,
        *TCGEN05_OPS,
        *TCGEN05_MMA_OPS,
        *BARRIER_OPS,
        *FENCE_OPS,
        *REGISTER_OPS,
        *THREAD_OPS,
    ],
    [
        BarrierReductionAttr,
        CacheEvictionPriorityAttr,
        ConstantRangeAttr,
        CTAGroupAttr,
        GridDepActionAttr,
        LoadCacheModifierAttr,
        MemOrderAttr,
        MemScopeAttr,
        PrefetchCacheLevelAttr,
        ProxyKindAttr,
        SetMaxRegisterActionAttr,
        SharedSpaceAttr,
        ShflKindAttr,
        TMALoadModeAttr,
        TMAReduxKindAttr,
        TMAStoreModeAttr,
        VoteSyncKindAttr,
        *MATRIX_ATTRIBUTES,
    ],
)
