"""
What the ops of `tt` do: functions and calls; tiles are computed with, and not followed.

Global memory is not followed: which elements an access through a tensor of pointers touches depends on data, and every
program instance has its part. A verdict says so once.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.triton import tt
from tileas_xdsl.dialects.triton.types import PointerType, TensorDescType
from tileas_xdsl.dialects.upstream_arithmetic import is_of
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import GLOBAL_MEMORY, NOT_ASYNCHRONOUS_YET
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.handles import unknown_outcome
from tileas_xdsl.machine.core.meaning import control, effect, pure, sync, terminators
from tileas_xdsl.machine.core.standings import Answer, give_results
from tileas_xdsl.machine.core.threads.earlier_grids import (
    launch_dependents,
    touch_unfollowed,
    wait_for_earlier_grids,
)
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.calls import call_symbol
from tileas_xdsl.machine.parts.thread_numbers import block_extents, block_ids

WARPS = "ttg.num-warps"
"""Attribute of a module in TTGIR: how many warps a program has."""
OF_TTGIR = frozenset({"ttg", "ttng", "amdg"})

terminators(tt.ReturnOp, tt.ReduceReturnOp, tt.ScanReturnOp, tt.MapElementwiseReturnOp)


@per_op
def _is_in_ttir(op: Operation) -> bool:
    """Whether the module around `op` has nothing of TTGIR: no number of warps, and none of its ops."""
    module = op
    while (above := module.parent_op()) is not None:
        module = above
    return WARPS not in module.attributes and not any(is_of(each, OF_TTGIR) for each in module.walk())


@binds_type(PointerType.name)
@binds_type(TensorDescType.name)
def bind_global(_argument: object, _given: object, _with_data: bool) -> Any:
    """An address or a descriptor: what it leads to is not followed."""
    return UNKNOWN


@control(tt.CallOp, may_move=("arguments",), calls=True)
def _call(agent: Agent, op: tt.CallOp, *arguments: Any) -> Answer:
    return call_symbol(agent, op, op.callee, arguments).then(give_results)


@pure(*tt.COMPUTING, tt.MakeTensorDescriptorOp)
def _compute(_agent: Agent, op: Operation, *_operands: Any) -> Any:
    """What it computes is not followed."""
    return unknown_outcome(op)


@effect(tt.ReduceOp, tt.ScanOp, tt.MapElementwiseOp)
def _combine(_agent: Agent, op: Operation, *_operands: Any) -> Any:
    return unknown_outcome(op)


def _name_of_axis(op: Any) -> str:
    return "xyz"[op.axis.value.data]


block_ids(lambda op: f"program_id.{_name_of_axis(op)}", tt.GetProgramIdOp)
block_extents(lambda op: f"num_programs.{_name_of_axis(op)}", tt.GetNumProgramsOp)


def access_unfollowed(agent: Agent, op: Operation) -> None:
    """`op` accesses global memory, or starts to: all that matters of where is that earlier grids are complete."""
    agent.assume(GLOBAL_MEMORY)
    touch_unfollowed(agent, op)


@effect(
    tt.LoadOp,
    tt.StoreOp,
    tt.AtomicRMWOp,
    tt.AtomicCASOp,
    tt.AtomicLoadOp,
    tt.AtomicStoreOp,
    tt.DescriptorLoadOp,
    tt.DescriptorStoreOp,
    tt.DescriptorReduceOp,
    tt.DescriptorGatherOp,
    tt.DescriptorScatterOp,
    opaque=("*",),
)
def access_global(agent: Agent, op: Operation, *_operands: Any) -> Any:
    """Read or write global memory, which is not followed; what is read is unknown."""
    access_unfollowed(agent, op)
    if _is_in_ttir(agent, op):
        agent.assume(NOT_ASYNCHRONOUS_YET)
    return unknown_outcome(op) if op.results else None


@effect(tt.PrintOp, tt.AssertOp, opaque=("*",))
def _nothing(_agent: Agent, _op: Operation, *_operands: Any) -> None:
    """Nothing that other agents of the program could see."""


@sync(tt.GridDependencyWaitOp)
def _wait_for_grids(agent: Agent, op: Operation) -> None:
    wait_for_earlier_grids(agent, op)


@sync(tt.GridDependencyLaunchDependentsOp)
def _launch_dependents(agent: Agent, _op: Operation) -> None:
    launch_dependents(agent)


@effect(tt.ElementwiseInlineAsmOp, tt.InlineAsmOp, tt.ExternElementwiseOp, opaque=("*",))
def _foreign(_agent: Agent, op: Any, *_operands: Any) -> Any:
    """Code that only computes. Raises `UnsupportedError` where it is not said to."""
    if not op.pure.value.data:
        raise UnsupportedError(
            op, "is code that may do anything, synchronise too; mark it pure=True if it only computes"
        )
    return unknown_outcome(op) if op.results else None


@effect(tt.AtomicPollOp, opaque=("*",))
def _poll(_agent: Agent, op: Operation, *_operands: Any) -> None:
    """Wait for a flag in global memory: whoever sets it may be another block, or another grid."""
    raise UndecidedError(op, "waits for a flag in global memory, and who sets it is not followed")
