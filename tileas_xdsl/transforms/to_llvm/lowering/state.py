"""What the rules work on: the place where ops are built, and which values of `llvm` stand for which value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from tileas_xdsl.transforms.to_llvm.building import Conversion, constant, integer
from tileas_xdsl.transforms.to_llvm.lowering.types import BufferType, buffer_type, types_for
from tileas_xdsl.transforms.to_llvm.rule_table import RuleTable

Number = int | SSAValue
"""A number of 64 bits, known or computed."""

TABLE: RuleTable[Lowering] = RuleTable()
RULES, REFUSALS = TABLE.rules, TABLE.refusals
rule, refusal = TABLE.rule, TABLE.refusal


@dataclass(frozen=True)
class Buffer:
    """What stands for a buffer: a pointer to its base, and in elements the offset, sizes and strides."""

    type: BufferType
    pointer: SSAValue
    offset: Number
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]


@dataclass
class Lowering(Conversion[Sequence[SSAValue]]):
    """One function under way."""

    region: Region
    blocks: dict[Block, Block] = field(default_factory=dict[Block, Block])
    """The blocks that stand for those of the function's own body."""

    # Building ---------------------------------------------------------------------------------------------------------

    def new_block(self, types: Sequence[Attribute] = ()) -> Block:
        """A block behind all others."""
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    def integer(self, value: int, type_: IntegerType = i64) -> SSAValue:
        """A constant."""
        return self.result(constant(llvm.ConstantOp, integer(value, type_), type_))

    def as_value(self, number: Number) -> SSAValue:
        """The value of a number."""
        return self.integer(number) if isinstance(number, int) else number

    def add(self, a: Number, b: Number) -> Number:
        """The sum; what is known is added up here."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if 0 in (a, b):
            return b if a == 0 else a
        return self.result(llvm.AddOp(self.as_value(a), self.as_value(b)))

    def multiply(self, a: Number, b: Number) -> Number:
        """The product; what is known is multiplied here."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 1 in (a, b):
            return b if a == 1 else a
        if 0 in (a, b):
            return 0
        return self.result(llvm.MulOp(self.as_value(a), self.as_value(b)))

    # Values -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def types_for(type_: Attribute) -> Sequence[Attribute] | None:
        return types_for(type_)

    def form_of(self, type_: Attribute, parts: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return parts

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        return self.forms[value]

    def number(self, value: SSAValue) -> Number:
        """The number that stands for an index, itself where it is a constant."""
        found = self.of(value)
        constant = found.owner.value if isinstance(found.owner, llvm.ConstantOp) else None
        return cast("IntegerAttr[Any]", constant).value.data if isinstance(constant, IntegerAttr) else found

    def give(self, result: SSAValue, *found: SSAValue) -> None:
        """`found` stands for `result` from now on."""
        self.forms[result] = found
        self.name(result, found)

    # Buffers ----------------------------------------------------------------------------------------------------------

    def buffer(self, value: SSAValue) -> Buffer:
        """What stands for a buffer; strides that follow from the sizes are computed here."""
        kind = buffer_type(value.type)
        assert kind is not None
        pointer, *open_numbers = self.forms[value]
        given = iter(open_numbers)
        offset, *rest = [next(given) if number is None else number for number in kind.numbers]
        sizes, strides = rest[: len(kind.sizes)], rest[len(kind.sizes) :]
        if kind.strides is None:
            strides = self._row_by_row(sizes)
        return Buffer(kind, pointer, offset, tuple(sizes), tuple(strides))

    def _row_by_row(self, sizes: Sequence[Number]) -> list[Number]:
        strides: list[Number] = [1] * len(sizes)
        for number in range(len(sizes) - 1, 0, -1):
            strides[number - 1] = self.multiply(strides[number], sizes[number])
        return strides

    def give_buffer(
        self, result: SSAValue, pointer: SSAValue, offset: Number, sizes: Sequence[Number], strides: Sequence[Number]
    ) -> None:
        """A buffer stands for `result`: of its numbers those that its type leaves open."""
        kind = buffer_type(result.type)
        assert kind is not None
        numbers = (offset, *sizes, *strides)
        open_numbers = [
            self.as_value(number) for number, known in zip(numbers, kind.numbers, strict=False) if known is None
        ]
        self.give(result, pointer, *open_numbers)


def start(types: Sequence[Attribute]) -> Lowering:
    """A function with one block that takes values of these types."""
    block = Block(arg_types=types)
    return Lowering(block, Region(block))
