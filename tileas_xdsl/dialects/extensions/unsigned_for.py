"""
Counted loops whose bounds are compared as unsigned numbers, which MLIR writes as a property of `scf.for`.

    scf.for unsigned %i = %lb to %ub step %st : i32 { ... }

Passes that know what `scf.for` does compare bounds as signed numbers. So such a loop is an op of a class of its own
here, that they know nothing of: they refuse it, or leave it alone, as any op with a region.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, SignlessIntegerConstraint, UnitAttr
from xdsl.dialects.utils import parse_assignment
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import types_in_parens_or_one

UNSIGNED = "unsignedCmp"
TO_STEP = ("to", "step")


@irdl_op_definition
class UnsignedForOp(IRDLOperation):
    """
    Run the body for `%lb`, `%lb + %st`, .. while that is less than `%ub`: all three as unsigned numbers.

    `scf.for unsigned %i = %lb to %ub step %st : i32 { }`
    """

    name = "scf.for"

    T: ClassVar = VarConstraint("T", base(IndexType) | SignlessIntegerConstraint)

    lb = operand_def(T)
    ub = operand_def(T)
    step = operand_def(T)
    iter_args = var_operand_def()
    res = var_result_def()
    body = region_def("single_block")
    unsigned = prop_def(UnitAttr, prop_name=UNSIGNED)

    traits = traits_def(SingleBlockImplicitTerminator(scf.YieldOp), RecursiveMemoryEffect())

    def verify_(self) -> None:
        block = self.body.block
        carried = [value.type for value in self.iter_args]
        if [argument.type for argument in block.args] != [self.lb.type, *carried]:
            raise VerifyException(f"'{self.name}' op has a body whose arguments are not the number and what is carried")
        last = block.last_op
        if [value.type for value in self.res] != carried or (
            isinstance(last, scf.YieldOp) and [value.type for value in last.arguments] != carried
        ):
            raise VerifyException(f"'{self.name}' op returns, or yields, other types than it carries")

    def print(self, printer: Printer) -> None:
        printer.print_string(" unsigned")
        _print_signed(cast(scf.ForOp, self), printer)

    @staticmethod
    def of(loop: Operation) -> UnsignedForOp:
        """The loop with the operands, the body and the attributes of `loop`, which it takes apart."""
        body = loop.detach_region(loop.regions[0])
        return UnsignedForOp.create(
            operands=list(loop.operands),
            result_types=[result.type for result in loop.results],
            regions=[body],
            properties={UNSIGNED: UnitAttr()},
            attributes=dict(loop.attributes),
        )


_print_signed = scf.ForOp.print
_create_signed = scf.ForOp.create.__func__  # pyright: ignore[reportFunctionMemberAccess]


def _parse(cls: type[Any], parser: Parser) -> Operation:
    """As xDSL reads it; what is carried may also have one type without parentheses."""
    is_unsigned = parser.parse_optional_keyword("unsigned") is not None
    number = parser.parse_argument(expect_type=False)
    bounds: list[UnresolvedOperand] = []
    for parse_word in (partial(parser.parse_punctuation, "="), *(partial(parser.parse_keyword, w) for w in TO_STEP)):
        parse_word()
        bounds.append(parser.parse_unresolved_operand())
    start = parser.pos
    carried: list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]] = []
    types: list[Attribute] = []
    if parser.parse_optional_keyword("iter_args") is not None:
        carried = parser.parse_comma_separated_list(parser.Delimiter.PAREN, partial(parse_assignment, parser))
        parser.parse_punctuation("->")
        types = types_in_parens_or_one(parser)
    values = parser.resolve_operands([value for _, value in carried], types, start)
    kind = parser.parse_type() if parser.parse_optional_punctuation(":") is not None else IndexType()
    limits = [parser.resolve_operand(bound, kind) for bound in bounds]
    arguments = [argument.resolve(type_) for (argument, _), type_ in zip(carried, types, strict=True)]
    body = parser.parse_region((number.resolve(kind), *arguments))
    loop = cls(*limits, values, body)
    loop.attributes |= parser.parse_optional_attr_dict()
    if not carried:
        ensure_terminator(loop, SingleBlockImplicitTerminator(scf.YieldOp))
    return UnsignedForOp.of(loop) if is_unsigned else loop


def _create(cls: type[Any], *, properties: dict[str, Attribute] | None = None, **parts: Any) -> Operation:
    """What the generic form names: an unsigned loop where it has that property."""
    if properties and UNSIGNED in properties:
        return UnsignedForOp.create(properties=properties, **parts)
    return _create_signed(cls, properties=properties or {}, **parts)


def extend_for() -> None:
    """Let xDSL's `scf.for` be read as what it is."""
    setattr(scf.ForOp, "parse", classmethod(_parse))  # noqa: B010  (pyright knows it as a method of the class)
    setattr(scf.ForOp, "create", classmethod(_create))  # noqa: B010
    parents = (scf.ForOp, UnsignedForOp, scf.IfOp, scf.ExecuteRegionOp, scf.WhileOp, scf.IndexSwitchOp)
    traits = traits_def(IsTerminator(), HasParent(*parents), Pure())
    scf.YieldOp.traits = scf.YieldOp.get_irdl_definition().traits = traits
