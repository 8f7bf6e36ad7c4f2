"""
Reads at places that a check does not compute, in memory that nobody writes.

    %k = memref.load %indices[%i]              a number that is not computed when checking
    %t = nv_tileaa.tiled_load %a[%k, %c0]      somewhere in 'a'

Where such a read lies changes nothing as long as no access writes to its array: reads do not race with each other. So a
check reads at index 0 in its place, and is undecided as soon as something writes to the array, before or after.

    %p = llvm.getelementptr %a[%k]             an address, of which the same holds if only reads use it
    %x = llvm.load %p

    nvvm.cp.async.shared.global %to, %p, 16, cache = cg, %size          all or nothing: as %k is below a bound, or not
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.ir import Operation, Use

from tileas_xdsl.analysis.memory.atomic_reads import is_atomic
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import LIES_INSIDE
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.values import UNKNOWN

ADDRESS = "computes an address from"
NUMBERS = frozenset([int])
"""The types of indices that are known as they stand."""


def places_to_read(
    agent: Agent, op: Operation, base: MemoryObject, indices: Sequence[Any]
) -> tuple[Sequence[Any], bool]:
    """
    The `indices` at which `op` reads in `base`, and whether some of them are zeros that stand for what is not known.

    Raises `UndecidedError` for such an index where the array is written.
    """
    if NUMBERS.issuperset(map(type, indices)):
        return indices, False
    if agent.has_data:
        return [agent.known(index, op, ADDRESS) for index in indices], False
    seen = [agent.resolve(index) for index in indices]
    if not any(index is UNKNOWN for index in seen):
        return [agent.known(index, op, ADDRESS) for index in seen], False
    agent.read_somewhere(base, op)
    agent.assume(LIES_INSIDE.about(base.family))
    return [0 if index is UNKNOWN else agent.known(index, op, ADDRESS) for index in seen], True


def size_to_read(agent: Agent, op: Operation, base: MemoryObject, size: Any) -> int:
    """
    The `size` that `op` reads in `base`; nothing where it is not known.

    Raises `UndecidedError` for such a size where the array is written.
    """
    if agent.has_data or agent.resolve(size) is not UNKNOWN:
        return agent.known(size, op, "reads")
    agent.read_somewhere(base, op)
    agent.assume(LIES_INSIDE.about(base.family))
    return 0


def is_address_of_reads(op: llvm.GEPOp) -> bool:
    """Whether nothing uses the address that `op` computes but loads, copies from there, and addresses of these."""
    return all(_reads(use) for use in op.result.uses)


def _reads(use: Use) -> bool:
    match use.operation:
        case llvm.LoadOp() as load:
            return not is_atomic(load)
        case CpAsyncOp():
            return use.index == 1
        case llvm.GEPOp() as further:
            return use.index == 0 and is_address_of_reads(further)
        case _:
            return False
