"""
Fragments of a tile: which registers of a thread one instruction of the tensor core takes.

    A[128, 64] f16, 4 warps along M, m16n8k16      row 1, step 2 along K: the registers of (64, 32), (64, 33), ..
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.layouts.distributed import REGISTER
from tileas_xdsl.layouts.forms import Mma
from tileas_xdsl.layouts.fragments import atom


@dataclass(frozen=True)
class Fragments:
    """Where the fragments of an operand begin, and the registers in one."""

    registers: dict[tuple[int, int], int]
    """Coordinates of thread 0 -> its register."""
    inside: tuple[tuple[int, int], ...]
    """The coordinates in a fragment, register by register."""
    steps: tuple[int, int]
    """Rows and columns from one fragment of a warp to its next."""

    @staticmethod
    def of(tile: Tile, form: Mma, operand: str, steps: tuple[int, int]) -> Fragments:
        """The fragments of a tile."""
        layout = tile.layout
        places = {(at[0], at[1]): r for r in range(tile.count) for at in [layout.at(register=r)]}
        one = atom(form.shape, operand, tile.bits)
        inside = tuple((at[0], at[1]) for r in range(one.input_size(REGISTER)) for at in [one.at(register=r)])
        return Fragments(places, inside, steps)

    def numbers(self, row: int, column: int) -> list[int]:
        """The element numbers of a fragment."""
        first = row * self.steps[0], column * self.steps[1]
        return [self.registers[first[0] + down, first[1] + across] for down, across in self.inside]
