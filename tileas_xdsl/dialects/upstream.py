"""
What our versions of MLIR's target dialects (`nvvm`, `rocdl`, `nvgpu`) have in common.

These dialects exist in MLIR, so their text is fixed: each op prints what mlir-opt 22 prints and
refuses what it refuses, with the same error texts. Three things recur and live here:

* *Constraints.* `I32`, `pointer(3, 7)`, `integer(i32)`, ... know MLIR's description of what they
  accept. xDSL checks a constraint twice: while parsing, where a failure has neither an op nor a
  location, and while verifying. Ours accept everything when xDSL asks. The trait `ChecksAsInMLIR`
  checks them instead: it knows the op, the operand's number and the property's name:

      'nvvm.mbarrier.inval' op operand #0 must be LLVM pointer in address space 0 or LLVM pointer
      in address space 3, but got '!llvm.ptr<7>'

* *Effects.* An op names the operands through which it reads and writes memory. An op that names
  none touches all memory: it is never removed, never merged, and no access moves across it. That is
  a safe default for ops that synchronise.

* *Spelling.* Pointer types lose their `!llvm.ptr` where MLIR drops it; an attribute in a fixed
  position appears without its `#dialect.name`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from typing_extensions import TypeVar
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    Signedness,
    VectorType,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttributeInvT,
    AttrSizedOperandSegments,
    EqAttrConstraint,
    InferenceContext,
    IntConstraint,
    IRDLOperation,
    OptionalDef,
    ParamAttrConstraint,
    ParsePropInAttrDict,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
    VerificationContext,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    UniqueBaseAttributeVariable,
    irdl_custom_directive,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

KindT = TypeVar("KindT", bound=StrEnum)

Value = SSAValue | Operation
"""What a builder takes as an operand: a value, or an op with one result."""

# Types --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TypeConstraint(AttrConstraint):
    """Accepts some types of operands or results, and describes them in MLIR's words."""

    summary: str
    accepts: Callable[[Attribute], bool]
    only: Attribute | None = None
    """The only accepted type, if there is exactly one: then the custom form may omit it."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Never fails; `ChecksAsInMLIR` reports the error."""

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.only is not None

    def infer(self, context: InferenceContext) -> Attribute:
        if self.only is None:
            return super().infer(context)
        return self.only

    def mapping_type_vars(self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]) -> TypeConstraint:
        return self


def exactly(accepted: Attribute, summary: str) -> TypeConstraint:
    """The constraint that only `accepted` satisfies."""
    return TypeConstraint(summary, lambda type_: type_ == accepted, only=accepted)


def any_type_of(*choices: TypeConstraint) -> TypeConstraint:
    """The constraint that a type satisfies when it satisfies one of `choices`."""
    summary = " or ".join(choice.summary for choice in choices)
    return TypeConstraint(summary, lambda type_: any(c.accepts(type_) for c in choices))


def pointer(*spaces: int) -> TypeConstraint:
    """A pointer into one of the address `spaces` (0 generic, 1 global, 3 shared, 7 cluster)."""
    summary = " or ".join(f"LLVM pointer in address space {space}" for space in spaces)
    only = pointer_type(spaces[0]) if len(spaces) == 1 else None
    return TypeConstraint(summary, lambda type_: address_space(type_) in spaces, only)


def pointer_type(space: int) -> LLVMPointerType:
    """The type `!llvm.ptr<space>`; `!llvm.ptr` for the generic space 0, as MLIR writes it."""
    return LLVMPointerType(IntAttr(space) if space else NoneAttr())


def address_space(type_: Attribute) -> int | None:
    """The address space of a pointer type, or None for any other type."""
    if not isinstance(type_, LLVMPointerType):
        return None
    return type_.addr_space.data if isinstance(type_.addr_space, IntAttr) else 0


I1 = exactly(i1, "1-bit signless integer")
I8 = exactly(i8, "8-bit signless integer")
I16 = exactly(i16, "16-bit signless integer")
I32 = exactly(i32, "32-bit signless integer")
I64 = exactly(i64, "64-bit signless integer")
F32 = exactly(f32, "32-bit float")
ANY_POINTER = TypeConstraint("LLVM pointer type", lambda t: isinstance(t, LLVMPointerType))
ANY_STRUCT = TypeConstraint("LLVM structure type", lambda t: isinstance(t, LLVMStructType))

_LLVM_FLOATS = BFloat16Type | Float16Type | Float32Type | Float64Type | Float80Type | Float128Type


def _is_llvm_type(type_: Attribute) -> bool:
    """Whether a value of the type may live in LLVM IR (tokens and functions aside)."""
    if isinstance(type_, VectorType):
        vector = cast("VectorType[Any]", type_)
        return vector.get_num_dims() == 1 and _is_llvm_type(vector.element_type)
    if isinstance(type_, IntegerType):
        return cast(IntegerType, type_).signedness.data == Signedness.SIGNLESS
    return isinstance(type_, _LLVM_FLOATS | LLVMPointerType | LLVMStructType | LLVMArrayType)


LLVM_TYPE = TypeConstraint("LLVM dialect-compatible type", _is_llvm_type)


# Properties ---------------------------------------------------------------------------------------


@runtime_checkable
class PropertyConstraint(Protocol):
    """A constraint on a property that describes its errors; it never fails when xDSL asks."""

    def refusal(self, op: str, name: str, attr: Attribute) -> str | None:
        """The error of the property `name = attr` of `op`, or None."""
        ...


@dataclass(frozen=True)
class IntegerProperty(ParamAttrConstraint[IntegerAttr]):
    """An integer attribute of one type, not below `minimum`; made by `integer`."""

    summary: str
    minimum: int | None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Never fails; `ChecksAsInMLIR` reports the error."""

    def refusal(self, op: str, name: str, attr: Attribute) -> str | None:
        """The error of the property `name = attr` of `op`, or None."""
        if isinstance(attr, IntegerAttr):
            number = cast(IntegerAttr, attr)
            if self.param_constrs[1].verifies(number.type):
                if self.minimum is None or number.value.data >= self.minimum:
                    return None
        return f"'{op}' op attribute '{name}' failed to satisfy constraint: {self.summary}"


def integer(type_: IntegerType | IndexType, minimum: int | None = None) -> IntegerProperty:
    """The constraint on an integer property of type `type_`, at least `minimum`."""
    words = "index attribute" if isinstance(type_, IndexType) else f"{type_.width.data}-bit signless integer attribute"
    if minimum is not None:
        words += f" whose minimum value is {minimum}"
    constraints = (AnyAttr(), EqAttrConstraint(type_))
    return IntegerProperty(IntegerAttr, constraints, words, minimum)


@dataclass(frozen=True)
class ClassProperty(AttrConstraint[AttributeInvT]):
    """An attribute of one class: an enumeration, a range, `unit` and the like."""

    base: type[AttributeInvT]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Never fails; `ChecksAsInMLIR` reports the error."""

    def refusal(self, op: str, name: str, attr: Attribute) -> str | None:
        """The error of the property `name = attr` of `op`, or None."""
        if isinstance(attr, self.base):
            return None
        return (
            f"invalid properties for op {op}: Invalid attribute `{name}` in property conversion: "
            f"{attr} (expected {self.base.name})"
        )

    def get_bases(self) -> set[type[Attribute]]:
        return {self.base}

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> ClassProperty[AttributeInvT]:
        return self


# The check ----------------------------------------------------------------------------------------


class ChecksAsInMLIR(OpTrait):
    """Checks properties, operands and results against their constraints, with MLIR's messages."""

    def verify(self, op: Operation) -> None:
        if not isinstance(op, IRDLOperation):
            return
        definition = op.get_irdl_definition()
        for name, declared in definition.properties.items():
            attribute = op.properties.get(name)
            constraint = declared.constr
            if attribute is None or not isinstance(constraint, PropertyConstraint):
                continue
            if (refusal := constraint.refusal(op.name, name, attribute)) is not None:
                raise VerifyException(refusal)
        _check_types(op, "operand", definition.operands)
        _check_types(op, "result", definition.results)


def _check_types(op: IRDLOperation, noun: str, definitions: Sequence[tuple[str, Any]]) -> None:
    number = 0
    for name, definition in definitions:
        constraint = _type_constraint(definition.constr)
        variadic = isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef)
        for value in _values(getattr(op, name)):
            if constraint is not None and not constraint.accepts(value.type):
                prefix = "variadic of " if variadic else ""
                raise VerifyException(
                    f"'{op.name}' op {noun} #{number} must be {prefix}{constraint.summary}, but got '{value.type}'"
                )
            number += 1


def _values(field: SSAValue | Sequence[SSAValue] | None) -> Sequence[SSAValue]:
    if field is None:
        return ()
    return (field,) if isinstance(field, SSAValue) else field


def _type_constraint(constraint: RangeConstraint) -> TypeConstraint | None:
    """The constraint on each element of a range, if it is one of ours."""
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    if isinstance(constraint, RangeOf) and isinstance(constraint.constr, TypeConstraint):
        return constraint.constr
    return None


# Effects ------------------------------------------------------------------------------------------

EVERYWHERE: tuple[None] = (None,)
"""In `READS` or `WRITES`: memory that no operand names."""


class DeclaredEffects(MemoryEffect):
    """The effects that an op declares in `READS` and `WRITES`."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        assert isinstance(op, EffectfulOp)
        return {
            *_effects(MemoryEffectKind.READ, op, op.READS),
            *_effects(MemoryEffectKind.WRITE, op, op.WRITES),
        }


def _effects(kind: MemoryEffectKind, op: EffectfulOp, names: Sequence[str | None]) -> list[EffectInstance]:
    return [EffectInstance(kind, None if name is None else getattr(op, name)) for name in names]


# Spelling -----------------------------------------------------------------------------------------


@irdl_custom_directive
class PointerType(CustomDirective):
    """`custom<PointerType>(type($x))`: prints `<3>` for `!llvm.ptr<3>`, reads both."""

    written: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if parser.parse_optional_punctuation("<") is None:
            self.written.set(state, (parser.parse_type(),))
            return
        space = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(">")
        self.written.set(state, (pointer_type(space),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_list(self.written.get(op), lambda type_: _print_pointer(type_, printer))


def _print_pointer(type_: Attribute, printer: Printer) -> None:
    if space := address_space(type_):
        printer.print_string(f"<{space}>")
    else:
        printer.print_attribute(type_)


@irdl_custom_directive
class Bare(CustomDirective):
    """`custom<Bare>($x)`: an attribute without its `#dialect.name`; the full spelling is read."""

    attribute: UniqueBaseAttributeVariable

    def is_present(self, op: IRDLOperation) -> bool:
        return self.attribute.is_present(op)

    def is_anchorable(self) -> bool:
        return self.attribute.is_anchorable()

    def set_empty(self, state: ParsingState) -> None:
        self.attribute.set_empty(state)

    def parse(self, parser: Parser, state: ParsingState) -> None:
        if (attribute := parser.parse_optional_attribute()) is None:
            self.attribute.parse(parser, state)
        else:
            self.attribute.set(state, attribute)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.attribute.print(printer, state, op)


class BracketedKeyword(Data[KindT]):
    """
    An enum attribute in MLIR's newer spelling, `#nvvm.mem_scope<gpu>`.

    (The older one, `#nvvm<action increase>`, is xDSL's `EnumAttribute`.)
    """

    KINDS: ClassVar[type[StrEnum]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> KindT:
        with parser.in_angle_brackets():
            return cast(KindT, parser.parse_str_enum(cls.KINDS))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


# Ops ----------------------------------------------------------------------------------------------


class SortedAttributes(dict[str, Attribute]):
    """
    The discardable attributes of an op, sorted so that printing gives MLIR's order.

    MLIR prints properties and discardable attributes in one dictionary, sorted by name. xDSL builds that dictionary as
    `attributes | properties`.
    """

    def __or__(self, value: dict[Any, Any], /) -> dict[Any, Any]:
        return dict(sorted({**self, **value}.items()))


class UpstreamOp(IRDLOperation):
    """
    Base of the ops whose text and verifier are MLIR's.

    Properties and attributes are kept sorted by name, as MLIR prints them. Operand segments that the generic form omits
    are empty, as MLIR reads them.
    """

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (PointerType, Bare)
    traits = traits_def(ChecksAsInMLIR())

    def __post_init__(self) -> None:
        super().__post_init__()
        definition = self.get_irdl_definition()
        if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
            empty = DenseArrayBase.from_list(i32, [0] * len(definition.operands))
            self.properties.setdefault(AttrSizedOperandSegments.attribute_name, empty)
        self.properties = dict(sorted(self.properties.items()))
        self.attributes = SortedAttributes(sorted(self.attributes.items()))


class EffectfulOp(UpstreamOp):
    """An upstream op that touches memory or synchronises: all memory, unless it has `READS` and `WRITES`."""

    READS: ClassVar[Sequence[str | None]] = EVERYWHERE
    """The operands whose memory the op reads; None stands for memory that no operand names."""

    WRITES: ClassVar[Sequence[str | None]] = EVERYWHERE
    """The operands whose memory the op writes."""

    traits = traits_def(DeclaredEffects())
