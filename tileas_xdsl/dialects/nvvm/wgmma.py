"""
The order of `wgmma` (sm_90a): matrix multiplications that a warpgroup starts and waits for.

The multiplications form a queue of groups, as copies do with `cp.async`. The fence comes before
the first one that reads registers (or accumulators) written by ordinary instructions.

    nvvm.wgmma.fence.aligned
    // ... wgmma.mma_async ...
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, prop_def

from tileas_xdsl.dialects.upstream import EffectfulOp, integer


@irdl_op_definition
class WgmmaFenceAlignedOp(EffectfulOp):
    """
    Order accesses to registers before the multiplications that follow.

    `nvvm.wgmma.fence.aligned`
    """

    name = "nvvm.wgmma.fence.aligned"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaGroupSyncAlignedOp(EffectfulOp):
    """
    Close a group of all multiplications started since the last commit.

    `nvvm.wgmma.commit.group.sync.aligned`
    """

    name = "nvvm.wgmma.commit.group.sync.aligned"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class WgmmaWaitGroupSyncOp(EffectfulOp):
    """
    Block until at most the `group` youngest groups are unfinished. (An i64; other waits take i32.)

    `nvvm.wgmma.wait.group.sync.aligned 0`
    """

    name = "nvvm.wgmma.wait.group.sync.aligned"

    group = prop_def(integer(i64))

    assembly_format = "attr-dict $group"

    def __init__(self, group: int) -> None:
        super().__init__(properties={"group": IntegerAttr(group, i64)})


WGMMA_OPS: tuple[type[Operation], ...] = (
    WgmmaFenceAlignedOp,
    WgmmaGroupSyncAlignedOp,
    WgmmaWaitGroupSyncOp,
)
