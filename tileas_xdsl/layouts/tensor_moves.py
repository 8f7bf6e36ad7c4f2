"""
What it takes to bring a tile from tensor memory to another layout, or from there: a transfer between tensor memory and
registers, and what leads on from these.

Of the shapes of the transfer that one is taken with which the rest is cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileas_xdsl.layouts.conversion import Abilities, LayoutPlan
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.moves import Move, described, is_memory, moves
from tileas_xdsl.layouts.tensor_memory import Transfer, transfers


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
