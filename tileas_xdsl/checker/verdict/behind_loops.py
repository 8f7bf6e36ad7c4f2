"""
Counts that are used behind their loops, as what the loops have counted: for proofs in which loop counts are open.

    scf.for %k = 0 to %n - 1 {                %last = scf.for %k = 0 to %n - 1 iter_args(%turns = 0) {
      ..                                        ..
    }                                   ->      scf.yield %k + 1
    %slot = arith.remui %n - 1, 2             }
                                              %slot = arith.remui %last, 2

An execution with open counts decides how often a loop turns when it comes to its end, and a number that is not decided
cannot be divided. What the loop has counted is a number like any other. It is the same in every call with n >= 0, which
is what is assumed of counts, so what is proved of the copy holds for the function. A loop to n - 2 ends at 0 with n = 0
and n = 1, too: where a use is not under a condition that says n >= 2, smaller counts are told apart by comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Operation, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import behind_captures
from tileas_xdsl.checker.decisions.open_loops import deciding_uses
from tileas_xdsl.checker.decisions.origins import ADDITIONS, SUMS, at_least, clipped_at_zero, keeps_number
from tileas_xdsl.checker.verdict.flat_nests import NumberType, carrying, hand_on
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.machine.arguments import argument_at, find_function

MOST_TOLD_APART = 8
"""How many small counts are told apart at most."""


@dataclass(frozen=True)
class _Behind:
    """`use`, of which the value is `count` + `offset` for all counts from `least` on, comes behind `loop`."""

    use: Use
    offset: int
    least: int
    loop: scf.ForOp
    first: int
    """Where the loop begins."""
    bound: int
    """The loop ends at `count` + this, where that is not before `first`."""

    @property
    def certain(self) -> int:
        """From which count on the loop ends there."""
        return max(self.first - self.bound, 0)


def with_counts_behind_loops(function: Operation, name: str, bounds: Sequence[str]) -> tuple[Operation, Region] | None:
    """
    The function called `name` and its body in a copy of its module, where the arguments `bounds` are not used behind
    loops that have counted them. None where there is no such use.
    """
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    if not any(True for bound in bounds for _ in _found(find_function(module, name)[1], bound)):
        return None
    copied, body = find_function(module.clone(), name)
    for bound in bounds:
        # A loop is replaced where it gets a count more, so each use is looked at anew.
        while (behind := next(_found(body, bound), None)) is not None:
            _count_instead(behind, argument_at(body, bound))
    return copied, body


# What is behind a loop ------------------------------------------------------------------------------------------------


def _found(body: Region, bound: str) -> Iterator[_Behind]:
    count = argument_at(body, bound)
    for use in deciding_uses(count):
        op = use.operation
        value = op.operands[use.index]
        if isinstance(op, arith.CmpiOp | scf.ForOp) or not isinstance(value.type, IndexType | IntegerType):
            continue
        if any(map(_bounds_a_loop, op.results)):
            # It is a count of its own (`decisions.derived_counts`).
            continue
        least = _least(op, count)
        offset = _offset(value, count, least)
        behind = None if offset is None else _behind(use, count, offset, least)
        if behind is not None:
            yield behind


def _least(op: Operation, count: SSAValue) -> int:
    """What the conditions around `op` say that `count` is at least."""
    least = 0
    node: Operation = op
    while (parent := node.parent_op()) is not None:
        if isinstance(parent, scf.IfOp) and node.parent_region() is parent.true_region:
            condition = behind_captures(parent.cond).owner
            asked = at_least(condition) if isinstance(condition, arith.CmpiOp) else None
            if asked is not None and asked[0] is count:
                least = max(least, asked[1])
        node = parent
    return least


def _offset(value: SSAValue, count: SSAValue, least: int) -> int | None:
    """c if `value` is `count` + c for all counts from `least` on; None where that is not known."""
    value = behind_captures(value)
    if value is count:
        return 0
    op = value.owner
    if isinstance(op, SUMS):
        left, right = op.operands
        if (step := constant_integer(right)) is not None:
            return _plus(_offset(left, count, least), step if isinstance(op, ADDITIONS) else -step)
        step = constant_integer(left) if isinstance(op, ADDITIONS) else None
        return None if step is None else _plus(_offset(right, count, least), step)
    if isinstance(op, Operation) and keeps_number(op):
        return _offset(op.operands[0], count, least)
    clipped = clipped_at_zero(op)
    inner = None if clipped is None else _offset(clipped, count, least)
    return inner if inner is not None and least + inner >= 0 else None


def _plus(offset: int | None, step: int) -> int | None:
    return None if offset is None else offset + step


def _behind(use: Use, count: SSAValue, offset: int, least: int) -> _Behind | None:
    """The last loop in front of `use`, in its block or one around it, that counts up to `count`."""
    node = use.operation
    while node.parent is not None:
        before = node.prev_op
        while before is not None:
            if isinstance(before, scf.ForOp) and (ending := _ending(before, count)) is not None:
                behind = _Behind(use, offset, least, before, *ending)
                return behind if _is_known(behind, count) else None
            before = before.prev_op
        parent = node.parent_op()
        if not isinstance(parent, scf.IfOp | scf.ForOp):
            return None
        node = parent
    return None


def _ending(loop: scf.ForOp, count: SSAValue) -> tuple[int, int] | None:
    """(first, c) if `loop` counts from `first` on, one by one, up to `count` + c, where that is not before `first`."""
    first = constant_integer(behind_captures(loop.lb))
    if first is None or first < 0 or constant_integer(behind_captures(loop.step)) != 1:
        return None
    # With so many, nothing that is clipped at 0 is clipped.
    bound = _offset(loop.ub, count, MOST_TOLD_APART + first)
    return None if bound is None or first - bound > MOST_TOLD_APART else (first, bound)


def _is_known(behind: _Behind, count: SSAValue) -> bool:
    """Whether what the loop counts says what is used, in every call that comes there."""
    value = behind.use.operation.operands[behind.use.index]
    ends_there = _offset(behind.loop.ub, count, behind.certain) == behind.bound
    is_at_hand = behind.least >= behind.certain or _is_seen_from(behind.loop, count)
    has_type = value.type == behind.loop.lb.type
    return ends_there and is_at_hand and has_type and behind.least + behind.offset >= 0


def _is_seen_from(op: Operation, value: SSAValue) -> bool:
    """Whether `value`, an argument of the function, has its own name at `op`."""
    while op.parent is not value.owner:
        parent = op.parent_op()
        if not isinstance(parent, scf.IfOp | scf.ForOp):
            return False
        op = parent
    return True


def _bounds_a_loop(value: SSAValue) -> bool:
    return any(isinstance(use.operation, scf.ForOp) for use in deciding_uses(value))


# How it is counted ----------------------------------------------------------------------------------------------------


def _count_instead(behind: _Behind, count: SSAValue) -> None:
    """Let the use have what the loop has counted; where counts are so small that it ends elsewhere, what they give."""
    kind = cast("NumberType", behind.loop.lb.type)
    small = range(behind.least, behind.certain)
    limits = [_constant(number + 1, cast("NumberType", count.type)) for number in small]
    is_more = [arith.CmpiOp(count, limit, "sge") for limit in limits]
    Rewriter.insert_op([*limits, *is_more], InsertPoint.before(behind.loop))
    loop = _counting(behind.loop)
    apart = _constant(behind.offset - behind.bound, kind)
    ops: list[Operation] = [apart, found := arith.AddiOp(loop.results[-1], apart)]
    for number, more in zip(reversed(small), reversed(is_more), strict=True):
        alone = _constant(number + behind.offset, kind)
        ops += [alone, found := arith.SelectOp(more, found, alone)]
    Rewriter.insert_op(ops, InsertPoint.after(loop))
    behind.use.operation.operands[behind.use.index] = found.results[0]


def _constant(number: int, kind: NumberType) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(number, kind))


def _counting(loop: scf.ForOp) -> scf.ForOp:
    """`loop`, with one result more: where it has ended."""
    one = _constant(1, cast("NumberType", loop.lb.type))
    Rewriter.insert_op(one, InsertPoint.at_start(loop.body.block))
    longer, _ = carrying(loop, loop.lb)
    following = arith.AddiOp(longer.body.block.args[0], one)
    Rewriter.insert_op(following, InsertPoint.before(end_of(longer.body.block)))
    hand_on(longer, following.result)
    return longer
