"""
What ops cost, in cycles of a target's table: how much there is to do, and which engine does it.

    a matrix product           operations / rate of the tensor core for elements of that width
    an access to memory        bytes / rate of the space; in shared memory, and what bank conflicts add
    arithmetic on a tile       elements / rate of the agent's own lanes
    an operation on scalars    one instruction
    naming things              nothing: constants, views, casts, tokens, control flow, registers renamed by a plan

By what an op is counted stands in a table by its name. So a schedule needs no dialect, and nothing of what ops mean.
The timed machine charges the same, and asynchronous work besides (`machine.time.simulated_time`).

Bank conflicts add cycles to an access of shared memory. A tile that threads bring from their registers to shared
memory, or back, takes so many wavefronts, one cycle each (`layouts/banks.py`). Without conflicts these are what the
rate of shared memory says, bytes a cycle. What an access takes beyond is charged on top, here, for the machine's clock
and for schedules alike; it is what `tileas-materialize-convert-layout` remarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation
from xdsl.traits import ConstantLike

from tileas_xdsl.dialects.nv_tileas.layout import element_bits, linear_layout
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.dialects.scalars import packed_bits
from tileas_xdsl.layouts.access import accesses
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.layouts.moves import is_memory
from tileas_xdsl.layouts.staging import conflicts
from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.engines import Engine

TENSOR_CORE = Engine.TENSOR_CORE
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


FREE = Cost(None, 0)


# By what an op is counted ---------------------------------------------------------------------------------------------


class Costs(Enum):
    """By what the time of an op is counted."""

    RESULTS = auto()
    """By the elements of its results."""
    SPECIAL_RESULTS = auto()
    """The same, on the fewer lanes for roots, exponentials and their like."""
    PRODUCT = auto()
    """A matrix product: the first operands are A [.., M, K] and B [.., K, N]."""
    NOTHING = auto()
    """The results are the operands under another type or name."""
    ELSEWHERE = auto()
    """By its accesses, its signals, or the ops in its regions: by itself it computes nothing."""


BY_DIALECT: Mapping[Costs, Mapping[str, str]] = {
    Costs.RESULTS: {"nv_tileaa": "atomic_cas atomic_rmw gather_load load tiled_atomic_rmw tiled_load"},
    Costs.SPECIAL_RESULTS: {
        "arith": "divf",
        "math": "acos asin atan atan2 cos erf exp exp2 expm1 log log10 log1p log2 powf rsqrt sin sqrt tan tanh",
        "nv_tileaa": "divf exp2 rsqrt sqrt",
    },
    Costs.PRODUCT: {"linalg": "matmul", "nv_tileaa": "dot", "nv_tileas": "async.dot block_scaled_mma dot"},
    Costs.NOTHING: {
        "builtin": "unrealized_conversion_cast",
        "llvm": "addrspacecast",
        "nv_tileas": "async.to_async",
        "tensor": "cast",
    },
    Costs.ELSEWHERE: {
        "async": "add_to_group await call create_group runtime.add_to_group runtime.create runtime.create_group "
        "runtime.is_error runtime.load coro.begin coro.id coro.save",
        "async_region": "alloc copy create_resource",
        "func": "call",
        "gpu": "alloc dealloc memcpy wait",
        "nv_tileaa": "create_queue queue.get",
        "nv_tileas": "async.copy async.gather_tma_load async.insert_slice async.load async.pipeline.consumer_release "
        "async.pipeline.consumer_wait async.pipeline.create_pipeline async.pipeline.producer_acquire "
        "async.pipeline.producer_commit async.scatter_tma_store async.store async.tiled_atomic_rmw async.tiled_load "
        "async.tiled_tma_load async.tiled_tma_store load store tiled_load tiled_store",
        "nvgpu": "device_async_copy device_async_create_group",
    },
}
"""What a name says that regions do not; of dialects that go with tiles. Threads, and what calls them, have no plan."""

BY_NAME: Mapping[str, Costs] = {
    f"{dialect}.{name}": costs
    for costs, dialects in BY_DIALECT.items()
    for dialect, names in dialects.items()
    for name in names.split()
}


def costs_of(op: Operation) -> Costs:
    """By what the time of `op` is counted. An op that nobody named computes its results, or what its regions do."""
    named = BY_NAME.get(op.name)
    if named is not None:
        return named
    return Costs.ELSEWHERE if op.regions else Costs.RESULTS


# Cycles ---------------------------------------------------------------------------------------------------------------


def product_cost(op: Operation, shapes: Sequence[Sequence[int]], table: TimingTable) -> Cost | None:
    """The cost of a matrix product whose first operands have these shapes; None for any other op."""
    if costs_of(op) is not Costs.PRODUCT or any(len(shape) < 2 for shape in shapes[:2]):
        return None
    a, b = shapes[:2]
    rate = table.tensor_core.rate(packed_bits(op.operands[0].type))
    return Cost(TENSOR_CORE, rate.occupancy(2 * prod(a) * b[-1]), rate.latency)


def typed_product_cost(op: Operation, table: TimingTable) -> Cost | None:
    """The same, with the shapes that the types say."""
    return product_cost(op, [shape_of(operand.type) for operand in op.operands[:2]], table)


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """The shape that a type says; of a scalar none."""
    return tuple(type_.get_shape()) if isinstance(type_, ShapedType) else ()


def access_costs(touched: Mapping[str, int], table: TimingTable, conflicts: int = 0) -> list[Cost]:
    """
    The cost of an agent's own accesses: `touched` bytes by memory space, one after the other, and the cycles of bank
    `conflicts` in shared memory (`layouts.banks`).
    """
    costs: list[Cost] = []
    for space, size in touched.items():
        rate = table.memory_rate(space)
        if rate.latency:
            longer = conflicts if space == "shared" else 0
            costs.append(Cost(PORTS.get(space, LOAD_STORE), rate.occupancy(size) + longer, rate.latency))
    return costs


def own_cost(op: Operation, computed: Sequence[Attribute], table: TimingTable) -> Cost:
    """
    The cost of what the agent computes itself in `op`: numbers, or tiles of numbers, of the types `computed`. An op
    that nobody knows, which a check takes for a function, counts as one that computes its results.
    """
    costs = costs_of(op)
    if not computed or costs in (Costs.NOTHING, Costs.ELSEWHERE) or op.has_trait(ConstantLike) or _renames(op):
        return FREE
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


def _elements(type_: Attribute) -> int:
    return prod(extent for extent in shape_of(type_) if extent > 0)


def conflict_cycles(op: Operation) -> int:
    """
    How much longer `op` occupies shared memory because of bank conflicts, all its warps together; 0 for an op that does
    not say by which instruction it moves a tile.
    """
    if isinstance(op, ConvertLayoutOp) and op.atom_plan is not None and op.atom_plan.tag.data == 1:
        return _between(op.source.type, op.result.type, str(op.atom_plan.atom_descriptor))
    if isinstance(op, CopyOp) and op.destination is not None and op.atom_descriptor is not None:
        return _between(op.source.type, op.destination.type, str(op.atom_descriptor))
    return 0


@lru_cache(maxsize=256)
def _between(source: Attribute, target: Attribute, atom: str) -> int:
    """Of a tile that `atom` moves; 0 unless one of the types says registers and the other one memory, to the bit."""
    first, second, bits = linear_layout(source), linear_layout(target), element_bits(source)
    if first is None or second is None or bits is None or is_memory(first) == is_memory(second):
        return 0
    registers, memory = (second, first) if is_memory(first) else (first, second)
    access = accesses(registers, memory, bits, matrix="matrix" in atom)[0]
    return conflicts(access) * registers.input_size(WARP)
