"""
What `shfl.sync` does (PTX ISA, "Data Movement and Conversion Instructions: shfl.sync"): each lane names another one and
gets what that has. It orders no accesses to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tileas_xdsl.dialects.nvvm.attributes import ShflKind
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.threads.by_thread import per_thread
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.values import unsigned
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.tensor_core import must_be_whole_warp

LANES = 31
"""The bits of an operand that count: those of a lane's number."""


def _lanes(agent: Agent, value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, PerThread) else (value,) * agent.size


def source_lane(kind: ShflKind, lane: int, offset: int, clamp: int) -> tuple[int, bool]:
    """The lane that `lane` reads, and whether the one that it names is in range; else it reads itself."""
    offset, segment, bound = offset & LANES, clamp >> 8 & LANES, clamp & LANES
    first = lane & segment
    last = first | bound & ~segment & LANES
    match kind:
        case ShflKind.UP:
            named = lane - offset
            is_there = named >= last
        case ShflKind.DOWN:
            named = lane + offset
            is_there = named <= last
        case ShflKind.BFLY:
            named = lane ^ offset
            is_there = named <= last
        case ShflKind.IDX:
            named = first | offset & ~segment & LANES
            is_there = named <= last
    return (named, True) if is_there else (lane, False)


@effect(ShflOp, per_thread=TakesPerThread.ITSELF)
def _shfl(agent: Agent, op: ShflOp, mask: Any, value: Any, offset: Any, clamp: Any) -> Any:
    must_be_whole_warp(agent, op)
    if agent.hardware is None:
        raise UndecidedError(
            op, "exchanges values between lanes, and nothing says how many there are: give the function nvvm.reqntid"
        )
    everybody = (1 << agent.size) - 1
    if unsigned(agent.known(mask, op, "names lanes by"), op.thread_mask.type) & everybody != everybody:
        raise UnsupportedError(op, "exchanges between some lanes of a warp; name all of them (-1)")
    values, offsets, clamps = (_lanes(agent, operand) for operand in (value, offset, clamp))
    found: list[Any] = []
    for lane in range(agent.size):
        numbers = [agent.known(given[lane], op, "names a lane by") for given in (offsets, clamps)]
        source, is_there = source_lane(op.kind.data, lane, *(unsigned(n, op.offset.type) for n in numbers))
        if source >= agent.size:
            raise UnsupportedError(op, f"reads lane {source} of a warp of {agent.size}")
        found.append((values[source], int(is_there)) if op.return_value_and_is_valid is not None else values[source])
    return per_thread(agent, found)
