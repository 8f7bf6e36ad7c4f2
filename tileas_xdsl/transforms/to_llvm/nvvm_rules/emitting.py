"""
What the rules are written with: the table, and an emitter of intrinsics, constants and inline assembly.

Inline PTX clobbers memory, which MLIR's does not: without that LLVM may move a load over the wait that it waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.extensions.llvm_values import member_of
from tileas_xdsl.dialects.upstream import address_space, pointer_type
from tileas_xdsl.transforms.to_llvm.building import OpT, constant, integer, place
from tileas_xdsl.transforms.to_llvm.rule_table import RuleTable

TABLE: RuleTable[Emitter] = RuleTable()
"""Each op of `nvvm` that has a meaning in LLVM; a rule returns the results of the op, None where it has none."""
RULES, REFUSALS = TABLE.rules, TABLE.refusals
rule, refusal = TABLE.rule, TABLE.refusal

SHARED_SPACE = 3
"""The block's own shared memory: PTX takes 32 bits of a pointer there."""


@dataclass(frozen=True)
class Emitter:
    """Builds ops of `llvm` in front of the op that they stand for."""

    before: Operation

    def insert(self, op: OpT) -> OpT:
        """Build an op, at the place in the program of the one that it stands for."""
        block = self.before.parent
        assert block is not None
        block.insert_op_before(place(op, self.before.location), self.before)
        return op

    def call(self, intrinsic: str, arguments: Sequence[SSAValue] = (), result: Attribute | None = None) -> Any:
        """The value of `llvm.nvvm.<intrinsic>`; None where it has no result."""
        op = llvm.CallIntrinsicOp(f"llvm.nvvm.{intrinsic}", arguments, [] if result is None else [result])
        self.insert(op)
        return op.results[0] if result is not None else None

    def integer(self, value: int, type_: IntegerType = i32) -> SSAValue:
        """A constant; arguments that LLVM wants immediate must be one."""
        return self.insert(constant(llvm.ConstantOp, integer(value, type_), type_)).result

    def flag(self, *, value: bool) -> SSAValue:
        """An i1."""
        return self.integer(int(value), i1)

    def part(self, aggregate: SSAValue, position: int, type_: Attribute) -> SSAValue:
        """A member of a struct."""
        return self.insert(member_of(aggregate, position, type_)).res

    def in_space(self, pointer: SSAValue, space: int) -> SSAValue:
        """The same place by a pointer into `space`."""
        if address_space(pointer.type) == space:
            return pointer
        return self.insert(AddrSpaceCastOp(operands=[pointer], result_types=[pointer_type(space)])).res

    def assembly(
        self,
        text: str,
        outputs: Sequence[Attribute] = (),
        inputs: Sequence[SSAValue] = (),
        tied: Sequence[int] = (),
        *,
        apart: bool = False,
    ) -> list[SSAValue]:
        """
        The outputs of PTX. `$0`, `$1`, ... count outputs, then inputs; the last inputs share the registers of the
        outputs `tied`, and the others none where they are to be kept `apart`. Nothing in memory moves across it: LLVM
        cannot know what it does there.
        """
        match outputs:
            case []:
                self._asm(text, outputs, inputs, tied, [], apart=apart)
                return []
            case [only]:
                return list(self._asm(text, outputs, inputs, tied, [only], apart=apart).results)
            case _:
                joined = self.assembled(text, llvm.LLVMStructType.from_type_list(outputs), inputs, tied, apart=apart)
                return [self.part(joined, number, type_) for number, type_ in enumerate(outputs)]

    def assembled(
        self,
        text: str,
        struct: llvm.LLVMStructType,
        inputs: Sequence[SSAValue],
        tied: Sequence[int] = (),
        *,
        apart: bool = False,
    ) -> SSAValue:
        """The same with the outputs, two or more, as the one struct that LLVM gives."""
        outputs = list(struct.types)
        return self._asm(text, outputs, inputs, tied, [struct], apart=apart).results[0]

    def _asm(
        self,
        text: str,
        outputs: Sequence[Attribute],
        inputs: Sequence[SSAValue],
        tied: Sequence[int],
        types: Sequence[Attribute],
        *,
        apart: bool,
    ) -> llvm.InlineAsmOp:
        free = inputs[: len(inputs) - len(tied)]
        written = "=&" if apart else "="
        constraints = [written + register(type_) for type_ in outputs] + [register(value.type) for value in free]
        constraints += [*map(str, tied), "~{memory}"]
        op = llvm.InlineAsmOp(text, ",".join(constraints), inputs, types, has_side_effects=True)
        self.insert(op)
        return op


REGISTERS: dict[Attribute, str] = {i1: "b", i16: "h", i32: "r", i64: "l"}


def register(type_: Attribute) -> str:
    """The letter for the kind of register that holds a value of the type, in LLVM's constraints for NVPTX."""
    if isinstance(type_, llvm.LLVMPointerType):
        return "r" if address_space(type_) == SHARED_SPACE else "l"
    match type_:
        case Float32Type():
            return "f"
        case Float64Type():
            return "d"
        case Float16Type():
            return "h"
        case _:
            return REGISTERS[type_]
