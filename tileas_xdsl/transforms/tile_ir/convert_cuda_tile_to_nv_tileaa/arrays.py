"""
The arrays of a kernel: a pointer, its extents and strides that meet in `make_tensor_view` are one argument.

    %v = make_tensor_view %A, shape = [%m, %n], strides = [%s, 1]     ->     %A: memref<?x?xf16, strided<[?, 1]>>

A pointer that is used otherwise, too, stays one, and its views are made in the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tileas_xdsl.analysis.memory.rows import WIDEST
from tileas_xdsl.analysis.tile_ir.tile_numbers import known
from tileas_xdsl.dialects.array_numbers import ARGUMENTS, ARRAY
from tileas_xdsl.dialects.cuda_tile.attributes import DivByAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.elements import bits_per_element
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import TensorViewType

Sizes = tuple[SSAValue | int, ...]


@dataclass(frozen=True)
class ArrayArgument:
    """An array that is one argument: the pointer, and what the kernel gets as its extents and strides."""

    pointer: BlockArgument
    element: Attribute
    extents: Sizes
    strides: Sizes

    @property
    def memref(self) -> MemRefType[Attribute]:
        """The type of the argument: dense strides that are known are left out."""
        shape, strides = (
            tuple(size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes)
            for sizes in (self.extents, self.strides)
        )
        if len(shape) <= 1 and strides in ((), (1,)):
            return MemRefType(self.element, shape)
        return MemRefType(self.element, shape, strided(strides))

    @property
    def row_bytes(self) -> int:
        """The bytes of which rows are promised to begin, and to end, at a multiple."""
        sizes = (*self.extents[-1:], *self.strides[:-1])
        return gcd(WIDEST, *(divisor(size) * bits_per_element(self.element) // 8 for size in sizes))


def divisor(size: SSAValue | int) -> int:
    """What a number of an array is promised to be a multiple of."""
    if isinstance(size, int):
        return size
    found, names = 1, [size]
    while names:
        for use in names.pop().uses:
            if isinstance(use.operation, OPS["assume"]) and isinstance(use.operation.parent_op(), EntryOp):
                fact = use.operation.properties["predicate"]
                if isinstance(fact, DivByAttr) and isinstance(fact.every, NoneAttr):
                    found = lcm(found, fact.divisor.data)
                names.append(use.operation.results[0])
    return found


def strided(strides: tuple[int, ...]) -> StridedLayoutAttr:
    """The layout of an array with these strides, of which those that are open are `DYNAMIC_INDEX`."""
    return StridedLayoutAttr([NoneAttr() if stride == DYNAMIC_INDEX else IntAttr(stride) for stride in strides])


def array_of(view: TileIROp) -> ArrayArgument | None:
    """The array that `make_tensor_view` makes of arguments; None where it is of anything else."""
    kind, pointer = view.results[0].type, known(view.operand("base"))
    assert isinstance(kind, TensorViewType)
    if not isinstance(pointer, BlockArgument):
        return None

    def all_of(numbers: tuple[int, ...], group: str) -> Sizes:
        dynamic = iter(view.group(group))
        return tuple(known(next(dynamic)) if number == DYNAMIC_INDEX else number for number in numbers)

    extents, strides = all_of(kind.get_shape(), "dynamicShape"), all_of(kind.get_strides(), "dynamicStrides")
    return ArrayArgument(pointer, kind.element_type, extents, strides)


def declared_arrays(entry: EntryOp) -> Mapping[SSAValue, ArrayArgument]:
    """Pointer -> the array that the entry says it begins: where it was made of a kernel in Python."""
    given, arguments = entry.attributes.get(ARGUMENTS), entry.body.block.args
    said = cast("Sequence[DictionaryAttr]", given.data if isinstance(given, ArrayAttr) else ())
    found: dict[SSAValue, ArrayArgument] = {}
    for pointer, facts in zip(arguments, said, strict=False):
        kind = facts.data.get(ARRAY)
        if isinstance(kind, MemRefType):
            rank, strides = kind.get_num_dims(), kind.get_strides() or ()
            sizes = arguments[pointer.index + 1 : pointer.index + 1 + 2 * rank]
            steps = tuple(
                own if step in (None, DYNAMIC_INDEX) else step for own, step in zip(sizes[rank:], strides, strict=True)
            )
            found[pointer] = ArrayArgument(pointer, cast("Attribute", kind.element_type), tuple(sizes[:rank]), steps)
    return found
