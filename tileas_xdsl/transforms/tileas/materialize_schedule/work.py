"""
What the consumers compute, and how it falls into parts that share nothing.

What a consumer computes hangs on tiles that it takes from rings, or on products: loops hand it on, branches yield it.
Two such computations belong together if one uses what the other has made, or if a loop carries one into the other. The
sub-tiles of a product (`prepare_for_scheduling/slices.py`) are two that never meet.

Input: the ops that agents share out. Output: which values are made so, and for each op that makes or uses one its part.
Changes nothing. Linear in the uses of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.nv_tileaa import compute as nv_tileaa
from tileas_xdsl.dialects.nv_tileas import compute as nv_tileas
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp
from tileas_xdsl.dialects.nv_tileas.types import is_token
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.transforms.loops.persistent_loop import is_persistent_loop

Control = scf.ForOp | scf.IfOp | scf.WhileOp

PRODUCTS = (nv_tileaa.DotOp, nv_tileas.DotOp, nv_tileas.AsyncDotOp)
TAKERS = (ConsumeOp, ConsumerReadOp)
"""Ops that give values from the slot of a ring."""


def is_control(op: Operation | None) -> TypeGuard[Control]:
    """Whether `op` is repeated for every agent that has work in it: counted and persistent loops, and branches."""
    return isinstance(op, scf.ForOp | scf.IfOp) or is_persistent_loop(op)


def arms(op: Control) -> Sequence[Region]:
    """The regions of `op` in which there is work: not the one in which a persistent loop asks whether it goes on."""
    return [op.after_region] if isinstance(op, scf.WhileOp) else op.regions


def leaves_of(ops: Sequence[Operation]) -> Iterator[Operation]:
    """The ops among `ops`, and in control flow among them, that are no control flow."""
    for op in ops:
        if not is_control(op):
            yield op
            continue
        for region in arms(op):
            for block in region.blocks:
                inner = [each for each in block.ops if not each.has_trait(IsTerminator, value_if_unregistered=False)]
                yield from leaves_of(inner)


class ConsumerWork:
    """The values that consumers make, of the ops whose leaves are `leaves`."""

    def __init__(self, leaves: Sequence[Operation]) -> None:
        self._leaves = set(leaves)
        self.values: dict[SSAValue, None] = {}
        self._parent: dict[SSAValue, SSAValue] = {}
        self._waiting: list[SSAValue] = []
        for leaf in leaves:
            if isinstance(leaf, PRODUCTS):
                self._take(leaf.results)
            elif isinstance(leaf, TAKERS) and leaf.side == "consumer":
                self._take(leaf.value_results)
        while self._waiting:
            self._follow(self._waiting.pop())

    def makes(self, leaf: Operation) -> bool:
        """Whether `leaf` is work of a consumer: not a view, which is another name of a slot, and no handshake."""
        if isinstance(leaf, ClassifiedOp):
            return False
        return any(result in self.values and not self._is_slot(result) for result in leaf.results)

    def part_of(self, leaf: Operation) -> SSAValue | None:
        """What stands for the part that `leaf` belongs to; None where it uses and makes nothing of the kind."""
        touched = [value for value in (*leaf.results, *_inputs(leaf)) if self._joins(value)]
        return self._find(touched[0]) if touched else None

    # Which values -----------------------------------------------------------------------------------------------------

    def _take(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            if value not in self.values and not is_token(value.type):
                self.values[value] = None
                self._waiting.append(value)

    def _follow(self, value: SSAValue) -> None:
        for use in value.uses:
            op = use.operation
            if hands_on(op) and is_control(loop := op.parent_op()):
                self._take(_slot_of(loop, use.index))
            elif isinstance(op, scf.ForOp) and use.index >= 3:
                self._take(_slot_of(op, use.index - 3))
            elif is_persistent_loop(op):
                self._take(_slot_of(op, use.index))
            elif isinstance(op, scf.IfOp):
                self._take(op.results)
            else:
                self._take_leaf(op)

    def _take_leaf(self, op: Operation) -> None:
        """What the leaf around `op`, or `op` itself, gives hangs on what it uses."""
        node: Operation | None = op
        while node is not None and node not in self._leaves:
            node = node.parent_op()
        if node is not None and not isinstance(node, ClassifiedOp):
            self._take(node.results)

    # Which belong together --------------------------------------------------------------------------------------------

    def join(self, leaves: Sequence[Operation]) -> None:
        """Put together what belongs together, among all values and what `leaves` use at once."""
        for leaf in leaves:
            self._unite([*leaf.results, *_inputs(leaf), *_conditions(leaf)])
        controls = dict.fromkeys(parent for leaf in leaves if is_control(parent := leaf.parent_op()))
        for control in controls:
            for number in range(len(control.results)):
                self._unite(_sources(control, number))

    def _unite(self, values: Sequence[SSAValue]) -> None:
        first, *others = [self._find(value) for value in values if self._joins(value)] or [None]
        for other in others:
            assert first is not None
            assert other is not None
            self._parent[self._find(other)] = self._find(first)

    def _find(self, value: SSAValue) -> SSAValue:
        parent = self._parent.get(value, value)
        while parent is not value:
            self._parent[value] = grand = self._parent.get(parent, parent)
            value, parent = parent, grand
        return value

    def _joins(self, value: SSAValue) -> bool:
        """Slots join nothing: each agent that needs one takes it itself."""
        return value in self.values and not self._is_slot(value)

    def _is_slot(self, value: SSAValue) -> bool:
        return isinstance(value.owner, TAKERS) or is_view(value)


def weight_of(op: Operation) -> int:
    """The elements of the tiles that `op` makes."""
    return sum(prod(result.type.get_shape()) for result in op.results if isinstance(result.type, ShapedType))


def _inputs(leaf: Operation) -> Sequence[SSAValue]:
    return (*leaf.operands, *captured_values(leaf.regions))


def _conditions(leaf: Operation) -> list[SSAValue]:
    """What decides whether and how often `leaf` runs."""
    found: list[SSAValue] = []
    node = leaf.parent_op()
    while is_control(node):
        found += steering(node)
        node = node.parent_op()
    return found


def steering(op: Control) -> Sequence[SSAValue]:
    """What decides how often the regions of `op` run; of a persistent loop an id that it carries decides."""
    match op:
        case scf.ForOp():
            return op.operands[:3]
        case scf.IfOp():
            return op.operands[:1]
        case scf.WhileOp():
            return []


def inits_of(op: Control) -> Sequence[SSAValue]:
    """What `op` carries from the beginning."""
    match op:
        case scf.ForOp():
            return op.iter_args
        case scf.WhileOp():
            return op.arguments
        case scf.IfOp():
            return []


def _slot_of(op: Control, number: int) -> list[SSAValue]:
    """The names inside and behind `op` of the value that it carries or yields at `number`."""
    match op:
        case scf.ForOp():
            arguments = [op.body.block.args[number + 1]]
        case scf.WhileOp():
            arguments = [op.after_region.block.args[number]]
        case scf.IfOp():
            arguments = []
    return [*arguments, op.results[number]]


def _sources(op: Control, number: int) -> list[SSAValue]:
    """All names of that value, and the values that it may be."""
    yielded = [last.operands[number] for region in arms(op) if region.blocks and (last := region.block.last_op)]
    inits = [op.operands[0]] if isinstance(op, scf.IfOp) else [inits_of(op)[number]]
    return [*_slot_of(op, number), *yielded, *inits]


def two_parts(
    work: ConsumerWork, leaves: Sequence[Operation], roots: Mapping[Operation, None]
) -> dict[Operation, int] | None:
    """
    For each leaf that is work of a consumer, or one of `roots` (which have an effect), 0 or 1: the two halves of the
    work, as even as whole parts allow. None where all of it hangs together.
    """
    mine = [leaf for leaf in leaves if leaf in roots or work.makes(leaf)]
    work.join(mine)
    parts = {leaf: work.part_of(leaf) for leaf in mine}
    weights: dict[SSAValue, int] = {part: 0 for leaf, part in parts.items() if leaf in roots and part is not None}
    if len(weights) < 2:
        return None
    for leaf, part in parts.items():
        if part is not None and part in weights:
            weights[part] += weight_of(leaf)
    loads = [0, 0]
    halves: dict[SSAValue | None, int] = {}
    for part, weight in weights.items():
        halves[part] = half = loads.index(min(loads))
        loads[half] += weight
    return {leaf: halves.get(part, 0) for leaf, part in parts.items()}
