"""
Which accesses of two blocks of a grid atomic updates may order, as a lock or a ticket does.

    ct.atomic_cas(Lock, 0, 0, 1, memory_order=ACQUIRE)     block q: what stands behind comes after ..
    ct.store(Sums, index=(0,), ..)
    ct.atomic_xchg(Lock, 0, 0, memory_order=RELEASE)       .. what block p did in front of its release

The way from an access of one block to one of another begins with a release behind the first and ends with an acquire in
front of the second, and both reach beyond their own block (Tile IR, memory model; PTX ISA, "Causality Order"). Whether
the acquire reads what was released is not followed: without such a pair nothing orders the two, and with one something
may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileaa.atomics import AtomicCasOp, AtomicRmwOp, TiledAtomicRmwOp
from tileas_xdsl.dialects.nv_tileaa.memory import AccessOp
from tileas_xdsl.dialects.tiles.policies import MemScope, MemSemantic

ATOMIC = (TiledAtomicRmwOp, AtomicRmwOp, AtomicCasOp)
LOOPS = (scf.ForOp, scf.WhileOp)
ACQUIRES = (MemSemantic.ACQUIRE, MemSemantic.ACQ_REL)
RELEASES = (MemSemantic.RELEASE, MemSemantic.ACQ_REL)


@dataclass(frozen=True)
class BlockOrder:
    """What the accesses of a function may order."""

    function: Operation
    accesses: Sequence[AccessOp]

    def may_order(self, one: Operation, other: Operation) -> bool:
        """Whether an access of one block may be ordered with another one of another block, either first."""
        return self._may_come_first(one, other) or self._may_come_first(other, one)

    def idle_updates(self) -> list[AccessOp]:
        """The atomic updates of locks and tickets, whose old values are used, that order nothing among blocks."""
        updates = [op for op in self.accesses if isinstance(op, ATOMIC)]
        words = {op.base for op in updates if op.results[0].first_use is not None}
        return [op for op in updates if op.base in words and not (_is(op, ACQUIRES) or _is(op, RELEASES))]

    def _may_come_first(self, first: Operation, second: Operation) -> bool:
        is_released = any(_is(op, RELEASES) and self._may_follow(first, op) for op in self.accesses)
        return is_released and any(_is(op, ACQUIRES) and self._may_follow(op, second) for op in self.accesses)

    def _may_follow(self, op: Operation, later: Operation) -> bool:
        """Whether a block may execute `later` behind `op`, or both are one."""
        return self._places[op] <= self._places[later] or not self._loops_around[op].isdisjoint(
            self._loops_around[later]
        )

    @cached_property
    def _places(self) -> dict[Operation, int]:
        return {op: place for place, op in enumerate(self.function.walk())}

    @cached_property
    def _loops_around(self) -> dict[Operation, frozenset[Operation]]:
        found: dict[Operation, frozenset[Operation]] = {self.function: frozenset()}
        for op in self.function.walk():
            around = op.parent_op()
            if op is not self.function and around is not None:
                found[op] = found[around] | ({around} if isinstance(around, LOOPS) else set())
        return found


def _is(op: AccessOp, semantics: Sequence[MemSemantic]) -> bool:
    """Whether an access is one of these to other blocks; an update that does not say how it orders may be any."""
    if op.mem_semantic is None:
        return isinstance(op, ATOMIC)
    scope = op.mem_scope
    return op.mem_semantic.data in semantics and (scope is None or scope.data is not MemScope.TL_BLK)


def weakness_of(update: AccessOp) -> str:
    """Why an atomic update orders nothing among blocks, as in "orders no two blocks: it is relaxed"."""
    assert update.mem_semantic is not None
    scope = update.mem_scope
    is_narrow = update.mem_semantic.data is not MemSemantic.RELAXED and scope is not None
    return "its scope is the own block" if is_narrow else f"it is {update.mem_semantic.data}"
