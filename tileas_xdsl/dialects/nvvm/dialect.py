"""The dialect `nvvm` with the ops of all families. Who needs a few of them imports their files, and not this one."""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.nvvm.attributes import (
    BarrierReductionAttr,
    CacheEvictionPriorityAttr,
    CancelQueryAttr,
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
from tileas_xdsl.dialects.nvvm.cluster_launch import CLUSTER_LAUNCH_OPS
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
        *CLUSTER_LAUNCH_OPS,
        *FENCE_OPS,
        *REGISTER_OPS,
        *THREAD_OPS,
    ],
    [
        BarrierReductionAttr,
        CacheEvictionPriorityAttr,
        CancelQueryAttr,
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
