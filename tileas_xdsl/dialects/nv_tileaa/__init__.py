"""
`nv_tileaa`, the alias-aware tile dialect of TileAS: it says what data flows where, not yet how.

`nv_tileas` is the level below: queues become pipelines, `execute` becomes `agent_switch`, and the other ops become the
ops of the same name. TileAS names 73 ops of this dialect; docs/dialects/gap-table-nv_tileaa.md says which are here and
why the others are not.

Names and shapes of ops of which the sources document neither are ours and listed on the dialect's page; ops that are
only named are in the gap table and not invented.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.nv_tileaa import attributes, canonicalization, predicates, types
from tileas_xdsl.dialects.nv_tileaa.atomics import (
    AtomicCasOp,
    AtomicRmwOp,
    GatherLoadOp,
    ScatterStoreOp,
    TiledAtomicRmwOp,
)
from tileas_xdsl.dialects.nv_tileaa.compute import (
    BlockTileOp,
    ConvDotOp,
    ConvTileOp,
    DotOp,
    ReduceOp,
    ScanOp,
)
from tileas_xdsl.dialects.nv_tileaa.control import (
    AssertOp,
    AssumeOp,
    CancelNextProgramIdOp,
    FuncOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    IsValidProgramIdOp,
    PragmaOp,
    PrintOp,
    ReturnOp,
)
from tileas_xdsl.dialects.nv_tileaa.elementwise import (
    AddFOp,
    BitcastOp,
    ClampFOp,
    DivFOp,
    Exp2Op,
    FmaOp,
    FpToFpOp,
    IntToPtrOp,
    MulFOp,
    MulHiUIOp,
    PtrToIntOp,
    RsqrtOp,
    SqrtOp,
    SubFOp,
)
from tileas_xdsl.dialects.nv_tileaa.memory import (
    AddPtrOp,
    CreateMemTokenOp,
    JoinMemTokenOp,
    LoadOp,
    MakeMemrefOp,
    StoreOp,
    TiledLoadOp,
    TiledStoreOp,
)
from tileas_xdsl.dialects.nv_tileaa.opaque import (
    ElementwiseInlineAsmOp,
    ExternElementwiseOp,
    InjectIROp,
    LaunchFuncOp,
    MessageOp,
    PluginOp,
)
from tileas_xdsl.dialects.nv_tileaa.queue import (
    CreateQueueOp,
    ExecuteOp,
    GetOp,
    MarkForReuseOp,
    PutOp,
    QueueYieldOp,
)
from tileas_xdsl.dialects.nv_tileaa.regions import YieldOp, enter_patterns
from tileas_xdsl.dialects.nv_tileaa.structure import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    ExtractOp,
    ExtractSliceOp,
    GenerateOp,
    PermuteOp,
    SplatOp,
    ViewOp,
)

enter_patterns(canonicalization.PATTERNS)

NvTileAA = Dialect(
    "nv_tileaa",
    [
        AddFOp,
        AddPtrOp,
        AssertOp,
        AssumeOp,
        AtomicCasOp,
        AtomicRmwOp,
        BitcastOp,
        BlockTileOp,
        BroadcastOp,
        CancelNextProgramIdOp,
        CatOp,
        ClampFOp,
        ConvDotOp,
        ConvTileOp,
        CreateMemTokenOp,
        CreateQueueOp,
        DivFOp,
        DotOp,
        ElementwiseInlineAsmOp,
        ExecuteOp,
        Exp2Op,
        ExpandDimsOp,
        ExternElementwiseOp,
        ExtractOp,
        ExtractSliceOp,
        FmaOp,
        FpToFpOp,
        FuncOp,
        GatherLoadOp,
        GenerateOp,
        GetNumProgramsOp,
        GetOp,
        GetProgramIdOp,
        InjectIROp,
        IntToPtrOp,
        IsValidProgramIdOp,
        JoinMemTokenOp,
        LaunchFuncOp,
        LoadOp,
        MakeMemrefOp,
        MarkForReuseOp,
        MessageOp,
        MulFOp,
        MulHiUIOp,
        PermuteOp,
        PluginOp,
        PragmaOp,
        PrintOp,
        PtrToIntOp,
        PutOp,
        QueueYieldOp,
        ReduceOp,
        ReturnOp,
        RsqrtOp,
        ScanOp,
        ScatterStoreOp,
        SplatOp,
        SqrtOp,
        StoreOp,
        SubFOp,
        TiledAtomicRmwOp,
        TiledLoadOp,
        TiledStoreOp,
        ViewOp,
        YieldOp,
    ],
    [
        attributes.ActivationLayoutAttr,
        predicates.BoundedAttr,
        attributes.CacheModifierAttr,
        attributes.ComputeCapabilityAttr,
        attributes.ConvParamsAttr,
        predicates.DivByAttr,
        attributes.EvictionPolicyAttr,
        attributes.KernelSpecAttr,
        attributes.LegacyComputeCapabilityAttr,
        attributes.MemScopeAttr,
        attributes.MemSemanticAttr,
        attributes.PaddingValueAttr,
        attributes.RmwModeAttr,
        attributes.RoundingModeAttr,
        predicates.SameElementsAttr,
        attributes.SignednessAttr,
        attributes.TargetSpecAttr,
        types.ArrayType,
        types.MemTokenType,
        types.PointerType,
        types.ProgramIdType,
        types.QueueType,
        types.TiledViewType,
    ],
)
