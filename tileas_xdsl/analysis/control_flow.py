"""
The graph of the blocks of a region: who dominates whom, and where the two sides of a branch meet again.

          ^branch
         /       \\
     ^then       |          they meet in ^join, the nearest block through which every way from ^branch to an
         \\       |          end of the region leads: its immediate post-dominator
          ^join

The iterative dominator algorithm is that of Cooper, Harvey and Kennedy (A Simple, Fast Dominance Algorithm, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.ir import Block, Operation

NodeT = TypeVar("NodeT")


def successors_of(block: Block) -> tuple[Block, ...]:
    """The blocks to which control may go from the end of `block`."""
    last = block.last_op
    return tuple(last.successors) if last is not None else ()


def immediate_dominators(root: NodeT, successors: Callable[[NodeT], Iterable[NodeT]]) -> dict[NodeT, NodeT]:
    """The immediate dominator of each node that is reached from `root`, in reverse postorder; `root` has none."""
    postorder = _postorder(root, successors)
    number = {node: index for index, node in enumerate(postorder)}
    predecessors: dict[NodeT, list[NodeT]] = {node: [] for node in postorder}
    for node in postorder:
        for successor in successors(node):
            predecessors[successor].append(node)
    dominator: dict[NodeT, NodeT] = {root: root}

    def meet(a: NodeT, b: NodeT) -> NodeT:
        while a is not b:
            if number[a] < number[b]:
                a = dominator[a]
            else:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(postorder[:-1]):
            known = [p for p in predecessors[node] if p in dominator]
            new = known[0]
            for other in known[1:]:
                new = meet(other, new)
            if node not in dominator or dominator[node] is not new:
                dominator[node] = new
                changed = True
    return {node: dominator[node] for node in reversed(postorder[:-1])}


def _postorder(root: NodeT, successors: Callable[[NodeT], Iterable[NodeT]]) -> list[NodeT]:
    order: list[NodeT] = []
    seen = {root}
    stack = [(root, iter(successors(root)))]
    while stack:
        node, ahead = stack[-1]
        for successor in ahead:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(successors(successor))))
                break
        else:
            order.append(node)
            stack.pop()
    return order


# Branches -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """What lies between a branch and the block where its sides meet."""

    join: Block | None
    """None where each side leaves the region by itself."""
    blocks: tuple[tuple[Block, ...], ...]
    """The blocks of each side, in the order of the successors: none where a side is `join`."""
    comes_back: bool
    """Whether a side leads back to the branch before they meet: it ends a turn of a loop."""


def sides_of(branch: Operation) -> Sides:
    """The sides of `branch`, which ends a block that can be reached."""
    home = branch.parent
    assert home is not None
    join = _meeting_point(home)
    sides = tuple(reached(successor, join) for successor in branch.successors)
    return Sides(join, sides, any(home in side for side in sides))


def reached(start: Block, join: Block | None) -> tuple[Block, ...]:
    """The blocks that are reached from `start`, itself among them, on ways that do not lead through `join`."""
    if start is join:
        return ()
    found, worklist = {start: None}, [start]
    while worklist:
        for successor in successors_of(worklist.pop()):
            if successor is not join and successor not in found:
                found[successor] = None
                worklist.append(successor)
    return tuple(found)


def _meeting_point(home: Block) -> Block | None:
    """The immediate post-dominator of `home`; None if that is the end of the region."""
    blocks = reached(home, None)
    sources: dict[Block | None, list[Block | None]] = {None: [block for block in blocks if not successors_of(block)]}
    for block in blocks:
        sources.setdefault(block, [])
        for successor in successors_of(block):
            sources.setdefault(successor, []).append(block)
    end = cast("Block | None", None)
    return immediate_dominators(end, sources.__getitem__).get(home)
