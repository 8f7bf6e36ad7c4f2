"""
Whether each use of a value is dominated by its definition.

xDSL verifies types but not dominance: a use before its definition parses, verifies and prints, and only MLIR rejects
it. One sweep over the module keeps the set of values visible at the current op. Regions see what is visible around them
unless their op is isolated from above. Between the blocks of one region the dominator tree decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.analysis.control_flow import immediate_dominators, successors_of
from tileas_xdsl.diagnostics import location_of, op_name


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
