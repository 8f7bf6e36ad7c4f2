"""
The slice of a program that addresses, waits and branches need: which ops that only compute may be left out.

    %x = llvm.load %p              acts: it touches memory, whatever becomes of %x
    %y = arith.mulf %x, %x         only computes, and what it gives is stored: left out
    llvm.store %y, %q              acts, at %q; %y is data
    %i = arith.addi %i0, %c1       gives the address %q: needed
    %q = llvm.getelementptr %z[%i]

This is dead code elimination (Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control
Dependence Graph", 1991, section 7) whose roots are the ops that act. They bring the operands that decide what they do,
and not their data. A value that is carried by loops and branches brings what it is carried from. Every op that acts is
kept, and so is every branch.

Data matter after all where a result of their op is needed, as of an exchange between lanes; and where a number is read
from memory that is needed: stores of numbers of its width bring what they store. Where a value is *late* (an
asynchronous op fills its registers), an ordinary op that looks at it too early is a mistake. Of the ops that look at it
between two synchronising ones the first is kept, though nothing needs its result.

What the ops are is told by `Roles`, so that readers of other levels can ask the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.value_flow import carried_to

INDEX_BITS = 64


@dataclass(frozen=True)
class Roles:
    """What the ops of a level do, as far as a slice asks."""

    computes: Callable[[Operation], bool]
    """Whether an op depends on its operands alone, does nothing else, and never fails."""
    depends_on: Callable[[Operation], Sequence[SSAValue]]
    """The operands of such an op on which its results depend."""
    data: Callable[[Operation], Sequence[SSAValue]]
    """The operands of an op that acts which make no difference to what it does, only to what it gives."""
    reads: Callable[[Operation], bool]
    """Whether what an op that acts gives may be a number that another op has stored."""
    gives_late: Callable[[Operation], bool]
    """Whether the results of an op may have no value yet when it is through."""
    synchronises: Callable[[Operation], bool]
    """Whether behind an op that acts a look at a value may be something else than before it."""


@dataclass(frozen=True)
class Slice:
    """What of a region is needed."""

    left_out: frozenset[Operation]
    """The ops that nothing needs, for membership only."""
    without_data: frozenset[Operation]
    """The ops that act on data which are not computed, or not needed."""


def slice_of(region: Region, roles: Roles) -> Slice:
    """The slice of `region`, the body of a function."""
    return _Search(region, roles).found()


@dataclass
class _Search:
    region: Region
    roles: Roles
    needed: set[SSAValue] = field(default_factory=set[SSAValue])
    carried_from: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """Value -> those that it is another name of, one way or another."""
    made_of: dict[SSAValue, Sequence[SSAValue]] = field(default_factory=dict[SSAValue, Sequence[SSAValue]])
    """What an op that acts gives -> its data."""
    acting: list[Operation] = field(default_factory=list[Operation])
    data: dict[Operation, Sequence[SSAValue]] = field(default_factory=dict[Operation, Sequence[SSAValue]])

    def found(self) -> Slice:
        for op in self.region.walk():
            if not self.roles.computes(op):
                self.acting.append(op)
        self._need(list(self._roots()))
        reading = (op for op in self.acting if op.results and self.roles.reads(op))
        given = [result for op in reading for result in op.results if result not in self.carried_from]
        while stored := list(self._stored_for(given)):
            self._need(stored)
        late = self._late()
        left_out = [op for block in _blocks_in(self.region) for op in self._left_out(block, late)]
        without = [op for op, data in self.data.items() if any(value not in self.needed for value in data)]
        return Slice(frozenset(left_out), frozenset(without))

    def _roots(self) -> Iterator[SSAValue]:
        """What the ops that act need; what they carry on is noted."""
        for op in self.acting:
            data = self.data[op] = self.roles.data(op)
            self.made_of |= dict.fromkeys(op.results, data)
            for index, operand in enumerate(op.operands):
                targets = carried_to(Use(op, index))
                for target in targets or ():
                    self.carried_from.setdefault(target, []).append(operand)
                if targets is None and not any(operand is each for each in data):
                    yield operand

    def _need(self, values: list[SSAValue]) -> None:
        while values:
            value = values.pop()
            if value in self.needed:
                continue
            self.needed.add(value)
            values += (*self.carried_from.get(value, ()), *self.made_of.get(value, ()))
            owner = value.owner
            if isinstance(owner, Operation) and self.roles.computes(owner):
                values += self.roles.depends_on(owner)

    def _stored_for(self, given: Iterable[SSAValue]) -> Iterator[SSAValue]:
        """Data that are not needed yet, of the width of a number that is needed, one of those `given` by memory."""
        widths = {_bits(result.type) for result in given if result in self.needed} - {None}
        for data in self.data.values() if widths else ():
            yield from (value for value in data if value not in self.needed and _bits(value.type) in widths)

    def _late(self) -> set[SSAValue]:
        """The values that may be late, by whatever name."""
        makers = [op for op in self.acting if self.roles.gives_late(op)]
        worklist: list[SSAValue] = [result for op in makers for result in op.results]
        late: set[SSAValue] = set()
        while worklist:
            value = worklist.pop()
            if value in late:
                continue
            late.add(value)
            for use in value.uses:
                if not isinstance(use.operation, arith.SelectOp):
                    worklist += carried_to(use) or ()
        return late

    def _left_out(self, block: Block, late: set[SSAValue]) -> Iterator[Operation]:
        """The ops of `block` itself that are left out."""
        looked_at: set[SSAValue] = set()
        for op in block.ops:
            if not self.roles.computes(op):
                if op.regions or self.roles.synchronises(op):
                    looked_at.clear()
                continue
            looks = late.intersection(op.operands)
            if not looks - looked_at and self.needed.isdisjoint(op.results):
                yield op
            looked_at |= looks


def _blocks_in(region: Region) -> Iterable[Block]:
    for block in region.blocks:
        yield block
        for op in block.ops:
            for inner in op.regions:
                yield from _blocks_in(inner)


def _bits(kind: Attribute) -> int | None:
    """The width of a number; None for what is none."""
    if isinstance(kind, IndexType):
        return INDEX_BITS
    return kind.bitwidth if isinstance(kind, IntegerType | AnyFloat) else None
