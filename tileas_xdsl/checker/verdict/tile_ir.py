"""
Kernels of Tile IR, besides what one block does in time: blocks of a grid beside each other, and what is undefined.

    row, piece = ct.bid(0), ct.bid(1)
    ct.store(Sums, index=(row,), tile=..)        blocks (0, 0, 0) and (0, 1, 0) both write 'Sums'[0:8]: a race
    ct.store(Sums, index=(piece, row), ..)       the numbers of a tile tell both ids: apart

A weak access promises that no other block touches the place meanwhile (Tile IR, memory model). Where the numbers of
tiles tell the blocks apart, the assumption that blocks do not race goes; where two blocks reach one tile, one of them
writes, and no atomic updates may order the two, that is a race. Else the assumption stays.

Undefined are tiles behind the last one of an array, and what a tile without padding has outside of it
(`analysis.tile_ir.undefined`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.analysis.memory.block_order import weakness_of
from tileas_xdsl.analysis.memory.blocks_apart import BlocksOfGrid, Clash, Touch, blocks_of_grid
from tileas_xdsl.checker.verdict.report import Finding, Outcome, Report
from tileas_xdsl.dialects.cuda_tile import DIALECT, HINTS
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE
from tileas_xdsl.machine.core.violations import Effect, Party, Violation, ViolationKind

if TYPE_CHECKING:
    from tileas_xdsl.analysis.tile_ir.undefined import Combined, Outside
    from tileas_xdsl.dialects.cuda_tile.structure import EntryOp


# Blocks ---------------------------------------------------------------------------------------------------------------


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


UPDATE = "an update that is atomic, or tiles that differ from block to block"
PATH = "a release behind the one and an acquire in front of the other, of scope device"


def _race(clash: Clash) -> Violation:
    touches = sorted((clash.first, clash.second), key=lambda touch: not touch.writes)
    tile = _tile(touches[0], clash.numbers)
    what = "write after write" if all(touch.writes for touch in touches) else "a read and a write"
    blocks = clash.blocks if touches[0] is clash.first else clash.blocks[::-1]
    parties = [
        Party(touch.op, f"block {block}", (), f"{'writes' if touch.writes else 'reads'} {tile}")
        for touch, block in zip(touches, blocks, strict=True)
    ]
    parties += [Party(op, "", (), f"orders nothing among blocks: {weakness_of(op)}") for op in clash.idle]
    message = f"two blocks of the grid reach {tile}: {what}, and nothing orders the two"
    return Violation(ViolationKind.RACE, message, tuple(parties), PATH if clash.idle else UPDATE)


def _tile(touch: Touch, numbers: tuple[int, ...]) -> str:
    """The elements of a tile of an array, as Python writes them."""
    name = touch.array.name_hint or f"argument {touch.array.index}"
    slices = [f"{n * extent}:{(n + 1) * extent}" for n, extent in zip(numbers, touch.extents, strict=True)]
    return f"'{name}'[{', '.join(slices)}]"


# What is undefined ----------------------------------------------------------------------------------------------------


def judge_tile_ir(module: Operation, report: Report, functions: Container[str] | None = None) -> None:
    """Add to a report what the entries of a module ask for that is undefined: all, or those with these names."""
    if not any(op.dialect_name() == DIALECT for op in module.walk()):
        return
    from tileas_xdsl.dialects.cuda_tile.structure import EntryOp

    for entry in module.walk():
        if isinstance(entry, EntryOp) and (functions is None or entry.sym_name.data in functions):
            findings = [Finding(entry.sym_name.data, {}, violation) for violation in _violations(entry)]
            report.absorb(Outcome(findings=findings))


def _violations(entry: EntryOp) -> Iterator[Violation]:
    from tileas_xdsl.analysis.tile_ir.undefined import combined, outside  # the ops of Tile IR take a while to make

    yield from map(_of_outside, outside(entry))
    yield from map(_of_combined, combined(entry))


def _of_outside(found: Outside) -> Violation:
    party = Party(found.op, "", (), f"takes a tile behind the last one of '{found.array}'")
    message = f"'{found.array}' has no tile of that number, and what is taken there is undefined"
    return Violation(ViolationKind.MALFORMED, message, (party,), "a number below that of the tiles")


def _of_combined(found: Combined) -> Violation:
    sticks_out = f"loads tiles of which the last may stick out of '{found.array}', and pads with nothing"
    parties = (
        Party(found.by, "", (), f"combines elements that lie outside of '{found.array}' with others"),
        Party(found.load, "", (), sticks_out),
    )
    message = f"elements outside of '{found.array}' reach a result, and nothing says what they are"
    missing = "a padding, such as padding_mode=ct.PaddingMode.ZERO"
    return Violation(ViolationKind.MALFORMED, message, parties, missing, leads_to=Effect.UNSTEADY)
