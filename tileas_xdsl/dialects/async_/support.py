"""
What the ops of `async` share: errors in MLIR's words, memory effects, and pieces of syntax.

MLIR checks the types of an op before it verifies its regions, and names the position and the constraint:

    'async.await' op operand #0 must be async value type or async token type, but got 'f32'

xDSL verifies regions first, has other words, and does not know the op while parsing. So the definitions here carry
`Described` constraints, and `AsyncOp` checks them before anything else when the op is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, AttributeCovT, Operation, OpResult, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    AttrSizedOperandSegments,
    InferenceContext,
    IRDLOperation,
    OperandDef,
    OptionalDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    ResultDef,
    VarOperand,
    VarOperandDef,
    VarResultDef,
    VerificationContext,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import EffectInstance, HasParent, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.interfaces import AsyncOpInterface

SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class Described(AttrConstraint[AttributeCovT]):
    """
    The constraint `kind`, with MLIR's description of it.

    `verify` never fails: it is asked about a type alone, and only the op can report an error with its position.
    `AsyncOp` asks `admits` instead.
    """

    kind: AttrConstraint[AttributeCovT]
    words: str

    def admits(self, attribute: Attribute) -> bool:
        return self.kind.verifies(attribute)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        return

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.kind.can_infer(var_constraint_names)

    def infer(self, context: InferenceContext) -> AttributeCovT:
        return self.kind.infer(context)

    def mapping_type_vars(self, type_var_mapping: object) -> Described[AttributeCovT]:
        return self


class AsyncOp(IRDLOperation):
    """Base of the ops of `async`: types are checked first, with MLIR's error texts."""

    def verify(self, verify_nested_ops: bool = True) -> None:
        if (reason := self.error_before_regions()) is not None:
            self.emit_error(reason, VerifyException(reason))
        super().verify(verify_nested_ops)

    def error_before_regions(self) -> str | None:
        """The error of the op that does not depend on its regions, or None; `verify_` checks what does."""
        return type_error(self)


class IssuingOp(AsyncOp, AsyncOpInterface):
    """Base of the ops that wait for their first group of operands, and complete with a token of their own."""

    if TYPE_CHECKING:
        dependencies: VarOperand
        token: OpResult

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        return self.dependencies

    @property
    def async_token(self) -> SSAValue:
        return self.token

    def add_async_dependency(self, token: SSAValue) -> None:
        add_dependency(self, token)

    def remove_async_dependency(self, token: SSAValue) -> bool:
        return remove_dependency(self, token)


def type_error(op: IRDLOperation) -> str | None:
    """The first operand or result of `op` whose type is wrong, as MLIR reports it, or None when all are right."""
    definition = op.get_irdl_definition()
    sizes = None
    if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        sizes = segment_sizes(op) or [0] * len(definition.operands)
        if len(sizes) != len(definition.operands):
            return (
                f"'{op.name}' op '{SEGMENTS}' attribute for specifying operand segments must have "
                f"{len(definition.operands)} elements, but got {len(sizes)}"
            )
        if sum(sizes) != len(op.operands):
            return (
                f"'{op.name}' op operand count ({len(op.operands)}) does not match with the total size ({sum(sizes)}) "
                f"specified in attribute '{SEGMENTS}'"
            )
    return _position_error(op, "operand", definition.operands, op.operands, sizes) or _position_error(
        op, "result", definition.results, op.results, None
    )


def segment_sizes(op: IRDLOperation) -> Sequence[int]:
    """The entries of `operandSegmentSizes`; empty when the property is missing, which MLIR reads as all zeros."""
    sizes = op.properties.get(SEGMENTS)
    return [int(size) for size in sizes.get_values()] if isinstance(sizes, DenseArrayBase) else []


def segments(*sizes: int) -> dict[str, Attribute]:
    """The property `operandSegmentSizes`: the number of operands in each group, in the order of their definitions."""
    return {SEGMENTS: DenseArrayBase.from_list(i32, sizes)}


def add_dependency(op: IRDLOperation, token: SSAValue) -> None:
    """Append `token` to the dependencies of `op`, which are its first group of operands."""
    dependencies, *others = segment_sizes(op)
    operands = list(op.operands)
    op.operands = [*operands[:dependencies], token, *operands[dependencies:]]
    op.properties |= segments(dependencies + 1, *others)


def remove_dependency(op: IRDLOperation, token: SSAValue) -> bool:
    """
    Remove `token` once from the dependencies of `op`, its first group of operands; False when it is not among them.
    """
    dependencies, *others = segment_sizes(op)
    operands = list(op.operands)
    if token not in operands[:dependencies]:
        return False
    del operands[operands.index(token)]
    op.operands = operands
    op.properties |= segments(dependencies - 1, *others)
    return True


def _position_error(
    op: IRDLOperation,
    kind: str,
    definitions: Sequence[tuple[str, OperandDef]] | Sequence[tuple[str, ResultDef]],
    values: Sequence[SSAValue],
    sizes: Sequence[int] | None,
) -> str | None:
    """
    The error of the first of `values`, the operands or the results of `op`, that its definition forbids; or None.

    `sizes` gives the number of values for each definition; without it, at most one definition is variadic.
    """
    singles = sum(not isinstance(definition, VarOperandDef | VarResultDef) for _, definition in definitions)
    if len(values) < singles:
        # xDSL reports a wrong number of operands or results of an op that has no open-ended group.
        return f"'{op.name}' op expected {singles} or more {kind}s" if singles < len(definitions) else None
    index = 0
    for position, (_, definition) in enumerate(definitions):
        variadic = isinstance(definition, VarOperandDef | VarResultDef)
        length = 1 if not variadic else len(values) - singles if sizes is None else sizes[position]
        described = _described(definition.constr)
        for value in values[index : index + length]:
            if described is not None and not described.admits(value.type):
                prefix = "variadic of " if variadic and not isinstance(definition, OptionalDef) else ""
                return f"'{op.name}' op {kind} #{index} must be {prefix}{described.words}, but got '{value.type}'"
            index += 1
    return None


def _described(constraint: RangeConstraint) -> Described[Attribute] | None:
    """The constraint on each element of a group, when it says what MLIR calls it."""
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    element = constraint.constr if isinstance(constraint, RangeOf) else None
    return element if isinstance(element, Described) else None


class ExpectsParent(HasParent):
    """`HasParent`, with MLIR's error text."""

    def verify(self, op: Operation) -> None:
        try:
            super().verify(op)
        except VerifyException:
            names = ", ".join(f"'{parent.name}'" for parent in self.op_types)
            raise VerifyException(f"'{op.name}' op expects parent op {names}") from None


class SynchronizationEffect(MemoryEffect):
    """
    The op waits for other agents, or signals them.

    What they wrote becomes visible here, so no memory access may move across it: a read and a write of all memory.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))


class AllocatesResultEffect(MemoryEffect):
    """
    The op makes a new object each time.

    Two equal ops make two objects, so common subexpression elimination must keep both; an unused one may be erased.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return frozenset(EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results[:1])


def resolve_operand(parser: Parser, operand: UnresolvedOperand, expected: Attribute) -> SSAValue:
    """The value that `operand` names. Raises `ParseError`, in MLIR's words, when its type is not `expected`."""
    known = parser.ssa_values.get(operand.operand_name, ())
    if operand.index < len(known) and (found := known[operand.index].type) != expected:
        parser.raise_error(
            f"use of value '{operand.span.text}' expects different type than prior uses: '{expected}' vs '{found}'",
            operand.span,
        )
    return parser.resolve_operand(operand, expected)


def parse_arrow_types(parser: Parser) -> list[Attribute]:
    """`-> T`, `-> (T, U)`, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    types = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if types is None else list(types)
