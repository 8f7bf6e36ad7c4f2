"""
Whether the memory that an op reads may be written meanwhile. This is asked before a read becomes asynchronous or moves.

Two scopes matter. A load that becomes asynchronous within its iteration asks whether its loop writes what it reads. A
load that is complete only when another agent takes its stage asks whether anything else in the function does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffect, MemoryEffectKind, RecursiveMemoryEffect, get_effects

from tileas_xdsl.analysis.induction import LoopIndices
from tileas_xdsl.analysis.memory.accesses import AccessReader, BodyAccess
from tileas_xdsl.analysis.memory.effects import EffectReader
from tileas_xdsl.analysis.memory.objects import (
    GENERIC,
    GLOBAL,
    MemoryRoot,
    ObjectKind,
    may_alias,
    memory_sources,
    storage_spaces,
)
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, AllocationOpInterface, EffectResource, FunctionOpInterface


class MemoryRoots:
    """A set of memory objects, which tells in constant time whether one of them may share bytes with another."""

    def __init__(self) -> None:
        self._first_access: dict[MemoryRoot, Operation] = {}
        self._of_kind: dict[tuple[ObjectKind, frozenset[str] | None], MemoryRoot] = {}

    def add(self, access: BodyAccess) -> None:
        for item in access.place.objects:
            known = replace(item, fresh=False)
            self._first_access.setdefault(known, access.op)
            self._of_kind.setdefault((known.kind, known.spaces), known)

    def accessed_by(self, item: MemoryRoot) -> Operation | None:
        """
        The op that touches `item`, or an object that may alias it, or None. Objects that differ do so by their kinds
        and spaces.
        """
        known = replace(item, fresh=False)
        if known in self._first_access:
            return self._first_access[known]
        others = (other for other in self._of_kind.values() if may_alias(item, other, arguments_alias=False))
        return next((self._first_access[other] for other in others), None)

    def accessor_of(self, accesses: Iterable[BodyAccess]) -> Operation | None:
        """The op that touches what one of `accesses` does, or may, or None."""
        items = (item for access in accesses for item in access.place.objects)
        return next((op for item in items if (op := self.accessed_by(item)) is not None), None)

    def may_hold_any(self, accesses: Iterable[BodyAccess]) -> bool:
        return self.accessor_of(accesses) is not None


class FunctionMemory:
    """The memory that a function writes, computed on first use."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._written: MemoryRoots | None = None

    def written(self, reader: AccessReader) -> MemoryRoots:
        """The objects that anything in the function writes. The reader of any of its loops knows them."""
        if self._written is None:
            self._written = MemoryRoots()
            for op in writers_in(self._function):
                for access in reader.accesses_of(op):
                    if access.writes:
                        self._written.add(access)
        return self._written


class LoopMemory:
    """The memory that the ops of one loop body read and write."""

    def __init__(self, loop: scf.ForOp, function: FunctionMemory) -> None:
        self._reader = AccessReader(LoopIndices(loop))
        self._function = function
        self._accesses: dict[Operation, list[BodyAccess]] = {}

    def accesses_of(self, op: Operation) -> list[BodyAccess]:
        """The accesses of `op` and of the ops in its regions."""
        if op not in self._accesses:
            self._accesses[op] = list(self._reader.accesses_of(op))
        return self._accesses[op]

    def reads_of(self, op: Operation) -> list[BodyAccess]:
        return [access for access in self.accesses_of(op) if not access.writes]

    def writes_of(self, op: Operation) -> list[BodyAccess]:
        return [access for access in self.accesses_of(op) if access.writes]

    def written_by(self, ops: Iterable[Operation]) -> MemoryRoots:
        """The objects that `ops` write."""
        objects = MemoryRoots()
        for op in ops:
            for access in self.writes_of(op):
                objects.add(access)
        return objects

    @property
    def written_in_function(self) -> MemoryRoots:
        """The objects that anything in the function writes."""
        return self._function.written(self._reader)


def writers_in(function: Operation) -> list[Operation]:
    """
    The ops of `function` that write memory themselves, or of which that cannot be told.

    Loops, branches and agents do not: what is in them does. Nor do the steps of a pipeline: the slot that they write is
    nobody else's memory.
    """
    return [op for op in function.walk() if op is not function and _writes(op)]


def _writes(op: Operation) -> bool:
    if isinstance(op, ClassifiedOp) or AgentLikeOpInterface.of(op) is not None:
        return False
    traits = op.get_traits_of_type(MemoryEffect)
    if traits and all(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return False
    effects = get_effects(op)
    return effects is None or any(effect.kind is not MemoryEffectKind.READ for effect in effects)


def written_arguments(function: Operation) -> frozenset[int] | None:
    """Positions of the arguments whose memory something in `function` may write; None where that cannot be told."""
    effects = EffectReader()
    found: set[int] = set()
    for op in function.walk():
        stated = effects.effects_of(op) if op is not function else ()
        if stated is None:
            return None
        for target in (effect.target for effect in stated if effect.writes):
            if isinstance(target, EffectResource):
                continue
            arguments = _arguments_shown(target, effects) if target is not None else None
            if arguments is None:
                return None
            found |= arguments
    return frozenset(found)


def _arguments_shown(value: SSAValue, effects: EffectReader) -> set[int] | None:
    """Positions of the function's arguments that `value` may show; None where it may show other memory."""
    found: set[int] = set()
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        sources = memory_sources(current)
        if sources is not None:
            stack.extend(sources)
        elif isinstance(current.owner, Block) and FunctionOpInterface.of(current.owner.parent_op()) is not None:
            found.add(current.owner.args.index(current))
        elif not _is_of_the_function(current, effects):
            return None
    return found


def _is_of_the_function(value: SSAValue, effects: EffectReader) -> bool:
    """Whether the memory of `value`, which is no argument, is none that a caller has."""
    spaces = storage_spaces(value.type)
    if spaces is not None and not spaces & {GLOBAL, GENERIC}:
        return True
    owner = value.owner
    if isinstance(owner, Block):
        return False
    if not owner.operands:
        return True  # a queue, a global, a constant: made of nothing that the caller has given
    allocation = AllocationOpInterface.of(owner)
    return (allocation is not None and value in allocation.allocated_values) or effects.has_own_storage(owner)
