"""
Tiles of one web that take turns in the slots of one allocation: their names become the numbers of slots.

    %next = alloc_tensor                       %other = arith.select (%slot == 0), 1, 0 {nv_tileas.other_slot}
    copy %held, %next                          %tile = view %pool[%other]
    scf.yield %next                     ->     copy %held, %tile
                                               scf.yield %other

A tile takes the first slot that none of the live names has. There are enough of them: one more than live names.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.liveness import names_behind
from tileas_xdsl.analysis.threads.places import OTHER_SLOT, PLACE, Place, Turns, Web, beginning
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp

INDEX = IndexType()


def take_turns(function: func.FuncOp, web: Web, turns: Turns, place: Place) -> None:
    """Rewrite the names of a web; `place` has its slots."""
    pool = _pool(function, web, place)
    users = [
        (use.operation, use.index, name.type)
        for name in web.names
        for use in list(name.uses)
        if names_behind(use) is None
    ]
    points = {maker: beginning(maker) for maker in web.makers}
    numbers = {name: _as_number(name) for name in web.names if name.owner not in points}
    numbers |= {maker.tensor: maker.tensor for maker in points}
    for maker, point in points.items():
        taken = [numbers[name] for name in turns.others[maker]]
        number = _free_slot(point, taken)
        number.name_hint = maker.tensor.name_hint
        numbers = {name: number if found is maker.tensor else found for name, found in numbers.items()}
        maker.tensor.replace_all_uses_with(number)
        Rewriter.erase_op(maker)
    for op, index, kind in users:
        view = ViewOp(pool.tensor, [op.operands[index]], kind)
        view.result.name_hint = op.operands[index].name_hint
        view.location = op.location
        Rewriter.insert_op(view, InsertPoint.before(op))
        op.operands[index] = view.result


def _pool(function: func.FuncOp, web: Web, place: Place) -> AllocTensorOp:
    """The storage of all slots, at the head of the function."""
    tile, first = web.tile, function.body.block.first_op
    assert first is not None
    kind: Attribute = TensorType(tile.element, [place.slots, *tile.type.get_shape()], LayoutAttr.of("smem"))
    pool = AllocTensorOp(kind, place.slots, attributes={PLACE: place.attribute})
    pool.tensor.name_hint = f"{web.makers[0].tensor.name_hint or 'tile'}_slots"
    pool.location = web.makers[0].location
    Rewriter.insert_op(pool, InsertPoint.before(first))
    return pool


def _as_number(name: SSAValue) -> SSAValue:
    """The number of a slot in place of a name that control flow makes, or that stands for no tile."""
    if isinstance(name.owner, CreateNoneOp):
        nothing = arith.ConstantOp(IntegerAttr.from_index_int_value(0))
        Rewriter.replace_op(name.owner, nothing)
        return nothing.result
    return Rewriter.replace_value_with_new_type(name, INDEX)


def _free_slot(point: Operation, taken: Sequence[SSAValue]) -> SSAValue:
    """The number of a slot that none of the names `taken` has, built in front of `point`."""
    ops: list[Operation] = []

    def built(op: Operation) -> SSAValue:
        op.location = point.location
        ops.append(op)
        return op.results[0]

    numbers = range(len(taken) + 1)
    constants = [built(arith.ConstantOp(IntegerAttr.from_index_int_value(slot))) for slot in numbers]
    found = constants[-1]
    for slot in reversed(range(len(taken))):
        is_taken = [built(arith.CmpiOp(name, constants[slot], "eq")) for name in taken]
        any_of = is_taken[0]
        for each in is_taken[1:]:
            any_of = built(arith.OrIOp(any_of, each))
        found = built(arith.SelectOp(any_of, found, constants[slot]))
    if taken:
        ops[-1].attributes[OTHER_SLOT] = UnitAttr()
    Rewriter.insert_op(ops, InsertPoint.before(point))
    return found
