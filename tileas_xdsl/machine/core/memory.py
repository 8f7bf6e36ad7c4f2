"""
Memory as the machine sees it: objects, byte ranges of them, and views through which programs reach the bytes.

An *object* is what one allocation or one function argument names. A *view* is a strided window on an object, in
elements of some type. What two accesses have in common is decided on bytes: exactly, whatever strides and element
types the two views have.

Types narrower than a byte take a byte each in the machine's memory. Of tiles in registers a `view` packs floats of 4
bits, two to a byte, the first in the lower half, where the result is one of bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from tileas_xdsl.machine.core.values import UNKNOWN, ElementType

Array = NDArray[np.generic]

_serial = count()


LARGEST_SCALAR = 16
"""Bytes."""
OBJECT_BYTES = 8
"""Bytes of an mbarrier object (PTX ISA, "Size and alignment of mbarrier object")."""


@dataclass(frozen=True)
class Cell:
    """A scalar that is known to lie in memory."""

    element: ElementType
    value: int | float | bool


@dataclass(eq=False)
class MemoryObject:
    """
    One allocation: `shape` elements of `element`, row-major. `data` is None when only addresses matter (checking).
    """

    name: str
    shape: tuple[int, ...]
    element: ElementType
    space: str = "global"
    """Where it lives: `global`, `shared`, `tensor`, `register` or `host`."""
    data: NDArray[np.uint8] | None = None
    cells: dict[int, Cell] = field(default_factory=dict)
    """When checking: scalars that the program itself stored, by byte offset. No two share a byte."""
    slot: int | None = None
    """Which slot of a ring it is, if it is one."""
    family: str = ""
    """A name that all slots of one ring share; the name of the object itself if it is no slot."""
    zero: int = 0
    """The index that messages call 0, where indices may be negative for the program; leading axes at 0 are left out."""
    is_open: bool = False
    """Whether its extents are assumed, because the program leaves its size open."""
    objects: dict[int, str] = field(default_factory=dict)
    """Byte offset -> name of each thing of `OBJECT_BYTES` that lives there, and that no ordinary access may touch."""
    holds_barriers: bool = False
    """Whether its elements are mbarriers, which messages then count."""
    is_callers: bool = False
    """Whether it was there before the function, with barriers in it that its caller may have made."""
    lifetime_over: bool = False
    """Set by `lifetimes.end_lifetime`; what touches it later is an error."""
    is_written: bool = False
    """Of a whole object: whether any access has written to it, or to a part of it."""
    read_somewhere: Operation | None = None
    """Of a whole object: an op that reads it at a place which is not computed; nobody may write to it then."""
    serial: int = field(default_factory=lambda: next(_serial))
    peers: tuple[MemoryObject, ...] = ()
    """Of what lies in the shared memory of a block of a cluster: what all blocks have there, in the order of ranks."""
    mapped: Any = None
    """Of the bytes of a tensor map: what the program says of it, and its `array` (`tiles.tensor_maps.Mapped`)."""

    form: object = None
    """Of a part of an array that is indexed by numbers which differ between blocks: which part (`opaque_numbers`)."""
    array: MemoryObject | None = None
    """The array that it is a part of; None for a whole one."""
    reached: range = range(0)
    """Of such a part: the bytes from the first to the last that accesses reached."""
    reached_by: Operation | None = None
    """Of such a part: an op that reached it, if one has."""

    def __post_init__(self) -> None:
        self.family = self.family or self.name

    @property
    def whole_object(self) -> MemoryObject:
        """The array that it is a part of; the object itself if it is whole."""
        return self if self.array is None else self.array

    def part(self, form: object) -> MemoryObject:
        """The part of it that `form` names, with nothing known of its contents. It must be a whole object."""
        return MemoryObject(
            self.name,
            self.shape,
            self.element,
            self.space,
            family=self.family,
            zero=self.zero,
            is_open=True,
            form=form,
            array=self,
        )

    def note_reached(self, op: Operation, start: int, stop: int) -> None:
        """Note that `op` has accessed the bytes from `start` to `stop` of a part."""
        self.reached_by = self.reached_by or op
        reached = self.reached
        self.reached = range(min(reached.start, start), max(reached.stop, stop)) if reached else range(start, stop)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, per dimension."""
        return row_major_strides(self.shape, self.element.size)

    @cached_property
    def size(self) -> int:
        """Bytes in the whole object."""
        return prod(self.shape) * self.element.size

    def known_at(self, view: View) -> Any:
        """
        When checking: the scalar under `view`, if the program stored one of that type just there; else UNKNOWN. An
        integer may be part of a wider one that was stored, or lie in several (little endian: PTX ISA, "Memory").
        """
        if not self.cells or view.shape != ():
            return UNKNOWN
        cell = self.cells.get(view.offset)
        if cell is not None and cell.element.dtype == view.element.dtype:
            return cell.value
        return self._integer_at(view.offset, view.element)

    def _integer_at(self, offset: int, element: ElementType) -> Any:
        """The integer of type `element` in the bytes from `offset` on, if all of them are those of known integers."""
        if element.dtype.kind != "i":
            return UNKNOWN
        found = bytearray()
        while len(found) < element.size:
            byte = self._known_byte(offset + len(found))
            if byte is None:
                return UNKNOWN
            found.append(byte)
        return int.from_bytes(found, "little", signed=True)

    def _known_byte(self, offset: int) -> int | None:
        for start in range(offset, offset - LARGEST_SCALAR, -1):
            cell = self.cells.get(start)
            if cell is not None:
                is_there = offset < start + cell.element.size and cell.element.dtype.kind == "i"
                return int(cell.value) >> 8 * (offset - start) & 0xFF if is_there else None
        return None

    def forget(self, region: ByteRegion) -> None:
        """When checking: the bytes of `region` are overwritten."""
        for start, stop in region.spans if self.cells else ():
            self._forget(start, stop)

    def _forget(self, start: int, stop: int) -> None:
        near = range(start - LARGEST_SCALAR + 1, stop)
        for offset in [o for o in near if o in self.cells] if len(near) < len(self.cells) else list(self.cells):
            if offset < stop and start < offset + self.cells[offset].element.size:
                del self.cells[offset]

    def object_under(self, region: ByteRegion) -> str | None:
        """The name of a thing in `objects` some byte of which is in `region`; None if there is none."""
        start, stop = region.start, region.stop
        for offset, name in self.objects.items():
            if start < offset + OBJECT_BYTES and offset < stop:
                if ByteRegion(self, offset, (), (), OBJECT_BYTES).overlaps(region):
                    return name
        return None

    def whole(self) -> View:
        return View(self, 0, self.shape, self.strides, self.element)

    @staticmethod
    def from_array(name: str, array: Array, element: ElementType, space: str = "global") -> MemoryObject:
        """An object that holds a copy of `array`."""
        contiguous = np.ascontiguousarray(array, dtype=element.dtype)
        data = contiguous.reshape(-1).view(np.uint8).copy()
        return MemoryObject(name, tuple(array.shape), element, space, data)

    @staticmethod
    def zeros(name: str, shape: tuple[int, ...], element: ElementType, space: str, *, with_data: bool) -> MemoryObject:
        data = None
        if with_data:
            require_addressable(name, shape, element)
            data = np.zeros(prod(shape) * element.size, np.uint8)
        return MemoryObject(name, shape, element, space, data)


def require_addressable(name: str, shape: Sequence[int], element: ElementType) -> None:
    """
    Raises `MemoryError` for an array of more bytes than numpy can address; numpy itself raises other errors for it.
    """
    size = prod(shape) * element.size
    if size > sys.maxsize:
        raise MemoryError(f"'{name}' has {size:,} bytes")


def row_major_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@dataclass(slots=True, eq=False)
class View:
    """
    A strided window: `shape` elements of type `element`, from byte `offset` of `base` on, `strides` bytes apart.

    Nothing changes one. It is not `frozen` because each access makes one, which would take six times as long.
    """

    base: MemoryObject
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: ElementType
    origin: int = 0
    """The byte that offset 0 names for `memref.reinterpret_cast`: where `memref.view` or the allocation begins."""
    copies: tuple[int, ...] = ()
    """Where a scattered window has its copies (`ByteRegion`). It is only touched: it has no array."""
    _region: ByteRegion | None = field(default=None, init=False, repr=False)

    def array(self) -> Array:
        """The live bytes as an array that reads and writes through."""
        assert self.base.data is not None
        if not prod(self.shape):
            return np.empty(self.shape, self.element.dtype)
        return np.ndarray(self.shape, self.element.dtype, self.base.data.data, self.offset, self.strides)

    def slice(self, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> View:
        """The sub-window that starts at index `offsets` and takes every `steps`-th element, `sizes` of them."""
        steps = steps if steps is not None else (1,) * len(sizes)
        start = self.offset + sum(o * s for o, s in zip(offsets, self.strides, strict=True))
        strides = tuple(step * s for step, s in zip(steps, self.strides, strict=True))
        return View(self.base, start, tuple(sizes), strides, self.element, self.origin)

    def index(self, leading: int) -> View:
        """The window at index `leading` of the first dimension, one dimension fewer."""
        return View(
            self.base,
            self.offset + leading * self.strides[0],
            self.shape[1:],
            self.strides[1:],
            self.element,
            self.origin,
        )

    def dropping(self, dimensions: Sequence[int]) -> View:
        """The same bytes without the unit dimensions listed."""
        keep = [d for d in range(len(self.shape)) if d not in set(dimensions)]
        return View(
            self.base,
            self.offset,
            tuple(self.shape[d] for d in keep),
            tuple(self.strides[d] for d in keep),
            self.element,
            self.origin,
        )

    @property
    def is_contiguous(self) -> bool:
        return self.strides == row_major_strides(self.shape, self.element.size)

    def in_bounds(self) -> bool:
        """Whether every byte of the window lies inside the object."""
        region = self.region
        return region.start >= 0 and region.stop <= self.base.size

    @property
    def region(self) -> ByteRegion:
        """The bytes that the window covers."""
        if self._region is None:
            size = self.element.size
            self._region = ByteRegion(self.base, self.offset, self.shape, self.strides, size, self.copies)
        return self._region


class Comb(NamedTuple):
    """So many runs of `length` bytes, one every `period` bytes, the first at `start`."""

    start: int
    length: int
    period: int
    teeth: int

    def meets(self, other: Comb) -> bool | None:
        """Whether the two share a byte; None where that takes more to tell."""
        period = self.period or other.period or max(self.length, other.length)
        if not self.teeth or not other.teeth or any(each.teeth > 1 and each.period != period for each in (self, other)):
            return None
        # Tooth i of one and j of the other meet if the distance of the combs is within reach of i - j periods.
        distance = other.start - self.start
        least = max((distance - self.length) // period + 1, 1 - other.teeth)
        most = min(-((-distance - other.length) // period) - 1, self.teeth - 1)
        return least <= most


NO_COMB = Comb(0, 0, 0, 0)
Span = tuple[int, int]
"""The first byte, and the byte after the last."""
Box = tuple[tuple[int, int], ...]
"""(low, high) per dimension of an object."""
LARGEST_HULL = 1 << 16
"""Bytes of the largest span by which a region with gaps is filed in an index of boxes."""


class ByteRegion:
    """
    The bytes of one view, made for one question: do two regions share a byte?

    Where the strides are those of the object the region is a *box* in the object's index space, and the answer compares
    intervals. Where its runs of contiguous bytes come at even distances it is a *comb*, and two of one period are
    compared at once. Otherwise the elements are listed and intersected.

    A region may be *scattered*: `copies` of one window, at the distances given, rising from 0. So is what the threads
    of a warp touch in a tile that is swizzled. It is compared by its spans of contiguous bytes.
    """

    __slots__ = (
        "_comb",
        "_kind",
        "_runs",
        "_spans",
        "base",
        "box",
        "copies",
        "counts",
        "itemsize",
        "key",
        "offset",
        "start",
        "stop",
        "strides",
    )

    def __init__(
        self,
        base: MemoryObject,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        itemsize: int,
        copies: tuple[int, ...] = (),
    ) -> None:
        self.base = base
        self.offset = offset
        self.counts = shape
        self.strides = strides
        self.itemsize = itemsize
        self.copies = copies
        self.key = (offset, shape, strides, itemsize, copies)
        self.box: Box | None = None
        if copies:
            self.start, self.stop = _span(offset, shape, strides, itemsize)
            self.stop += copies[-1]
        elif shape:
            # A check touches few windows, again and again.
            within = (base.shape, base.element.size)
            self.start, self.stop, self.box = _placed(within, offset, shape, strides, itemsize)
        else:
            self.start, self.stop, self.box = offset, offset + itemsize, self._element_as_box()
        self._runs: NDArray[np.int64] | None = None
        self._comb: Comb | None = None
        self._kind: _Kind | None = None
        self._spans: tuple[Span, ...] | None = None

    @property
    def form(self) -> tuple[object, ...]:
        """All but where it begins."""
        return self.key[1:]

    @property
    def kind(self) -> _Kind:
        """Its form, by which it is told apart at once from others."""
        if self._kind is None:
            self._kind = _kind_of(self.form)
        return self._kind

    @property
    def hull(self) -> Box | None:
        """A box of the object in which the region lies; None where there is none that is small."""
        if self.box is None and self.stop - self.start <= LARGEST_HULL:
            base = self.base
            return ((self.start, self.stop),) if base.element.size == 1 and len(base.shape) == 1 else None
        return self.box

    @property
    def spans(self) -> tuple[Span, ...]:
        """The contiguous bytes of a scattered region, rising; of another one, all from its first to its last byte."""
        if self._spans is None:
            self._spans = tuple(self._merged()) if self.copies else ((self.start, self.stop),)
        return self._spans

    def _merged(self) -> Iterator[Span]:
        like = ByteRegion(self.base, self.offset, self.counts, self.strides, self.itemsize)
        runs = [like.start] if like.is_solid else like.runs().tolist()
        length = like.stop - like.start if like.is_solid else like.itemsize
        starts = sorted(run + copy for copy in self.copies for run in runs)
        first, last = starts[0], starts[0] + length
        for start in starts[1:]:
            if start > last:
                yield first, last
                first = start
            last = max(last, start + length)
        yield first, last

    @property
    def is_empty(self) -> bool:
        return self.stop <= self.start

    @property
    def byte_count(self) -> int:
        return prod(self.counts) * self.itemsize * max(len(self.copies), 1)

    @property
    def is_solid(self) -> bool:
        """Whether the window is one run of bytes without gaps, each element in a place of its own."""
        return not self.copies and _is_solid(self.counts, self.strides, self.itemsize)

    def _element_as_box(self) -> Box | None:
        """The same for a window of one element, as most are."""
        base, rest = self.base, self.offset
        if base.element.size == 1 and len(base.shape) == 1:
            return ((rest, rest + self.itemsize),)
        if self.itemsize != base.element.size or rest < 0:
            return None
        box: list[tuple[int, int]] = []
        for extent, stride in zip(base.shape, base.strides, strict=True):
            low, rest = divmod(rest, stride)
            if low >= extent:
                return None
            box.append((low, low + 1))
        return tuple(box) if rest == 0 else None

    @property
    def comb(self) -> Comb:
        """The region as a comb; one without teeth where it is none."""
        if self._comb is None:
            self._comb = self._as_comb()
        return self._comb

    def _as_comb(self) -> Comb:
        if self.copies:
            return NO_COMB
        axes = sorted((abs(step), extent) for extent, step in zip(self.counts, self.strides, strict=True) if extent > 1)
        length, period, teeth = self.itemsize, 0, 1
        for step, extent in axes:
            if period == 0 and step == length:
                length *= extent
            elif period == 0 and step > length:
                period, teeth = step, extent
            elif period and step == period * teeth:
                teeth *= extent
            else:
                return NO_COMB
        return Comb(self.start, length, period, teeth)

    def runs(self) -> NDArray[np.int64]:
        """Start byte of every element, ascending."""
        if self._runs is None:
            starts = np.array([self.offset], np.int64)
            for extent, stride in zip(self.counts, self.strides, strict=True):
                starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
            if self.copies:
                starts = (starts[:, None] + np.array(self.copies, np.int64)).reshape(-1)
            self._runs = np.unique(starts)
        return self._runs

    def overlaps(self, other: ByteRegion) -> bool:
        """Whether the two share a byte. Exact."""
        if self.base is not other.base or self.start >= other.stop or other.start >= self.stop:
            return False
        if self.is_empty or other.is_empty:
            return False
        if self.box is not None and other.box is not None:
            return all(a < d and c < b for (a, b), (c, d) in zip(self.box, other.box, strict=True))
        if self.copies or other.copies:
            meet = _scattered_meet(other.offset - self.offset, self.kind, other.kind)
        else:
            meet = self.comb.meets(other.comb)
        if meet is not None:
            return meet
        mine, theirs = self.runs(), other.runs()
        # The first of their elements that ends after the start of mine: does it start before the end of mine?
        nearest = np.searchsorted(theirs, mine - other.itemsize, side="right")
        inside = nearest < len(theirs)
        return bool(np.any(theirs[nearest[inside]] < mine[inside] + self.itemsize))

    def covers(self, other: ByteRegion) -> bool:
        """Whether every byte of `other` is in this region. May say no where the answer is yes, never the reverse."""
        if self.key == other.key:
            return True
        if self.box is not None and other.box is not None:
            return all(a <= c and d <= b for (a, b), (c, d) in zip(self.box, other.box, strict=True))
        if self.copies:
            mine = self.spans
            return all(any(a <= c and d <= b for a, b in mine) for c, d in other.spans)
        return self.is_solid and self.start <= other.start and other.stop <= self.stop

    def of_twin(self, base: MemoryObject) -> ByteRegion:
        """The same bytes of an object that is just like its own."""
        twin = object.__new__(ByteRegion)
        for name in ByteRegion.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.base = base
        return twin

    def at(self, offset: int) -> ByteRegion:
        """A region of the same form that begins at byte `offset` of the object."""
        return ByteRegion(self.base, offset, self.counts, self.strides, self.itemsize, self.copies)


@lru_cache(maxsize=1 << 14)
def _placed(
    within: tuple[tuple[int, ...], int], offset: int, counts: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> tuple[int, int, Box | None]:
    """
    The span of a window, and the window as a box of the object of the extents and the size of an element in `within`;
    None where it is no box.
    """
    start, stop = _span(offset, counts, strides, itemsize)
    shape, size = within
    if stop <= start:
        return start, stop, None
    if size == 1 and len(shape) == 1 and _is_solid(counts, strides, itemsize):
        return start, stop, ((start, stop),)
    return start, stop, _box_in(within, offset, counts, strides) if itemsize == size and offset >= 0 else None


def _span(offset: int, counts: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Span:
    """An empty window has an empty span."""
    first = last = offset
    for extent, stride in zip(counts, strides, strict=True):
        if extent == 0:
            return 0, 0
        reach = (extent - 1) * stride
        if reach < 0:
            first += reach
        else:
            last += reach
    return first, last + itemsize


def _is_solid(counts: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    step = itemsize
    if len(counts) == 1:
        return counts[0] == 1 or abs(strides[0]) == step
    for stride, extent in sorted((abs(s), n) for n, s in zip(counts, strides, strict=True) if n != 1):
        if stride != step:
            return False
        step *= extent
    return True


def _box_in(
    within: tuple[tuple[int, ...], int], offset: int, counts: tuple[int, ...], strides: tuple[int, ...]
) -> Box | None:
    """The window as a box of an object with elements of its own size, or None where it is no box."""
    shape, size = within
    steps = row_major_strides(shape, size)
    extents = dict.fromkeys(range(len(shape)), 1)
    by_stride = {stride: d for d, stride in enumerate(steps) if shape[d] > 1}
    for extent, stride in zip(counts, strides, strict=True):
        if extent == 1:
            continue
        dimension = by_stride.pop(stride, None)
        if dimension is None:
            return None
        extents[dimension] = extent
    box: list[tuple[int, int]] = []
    rest = offset
    for d, stride in enumerate(steps):
        low, rest = divmod(rest, stride)
        if low + extents[d] > shape[d]:
            return None
        box.append((low, low + extents[d]))
    return tuple(box) if rest == 0 else None


Form = tuple[Any, ...]
"""What makes a region but its object and where it begins there."""


class _Kind:
    """A form, hashed as an object: it has a number for each thread."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form


_kind_of = lru_cache(maxsize=1 << 14)(_Kind)


@lru_cache(maxsize=1 << 14)
def _scattered_meet(distance: int, kind: _Kind, other_kind: _Kind) -> bool | None:
    """
    What `_spans_meet` says of two regions of one object, of which the other begins at that `distance` from the first. A
    check compares few pairs, again and again.
    """
    one, other = ByteRegion(_ANYWHERE, 0, *kind.form), ByteRegion(_ANYWHERE, distance, *other_kind.form)
    return _spans_meet(one, other) if one.copies else _spans_meet(other, one)


def _spans_meet(scattered: ByteRegion, other: ByteRegion) -> bool | None:
    """Whether a scattered region shares a byte with another one; None where that takes more to tell."""
    if other.copies or other.is_solid:
        return meet_in_spans(scattered.spans, other.spans)
    comb = other.comb
    if not comb.teeth:
        return None
    return any(Comb(start, stop - start, 0, 1).meets(comb) for start, stop in scattered.spans)


_ANYWHERE = MemoryObject("anywhere", (), ElementType(i8, np.dtype(np.int8)))
"""For regions of which it makes no difference where they are."""


def meet_in_spans(mine: Sequence[Span], theirs: Sequence[Span]) -> bool:
    """Whether two lists of spans, both rising and without overlaps, share a byte."""
    here, there = 0, 0
    while here < len(mine) and there < len(theirs):
        (start, stop), (first, last) = mine[here], theirs[there]
        if start < last and first < stop:
            return True
        if stop <= first:
            here += 1
        else:
            there += 1
    return False


class ThreadParts:
    """What each of some threads touches: regions that are alike but for where they begin."""

    __slots__ = ("_regions", "like", "places")

    def __init__(self, like: ByteRegion, places: tuple[tuple[int, int], ...]) -> None:
        self.like = like
        """One of the regions."""
        self.places = places
        """The lane of each thread, and the byte at which its region begins."""
        self._regions: tuple[tuple[int, ByteRegion], ...] | None = None

    @property
    def regions(self) -> tuple[tuple[int, ByteRegion], ...]:
        """The lane of each thread, and its region: made only where the spans do not say enough."""
        if self._regions is None:
            self._regions = tuple((lane, self.like.at(offset)) for lane, offset in self.places)
        return self._regions

    def spans(self) -> list[tuple[int, int, int]]:
        """(first byte, byte after the last, lane) of each thread."""
        before, behind = self.like.start - self.like.offset, self.like.stop - self.like.offset
        return [(offset + before, offset + behind, lane) for lane, offset in self.places]

    def relative_to(self, offset: int) -> tuple[tuple[int, int], ...]:
        """Lane and distance from `offset`, for the region of each thread."""
        return tuple((lane, place - offset) for lane, place in self.places)
