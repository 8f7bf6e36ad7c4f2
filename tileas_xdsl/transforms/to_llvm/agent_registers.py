"""
Registers that go from one agent to another (PTX ISA, "setmaxnreg").

    max_regs = [40, 232]         the kernel starts with the mean, 136; agent 0 lowers its own, agent 1 raises them

The target has to move them, and each agent is whole warpgroups.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

FIRST_TO_MOVE_REGISTERS = 90
"""The first compute capability with `setmaxnreg`."""
REGISTERS = "nvvm.maxnreg"
"""The attribute that says how many registers each thread of a function starts with."""
MOVED_BY = 8
"""Numbers of registers that `setmaxnreg` takes are multiples of it."""
FEWEST, MOST = 24, 256
"""Of these numbers."""
INHERITED = -1
"""In `max_regs`: the agent keeps what the kernel starts with, so nothing is moved."""


def is_taken(registers: int) -> bool:
    """Whether a number of registers is one that agents may have."""
    return registers == INHERITED or (FEWEST <= registers <= MOST and registers % MOVED_BY == 0)


def registers_of(function: Operation) -> int | None:
    """With how many registers each thread of a function starts; None where nothing is said."""
    said = function.attributes.get(REGISTERS)
    return said.value.data if isinstance(said, IntegerAttr) else None
