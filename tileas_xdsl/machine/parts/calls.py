"""
Calls: to functions with a body, and to functions of which only the name is known.

What a function without a body may write is not known any more after its call, numbers that control flow reads included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import MemRefType, SymbolRefAttr, UnrankedMemRefType
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import REACHES_ARGUMENTS_ONLY
from tileas_xdsl.machine.core.handles import unknown_results
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Done, Request
from tileas_xdsl.machine.core.values import UNKNOWN, element_type
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.tiles.pointers import Pointer

DEEPEST_CALL = 1000
"""How many calls may be inside each other: more of them are taken for a recursion without an end."""


def call_symbol(agent: Agent, op: Operation, callee: SymbolRefAttr, arguments: Sequence[Any]) -> Request:
    """
    Call the function named `callee` with `arguments`. The outcome is a tuple of its results.

    A check takes a function without a body for one that may access whatever its pointers reach, and that leaves the
    caller's marks alone. Each such access is noted, and the verdict is left open where it depends on more. Running such
    a call is refused.
    """
    target = SymbolTable.lookup_symbol(op, callee)
    function = FunctionOpInterface.of(target)
    if target is None or function is None:
        raise UnsupportedError(op, f"calls @{callee.string_value()}, which is no function here; define it")
    if function.function_body.first_block is not None:
        if agent.activation.depth == DEEPEST_CALL:
            nesting = "and calls nest too deeply; a function may not call itself for ever"
            raise UnsupportedError(op, f"calls @{callee.string_value()}, {nesting}")
        return agent.call(target, function.function_body, arguments)
    if agent.has_data:
        raise UnsupportedError(op, f"calls @{callee.string_value()}, which has no body; give it one to run it")
    for operand, argument in zip(op.operands, arguments, strict=False):
        if argument is UNKNOWN and _may_name_memory(operand.type):
            raise UndecidedError(op, f"hands @{callee.string_value()} memory that depends on what is not computed")
        if isinstance(argument, View | Pointer):
            agent.doubt_access(argument.base.whole(), op)
    agent.assume(REACHES_ARGUMENTS_ONLY.about(f"@{callee.string_value()}"))
    return Done(unknown_results(op))


def _may_name_memory(kind: Attribute) -> bool:
    """Whether memory can be reached through a value of that type: through all but numbers, and vectors of them."""
    return isinstance(kind, MemRefType | UnrankedMemRefType) or element_type(scalar_of(kind)) is None
