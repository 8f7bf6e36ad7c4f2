"""
Loops of `scf` whose turns are independent, and the custom form of `while` without arguments.

    scf.forall (%i, %j) in (64, %n) { ... }
    scf.forall (%i) = (%lb) to (%ub) step (2) { ... }
    %r = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<4xf32>) { ... scf.forall.in_parallel { ... } }
    %s = scf.parallel (%i) = (%lb) to (%ub) step (%st) init (%x) -> f32 { ... scf.reduce(%v : f32) { ... } }
    scf.while : () -> () { ... scf.condition(%more) } do { ... scf.yield }

[MLIR's page of the dialect](https://mlir.llvm.org/docs/Dialects/SCFDialect/) says what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Self

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IndexType, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
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
    NoTerminator,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.extensions import DYNAMIC, give_check, give_form, numbers, types_in_parens_or_one, with_ops
from tileas_xdsl.dialects.extensions.unsigned_for import extend_for

index = IndexType()
Bound = int | UnresolvedOperand


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """The end of a turn of `scf.forall`: the ops in its region say what the turn adds to the results."""

    name = "scf.forall.in_parallel"

    region = region_def("single_block")

    traits = lazy_traits_def(lambda: (IsTerminator(), NoTerminator(), HasParent(ForallOp), RecursiveMemoryEffect()))

    @classmethod
    def parse(cls, parser: Parser) -> InParallelOp:
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(regions=[region], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.region, print_empty_block=False)
        printer.print_op_attributes(self.attributes)

    def __init__(self) -> None:
        super().__init__(regions=[Region(Block())])


@irdl_op_definition
class ForallOp(IRDLOperation):
    """
    A loop whose turns may run in any order and at once. Bounds and steps are numbers or operands: an entry of the
    static arrays that is `DYNAMIC` stands for the next operand.
    """

    name = "scf.forall"

    lower = var_operand_def(IndexType)
    upper = var_operand_def(IndexType)
    step = var_operand_def(IndexType)
    outputs = var_operand_def()
    static_lower = prop_def(DenseArrayBase.constr(i64), prop_name="staticLowerBound")
    static_upper = prop_def(DenseArrayBase.constr(i64), prop_name="staticUpperBound")
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name="staticStep")
    mapping = opt_prop_def(ArrayAttr)
    body = region_def("single_block")
    results_ = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(SingleBlockImplicitTerminator(InParallelOp), RecursiveMemoryEffect())

    @property
    def rank(self) -> int:
        """How many indices a turn has."""
        return len(self.static_lower)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        start = parser.pos
        if parser.parse_optional_keyword("in") is not None:
            upper = _bounds(parser)
            lower, step = [0] * len(names), [1] * len(names)
        else:
            parser.parse_punctuation("=")
            lower = _bounds(parser)
            parser.parse_keyword("to")
            upper = _bounds(parser)
            parser.parse_keyword("step")
            step = _bounds(parser)
        for noun, given in (("lower bound", lower), ("upper bound", upper), ("step", step)):
            if len(given) != len(names):
                parser.raise_error(f"expected {len(names)} {noun} values, got {len(given)}", start)
        arguments = [name.resolve(index) for name in names]
        outputs: list[SSAValue] = []
        types: Sequence[Attribute] = ()
        if parser.parse_optional_keyword("shared_outs") is not None:
            shared = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _assignment(parser))
            parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            if len(types) != len(shared):
                parser.raise_error(f"expected {len(shared)} types, got {len(types)}")
            outputs = [parser.resolve_operand(value, kind) for (_, value), kind in zip(shared, types, strict=True)]
            arguments += [name.resolve(kind) for (name, _), kind in zip(shared, types, strict=True)]
        body = parser.parse_region(arguments)
        attributes = parser.parse_optional_attr_dict()
        mapping = attributes.pop("mapping", None)
        operands = [_dynamic(parser, given) for given in (lower, upper, step)]
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [*map(len, operands), len(outputs)]),
            "staticLowerBound": numbers(_static(lower)),
            "staticUpperBound": numbers(_static(upper)),
            "staticStep": numbers(_static(step)),
        }
        if mapping is not None:
            properties["mapping"] = mapping
        op = cls.create(
            operands=[*operands[0], *operands[1], *operands[2], *outputs],
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )
        if not isinstance(body.block.last_op, InParallelOp):
            body.block.add_op(InParallelOp())
        return op

    def print(self, printer: Printer) -> None:
        arguments = self.body.block.args
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(arguments[: self.rank], printer.print_ssa_value)
        static = [[int(n) for n in given.get_values()] for given in self._static_arrays()]
        if static[0] == [0] * self.rank and static[2] == [1] * self.rank:
            printer.print_string(" in ")
            _print_bounds(printer, static[1], self.upper)
        else:
            printer.print_string(" = ")
            _print_bounds(printer, static[0], self.lower)
            printer.print_string(" to ")
            _print_bounds(printer, static[1], self.upper)
            printer.print_string(" step ")
            _print_bounds(printer, static[2], self.step)
        if self.outputs:
            printer.print_string(" shared_outs")
            with printer.in_parens():
                pairs = list(zip(arguments[self.rank :], self.outputs, strict=True))
                printer.print_list(pairs, lambda pair: _print_pair(printer, *pair))
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.result_types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=bool(self.results))
        mapping = {} if self.mapping is None else {"mapping": self.mapping}
        printer.print_op_attributes({**self.attributes, **mapping})

    def _static_arrays(self) -> tuple[DenseArrayBase[Any], DenseArrayBase[Any], DenseArrayBase[Any]]:
        return self.static_lower, self.static_upper, self.static_step

    def verify_(self) -> None:
        given = zip(self._static_arrays(), (self.lower, self.upper, self.step), strict=True)
        for noun, (static, operands) in zip(("lower bound", "upper bound", "step"), given, strict=True):
            if len(static) != self.rank:
                raise VerifyException(f"'{self.name}' op expected {self.rank} {noun} values, got {len(static)}")
            dynamic = sum(int(number) == DYNAMIC for number in static.get_values())
            if dynamic != len(operands):
                raise VerifyException(f"'{self.name}' op expected {dynamic} dynamic {noun} values, got {len(operands)}")
        wanted = [index] * self.rank + [value.type for value in self.outputs]
        if [argument.type for argument in self.body.block.args] != wanted:
            raise VerifyException(f"'{self.name}' op region expects {len(wanted)} arguments of its indices and outputs")
        if list(self.result_types) != [value.type for value in self.outputs]:
            raise VerifyException(f"'{self.name}' op expects a result for each output, of its type")


def _bounds(parser: Parser) -> list[Bound]:
    def bound() -> Bound:
        number = parser.parse_optional_integer(allow_boolean=False)
        return parser.parse_unresolved_operand() if number is None else number

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)


def _static(bounds: Sequence[Bound]) -> list[int]:
    return [bound if isinstance(bound, int) else DYNAMIC for bound in bounds]


def _dynamic(parser: Parser, bounds: Sequence[Bound]) -> list[SSAValue]:
    return [parser.resolve_operand(bound, index) for bound in bounds if not isinstance(bound, int)]


def _assignment(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def _print_pair(printer: Printer, argument: BlockArgument, value: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(value)


def _print_bounds(printer: Printer, static: Sequence[int], operands: Sequence[SSAValue]) -> None:
    rest = iter(operands)
    with printer.in_parens():
        printer.print_list(
            static, lambda n: printer.print_ssa_value(next(rest)) if n == DYNAMIC else printer.print_string(str(n))
        )


# parallel -------------------------------------------------------------------------------------------------------------


def _values(parser: Parser) -> list[UnresolvedOperand]:
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)


def _parse_parallel(cls: type[Any], parser: Parser) -> Operation:
    names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False))
    start = parser.pos
    parser.parse_punctuation("=")
    bounds = [_values(parser)]
    for word in ("to", "step"):
        parser.parse_keyword(word)
        bounds.append(_values(parser))
    if any(len(given) != len(names) for given in bounds):
        parser.raise_error(f"expected {len(names)} lower bounds, upper bounds and steps", start)
    inits = _values(parser) if parser.parse_optional_keyword("init") is not None else []
    types = types_in_parens_or_one(parser) if parser.parse_optional_punctuation("->") is not None else []
    if len(types) != len(inits):
        parser.raise_error(f"expected a type for each of {len(inits)} initial values, got {len(types)}", start)
    body = parser.parse_region([name.resolve(index) for name in names])
    attributes = parser.parse_optional_attr_dict()
    operands = [parser.resolve_operand(value, index) for given in bounds for value in given]
    operands += [parser.resolve_operand(value, kind) for value, kind in zip(inits, types, strict=True)]
    sizes = DenseArrayBase.from_list(i32, [len(names)] * 3 + [len(inits)])
    op = cls.create(
        operands=operands,
        result_types=types,
        properties={"operandSegmentSizes": sizes},
        attributes=attributes,
        regions=[body],
    )
    ensure_terminator(op, SingleBlockImplicitTerminator(scf.ReduceOp))
    return op


def _print_parallel(op: scf.ParallelOp, printer: Printer) -> None:
    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(op.body.block.args, printer.print_ssa_value)
    for word, given in ((" = ", op.lowerBound), (" to ", op.upperBound), (" step ", op.step)):
        printer.print_string(word)
        with printer.in_parens():
            printer.print_list(given, printer.print_ssa_value)
    if op.initVals:
        printer.print_string(" init ")
        with printer.in_parens():
            printer.print_list(op.initVals, printer.print_ssa_value)
        printer.print_string(" -> ")
        if len(op.res) == 1:
            printer.print_attribute(op.res[0].type)
        else:
            with printer.in_parens():
                printer.print_list(op.result_types, printer.print_attribute)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)
    printer.print_op_attributes(op.attributes)


# reduce_return and while ----------------------------------------------------------------------------------------------

_parse_while_with_arguments = scf.WhileOp.parse.__func__  # pyright: ignore[reportFunctionMemberAccess]


def _parse_while(cls: type[Any], parser: Parser) -> Operation:
    if parser.parse_optional_punctuation(":") is None:
        return _parse_while_with_arguments(cls, parser)
    kind = parser.parse_function_type()
    if kind.inputs.data:
        parser.raise_error(f"expected an initial value for each of {len(kind.inputs.data)} arguments")
    before = parser.parse_region(())
    parser.parse_keyword("do")
    after = parser.parse_region()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return cls.create(
        result_types=kind.outputs.data,
        regions=[before, after],
        attributes={} if attributes is None else dict(attributes.data),
    )


def _print_while(op: scf.WhileOp, printer: Printer) -> None:
    if op.arguments:
        printer.print_string(" ")
        pairs = zip(op.before_region.block.args, op.arguments, strict=True)
        with printer.in_parens():
            printer.print_list(pairs, lambda pair: _print_pair(printer, *pair))
    printer.print_string(" : ")
    with printer.in_parens():
        printer.print_list(op.arguments, lambda value: printer.print_attribute(value.type))
    printer.print_string(" -> ")
    if len(op.result_types) == 1:
        printer.print_attribute(op.result_types[0])
    else:
        with printer.in_parens():
            printer.print_list(op.result_types, printer.print_attribute)
    printer.print_string(" ")
    printer.print_region(op.before_region, print_entry_block_args=False)
    printer.print_string(" do ")
    printer.print_region(op.after_region)
    if op.attributes:
        printer.print_op_attributes(op.attributes, print_keyword=True)


# One type without parentheses, attributes, `no_inline` ----------------------------------------------------------------

NO_INLINE = "no_inline"


def _parse_if(cls: type[Any], parser: Parser) -> Operation:
    condition = parser.parse_operand(i1)
    types = types_in_parens_or_one(parser) if parser.parse_optional_punctuation("->") is not None else []
    then = _region_with_yield(parser)
    otherwise = _region_with_yield(parser) if parser.parse_optional_keyword("else") is not None else Region()
    return cls(condition, types, then, otherwise, parser.parse_optional_attr_dict())


def _region_with_yield(parser: Parser) -> Region:
    """A region of one block, which ends with a yield that may be left out. An op without a definition ends none."""
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    last = region.blocks[-1].last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=False):
        region.blocks[-1].add_op(scf.YieldOp())
    return region


def _parse_execute_region(cls: type[Any], parser: Parser) -> Operation:
    types = types_in_parens_or_one(parser) if parser.parse_optional_punctuation("->") is not None else []
    stays = parser.parse_optional_keyword(NO_INLINE) is not None
    region = parser.parse_region()
    attributes = parser.parse_optional_attr_dict() | ({NO_INLINE: UnitAttr()} if stays else {})
    return cls.create(result_types=types, regions=[region], attributes=attributes)


def _print_execute_region(op: scf.ExecuteRegionOp, printer: Printer) -> None:
    if op.outs:
        printer.print_string(" -> ")
        with nullcontext() if len(op.outs) == 1 else printer.in_parens():
            printer.print_list(op.outs.types, printer.print_attribute)
    printer.print_string(f" {NO_INLINE} " if NO_INLINE in op.attributes else " ")
    printer.print_region(op.region, print_entry_block_args=False)
    printer.print_op_attributes({name: given for name, given in op.attributes.items() if name != NO_INLINE})


# What xDSL's ops leave unverified -------------------------------------------------------------------------------------

ITERATOR = "nv_tileas.pipeline_iter"


def _verify_arms(op: scf.IfOp) -> None:
    """Each arm yields what the op returns, and there are two where it returns anything."""
    if op.results and not op.false_region.blocks:
        raise VerifyException("must have an else block if defining values")
    for name, region in (("then", op.true_region), ("else", op.false_region)):
        last = None if region.first_block is None else region.first_block.last_op
        if not isinstance(last, scf.YieldOp) or last.operand_types == op.result_types:
            continue
        if any(type_.name == ITERATOR for type_ in (*last.operand_types, *op.result_types)):
            raise VerifyException("branch arms must yield matching pipeline iterator types")
        yielded, returned = (", ".join(map(str, types)) for types in (last.operand_types, op.result_types))
        raise VerifyException(f"returns ({returned}), but its {name} arm yields ({yielded})")


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `scf` with the ops and forms of this file."""
    extend_for()
    give_form(scf.ParallelOp, _parse_parallel, _print_parallel)
    give_form(scf.WhileOp, _parse_while, _print_while)
    give_form(scf.IfOp, _parse_if, scf.IfOp.print)
    give_form(scf.ExecuteRegionOp, _parse_execute_region, _print_execute_region)
    give_check(scf.IfOp, _verify_arms)
    return with_ops(dialect, (ForallOp, InParallelOp))
