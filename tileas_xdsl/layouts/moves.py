"""
What it takes to bring a tile from one layout into another, whichever of the two lie in registers and which in memory.

Between registers that is a plan (`conversion.py`); from shared memory a load, into it a store (`access.py`).
"""

from __future__ import annotations

from tileas_xdsl.layouts.access import LaneAccess, accesses, store_accesses
from tileas_xdsl.layouts.conversion import Abilities, LayoutPlan, plans
from tileas_xdsl.layouts.distributed import BLOCK
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.staging import conflicts

Move = LayoutPlan | LaneAccess


def is_memory(layout: LinearLayout) -> bool:
    """Whether the layout is one of memory."""
    return OFFSET in layout.input_names


def moves(source: LinearLayout, target: LinearLayout, element_bits: int, abilities: Abilities) -> tuple[Move, ...]:
    """
    The ways to move a tile, cheapest first. Raises `LayoutError`, with the reason, where there is none.
    """
    if not is_memory(source) and not is_memory(target):
        return plans(source, target, element_bits, abilities)
    if is_memory(source) and is_memory(target):
        raise LayoutError("both layouts are of memory: threads have to load the tile into registers and store it again")
    registers, memory = (target, source) if is_memory(source) else (source, target)
    if registers.input_size(BLOCK) > 1:
        raise LayoutError("blocks share no shared memory")
    if registers.outputs != memory.outputs:
        raise LayoutError("the two layouts are not of one tile")
    if is_memory(source):
        return tuple(accesses(registers, memory, element_bits, matrix=abilities.matrix_loads))
    return tuple(store_accesses(registers, memory, element_bits, matrix=abilities.matrix_stores))


def described(move: Move, *, loads: bool = True) -> str:
    """A way in words; `loads` says whether an access is one from memory."""
    if isinstance(move, LayoutPlan):
        return str(move)
    extra = conflicts(move)
    cost = f"{extra} of them for bank conflicts" if extra else "no bank conflicts"
    return f"by {_instruction(move, loads)}, {move.wavefronts} wavefronts a warp, {cost}"


def _instruction(access: LaneAccess, loads: bool) -> str:
    if access.kind == "plain":
        verb = "loads" if loads else "stores"
        return f"{len(access.instructions)} {verb} of {access.width} bytes a lane"
    trans = ".trans" if access.kind == "matrix.trans" else ""
    return f"{len(access.instructions)} {'ldmatrix' if loads else 'stmatrix'}.x{access.matrices}{trans}"
