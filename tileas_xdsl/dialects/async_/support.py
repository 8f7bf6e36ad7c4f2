"""
What the ops of `async` share: errors in MLIR's words, memory effects, and small pieces of syntax.

MLIR checks the types of an op before it looks into its regions, and names the position and the constraint:

    'async.await' op operand #0 must be async value type or async token type, but got 'f32'

xDSL checks regions first and words it differently. An `AsyncOp` that does not verify therefore looks at its own types
once more and, when they are to blame, says so as MLIR does.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    MessageConstraint,
    OpDef,
    OperandDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    ResultDef,
    VarOperandDef,
    VarResultDef,
    VerificationContext,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.traits import EffectInstance, HasParent, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

SEGMENTS = "operandSegmentSizes"


class AsyncOp(IRDLOperation):
    """Base of the ops of `async`: type errors are reported first, and in MLIR's words."""

    def verify(self, verify_nested_ops: bool = True) -> None:
        try:
            super().verify(verify_nested_ops)
        except VerifyException:
            if (reason := type_error(self)) is not None:
                self.emit_error(reason, VerifyException(reason))
            raise


def type_error(op: IRDLOperation) -> str | None:
    """The first operand or result of `op` whose type is wrong, as MLIR would report it, or None when all are right."""
    definition = op.get_irdl_definition()
    return (
        _segment_error(op, definition)
        or _position_error(op, "operand", definition.operands, op.operands)
        or _position_error(op, "result", definition.results, op.results)
    )


def _segment_error(op: IRDLOperation, definition: OpDef) -> str | None:
    if not any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        return None
    total = sum(segment_sizes(op))
    if total == len(op.operands):
        return None
    return (
        f"'{op.name}' op operand count ({len(op.operands)}) does not match with the total size ({total}) "
        f"specified in attribute '{SEGMENTS}'"
    )


def segment_sizes(op: IRDLOperation) -> Sequence[int]:
    """The entries of `operandSegmentSizes`; as in MLIR, a missing property counts as all zeros."""
    from xdsl.dialects.builtin import DenseArrayBase

    sizes = op.properties.get(SEGMENTS)
    return [int(size) for size in sizes.get_values()] if isinstance(sizes, DenseArrayBase) else []


def _position_error(
    op: IRDLOperation,
    kind: str,
    definitions: Sequence[tuple[str, OperandDef]] | Sequence[tuple[str, ResultDef]],
    values: Sequence[SSAValue],
) -> str | None:
    """
    The first of `values` that its definition forbids.

    `values` are the operands or the results of `op`. An unsized open-ended group among `definitions` is the only one.
    """
    grouped = any(isinstance(definition, VarOperandDef | VarResultDef) for _, definition in definitions)
    least = len(definitions) - grouped
    if len(values) < least:
        return f"'{op.name}' op expected {least} or more {kind}s" if grouped else None
    index = 0
    for name, definition in definitions:
        variadic = isinstance(definition, VarOperandDef | VarResultDef)
        group: Sequence[SSAValue] = getattr(op, name) if variadic else values[index : index + 1]
        words = _words(definition.constr)
        for value in group:
            if words is not None and _violates(words, value.type):
                prefix = "variadic of " if variadic else ""
                return f"'{op.name}' op {kind} #{index} must be {prefix}{words.message}, but got '{value.type}'"
            index += 1
    return None


def _words(constraint: RangeConstraint) -> MessageConstraint[Attribute] | None:
    """The constraint on each element of a group, when it says what MLIR calls it."""
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    element = constraint.constr if isinstance(constraint, RangeOf) else None
    return element if isinstance(element, MessageConstraint) else None


def _violates(constraint: MessageConstraint[Attribute], found: Attribute) -> bool:
    try:
        constraint.verify(found, VerificationContext())
    except VerifyException:
        return True
    return False


class ExpectsParent(HasParent):
    """`HasParent`, in MLIR's words."""

    def verify(self, op: Operation) -> None:
        try:
            super().verify(op)
        except VerifyException:
            names = ", ".join(f"'{parent.name}'" for parent in self.op_types)
            raise VerifyException(f"'{op.name}' op expects parent op {names}") from None


class SynchronizationEffect(MemoryEffect):
    """
    Waits for other agents, or tells them something.

    What they wrote becomes visible here, so no access to memory may move across: a read and a write of everything.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return frozenset((EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)))


class AllocatesResultEffect(MemoryEffect):
    """
    Makes a new object each time.

    Two equal ops make two objects, so common subexpression elimination must leave them alone; one that nobody uses may
    go.
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
