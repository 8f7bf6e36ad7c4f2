"""
The loops that blocks make up: who branches back to a block that dominates it closes a loop with that *head*.

    ^before:  cf.br ^head(%c0)
    ^head(%i):  cf.cond_br %more, ^body, ^behind          the head: every way into the loop leads through it
    ^body:  ... cf.br ^head(%next)                        branches back: one more turn
    ^behind:

All branches back to one head close one loop; two loops have no block in common, or one lies inside the other
(Aho, Lam, Sethi, Ullman: Compilers, 2nd edition, 9.6.6). A circle with two ways in is no loop; and neither is one with
the first block of the region, to which MLIR lets no branch lead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region

from tileas_xdsl.analysis.dominance import immediate_dominators, successors_of


@dataclass(frozen=True, eq=False)
class NaturalLoop:
    """One loop, and the loop around it among the blocks of the same region."""

    head: Block
    blocks: frozenset[Block]
    """For membership only: they have no order."""
    around: NaturalLoop | None


def loops_within(op: Operation) -> Mapping[Block, NaturalLoop]:
    """Block of a region of `op` -> the innermost loop that it belongs to, where there is one."""
    return {block: loop for region in op.regions for block, loop in natural_loops(region).items()}


def natural_loops(region: Region) -> Mapping[Block, NaturalLoop]:
    """Block of `region` -> the innermost loop that it belongs to, where there is one."""
    entry = region.first_block
    if entry is None or entry.next_block is None:
        return {}
    dominators = immediate_dominators(entry, successors_of)
    reached = [entry, *dominators]
    sources: dict[Block, list[Block]] = {block: [] for block in reached}
    for block in reached:
        for successor in successors_of(block):
            sources[successor].append(block)
    innermost: dict[Block, NaturalLoop] = {}
    # In reverse postorder the head of a loop comes before the heads inside.
    # The last loop that has a block is innermost.
    for head in dominators:
        latches = [source for source in sources[head] if _dominates(head, source, dominators)]
        if latches:
            loop = NaturalLoop(head, _blocks_of(head, latches, sources), innermost.get(head))
            innermost.update(dict.fromkeys(loop.blocks, loop))
    return innermost


def _dominates(block: Block, other: Block, dominators: Mapping[Block, Block]) -> bool:
    while other is not block and other in dominators:
        other = dominators[other]
    return other is block


def _blocks_of(head: Block, latches: list[Block], sources: Mapping[Block, list[Block]]) -> frozenset[Block]:
    """The blocks from which a latch is reached without passing the head."""
    found, worklist = {head, *latches}, [latch for latch in latches if latch is not head]
    while worklist:
        for source in sources[worklist.pop()]:
            if source not in found:
                found.add(source)
                worklist.append(source)
    return frozenset(found)


def loop_with_turns_from(block: Block) -> Operation:
    """
    The op that stands for the loop whose turns begin with `block`: the one around it, or, where the blocks of a region
    make up the loop, the branch at the end of its head.
    """
    op = block.parent_op() if block.prev_block is None else block.last_op
    assert op is not None
    return op
