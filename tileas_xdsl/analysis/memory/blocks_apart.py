"""
Which blocks of a grid reach one place, by the numbers of the tiles that they touch.

    %i = get_program_id 0          tiled_store %d[%i, %j]      blocks (p, q) and (p', q') store other tiles: apart
    %j = get_program_id 1          tiled_store %m[%i]          blocks (p, 0) and (p, 1) store one tile: a clash

A number of a tile is followed as a sum of multiples of ids of programs and of loop variables. Two accesses are apart if
some coordinate tells each id: `4 * %i + %r` with %r from 0 to 3 tells %i, and so does a variable that goes from an id
by the number of programs. They clash if two small blocks, in early turns of loops, have equal numbers. Whatever is
neither is left open: coordinates that are loaded or divided, tiles of two sizes, accesses under a condition, and any
clash of a function whose atomic updates may order blocks: those that acquire or release, or whose old values are used.

An id that the function does not ask for is taken to be that of one block. Updates that are atomic do not clash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.dialects.extensions.arith import IndexCastUIOp
from tileas_xdsl.dialects.nv_tileaa.atomics import (
    AtomicCasOp,
    AtomicRmwOp,
    GatherLoadOp,
    ScatterStoreOp,
    TiledAtomicRmwOp,
)
from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import AccessOp, LoadOp, StoreOp, TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.tiles.policies import MemSemantic
from tileas_xdsl.dialects.tiles.types import extents

TILED = (TiledLoadOp, TiledStoreOp, TiledAtomicRmwOp)
BY_ELEMENT = (LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp)
SCATTERED = (GatherLoadOp, ScatterStoreOp)
ACCESSES = (*TILED, *BY_ELEMENT, *SCATTERED)
ATOMIC = (TiledAtomicRmwOp, AtomicRmwOp, AtomicCasOp)
READS = (TiledLoadOp, LoadOp, GatherLoadOp)
CASTS = (arith.IndexCastOp, IndexCastUIOp, arith.ExtSIOp, arith.ExtUIOp)
OF_TILES = ("arith", "func", "math", "memref", "nv_tileaa", "scf")
"""The dialects of programs of tiles, in which memory is reached by these alone."""
BLOCKS, TURNS = 2, 2
"""How many blocks along an axis, and turns of an open loop, are tried for a clash."""

Atom = int | SSAValue
"""An axis of the grid, or a loop variable."""


@dataclass(frozen=True)
class Form:
    """A sum of multiples of atoms, and a number."""

    factors: tuple[tuple[Atom, int], ...]
    number: int = 0

    def at(self, atoms: Mapping[Atom, int]) -> int:
        """The number for these atoms."""
        return self.number + sum(factor * atoms[atom] for atom, factor in self.factors)


@dataclass(frozen=True)
class Touch:
    """An access to an array: which tiles, by their numbers."""

    op: Operation
    array: BlockArgument[Attribute]
    numbers: tuple[Form | None, ...]
    """Along each axis of the array; None where it is not known."""
    extents: tuple[int, ...]
    is_certain: bool
    """Whether the access is made whatever the data are."""

    @property
    def writes(self) -> bool:
        """Whether it writes, as an atomic update does."""
        return not isinstance(self.op, READS)

    @property
    def is_atomic(self) -> bool:
        """Whether it is an update of each element in one step."""
        return isinstance(self.op, ATOMIC)


@dataclass(frozen=True)
class Clash:
    """Two accesses by which two blocks reach one tile, and one of them writes."""

    first: Touch
    second: Touch
    blocks: tuple[tuple[int, ...], tuple[int, ...]]
    numbers: tuple[int, ...]
    """Of the tile, along each axis of the array."""


@dataclass(frozen=True)
class BlocksOfGrid:
    """What is known of the blocks of a grid."""

    are_apart: bool
    """Whether no two blocks reach one place that one of them writes, for every grid."""
    clashes: tuple[Clash, ...]


def blocks_of_grid(function: Operation) -> BlocksOfGrid:
    """What the blocks of a kernel of tiles reach."""
    asked = sorted({op.axis.value.data for op in function.walk() if isinstance(op, GetProgramIdOp)})
    touches = list(_touches(function))
    if not asked:
        return BlocksOfGrid(are_apart=True, clashes=())
    if any(touch is None for touch in touches) or not all(op.dialect_name() in OF_TILES for op in function.walk()):
        return BlocksOfGrid(are_apart=False, clashes=())
    known = [touch for touch in touches if touch is not None]
    clashes: list[Clash] = []
    are_apart, may_be_ordered = True, any(_may_order(touch) for touch in known)
    for place, first in enumerate(known):
        for second in known[place:]:
            if first.array is not second.array or not (first.writes or second.writes):
                continue
            if first.is_atomic and second.is_atomic:
                continue
            if all(_tells(first, second, axis) for axis in asked):
                continue
            are_apart = False
            clash = None if may_be_ordered else _clash(first, second, asked)
            if clash is not None:
                clashes.append(clash)
    return BlocksOfGrid(are_apart, tuple(clashes))


def _may_order(touch: Touch) -> bool:
    """Whether an access may let blocks wait for each other: as a lock, or a ticket, does."""
    access = cast("AccessOp", touch.op)
    is_used = touch.is_atomic and access.results[0].first_use is not None
    semantic = access.mem_semantic
    return is_used or (semantic is not None and semantic.data not in (MemSemantic.WEAK, MemSemantic.RELAXED))


# Accesses -------------------------------------------------------------------------------------------------------------


def _touches(function: Operation) -> Iterator[Touch | None]:
    """The accesses of a function; None for one of memory that is no argument."""
    for op in function.walk():
        if not isinstance(op, ACCESSES):
            continue
        base = cast(Any, op).base
        if isinstance(base, BlockArgument) and base.block.parent_op() is function:
            yield Touch(op, cast("BlockArgument[Attribute]", base), *_where(op), _is_certain(op, function))
        else:
            yield None


def _where(op: Operation) -> tuple[tuple[Form | None, ...], tuple[int, ...]]:
    """The numbers of the tile along each axis of the array, and its extents."""
    given = cast(Any, op)
    indices: Sequence[SSAValue] = given.indices
    kind = (given.value if not isinstance(op, AtomicCasOp) else given.compare).type
    if isinstance(op, SCATTERED) or any(isinstance(index.type, TensorType) for index in indices):
        return (None,) * len(indices), (1,) * len(indices)
    shape = extents(kind)
    if isinstance(op, BY_ELEMENT) and shape:
        return (None,) * len(indices), shape
    return tuple(form_of(index) for index in indices), (*[1] * (len(indices) - len(shape)), *shape)


def _is_certain(op: Operation, function: Operation) -> bool:
    around = op.parent_op()
    while around is not None and around is not function:
        if not isinstance(around, scf.ForOp):
            return False
        around = around.parent_op()
    return getattr(op, "mask", None) is None


# Numbers --------------------------------------------------------------------------------------------------------------


def form_of(value: SSAValue) -> Form | None:
    """The sum that a number is; None where it is anything else."""
    op = value.owner
    if isinstance(value, BlockArgument):
        return _of_loop(value)
    match op:
        case arith.ConstantOp():
            number = op.value
            return Form((), number.value.data) if isinstance(number, IntegerAttr) else None
        case GetProgramIdOp():
            return Form(((op.axis.value.data, 1),))
        case arith.AddiOp() | arith.SubiOp():
            return _sum(form_of(op.lhs), form_of(op.rhs), 1 if isinstance(op, arith.AddiOp) else -1)
        case arith.MuliOp():
            one, other = form_of(op.lhs), form_of(op.rhs)
            if one is None or other is None or (one.factors and other.factors):
                return None
            form, factor = (one, other.number) if one.factors else (other, one.number)
            return Form(tuple((atom, own * factor) for atom, own in form.factors), form.number * factor)
        case _ if isinstance(op, CASTS):
            return form_of(op.operands[0])
        case _:
            return None


def _sum(one: Form | None, other: Form | None, sign: int) -> Form | None:
    if one is None or other is None:
        return None
    factors = dict(one.factors)
    for atom, factor in other.factors:
        factors[atom] = factors.get(atom, 0) + sign * factor
    kept = tuple((atom, factor) for atom, factor in factors.items() if factor)
    return Form(kept, one.number + sign * other.number)


def _of_loop(value: BlockArgument) -> Form | None:
    """A loop variable; one that goes from the id of a program by their number stands for that id."""
    loop = value.block.parent_op()
    if not isinstance(loop, scf.ForOp) or value.index != 0:
        return None
    lower, step = form_of(loop.lb), loop.step
    while isinstance(step.owner, CASTS):
        step = step.owner.operands[0]
    if isinstance(step.owner, GetNumProgramsOp) and lower == Form(((step.owner.axis.value.data, 1),)):
        return lower
    return Form(((value, 1),)) if _turns(value) is not None else None


def _turns(value: SSAValue) -> range | None:
    """The numbers that a loop variable takes, the first few where its end is open; None where it begins anywhere."""
    assert isinstance(value, BlockArgument)
    loop = value.block.parent_op()
    assert isinstance(loop, scf.ForOp)
    lower, upper, step = form_of(loop.lb), form_of(loop.ub), form_of(loop.step)
    if lower is None or step is None or lower.factors or step.factors or step.number < 1:
        return None
    if upper is None or upper.factors:
        return range(lower.number, lower.number + TURNS * step.number, step.number)
    return range(lower.number, upper.number, step.number)


def _has_end(value: SSAValue) -> bool:
    assert isinstance(value, BlockArgument)
    loop = value.block.parent_op()
    assert isinstance(loop, scf.ForOp)
    upper = form_of(loop.ub)
    return upper is not None and not upper.factors


# Two accesses ---------------------------------------------------------------------------------------------------------


def _tells(first: Touch, second: Touch, axis: int) -> bool:
    """Whether equal numbers of tiles mean equal ids along an axis."""
    if first.extents != second.extents:
        return False
    return any(_tells_by(one, other, axis) for one, other in zip(first.numbers, second.numbers, strict=True))


def _tells_by(one: Form | None, other: Form | None, axis: int) -> bool:
    if one is None or other is None:
        return False
    factors = {dict(form.factors).get(axis, 0) for form in (one, other)}
    if len(factors) != 1 or 0 in factors:
        return False
    spans = [_span(form, axis) for form in (one, other)]
    if None in spans:
        return False
    known = [span for span in spans if span is not None]
    return max(high for _, high in known) - min(low for low, _ in known) < abs(factors.pop())


def _span(form: Form, axis: int) -> tuple[int, int] | None:
    """Between which numbers a form lies but for the id along an axis; None where it may lie anywhere."""
    low = high = form.number
    for atom, factor in form.factors:
        if atom == axis:
            continue
        if isinstance(atom, int) or not _has_end(atom):
            return None
        turns = _turns(atom)
        if not turns:
            return None
        ends = factor * turns[0], factor * turns[-1]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _clash(first: Touch, second: Touch, asked: Sequence[int]) -> Clash | None:
    """Two blocks that reach one tile; None where that is not certain."""
    if first.extents != second.extents or not (first.is_certain and second.is_certain):
        return None
    if None in first.numbers or None in second.numbers:
        return None
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for block, tile in _reached(first, asked):
        seen.setdefault(tile, block)
    for block, tile in _reached(second, asked):
        other = seen.get(tile)
        if other is not None and other != block:
            return Clash(first, second, (_whole(other, asked), _whole(block, asked)), tile)
    return None


def _whole(block: tuple[int, ...], asked: Sequence[int]) -> tuple[int, ...]:
    found = dict(zip(asked, block, strict=True))
    return tuple(found.get(axis, 0) for axis in range(3))


def _reached(touch: Touch, asked: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each of the first blocks, and the tiles that it reaches in early turns."""
    forms = [form for form in touch.numbers if form is not None]
    loops = sorted(
        {atom for form in forms for atom, _ in form.factors if isinstance(atom, SSAValue)}, key=lambda each: id(each)
    )
    turns = [list(_turns(loop) or ())[: 2 * TURNS] for loop in loops]
    for block in product(range(BLOCKS), repeat=len(asked)):
        for numbers in product(*turns):
            atoms: dict[Atom, int] = {**dict(zip(asked, block, strict=True)), **dict(zip(loops, numbers, strict=True))}
            yield block, tuple(form.at(atoms) for form in forms)
