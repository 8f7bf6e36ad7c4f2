"""What the products, reductions and scans of `nv_tileaa` do. They read their operands and give values."""

from __future__ import annotations

from typing import Any

from tileas_xdsl.dialects.nv_tileaa import compute
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import suspends
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.tiles.lanes import combined_together, reduced, scanned
from tileas_xdsl.machine.tiles.products import Factor, Scales, is_signed, product
from tileas_xdsl.machine.tiles.tiles import computes


@computes(compute.DotOp)
def _dot(_agent: Agent, op: compute.DotOp, a: Any, b: Any, c: Any, *scales: Any) -> Any:
    left = Factor(a, op.a.type, is_signed(op.signedness_a))
    right = Factor(b, op.b.type, is_signed(op.signedness_b))
    return product(op, left, right, c, op.d.type, Scales(*scales) if scales else None)


@suspends(compute.ReduceOp)
def _reduce(agent: Agent, op: compute.ReduceOp, source: Any, *others: Any) -> Answer:
    if others:
        return combined_together(agent, op, (source, *others), op.combiner, op.axis.value.data, keeps=False)
    return reduced(agent, op, source, op.combiner, op.axis.value.data)


@suspends(compute.ScanOp)
def _scan(agent: Agent, op: compute.ScanOp, source: Any, *others: Any) -> Answer:
    if others:
        return combined_together(agent, op, (source, *others), op.combiner, op.axis.value.data, keeps=True)
    return scanned(agent, op, source, op.combiner, op.axis.value.data, op.inclusive)
