"""
What a conversion knows: what has become of each value, the arguments that it needs, and where it builds.

A tile of one element is a number. Others are held without extents of 1 that say nothing: `1x64x32` as `64x32`, and a
column `64x1` as `64`, so that what reductions leave, and what single heads of a batch are, has the shape that products
take.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FloatTF32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.memory.rows import WIDEST
from tileas_xdsl.analysis.tile_ir.tile_numbers import constant_of, known
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER, ROW_BYTES
from tileas_xdsl.dialects.cuda_tile import types as tile_ir
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.extensions.arith import IndexCastUIOp
from tileas_xdsl.dialects.nv_tileaa.structure import (
    BroadcastOp,
    ExpandDimsOp,
    ExtractOp,
    SplatOp,
    ViewOp,
    inserts_unit_axes,
)
from tileas_xdsl.dialects.nv_tileaa.types import PointerType, element_type_of
from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.dialects.tiles.types import extents
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.arrays import ArrayArgument

INDEX = IndexType()
GLOBAL = 1
"""The address space of arrays."""

Convert = Callable[["Conversion", TileIROp], None]
ConvertT = TypeVar("ConvertT", bound=Convert)
CONVERT: dict[type[Operation], Convert] = {}
"""Op -> what builds its counterpart, and says what its results have become."""


def converts(*names: str) -> Callable[[ConvertT], ConvertT]:
    """Decorator for what converts the ops `names` of `cuda_tile`."""

    def register(function: ConvertT) -> ConvertT:
        CONVERT.update({OPS[name]: function for name in names})
        return function

    return register


def held(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape in which a tile of `shape` is held."""
    return tuple(shape[axis] for axis in kept_axes(shape))


def kept_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The axes of a tile that it is held with: none of a tile of one element."""
    axes = list(range(len(shape))) if any(extent != 1 for extent in shape) else []
    while len(axes) > 2 and shape[axes[0]] == 1:
        del axes[0]
    if len(axes) == 2 and shape[axes[1]] == 1 and shape[axes[0]] > 1:
        del axes[1]
    return tuple(axes)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The extents of a tile of `cuda_tile`."""
    assert isinstance(value.type, tile_ir.TileType)
    return value.type.get_shape()


def tile_shape(value: SSAValue) -> tuple[int, ...]:
    """The extents of what a tile has become; none for a number."""
    return extents(value.type)


@dataclass
class Conversion:
    """A function that is made of an entry."""

    arrays: Mapping[SSAValue, ArrayArgument]
    function: FuncOp
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Tiles and numbers, converted."""
    indices: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Integers of rank 0 that are at hand as an index."""
    bases: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Arrays (`make_tensor_view`) -> a memref, or an array that the kernel makes."""
    derived: dict[SSAValue, tuple[SSAValue, str]] = field(default_factory=dict[SSAValue, tuple[SSAValue, str]])
    """Arguments that are numbers of an array -> its pointer, and which one."""
    numbers: dict[tuple[SSAValue, str], SSAValue] = field(default_factory=dict[tuple[SSAValue, str], SSAValue])
    """(pointer, number) -> the argument that the launch computes of the array."""
    blocks: list[Block] = field(default_factory=list[Block])
    """The blocks that are built, the innermost last."""
    current: Operation | None = None
    """The op that is converted."""

    # Building ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def at(self, block: Block) -> Generator[None]:
        """Build at the end of `block`."""
        self.blocks.append(block)
        yield
        self.blocks.pop()

    def add(self, op: Operation) -> Operation:
        """Put an op at the end of what is built, with the place of the op that is converted."""
        if self.current is not None:
            op.location = self.current.location
        self.blocks[-1].add_op(op)
        return op

    def result(self, op: Operation) -> SSAValue:
        """The only result of an op that is put at the end."""
        return self.add(op).results[0]

    def refuse(self, op: Operation, reason: str, way_out: str) -> NoReturn:
        """Stop, before anything of the program has been touched."""
        refuse(op, reason, way_out)

    # Types ------------------------------------------------------------------------------------------------------------

    def element(self, kind: Attribute) -> Attribute:
        """What elements of a type become."""
        match kind:
            case tile_ir.PointerType():
                return PointerType(kind.pointee, IntAttr(GLOBAL))
            case FloatTF32Type():
                return f32
            case tile_ir.Float8E5M3FNUType():
                assert self.current is not None
                self.refuse(self.current, f"has numbers of type {tile_ir.short(kind)}", "compute in f32, or in bf16")
            case _:
                return kind

    def type(self, kind: Attribute) -> Attribute:
        """The type that a tile becomes."""
        assert isinstance(kind, tile_ir.TileType)
        element = self.element(kind.element_type)
        return TensorType(element, held(kind.get_shape())) if held(kind.get_shape()) else element

    # Values -----------------------------------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> SSAValue:
        """What a tile, or a number, has become."""
        found = self.values.get(value)
        if found is not None:
            return found
        if value in self.indices:
            return self._narrowed(value)
        if (source := known(value)) is not value:
            return self.value(source)
        if value in self.derived:
            pointer, number = self.derived[value]
            found = self.values[value] = self.number(pointer, number, self.type(value.type))
            return found
        raise AssertionError(f"{value} has not been converted")

    def _narrowed(self, value: SSAValue) -> SSAValue:
        """The number of an index, right behind it, so that it is there wherever the index is."""
        index = self.indices[value]
        cast = arith.IndexCastOp(index, self.type(value.type))
        owner = index.owner
        at = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        Rewriter.insert_op(cast, at)
        self.values[value] = cast.result
        return cast.result

    def index(self, value: SSAValue, *, is_signed: bool = True) -> SSAValue:
        """A number of rank 0 as an index: one that has been an index is taken as it was."""
        source = known(value)
        for each in (value, source):
            if each in self.indices:
                return self.indices[each]
        constant = constant_of(source)
        if constant is not None:
            return self.result(arith.ConstantOp(IntegerAttr(constant, INDEX)))
        number = self.value(source)
        return self.result(
            (arith.IndexCastOp if is_signed else IndexCastUIOp).create(operands=[number], result_types=[INDEX])
        )

    def give(self, op: Operation, *values: SSAValue) -> None:
        """Say what the results of `op`, tokens left out, have become."""
        results = [result for result in op.results if not isinstance(result.type, tile_ir.TokenType)]
        for result, value in zip(results, values, strict=True):
            self.values[result] = value
            value.name_hint = value.name_hint or result.name_hint

    def constant(self, number: float, kind: Attribute) -> SSAValue:
        """A number, or a tile of equal ones."""
        element = scalar_of(kind)
        if isinstance(element, IntegerType | IndexType):
            value: Any = IntegerAttr(int(number), cast(IntegerType, element))
        else:
            value = FloatAttr(float(number), cast("AnyFloat", element))
        if isinstance(kind, TensorType):
            value = DenseIntOrFPElementsAttr.from_list(cast(Any, kind), [number])
        return self.result(arith.ConstantOp(value))

    def scaled(self, index: SSAValue, factor: int) -> SSAValue:
        """An index times a number."""
        known_index = index_of_constant(index)
        if known_index is not None:
            return self.result(arith.ConstantOp(IntegerAttr(known_index * factor, INDEX)))
        if factor == 1:
            return index
        return self.result(arith.MuliOp(index, self.result(arith.ConstantOp(IntegerAttr(factor, INDEX)))))

    def difference(self, index: SSAValue, other: SSAValue) -> SSAValue:
        """An index less another one."""
        if index_of_constant(other) == 0:
            return index
        return self.result(arith.SubiOp(index, other))

    # Arguments --------------------------------------------------------------------------------------------------------

    def number(self, pointer: SSAValue, number: str, kind: Attribute) -> SSAValue:
        """The argument that is a number of the array behind `pointer`: the launch computes it of the array."""
        key = pointer, number
        if key not in self.numbers:
            block = self.function.body.block
            argument = block.insert_arg(kind, len(block.args))
            words = number.replace(" ", "")
            argument.name_hint = f"{self.name_of(pointer)}_{words}"
            self.numbers[key] = argument
        return self.numbers[key]

    def name_of(self, pointer: SSAValue) -> str:
        """What an array is called."""
        hint = pointer.name_hint
        return hint if hint is not None else f"arg{self.arrays[pointer].pointer.index}"

    def tiles_of_extent(self, op: TileIROp) -> SSAValue | None:
        """The number of tiles that the quotient of an extent, rounded up, is; None where it is another quotient."""
        extent, tile = self.derived.get(known(op.operands[0])), constant_of(op.operands[1])
        if extent is None or tile is None or tile <= 0 or op.word("rounding") != "positive_inf":
            return None
        pointer, number = extent
        what, _, axis = number.partition(" ")
        return self.number(pointer, f"tiles {axis} by {tile}", INDEX) if what == "size" else None

    def attributes_of(self, argument: SSAValue) -> dict[str, Attribute]:
        """What an argument of the function says of itself."""
        for (pointer, number), found in self.numbers.items():
            if found is argument:
                return {NAME: StringAttr(self.name_of(pointer)), NUMBER: StringAttr(number)}
        array = next((each for each in self.arrays.values() if self.values.get(each.pointer) is argument), None)
        rows = WIDEST if array is None else array.row_bytes
        return {ROW_BYTES: IntegerAttr(rows, i32)} if rows < WIDEST else {}

    # Shapes -----------------------------------------------------------------------------------------------------------

    def splat(self, value: SSAValue, shape: Sequence[int]) -> SSAValue | None:
        """A tile of one number, where `value` is one or a tile of one."""
        number = value.owner.source if isinstance(value.owner, SplatOp) else value
        if isinstance(number.type, TensorType):
            return None
        known = number.owner.value if isinstance(number.owner, arith.ConstantOp) else None
        if isinstance(known, IntegerAttr | FloatAttr):
            return self.constant(known.value.data, TensorType(number.type, shape))
        return self.result(SplatOp.create(operands=[number], result_types=[TensorType(number.type, shape)]))

    def reshaped(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of a tile, or a number, in row-major order as another shape; a number for no extents."""
        before, shape = tile_shape(value), tuple(shape)
        if not shape:
            return self.scalar(value)
        if before == shape and isinstance(value.type, TensorType):
            return value
        made = self.splat(value, shape)
        if made is not None:
            return made
        kind = TensorType(element_type_of(value.type), shape, encoding_of(value))
        grows = len(shape) == len(before) + 1 and inserts_unit_axes(before, shape)
        return self.result((ExpandDimsOp if grows else ViewOp).create(operands=[value], result_types=[kind]))

    def scalar(self, value: SSAValue) -> SSAValue:
        """The only element of a tile, as a number."""
        if not isinstance(value.type, TensorType):
            return value
        places = [self.result(arith.ConstantOp(IntegerAttr(0, INDEX))) for _ in tile_shape(value)]
        kind = cast("TensorType[Attribute]", value.type).element_type
        return self.result(ExtractOp.create(operands=[value, *places], result_types=[kind]))

    def spread(self, value: SSAValue, source: Sequence[int], result: Sequence[int]) -> SSAValue:
        """A tile of the shape `source`, its extents of 1 repeated up to `result`."""
        wanted = held(result)
        if not wanted:
            return self.scalar(value)
        made = self.splat(value, wanted)
        if made is not None:
            return made
        placed = self.reshaped(value, [source[axis] for axis in kept_axes(result)])
        if tile_shape(placed) == wanted:
            return placed
        kind = TensorType(element_type_of(value.type), wanted)
        return self.result(BroadcastOp.create(operands=[placed], result_types=[kind]))


def index_of_constant(value: SSAValue) -> int | None:
    """The number that a constant index is; None for anything else."""
    attribute = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return cast("IntegerAttr[IndexType]", attribute).value.data if isinstance(attribute, IntegerAttr) else None


def encoding_of(value: SSAValue) -> Attribute:
    """Where a tile lies, as its type says."""
    return cast("TensorType[Attribute]", value.type).encoding
