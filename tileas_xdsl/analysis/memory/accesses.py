"""
The memory accesses of the ops in a loop body.

Input: one op of the body. Output: its `BodyAccess`es, including those of ops nested in it. An access names the memory
objects that it may touch (`objects`) and, where the subscripts are linear (`analysis/induction.py`), which part of each
object (`places`).

    memref.store %v, %B[%i, %c3] : memref<8x16xf32>   ->   writes B, axis 0 at [j], axis 1 at [3]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.induction import LoopIndices
from tileas_xdsl.analysis.memory.effects import EffectReader, speaks_for_itself_only
from tileas_xdsl.analysis.memory.objects import UNKNOWN, MemoryRoot, ObjectFinder
from tileas_xdsl.analysis.memory.places import AccessPlace, PlaceFinder


@dataclass(frozen=True)
class BodyAccess:
    """One read or write of `op` (an op of the loop body; the access may sit in its regions)."""

    op: Operation
    writes: bool
    place: AccessPlace
    opaque: bool = False
    """The op's effects are unknown: the access is ordered with every effect, also on resources."""


class AccessReader:
    """Reads the accesses of the ops in one loop body; caches facts about memrefs, subscripts and pipelines."""

    def __init__(self, indices: LoopIndices) -> None:
        self._effects = EffectReader()
        self._objects = ObjectFinder(indices, self._effects)
        self._places = PlaceFinder(indices, self._objects)

    def objects_of(self, value: SSAValue) -> Sequence[MemoryRoot]:
        """The memory objects that `value` may name."""
        return self._objects.objects_of(value)

    def accesses_of(self, op: Operation) -> Iterator[BodyAccess]:
        """The accesses of `op`, an op of the body, in program order. Linear in the ops nested in it."""
        stack = [op]
        while stack:
            current = stack.pop()
            effects = self._effects.effects_of(current)
            if effects is None:
                yield BodyAccess(op, True, AccessPlace((UNKNOWN,)), opaque=True)
                continue
            for effect in effects:
                yield BodyAccess(op, effect.writes, self._places.place_of(effect))
            if speaks_for_itself_only(current):
                nested = (inner for region in current.regions for block in region.blocks for inner in block.ops)
                stack.extend(reversed(list(nested)))
