"""Matrices in shared memory that a descriptor names: the bytes that the tensor core reads of them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tileas_xdsl.layouts.descriptors import Operand, bytes_of
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.pointers import BYTE, RANK_SHIFT, Addresses

WORD = (1 << 64) - 1


def operand_view(
    agent: Agent,
    op: Operation,
    word: int,
    decode: Callable[[int], Operand],
    rows: int,
    row_bytes: int,
    *,
    k_major: bool,
) -> View:
    """
    What `op` reads through the descriptor `word`; for the numbers see `layouts.descriptors.bytes_of`. Raises
    `UnsupportedError` for a descriptor that is none, and one that leads to no object in shared memory.
    """
    try:
        operand = decode(word & WORD)
    except LayoutError as error:
        raise UnsupportedError(op, f"has a descriptor that is none: {error}") from error
    runs = bytes_of(operand, rows, row_bytes, k_major=k_major)
    address, addresses = address_in_block(agent, operand), agent.shared(Addresses)
    base = addresses.base(address)
    if base is None:
        raise UnsupportedError(
            op,
            f"has a descriptor of byte {operand.address} of shared memory, where no object is: make it of the address "
            "of one (llvm.ptrtoint), whose low 18 bits it takes, divided by 16",
        )
    offset = addresses.offset(address) - (operand.address - runs.start)
    return View(base, offset, (*runs.counts, runs.length), (*runs.steps, 1), BYTE)


def address_in_block(agent: Agent, operand: Operand) -> int:
    """Where a matrix lies: a descriptor has the low bits of an address in the block of `agent`."""
    return operand.address if agent.block is None else operand.address + (agent.block.rank << RANK_SHIFT)
