"""
How long shared memory takes for one instruction of a warp, counted in *wavefronts*: passes of the memory.

Shared memory has 32 banks of 4 bytes. A wavefront serves, in each bank, one word of 4 bytes, to all lanes that want
bytes of it (CUDA C++ Programming Guide, Shared Memory, compute capability 5.x and later). Which lanes go together
depends on how many bytes each accesses: all 32 at 1, 2 and 4 bytes, half a warp (lanes 0-15, 16-31) at 8, a quarter
(0-7, 8-15, 16-23, 24-31) at 16, so that a group never wants more than 128 bytes (NVIDIA developer forum, How to
understand the bank conflict of shared_mem, 260900; the same rule is used by Zhou et al., arXiv 2505.23819, section
5). ldmatrix and stmatrix access one row of 16 bytes for each of 8 lanes at a time, so a matrix counts like a quarter
of a warp.

Hardware may merge half warps where they want the same words; that is not counted on here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts.errors import LayoutError

WIDTHS = (1, 2, 4, 8, 16)
"""The bytes that one lane can load or store at once (PTX ISA, ld.shared and its vectors)."""


@dataclass(frozen=True)
class Banks:
    """The memory: so many banks, each so many bytes wide. Other numbers than those of the hardware serve tests."""

    count: int = 32
    width: int = 4

    @property
    def row(self) -> int:
        """The bytes of one wavefront."""
        return self.count * self.width


SHARED = Banks()


def together(width: int, banks: Banks = SHARED) -> int:
    """How many lanes go together where each accesses `width` bytes."""
    return max(1, banks.row // max(width, banks.width))


def wavefronts(addresses: Sequence[int], width: int, banks: Banks = SHARED) -> int:
    """
    The wavefronts of one instruction in which lane i accesses the bytes from `addresses[i]` on, `width` of them. Raises
    `LayoutError` for an address that is no multiple of the width: hardware faults on it.
    """
    if any(address % width for address in addresses):
        raise LayoutError(f"an access of {width} bytes needs an address that is a multiple of them")
    group = together(width, banks)
    groups = [addresses[first : first + group] for first in range(0, len(addresses), group)]
    return sum(_of_group(members, width, banks) for members in groups)


def _of_group(addresses: Sequence[int], width: int, banks: Banks) -> int:
    """The largest number of different words in one bank."""
    words = {(address + byte) // banks.width for address in addresses for byte in range(0, width, banks.width)}
    in_bank = [0] * banks.count
    for word in words:
        in_bank[word % banks.count] += 1
    return max(in_bank)
