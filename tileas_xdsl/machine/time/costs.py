"""
What asynchronous work costs on the timed machine, and what an agent's own steps do: `analysis.costs.op_costs`, with the
extents of a run where types leave them open.

    asynchronous work          bytes / rate of its engine; of a matrix product its operations
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.analysis.costs import op_costs
from tileas_xdsl.analysis.costs.op_costs import FREE, Cost, Costs, costs_of, shape_of
from tileas_xdsl.dialects.scalars import is_number, packed_bits
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.meaning import Kind
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.targets.cycles import TimingTable


def product_cost(op: Operation, operands: Sequence[Any], table: TimingTable) -> Cost | None:
    """The cost of a matrix product on these run-time operands; None for any other op."""
    if costs_of(op) is not Costs.PRODUCT:
        return None
    shapes = [
        value.shape if isinstance(value, View) else shape_of(ssa.type)
        for ssa, value in zip(op.operands[:2], operands[:2], strict=True)
    ]
    return op_costs.product_cost(op, shapes, table)


def own_cost(op: Operation, kind: Kind, results: Sequence[Any], table: TimingTable) -> Cost:
    """The cost of what the agent computes itself in a step of `kind` that gave `results`: views, or computed values."""
    if kind not in (Kind.PURE, Kind.EFFECT):
        return FREE
    computed = [
        ssa.type
        for ssa, value in zip(op.results, results, strict=True)
        if not isinstance(value, View) and is_number(ssa.type)
    ]
    return op_costs.own_cost(op, computed, table)


def work_cost(work: AsyncWork, table: TimingTable) -> Cost:
    """The cost of asynchronous work that is ready. Work that moves nothing is a signal."""
    product = op_costs.typed_product_cost(work.op, table)
    if product is not None:
        return product
    size = bytes_of(work)
    if not size:
        return Cost(None, 0, table.signal)
    rate = table.copy_rate(work.engine)
    return Cost(work.engine, rate.occupancy(size), rate.latency)


def bytes_of(work: AsyncWork) -> int:
    """The bytes that `work` reads or the bytes that it writes, whichever are more."""
    written = sum(bytes_under(touch.view) for touch in work.touches if touch.is_write)
    read = sum(bytes_under(touch.view) for touch in work.touches if not touch.is_write)
    return max(read, written)


def bytes_under(view: View) -> int:
    """The bytes of a view as hardware holds them: elements narrower than a byte are packed."""
    return ceil(prod(view.shape) * packed_bits(view.element.attribute) / 8)
