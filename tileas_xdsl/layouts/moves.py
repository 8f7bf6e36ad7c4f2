"""
What it takes to bring a tile from one layout into another, whichever of the two lie in registers and which in memory.

Between registers that is a plan (`conversion.py`); from shared memory a load, into it a store (`access.py`). From or to
tensor memory it is a transfer to registers or from them, and what leads on from these. Of the shapes of the transfer
that one is taken with which the rest is cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileas_xdsl.layouts.access import LaneAccess, accesses, store_accesses
from tileas_xdsl.layouts.conversion import Abilities, LayoutPlan, plans
from tileas_xdsl.layouts.distributed import BLOCK, WARP
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import OFFSET
from tileas_xdsl.layouts.staging import conflicts
from tileas_xdsl.layouts.tensor_memory import Transfer, transfers

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


@dataclass(frozen=True)
class TensorMove:
    """A way between tensor memory and another layout."""

    transfer: Transfer
    move: Move | None
    """From the registers of the transfer to the other side, or the way round; None where they are the other side."""


def tensor_move(
    memory: LinearLayout, other: LinearLayout, element_bits: int, warps: int, abilities: Abilities, *, loads: bool
) -> TensorMove:
    """
    The cheapest way out of tensor memory (`loads`), or into it. `warps` move the tile where `other` is one of memory.
    Raises `LayoutError`, with the reason, where there is none.
    """
    holders = warps if is_memory(other) else other.input_size(WARP)
    found = transfers(memory, element_bits, holders)
    best = min(_ways(found, other, element_bits, abilities, loads=loads), key=_cost, default=None)
    if best is None:
        raise LayoutError("from no shape of the instruction leads a way to the other side")
    return best


def _ways(
    found: tuple[Transfer, ...], other: LinearLayout, bits: int, abilities: Abilities, *, loads: bool
) -> Iterator[TensorMove]:
    """Each shape with each way between its registers and the other side; those that are none are left out."""
    for transfer in found:
        if transfer.registers == other:
            yield TensorMove(transfer, None)
            continue
        source, target = (transfer.registers, other) if loads else (other, transfer.registers)
        try:
            steps = moves(source, target, bits, abilities)
        except LayoutError:
            continue
        yield from (TensorMove(transfer, step) for step in steps)


def _cost(way: TensorMove) -> tuple[float, ...]:
    """What is lowest is taken. Accesses of matrices go first, for they are what a copy is defined to become."""
    move = way.move
    if move is None:
        return (-1.0,)
    if isinstance(move, LayoutPlan):
        return (move.cost,)
    return (float(move.kind == "plain"), move.wavefronts)


def described_tensor_move(way: TensorMove, *, loads: bool) -> str:
    """A way in words, in the order in which its steps are made."""
    transfer = f"by {way.transfer.instruction('ld' if loads else 'st')}"
    if way.move is None:
        return transfer
    other = described(way.move, loads=not loads)
    return f"{transfer}, then {other}" if loads else f"{other}, then {transfer}"
