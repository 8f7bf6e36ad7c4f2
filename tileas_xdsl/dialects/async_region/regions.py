"""
Regions and launches, and the terminator of both. The docstring of the package defines issue, start and completion.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_ import TokenType, ValueType
from tileas_xdsl.dialects.async_.support import AsyncOp, ExpectsParent, IssuingOp, segments
from tileas_xdsl.dialects.async_.types import TOKEN, TOKEN_OR_VALUE, VALUE, unwrapped
from tileas_xdsl.dialects.async_region.contract import AsyncRegionContract, SeesOnlyArguments
from tileas_xdsl.dialects.async_region.syntax import (
    RESOURCE,
    parse_arguments,
    parse_dependencies,
    parse_list_of_dependencies,
    parse_outputs_and_body,
    parse_resource,
    print_arguments,
    print_dependencies,
    print_list_of_dependencies,
    print_outputs_and_body,
    print_resource,
)
from tileas_xdsl.interfaces import AsyncRegionOpInterface, RegionBranchOpInterface


class BodyOp(IssuingOp, AsyncRegionOpInterface, RegionBranchOpInterface):
    """
    Base of regions and launches: a body, result tokens, and values.

    Results: `token`, then `outputs`: first the partial tokens, then the values. The dependencies are the first
    operands.
    """

    token = result_def(TOKEN)
    outputs = var_result_def()
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect(), AsyncRegionContract())

    @property
    def partial_tokens(self) -> Sequence[SSAValue]:
        """The result tokens 1, 2, ...: token k is ready when group k of the yielded tokens is complete."""
        return tuple(takewhile(lambda output: isinstance(output.type, TokenType), self.outputs))

    @property
    def values(self) -> Sequence[SSAValue]:
        """The results that carry the yielded values, deferred or as promises."""
        return self.outputs[len(self.partial_tokens) :]

    def async_region_token(self, index: int) -> BlockArgument | None:
        """None: the body starts only once the dependencies are complete."""
        return None

    def async_region_dependencies(self, index: int) -> Sequence[SSAValue]:
        """The tokens of all groups that `async_region.yield` names."""
        terminator = self._terminator()
        return terminator.tokens if terminator is not None else ()

    def async_result_dependencies(self, token: SSAValue) -> Sequence[SSAValue]:
        """Group k for partial token k; all groups for token 0 and the promises."""
        terminator = self._terminator()
        if token not in self.partial_tokens or terminator is None:
            return self.async_region_dependencies(0)
        return terminator.token_groups[1 + self.partial_tokens.index(token)]

    def remove_async_result_dependency(self, result: SSAValue, token: SSAValue) -> bool:
        """
        Remove `token` from the group of `result`: from group 0 for token 0, which also waits for all other groups.
        """
        terminator = self._terminator()
        tokens = (self.token, *self.partial_tokens)
        if terminator is None or result not in tokens:
            return False
        groups = [list(group) for group in terminator.token_groups]
        group = groups[tokens.index(result)]
        if token not in group:
            return False
        group.remove(token)
        terminator.set_token_groups(groups)
        return True

    def _terminator(self) -> YieldOp | None:
        block = self.body.first_block
        terminator = block.last_op if block is not None else None
        return terminator if isinstance(terminator, YieldOp) else None

    def verify_(self) -> None:
        self._verify_tokens_first()
        self._verify_yield()

    def _verify_tokens_first(self) -> None:
        if any(isinstance(value.type, TokenType) for value in self.values):
            raise VerifyException(f"'{self.name}' op expects its tokens in front of its values")

    def _verify_yield(self) -> None:
        """The body yields one group of tokens for each result token, and one value for each result value."""
        terminator = self.body.block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException(f"'{self.name}' op expects its body to end with 'async_region.yield'")
        tokens = 1 + len(self.partial_tokens)
        if len(terminator.token_groups) != tokens:
            found = len(terminator.token_groups)
            raise VerifyException(
                f"'{self.name}' op has {tokens} result token{'s' * (tokens > 1)}, but its body yields {found} "
                f"group{'s' * (found > 1)} of tokens"
            )
        yielded, values = terminator.values.types, self.values
        if len(yielded) != len(values):
            raise VerifyException(
                f"'{self.name}' op has {len(values)} result values, but its body yields {len(yielded)}"
            )
        for index, (value, result) in enumerate(zip(yielded, values, strict=True)):
            if result.type not in (value, ValueType(value)):
                raise VerifyException(
                    f"'{self.name}' op result value #{index} must be '{value}' or '{ValueType(value)}', as its body "
                    f"yields '{value}', but is '{result.type}'"
                )

    def verify_arguments(self, passed: Sequence[SSAValue]) -> None:
        """The body's arguments have the types of what is passed in, promises unwrapped."""
        found = self.body.block.arg_types
        expected = tuple(unwrapped(value.type) for value in passed)
        if found != expected:
            raise VerifyException(
                f"'{self.name}' op expects body arguments of types ({_listed(expected)}), but they are of types "
                f"({_listed(found)})"
            )


@irdl_op_definition
class RegionOp(BodyOp):
    """
    Run the body asynchronously.

    `async_region.region [%deps as %token] -> types attributes {...} { ... }` or, without a token argument,
    `async_region.region [%deps] (%promise as %payload: !async.value<T>) -> types attributes {...} { ... }`

    Operands: `dependencies`, tokens or promises (`%p: !async.value<T>`) to wait for; `promises`, waited for as well,
    whose payloads are the body's arguments. Results: `token`; then `outputs`: the partial tokens, then the values. The
    body captures values from outside.

    *Issue*: at once; the issuing agent runs the body if there is a token argument, else an agent is made for it.
    *Start* of the body without a token argument: when all operands are complete. *Completion*, partial tokens and
    values: see the module. A wait inside suspends the agent of this region only, and is redundant for what the region
    waited for itself.
    """

    name = "async_region.region"

    dependencies = var_operand_def(TOKEN_OR_VALUE)
    promises = var_operand_def(VALUE)

    def __init__(
        self,
        dependencies: Sequence[SSAValue],
        output_types: Sequence[Attribute],
        body: Region,
        promises: Sequence[SSAValue] = (),
    ) -> None:
        super().__init__(operands=[dependencies, promises], result_types=[TokenType(), output_types], regions=[body])

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        """The dependencies, then the promises that the body unwraps."""
        return self.operands

    def async_region_token(self, index: int) -> BlockArgument | None:
        """The argument that stands for the dependencies. A region that unwraps no promises has no other argument."""
        block = self.body.first_block
        return block.args[0] if block is not None and block.args and not self.promises else None

    def async_region_arguments(self, index: int) -> Sequence[tuple[SSAValue, BlockArgument]]:
        """The promises with their arguments; the token argument belongs to no operand."""
        return tuple(zip(self.promises, self.body.block.args, strict=True)) if self.promises else ()

    def task_like_this(
        self,
        dependencies: Sequence[SSAValue],
        promises: Sequence[SSAValue],
        body: Block,
        values: Sequence[tuple[SSAValue, Attribute]],
        tokens: Sequence[SSAValue],
    ) -> RegionOp:
        body.add_op(YieldOp([value for value, _ in values], list(dict.fromkeys(tokens))))
        return RegionOp(dependencies, [result_type for _, result_type in values], Region(body), promises)

    def entry_values(self, region: Region) -> Sequence[SSAValue] | None:
        block = self.body.first_block
        return () if block is not None and not block.args else None

    def verify_(self) -> None:
        if self.async_region_token(0) is None:
            self.verify_arguments(self.promises)
        super().verify_()

    def print(self, printer: Printer) -> None:
        print_dependencies(printer, self.dependencies, self.async_region_token(0))
        print_arguments(printer, self.promises, self.body)
        print_outputs_and_body(printer, self, self.outputs)

    @classmethod
    def parse(cls, parser: Parser) -> RegionOp:
        dependencies, token = parse_dependencies(parser, takes_token=True)
        position = parser.pos
        promises, arguments = parse_arguments(parser)
        if token is not None and promises:
            parser.raise_error(
                "a region with a token argument runs before its promises are complete: "
                "list them among the dependencies, or leave the token argument out",
                position,
                parser.pos,
            )
        entry = arguments if token is None else [token.resolve(TokenType()), *arguments]
        outputs, attributes, body = parse_outputs_and_body(parser, entry)
        return cls.create(
            operands=[*dependencies, *promises],
            result_types=[TokenType(), *outputs],
            properties=segments(len(dependencies), len(promises)),
            attributes=attributes,
            regions=[body],
        )


@irdl_op_definition
class LaunchOp(BodyOp):
    """
    Run the body elsewhere: on a device, or on whatever the resource stands for.

    `async_region.launch [%deps] (%value as %x: T, ...) on %resource -> types attributes {...} { ... }`

    Isolated from above: the body sees only what is passed in (`captures`). A promise is waited for and arrives
    unwrapped; every other value, resources and tokens included, arrives as it is. Launches nest.

    *Issue*: at once. *Start*: when all dependencies and captured promises are complete and the resource, if there is
    one, is free; an agent of its own then runs the body and holds the resource until the launch is complete.
    *Completion*: as for a region. Operations on one resource never overlap, but nothing says which comes first, and
    one after another on a resource is no happens-before: accesses that conflict still need a token between them. A
    launch that waits for another on the resource that it holds itself never completes.
    """

    name = "async_region.launch"

    dependencies = var_operand_def(TOKEN_OR_VALUE)
    captures = var_operand_def()
    resource = opt_operand_def(RESOURCE)

    traits = traits_def(SeesOnlyArguments())

    @property
    def async_dependencies(self) -> Sequence[SSAValue]:
        """The dependencies, then the promises among the captured values."""
        return (*self.dependencies, *(value for value in self.captures if isinstance(value.type, ValueType)))

    def async_region_arguments(self, index: int) -> Sequence[tuple[SSAValue, BlockArgument]]:
        return tuple(zip(self.captures, self.body.block.args, strict=True))

    def entry_values(self, region: Region) -> Sequence[SSAValue] | None:
        unwraps = any(isinstance(value.type, ValueType) for value in self.captures)
        return None if unwraps else self.captures

    def verify_(self) -> None:
        self.verify_arguments(self.captures)
        super().verify_()

    def print(self, printer: Printer) -> None:
        print_dependencies(printer, self.dependencies)
        print_arguments(printer, self.captures, self.body)
        print_resource(printer, self.resource)
        print_outputs_and_body(printer, self, self.outputs)

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        dependencies, _ = parse_dependencies(parser)
        captures, arguments = parse_arguments(parser)
        resource = parse_resource(parser)
        outputs, attributes, body = parse_outputs_and_body(parser, arguments)
        return cls.create(
            operands=[*dependencies, *captures, *resource],
            result_types=[TokenType(), *outputs],
            properties=segments(len(dependencies), len(captures), len(resource)),
            attributes=attributes,
            regions=[body],
        )


@irdl_op_definition
class YieldOp(AsyncOp):
    """
    End the body of a region or launch: its values, and the tokens that it has still to wait for.

    `async_region.yield %v, %w : T, U after [%a, %b], [%c]`

    `tokens` (tokens or promises) come in groups: `[%a, %b]` is group 0, which only token 0 waits for; group k > 0 is
    what makes partial token k ready. One group, possibly empty, is the usual case and needs no `group_sizes`.
    """

    name = "async_region.yield"

    values = var_operand_def()
    tokens = var_operand_def(TOKEN_OR_VALUE)
    group_sizes = opt_prop_def(DenseArrayBase.constr(i32))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator(), ReturnLike(), Pure(), ExpectsParent(RegionOp, LaunchOp))

    def __init__(self, values: Sequence[SSAValue] = (), *groups: Sequence[SSAValue]) -> None:
        """Without groups, the op gets one empty group."""
        sizes = [len(group) for group in groups]
        super().__init__(
            operands=[values, [token for group in groups for token in group]],
            properties={"group_sizes": _group_sizes(sizes)},
        )

    @property
    def token_groups(self) -> Sequence[Sequence[SSAValue]]:
        """The tokens by group, group 0 first."""
        tokens = tuple(self.tokens)
        if self.group_sizes is None:
            return (tokens,)
        groups: list[Sequence[SSAValue]] = []
        for size in self.group_sizes.get_values():
            groups.append(tokens[: int(size)])
            tokens = tokens[int(size) :]
        return groups

    def set_token_groups(self, groups: Sequence[Sequence[SSAValue]]) -> None:
        """Replace the yielded tokens."""
        values, tokens = tuple(self.values), [token for group in groups for token in group]
        self.operands = [*values, *tokens]
        self.properties |= segments(len(values), len(tokens))
        sizes = _group_sizes([len(group) for group in groups])
        if sizes is not None:
            self.properties["group_sizes"] = sizes
        else:
            self.properties.pop("group_sizes", None)

    def verify_(self) -> None:
        for index, value in enumerate(self.values):
            if isinstance(value.type, TokenType):
                raise VerifyException(
                    f"'async_region.yield' op operand #{index} is a token, which is no value: yield it 'after [...]'"
                )
        if self.group_sizes is None:
            return
        sizes = [int(size) for size in self.group_sizes.get_values()]
        if len(sizes) < 2:
            raise VerifyException("'async_region.yield' op with one group of tokens has no 'group_sizes'")
        if min(sizes) < 0 or sum(sizes) != len(self.tokens):
            raise VerifyException(
                f"'async_region.yield' op 'group_sizes' {sizes} do not add up to its {len(self.tokens)} tokens"
            )

    def print(self, printer: Printer) -> None:
        if self.values:
            printer.print_string(" ")
            printer.print_list(self.values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(self.values.types, printer.print_attribute)
        if self.tokens or self.group_sizes is not None:
            printer.print_string(" after")
            for index, group in enumerate(self.token_groups):
                printer.print_string("," if index else "")
                printer.print_string(" ")
                print_list_of_dependencies(printer, group)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        values: Sequence[SSAValue] = ()
        if unresolved:
            parser.parse_punctuation(":")
            position = parser.pos
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            values = parser.resolve_operands(unresolved, types, position)
        groups: list[list[SSAValue]] = []
        if parser.parse_optional_keyword("after") is not None:
            groups = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, lambda: parse_list_of_dependencies(parser)
            )
        op = cls(values, *groups)
        op.attributes |= parser.parse_optional_attr_dict()
        return op


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(f"'{listed}'" for listed in types)


def _group_sizes(sizes: Sequence[int]) -> DenseArrayBase | None:
    return DenseArrayBase.from_list(i32, sizes) if len(sizes) > 1 else None
