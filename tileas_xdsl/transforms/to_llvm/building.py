"""Code under way: the block at whose end ops are built, and the ops that everybody builds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr, UnitAttr, UnknownLoc, i8, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

OpT = TypeVar("OpT", bound=Operation)
FormT = TypeVar("FormT")
ConstantT = TypeVar("ConstantT", arith.ConstantOp, llvm.ConstantOp)


def place(op: OpT, location: LocationAttr) -> OpT:
    """`op`, which stands at `location` unless it says itself where it stands."""
    if isinstance(op.location, UnknownLoc):
        op.location = location
    return op


@cache
def integer(value: int, type_: IntegerType | IndexType) -> IntegerAttr[Any]:
    """The attribute of a number: thousands of ops share a few."""
    return IntegerAttr(value, type_)


def constant(kind: type[ConstantT], value: Attribute, type_: Attribute) -> ConstantT:
    """A constant of `arith` or `llvm`, made without asking the definition of the op what it has."""
    return kind.create(properties={"value": value}, result_types=[type_])


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
        self.block.add_op(op)
        return op

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
class Conversion(Code, ABC, Generic[FormT]):
    """Code under way, and what stands for the values of the function that it is made of."""

    forms: dict[SSAValue, FormT] = field(default_factory=dict[SSAValue, Any], kw_only=True)
    """Value -> what stands for it: its form, which consists of SSA values, the parts."""

    @staticmethod
    @abstractmethod
    def types_for(type_: Attribute) -> Sequence[Attribute] | None:
        """The types of the parts of a value of this type; None where nothing stands for it."""

    @abstractmethod
    def form_of(self, type_: Attribute, parts: Sequence[SSAValue]) -> FormT:
        """What `parts`, of the types `types_for(type_)`, are the parts of."""

    @abstractmethod
    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The parts of `value`, of the types that `types_for` gives."""

    def of(self, value: SSAValue) -> SSAValue:
        """The only part of `value`."""
        (found,) = self.parts(value)
        return found

    def all_parts(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """Those of several values, one behind the other."""
        return [part for value in values for part in self.parts(value)]

    def all_types(self, values: Iterable[SSAValue]) -> list[Attribute]:
        """The types of the parts of several values, one behind the other."""
        return [type_ for value in values for type_ in self.types_for(value.type) or ()]

    def bind(self, values: Iterable[SSAValue], found: Sequence[SSAValue]) -> None:
        """`found` are the parts of `values`, one behind the other."""
        start = 0
        for value in values:
            end = start + len(self.types_for(value.type) or ())
            self.forms[value] = self.form_of(value.type, found[start:end])
            self.name(value, found[start:end])
            start = end

    def name(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        """Call parts that have no name as the value is called."""
        for part in parts:
            part.name_hint = part.name_hint or value.name_hint


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
        return self.result(constant(arith.ConstantOp, integer(value, type_), type_))

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
        if isinstance(offset, int):
            return self.result(llvm.GEPOp(pointer, [offset], i8, result_type=space))
        return self.result(llvm.GEPOp(pointer, [llvm.GEP_USE_SSA_VAL], i8, [offset], result_type=space))

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


@dataclass
class Structured(Building, Conversion[FormT]):
    """A conversion that keeps loops and branches."""

    @abstractmethod
    def lower(self, op: Operation) -> None:
        """Build what stands for an op."""

    def lower_body(self, block: Block) -> None:
        """Build what stands for the ops of a block; its arguments are bound already."""
        for op in block.ops:
            self.lower(op)

    def region_for(self, region: Region) -> Region:
        """What stands for a region of one block, or of none."""
        if not region.blocks:
            return Region()
        block = Block(arg_types=self.all_types(region.block.args))
        with self.inside(block):
            self.bind(region.block.args, block.args)
            self.lower_body(region.block)
        return Region(block)

    def rebuild(
        self, op: Operation, attributes: Mapping[str, Attribute], regions: Sequence[Region] | None = None
    ) -> None:
        """Build the same op, with parts for its operands, arguments and results; its regions may be built already."""
        made = [self.region_for(region) for region in op.regions] if regions is None else regions
        like = type(op).create(
            operands=self.all_parts(op.operands),
            result_types=self.all_types(op.results),
            properties=dict(op.properties),
            attributes=dict(attributes),
            regions=made,
        )
        self.bind(op.results, self.insert(like).results)
