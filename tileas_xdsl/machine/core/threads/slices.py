"""
What a check leaves out of code for single threads, and of kernels of Triton's: ops that only compute what no address,
wait or branch needs.

    %y = arith.mulf %x, %x         not executed, since nothing decides by %y
    llvm.store %y, %q              stores something that is not known, and may be another number in each thread

Which ops these are is told by `analysis.threads.needed`, from the kinds of their meanings. A choice by a comparison
that is true in every check (`tail_guards`) depends on what it chooses then, not on the bytes that are left of a row. Of
what is left out nothing is known. Integer constants are known before a function begins, so that no turn of a loop
computes them. All threads of a warp that store to one place have to store one value there, and of left-out data that is
not known: then the check begins again with all ops (`NeededAfterAllError`). A tile of Triton's has no numbers in a
check, and no thread of its own: none of the ops that touch one decides by what is in it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol, TypeGuard

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, TensorType, i1
from xdsl.ir import Attribute, ErasedSSAValue, Operation, SSAValue
from xdsl.traits import get_effects

from tileas_xdsl.analysis.memory.tail_guards import is_tail_guard
from tileas_xdsl.analysis.thread_blocks import Level, level_of
from tileas_xdsl.analysis.thread_dependence import differs_between_threads
from tileas_xdsl.analysis.threads.needed import Roles, Slice, slice_of
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.code import Code
from tileas_xdsl.machine.core.meaning import Kind, facts_of, meaning_of
from tileas_xdsl.machine.core.op_facts import operands_called
from tileas_xdsl.machine.core.values import wrap

NOTHING_LEFT_OUT = Slice(frozenset(), frozenset())
LEFT_OUT: SSAValue = ErasedSSAValue(i1, arith.ConstantOp.from_int_and_width(0, i1).result)
"""The operand of steps that stands for all values that are left out."""


class NeededAfterAllError(Exception):
    """The check comes to where it makes a difference what was left out."""


def computes(op: Operation) -> bool:
    """Whether `op` only computes, from what stands in registers, and never fails."""
    meaning = meaning_of(op)
    return meaning is not None and meaning.kind is Kind.PURE and not (meaning.facts.may_fail or op.regions)


def _is_taken(op: Operation) -> TypeGuard[arith.SelectOp]:
    """Whether `op` gives its first choice in every check."""
    return isinstance(op, arith.SelectOp) and isinstance(op.cond.owner, arith.CmpiOp) and is_tail_guard(op.cond.owner)


def _depends_on(op: Operation) -> Sequence[SSAValue]:
    return (op.cond, op.lhs) if _is_taken(op) else op.operands


def operands_around(op: Operation, left_out: Collection[Operation]) -> tuple[SSAValue, ...]:
    """The operands of the step of `op` where ops are left out; of a choice that is taken, that one in place of both."""
    operands = (op.cond, op.lhs, op.lhs) if left_out and _is_taken(op) else op.operands
    return tuple(LEFT_OUT if each.owner in left_out else each for each in operands)


def data_of(op: Operation) -> list[SSAValue]:
    """The operands of an op that acts which make no difference to what it does (`Facts.data`)."""
    data = facts_of(op).data
    if callable(data):
        return list(data(op))
    return [operand for name in data for operand in operands_called(op, name)]


def _reads(op: Operation) -> bool:
    meaning = meaning_of(op)
    return (meaning is None or meaning.kind is not Kind.PURE) and get_effects(op) != set()


def _gives_late(op: Operation) -> bool:
    meaning = meaning_of(op)
    calls = meaning is not None and meaning.kind is Kind.CONTROL and not op.regions
    return meaning is None or calls or meaning.kind in (Kind.SUSPENDS, Kind.SYNC)


def _synchronises(op: Operation) -> bool:
    meaning = meaning_of(op)
    return meaning is None or meaning.kind is not Kind.EFFECT


ROLES = Roles(computes, _depends_on, data_of, _reads, _gives_late, _synchronises)


def _tiles_of_triton(op: Operation) -> list[SSAValue]:
    return [operand for operand in op.operands if isinstance(operand.type, TensorType)]


ROLES_OF_TRITON = replace(ROLES, data=_tiles_of_triton)


def is_of_triton(function: Operation) -> bool:
    """Whether tensors in `function` are tiles of Triton's."""
    return op_name(function).partition(".")[0] == "tt"


def _slice_of_function(function: Operation) -> Slice:
    if is_of_triton(function) and len(function.regions) == 1:
        return slice_of(function.regions[0], ROLES_OF_TRITON)
    level, _ = level_of(function.regions)
    if level is not Level.THREADS or len(function.regions) != 1:
        return NOTHING_LEFT_OUT
    return slice_of(function.regions[0], ROLES)


def constants_of(function: Operation) -> dict[SSAValue, int]:
    """The integer constants in `function`, of which something is left out: they are known before it begins."""
    found: dict[SSAValue, int] = {}
    for op in function.walk():
        value = op.value if isinstance(op, arith.ConstantOp | llvm.ConstantOp) else None
        kind: Attribute | None = op.results[0].type if isinstance(value, IntegerAttr) else None
        if isinstance(value, IntegerAttr) and kind is not None and isinstance(kind, IntegerType | IndexType):
            found[op.results[0]] = wrap(value.value.data, op.results[0].type)
    return found


class Sliced(Protocol):
    """An execution that leaves ops out, or none."""

    code: Code
    slices: bool
    with_data: bool


def slice_around(machine: Sliced, op: Operation) -> Slice:
    """The slice of the function in which `op` stands; nothing is left out where `machine` executes all."""
    function = enclosing_function(op) if machine.slices and not machine.with_data else None
    return NOTHING_LEFT_OUT if function is None else machine.code.fact(_slice_of_function, function)


def stores_one_value(machine: Sliced, op: Operation) -> bool:
    """
    Whether threads of a warp that write to one place by `op` write one value, which is left out. False where it is not
    left out. Raises `NeededAfterAllError` where they may write other values.
    """
    if op not in slice_around(machine, op).without_data:
        return False
    if any(map(differs_between_threads, data_of(op))):
        raise NeededAfterAllError
    return True
