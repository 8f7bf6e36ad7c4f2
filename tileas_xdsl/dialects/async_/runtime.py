"""
The runtime interface: tokens, promises and groups as reference-counted objects of a library.

    %promise = async.runtime.create : !async.value<f32>
    async.runtime.store %x, %promise : <f32>
    async.runtime.set_available %promise : !async.value<f32>
    async.runtime.await_and_resume %token, %handle : !async.token

Each op is one call of the MLIR asynchronous runtime. Syntax and verifiers only: nothing here runs them.
Source: MLIR's page "'async' Dialect".
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_.support import (
    AllocatesResultEffect,
    AsyncOp,
    SynchronizationEffect,
    resolve_operand,
)
from tileas_xdsl.dialects.async_.types import (
    AWAITABLE,
    BIT,
    CORO_HANDLE,
    GROUP,
    INDEX,
    TOKEN_OR_VALUE,
    VALUE,
    ValueType,
    unwrapped,
)


@irdl_op_definition
class RuntimeCreateOp(AsyncOp):
    """
    Make a token or promise that is not available yet.

    `%token = async.runtime.create : !async.token`
    """

    name = "async.runtime.create"

    object = result_def(TOKEN_OR_VALUE)

    traits = traits_def(AllocatesResultEffect())
    assembly_format = "attr-dict `:` type($object)"


@irdl_op_definition
class RuntimeCreateGroupOp(AsyncOp):
    """
    Make an empty group for `size` members.

    `%group = async.runtime.create_group %size : !async.group`
    """

    name = "async.runtime.create_group"

    size = operand_def(INDEX)
    group = result_def(GROUP)

    traits = traits_def(AllocatesResultEffect())
    assembly_format = "$size `:` type($group) attr-dict"


class _OnTokenOrValue(AsyncOp):
    """An op that changes the state of one token or promise."""

    operand = operand_def(TOKEN_OR_VALUE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand attr-dict `:` type($operand)"


@irdl_op_definition
class RuntimeSetAvailableOp(_OnTokenOrValue):
    """
    Make a token or promise available, and resume who waits for it.

    `async.runtime.set_available %token : !async.token`
    """

    name = "async.runtime.set_available"


@irdl_op_definition
class RuntimeSetErrorOp(_OnTokenOrValue):
    """
    Put a token or promise into the error state, and resume who waits for it.

    `async.runtime.set_error %token : !async.token`
    """

    name = "async.runtime.set_error"


@irdl_op_definition
class RuntimeIsErrorOp(AsyncOp):
    """
    Whether a token, promise or group is in the error state.

    `%error = async.runtime.is_error %token : !async.token`
    """

    name = "async.runtime.is_error"

    operand = operand_def(AWAITABLE)
    is_error = result_def(BIT)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand attr-dict `:` type($operand)"


@irdl_op_definition
class RuntimeAwaitOp(AsyncOp):
    """
    Block the calling thread until the operand is available or in the error state.

    `async.runtime.await %group : !async.group`
    """

    name = "async.runtime.await"

    operand = operand_def(AWAITABLE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand attr-dict `:` type($operand)"


@irdl_op_definition
class RuntimeResumeOp(AsyncOp):
    """
    Hand a coroutine to the thread pool, to be resumed there.

    `async.runtime.resume %handle`
    """

    name = "async.runtime.resume"

    handle = operand_def(CORO_HANDLE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$handle attr-dict"


@irdl_op_definition
class RuntimeAwaitAndResumeOp(AsyncOp):
    """
    Resume a coroutine when the operand becomes available. Does not block.

    `async.runtime.await_and_resume %token, %handle : !async.token`
    """

    name = "async.runtime.await_and_resume"

    operand = operand_def(AWAITABLE)
    handle = operand_def(CORO_HANDLE)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand `,` $handle attr-dict `:` type($operand)"


@irdl_op_definition
class RuntimeStoreOp(AsyncOp):
    """
    Put the payload into a promise; `async.runtime.set_available` comes after it.

    `async.runtime.store %payload, %promise : <T>`
    """

    name = "async.runtime.store"

    value = operand_def()
    storage = operand_def(VALUE)

    traits = traits_def(SynchronizationEffect())

    def verify_(self) -> None:
        _verify_payload(self, self.value.type, self.storage.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        _print_short_promise(printer, self.storage.type)

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeStoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        storage = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        promise = _parse_short_promise(parser)
        operands = [resolve_operand(parser, value, promise.value_type), resolve_operand(parser, storage, promise)]
        return cls.create(operands=operands, attributes=attributes)


@irdl_op_definition
class RuntimeLoadOp(AsyncOp):
    """
    The payload of a promise that is available.

    `%payload = async.runtime.load %promise : <T>`
    """

    name = "async.runtime.load"

    storage = operand_def(VALUE)
    payload = result_def()

    traits = traits_def(SynchronizationEffect())

    def verify_(self) -> None:
        _verify_payload(self, self.payload.type, self.storage.type)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.storage)
        printer.print_op_attributes(self.attributes)
        _print_short_promise(printer, self.storage.type)

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeLoadOp:
        storage = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        promise = _parse_short_promise(parser)
        return cls.create(
            operands=[resolve_operand(parser, storage, promise)],
            result_types=[promise.value_type],
            attributes=attributes,
        )


@irdl_op_definition
class RuntimeAddToGroupOp(AsyncOp):
    """
    Make a token or promise a member of a group; return its rank.

    `%rank = async.runtime.add_to_group %token, %group : !async.token`
    """

    name = "async.runtime.add_to_group"

    operand = operand_def(TOKEN_OR_VALUE)
    group = operand_def(GROUP)
    rank = result_def(INDEX)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand `,` $group attr-dict `:` type($operand)"


class _ReferenceCountingOp(AsyncOp):
    """An op that changes the number of references to a token, promise or group by `count`."""

    operand = operand_def(AWAITABLE)
    count = prop_def(IntegerAttr[IntegerType])

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(SynchronizationEffect())
    assembly_format = "$operand attr-dict `:` type($operand)"

    def verify_(self) -> None:
        if self.count.type != i64 or self.count.value.data <= 0:
            raise VerifyException(
                f"'{self.name}' op attribute 'count' failed to satisfy constraint: "
                "64-bit signless integer attribute whose value is positive"
            )


@irdl_op_definition
class RuntimeAddRefOp(_ReferenceCountingOp):
    """
    Add references.

    `async.runtime.add_ref %token {count = 1 : i64} : !async.token`
    """

    name = "async.runtime.add_ref"


@irdl_op_definition
class RuntimeDropRefOp(_ReferenceCountingOp):
    """
    Drop references; the object goes with the last one.

    `async.runtime.drop_ref %promise {count = 2 : i64} : !async.value<f32>`
    """

    name = "async.runtime.drop_ref"


@irdl_op_definition
class RuntimeNumWorkerThreadsOp(AsyncOp):
    """
    The number of threads in the pool.

    `%n = async.runtime.num_worker_threads : index`
    """

    name = "async.runtime.num_worker_threads"

    threads = result_def(INDEX)

    traits = traits_def(SynchronizationEffect())
    assembly_format = "attr-dict `:` type($threads)"


def _verify_payload(op: IRDLOperation, payload: Attribute, promise: Attribute) -> None:
    if unwrapped(promise) != payload:
        raise VerifyException(f"'{op.name}' op failed to verify that type of 'value' matches element type of 'storage'")


def _print_short_promise(printer: Printer, promise: Attribute) -> None:
    """` : <T>` for `!async.value<T>`."""
    printer.print_string(" : ")
    with printer.in_angle_brackets():
        printer.print_attribute(unwrapped(promise))


def _parse_short_promise(parser: Parser) -> ValueType:
    """`: <T>`, or the type in full."""
    parser.parse_punctuation(":")
    if parser.parse_optional_punctuation("<") is not None:
        payload = parser.parse_type()
        parser.parse_punctuation(">")
        return ValueType(payload)
    position = parser.pos
    promise = parser.parse_type()
    if not isinstance(promise, ValueType):
        parser.raise_error(
            f"invalid kind of type specified: expected async.value, but found '{promise}'", position, parser.pos
        )
    return promise
