"""
Tensor maps: what the descriptor of a tensor copy names, as far as a check needs it (PTX ISA, "Tensors": "Tensor-map").

A descriptor is 128 bytes, and known by its address. It names a tensor, which has an object of its own here, with one
place for each coordinate. A copy touches a box of it. How large a box is only the descriptor knows; two boxes at the
same coordinates are the same one, and boxes at different coordinates are taken to be apart, unless the copy says by
`tileas.box` how many elements it has along each dimension, or the kernel what its argument maps
(`dialects.tensor_maps`). Where that is said, copies move numbers too.

A descriptor is known by its address and names a tensor of its own. Boxes at equal coordinates are the same; at
different ones they are taken to be apart where the tensor is written, which the verdict says, unless `tileas.box` gives
their extents, or `tileas.tensor_map` on the argument says what it maps. The attribute stands on the argument, not on
the copies, since it is the host that makes the map: one sentence for the machine, which moves boxes by it, and for the
launch contract. It counts dimensions as arrays do, the outermost first. Reductions of one box are atomic with each
other. A descriptor that the program writes needs `fence.proxy.release` and then `fence.proxy.acquire` for its address
before a copy uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import APART, GLOBAL_MEMORY, NAMED_ONCE
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy, join, map_key
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.opaque_numbers import part_at
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.tiles.pointers import BYTE, Addresses, Pointer
from tileas_xdsl.machine.tiles.tensor_maps import ALIGNMENT, DESCRIPTOR_BYTES, Box, described, permuted, straightened

BOX = "tileas.box"
"""Discardable attribute on a tensor copy: the elements of its box along each dimension, the innermost first."""
MOST_DIMENSIONS = 5
EXTENT = 1 << 32
"""Of each dimension: coordinates have 32 bits, and may be negative."""
NOT_COMPUTED = "coordinates that are not computed when checking"
RELEASED = "released tensor maps"
"""The clock of what `fence.proxy.release` has covered, among those of other fences."""


@dataclass
class TensorMaps(SharedPart):
    """The tensors of an execution, by the place of the array, or else of the descriptor that names them."""

    tensors: dict[tuple[int, int], tuple[Pointer, MemoryObject]] = field(
        default_factory=dict[tuple[int, int], tuple[Pointer, MemoryObject]]
    )
    stored_somewhere: set[int] = field(default_factory=set[int])
    """Serial numbers of tensors that something was stored to at coordinates that are not known."""

    def draw(self, canvas: Canvas) -> None:
        for descriptor, tensor in self.tensors.values():
            canvas.thing(descriptor.base)
            canvas.literal((descriptor.offset, tensor.serial in self.stored_somewhere))
            canvas.thing(tensor)


def reading_descriptor(descriptor: Pointer) -> Touch:
    """The read of the descriptor that a copy makes."""
    size = min(DESCRIPTOR_BYTES, max(descriptor.base.size - descriptor.offset, 0))
    return Touch(descriptor.bytes(size), False, Proxy.TENSORMAP)


def reading_box(agent: Agent, op: Operation, descriptor: Pointer, coordinates: Sequence[Any]) -> Touch:
    """The read of a box; of the whole tensor, where the coordinates are not known."""
    machine, tensor = agent.machine, _tensor_of(agent, descriptor)
    if tensor.serial in machine.part(TensorMaps).stored_somewhere:
        raise UndecidedError(op, f"reads the {tensor.name}, to which something is stored at {NOT_COMPUTED}")
    return Touch(_box(agent, op, descriptor, coordinates), False, Proxy.ASYNC)


def writing_box(
    agent: Agent, op: Operation, descriptor: Pointer, coordinates: Sequence[Any], *, is_atomic: bool
) -> Touch | None:
    """
    The write of a box. None where the coordinates are not known: then no store to the tensor is followed, as no store
    through a pointer to global memory is. Raises `UndecidedError` if the kernel reads the tensor, too.
    """
    agent.assume(NAMED_ONCE.about(descriptor.base.family))
    if any(coordinate is UNKNOWN for coordinate in coordinates):
        _store_somewhere(agent, op, _tensor_of(agent, descriptor))
        return None
    known = [agent.known(coordinate, op, "takes as a coordinate") for coordinate in coordinates]
    if BOX not in op.attributes and described(descriptor) is None:
        agent.assume(APART.about(descriptor.base.family))
    return Touch(_box(agent, op, descriptor, known), True, Proxy.ASYNC, is_atomic)


def _store_somewhere(agent: Agent, op: Operation, tensor: MemoryObject) -> None:
    machine = agent.machine
    history = machine.history_of(tensor)
    if machine.with_data or (history is not None and any(not access.is_write for access in history.all())):
        raise UndecidedError(op, f"stores to the {tensor.name}, which is read as well, at {NOT_COMPUTED}")
    machine.part(TensorMaps).stored_somewhere.add(tensor.serial)
    machine.assume(GLOBAL_MEMORY)


def _box(agent: Agent, op: Operation, descriptor: Pointer, coordinates: Sequence[Any]) -> View:
    tensor = _tensor_of(agent, descriptor)
    if not _is_plain_tile(op) or any(coordinate is UNKNOWN for coordinate in coordinates):
        return tensor.whole()
    extents = _extents(op, descriptor, len(coordinates))
    if extents is None:
        extents = [1] * len(coordinates)
    tensor = part_at(agent.machine, tensor, coordinates, list(reversed(tensor.strides))[: len(coordinates)])
    places = [EXTENT // 2 + coordinate for coordinate in coordinates]
    offset = sum(place * stride for place, stride in zip(places, reversed(tensor.strides), strict=False))
    shape = [1] * (MOST_DIMENSIONS - len(extents)) + list(reversed(extents))
    return View(tensor, offset, tuple(shape), tensor.strides, BYTE)


def _tensor_of(agent: Agent, descriptor: Pointer) -> MemoryObject:
    tensors, known = agent.shared(TensorMaps).tensors, described(descriptor)
    key = descriptor.key if known is None else (known.array.base.serial, known.array.offset)
    if key not in tensors:
        where = f" + {descriptor.offset}" if descriptor.offset else ""
        name = f"tensor of map '{descriptor.base.name}{where}'"
        shape = (EXTENT,) * MOST_DIMENSIONS
        tensor = MemoryObject(name, shape, BYTE, "global", is_open=True, zero=EXTENT // 2)
        tensors[key] = (descriptor, tensor)
    return tensors[key][1]


def _is_plain_tile(op: Operation) -> bool:
    """Whether the coordinates are those of a box; not so where they name rows, or pixels (im2col)."""
    mode = op.properties.get("mode")
    return mode is None or str(getattr(mode, "data", "")) == "tile"


def _extents(op: Operation, descriptor: Pointer, rank: int) -> list[int] | None:
    """Elements of the box along each dimension, the innermost first; None where nothing says it."""
    box, known = op.attributes.get(BOX), described(descriptor)
    if known is not None and len(known.map_.box) != rank:
        dimensions = len(known.map_.box)
        raise UnsupportedError(op, f"has {rank} coordinates, and its tensor map is of {dimensions} dimensions")
    if box is None:
        return None if known is None else list(reversed(known.map_.box))
    extents = [int(extent) for extent in box.get_values()] if isinstance(box, DenseArrayBase) else []
    if len(extents) != rank or not all(0 < extent <= 256 for extent in extents):
        raise UnsupportedError(op, f"has a {BOX} that is no array of {rank} numbers from 1 to 256, as TMA takes them")
    return extents


# Numbers --------------------------------------------------------------------------------------------------------------


def mover_into(
    agent: Agent, op: Operation, descriptor: Pointer, coordinates: Sequence[Any], target: Pointer
) -> Callable[[], None] | None:
    """What moves a box to `target` in shared memory, swizzled; None where only places matter."""
    if not agent.has_data:
        return None
    box, address, swizzle = _numbers(agent, op, descriptor, coordinates, target)

    def move() -> None:
        plain = np.ascontiguousarray(box.read()).reshape(-1).view(np.uint8)
        view = target.bytes(len(plain))
        agent.poke(view, permuted(plain, address, swizzle).view(np.int8))

    return move


Combine = Callable[[Any, Any], Any]
"""(what the array holds, what the box holds) -> what the array holds then."""


def writer_of(
    agent: Agent,
    op: Operation,
    descriptor: Pointer,
    coordinates: Sequence[Any],
    source: Pointer,
    combine: Combine | None = None,
) -> Callable[[Any], None] | None:
    """What puts the bytes that lay at `source` into the array; None where only places matter."""
    if not agent.has_data:
        return None
    box, address, swizzle = _numbers(agent, op, descriptor, coordinates, source)

    def put(held: Any) -> None:
        plain = straightened(np.ascontiguousarray(held).view(np.uint8), address, swizzle)
        elements = np.ascontiguousarray(plain).view(box.array.element.dtype).reshape(box.map_.box)
        box.write(elements if combine is None else combine(box.read(), elements))

    return put


def _numbers(
    agent: Agent, op: Operation, descriptor: Pointer, coordinates: Sequence[Any], shared: Pointer
) -> tuple[Box, int, int]:
    """The box that a copy moves, the address of its bytes in shared memory, and their swizzle."""
    known = described(descriptor)
    assert known is not None  # else nobody could say how many bytes the copy moves
    if not _is_plain_tile(op):
        raise UnsupportedError(op, "moves no box (its mode is not 'tile'), and its numbers are not followed")
    places = [agent.known(coordinate, op, "takes as a coordinate") for coordinate in reversed(coordinates)]
    addresses = agent.shared(Addresses)
    address = addresses.offset_bits(addresses.number(shared))
    map_, array = known.map_, known.array
    if address % ALIGNMENT:
        raise UnsupportedError(
            op, f"has a box at byte {address} of shared memory; boxes begin at multiples of {ALIGNMENT} bytes"
        )
    if map_.swizzle and map_.box_bytes % ALIGNMENT:
        raise UnsupportedError(
            op,
            f"moves a box of {map_.box_bytes} bytes, whose swizzle reaches beyond it; take a multiple of {ALIGNMENT}",
        )
    return Box(map_, array, tuple(places)), address, map_.swizzle


# Descriptors that the program changes --------------------------------------------------------------------------------


def release_maps(agent: Agent) -> None:
    """`fence.proxy.release`: what is written to descriptors so far can be acquired."""
    agent.fence_proxies((RELEASED,))


def acquire_map(agent: Agent, descriptor: Pointer) -> None:
    """`fence.proxy.acquire`: later copies see the descriptor as it was released."""
    key = map_key(descriptor.base, descriptor.offset)
    join(agent.fenced.setdefault(key, {}), agent.fenced.get(RELEASED, {}))
