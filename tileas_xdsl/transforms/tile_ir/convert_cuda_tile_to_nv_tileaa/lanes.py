"""
Accesses by tiles of pointers, seen as accesses at coordinates of an array.

    %in = cmpi less_than %i, %m, unsigned              lane (r, c) touches X[i, j], and nothing where that is outside
    %jn = cmpi less_than %j, %n, unsigned
    %o = addi (muli %i, %stride), %j            ->     where %j = 64 * %k + iota along one axis of the tile,
    %p = offset %X, %o                                 and %i is a number, that is the tile [i, k] of 1x64
    load_ptr_tko %p, (andi %in, %jn)

That holds only where the mask says of each coordinate that it is inside: else a pointer may lead to the next row. An
index that is computed in 32 bits is taken not to wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from tileas_xdsl.analysis.tile_ir.tile_numbers import known
from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr
from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.elements import number_of
from tileas_xdsl.dialects.cuda_tile.ops import OPS
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import TileType
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa.arrays import (
    ArrayArgument,
    array_of,
    declared_arrays,
)

SPREADING = (OPS["reshape"], OPS["broadcast"], OPS["assume"])
POINTERS = {"load_ptr_tko": "source", "store_ptr_tko": "destination"}
"""Op -> the operand with the pointers, where it is not `pointers`."""
BY_POINTERS = tuple(OPS[name] for name in (*POINTERS, "atomic_rmw_tko", "atomic_cas_tko"))


@dataclass(frozen=True)
class Lanes:
    """Where the lanes of an access lie."""

    array: ArrayArgument
    coordinates: tuple[SSAValue | None, ...]
    """For each axis of the array a tile of the shape of the access, or a number; None: 0."""
    conditions: tuple[SSAValue, ...]
    """What the mask says besides that the coordinates are inside."""


def lanes_of(access: TileIROp, array: ArrayArgument) -> Lanes | None:
    """The lanes of an access by pointers into `array`; None where they are no coordinates that the mask checks."""
    pointers = access.operand(POINTERS.get(access.ROW.name, "pointers"))
    offset = _offset_behind(pointers, array)
    if offset is None:
        return None
    found: dict[int, SSAValue] = {}
    for term in _terms(offset):
        axis, index = _scaled(term, array, found)
        if axis is None or axis in found:
            return None
        found[axis] = index
    conditions = list(_conditions(access.optional("mask")))
    for axis, index in found.items():
        checks = [each for each in conditions if _is_inside(each, index, array.extents[axis])]
        if not checks:
            return None
        conditions = [each for each in conditions if each not in checks]
    axes = range(len(array.extents))
    return Lanes(array, tuple(found.get(axis) for axis in axes), tuple(conditions))


def base_of(pointers: SSAValue) -> SSAValue:
    """The pointer that all of a tile of pointers come from."""
    while isinstance(pointers.owner, (*SPREADING, OPS["offset"])):
        pointers = pointers.owner.operands[0]
    return pointers


def _offset_behind(pointers: SSAValue, array: ArrayArgument) -> SSAValue | None:
    while isinstance(pointers.owner, SPREADING):
        pointers = pointers.owner.operands[0]
    moved = pointers.owner
    if not isinstance(moved, OPS["offset"]) or _uniform(moved.operands[0]) is not array.pointer:
        return None
    return moved.operands[1]


def _terms(offset: SSAValue) -> Iterator[SSAValue]:
    if isinstance(offset.owner, OPS["addi"]):
        for operand in offset.owner.operands:
            yield from _terms(operand)
    else:
        yield offset


def _scaled(term: SSAValue, array: ArrayArgument, found: Mapping[int, SSAValue]) -> tuple[int | None, SSAValue]:
    """The axis whose stride a term of an offset is a multiple of, and the multiple."""
    if isinstance(term.owner, OPS["muli"]):
        one, other = term.owner.operands
        for index, factor in ((one, other), (other, one)):
            stride = _uniform(factor)
            for axis, own in enumerate(array.strides):
                if axis not in found and (own is stride or (isinstance(own, int) and own == stride)):
                    return axis, index
    dense = [axis for axis, stride in enumerate(array.strides) if stride == 1 and axis not in found]
    return (dense[-1] if dense else None), term


def _uniform(value: SSAValue) -> SSAValue | int:
    """The number that all elements of a tile are copies of, as a constant where it is one; else the tile."""
    while isinstance(value.owner, (*SPREADING, OPS["exti"])):
        value = value.owner.operands[0]
    number = constant_in(value)
    return value if number is None else number


def constant_in(value: SSAValue) -> int | None:
    """The number that all elements of a constant tile of integers are; None for anything else."""
    owner = known(value).owner
    given = owner.properties["value"] if isinstance(owner, OPS["constant"]) else None
    if not isinstance(given, ConstantAttr) or not given.is_uniform:
        return None
    number = number_of(given.type.element_type, given.elements()[0])
    return number if isinstance(number, int) else None


def _conditions(mask: SSAValue | None) -> Iterator[SSAValue]:
    if mask is None:
        return
    if isinstance(mask.owner, OPS["andi"]):
        for operand in mask.owner.operands:
            yield from _conditions(operand)
    else:
        yield mask


def _is_inside(condition: SSAValue, index: SSAValue, extent: SSAValue | int) -> bool:
    """Whether a condition says that a coordinate is not negative, and below an extent."""
    check = condition.owner
    if not isinstance(check, OPS["cmpi"]):
        return False
    left, right = check.operands
    is_below = check.word("comparison_predicate") == "less_than" and check.word("signedness") == "unsigned"
    bound = _uniform(right)
    return is_below and _narrow(left) is _narrow(index) and (bound is extent or bound == extent)


def _narrow(index: SSAValue) -> SSAValue:
    """An index as it was before it was extended."""
    while isinstance(index.owner, OPS["exti"]) and index.owner.word("signedness") == "signed":
        index = index.owner.operands[0]
    return index


# Arguments that are arrays --------------------------------------------------------------------------------------------


def arrays_of(entry: EntryOp) -> Mapping[SSAValue, ArrayArgument]:
    """Pointer -> the array that it is, for each argument that is used as one array and as nothing else."""
    declared = declared_arrays(entry)
    found = {argument: _array_at(argument, declared.get(argument)) for argument in entry.body.block.args}
    return {argument: array for argument, array in found.items() if array is not None}


def _array_at(argument: BlockArgument, declared: ArrayArgument | None) -> ArrayArgument | None:
    users = list(users_of(argument))
    views = {array_of(user) for user in users if isinstance(user, OPS["make_tensor_view"])} or {declared}
    array = views.pop()
    if views or array is None or array.pointer is not argument:
        return None
    sizes = [size for size in (*array.extents, *array.strides) if isinstance(size, SSAValue)]
    is_given = all(isinstance(size, BlockArgument) and size.block is argument.block for size in sizes)
    if not is_given or len(set(sizes)) != len(sizes):
        return None
    return array if all(_is_of(user, array) for user in users) else None


def _is_of(user: Operation, array: ArrayArgument) -> bool:
    """Whether what uses a pointer uses it as a pointer into an array."""
    if isinstance(user, OPS["make_tensor_view"]):
        return known(user.operand("base")) is array.pointer
    return isinstance(user, BY_POINTERS) and lanes_of(user, array) is not None


def users_of(value: SSAValue) -> Iterator[Operation]:
    """What uses a value, or what facts of it, copies and moved pointers are used by."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, SPREADING) or (isinstance(op, OPS["offset"]) and use.index == 0):
            yield from users_of(op.results[0])
        else:
            yield op


# Coordinates that count along an axis of the tile ---------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """A tile of `starts`, added up, plus the place along an axis of the tile; None: the same everywhere."""

    starts: tuple[SSAValue | int, ...]
    axis: int | None


def counted(value: SSAValue) -> Counted | None:
    """How a tile of integers counts along one of its axes; None where it does not, or does more."""
    value = known(value)
    kind, op = value.type, value.owner
    assert isinstance(kind, TileType)
    number = constant_in(value)
    if number is not None:
        return Counted((number,), None)
    if not kind.get_shape():
        return Counted((_narrow(value),), None)
    if not isinstance(op, Operation):
        return None
    if isinstance(op, OPS["iota"]):
        return Counted((), 0)
    if isinstance(op, OPS["exti"]) and op.word("signedness") == "signed":
        return counted(op.operands[0])
    if isinstance(op, OPS["addi"]):
        return _sum(*map(counted, op.operands))
    if isinstance(op, OPS["broadcast"]):
        return counted(op.operands[0])
    if isinstance(op, OPS["reshape"]):
        return _reshaped(counted(op.operands[0]), op.operands[0], value)
    return None


def _sum(one: Counted | None, other: Counted | None) -> Counted | None:
    if one is None or other is None or None not in (one.axis, other.axis):
        return None
    return Counted((*one.starts, *other.starts), one.axis if other.axis is None else other.axis)


def _reshaped(before: Counted | None, source: SSAValue, result: SSAValue) -> Counted | None:
    """Axes of extent 1 come and go; others stay in their order."""
    if before is None or before.axis is None:
        return before
    old, new = (cast(TileType, value.type).get_shape() for value in (source, result))
    olds = [axis for axis, extent in enumerate(old) if extent != 1]
    news = [axis for axis, extent in enumerate(new) if extent != 1]
    if [old[axis] for axis in olds] != [new[axis] for axis in news]:
        return None
    return Counted(before.starts, news[olds.index(before.axis)] if before.axis in olds else None)


@dataclass(frozen=True)
class Part:
    """A multiple of a number, which an index is a sum of."""

    value: SSAValue | None
    """None: 1."""
    factor: int


def tile_numbers(starts: Sequence[SSAValue | int], extent: int) -> list[Part] | None:
    """The number of the tile that begins at the sum of `starts`; None where that may begin inside a tile."""
    found: list[Part] = []
    for start in starts:
        part = Part(None, start) if isinstance(start, int) else _multiple(start)
        if part.factor % extent:
            return None
        found.append(Part(part.value, part.factor // extent))
    return found


def _multiple(value: SSAValue) -> Part:
    op = value.owner
    if isinstance(op, OPS["muli"]):
        for one, other in (op.operands, reversed(op.operands)):
            number = constant_in(other)
            if number is not None:
                return Part(one, number)
    return Part(value, 1)
