"""
Tiles of one web that take turns in the slots of one allocation: their names become the numbers of slots.

    %next = alloc_tensor                       %other = arith.select (%slot == 0), 1, 0 {nv_tileas.other_slot}
    copy %held, %next                          %tile = view %pool[%other]
    scf.yield %next                     ->     copy %held, %tile
                                               scf.yield %other

A tile takes the first slot that none of the live names has. There are enough of them: one more than live names.

What is put into tiles of shared memory that no op reads is dropped:

    scf.for iter_args(%now = %first) {         scf.for iter_args(%now = %first) {
      %next = alloc_tensor                       %next = alloc_tensor
      copy %held, %next                  ->
      scf.yield %next                            scf.yield %next
    }                                          }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.liveness import uses_of
from tileas_xdsl.analysis.threads.places import OTHER_SLOT, PLACE, Place, Turns, Web, beginning, webs_of
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp


def drop_unread(function: func.FuncOp) -> None:
    """Drop copies and loads into tiles that are not read, and allocations that are not used then."""
    for web in webs_of(function):
        users = _users(web)
        if not all(map(_fills, users)):
            continue
        for op in {use.operation: None for use in users}:
            _erase(op)
        for maker in web.makers:
            if maker.tensor.first_use is None:
                Rewriter.erase_op(maker)


def _users(web: Web) -> Sequence[Use]:
    """The uses that do not hand a tile on."""
    return [use for name in web.names for use in uses_of(name) if names_behind(use) is None]


def _fills(use: Use) -> bool:
    """Whether a use puts something into the tile, and does nothing else."""
    op = use.operation
    tile = op.operands[use.index]
    match op:
        case CopyOp():
            return op.destination is tile
        case AsyncTiledLoadOp():
            return op.destination is tile and all(isinstance(each.operation, AsyncWaitOp) for each in op.done.uses)
        case _:
            return False


def _erase(op: Operation) -> None:
    if isinstance(op, AsyncTiledLoadOp):
        for use in list(op.done.uses):
            Rewriter.erase_op(use.operation)
    Rewriter.erase_op(op)


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
