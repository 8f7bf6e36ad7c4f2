"""
The blocks of a grid beside each other, for kernels of Tile IR.

    row, piece = ct.bid(0), ct.bid(1)
    ct.store(Sums, index=(row,), tile=..)        blocks (0, 0, 0) and (0, 1, 0) both write 'Sums'[0:8]: a race
    ct.store(Sums, index=(piece, row), ..)       the numbers of a tile tell both ids: apart

A weak access promises that no other block touches the place meanwhile (Tile IR, memory model). Where the numbers of
tiles tell the blocks apart, the assumption that blocks do not race goes; where two blocks reach one tile and one of
them writes, that is a race. Else the assumption stays.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tileas_xdsl.analysis.memory.blocks_apart import BlocksOfGrid, Clash, Touch, blocks_of_grid
from tileas_xdsl.checker.verdict.report import Finding, Outcome, Report
from tileas_xdsl.dialects.cuda_tile.structure import HINTS
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE
from tileas_xdsl.machine.core.violations import Party, Violation, ViolationKind


def judge_blocks(functions: dict[str, Operation], report: Report) -> None:
    """Add to a report what is known of the blocks of its functions."""
    if not all(HINTS in function.attributes for function in functions.values()):
        return
    judged = {name: blocks_of_grid(function) for name, function in functions.items()}
    for name, blocks in judged.items():
        report.absorb(Outcome(findings=[Finding(name, {}, _race(clash)) for clash in _each_once(blocks)]))
    if all(blocks.are_apart for blocks in judged.values()):
        report.assumed.pop(BLOCKS_ALONE, None)


def _each_once(blocks: BlocksOfGrid) -> list[Clash]:
    """One clash for each access that writes."""
    found: dict[Operation, Clash] = {}
    for clash in blocks.clashes:
        found.setdefault((clash.first if clash.first.writes else clash.second).op, clash)
    return list(found.values())


def _race(clash: Clash) -> Violation:
    touches = sorted((clash.first, clash.second), key=lambda touch: not touch.writes)
    tile = _tile(touches[0], clash.numbers)
    what = "write after write" if all(touch.writes for touch in touches) else "a read and a write"
    blocks = clash.blocks if touches[0] is clash.first else clash.blocks[::-1]
    parties = [
        Party(touch.op, f"block {block}", (), f"{'writes' if touch.writes else 'reads'} {tile}")
        for touch, block in zip(touches, blocks, strict=True)
    ]
    return Violation(
        ViolationKind.RACE,
        f"two blocks of the grid reach {tile}: {what}, and nothing orders the two",
        tuple(parties),
        "an update that is atomic, or tiles that differ from block to block",
    )


def _tile(touch: Touch, numbers: tuple[int, ...]) -> str:
    """The elements of a tile of an array, as Python writes them."""
    name = touch.array.name_hint or f"argument {touch.array.index}"
    slices = [f"{n * extent}:{(n + 1) * extent}" for n, extent in zip(numbers, touch.extents, strict=True)]
    return f"'{name}'[{', '.join(slices)}]"
