"""The threads that run an op together: those of its agent, or of the block."""

from __future__ import annotations

from xdsl.ir import Operation, Region

from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.layouts.distributed import WARP_SIZE


def is_of_one_warp(op: Operation) -> bool:
    """Whether one warp runs an op."""
    agent = agent_of(op)
    if agent is not None:
        return _warps_of(agent) == 1
    function = enclosing_function(op)
    return function is not None and block_shape_of(function) == (WARP_SIZE, 1, 1)


def _warps_of(agent: Region) -> int | None:
    switch = agent.parent
    if not isinstance(switch, AgentSwitchOp) or switch.num_warps is None:
        return None
    return int(switch.num_warps.get_values()[switch.regions.index(agent)])
