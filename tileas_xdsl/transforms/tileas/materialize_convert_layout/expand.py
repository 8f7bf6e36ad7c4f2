"""
The ops that a planned conversion becomes.

Elements without a form in memory travel to other threads as integers that have one.

    %n = convert_layout %m : R -> S      %b = arith.extui %m : tensor<16x32xi1, R> to tensor<16x32xi8, R>
                                    ->   %c = convert_layout %b : R -> S
                                         %n = arith.trunci %c : tensor<16x32xi8, S> to tensor<16x32xi1, S>

Bits of a mask travel as bytes; numbers of type index as integers of 64 bits.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, StringAttr, TensorType, UnitAttr, i1, i8, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, form_of, layout_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ConvertLayoutOp, CopyOp, ShuffleOp, ViewOp
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.layouts.access import LaneAccess
from tileas_xdsl.layouts.exchange import Exchange
from tileas_xdsl.layouts.forms import memory_form
from tileas_xdsl.layouts.moves import is_memory
from tileas_xdsl.transforms.tileas.materialize_convert_layout.narrow import bytes_of, views_as_bytes
from tileas_xdsl.transforms.tileas.materialize_convert_layout.query import (
    Options,
    PlannedStep,
    moved_bytes,
    staging_layout,
)

CARRIERS: dict[Attribute | None, tuple[IntegerType, type[Operation], type[Operation]]] = {
    i1: (i8, arith.ExtUIOp, arith.TruncIOp),
    IndexType(): (i64, arith.IndexCastOp, arith.IndexCastOp),
}
"""Element -> the integer that carries it, and the ops that make that of it, and it of that."""


def needs_carrier(op: ConvertLayoutOp) -> bool:
    """Whether an op converts such elements between registers."""
    forms = [form_of(value.type) for value in (op.source, op.result)]
    known = element_type_of(op.source.type) in CARRIERS
    return known and all(form is not None and form.in_registers for form in forms)


def carried(op: ConvertLayoutOp) -> ConvertLayoutOp:
    """Convert what carries the elements; the op that does it."""
    carrier, load, unload = CARRIERS[element_type_of(op.source.type)]
    before = load.create(operands=[op.source], result_types=[_with_element(op.source.type, carrier)])
    moved = ConvertLayoutOp(before.results[0], _with_element(op.result.type, carrier))
    behind = unload.create(operands=[moved.result], result_types=[op.result.type])
    for new in (before, moved, behind):
        new.location = op.location
    behind.results[0].name_hint = op.result.name_hint
    Rewriter.replace_op(op, [before, moved, behind], behind.results)
    return moved


def _with_element(type_: Attribute, element: Attribute) -> TensorType[Attribute]:
    tile = cast("TensorType[Attribute]", type_)
    return TensorType(element, tile.get_shape(), tile.encoding)


ROOT = "nv_tileas.root_reg_to_reg_copy_op"
"""What marks the first op of a chain of copies of single elements; the loops of such chains are unrolled."""

VECTOR_BYTES = 16
"""With a cap below this, copies between registers are made element by element."""


def expand(op: ConvertLayoutOp, step: PlannedStep, options: Options) -> None:
    """Replace `op` by what `step` says."""
    before, source = _source(op, step)
    ops: list[Operation] = [*before, *_moving(source, step, options)]
    result = ops[-1].results[0] if ops[-1].results else ops[-2].results[0]
    known = views_as_bytes(op.result, step.target) if step.reinterpreted else []
    if step.reinterpreted and len(known) < len(list(op.result.uses)):
        ops.append(ViewOp(result, [], op.result.type))
    for new in ops:
        new.location = op.location
    Rewriter.insert_op(ops, InsertPoint.before(op))
    result.name_hint = op.result.name_hint
    for view in known:
        view.result.replace_all_uses_with(result)
        Rewriter.erase_op(view)
    op.result.replace_all_uses_with(ops[-1].results[0] if isinstance(ops[-1], ViewOp) else result)
    Rewriter.erase_op(op)
    if isinstance(seen := op.source.owner, ViewOp) and not list(seen.result.uses):
        Rewriter.erase_op(seen)


def _source(op: ConvertLayoutOp, step: PlannedStep) -> tuple[list[ViewOp], SSAValue]:
    """The tile that is moved, and the view that it takes."""
    if not step.reinterpreted:
        return [], op.source
    known = bytes_of(op.source, step.source)
    if known is not None:
        return [], known
    view = ViewOp(op.source, [], step.source)
    return [view], view.result


def _moving(source: SSAValue, step: PlannedStep, options: Options) -> list[Operation]:
    """The ops that bring `source` into its new layout. The result is that of the last one that has any."""
    staged, move = staging_layout(step.move), step.move
    if staged is not None:
        assert not isinstance(move, LaneAccess)
        assert move.staging is not None
        smem = LayoutAttr.of("smem", form=memory_form(staged, move.staging.write.element_bits))
        return _through(source, smem, step, atom_of(move.staging.write, "st"), atom_of(move.staging.read, "ld"))
    if isinstance(move, LaneAccess):
        return _accessed(source, step, move)
    assert move.exchange is not None
    return _exchanged(source, step, move.exchange, options)


def _through(
    source: SSAValue, smem: LayoutAttr, step: PlannedStep, write: CuteAtomAttr, read: CuteAtomAttr
) -> list[Operation]:
    tile = cast(TensorType[Attribute], step.target)
    alloc = AllocTensorOp(TensorType(tile.element_type, tile.get_shape(), smem))
    view = ViewOp(source, [], step.source)
    copy = CopyOp(view.result, alloc.tensor, atom_descriptor=write)
    return [alloc, view, copy, _reader(alloc.tensor, step, 1, read)]


def _accessed(source: SSAValue, step: PlannedStep, access: LaneAccess) -> list[Operation]:
    """A load is the reader itself; a store needs the memory that it writes."""
    layout = linear_layout(step.source)
    if layout is not None and is_memory(layout):
        return [_reader(source, step, 1, atom_of(access, "ld"))]
    alloc = AllocTensorOp(step.target)
    return [alloc, CopyOp(source, alloc.tensor, atom_descriptor=atom_of(access, "st"))]


def _exchanged(source: SSAValue, step: PlannedStep, plan: Exchange, options: Options) -> list[Operation]:
    if plan.is_relabelling:
        atom = CuteAtomAttr(StringAttr("mov"))
        return [_reader(source, step, 0, atom)]
    if plan.moves_registers_only:
        width = min(options.width, moved_bytes(step))
        atom = CuteAtomAttr(StringAttr(f"selp {width} bytes"))
        first: Operation = CopyOp(source, result_type=step.target, atom_descriptor=atom)
    else:
        atom = CuteAtomAttr(StringAttr(f"shfl.sync.idx.b32 x {plan.shuffles}"))
        first = ShuffleOp(source, result_type=step.target, atom_descriptor=atom)
    if options.width < VECTOR_BYTES:
        first.attributes[ROOT] = UnitAttr()
    return [first, _reader(first.results[0], step, 0, atom)]


def _reader(source: SSAValue, step: PlannedStep, tag: int, atom: CuteAtomAttr) -> ConvertLayoutOp:
    """The op that hands the result on, with the plan."""
    smem = layout_of(source.type) if tag == 1 else None
    plan = AtomPlanAttr.of(tag, smem, layout_of(step.target), atom)
    return ConvertLayoutOp(source, step.target, atom_plan=plan, reinterpret_byte=step.reinterpreted)


def atom_of(access: LaneAccess, verb: str) -> CuteAtomAttr:
    """The instruction of an access, as text."""
    if access.kind == "plain":
        text = f"{verb}.shared {access.width} bytes"
    else:
        name = "ldmatrix" if verb == "ld" else "stmatrix"
        trans = ".trans" if access.kind == "matrix.trans" else ""
        text = f"{name}.x{access.matrices}{trans}"
    return CuteAtomAttr(StringAttr(text))
