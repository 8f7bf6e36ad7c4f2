"""The dialect `nv_tileas` with all its ops. Who needs a few of them imports their files, and not this one."""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import (
    AtomAttr,
    AtomPlanAttr,
    CacheModifierAttr,
    EvictionPolicyAttr,
    MemScopeAttr,
    MemSemanticAttr,
    OutOfBoundsModeAttr,
    PaddingValueAttr,
    RmwModeAttr,
    SwizzleModeAttr,
)
from tileas_xdsl.dialects.nv_tileas.compute import COMPUTE_OPS
from tileas_xdsl.dialects.nv_tileas.control import CONTROL_OPS
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, LayoutFormAttr
from tileas_xdsl.dialects.nv_tileas.memory import MEMORY_OPS
from tileas_xdsl.dialects.nv_tileas.pipeline import PIPELINE_OPS
from tileas_xdsl.dialects.nv_tileas.pointers import POINTER_OPS
from tileas_xdsl.dialects.nv_tileas.slices import SLICE_OPS
from tileas_xdsl.dialects.nv_tileas.structure import STRUCTURE_OPS
from tileas_xdsl.dialects.nv_tileas.tma import TMA_OPS
from tileas_xdsl.dialects.nv_tileas.tokens import TOKEN_OPS
from tileas_xdsl.dialects.nv_tileas.types import (
    AsyncTokenType,
    ConsumerTokenType,
    MBarrierType,
    PipelineIteratorType,
    ProducerTokenType,
    TiledViewType,
    TmaDescriptorType,
)
from tileas_xdsl.dialects.scalars import Float4E0M3Type

NvTileAS = Dialect(
    "nv_tileas",
    [
        *PIPELINE_OPS,
        AgentSwitchOp,
        *TOKEN_OPS,
        *STRUCTURE_OPS,
        *SLICE_OPS,
        *MEMORY_OPS,
        *POINTER_OPS,
        *TMA_OPS,
        *COMPUTE_OPS,
        *CONTROL_OPS,
    ],
    [
        AsyncTokenType,
        ProducerTokenType,
        ConsumerTokenType,
        PipelineIteratorType,
        TmaDescriptorType,
        MBarrierType,
        TiledViewType,
        Float4E0M3Type,
        LayoutAttr,
        LayoutFormAttr,
        AtomAttr,
        AtomPlanAttr,
        CacheModifierAttr,
        EvictionPolicyAttr,
        MemSemanticAttr,
        MemScopeAttr,
        RmwModeAttr,
        PaddingValueAttr,
        SwizzleModeAttr,
        OutOfBoundsModeAttr,
    ],
)
