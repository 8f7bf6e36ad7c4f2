"""
Atomic operations and casts of address spaces of MLIR's `llvm` dialect.

    %old = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<1>, i32
    %old = llvm.atomicrmw volatile fadd %p, %f syncscope("agent") monotonic : !llvm.ptr<1>, f32
    %both = llvm.cmpxchg weak %p, %expected, %new acq_rel monotonic : !llvm.ptr<1>, i32
    %generic = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr

[MLIR's page of the dialect](https://mlir.llvm.org/docs/Dialects/LLVM/) has the ops, LLVM's language reference what they
do ("Atomic Memory Ordering Constraints", "atomicrmw Instruction").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.llvm import BrOp, CondBrOp, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import check_branches, with_attributes, with_ops
from tileas_xdsl.dialects.extensions.literals import read_bits_of_floats
from tileas_xdsl.dialects.extensions.llvm_accesses import (
    NAME_OF_ORDERING,
    ORDERINGS,
    DereferenceableAttr,
    FenceOp,
    give_forms,
    parse_ordering,
    parse_scope,
    parse_unit,
    print_scope,
)
from tileas_xdsl.dialects.extensions.llvm_loops import LoopAnnotationAttr, LoopUnrollAttr
from tileas_xdsl.dialects.extensions.llvm_values import VALUE_OPS
from tileas_xdsl.dialects.nvvm.attributes import ConstantRangeAttr
from tileas_xdsl.dialects.tiles.traits import LeadsToOperand

BINARY_OPS = (
    *("xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin"),
    *("fadd", "fsub", "fmax", "fmin", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum"),
)
"""What `atomicrmw` computes, by number."""
FLOAT_OPS = frozenset(["fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum"])

WIDTHS = (8, 16, 32, 64)
"""The widths of integers that an atomic op may access."""


class _Atomic(IRDLOperation):
    """What the two atomic ops have in common. They touch all memory: they may order what others have done before."""

    syncscope = opt_prop_def(StringAttr)
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    volatile_ = opt_prop_def(UnitAttr)
    access_groups = opt_prop_def(ArrayAttr)
    alias_scopes = opt_prop_def(ArrayAttr)
    noalias_scopes = opt_prop_def(ArrayAttr)
    tbaa = opt_prop_def(ArrayAttr)

    OPTIONAL: ClassVar[tuple[str, ...]] = ("alignment", "access_groups", "alias_scopes", "noalias_scopes", "tbaa")
    """The properties that the custom form has in its dictionary."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def print_rest(self, printer: Printer, orderings: list[IntegerAttr], types: Sequence[Attribute]) -> None:
        """What stands behind the operands: scope, orderings, dictionary, types."""
        print_scope(printer, self.syncscope)
        for ordering in orderings:
            printer.print_string(f" {NAME_OF_ORDERING[ordering.value.data]}")
        written = {name: value for name in self.OPTIONAL if (value := self.properties.get(name)) is not None}
        printer.print_op_attributes(dict(sorted({**self.attributes, **written}.items())))
        printer.print_string(" : ")
        printer.print_list(types, printer.print_attribute)


def _dictionary(parser: Parser) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The properties and the attributes in the dictionary of a custom form."""
    written = parser.parse_optional_attr_dict()
    return {n: v for n, v in written.items() if n in _Atomic.OPTIONAL}, {
        n: v for n, v in written.items() if n not in _Atomic.OPTIONAL
    }


@irdl_op_definition
class AtomicRMWOp(_Atomic):
    """
    Read a value, compute another one from it and an operand, and write that, as one access. The result is what was
    read.
    """

    name = "llvm.atomicrmw"

    ptr = operand_def(LLVMPointerType)
    val = operand_def()
    bin_op = prop_def(IntegerAttr.constr(i64))
    ordering = prop_def(IntegerAttr.constr(i64))
    res = result_def()

    @property
    def computes(self) -> str:
        """The word for what it computes."""
        return BINARY_OPS[self.bin_op.value.data]

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        properties = parse_unit(parser, "volatile", "volatile_")
        start = parser.pos
        word = parser.parse_identifier()
        if word not in BINARY_OPS:
            parser.raise_error(f"expected one of {', '.join(BINARY_OPS)}, got '{word}'", start)
        properties["bin_op"] = IntegerAttr(BINARY_OPS.index(word), i64)
        pointer = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        properties |= parse_scope(parser)
        properties["ordering"] = parse_ordering(parser)
        more, attributes = _dictionary(parser)
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        type_ = parser.parse_type()
        operands = [parser.resolve_operand(pointer, pointer_type), parser.resolve_operand(value, type_)]
        return cls.create(
            operands=operands, result_types=[type_], properties={**properties, **more}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" volatile" if self.volatile_ is not None else "")
        printer.print_string(f" {self.computes} ")
        printer.print_list([self.ptr, self.val], printer.print_ssa_value)
        self.print_rest(printer, [self.ordering], [self.ptr.type, self.val.type])

    def verify_(self) -> None:
        if not 0 <= self.bin_op.value.data < len(BINARY_OPS):
            raise VerifyException(f"{self.name} computes number {self.bin_op.value.data}, which there is not")
        if self.res.type != self.val.type:
            raise VerifyException(f"'{self.name}' op failed to verify that result #0 and operand #1 have the same type")
        kind = self.val.type
        if self.computes in FLOAT_OPS:
            if not _is_scalar_float(_element(kind)):
                raise VerifyException(f"'{self.name}' op expected LLVM IR floating point type")
        elif self.computes == "xchg":
            if not (_is_integer(kind) or isinstance(kind, LLVMPointerType) or _is_scalar_float(kind)):
                raise VerifyException(f"'{self.name}' op unexpected LLVM IR type for 'xchg' bin_op")
        elif not _is_integer(kind):
            raise VerifyException(f"'{self.name}' op expected LLVM IR integer type")
        if self.ordering.value.data < ORDERINGS["monotonic"]:
            raise VerifyException(f"'{self.name}' op expected at least 'monotonic' ordering")


def _is_integer_or_pointer(kind: Attribute) -> bool:
    return isinstance(kind, IntegerType | LLVMPointerType)


def _is_integer(kind: Attribute) -> bool:
    return kind in [IntegerType(width) for width in WIDTHS]


def _element(kind: Attribute) -> Attribute:
    return cast("VectorType[Attribute]", kind).element_type if isinstance(kind, VectorType) else kind


def _is_scalar_float(kind: Attribute) -> bool:
    return isinstance(kind, BFloat16Type | Float16Type | Float32Type | Float64Type)


def _old_and_done(kind: Attribute) -> LLVMStructType:
    """What `cmpxchg` gives: the value that it has read, and whether it has written."""
    return LLVMStructType.from_type_list([kind, i1])


@irdl_op_definition
class CmpXchgOp(_Atomic):
    """
    Read a value and, if it is `cmp`, write `val`, as one access. The result is what was read, and whether it was
    written; one that is `weak` may find no equality where there is one.
    """

    name = "llvm.cmpxchg"

    ptr = operand_def(LLVMPointerType)
    cmp = operand_def()
    val = operand_def()
    success_ordering = prop_def(IntegerAttr.constr(i64))
    failure_ordering = prop_def(IntegerAttr.constr(i64))
    weak = opt_prop_def(UnitAttr)
    res = result_def(LLVMStructType)

    @classmethod
    def parse(cls, parser: Parser) -> CmpXchgOp:
        properties = parse_unit(parser, "weak", "weak") | parse_unit(parser, "volatile", "volatile_")
        operands = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            operands.append(parser.parse_unresolved_operand())
        properties |= parse_scope(parser)
        properties["success_ordering"] = parse_ordering(parser)
        properties["failure_ordering"] = parse_ordering(parser)
        more, attributes = _dictionary(parser)
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        type_ = parser.parse_type()
        pointer, *values = operands
        return cls.create(
            operands=[parser.resolve_operand(pointer, pointer_type)]
            + [parser.resolve_operand(value, type_) for value in values],
            result_types=[_old_and_done(type_)],
            properties={**properties, **more},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" weak" if self.weak is not None else "")
        printer.print_string(" volatile" if self.volatile_ is not None else "")
        printer.print_string(" ")
        printer.print_list([self.ptr, self.cmp, self.val], printer.print_ssa_value)
        orderings = [self.success_ordering, self.failure_ordering]
        self.print_rest(printer, orderings, [self.ptr.type, self.val.type])

    def verify_(self) -> None:
        kind = self.val.type
        if self.res.type != _old_and_done(kind):
            raise VerifyException(f"'{self.name}' op failed to verify that the result is a struct of {kind} and i1")
        if not _is_integer_or_pointer(kind):
            raise VerifyException(
                f"'{self.name}' op operand #2 must be signless integer or LLVM pointer type, but got '{kind}'"
            )
        if self.cmp.type != kind:
            raise VerifyException(f"'{self.name}' op failed to verify that operands #1 and #2 have the same type")
        if not (isinstance(kind, LLVMPointerType) or _is_integer(kind)):
            raise VerifyException(f"'{self.name}' op unexpected LLVM IR type")
        both = (self.success_ordering.value.data, self.failure_ordering.value.data)
        if min(both) < ORDERINGS["monotonic"]:
            raise VerifyException(f"'{self.name}' op ordering must be at least 'monotonic'")
        if both[1] in (ORDERINGS["release"], ORDERINGS["acq_rel"]):
            raise VerifyException(f"'{self.name}' op failure ordering cannot be 'release' or 'acq_rel'")


@irdl_op_definition
class AddrSpaceCastOp(IRDLOperation):
    """The same place by a pointer of another address space."""

    name = "llvm.addrspacecast"

    arg = operand_def()
    res = result_def()

    traits = traits_def(Pure(), LeadsToOperand())

    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def verify_(self) -> None:
        for noun, kind in (("operand", self.arg.type), ("result", self.res.type)):
            if not _is_pointer(kind):
                raise VerifyException(
                    f"'{self.name}' op {noun} #0 must be LLVM pointer type or LLVM dialect-compatible vector of LLVM "
                    f"pointer type, but got '{kind}'"
                )


def _is_pointer(kind: Attribute) -> bool:
    return isinstance(_element(kind), LLVMPointerType)


OPS: tuple[type[Operation], ...] = (AtomicRMWOp, CmpXchgOp, FenceOp, AddrSpaceCastOp, *VALUE_OPS)


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `llvm` with the ops of this file; its accesses have MLIR's forms, and it refuses what MLIR refuses."""
    read_bits_of_floats()
    check_branches(BrOp, CondBrOp)
    give_forms()
    attributes = [LoopAnnotationAttr, LoopUnrollAttr, ConstantRangeAttr, DereferenceableAttr]
    return with_attributes(with_ops(dialect, OPS), attributes)
