"""
Storage that Triton allocates in shared and tensor memory, and views of it.

An allocation is one place for each op and agent: in a loop all turns get the same bytes, for the compiler lays them out
once. Where they are deallocated and allocated again, it is the same place, too.

Where the text says in which columns of tensor memory an allocation lies (`tensor_memory_col_offset`, by Triton's pass
`triton-tensor-memory-allocation`), it lies there: two that share columns share bytes. A tile of 128 rows takes all
lanes; one of 64 takes 16 of each 32, which lie here side by side.

    %x = ttg.local_alloc %tile {allocation.offset = 0 : i32}        bytes 0 to 8191 of shared memory
    %y = ttg.local_alloc %tile {allocation.offset = 4096 : i32}     bytes 4096 to 12287: they share 4096 bytes

Where the text says where allocations of a function lie, they lie there: those that overlap are parts of one object. The
end of one is an access to its bytes, and not the end of the object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, i32, i64
from xdsl.ir import Attribute, BlockArgument, Operation

from tileas_xdsl.dialects.triton.types import MemDescType
from tileas_xdsl.machine.arguments import ArgumentError, name_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.memory import MemoryObject, View, row_major_strides
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.values import ElementType, element_type
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError, out_of_bounds
from tileas_xdsl.machine.parts.blocks_of_triton import (
    give_to_all_blocks,
    is_in_all_blocks,
    object_of_block,
    path_in_block,
    take_as_alike,
)
from tileas_xdsl.machine.tiles.pointers import BYTE, Pointer


@dataclass
class Places(OwnPart):
    """What an agent has allocated, by the op."""

    objects: dict[Operation, MemoryObject] = field(default_factory=dict[Operation, MemoryObject])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for base in self.objects.values():
            canvas.thing(base)


Place = tuple[Operation, tuple[str, ...]]
"""An op that allocates, and who executes it in each block."""


@dataclass
class PlacesInBlocks(SharedPart):
    """What the blocks of a cluster have allocated: of each place the object of the first block."""

    objects: dict[Place, MemoryObject] = field(default_factory=dict[Place, MemoryObject])

    def draw(self, canvas: Canvas) -> None:
        for base in self.objects.values():
            canvas.thing(base)


def element_in_memory(op: Operation, kind: Attribute) -> ElementType:
    """The element type of a view. What has no numbers here counts as bytes."""
    known = _element_of(kind)
    if known is None:
        raise UnsupportedError(op, f"allocates elements of type {kind}, whose size is not known")
    return known


def _element_of(kind: Attribute) -> ElementType | None:
    known = element_type(kind)
    if known is not None or not isinstance(kind, FixedBitwidthType) or kind.bitwidth % 8:
        return known
    return ElementType(kind, np.dtype((np.void, kind.bitwidth // 8)))


def view_of_caller(argument: BlockArgument) -> View:
    """
    The memory that an argument stands for which is a view: an object of its own, or a part of one that is as large as
    its type says. What is in it is the caller's affair, barriers too.

    Raises `ArgumentError` for elements whose size is not known.
    """
    kind, name = argument.type, name_of(argument)
    assert isinstance(kind, MemDescType)
    element = _element_of(kind.element)
    if element is None:
        raise ArgumentError(f"argument '{name}' has elements of type {kind.element}, whose size is not known")
    base = MemoryObject.zeros(name, kind.extents_of_whole, element, space_of(kind), with_data=False)
    base.holds_barriers, base.is_callers = kind.element == i64, True
    leading = len(kind.extents_of_whole) - len(kind.extents)
    whole = base.whole()
    for _ in range(leading):
        whole = whole.index(0)
    return whole.slice([0] * len(kind.extents), kind.extents)


def space_of(kind: MemDescType) -> str:
    """The memory that a view lies in."""
    return "tensor" if kind.is_in_tensor_memory else "shared"


@dataclass(frozen=True)
class Overlap:
    """Allocations that lie over each other, and the bytes of shared memory from the first to the last of them."""

    first: Operation
    name: str
    start: int
    stop: int
    has_barriers: bool


@dataclass
class Overlaps(SharedPart):
    """The objects for allocations that overlap, by the first of them."""

    objects: dict[Operation, MemoryObject] = field(default_factory=dict[Operation, MemoryObject])

    def draw(self, canvas: Canvas) -> None:
        for op, base in self.objects.items():
            canvas.literal(("overlap", id(op)))
            canvas.thing(base)


OFFSET = "allocation.offset"
"""The attribute that says at which byte of shared memory an allocation begins: Triton's passes write it."""


def _span(op: Operation) -> tuple[int, int] | None:
    """The bytes of shared memory of an allocation whose place the text says."""
    said, kind = op.attributes.get(OFFSET), op.results[0].type if op.results else None
    if not isinstance(said, IntegerAttr) or not isinstance(kind, MemDescType) or kind.is_in_tensor_memory:
        return None
    start = said.value.data
    return start, start + prod(kind.extents) * element_in_memory(op, kind.element).size


def _overlaps_in(function: Operation) -> dict[Operation, Overlap]:
    """The allocations of `function` that share bytes with another one, each with those that it overlaps."""
    found: dict[Operation, Overlap] = {}
    group: list[Operation] = []
    start = stop = 0

    def close() -> None:
        if len(group) > 1:
            name = ", ".join(op.results[0].name_hint or "buffer" for op in group)
            has_barriers = any(cast("MemDescType", op.results[0].type).element == i64 for op in group)
            found.update(dict.fromkeys(group, Overlap(group[0], name, start, stop, has_barriers)))

    placed = [(span, op) for op in function.walk() if (span := _span(op)) is not None]
    for (begin, end), op in sorted(placed, key=lambda each: each[0]):
        if begin >= stop:
            close()
            group, start = [], begin
        group.append(op)
        stop = max(stop, end)
    close()
    return found


def overlap_of(agent: Agent, op: Operation) -> Overlap | None:
    """The allocations that share bytes with that of `op`, and it; None where there are none."""
    function = agent.activation.function
    return None if function is None else agent.code.fact(_overlaps_in, function).get(op)


def _in_overlap(agent: Agent, op: Operation, kind: MemDescType, overlap: Overlap) -> View:
    """The storage of `op` in the object of those that it overlaps."""
    objects = agent.shared(Overlaps).objects
    base = objects.get(overlap.first)
    if base is None:
        size = (overlap.stop - overlap.start,)
        base = MemoryObject.zeros(overlap.name, size, BYTE, "shared", with_data=False)
        base.holds_barriers = overlap.has_barriers
        objects[overlap.first] = base
        give_to_all_blocks(agent, op, base)
    base = object_of_block(agent, base)
    span, element = _span(op), element_in_memory(op, kind.element)
    assert span is not None
    return View(base, span[0] - overlap.start, kind.extents, row_major_strides(kind.extents, element.size), element)


def is_part_of_overlap(agent: Agent, base: MemoryObject) -> bool:
    """Whether `base` stands for several allocations, none of which ends it."""
    return any(object_of_block(agent, each) is base for each in agent.shared(Overlaps).objects.values())


def allocate(agent: Agent, op: Operation, kind: MemDescType) -> View:
    """The storage of `op`, which has a result of that type; in a cluster it is that of one block."""
    take_as_alike(agent, op)
    overlap = overlap_of(agent, op)
    if overlap is not None:
        return _in_overlap(agent, op, kind, overlap)
    base = _allocated(agent, op)
    if base is None and COLUMN in op.attributes and kind.is_in_tensor_memory:
        placed = _placed(agent, op, kind)
        if placed is not None:
            return placed
    if base is None:
        name = op.results[0].name_hint or "buffer"
        element = element_in_memory(op, kind.element)
        base = MemoryObject.zeros(name, kind.extents, element, space_of(kind), with_data=False)
        base.holds_barriers = kind.element == i64
        base = _keep(agent, op, base)
    base.lifetime_over = False
    return base.whole()


def _allocated(agent: Agent, op: Operation) -> MemoryObject | None:
    """What `op` has allocated for `agent` before, or another block for its like."""
    if agent.block is None:
        return agent.part(Places).objects.get(op)
    first = agent.shared(PlacesInBlocks).objects.get((op, path_in_block(agent)))
    return None if first is None else object_of_block(agent, first)


def _keep(agent: Agent, op: Operation, base: MemoryObject) -> MemoryObject:
    """Note that `op` has allocated `base`; returns what the block of `agent` has of it."""
    if agent.block is None:
        agent.part(Places).objects[op] = base
        return base
    agent.shared(PlacesInBlocks).objects[op, path_in_block(agent)] = base
    give_to_all_blocks(agent, op, base)
    return object_of_block(agent, base)


# In columns of tensor memory ---------------------------------------------------------------------------------------

COLUMN, ROW = "tensor_memory_col_offset", "tensor_memory_row_offset"
LANES, COLUMNS = 128, 512
WORD = ElementType(i32, np.dtype(np.int32))
"""A cell: one column of one lane."""
LANES_OF_WARP = 32
IN_TILE = re.compile(r"(blockM|colStride) = (\d+)")
"""The rows of a tile, and the elements from one column of a tile to the next."""


class CellsOfBlock(SharedPart):
    """The tensor memory of the block: its lanes, and the columns of each."""

    def __init__(self) -> None:
        self.base = MemoryObject("tensor memory", (LANES, COLUMNS), WORD, "tensor")

    def draw(self, canvas: Canvas) -> None:
        canvas.thing(self.base)


def _cells(agent: Agent, op: Operation) -> MemoryObject:
    """The tensor memory of the block of `agent`."""
    base = agent.shared(CellsOfBlock).base
    if not is_in_all_blocks(agent, base):
        give_to_all_blocks(agent, op, base)
    return object_of_block(agent, base)


def _number(op: Operation, name: str) -> int:
    attribute = op.attributes.get(name)
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 0


def _placed(agent: Agent, op: Operation, kind: MemDescType) -> View | None:
    """
    Where `op` says that it lies; None where that makes no difference, for its columns belong to it alone.

    Raises `UndecidedError` for columns of another allocation whose rows lie otherwise than lane by lane.
    """
    base = _cells(agent, op)
    strides = _strides_in_columns(op, kind)
    start = _number(op, ROW) // (LANES_OF_WARP // 2) * (LANES // 2) * base.strides[0] + _number(op, COLUMN) * WORD.size
    if strides is not None:
        return View(base, start, kind.extents, strides, element_in_memory(op, kind.element))
    if _shares_columns(agent, op):
        raise UndecidedError(op, "lies in columns of another allocation, in a form whose rows are not followed")
    return None


def _strides_in_columns(op: Operation, kind: MemDescType) -> tuple[int, ...] | None:
    """Bytes from one index to the next, of a tile that takes all lanes, or half of them; None for any other."""
    form = {name: int(number) for name, number in IN_TILE.findall(str(kind.encoding))}
    *buffers, rows, columns = kind.extents
    if rows != form.get("blockM") or rows not in (LANES, LANES // 2):
        return None
    along_row = element_in_memory(op, kind.element).size * form.get("colStride", 1)
    inner = row_major_strides((*buffers, 1), columns * along_row)[:-1] if buffers else ()
    return (*inner, COLUMNS * WORD.size, along_row)


@per_op
def _shares_columns(op: Operation) -> bool:
    """Whether the columns of another allocation of the module overlap with those of `op`."""
    module: Operation = op
    while (above := module.parent_op()) is not None:
        module = above
    own = _columns(op)
    others = (other for other in module.walk() if other is not op and COLUMN in other.attributes)
    return any(own.start < each.stop and each.start < own.stop for each in map(_columns, others))


def _columns(op: Operation) -> range:
    """The columns of an allocation, at least."""
    kind = cast("MemDescType", op.results[0].type)
    start, size = _number(op, COLUMN), prod(kind.extents) * element_in_memory(op, kind.element).size
    lanes = LANES_OF_WARP if "scales" in kind.encoding.name else min(kind.extents[-2], LANES)
    return range(start, start + -(-size // (lanes * WORD.size)))


# Views ----------------------------------------------------------------------------------------------------------------


def subview(op: Operation, view: View, offsets: list[int], kind: MemDescType) -> View:
    """The box of `view` that begins at `offsets` and has the shape of `kind`."""
    if len(offsets) != len(view.shape) or len(kind.extents) != len(view.shape):
        raise UnsupportedError(op, f"cuts {len(kind.extents)} dimensions out of {len(view.shape)}")
    if any(o < 0 or o + n > extent for o, n, extent in zip(offsets, kind.extents, view.shape, strict=True)):
        where = f": {kind.extents} from {offsets} on, of {list(view.shape)}"
        raise out_of_bounds(op, view.base, where, min(offsets, default=0))
    return view.slice(offsets, kind.extents)


def reinterpreted(op: Operation, view: View, kind: MemDescType) -> View:
    """The bytes of `view` under the element type and the shape of `kind`, as far as it has so many."""
    element = element_in_memory(op, kind.element)
    size = prod(kind.extents) * element.size
    in_columns = _strides_in_columns(op, kind) if view.base.shape == (LANES, COLUMNS) else None
    if in_columns is not None and view.base.element is WORD and size <= view.region.byte_count:
        return View(view.base, view.offset, kind.extents, in_columns, element)
    if not view.is_contiguous:
        raise UnsupportedError(op, f"gives another type to a part of '{view.base.name}' with gaps in it")
    if size > view.region.byte_count:
        raise UnsupportedError(op, f"takes {size} bytes of the {view.region.byte_count} of '{view.base.name}'")
    return View(view.base, view.offset, kind.extents, row_major_strides(kind.extents, element.size), element)


def place_of_barrier(agent: Agent, op: Operation, value: Any) -> Pointer:
    """Where the barrier lies that `value` is a view of."""
    view: View = agent.known(value, op, "uses a barrier at")
    return Pointer(view.base, view.offset)
