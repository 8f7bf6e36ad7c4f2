"""
What the functions, assumptions, directives and grid queries of `nv_tileaa` do.

The machine runs one block: number 0 of 1, or in a check any. Which programs it may take over, says `parts.programs`.
An assumption or assertion that does not hold stops the run; what is not known when checking is taken to hold. `print`
writes to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileaa import control
from tileas_xdsl.dialects.nv_tileaa.predicates import AssumePredicate, BoundedAttr, DivByAttr, SameElementsAttr
from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ASSERTION_HOLDS
from tileas_xdsl.machine.core.meaning import control as runs_regions
from tileas_xdsl.machine.core.meaning import effect, pure, terminators
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.moving_numbers import positive
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND, Tells
from tileas_xdsl.machine.core.opaque_numbers import block_number
from tileas_xdsl.machine.core.standings import Answer, give_results
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import MistakeError, UndecidedError
from tileas_xdsl.machine.parts.programs import left, next_program, number_of
from tileas_xdsl.machine.tiles.numerics import Array
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tiles import PointerTile, is_tile_type, read_tile

terminators(control.ReturnOp)

# Facts ----------------------------------------------------------------------------------------------------------------


@effect(control.AssumeOp)
def _assume(agent: Agent, op: control.AssumeOp, value: Any) -> Any:
    numbers = _numbers_of(value, is_tile_type(op.value.type))
    if numbers is not None and agent.has_data:
        for predicate in op.predicates:
            if isinstance(predicate, AssumePredicate) and not _holds(predicate, numbers):
                raise MistakeError(op, f"assumes {predicate}, which does not hold{agent.in_iteration}; what it assumes")
    return value


def _numbers_of(value: Any, is_tile: bool) -> Array | None:
    """The numbers that a predicate is about: values, or byte offsets in an object. None when they are not known."""
    match value:
        case Pointer() | View() if not is_tile:
            return np.asarray(value.offset)
        case PointerTile():
            return None if value.offsets is UNKNOWN else value.offsets
        case View():
            return None
        case _:
            return None if value is UNKNOWN else np.asarray(value).astype(np.int64)


def _holds(predicate: Attribute, numbers: Array) -> bool:
    match predicate:
        case DivByAttr():
            return bool(np.all(_every(predicate, numbers) % predicate.divisor.data == 0))
        case BoundedAttr():
            low, high = predicate.lower, predicate.upper
            above = not isinstance(low, IntAttr) or bool(np.all(numbers >= low.data))
            return above and (not isinstance(high, IntAttr) or bool(np.all(numbers <= high.data)))
        case SameElementsAttr():
            return all(_equal_in_groups(numbers, axis, group.data) for axis, group in enumerate(predicate.extents))
        case _:
            return True


def _every(predicate: DivByAttr, numbers: Array) -> Array:
    if not isinstance(predicate.every, IntAttr) or not isinstance(predicate.along, IntAttr):
        return numbers
    axis = predicate.along.data
    return np.take(numbers, range(0, numbers.shape[axis], predicate.every.data), axis)


def _equal_in_groups(numbers: Array, axis: int, group: int) -> bool:
    """Whether `numbers` are the same throughout each group of `group` neighbours along `axis`."""
    if group <= 1:
        return True
    firsts = [place // group * group for place in range(numbers.shape[axis])]
    return bool(np.array_equal(np.take(numbers, firsts, axis), numbers))


@effect(control.AssertOp)
def _assert(agent: Agent, op: control.AssertOp, condition: Any) -> None:
    holds = read_tile(agent, condition, op)
    if holds is UNKNOWN:
        agent.assume(ASSERTION_HOLDS)
    elif not np.all(holds):
        raise MistakeError(op, f'fails{agent.in_iteration}: "{op.message.data}"; a condition that holds')


# Directives -----------------------------------------------------------------------------------------------------------


@effect(control.PrintOp, opaque=EVERY_OPERAND)
def _print(agent: Agent, op: control.PrintOp, *values: Any) -> None:
    contents = [read_tile(agent, value, op) for value in values]
    if agent.has_data:
        print(op.format.data, *contents, file=sys.stderr)


@runs_regions(control.PragmaOp)
def _pragma(agent: Agent, op: control.PragmaOp) -> Answer:
    return agent.run_region(op.body).then(give_results)


# The grid -------------------------------------------------------------------------------------------------------------


def _along_axis(name: str) -> Callable[[Any], str]:
    return lambda op: f"{name}.{'xyz'[op.axis.value.data]}"


@effect(control.GetNumProgramsOp, number_of_block=_along_axis("num_programs"))
def _programs(agent: Agent, op: control.GetNumProgramsOp) -> int:
    grid = agent.grid
    return block_number(agent.machine, _along_axis("num_programs")(op), grid.extents[op.axis.value.data])


@effect(control.GetProgramIdOp, number_of_block=_along_axis("program_id"), may_move=("program",), tells=Tells.RANK)
def _program(agent: Agent, op: control.GetProgramIdOp, program: int | None = None) -> int:
    if isinstance(op.result.type, ProgramIdType):
        return left(agent)
    grid, name = agent.grid, _along_axis("program_id")(op)
    if program is None or program == grid.programs:
        return block_number(agent.machine, name, number_of(agent, grid.programs, op.axis.value.data))
    if name in grid.numbers:
        raise UndecidedError(
            op, "gives the number of a program that was taken over, where numbers of programs decide something"
        )
    return block_number(agent.machine, name, 0 if grid.is_opaque else number_of(agent, program, op.axis.value.data))


@effect(control.CancelNextProgramIdOp, gives_count=True)
def _cancel_next(agent: Agent, _op: control.CancelNextProgramIdOp) -> int:
    return next_program(agent)


@pure(control.IsValidProgramIdOp, moves=positive)
def _is_valid(_agent: Agent, _op: control.IsValidProgramIdOp, program: int) -> bool:
    return program > 0
