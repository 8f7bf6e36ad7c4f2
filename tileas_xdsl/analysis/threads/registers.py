"""
Registers that go from one agent to another (PTX ISA, "setmaxnreg"), and with how many each thread of a kernel starts.

    max_regs = [40, 232]         the kernel starts with the mean, 136; agent 0 lowers its own, agent 1 raises them

The target has to move them, and each agent is whole warpgroups.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

REGISTERS = "nvvm.maxnreg"
"""The attribute that says how many registers each thread of a function starts with."""
OF_MODULE = "ttg.maxnreg"
"""The same of a module of Triton, which it writes beside `actualRegisters`."""
BLOCKS = "nvvm.minctasm"
"""The attribute that says how many blocks of a function a multiprocessor has to hold at once."""
MOVED_BY = 8
"""Numbers of registers that `setmaxnreg` takes are multiples of it."""
FEWEST, MOST = 24, 256
"""Of these numbers."""
INHERITED = -1
"""In `max_regs`: the agent keeps what the kernel starts with, so nothing is moved."""
OF_MULTIPROCESSOR = 1 << 16
"""Registers of 32 bits (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""
THREADS_OF_WARP = 32


def is_taken(registers: int) -> bool:
    """Whether a number of registers is one that agents may have."""
    return registers == INHERITED or (FEWEST <= registers <= MOST and registers % MOVED_BY == 0)


def says_registers(function: Operation) -> bool:
    """Whether a function says with how many registers it starts, or how many blocks have to have room."""
    return REGISTERS in function.attributes or BLOCKS in function.attributes


def blocks_of(function: Operation, otherwise: int = 1) -> int:
    """How many blocks of a function a multiprocessor has to hold at once; `otherwise` where it does not say."""
    return max(_number(function, BLOCKS) or otherwise, 1)


@dataclass(frozen=True)
class Launch:
    """The registers with which a block is launched."""

    warps: int
    each: int
    """Of each thread."""
    is_stated: bool
    """Whether the program says so; else it is the most that a block can have."""


def launch_of(function: Operation, threads: int, blocks: int = 1) -> Launch:
    """
    The registers with which a block of `threads` threads that runs `function` is launched.

    With `maxnreg` it is that number, in whole units of allocation. Without it the compiler chooses, up to what a
    multiprocessor has for the threads that it has to hold (PTX ISA, ".maxnreg", ".minnctapersm"): those of `blocks`
    blocks, where the function does not say how many.
    """
    warps = -(-threads // THREADS_OF_WARP)
    held = warps * THREADS_OF_WARP * blocks_of(function, blocks)
    most = min(OF_MULTIPROCESSOR // held // MOVED_BY * MOVED_BY, MOST)
    stated = _number(function, REGISTERS)
    module = function.parent_op()
    if stated is None and module is not None:
        stated = _number(module, OF_MODULE)
    if stated is None:
        return Launch(warps, most, is_stated=False)
    return Launch(warps, min(-(-stated // MOVED_BY) * MOVED_BY, most), is_stated=True)


def _number(op: Operation, name: str) -> int | None:
    said = op.attributes.get(name)
    return said.value.data if isinstance(said, IntegerAttr) else None
