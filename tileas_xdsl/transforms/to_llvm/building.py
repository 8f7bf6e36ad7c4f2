"""Code under way: the block at whose end ops are built, and the ops that everybody builds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr, UnitAttr, UnknownLoc, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

OpT = TypeVar("OpT", bound=Operation)


def place(op: OpT, location: LocationAttr) -> OpT:
    """`op`, which stands at `location` unless it says itself where it stands."""
    if isinstance(op.location, UnknownLoc):
        op.location = location
    return op


@dataclass
class Code:
    """Ops one behind the other, in one block after the other, each with the place of the op that it is built for."""

    block: Block
    """Where ops are built now, at the end."""
    location: LocationAttr | None = field(default=None, kw_only=True)
    """Where the op stands that is lowered now."""

    def insert(self, op: OpT) -> OpT:
        """Build an op at the end of the block, for what stands where the op does that is lowered."""
        if self.location is not None:
            place(op, self.location)
        return Builder(InsertPoint.at_end(self.block)).insert(op)

    def result(self, op: Operation) -> SSAValue:
        """Build an op and take its only result."""
        return self.insert(op).results[0]

    @contextmanager
    def standing_for(self, op: Operation) -> Generator[None]:
        """Build what stands for `op` meanwhile."""
        outside, self.location = self.location, op.location
        try:
            yield
        finally:
            self.location = outside


@dataclass
class Building(Code):
    """A function under way."""

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Build at the end of `block` meanwhile."""
        outside, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outside

    def number(self, value: int, type_: IntegerType | IndexType = i32) -> SSAValue:
        """A constant."""
        attribute = (
            IntegerAttr.from_index_int_value(value) if isinstance(type_, IndexType) else IntegerAttr(value, type_)
        )
        return self.result(arith.ConstantOp(attribute))

    def compute(self, op: Callable[[SSAValue, SSAValue], Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
        """`op(a, b)`; a number becomes a constant of the type of `a`."""
        other = self.number(b, cast("IntegerType | IndexType", a.type)) if isinstance(b, int) else b
        return self.result(op(a, other))

    def compare(self, a: SSAValue, word: str, b: SSAValue | int) -> SSAValue:
        """An i1: `a` is equal to, less than, ... `b`."""
        return self.compute(lambda x, y: arith.CmpiOp(x, y, word), a, b)

    def shifted(self, pointer: SSAValue, offset: SSAValue | int) -> SSAValue:
        """The pointer so many bytes behind another one."""
        if offset == 0:
            return pointer
        space = cast(llvm.LLVMPointerType, pointer.type)
        byte = IntegerType(8)
        if isinstance(offset, int):
            return self.result(llvm.GEPOp(pointer, [offset], byte, result_type=space))
        return self.result(llvm.GEPOp(pointer, [llvm.GEP_USE_SSA_VAL], byte, [offset], result_type=space))

    def when(self, condition: SSAValue, build: Callable[[], None], *, mark: str | None = None) -> None:
        """Do what `build` builds, in the threads where the condition is true; `mark`: an attribute of the branch."""
        body = Block()
        with self.inside(body):
            build()
            self.insert(scf.YieldOp())
        branch = self.insert(scf.IfOp(condition, [], Region(body)))
        if mark is not None:
            branch.attributes[mark] = UnitAttr()

    def chosen(
        self,
        condition: SSAValue,
        build: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]],
        *,
        mark: str | None = None,
    ) -> list[SSAValue]:
        """What `build` makes where the condition is true, elsewhere what `otherwise` makes, of the same types."""
        then, values = self._arm(build)
        other, _ = self._arm(otherwise)
        branch = self.insert(scf.IfOp(condition, [value.type for value in values], then, other))
        if mark is not None:
            branch.attributes[mark] = UnitAttr()
        return list(branch.results)

    def _arm(self, build: Callable[[], Sequence[SSAValue]]) -> tuple[Region, Sequence[SSAValue]]:
        """A region that yields what `build` makes, and that."""
        block = Block()
        with self.inside(block):
            values = build()
            self.insert(scf.YieldOp(*values))
        return Region(block), values

    def stands_behind(self, kind: type[Operation], *passed: type[Operation]) -> bool:
        """Whether a `kind` stands at the end of the block, with ops behind it that only compute, or are `passed`."""
        last = self.block.last_op
        while (
            last is not None and not isinstance(last, kind) and (is_side_effect_free(last) or isinstance(last, passed))
        ):
            last = last.prev_op
        return isinstance(last, kind)
