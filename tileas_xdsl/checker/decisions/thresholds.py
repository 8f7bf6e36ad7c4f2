"""
Numbers that are compared with constants: up to the constant they are told apart one by one, from there on not at all.

    %is    = arith.cmpi sge, %k, %c2        %k is 0, 1, 2, or more
    %next  = arith.addi %k, %c1
    %is    = arith.cmpi eq, %next, %c4      %next is at most 4, or more; so %k is at most 3, or more
    %row   = arith.minsi %k, %c5            %k is at most 5, or more

A state draws the lesser of a number v and e + 1, where e is its *end*. That this fixes what each comparison says, in
every call, is an induction over the steps, and rests on three things.

- A comparison with c needs no more of v than its end e, which is at least c: where v is at most e, it is known; where
  it is more, it compares with c as e + 1 does, signed or not, and the minimum of v and c is c.
- What v is computed from has ends that say as much of it: v = w + s, and the end of w is at least e - s. So where w is
  known, v is, and where w is more than its end, v is more than e. A value that has other names (that a loop carries,
  that a branch yields or a selection chooses) has at least the ends of all of these; and what a loop carries has the
  end of the result that it becomes behind the loop, since it is drawn at the head, before that is decided. An induction
  variable begins at a constant and grows.
- Nothing else tells *followed* numbers apart: they are constants, induction variables, sums of such with small
  constants, and other names of these. Wherever an agent may stand, those that it still needs are drawn, each with its
  end. (A number that counts down would need an end without end: then nothing is told apart.)

So in states that are drawn alike each comparison says the same, however far its number has moved on beyond its end, and
what follows is drawn alike again. Numbers below 0 are drawn as they are. As in all proofs of nests, counts in 32 bits
are taken not to overflow; narrower ones are not followed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.checker.decisions.limits import sources_of
from tileas_xdsl.checker.decisions.open_loops import integers_in
from tileas_xdsl.checker.decisions.origins import ADDITIONS, SUMS, WIDENING
from tileas_xdsl.dialects.upstream_models.integers import Function, ops_of_arith
from tileas_xdsl.machine.core.moving_numbers import LEAST_WIDTH
from tileas_xdsl.machine.core.values import bit_width

MOST = 64
"""The largest constant up to which numbers are told apart one by one, and the largest one that is added to them."""
COMPARING = (arith.CmpiOp, *ops_of_arith(Function.LEAST))
CARRYING = (scf.ForOp, scf.IfOp)
"""Ops with results that are other names of what their regions yield."""

Thresholds = Mapping[SSAValue, int]


def thresholds(body: Region, counts: Iterable[SSAValue]) -> tuple[Thresholds, frozenset[Operation]]:
    """
    Value -> its end, and the comparisons that this settles. Both are empty where a number would have to be told apart
    beyond `MOST`. None of `counts`, of which nothing is decided, is followed.
    """
    values = list(integers_in(body))
    followed = _followed(values, set(counts))
    settled = {op: found for op in body.walk() if (found := _compared(op)) is not None and found[0] in followed}
    ends: dict[SSAValue, int] = {}
    for value, constant in settled.values():
        ends[value] = max(constant, ends.get(value, constant))
    changed = bool(ends)
    while changed:
        changed = False
        for value in reversed(values):
            found = max(_wanted(value, ends), default=None)
            if found is None or (value in ends and found <= ends[value]):
                continue
            if found > MOST:
                return {}, frozenset()
            ends[value] = found
            changed = True
    return {value: end for value, end in ends.items() if value in followed}, frozenset(settled)


def _compared(op: Operation) -> tuple[SSAValue, int] | None:
    """The number that `op` compares with a constant, and the constant."""
    if not isinstance(op, COMPARING):
        return None
    for number, other in (op.operands, op.operands[::-1]):
        constant = constant_integer(other)
        if constant is not None and 0 <= constant <= MOST and constant_integer(number) is None:
            return number, constant
    return None


def _wanted(value: SSAValue, ends: Thresholds) -> Iterator[int]:
    """Up to what numbers `value` has to be told apart."""
    for use in value.uses:
        op = use.operation
        yield from (ends[name] for name in names_behind(use) or () if name in ends)
        if len(op.results) != 1 or (end := ends.get(op.results[0])) is None:
            continue
        if isinstance(op, WIDENING):
            yield end
        elif (sum_ := _sum_with_constant(op)) is not None and sum_[0] is value:
            yield end - sum_[1]
    if isinstance(value, BlockArgument) and value.index > 0:
        loop = value.block.parent_op()
        if isinstance(loop, scf.ForOp) and (result := loop.results[value.index - 1]) in ends:
            yield ends[result]


def _sum_with_constant(op: Operation) -> tuple[SSAValue, int] | None:
    """(x, c) if `op` computes x + c, and c is small."""
    if not isinstance(op, SUMS):
        return None
    left, right = op.operands
    number, constant = left, constant_integer(right)
    if constant is None and isinstance(op, ADDITIONS):
        number, constant = right, constant_integer(left)
    if constant is None or abs(constant) > MOST:
        return None
    return number, constant if isinstance(op, ADDITIONS) else -constant


def _followed(values: Iterable[SSAValue], counts: Container[SSAValue]) -> frozenset[SSAValue]:
    """The greatest set of numbers that are constants, counts of turns, and sums of such with constants."""
    sources = sources_of(values)
    found = {value for value in values if value not in counts}
    changed = True
    while changed:
        bad = [value for value in found if not _is_followed(value, sources, found)]
        found.difference_update(bad)
        changed = bool(bad)
    return frozenset(found)


def _is_followed(value: SSAValue, sources: Mapping[SSAValue, list[SSAValue]], found: Container[SSAValue]) -> bool:
    if bit_width(value.type) < LEAST_WIDTH:
        return False
    if constant_integer(value) is not None:
        return True
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    if isinstance(value, BlockArgument):
        if not isinstance(op, scf.ForOp):
            return False
        if value.index == 0:
            step = constant_integer(op.step)
            return constant_integer(op.lb) is not None and step is not None and step > 0
    elif isinstance(op, WIDENING):
        return op.operands[0] in found
    elif isinstance(op, SUMS):
        sum_ = _sum_with_constant(op)
        return sum_ is not None and sum_[0] in found
    elif not isinstance(op, (*CARRYING, arith.SelectOp)):
        return False
    carried = sources.get(value, [])
    return len(carried) == 2 and all(source in found for source in carried)
