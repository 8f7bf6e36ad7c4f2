"""
The arrays of a kernel: a pointer, its extents and strides that meet in `make_tensor_view` are one argument.

    %v = make_tensor_view %A, shape = [%m, %n], strides = [%s, 1]     ->     %A: memref<?x?xf16, strided<[?, 1]>>

A pointer that is used otherwise, too, stays one, and its views are made in the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import PointerType, TensorViewType, TileType

Sizes = tuple[SSAValue | int, ...]


@dataclass(frozen=True)
class ArrayArgument:
    """An array that is one argument: the pointer, and what the kernel gets as its extents and strides."""

    pointer: BlockArgument
    type: TensorViewType
    extents: Sizes
    strides: Sizes

    @property
    def memref(self) -> MemRefType[Attribute]:
        """The type of the argument: dense strides that are known are left out."""
        shape, strides = self.type.get_shape(), self.type.get_strides()
        if len(shape) <= 1 and strides in ((), (1,)):
            return MemRefType(self.type.element_type, shape)
        return MemRefType(self.type.element_type, shape, strided(strides))


def strided(strides: tuple[int, ...]) -> StridedLayoutAttr:
    """The layout of an array with these strides, of which those that are open are `DYNAMIC_INDEX`."""
    return StridedLayoutAttr([NoneAttr() if stride == DYNAMIC_INDEX else IntAttr(stride) for stride in strides])


def known(value: SSAValue) -> SSAValue:
    """The value that `assume` ops say something of."""
    while isinstance(value.owner, OPS["assume"]):
        value = value.owner.operands[0]
    return value


def users_of(value: SSAValue) -> Iterator[Operation]:
    """What uses a value, or what an `assume` makes of it."""
    for use in value.uses:
        if isinstance(use.operation, OPS["assume"]):
            yield from users_of(use.operation.results[0])
        else:
            yield use.operation


def sizes_of(view: TileIROp) -> tuple[Sizes, Sizes]:
    """The extents and the strides of an array that is made, those that are known as numbers."""
    kind = view.results[0].type
    assert isinstance(kind, TensorViewType)

    def all_of(numbers: tuple[int, ...], group: str) -> Sizes:
        dynamic = iter(view.group(group))
        return tuple(known(next(dynamic)) if number == DYNAMIC_INDEX else number for number in numbers)

    return all_of(kind.get_shape(), "dynamicShape"), all_of(kind.get_strides(), "dynamicStrides")


def arrays_of(entry: EntryOp) -> Mapping[SSAValue, ArrayArgument]:
    """Pointer -> the array that it is, for each argument that is used as one array and as nothing else."""
    found: dict[SSAValue, ArrayArgument] = {}
    for argument in entry.body.block.args:
        array = _array_of(argument)
        if array is not None:
            found[argument] = array
    return found


def _array_of(argument: BlockArgument) -> ArrayArgument | None:
    kind = argument.type
    if not isinstance(kind, TileType) or not isinstance(kind.element_type, PointerType):
        return None
    arrays: set[ArrayArgument] = set()
    for user in users_of(argument):
        if not isinstance(user, OPS["make_tensor_view"]):
            return None
        type_ = user.results[0].type
        assert isinstance(type_, TensorViewType)
        arrays.add(ArrayArgument(argument, type_, *sizes_of(user)))
    if len(arrays) != 1:
        return None
    (array,) = arrays
    sizes = [size for size in (*array.extents, *array.strides) if isinstance(size, SSAValue)]
    is_given = all(isinstance(size, BlockArgument) and size.block is argument.block for size in sizes)
    return array if is_given and len(set(sizes)) == len(sizes) else None
