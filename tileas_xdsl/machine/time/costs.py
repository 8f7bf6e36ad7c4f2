"""
What ops cost, in cycles of a target's table: how much there is to do, and which engine does it.

    a matrix product           operations / rate of the tensor core for elements of that width
    an access to memory        bytes / rate of the space; in shared memory, and what bank conflicts add
    asynchronous work          bytes / rate of its engine
    arithmetic on a tile       elements / rate of the agent's own lanes
    an operation on scalars    one instruction
    naming things              nothing: constants, views, casts, tokens, control flow, registers renamed by a plan
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from xdsl.dialects.builtin import FixedBitwidthType, ShapedType
from xdsl.ir import Attribute, Operation
from xdsl.traits import ConstantLike

from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.meaning import Kind, facts_of
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import Costs
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.tiles.numerics import scalar_of
from tileas_xdsl.targets.timing import TimingTable

TENSOR_CORE = "tensor core"
LOAD_STORE = "load/store"
SHARED_MEMORY = "shared memory"

PORTS = {"shared": SHARED_MEMORY, "tensor": SHARED_MEMORY}
"""Memory space -> the engine through which agents reach it; every other one is `load/store`."""


@dataclass(frozen=True)
class Cost:
    """
    Cycles for which an engine is occupied (None: only the agent itself is), and the latency after which the result is
    complete.
    """

    engine: str | None
    occupancy: int
    latency: int = 0


def product_cost(op: Operation, operands: Sequence[Any], table: TimingTable) -> Cost | None:
    """The cost of a matrix product; None for any other op. Open extents are taken from the run-time `operands`."""
    if facts_of(op).costs is not Costs.PRODUCT:
        return None
    a, b = (_shape(op.operands[i].type, operands[i] if i < len(operands) else None) for i in range(2))
    if len(a) < 2 or len(b) < 2:
        return None
    rate = table.tensor_core.rate(element_bits(op.operands[0].type))
    return Cost(TENSOR_CORE, rate.occupancy(2 * prod(a) * b[-1]), rate.latency)


def _shape(kind: Attribute, value: Any) -> tuple[int, ...]:
    if isinstance(value, View):
        return value.shape
    return tuple(kind.get_shape()) if isinstance(kind, ShapedType) else ()


def element_bits(kind: Attribute) -> int:
    """Bits of an element of a shaped type, or of a scalar: less than a byte where the type says so."""
    scalar = scalar_of(kind)
    if isinstance(scalar, FixedBitwidthType):
        return scalar.bitwidth
    element = element_type(scalar)
    return 8 * element.size if element is not None else 32


def access_costs(touched: Mapping[str, int], table: TimingTable, conflicts: int = 0) -> list[Cost]:
    """
    The cost of an agent's own accesses: `touched` bytes by memory space, one after the other, and the cycles of bank
    `conflicts` in shared memory (`bank_conflicts.py`).
    """
    costs: list[Cost] = []
    for space, size in touched.items():
        rate = table.memory_rate(space)
        if rate.latency:
            longer = conflicts if space == "shared" else 0
            costs.append(Cost(PORTS.get(space, LOAD_STORE), rate.occupancy(size) + longer, rate.latency))
    return costs


def own_cost(op: Operation, kind: Kind, results: Sequence[Any], table: TimingTable) -> Cost:
    """
    The cost of what the agent computes itself in a step of `kind` that gave `results` (views, or computed values). An
    op without a meaning, which a check takes for a function, counts as one that computes its results.
    """
    costs = facts_of(op).costs
    if kind not in (Kind.PURE, Kind.EFFECT) or costs is Costs.NOTHING or op.has_trait(ConstantLike) or _renames(op):
        return Cost(None, 0)
    computed = [
        ssa.type
        for ssa, value in zip(op.results, results, strict=True)
        if not isinstance(value, View) and is_number(ssa.type)
    ]
    if not computed:
        return Cost(None, 0)
    elements = max(map(_elements, computed))
    if elements == 1:
        return Cost(None, table.instruction)
    rate = table.special if costs is Costs.SPECIAL_RESULTS else table.arithmetic
    return Cost(None, rate.occupancy(elements), rate.latency)


def _renames(op: Operation) -> bool:
    """
    Whether `op` is a layout conversion with a plan that stays in registers: what moves is moved by ops before it, and
    the conversion itself gives registers other names.
    """
    return isinstance(op, ConvertLayoutOp) and op.atom_plan is not None and op.atom_plan.tag.data == 0


def is_number(kind: Attribute) -> bool:
    """Whether values of the type are numbers, or tiles of numbers, rather than tokens and addresses."""
    return element_type(scalar_of(kind)) is not None


def _elements(kind: Attribute) -> int:
    shape = kind.get_shape() if isinstance(kind, ShapedType) else ()
    return prod(extent for extent in shape if extent > 0)


def work_cost(work: AsyncWork, table: TimingTable) -> Cost:
    """The cost of asynchronous work that is ready. Work that moves nothing is a signal."""
    product = product_cost(work.op, (), table)
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
    return ceil(prod(view.shape) * element_bits(view.element.attribute) / 8)
