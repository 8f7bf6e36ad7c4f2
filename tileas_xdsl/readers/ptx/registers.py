"""
Special registers (PTX ISA, "Special Registers"): the op that reads each, or why it is an unknown number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm import registers as ops


@dataclass(frozen=True)
class SpecialRegister:
    """`op` reads it; with neither an op nor a `value` it is a number that is not followed."""

    bits: int = 32
    op: type[Operation] | None = None
    value: int | None = None


def _with_axes(name: str, x: type[Operation], y: type[Operation], z: type[Operation]) -> dict[str, SpecialRegister]:
    return {f"{name}.{axis}": SpecialRegister(op=op) for axis, op in zip("xyz", (x, y, z), strict=True)}


SPECIAL: Mapping[str, SpecialRegister] = {
    **_with_axes("tid", ops.ThreadIdXOp, ops.ThreadIdYOp, ops.ThreadIdZOp),
    **_with_axes("ntid", ops.BlockDimXOp, ops.BlockDimYOp, ops.BlockDimZOp),
    **_with_axes("ctaid", ops.BlockIdXOp, ops.BlockIdYOp, ops.BlockIdZOp),
    **_with_axes("nctaid", ops.GridDimXOp, ops.GridDimYOp, ops.GridDimZOp),
    **_with_axes("clusterid", ops.ClusterIdXOp, ops.ClusterIdYOp, ops.ClusterIdZOp),
    **_with_axes("nclusterid", ops.ClusterDimXOp, ops.ClusterDimYOp, ops.ClusterDimZOp),
    **_with_axes("cluster_ctaid", ops.BlockInClusterIdXOp, ops.BlockInClusterIdYOp, ops.BlockInClusterIdZOp),
    **_with_axes("cluster_nctaid", ops.ClusterDimBlocksXOp, ops.ClusterDimBlocksYOp, ops.ClusterDimBlocksZOp),
    "cluster_ctarank": SpecialRegister(op=ops.ClusterIdOp),
    "cluster_nctarank": SpecialRegister(op=ops.ClusterDimOp),
    "laneid": SpecialRegister(op=ops.LaneIdOp),
    "warpid": SpecialRegister(op=ops.WarpIdOp),
    "nwarpid": SpecialRegister(op=ops.WarpDimOp),
    "WARP_SZ": SpecialRegister(value=32),
    **{f"lanemask_{name}": SpecialRegister() for name in ("eq", "le", "lt", "ge", "gt")},
    **{name: SpecialRegister() for name in ("smid", "nsmid", "clock", "clock_hi", "globaltimer_lo", "globaltimer_hi")},
    **{name: SpecialRegister() for name in ("total_smem_size", "dynamic_smem_size", "aggr_smem_size")},
    **{name: SpecialRegister(64) for name in ("gridid", "clock64", "globaltimer", "current_graph_exec")},
    **{name: SpecialRegister(1) for name in ("is_explicit_cluster",)},
    **{f"envreg{number}": SpecialRegister() for number in range(32)},
}
IN_CLUSTER: Mapping[str, int] = {
    "cluster_ctarank": 0,
    "cluster_nctarank": 1,
    **{f"cluster_ctaid.{axis}": 0 for axis in "xyz"},
    **{f"cluster_nctaid.{axis}": 1 for axis in "xyz"},
}
"""What registers of a cluster are where a kernel is launched without one: each block is a cluster."""
