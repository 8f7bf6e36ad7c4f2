"""Matrices in shared memory that a descriptor names: the bytes that the tensor core reads of them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tileas_xdsl.layouts.descriptors import Operand, bytes_of
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.pointers import BYTE, Addresses

WORD = (1 << 64) - 1


def operand_view(
    addresses: Addresses,
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
    base = addresses.base(operand.address)
    if base is None:
        raise UnsupportedError(
            op,
            f"has a descriptor of byte {operand.address} of shared memory, where no object is: make it of the address "
            "of one (llvm.ptrtoint), whose low 18 bits it takes, divided by 16",
        )
    offset = addresses.offset(operand.address) - (operand.address - runs.start)
    return View(base, offset, (*runs.counts, runs.length), (*runs.steps, 1), BYTE)
