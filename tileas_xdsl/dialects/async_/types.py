"""
The six types of `async`, and the constraints that the ops put on them.

    !async.token            completion of an asynchronous operation, without a payload
    !async.value<T>         a promise: completion, and a payload of type T from then on
    !async.group            a set of tokens and values, of a size fixed at its creation
    !async.coro.id          |
    !async.coro.handle      | plumbing of the coroutines that tasks are lowered to
    !async.coro.state       |

Each constraint carries MLIR's description of it, for error texts.
Source: MLIR's page "'async' Dialect".
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import EqAttrConstraint, base, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.async_.support import Described
from tileas_xdsl.interfaces import HandleType


@irdl_attr_definition
class TokenType(ParametrizedAttribute, HandleType):
    """Completion of an asynchronous operation: not ready until the operation completes, ready from then on."""

    name = "async.token"


@irdl_attr_definition
class ValueType(ParametrizedAttribute, HandleType):
    """
    A promise: completes like a token, and holds a payload from then on.

    The payload may be of any type, tokens included: `!async.value<!async.token>` completes when the inner token is
    known, which says nothing about the inner token being ready.
    """

    name = "async.value"

    value_type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            parser.raise_error("expected '<': failed to parse async value type")
        value_type = parser.parse_type()
        parser.parse_punctuation(">")
        return [value_type]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.value_type)

    def verify(self) -> None:
        if not isinstance(self.value_type, TypeAttribute):
            raise VerifyException(f"the payload of !async.value must be a type, but got '{self.value_type}'")


@irdl_attr_definition
class GroupType(ParametrizedAttribute, HandleType):
    """A set of tokens and values; completes when as many members as its size says were added and all are complete."""

    name = "async.group"


@irdl_attr_definition
class CoroIdType(ParametrizedAttribute, TypeAttribute):
    """Identifies a coroutine (`llvm.coro.id`)."""

    name = "async.coro.id"


@irdl_attr_definition
class CoroHandleType(ParametrizedAttribute, TypeAttribute):
    """The frame of one coroutine activation, by which it is resumed."""

    name = "async.coro.handle"


@irdl_attr_definition
class CoroStateType(ParametrizedAttribute, TypeAttribute):
    """A saved suspension point of a coroutine."""

    name = "async.coro.state"


def is_promise(attribute: Attribute) -> TypeIs[ValueType]:
    """Whether `attribute` is `!async.value<...>`."""
    return isinstance(attribute, ValueType)


def unwrapped(attribute: Attribute) -> Attribute:
    """The payload type of a promise; any other type is returned as it is."""
    return attribute.value_type if isinstance(attribute, ValueType) else attribute


TOKEN = Described(base(TokenType), "async token type")
VALUE = Described(base(ValueType), "async value type")
GROUP = Described(base(GroupType), "async group type")
TOKEN_OR_VALUE = Described(base(ValueType) | base(TokenType), "async value type or async token type")
AWAITABLE = Described(
    base(ValueType) | base(TokenType) | base(GroupType),
    "async value type or async token type or async group type",
)
CORO_ID = Described(base(CoroIdType), "switched-resume coroutine identifier")
CORO_HANDLE = Described(base(CoroHandleType), "coroutine handle")
CORO_STATE = Described(base(CoroStateType), "saved coroutine state")
INDEX = Described(base(IndexType), "index")
BIT = Described[IntegerType](EqAttrConstraint(i1), "1-bit signless integer")
