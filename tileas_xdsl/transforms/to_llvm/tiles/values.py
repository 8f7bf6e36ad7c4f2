"""
What stands for the values of tile code where single threads run it.

    a tile in registers            what this thread holds of it: some registers
    an accumulator of wgmma        the structs of its instructions, while these may still be writing them
    a tile in shared memory        a pointer to its first byte, the same in every thread
    the slots of a ring            a pointer to the first one
    a tile in tensor memory        nothing: its name says which columns it has
    a token                        nothing: barriers in memory carry what it says
    anything else                  itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    FixedBitwidthType,
    Float32Type,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    TensorType,
)
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.dialects.nv_tileas.layout import form_of, layout_of
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, TmaDescriptorType
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.layouts.forms import Mma

SHARED = 3
KEPT: tuple[type[Attribute], ...] = (IndexType, MemRefType, LLVMPointerType, FixedBitwidthType, IntegerType)
"""Types of values that are the same in tile code and in threads."""
LAYOUTS = "run the driver with layouts=true, or tileas-assign-layouts and tileas-materialize-convert-layout"
"""The way out where a tile has no layout to the bit."""


def accumulator_types(tile: Tile) -> Sequence[Attribute]:
    """The structs that wgmma computes a tile in; () for a tile that is no accumulator of it, such as one made of it."""
    form = form_of(tile.type)
    if not isinstance(tile.element, Float32Type):
        return ()
    if not isinstance(form, Mma) or form.operand != "acc" or not form.shape.is_wgmma:
        return ()
    each = form.shape.n // 2
    return [LLVMStructType.from_type_list([tile.element] * each)] * (tile.count // each)


@dataclass(frozen=True)
class Registers:
    """What a thread holds of a tile: register r has the elements r * packed to (r + 1) * packed - 1."""

    tile: Tile
    values: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Accumulators:
    """A tile in registers that wgmma computes: one struct for each instruction, row by row."""

    tile: Tile
    structs: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Slots:
    """The storage of tiles that take turns in shared memory."""

    pointer: SSAValue
    bytes: int
    """From one to the next."""
    start: int
    """The offset of the first one in the shared memory of the kernel."""


@dataclass(frozen=True)
class SharedTile:
    """A tile in shared memory."""

    tile: Tile
    pointer: SSAValue
    slot: tuple[Slots, SSAValue] | None = None
    """Where it is known to lie in a slot: in which one of which storage, an i32."""


@dataclass(frozen=True)
class Nothing:
    """A token of which nothing is left, or a tile in tensor memory, whose columns are known."""


@dataclass(frozen=True)
class Plain:
    """A value that is the same in tile code and in threads."""

    value: SSAValue
    array: Array | None = None
    """What is known of it from the start on, if it is an array that is an argument."""


@dataclass(frozen=True)
class Array:
    """What is known of an array in global memory before the program runs."""

    type: MemRefType[Attribute]
    pointer: SSAValue
    """To its first element."""
    sizes: tuple[SSAValue, ...]
    strides: tuple[SSAValue, ...]
    """In elements; as index, like the sizes."""
    row_bytes: int
    """The bytes of which its rows are known to begin, and to end, at a multiple."""
    argument: int | None = None
    """Its number among the arguments, where it is one and its type leaves its rows open."""

    @property
    def has_whole_vectors(self) -> bool:
        """Whether no vector that begins in a row reaches behind its end: rows lie behind one another."""
        return isinstance(self.type.layout, NoneAttr) and self.type.get_num_dims() > 1


Lowered = Registers | Accumulators | SharedTile | Slots | Nothing | Plain


def types_for(type_: Attribute) -> Sequence[Attribute] | None:
    """The types of the SSA values that stand for a value of this type; None where nothing does."""
    if isinstance(type_, AsyncTokenType) or _lies_in_tensor_memory(type_):
        return []
    if isinstance(type_, TmaDescriptorType):
        return [pointer_type(0)]
    if isinstance(type_, TensorType):
        tile = tile_of(cast("TensorType[Attribute]", type_))
        if tile is None:
            return None
        if not tile.in_registers:
            return [pointer_type(SHARED)]
        return accumulator_types(tile) or [tile.register] * (tile.count // tile.packed)
    return [type_] if isinstance(type_, KEPT) else None


def _lies_in_tensor_memory(type_: Attribute) -> bool:
    layout = layout_of(type_)
    return layout is not None and layout.space.data == "tmem"


def values_of(lowered: Lowered) -> Sequence[SSAValue]:
    """The SSA values that stand for one, of an accumulator its structs or its registers."""
    match lowered:
        case Registers():
            return lowered.values
        case Accumulators():
            return lowered.structs
        case SharedTile():
            return [lowered.pointer]
        case Slots():
            return [lowered.pointer]
        case Nothing():
            return []
        case Plain():
            return [lowered.value]


def lowered_as(type_: Attribute, values: Sequence[SSAValue]) -> Lowered:
    """What SSA values of the types `types_for(type_)` stand for."""
    if isinstance(type_, AsyncTokenType) or _lies_in_tensor_memory(type_):
        return Nothing()
    tile = tile_of(type_)
    if tile is None:
        return Plain(values[0])
    if not tile.in_registers:
        return SharedTile(tile, values[0])
    return (Accumulators if accumulator_types(tile) else Registers)(tile, tuple(values))
