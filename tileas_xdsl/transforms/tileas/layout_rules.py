"""
Which layouts the operands and the result of an op on tiles must have, so that each thread computes with what it holds.

| op | rule |
|---|---|
| element-wise, casts included | all tiles have one layout |
| reduction along an axis | each warp holds whole rows, and the result is a slice of the operand's layout |
| scan along an axis | each warp holds whole rows, and the result has the layout of the operand |
| a dimension of extent 1 is added | the operand is a slice of the result's layout |
| broadcast | the result has the layout of the operand, which wraps around where the extent is 1 |
| permutation, other extents | each thread holds what it held, under other coordinates |
| load with a mask | the mask, the tile in place of what is masked, and the result have one layout |

Other ops have no rule here: what they do between threads is their own business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.tiles import rearranged
from tileas_xdsl.dialects.nv_tileaa import compute as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa import structure as nv_tileaa_structure
from tileas_xdsl.dialects.nv_tileaa.atomics import GatherLoadOp
from tileas_xdsl.dialects.nv_tileaa.elementwise import ElementwiseOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas import compute as nv_tileas
from tileas_xdsl.dialects.nv_tileas import structure as nv_tileas_structure
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, form_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.layouts.distributed import LANE, REGISTER, WARP, sliced
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Blocked, LayoutForm, LinearBases, Mma, Slice
from tileas_xdsl.layouts.linear import Basis

REDUCTIONS = (nv_tileaa.ReduceOp, nv_tileas.ReduceOp)
SCANS = (nv_tileaa.ScanOp, nv_tileas.ScanOp)
EXPANSIONS = (nv_tileaa_structure.ExpandDimsOp, nv_tileas_structure.ExpandDimsOp)

REARRANGING = (PermuteOp, ViewOp)
"""Ops that give the elements of a tile other coordinates."""


def tiles_of(op: Operation) -> list[SSAValue]:
    """The operands that are tiles in registers with a layout to the bit."""
    return [value for value in op.operands if in_registers(value) is not None]


def in_registers(value: SSAValue) -> LayoutForm | None:
    """The layout of a tile in registers, None for any other value."""
    form = form_of(value.type)
    return form if form is not None and form.in_registers else None


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The extents of a tile."""
    return cast(TensorType[Attribute], value.type).get_shape()


def has_rule(op: Operation) -> bool:
    """Whether `operand_form` and `result_form` know the op, and all its tiles have layouts."""
    if len(op.results) != 1 or in_registers(op.results[0]) is None or not tiles_of(op):
        return False
    if isinstance(op, (*REDUCTIONS, *SCANS, *REARRANGING, nv_tileaa_structure.BroadcastOp)):
        return True
    if isinstance(op, EXPANSIONS):
        return new_axis(op) is not None
    return is_elementwise(op)


def is_elementwise(op: Operation) -> bool:
    """Whether each element of the result depends on the elements at its place alone."""
    known = isinstance(op, ElementwiseOp | TiledLoadOp | GatherLoadOp) or op.dialect_name() in (
        arith.Arith.name,
        math.Math.name,
    )
    if not known or op.regions or len(op.results) != 1 or not isinstance(op.results[0].type, TensorType):
        return False
    shapes = {shape_of(value) for value in op.operands if isinstance(value.type, TensorType)}
    return shapes == {shape_of(op.results[0])}


def new_axis(op: Operation) -> int | None:
    """The dimension that an expansion adds; None where several could be meant."""
    source, result = shape_of(op.operands[0]), shape_of(op.results[0])
    axes = [a for a, extent in enumerate(result) if extent == 1 and (*result[:a], *result[a + 1 :]) == source]
    return axes[0] if len(axes) == 1 else None


def result_form(op: Operation, form: LayoutForm) -> LayoutForm | None:
    """The layout of the result where the tiles that go in have `form`; None where the rule allows none."""
    if isinstance(op, REDUCTIONS):
        return _left_of_rows(op, form) if in_whole_rows(op, form) == form else None
    if isinstance(op, SCANS):
        return form if in_whole_rows(op, form) == form else None
    if isinstance(op, EXPANSIONS):
        return form.parent if isinstance(form, Slice) and form.axis == new_axis(op) else None
    if isinstance(op, nv_tileaa_structure.BroadcastOp):
        return form if isinstance(form, Blocked | Mma) else None
    if isinstance(op, REARRANGING):
        return _rearranged_form(op, form)
    return form


def _rearranged_form(
    op: nv_tileaa_structure.PermuteOp | nv_tileaa_structure.ViewOp, form: LayoutForm
) -> LayoutForm | None:
    bits = element_bits(op.operands[0].type)
    if bits is None:
        return None
    try:
        return LinearBases.of(rearranged(op, form.linear(shape_of(op.operands[0]), bits)))
    except LayoutError:
        return None


def _left_of_rows(op: Operation, form: LayoutForm) -> LayoutForm | None:
    """What a reduction leaves of a layout; of one that is said by its bases it is said so, too."""
    assert isinstance(op, REDUCTIONS)
    axis, bits = op.axis.value.data, element_bits(op.operands[0].type)
    if not isinstance(form, LinearBases) or bits is None:
        return Slice(axis, form)
    try:
        return LinearBases.of(sliced(form.linear(shape_of(op.operands[0]), bits), axis))
    except LayoutError:
        return None


def in_whole_rows(op: Operation, form: LayoutForm) -> LayoutForm:
    """
    The layout, where each warp holds whole rows along the axis of a reduction or a scan. Else one in which a warp holds
    elements of other rows, that one of its threads held, in exchange for those of its rows that another warp held;
    where there are none to exchange, all warps hold the same.
    """
    assert isinstance(op, (*REDUCTIONS, *SCANS))
    tile, axis, bits = op.operands[0], op.axis.value.data, element_bits(op.operands[0].type)
    try:
        layout = form.linear(shape_of(tile), bits or 0)
    except LayoutError:
        return form
    places = {place: list(layout.bases(place)) for place in layout.input_names}
    crossing = [bit for bit, basis in enumerate(places.get(WARP, [])) if basis[axis]]
    for bit in crossing:
        own = next(_off_axis(places, axis), None)
        if own is None:
            places.setdefault(REGISTER, []).append(places[WARP][bit])
            places[WARP][bit] = (0,) * len(layout.shape)
        else:
            place, number = own
            places[place][number], places[WARP][bit] = places[WARP][bit], places[place][number]
    if not crossing:
        return form
    return LinearBases(tuple((place, tuple(bases)) for place, bases in places.items() if bases))


def _off_axis(places: Mapping[str, Sequence[Basis]], axis: int) -> Iterator[tuple[str, int]]:
    """The registers, then the lanes, whose bits lead to other rows alone: from the last bit on."""
    for place in (REGISTER, LANE):
        for number in reversed(range(len(places.get(place, ())))):
            basis = places[place][number]
            if any(basis) and not basis[axis]:
                yield place, number


def is_fragment(form: LayoutForm | None) -> bool:
    """Whether a layout is a fragment of the tensor core, or a slice of one."""
    return is_fragment(form.parent) if isinstance(form, Slice) else isinstance(form, Mma)


def pull(form: LayoutForm) -> int:
    """
    How strongly a layout draws ops to itself: fragments most, for products have no choice; then slices, in which
    reductions leave what all threads of a row know; others not at all.
    """
    return 2 if is_fragment(form) else int(isinstance(form, Slice))


# Conversions ----------------------------------------------------------------------------------------------------------


def with_form(type_: Attribute, form: LayoutForm) -> TensorType[Attribute]:
    """A tile type in registers, in another layout."""
    tile = cast(TensorType[Attribute], type_)
    return TensorType(tile.element_type, tile.get_shape(), LayoutAttr.of("rmem", form=form))


def converted(op: Operation, value: SSAValue, form: LayoutForm) -> SSAValue:
    """`value` in layout `form`, converted in front of `op` where it has another one; a constant is made in it."""
    wanted = with_form(value.type, form)
    if wanted == value.type:
        return value
    fresh: Operation = _made_in(op, value, form) if is_made_anywhere(value) else ConvertLayoutOp(value, wanted)
    fresh.location = op.location
    Rewriter.insert_op(fresh, InsertPoint.before(op))
    return fresh.results[0]


MADE_ANYWHERE = (nv_tileaa_structure.SplatOp, nv_tileaa_structure.GenerateOp)
"""Ops that make a tile of numbers, or of the coordinates of its elements."""


def is_made_anywhere(value: SSAValue) -> bool:
    """
    Whether a tile is made of numbers alone, element by element, so that each thread may make whichever it is to hold.
    """
    op = value.owner
    if isinstance(op, MADE_ANYWHERE) or splat(value) is not None:
        return True
    if not isinstance(op, Operation) or isinstance(op, TiledLoadOp | GatherLoadOp) or not is_elementwise(op):
        return False
    return all(is_made_anywhere(operand) for operand in op.operands if isinstance(operand.type, TensorType))


def _made_in(op: Operation, value: SSAValue, form: LayoutForm) -> Operation:
    """The op that makes such a tile in another layout, not inserted yet; those that it needs stand in front of `op`."""
    wanted, constant = with_form(value.type, form), splat(value)
    if constant is not None:
        return arith.ConstantOp(relaid(constant, wanted))
    assert isinstance(value.owner, Operation)
    copy = value.owner.clone()
    for number, operand in enumerate(copy.operands):
        if in_registers(operand) is not None:
            copy.operands[number] = converted(op, operand, form)
    Rewriter.replace_value_with_new_type(copy.results[0], wanted)
    return copy


def splat(value: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """What `value` is where it is a constant tile with one value in all places, so that it may have any layout."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, DenseIntOrFPElementsAttr):
        return None
    return owner.value if owner.value.is_splat() else None


def relaid(constant: DenseIntOrFPElementsAttr, type_: Attribute) -> DenseIntOrFPElementsAttr:
    """A constant tile with another layout in its type."""
    return constant.new([type_, constant.data])


def convert_behind(op: Operation, value: SSAValue, wanted: Attribute) -> None:
    """Behind `op`, convert `value` into the type `wanted`, for all uses that it has."""
    if not list(value.uses) or value.type == wanted:
        return
    back = ConvertLayoutOp(value, wanted)
    back.location = op.location
    Rewriter.insert_op(back, InsertPoint.after(op))
    value.replace_uses_with_if(back.result, lambda use: use.operation is not back)


def misfit(op: Operation, form: LayoutForm) -> str | None:
    """Why a tile of `op` cannot have the layout that it would have if the op worked in `form`; None where all can."""
    result = result_form(op, form)
    wanted = [(value, form) for value in tiles_of(op)] + ([] if result is None else [(op.results[0], result)])
    for value, its in wanted:
        try:
            linear_layout(with_form(value.type, its))
        except LayoutError as error:
            return str(error)
    return None


def compute_in(op: Operation, form: LayoutForm) -> bool:
    """
    Let `op` work on tiles in `form`, with conversions of its operands and of its result. Whether the rule allows it,
    and the layouts fit the tiles; otherwise nothing is changed.
    """
    result = result_form(op, form)
    if result is None or misfit(op, form) is not None:
        return False
    for index, value in enumerate(op.operands):
        if in_registers(value) is not None:
            op.operands[index] = converted(op, value, form)
    before = op.results[0].type
    convert_behind(op, Rewriter.replace_value_with_new_type(op.results[0], with_form(before, result)), before)
    return True


def forms(values: Sequence[SSAValue]) -> list[LayoutForm]:
    """The layouts of tiles in registers."""
    return [form for value in values if (form := in_registers(value)) is not None]
