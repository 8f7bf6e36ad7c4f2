"""
The memory objects that a value may name.

Input: a value of a loop. Output: the memory objects whose bytes it may show. The walk goes back through casts, views,
branches and loop-carried arguments to where the memory comes from:

    %V = memref.subview %W[...]     %W, which is     scf.if -> %A or %B     so %V may show %A or %B

Different objects share no bytes, except those of unknown origin (`may_alias`). Nor do those where they lie in different
memory spaces: a tile in registers is nobody's array in global memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.induction import LoopIndices
from tileas_xdsl.analysis.memory.effects import EffectReader, has_no_effects
from tileas_xdsl.dialects.tiles.traits import AddsInPlace, LeadsToOperand
from tileas_xdsl.dialects.tiles.types import residency_of
from tileas_xdsl.dialects.upstream_models import shown_operand
from tileas_xdsl.interfaces import (
    AllocationOpInterface,
    EffectResource,
    FunctionOpInterface,
    LoopLikeOpInterface,
    end_of,
)


class ObjectKind(Enum):
    """The kind of a memory object; it decides which other objects may share its bytes."""

    ALLOCATION = auto()
    ARGUMENT = auto()
    GLOBAL = auto()
    RESOURCE = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class MemoryRoot:
    """Memory with an identity: an allocation, a function argument, a global (by its name), or a resource."""

    kind: ObjectKind
    key: SSAValue | EffectResource | str | None = None
    fresh: bool = False
    """Allocated in the loop body, so every iteration has an object of its own."""
    spaces: frozenset[str] | None = None
    """The memory spaces that it may lie in; None where nothing says so (`storage_spaces`)."""

    @property
    def is_anything(self) -> bool:
        """Whether it stands for memory of which neither the origin nor a name is known."""
        return self.kind is ObjectKind.UNKNOWN and self.key is None

    def __str__(self) -> str:
        if isinstance(self.key, SSAValue):
            return f"%{self.key.name_hint}" if self.key.name_hint else "an unnamed buffer"
        return str(self.key) if self.key is not None else "memory"


UNKNOWN = MemoryRoot(ObjectKind.UNKNOWN)


def may_alias(first: MemoryRoot, second: MemoryRoot, *, arguments_alias: bool) -> bool:
    """
    Whether the two may share bytes. Different arguments, or an argument and a global, do so only with
    `arguments_alias`.
    """
    if first == second:
        return True
    if first.spaces is not None and second.spaces is not None and not first.spaces & second.spaces:
        return False
    kinds = {first.kind, second.kind}
    if ObjectKind.RESOURCE in kinds or ObjectKind.ALLOCATION in kinds:
        return ObjectKind.UNKNOWN in kinds and ObjectKind.RESOURCE not in kinds
    return ObjectKind.UNKNOWN in kinds or (arguments_alias and kinds != {ObjectKind.GLOBAL})


class ObjectFinder:
    """Finds the objects that the values of one loop may name."""

    def __init__(self, indices: LoopIndices, effects: EffectReader) -> None:
        self._indices = indices
        self._effects = effects

    def objects_of(self, value: SSAValue) -> tuple[MemoryRoot, ...]:
        """The objects that `value` may show, each once. Linear in the values on the way back."""
        return self._objects(value, {})

    def _objects(self, value: SSAValue, seen: dict[SSAValue, None]) -> tuple[MemoryRoot, ...]:
        """The objects of `value`; `seen` breaks the cycles of loop-carried memrefs."""
        if value in seen:
            return ()
        seen[value] = None
        sources = memory_sources(value) or _added_to(value)
        if sources is None:
            return (self._object(value),)
        found = dict.fromkeys(item for source in sources for item in self._objects(source, seen))
        if isinstance(value, BlockArgument) and value.block is self._indices.loop.body.block:
            # A buffer of an earlier iteration is not the one that this iteration allocates.
            found = dict.fromkeys(
                MemoryRoot(ObjectKind.UNKNOWN, spaces=item.spaces) if item.fresh else item for item in found
            )
        return tuple(found)

    def _object(self, value: SSAValue) -> MemoryRoot:
        owner = value.owner
        inside = self._indices.defined_inside(value)
        spaces = storage_spaces(value.type)
        unknown = MemoryRoot(ObjectKind.UNKNOWN, None if inside else value, spaces=spaces)
        if isinstance(owner, Block):
            return self._object_of_argument(value, owner, unknown, inside)
        if isinstance(owner, memref.GetGlobalOp):
            return MemoryRoot(ObjectKind.GLOBAL, f"@{owner.name_.string_value()}")
        allocation = AllocationOpInterface.of(owner)
        is_allocated = allocation is not None and value in allocation.allocated_values
        if is_allocated or self._effects.has_own_storage(owner) or _is_computed(owner, spaces):
            return MemoryRoot(ObjectKind.ALLOCATION, value, fresh=inside, spaces=spaces)
        return unknown

    def _object_of_argument(self, value: SSAValue, block: Block, unknown: MemoryRoot, inside: bool) -> MemoryRoot:
        """The object of a block argument that no loop carries: of a function, of a region on a slot, or of another."""
        parent = block.parent_op()
        if FunctionOpInterface.of(parent) is not None:
            return MemoryRoot(ObjectKind.ARGUMENT, value, spaces=unknown.spaces)
        if parent is not None and (slots := self._effects.slots_of(parent)) is not None:
            return MemoryRoot(ObjectKind.ALLOCATION, slots, fresh=inside)
        return unknown


REGISTER, SHARED, TENSOR, GLOBAL, GENERIC = "register", "shared", "tensor", "global", "generic"

TILE_SPACES = {"rmem": REGISTER, "smem": SHARED, "tmem": TENSOR, "gmem": GLOBAL, None: REGISTER}
"""Residency of a tile -> the memory space of its storage. A tile that says nothing lies in registers."""

SHARED_MEMREF, GLOBAL_MEMREF = 3, 1
"""Numbers of memory spaces in memref types (NVPTX user guide, "Address Spaces")."""


def storage_spaces(type_: Attribute) -> frozenset[str] | None:
    """
    The memory spaces in which the storage of a value of `type_` may lie; None where the type does not say.

    A memref is reached by a generic address, so memrefs of all spaces may share bytes; but the storage of tiles is the
    compiler's own: no memref in global memory names it.
    """
    if isinstance(type_, TensorType):
        space = TILE_SPACES.get(residency_of(cast(Attribute, type_)))
        return None if space is None else frozenset([space])
    if not isinstance(type_, MemRefType):
        return None
    number = type_.memory_space
    if isinstance(number, NoneAttr):
        return frozenset([GLOBAL, GENERIC])
    if not isinstance(number, IntegerAttr):
        return None
    named = {SHARED_MEMREF: SHARED, GLOBAL_MEMREF: GLOBAL}.get(number.value.data)
    return None if named is None else frozenset([named, GENERIC])


def memory_sources(value: SSAValue) -> Sequence[SSAValue] | None:
    """The values one of which `value` is another name of; None where the walk back ends at `value`."""
    if isinstance(value, BlockArgument):
        loop = LoopLikeOpInterface.of(value.block.parent_op())
        for index, argument in enumerate(loop.carried_arguments if loop is not None else ()):
            if argument is value and loop is not None:
                return (loop.init_values[index], loop.yielded_values[index])
        return None
    assert isinstance(value, OpResult)
    match value.op:
        case arith.SelectOp() as op:
            return (op.lhs, op.rhs)
        case scf.IfOp() as op:
            last_ops = [region.block.last_op for region in op.regions if region.blocks]
            return [last.operands[value.index] for last in last_ops if last is not None]
        case scf.ForOp() as op:
            last = end_of(op.body.block)
            return (op.iter_args[value.index], last.operands[value.index])
        case op:
            viewed = viewed_operand(op)
            return None if viewed is None else (viewed,)


def _added_to(value: SSAValue) -> Sequence[SSAValue] | None:
    """The tile that an op has added to in place, if `value` is what became of it."""
    owner = value.owner
    if not isinstance(owner, Operation) or not owner.has_trait(AddsInPlace, value_if_unregistered=False):
        return None
    return (owner.operands[2],) if value is owner.results[0] else None


def _is_computed(op: Operation, spaces: frozenset[str] | None) -> bool:
    """Whether `op` makes new tiles in registers, which no other value names, rather than views of what there is."""
    return spaces == frozenset([REGISTER]) and has_no_effects(op)


def viewed_operand(op: Operation) -> SSAValue | None:
    """The operand whose memory the results of `op` lead to, or None where there is none."""
    if op.has_trait(LeadsToOperand, value_if_unregistered=False):
        return op.operands[0]
    position = shown_operand(op)
    return None if position is None else op.operands[position]
