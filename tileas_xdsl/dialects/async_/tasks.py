"""
Tasks: `async.execute` starts one, `async.yield` ends it, `async.await` waits for one.

    %token, %v = async.execute [%dependency] (%promise as %payload: !async.value<f32>) -> !async.value<f32> {
      %sum = arith.addf %payload, %payload : f32
      async.yield %sum : f32
    }
    %payload = async.await %v : !async.value<f32>

Meaning. *Issue*: control passes `async.execute` at once; from then on a task, an agent of its own, exists. *Start*: the
task enters the body once all dependencies and all body operands are complete. *Completion*: when the task reaches
`async.yield`, the token and all values become ready together. A token that the task yields is payload: the task does
not wait for it. If a dependency or operand is in the error state, the body is skipped and all results are in it too.

What happened before the issue happens before the body; what completes a dependency happens before it too; the body
happens before everything that waits for a result. In between, the issuing agent and the task are concurrent.
Source: MLIR's page "'async' Dialect", and its lowering `async-to-async-runtime`.

Yielding `!async.value<T>` for a result of that same type is refused; MLIR 22 accepts it and cannot lower it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_.support import (
    AsyncOp,
    ExpectsParent,
    IssuingOp,
    SynchronizationEffect,
    parse_arrow_types,
    resolve_operand,
    segments,
)
from tileas_xdsl.dialects.async_.types import TOKEN, TOKEN_OR_VALUE, VALUE, TokenType, ValueType, unwrapped
from tileas_xdsl.interfaces import AsyncOpInterface, AsyncRegionOpInterface, RegionBranchOpInterface


@irdl_op_definition
class ExecuteOp(IssuingOp, AsyncRegionOpInterface, RegionBranchOpInterface):
    """
    Run the body as a task, concurrently with what follows.

    `async.execute [%deps] (%promise as %payload: !async.value<T>) -> !async.value<U> attributes {...} { ... }`

    Operands: `dependencies`, tokens; `body_operands`, promises whose payloads the body receives as block arguments.
    Results: `token`, then one `!async.value<T>` for each yielded `T`. The body captures values from outside freely.
    """

    name = "async.execute"

    dependencies = var_operand_def(TOKEN)
    body_operands = var_operand_def(TOKEN_OR_VALUE)
    token = result_def(TOKEN)
    body_results = var_result_def(VALUE)
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        dependencies: Sequence[SSAValue],
        body_operands: Sequence[SSAValue],
        payload_types: Sequence[Attribute],
        body: Region | None = None,
    ) -> None:
        """`payload_types` are the types that the body yields; without `body` the op gets an empty block to build in."""
        if body is None:
            body = Region(Block(arg_types=[unwrapped(operand.type) for operand in body_operands]))
        super().__init__(
            operands=[dependencies, body_operands],
            result_types=[TokenType(), [ValueType(payload) for payload in payload_types]],
            regions=[body],
        )

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        """The dependencies, then the promises that the body unwraps: the task waits for both."""
        return self.operands

    def async_region_token(self, index: int) -> BlockArgument | None:
        """None: the body starts only once the dependencies are complete."""
        return None

    def async_region_dependencies(self, index: int) -> Sequence[SSAValue]:
        """None: the task completes with its body. A token that the body yields is payload, which nothing waits for."""
        return ()

    def async_region_arguments(self, index: int) -> Sequence[tuple[SSAValue, BlockArgument]]:
        return tuple(zip(self.body_operands, self.body.block.args, strict=True))

    def task_like_this(
        self,
        dependencies: Sequence[SSAValue],
        promises: Sequence[SSAValue],
        body: Block,
        values: Sequence[tuple[SSAValue, Attribute]],
        tokens: Sequence[SSAValue],
    ) -> ExecuteOp:
        """
        As in `AsyncRegionOpInterface`. The task cannot yield tokens to wait for, so its body awaits them before the
        yield.
        """
        body.add_ops([AwaitOp(token) for token in dict.fromkeys(tokens)])
        body.add_op(YieldOp(*(value for value, _ in values)))
        return ExecuteOp(dependencies, promises, [value.type for value, _ in values], Region(body))

    def entry_values(self, region: Region) -> Sequence[SSAValue] | None:
        return None if self.body_operands else ()

    def verify_(self) -> None:
        blocks = list(self.body.blocks)
        if not blocks:
            raise VerifyException(
                "'async.execute' op region #0 ('bodyRegion') failed to verify constraint: region with 1 blocks"
            )
        if len(blocks) > 1:
            raise VerifyException("'async.execute' op expects region #0 to have 0 or 1 blocks")
        self._verify_entry(blocks[0])
        self._verify_exit(blocks[0])

    def _verify_entry(self, block: Block) -> None:
        """The body's arguments are the payloads of the body operands."""
        operand_types = self.body_operands.types
        _verify_edge(operand_types, block.arg_types, "parent to Region #0")
        pairs = zip(operand_types, block.arg_types, strict=True)
        if any(_payload_types(promise) != [payload] for promise, payload in pairs):
            raise VerifyException(
                "'async.execute' op async body region argument types do not match the execute operation arguments types"
            )

    def _verify_exit(self, block: Block) -> None:
        """The values' payloads are what the body yields."""
        terminator = block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("'async.execute' op expects its body to end with 'async.yield'")
        yielded, promised = terminator.arguments.types, self.body_results.types
        _verify_edge(yielded, promised, "Operation async.yield to parent")
        for index, (payload, promise) in enumerate(zip(yielded, promised, strict=True)):
            # MLIR 22 lets this pass, and cannot lower it: a promise stored where its payload belongs.
            if _payload_types(promise) != [payload]:
                raise VerifyException(
                    f"'async.execute' op cannot return the yielded promise #{index} '{payload}' as '{promise}': "
                    "await it in the body and yield its payload"
                )

    def print(self, printer: Printer) -> None:
        if self.dependencies:
            printer.print_string(" ")
            with printer.in_square_brackets():
                printer.print_list(self.dependencies, printer.print_ssa_value)
        if self.body_operands:
            printer.print_string(" ")
            with printer.in_parens():
                pairs = zip(self.body_operands, self.body.block.args, strict=True)
                printer.print_list(pairs, lambda pair: print_unwrapping(printer, *pair))
        if self.body_results:
            print_arrow_types(printer, self.body_results.types)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ExecuteOp:
        dependencies = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        resolved = [resolve_operand(parser, token, TokenType()) for token in dependencies or ()]
        unwrappings = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_unwrapping(parser)
        )
        operands = [resolve_operand(parser, operand, argument.type) for operand, argument in unwrappings or ()]
        arguments = [Parser.Argument(argument.name, unwrapped(argument.type)) for _, argument in unwrappings or ()]
        result_types = parse_arrow_types(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments or None)
        return cls.create(
            operands=[*resolved, *operands],
            result_types=[TokenType(), *result_types],
            properties=segments(len(resolved), len(operands)),
            attributes=attributes.data if attributes is not None else {},
            regions=[body],
        )


@irdl_op_definition
class YieldOp(AsyncOp):
    """
    End the task; its operands become the payloads of the task's values.

    `async.yield %a, %b : f32, i32`
    """

    name = "async.yield"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), ReturnLike(), Pure(), ExpectsParent(ExecuteOp))
    assembly_format = "($arguments^ `:` type($arguments))? attr-dict"

    def __init__(self, *operands: SSAValue | Operation) -> None:
        super().__init__(operands=[operands])


class BlockingOp(AsyncOp, AsyncOpInterface):
    """Base of the ops that block their agent until what they name is complete."""

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        return self.operands

    @property
    def async_token(self) -> None:
        """None: the operation blocks."""
        return None

    def add_async_dependency(self, token: SSAValue) -> None:
        """Insert another wait in front of this one, since a blocking operation waits for one token only."""
        insert_wait_before(self, token)

    @property
    def only_waits(self) -> bool:
        return True


@irdl_op_definition
class AwaitOp(BlockingOp):
    """
    Wait until a token or a promise is complete; return the payload of a promise.

    `async.await %token : !async.token` and `%payload = async.await %promise : !async.value<T>`

    *Blocks* the agent that runs it: in a plain function the host, in a task, region or launch that one only. What the
    awaited operation did happens before everything after the wait. A second wait for the same operand is a no-op.
    Waiting for something in the error state is an error.
    """

    name = "async.await"

    operand = operand_def(TOKEN_OR_VALUE)
    payload = var_result_def()

    traits = traits_def(SynchronizationEffect())

    def __init__(self, operand: SSAValue) -> None:
        super().__init__(operands=[operand], result_types=[_payload_types(operand.type)])

    def verify_(self) -> None:
        found, expected = list(self.result_types), _payload_types(self.operand.type)
        if not expected and found:
            raise VerifyException("'async.await' op awaiting on a token must have empty result")
        if len(found) != len(expected):
            raise VerifyException(
                f"'async.await' op awaiting on a value must have one result of type '{expected[0]}', "
                f"but has {len(found)} results"
            )
        if found != expected:
            raise VerifyException(
                f"'async.await' op result type '{found[0]}' does not match async value type '{expected[0]}'"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> AwaitOp:
        unresolved = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        operand = resolve_operand(parser, unresolved, parser.parse_type())
        return cls.create(
            operands=[operand],
            result_types=_payload_types(operand.type),
            attributes=parser.parse_optional_attr_dict(),
        )


def insert_wait_before(op: Operation, token: SSAValue) -> None:
    """Put `async.await %token` in front of `op`, which must stand in a block."""
    block = op.parent
    assert block is not None
    block.insert_op_before(AwaitOp(token), op)


def parse_unwrapping(parser: Parser) -> tuple[UnresolvedOperand, Parser.Argument]:
    """`%operand as %argument: T`, T being the type of the operand."""
    operand = parser.parse_unresolved_operand()
    parser.parse_keyword("as")
    return operand, parser.parse_argument()


def print_unwrapping(printer: Printer, operand: SSAValue, argument: BlockArgument) -> None:
    """The inverse of `parse_unwrapping`."""
    printer.print_ssa_value(operand)
    printer.print_string(" as ")
    printer.print_block_argument(argument, print_type=False)
    printer.print_string(": ")
    printer.print_attribute(operand.type)


def print_arrow_types(printer: Printer, types: Sequence[Attribute]) -> None:
    """` -> T` or ` -> (T, U)`."""
    printer.print_string(" -> ")
    if len(types) == 1:
        printer.print_attribute(types[0])
        return
    with printer.in_parens():
        printer.print_list(types, printer.print_attribute)


def _verify_edge(sources: Sequence[Attribute], targets: Sequence[Attribute], edge: str) -> None:
    """MLIR's check of a control flow edge: equal numbers of values, and equal types once promises are unwrapped."""
    along = f"'async.execute' op along control flow edge from {edge}: "
    if len(sources) != len(targets):
        raise VerifyException(
            f"{along}region branch point has {len(sources)} operands, but region successor needs {len(targets)} inputs"
        )
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if unwrapped(source) != unwrapped(target):
            raise VerifyException(
                f"{along}successor operand type #{index} '{source}' "
                f"should match successor input type #{index} '{target}'"
            )


def _payload_types(awaited: Attribute) -> list[Attribute]:
    return [awaited.value_type] if isinstance(awaited, ValueType) else []
