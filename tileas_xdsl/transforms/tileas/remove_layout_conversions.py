"""
Take out conversions between layouts that meet.

    %r = scf.for ... iter_args(%acc = %zero) -> C {        %init = convert_layout %zero : C -> F
      %f = convert_layout %acc : C -> F                    %r = scf.for ... iter_args(%acc = %init) -> F {
      %d = dot %a, %b, %f : F                      ->        %d = dot %a, %b, %acc : F
      %c = convert_layout %d : F -> C                        scf.yield %d : F
      scf.yield %c : C                                     }
    }                                                      %out = convert_layout %r : F -> C

Until nothing changes: a conversion into the layout that a tile has goes; of two in a row the first goes; a tile that is
made of no other one (a constant with one value in all places, a number everywhere, coordinates) is made in the layout
that is wanted; so is what is computed of such tiles alone; an op with a tile that comes out of a fragment
works in the fragment, by the rules of `layout_rules.py`, and its result is converted; so does one with a tile that
comes out of a slice, which a reduction leaves; a loop carries a tile in the fragment in which its body computes it.
Each op changes to slices at most once, and to fragments at most once, so this ends.

Only conversions between registers take part. What reads shared memory is a load, and stays where it is: nothing is
folded across memory spaces, or across an op that orders memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import op_name, remark
from tileas_xdsl.dialects.nv_tileas.layout import form_of, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.interfaces import end_of, functions_in
from tileas_xdsl.layouts.forms import LayoutForm
from tileas_xdsl.transforms.tileas.layout_rules import (
    EXPANSIONS,
    compute_in,
    convert_behind,
    converted,
    forms,
    has_rule,
    in_registers,
    is_fragment,
    is_made_anywhere,
    misfit,
    pull,
    tiles_of,
    with_form,
)

NOT_REWRITTEN = "failed to rewrite in reg layout propagation"
"""What TileAS says of an op that cannot take the layout which its operands bring along, byte for byte."""


@dataclass(frozen=True)
class RemoveLayoutConversionsPass(ModulePass):
    """
    Remove layout conversions that cancel out.

    Rewrites
        As the module's docstring shows. Conversions that have a plan, or layouts in words, are not touched.

    Requires
        Verified IR.

    Refuses
        Nothing. An op whose tiles the fragment does not fit that it would work in keeps its layout, and a remark names
        it.
    """

    name = "tileas-remove-layout-conversions"

    DESCRIPTION: ClassVar[str] = "Remove layout conversions that cancel out"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            stuck: dict[Operation, str] = {}
            while any([_fold(function), _move_behind_ops(function, stuck), _carry_in_another_layout(function)]):
                pass
            for user, reason in stuck.items():
                remark(user, NOT_REWRITTEN, reason, verbatim=True)


def _movable(op: Operation | Block | None) -> ConvertLayoutOp | None:
    """`op` where it is a conversion between registers that nobody has planned."""
    if not isinstance(op, ConvertLayoutOp) or op.atom_plan is not None:
        return None
    forms = form_of(op.source.type), form_of(op.result.type)
    return op if all(form is not None and form.in_registers for form in forms) else None


def _conversions(function: Operation) -> Iterator[ConvertLayoutOp]:
    yield from [found for op in function.walk() if (found := _movable(op)) is not None]


# In a row -------------------------------------------------------------------------------------------------------------


def _fold(function: Operation) -> bool:
    """Conversions of conversions, of constants, into the same layout, and those that nobody uses."""
    changed = False
    for op in _conversions(function):
        inner = _movable(op.source.owner)
        if inner is not None:
            op.operands[0] = inner.source
            changed = True
        form = in_registers(op.result)
        if is_made_anywhere(op.source) and form is not None and op.source.type != op.result.type:
            op.result.replace_all_uses_with(converted(op, op.source, form))
        elif op.source.type == op.result.type:
            op.result.replace_all_uses_with(op.source)
        if not list(op.result.uses):
            Rewriter.erase_op(op)
            changed = True
    return changed


# Ops that work in another layout --------------------------------------------------------------------------------------


def _move_behind_ops(function: Operation, stuck: dict[Operation, str]) -> bool:
    """
    Ops with a tile that comes out of a fragment work in the fragment, those with one out of a slice in the slice. Those
    that cannot go to `stuck`, with the reason.
    """
    changed = False
    for op in [op for op in function.walk() if has_rule(op)]:
        sources = [c.source for value in op.operands if (c := _movable(value.owner)) is not None]
        strongest = max(forms(sources), key=pull, default=None)
        if strongest is None or pull(strongest) <= _held_by(op):
            continue
        reason = misfit(op, strongest)
        if reason is not None:
            stuck[op] = f"{op_name(op)} keeps the layout of its tiles: {reason}"
        elif compute_in(op, strongest):
            stuck.pop(op, None)
            changed = True
    return changed


def _held_by(op: Operation) -> int:
    """The pull of the layouts in which an op works. An expansion works in a slice always, so slices do not count."""
    own = max(map(pull, forms(tiles_of(op))), default=0)
    return 0 if isinstance(op, EXPANSIONS) and own == 1 else own


# Loops ----------------------------------------------------------------------------------------------------------------


def _carry_in_another_layout(function: Operation) -> bool:
    """Loops carry fragments where their bodies compute in them."""
    changed = False
    for loop in [op for op in function.walk() if isinstance(op, scf.ForOp)]:
        for number in range(len(loop.iter_args)):
            layout = _layout_inside(loop, number)
            if layout is not None:
                _carry(loop, number, layout)
                changed = True
    return changed


def _layout_inside(loop: scf.ForOp, number: int) -> LayoutForm | None:
    """The fragment in which a carried tile is yielded, and used by some op, where it is carried in another layout."""
    argument = loop.body.block.args[number + 1]
    last = end_of(loop.body.block)
    yielded = _movable(last.operands[number].owner)
    if yielded is None or is_fragment(in_registers(argument)):
        return None
    form = in_registers(yielded.source)
    users = [_movable(use.operation) for use in argument.uses]
    used = any(user is not None and _holds_alike(user.result, yielded.source) for user in users)
    return form if is_fragment(form) and used else None


def _holds_alike(one: SSAValue, other: SSAValue) -> bool:
    """
    Whether each thread has the same elements of both in the same registers: layouts have several names where a tile is
    smaller than their fragment.
    """
    return one.type == other.type or linear_layout(one.type) == linear_layout(other.type)


def _carry(loop: scf.ForOp, number: int, form: LayoutForm) -> None:
    """Carry a tile in `form`. Conversions that this makes superfluous are folded later."""
    before = loop.results[number].type
    loop.operands[3 + number] = converted(loop, loop.iter_args[number], form)
    block = loop.body.block
    last = end_of(block)
    last.operands[number] = converted(last, last.operands[number], form)
    argument = Rewriter.replace_value_with_new_type(block.args[number + 1], with_form(before, form))
    back = ConvertLayoutOp(argument, before)
    back.location = loop.location
    Rewriter.insert_op(back, InsertPoint.at_start(block))
    argument.replace_uses_with_if(back.result, lambda use: use.operation is not back)
    convert_behind(loop, Rewriter.replace_value_with_new_type(loop.results[number], with_form(before, form)), before)
