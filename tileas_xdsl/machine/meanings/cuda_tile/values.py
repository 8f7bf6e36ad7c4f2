"""
Values of `cuda_tile` at run time: a tile is an array, of rank 0 too while ops compute; outside a scalar is a number.

`COMPUTE` says what each op that only computes makes of arrays. A reduction uses it for whole tiles at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import FloatTF32Type
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.types import TileType
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import pure
from tileas_xdsl.machine.core.values import ElementType
from tileas_xdsl.machine.tiles.numerics import Array, element_of, is_array, quietly, to_scalar
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiles import PointerTile

Compute = Callable[..., Any]
ComputeT = TypeVar("ComputeT", bound=Compute)

COMPUTE: dict[type[Operation], Compute] = {}
"""Op -> what it makes of its operands as arrays; the result is an array of its element type, or addresses."""


def element_type_of(value: SSAValue) -> Attribute:
    """The element of a value that is a tile."""
    assert isinstance(value.type, TileType)
    return value.type.element_type


def numbers_of(op: Operation, element: Attribute) -> ElementType:
    """How the machine holds such elements: a `tf32` is an f32."""
    if isinstance(element, FloatTF32Type):
        return ElementType(element, np.dtype(np.float32))
    return element_of(op, element)


def as_array(op: Operation, value: Any, kind: Attribute) -> Any:
    """A value as ops compute with it: numbers as an array, addresses as they are."""
    if isinstance(value, Pointer | PointerTile) or not isinstance(kind, TileType):
        return value
    return np.asarray(value, numbers_of(op, kind.element_type).dtype)


def as_value(op: Operation, array: Any, kind: Attribute) -> Any:
    """An array as the value of a result: a number where the tile is a scalar."""
    if not is_array(array) or not isinstance(kind, TileType) or kind.get_shape():
        return array
    return to_scalar(array, numbers_of(op, kind.element_type))


def computes(*names: str) -> Callable[[ComputeT], ComputeT]:
    """Decorator for what ops only compute: `function(op, *arrays)` gives the array of the only result."""

    def register(function: ComputeT) -> ComputeT:
        @quietly
        def compute(op: TileIROp, *arrays: Any) -> Any:
            return function(op, *arrays)

        def meaning(_agent: Agent, op: TileIROp, *operands: Any) -> Any:
            kinds = [operand.type for operand in op.operands]
            arrays = [as_array(op, value, kind) for value, kind in zip(operands, kinds, strict=True)]
            return as_value(op, compute(op, *arrays), op.results[0].type)

        for name in names:
            COMPUTE[OPS[name]] = compute
        pure(*(OPS[name] for name in names))(meaning)
        return function

    return register


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The extents of a tile."""
    assert isinstance(value.type, TileType)
    return value.type.get_shape()


def filled(op: Operation, element: Attribute, shape: Sequence[int], number: Any) -> Array:
    """A tile of equal numbers."""
    return np.full(tuple(shape), number, numbers_of(op, element).dtype)
