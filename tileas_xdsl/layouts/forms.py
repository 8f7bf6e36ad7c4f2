"""
The layouts that have a name, as data: what each is called, and which bits it means for a tile.

    swizzle<128, order = [1, 0]>                          memory, as TMA writes it
    row_major<order = [1, 0]>                             memory, one element after the other
    cute<"(8,64):(64,1)">                                 memory, as CuTe notes it
    datapath<64>                                          tensor memory, as the tensor core accumulates so many rows
    mma<m64n128k16, operand = acc, warps = 4>             registers: an operand of the tensor core
    blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>       registers: elements a thread, lanes, warps
    slice<1, mma<m64n128k16, operand = acc, warps = 4>>   registers: what is left when an axis is reduced away
    linear<register = [[0, 1]], lane = [[0, 2], [1, 0]]>  any bases; of memory, with `offset`

A form knows no tile; `linear(shape, element_bits)` gives the layout of one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts.cute import read_cute
from tileas_xdsl.layouts.distributed import PLACES, blocked, check_distributed, from_bases, sliced
from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.fragments import MmaShape, fragment
from tileas_xdsl.layouts.linear import LinearLayout, dims
from tileas_xdsl.layouts.memory import OFFSET, SWIZZLES, check_memory, from_cute, row_major, swizzled
from tileas_xdsl.layouts.scale_factors import scale_layout
from tileas_xdsl.layouts.tensor_memory import HALF_WARP_BIT, LANES
from tileas_xdsl.layouts.terms import Arguments, Term, Value, bases, frozen, number, numbers, word
from tileas_xdsl.targets.engines import Family

SCALE_BITS = 8
MMA_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


@dataclass(frozen=True)
class LayoutForm(ABC):
    """A layout with a name."""

    @property
    def in_registers(self) -> bool:
        """Whether threads hold the tile; otherwise it lies in memory."""
        return True

    @abstractmethod
    def term(self) -> Term:
        """How it is written."""

    @abstractmethod
    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        """The linear layout, not checked for covering the tile."""

    def linear(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        """The layout of a tile. Raises `LayoutError` for one that it does not fit."""
        layout = self.bits(shape, element_bits)
        if layout.shape != tuple(shape):
            raise LayoutError(f"{self} is a layout of {_times(layout.shape)}, not of {_times(shape)}")
        self.check(layout)
        return layout

    def check(self, layout: LinearLayout) -> None:
        """Raises `LayoutError` for a layout that does not give every element its place."""
        (check_distributed if self.in_registers else check_memory)(layout)

    def __str__(self) -> str:
        return str(self.term())


@dataclass(frozen=True)
class Swizzled(LayoutForm):
    """
    Memory as TMA writes it: chunks of 16 bytes permuted within `width` bytes; 0 bytes: not at all. Where an instruction
    reads more rows than the tile has, they are those of the tile again, `times` times in all.
    """

    width: int
    order: tuple[int, ...] | None = None
    times: int = 1

    @property
    def in_registers(self) -> bool:
        return False

    def term(self) -> Term:
        name, width = ("swizzle", (self.width,)) if self.width else ("row_major", ())
        said: dict[str, Value] = {} if self.order is None else {"order": self.order}
        return Term(name, width, frozen(said | ({} if self.times == 1 else {"times": self.times})))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        return swizzled(shape, element_bits, self.width, self.order, self.times)

    def check(self, layout: LinearLayout) -> None:
        if self.times == 1:
            super().check(layout)
        elif not layout.is_surjective:
            raise LayoutError("some elements lie nowhere")


@dataclass(frozen=True)
class Noted(LayoutForm):
    """Memory in CuTe's notation."""

    text: str

    @property
    def in_registers(self) -> bool:
        return False

    def term(self) -> Term:
        return Term("cute", (self.text,))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        return from_cute(read_cute(self.text), shape)


@dataclass(frozen=True)
class DataPath(LayoutForm):
    """
    Tensor memory as a product of `rows` x N accumulates there: row behind row of 128, of which a tile with fewer has
    some again; of 64 rows each 16 in the lower half of 32 lanes, with nothing in the upper (PTX ISA, "tcgen05", "Data
    Path Layout Organization", layouts D and F).
    """

    rows: int

    @property
    def in_registers(self) -> bool:
        return False

    def term(self) -> Term:
        return Term("datapath", (self.rows,))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        if len(shape) != 2 or (shape[0] != self.rows and not shape[0] < self.rows == LANES):
            raise LayoutError(f"{self} is a layout of {self.rows} rows, not of {_times(shape)}")
        whole = row_major(shape)
        if self.rows == LANES:
            return whole * LinearLayout.zeros(OFFSET, "dim0", LANES // shape[0])
        images = whole.images(OFFSET)
        below = exponent(shape[1], "the extent of dim1") + HALF_WARP_BIT
        return LinearLayout(((OFFSET, (*images[:below], 0, *images[below:])),), whole.outputs)

    def check(self, layout: LinearLayout) -> None:
        if not layout.is_surjective:
            raise LayoutError("some elements lie nowhere")


@dataclass(frozen=True)
class ScaleFactors(LayoutForm):
    """Scale factors in shared memory, as `tcgen05.cp` takes them; `axis` is that of the rows, the other one along K."""

    axis: int

    @property
    def in_registers(self) -> bool:
        return False

    def term(self) -> Term:
        return Term("scales", (self.axis,))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        if element_bits != SCALE_BITS:
            raise LayoutError(f"scale factors have {SCALE_BITS} bits, not {element_bits}")
        return scale_layout(shape, self.axis)

    def check(self, layout: LinearLayout) -> None:
        if not layout.is_surjective:
            raise LayoutError("some elements lie nowhere")


@dataclass(frozen=True)
class Mma(LayoutForm):
    """An operand of mma.sync or wgmma; warps along M and along N."""

    shape: MmaShape
    operand: str
    warps: tuple[int, int]

    def term(self) -> Term:
        warps: Value = self.warps[0] if self.warps[1] == 1 else self.warps
        return Term(Family.MMA, (Term(str(self.shape)),), frozen({"operand": Term(self.operand), "warps": warps}))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        if len(shape) != 2:
            raise LayoutError(f"{self} is a layout of matrices, not of tiles with {len(shape)} dimensions")
        return fragment(self.shape, self.operand, element_bits, self.warps, (shape[0], shape[1]))


@dataclass(frozen=True)
class Blocked(LayoutForm):
    """Boxes of elements in threads, threads in warps, warps in the block."""

    per_thread: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]
    order: tuple[int, ...]

    def term(self) -> Term:
        return Term("blocked", (self.per_thread, self.lanes, self.warps), frozen({"order": self.order}))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        return blocked(self.per_thread, self.lanes, self.warps, self.order, shape)


@dataclass(frozen=True)
class Slice(LayoutForm):
    """What a reduction along `axis` leaves of `parent`, which is a layout of a tile with one dimension more."""

    axis: int
    parent: LayoutForm

    def term(self) -> Term:
        return Term("slice", (self.axis, self.parent.term()))

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        if not 0 <= self.axis <= len(shape):
            raise LayoutError(f"{self} has no axis {self.axis}")
        whole = [*shape[: self.axis], 1, *shape[self.axis :]]
        return sliced(self.parent.bits(whole, element_bits), self.axis)


@dataclass(frozen=True)
class LinearBases(LayoutForm):
    """Any bases, by place: those of registers, lanes, warps and blocks, or those of the offset."""

    places: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]

    @staticmethod
    def of(layout: LinearLayout) -> LinearBases:
        """The form of a layout; places that are single are left out."""
        return LinearBases(tuple((name, layout.bases(name)) for name in layout.input_names if layout.images(name)))

    @property
    def in_registers(self) -> bool:
        return all(name != OFFSET for name, _ in self.places)

    def term(self) -> Term:
        return Term("linear", (), self.places)

    def bits(self, shape: Sequence[int], element_bits: int) -> LinearLayout:
        if self.in_registers:
            return from_bases(dict(self.places), shape)
        return LinearLayout.of(dict(self.places), dims(shape))


def memory_form(layout: LinearLayout, element_bits: int) -> LayoutForm:
    """The form of a memory layout: by its name where it has one."""
    named = (Swizzled(width) for width in sorted(SWIZZLES, reverse=True))
    same = (form for form in named if form.bits(layout.shape, element_bits) == layout)
    return next(same, LinearBases.of(layout))


# Reading --------------------------------------------------------------------------------------------------------------


def read_form(term: Term) -> LayoutForm:
    """The form that a term means. Raises `LayoutError` for a name or an argument that is not known."""
    if term.name not in READERS:
        raise LayoutError(f"'{term.name}' is none of the layouts {', '.join(READERS)}; free text is quoted")
    arguments = term.reader()
    form = READERS[term.name](arguments)
    arguments.done()
    return form


def _order(arguments: Arguments) -> tuple[int, ...] | None:
    return numbers(arguments.take("order"), "order") if "order" in arguments.named else None


def _swizzle(arguments: Arguments) -> LayoutForm:
    width = number(arguments.next("its width in bytes"), "the width of a swizzle")
    times = number(arguments.take("times"), "times") if "times" in arguments.named else 1
    exponent(times, "how many times a tile lies there")
    return Swizzled(width, _order(arguments), times)


def _row_major(arguments: Arguments) -> LayoutForm:
    return Swizzled(0, _order(arguments))


def _cute(arguments: Arguments) -> LayoutForm:
    text = arguments.next("shape and strides, in quotes")
    if not isinstance(text, str):
        raise LayoutError("cute needs shape and strides, in quotes")
    return Noted(str(read_cute(text)))


def _datapath(arguments: Arguments) -> LayoutForm:
    rows = number(arguments.next("how many rows a product has"), "the number of rows of a product")
    if rows not in (LANES, LANES // 2):
        raise LayoutError(f"a product accumulates {LANES // 2} or {LANES} rows in a form of its own, not {rows}")
    return DataPath(rows)


def _scales(arguments: Arguments) -> LayoutForm:
    axis = number(arguments.next("the axis of the rows"), "the axis of the rows")
    if axis not in (0, 1):
        raise LayoutError(f"scale factors are a matrix, which has the axes 0 and 1, not {axis}")
    return ScaleFactors(axis)


def _mma(arguments: Arguments) -> LayoutForm:
    shape = word(arguments.next("the shape of an instruction, such as m16n8k16"), "the shape of an instruction")
    match = MMA_SHAPE.fullmatch(shape)
    if match is None:
        raise LayoutError(f"'{shape}' is no shape of an instruction, such as m16n8k16")
    warps = arguments.take("warps")
    grid = (warps, 1) if isinstance(warps, int) else numbers(warps, "warps")
    if len(grid) != 2:
        raise LayoutError("warps are a number, or two: along M and along N")
    operand = word(arguments.take("operand"), "operand")
    return Mma(MmaShape(*map(int, match.groups())), operand, (grid[0], grid[1]))


def _blocked(arguments: Arguments) -> LayoutForm:
    grids = [numbers(arguments.next(what), what) for what in ("elements a thread", "lanes", "warps")]
    return Blocked(grids[0], grids[1], grids[2], numbers(arguments.take("order"), "order"))


def _slice(arguments: Arguments) -> LayoutForm:
    axis = number(arguments.next("an axis"), "the axis of a slice")
    parent = arguments.next("the layout that is sliced")
    if not isinstance(parent, Term):
        raise LayoutError("slice needs the layout that is sliced")
    form = read_form(parent)
    if not form.in_registers:
        raise LayoutError(f"{form} lies in memory, and threads hold what is sliced")
    return Slice(axis, form)


def _linear(arguments: Arguments) -> LayoutForm:
    names = (OFFSET,) if OFFSET in arguments.named else PLACES
    places = {name: bases(arguments.take(name), name) for name in names if name in arguments.named}
    return LinearBases(tuple(places.items()))


READERS: Mapping[str, Callable[[Arguments], LayoutForm]] = {
    "swizzle": _swizzle,
    "row_major": _row_major,
    "cute": _cute,
    "datapath": _datapath,
    "scales": _scales,
    Family.MMA: _mma,
    "blocked": _blocked,
    "slice": _slice,
    "linear": _linear,
}
"""Name -> what reads its arguments."""


def _times(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a single element"
