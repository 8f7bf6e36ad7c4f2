"""
What the ops of `vector` do that move a few neighbouring elements at once. Arithmetic on vectors is that of `arith`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.agents import Agent
from tileas_xdsl.machine.meaning import effect
from tileas_xdsl.machine.meanings.memref import element_at
from tileas_xdsl.machine.memory import View
from tileas_xdsl.machine.numerics import view_of


def _neighbours(agent: Agent, op: Operation, buffer: Any, indices: Sequence[Any], kind: Attribute) -> View:
    """The elements from `indices` on along the innermost dimensions, as many as `kind` has."""
    assert isinstance(kind, VectorType)
    first, shape = element_at(agent, op, buffer, indices), kind.get_shape()
    strides = view_of(agent, op, buffer).strides[len(indices) - len(shape) :]
    return View(first.base, first.offset, shape, strides, first.element, first.origin)


@effect(vector.LoadOp)
def _load(agent: Agent, op: vector.LoadOp, buffer: Any, *indices: Any) -> Any:
    return agent.load(_neighbours(agent, op, buffer, indices, op.result.type), op)


@effect(vector.StoreOp)
def _store(agent: Agent, op: vector.StoreOp, value: Any, buffer: Any, *indices: Any) -> None:
    agent.store(_neighbours(agent, op, buffer, indices, op.vector.type), value, op)
