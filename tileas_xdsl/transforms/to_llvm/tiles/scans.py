"""
Scans along an axis: each element is combined with all that stand in front of it.

    bit 0 of the coordinate, of the register    p1 = t0 * p1; t = t0 * t1                blocks of 2
    bit 1, of the lane                          other = shfl bfly t; p = other * p       blocks of 4, upper halves

`p` is what a block sums to up to an element, and `t` what it sums to in all. The blocks double from one bit of the
coordinate to the next (Hillis and Steele 1986). What stands in front is always the left operand, so a combiner need not
commute. Backwards, a block stands in front of another one where its bit is 1.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.nv_tileaa.compute import ScanOp
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.transforms.to_llvm.tiles.shapes import (
    Combine,
    Elements,
    combiner_of,
    combines_otherwise,
    elements_of_all,
    give_all,
    shuffled_all,
)
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule


@rule(ScanOp)
def _scan(op: ScanOp, threads: Threads) -> None:
    tile = tile_of(op.source.type)
    assert tile is not None
    scan = _Scan(threads, combiner_of(op, threads), elements_of_all(op, threads), reverse=op.reverse is not None)
    for place, bit in _places_along(tile.layout, op.axis.value.data):
        if place == REGISTER:
            scan.over_registers(bit)
        else:
            scan.over_lanes(bit)
    give_all(op, threads, scan.so_far)


class _Scan:
    """A scan under way: in blocks of so many neighbours."""

    def __init__(self, threads: Threads, combine: Combine, held: list[Elements], *, reverse: bool) -> None:
        self.threads, self.combine, self.reverse = threads, combine, reverse
        self.so_far = list(held)
        """By register: its element, and those in front of it in its block."""
        self.totals = dict(enumerate(held))
        """By the first register of a block: all that this block has."""
        self.done = 0
        """The bits of the register that lead to other elements of a block."""

    def over_registers(self, bit: int) -> None:
        """Join the blocks of registers that differ in a bit."""
        before, self.done = self.totals, self.done | 1 << bit
        first, second = (1 << bit, 0) if self.reverse else (0, 1 << bit)
        for number, own in enumerate(self.so_far):
            if number & 1 << bit == second:
                self.so_far[number] = self.combine(before[number & ~self.done | first], own)
        lowers = [number for number in before if not number >> bit & 1]
        self.totals = {number: self.combine(before[number | first], before[number | second]) for number in lowers}

    def over_lanes(self, bit: int) -> None:
        """Join the blocks of lanes that differ in a bit."""
        threads, before = self.threads, self.totals
        one = threads.compute(arith.AndIOp, threads.lane, 1 << bit)
        is_second = threads.compare(one, "eq" if self.reverse else "ne", 0)
        others = {number: shuffled_all(threads, total, bit) for number, total in before.items()}
        for number, own in enumerate(self.so_far):
            joined = self.combine(others[number & ~self.done], own)
            self.so_far[number] = self._chosen(is_second, joined, own)
        self.totals = {
            number: self.combine(
                self._chosen(is_second, others[number], total), self._chosen(is_second, total, others[number])
            )
            for number, total in before.items()
        }

    def _chosen(self, condition: SSAValue, ones: Elements, others: Elements) -> Elements:
        pairs = zip(ones, others, strict=True)
        return tuple(self.threads.result(arith.SelectOp(condition, one, other)) for one, other in pairs)


def _places_along(layout: LinearLayout, axis: int) -> list[tuple[str, int]]:
    """By bit of the coordinate along an axis, from the lowest: the place and the bit of it that leads there."""
    found = {
        basis[axis]: (place, bit)
        for place in (REGISTER, LANE)
        for bit, basis in enumerate(layout.bases(place))
        if basis[axis]
    }
    return [found[step] for step in sorted(found)]


@refusal(ScanOp)
def _cannot_scan(op: ScanOp) -> tuple[str, str] | None:
    tile = tile_of(op.source.type)
    if op.inclusive is not None and not op.inclusive.value.data:
        return "scans exclusively, from an element that it does not name", "scan inclusively, and subtract the element"
    if tile is None or not tile.in_registers:
        return None
    if (refused := combines_otherwise(op)) is not None:
        return refused
    if not is_scanned_by(tile.layout, op.axis.value.data):
        return "combines elements that lie along several axes or warps", "run tileas-assign-layouts, which converts it"
    return None


def is_scanned_by(layout: LinearLayout, axis: int) -> bool:
    """Whether each bit of the coordinate along an axis is one of the register or of the lane, and no warp's."""
    bases = [basis for place in (REGISTER, LANE) for basis in layout.bases(place) if basis[axis]]
    steps = sorted(basis[axis] for basis in bases)
    alone = all(sum(map(bool, basis)) == 1 for basis in bases)
    no_warps = not any(basis[axis] for basis in layout.bases(WARP))
    return alone and no_warps and steps == [1 << bit for bit in range(layout.shape[axis].bit_length() - 1)]
