"""
Loops whose constant trip count is too large to execute: the constant becomes an argument.

    scf.for %i = 0 to 1000000        ->        func(..., %turns)    scf.for %i = 0 to 0 + 1 * %turns

If the copy is right for every trip count, the function is right with the one that stands there. Where there is no such
proof, the function is executed as it stands.

A loop of more than 128 turns with constant bounds is proved for every number of turns before anybody executes it. What
is wrong at another number says nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.machine.arguments import argument_names, find_function

CounterType = IndexType | IntegerType[Any, Any]
LONG = 128
"""Loops of more turns than this are generalised, and executed in full only where that fails."""


@dataclass(frozen=True)
class Generalised:
    """A copy of a function with one more argument, and the name of that (`turns`)."""

    op: Operation
    body: Region
    turns: str
    number: int
    """The trip count of the loops in the function as it stands."""


@dataclass(frozen=True)
class _Bounds:
    """The bounds and the step of an `scf.for` in which all three are constants."""

    lower: int
    upper: int
    step: int
    type: CounterType

    @property
    def turns(self) -> int:
        return max(0, -(-(self.upper - self.lower) // self.step))

    @property
    def is_even(self) -> bool:
        """Whether the last turn ends at the upper bound."""
        return self.lower + self.turns * self.step == self.upper


def generalised(function: Operation) -> Generalised | None:
    """
    A copy of the function, in a copy of its module, with the trip count of its long loops as an argument.

    None where it has no such loop, several with different trip counts, or one whose upper bound is no whole number of
    steps away from its lower bound.
    """
    if not isinstance(function, FuncOp):
        return None
    long_loops = [bounds for bounds in constant_bounds(function) if bounds.turns > LONG]
    uppers = {(bounds.upper, bounds.type): bounds for bounds in long_loops}
    kinds = {(bounds.turns, bounds.type) for bounds in long_loops}
    if len(kinds) != 1 or len(uppers) != len(set(long_loops)) or not all(b.is_even for b in long_loops):
        return None
    module = function.get_toplevel_object()
    assert isinstance(module, Operation)
    copied, body = find_function(module.clone(), function.sym_name.data)
    assert isinstance(copied, FuncOp)
    turns = _with_argument(copied, body.blocks[0], list(uppers.values()))
    return Generalised(copied, body, turns, long_loops[0].turns)


def constant_bounds(function: Operation) -> Iterable[_Bounds]:
    for op in function.walk():
        if isinstance(op, scf.ForOp):
            numbers = [_constant(value) for value in (op.lb, op.ub, op.step)]
            lower, upper, step = numbers
            kind = op.ub.type
            if lower is None or upper is None or step is None or step <= 0:
                continue
            if isinstance(kind, IndexType | IntegerType):
                yield _Bounds(lower, upper, step, cast("CounterType", kind))


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def _with_argument(function: FuncOp, entry: Block, uppers: list[_Bounds]) -> str:
    """Give `function` the argument, and compute every constant that is one of the upper bounds from it."""
    taken = set(argument_names(function.body))
    name = next(n for n in ("turns", *(f"turns_{number}" for number in range(len(taken) + 1))) if n not in taken)
    kind = uppers[0].type
    turns = entry.insert_arg(kind, len(entry.args))
    turns.name_hint = name
    function.function_type = FunctionType.from_lists(entry.arg_types, list(function.function_type.outputs))
    constants = [op for op in function.walk() if isinstance(op, arith.ConstantOp)]
    for bounds in uppers:
        upper = _insert_upper(entry, bounds, turns)
        for op in constants:
            if op.result.type == kind and _constant(op.result) == bounds.upper:
                op.result.replace_all_uses_with(upper)
    return argument_names(function.body)[-1]


def _insert_upper(entry: Block, bounds: _Bounds, turns: SSAValue) -> SSAValue:
    """`lower + step * turns`, at the beginning of the function."""
    step = arith.ConstantOp.from_int_and_width(bounds.step, bounds.type)
    lower = arith.ConstantOp.from_int_and_width(bounds.lower, bounds.type)
    walked = arith.MuliOp(step, turns)
    upper = arith.AddiOp(lower, walked)
    Rewriter.insert_op([step, lower, walked, upper], InsertPoint.at_start(entry))
    return upper.result
