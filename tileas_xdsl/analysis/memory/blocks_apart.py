"""
Which blocks of a grid reach one place, by the numbers of the tiles that they touch.

    %i = get_program_id 0          tiled_store %d[%i, %j]      blocks (p, q) and (p', q') store other tiles: apart
    %j = get_program_id 1          tiled_store %m[%i]          blocks (p, 0) and (p, 1) store one tile: a clash

A number of a tile is followed as a sum of multiples of ids of programs and of loop variables. Two accesses are apart if
some coordinate tells each id: `4 * %i + %r` with %r from 0 to 3 tells %i, and so does a variable that goes from an id
by the number of programs. They clash if tiles of two small blocks, in early turns of loops, share elements. Whatever is
neither is left open: coordinates that are loaded or divided, accesses under a condition, and clashes that atomic
updates may order (`block_order`). One condition is known to hold in some block: that a ticket, the old value of an
update that each block makes, is a certain one.

An id that the function does not ask for is taken to be that of one block. Updates that are atomic do not clash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tileas_xdsl.analysis.memory.block_order import ATOMIC, BlockOrder
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
from tileas_xdsl.dialects.tiles.types import extents

TILED = (TiledLoadOp, TiledStoreOp, TiledAtomicRmwOp)
BY_ELEMENT = (LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp)
SCATTERED = (GatherLoadOp, ScatterStoreOp)
ACCESSES = (*TILED, *BY_ELEMENT, *SCATTERED)
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


class Made(Enum):
    """Which blocks are known to make an access, whatever the data are."""

    BY_EACH = 1
    BY_ONE = 2
    """By one of them, and any of them may be that."""
    UNKNOWN = 3


@dataclass(frozen=True)
class Touch:
    """An access to an array: which tiles, by their numbers."""

    op: AccessOp
    array: BlockArgument[Attribute]
    numbers: tuple[Form | None, ...]
    """Along each axis of the array; None where it is not known."""
    extents: tuple[int, ...]
    made: Made

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
    """Of the tile of the access that writes, along each axis of the array."""
    idle: tuple[AccessOp, ...] = ()
    """Atomic updates of the function that order nothing among blocks."""


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
    meeting = [
        (first, second)
        for place, first in enumerate(known)
        for second in known[place:]
        if _may_meet(first, second) and not all(_tells(first, second, axis) for axis in asked)
    ]
    order = BlockOrder(function, [touch.op for touch in known])
    unordered = [pair for pair in meeting if not order.may_order(pair[0].op, pair[1].op)]
    clashes = [_clash(first, second, asked, order.idle_updates()) for first, second in unordered]
    return BlocksOfGrid(not meeting, tuple(clash for clash in clashes if clash is not None))


def _may_meet(first: Touch, second: Touch) -> bool:
    """Whether two accesses are of one array, one of them writes, and not both are atomic."""
    is_write = first.writes or second.writes
    return first.array is second.array and is_write and not (first.is_atomic and second.is_atomic)


# Accesses -------------------------------------------------------------------------------------------------------------


def _touches(function: Operation) -> Iterator[Touch | None]:
    """The accesses of a function; None for one of memory that is no argument."""
    for op in function.walk():
        if not isinstance(op, ACCESSES):
            continue
        base = cast(Any, op).base
        if isinstance(base, BlockArgument) and base.block.parent_op() is function:
            yield Touch(op, cast("BlockArgument[Attribute]", base), *_where(op), _made(op, function))
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


def _made(op: Operation, function: Operation) -> Made:
    mask: SSAValue | None = getattr(op, "mask", None)
    found = Made.BY_EACH if mask is None or _is_check(mask) else Made.UNKNOWN
    inner, around = op, op.parent_op()
    while around is not None and around is not function:
        if isinstance(around, scf.IfOp) and found is Made.BY_EACH and _is_entered_by_one(around, inner, function):
            found = Made.BY_ONE
        elif not isinstance(around, scf.ForOp):
            return Made.UNKNOWN
        inner, around = around, around.parent_op()
    return found


def _is_check(mask: SSAValue) -> bool:
    """Whether a mask compares arguments, as `0 < size` does, which is alike for all blocks."""
    test = mask.owner
    if not isinstance(test, arith.CmpiOp) or isinstance(mask.type, TensorType):
        return False
    return _is_of_launch(mask, ids=False) and any(isinstance(each, BlockArgument) for each in _behind(test))


def _behind(op: Operation) -> Iterator[SSAValue]:
    for operand in op.operands:
        yield operand
        if isinstance(operand.owner, Operation):
            yield from _behind(operand.owner)


def _is_entered_by_one(branch: scf.IfOp, inner: Operation, function: Operation) -> bool:
    """Whether some block takes the branch that holds `inner`: the one whose ticket has a certain number."""
    test = branch.cond.owner
    if not isinstance(test, arith.CmpiOp):
        return False
    word = arith.CMPI_COMPARISON_OPERATIONS[test.predicate.value.data]
    if word != ("eq" if inner.parent_region() is branch.true_region else "ne"):
        return False
    tickets = [_ticket(value) for value in (test.lhs, test.rhs)]
    if len([ticket for ticket in tickets if ticket is not None]) != 1:
        return False
    known = test.rhs if tickets[0] is not None else test.lhs
    update = next(ticket for ticket in tickets if ticket is not None)
    return _made(update, function) is Made.BY_EACH and _is_of_launch(known)


def _ticket(value: SSAValue) -> AccessOp | None:
    """The update whose old value a number is, up to a number that is added; None for another number."""
    op = value.owner
    while isinstance(op, (*CASTS, arith.AddiOp, arith.SubiOp)):
        rest = op.operands[1:]
        if not all(_is_of_launch(each) for each in rest):
            return None
        op = op.operands[0].owner
    return op if isinstance(op, ATOMIC) and not isinstance(op.results[0].type, TensorType) else None


def _is_of_launch(value: SSAValue, *, ids: bool = True) -> bool:
    """Whether a number is made of constants, and of the grid, its `ids` too, and the arguments of the launch."""
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), FuncOp)
    op = value.owner
    assert isinstance(op, Operation)
    if isinstance(op, GetProgramIdOp):
        return ids
    if isinstance(op, arith.ConstantOp | GetNumProgramsOp):
        return True
    return op.dialect_name() == arith.Arith.name and all(_is_of_launch(each, ids=ids) for each in op.operands)


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


def _clash(first: Touch, second: Touch, asked: Sequence[int], idle: Sequence[AccessOp]) -> Clash | None:
    """Two blocks whose tiles share elements; None where that is not certain."""
    if {first.made, second.made} not in ({Made.BY_EACH}, {Made.BY_EACH, Made.BY_ONE}):
        return None
    if None in first.numbers or None in second.numbers:
        return None
    others = list(_reached(second, asked))
    for block, tile in _reached(first, asked):
        for other, another in others:
            if other != block and _share(tile, first.extents, another, second.extents):
                numbers = tile if first.writes else another
                return Clash(first, second, (_whole(block, asked), _whole(other, asked)), numbers, tuple(idle))
    return None


def _share(one: Sequence[int], extents: Sequence[int], other: Sequence[int], others: Sequence[int]) -> bool:
    """Whether two tiles, by their numbers and extents, share elements."""
    spans = zip(one, extents, other, others, strict=True)
    return all(a * long < (b + 1) * wide and b * wide < (a + 1) * long for a, long, b, wide in spans)


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
