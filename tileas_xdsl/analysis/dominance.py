r"""
Whether each use of a value is dominated by its definition.

xDSL verifies types but not dominance: a use before its definition parses, verifies and prints, and only MLIR rejects
it. One sweep over the module keeps the set of values visible at the current op. Regions see what is visible around them
unless their op is isolated from above. Between the blocks of one region the dominator tree decides.

The graph of the blocks of a region: who dominates whom, and where the two sides of a branch meet again.

          ^branch
         /       \
     ^then       |          they meet in ^join, the nearest block through which every way from ^branch to an
         \       |          end of the region leads: its immediate post-dominator
          ^join

The iterative dominator algorithm is that of Cooper, Harvey and Kennedy (A Simple, Fast Dominance Algorithm, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.diagnostics import location_of, op_name

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


@dataclass(frozen=True)
class DominanceViolation:
    """Operand `operand_index` of `user` is used where its definition does not dominate."""

    user: Operation
    operand_index: int

    @property
    def value(self) -> SSAValue:
        return self.user.operands[self.operand_index]

    def __str__(self) -> str:
        location = location_of(self.user)
        prefix = f"{location}: " if location is not None else ""
        value = self.value
        if isinstance(value, BlockArgument):
            origin = f"argument {value.index} of another block"
        else:
            definer = value.owner
            origin = f"a result of '{op_name(definer)}'" if isinstance(definer, Operation) else "another block"
        name = f" %{value.name_hint}" if value.name_hint else ""
        subject = f"{prefix}'{op_name(self.user)}' op operand #{self.operand_index}{name}"
        return f"{subject} does not dominate this use: it is {origin}"


def dominance_violations(root: Operation) -> Iterator[DominanceViolation]:
    """Every operand in `root` that its definition does not dominate, in program order. Linear in the number of ops."""
    yield from _in_op(root, set())


def verify_dominance(root: Operation) -> None:
    """Raises `VerifyException` with the first violations found in `root` (at most ten)."""
    messages: list[str] = []
    for violation in dominance_violations(root):
        messages.append(str(violation))
        if len(messages) == 10:
            break
    if messages:
        raise VerifyException("\n".join(messages))


def _in_op(op: Operation, visible: set[SSAValue]) -> Iterator[DominanceViolation]:
    for index, operand in enumerate(op.operands):
        if operand not in visible:
            yield DominanceViolation(op, index)
    isolated = bool(op.regions) and bool(op.get_traits_of_type(IsolatedFromAbove))
    for region in op.regions:
        yield from _in_region(region, set() if isolated else visible)


def _in_region(region: Region, visible: set[SSAValue]) -> Iterator[DominanceViolation]:
    """Check the blocks of a region; `visible` is the same before and after."""
    entry = region.first_block
    if entry is None:
        return
    if entry.next_block is None:
        added: list[SSAValue] = []
        yield from _in_block(entry, visible, added)
        visible.difference_update(added)
        return
    children = _dominator_tree(region)
    # A depth-first walk of the dominator tree: what a block defines is visible exactly in the blocks that it dominates.
    stack: list[tuple[Block, bool, list[SSAValue]]] = [(entry, False, [])]
    reached: set[Block] = set()
    while stack:
        block, leaving, added = stack.pop()
        if leaving:
            visible.difference_update(added)
            continue
        reached.add(block)
        added = []
        yield from _in_block(block, visible, added)
        stack.append((block, True, added))
        stack.extend((child, False, []) for child in reversed(children.get(block, [])))


def _in_block(block: Block, visible: set[SSAValue], added: list[SSAValue]) -> Iterator[DominanceViolation]:
    """Check the ops of `block`; its definitions stay in `visible` and are listed in `added`."""
    visible.update(block.args)
    added.extend(block.args)
    for op in block.ops:
        yield from _in_op(op, visible)
        visible.update(op.results)
        added.extend(op.results)


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """The children of each reachable block in the dominator tree of `region`. Unreachable blocks do not occur in it."""
    entry = region.first_block
    assert entry is not None
    children: dict[Block, list[Block]] = {}
    for block, dominator in immediate_dominators(entry, successors_of).items():
        children.setdefault(dominator, []).append(block)
    return children
