"""
How long each op of a loop takes under a machine model: what its agent spends, which engines it occupies, and when what
it starts is complete.

Under a model with a timing table these are the numbers of the timed machine (`machine/time/`), worked out from types
instead of an execution: a synchronous op keeps its agent until it is done, a handshake for its signal, and an
asynchronous one for its issue. Under the published model they are the resource vector of the op's class.

Ops with regions are one node: what is in them adds up, times the trip count of a loop where it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.costs.op_costs import (
    Cost,
    Costs,
    access_costs,
    conflict_cycles,
    costs_of,
    own_cost,
    typed_product_cost,
)
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.memory.effects import stated_effects
from tileas_xdsl.analysis.memory.objects import storage_spaces
from tileas_xdsl.analysis.pipeline_steps import own_steps
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    ProduceOneAsyncOp,
    ProducerAcquireOp,
    ProducerCommitOp,
    ProducerWriteOp,
)
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp
from tileas_xdsl.dialects.scalars import is_number, packed_bits
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.interfaces import EffectResource
from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.engines import Engine
from tileas_xdsl.targets.machine_model import MachineModel, SlotUse
from tileas_xdsl.targets.machine_models import AGENT

MOST_TRIPS = 1 << 12
"""A nested loop of more turns counts as this many."""


@dataclass(frozen=True)
class OpTime:
    """Cycles of one op."""

    agent: int = 0
    """For which it keeps its agent."""
    engines: tuple[tuple[str, int], ...] = ()
    """The engines that it occupies from its start, and for how long."""
    completion: int | None = None
    """For an asynchronous op: the cycle, counted from its start, in which what it started is complete."""

    @property
    def latency(self) -> int:
        """The cycle, counted from its start, in which all of it is over."""
        return self.agent if self.completion is None else self.completion

    @property
    def uses(self) -> tuple[SlotUse, ...]:
        agent = (SlotUse(AGENT, self.agent),) if self.agent else ()
        return (*agent, *(SlotUse(engine, rows) for engine, rows in self.engines if rows))

    def then(self, other: OpTime) -> OpTime:
        """One after the other, by the same agent."""
        return OpTime(self.agent + other.agent, (*self.engines, *other.engines), self.completion or other.completion)


def op_time(op: Operation, model: MachineModel) -> OpTime:
    """The time of `op` under `model`, with all that is in its regions."""
    if model.timing is None:
        return _published_time(op, model)
    return _time(op, model.timing)


# Timing tables --------------------------------------------------------------------------------------------------------


def _time(op: Operation, table: TimingTable) -> OpTime:
    match op:
        case ProducerAcquireOp() | ConsumerWaitOp() | AsyncWaitOp() | FutureWaitOp():
            return OpTime(table.signal)
        case ProducerCommitOp() | ConsumerReleaseOp():
            return OpTime(table.signal * len(op.tokens))
        case ProduceOp():
            return _produce(op, table)
        case ConsumeOp():
            return _consume(op, table)
        case ProducerWriteOp():
            return _inside(op, table).then(_slot_write(op, table))
        case ConsumerReadOp():
            return _inside(op, table)
        case AsyncDotOp():
            cost = typed_product_cost(op, table)
            if cost is None:
                return OpTime(table.instruction)
            done = table.instruction + cost.occupancy + cost.latency
            return OpTime(table.instruction, _engine(cost), done)
        case _:
            return _plain(op, table)


def _engine(cost: Cost) -> tuple[tuple[str, int], ...]:
    return () if cost.engine is None else ((cost.engine, cost.occupancy),)


def _plain(op: Operation, table: TimingTable) -> OpTime:
    product = typed_product_cost(op, table)
    if product is not None:
        return OpTime(product.occupancy + product.latency, _engine(product))
    if op.regions and any(region.blocks for region in op.regions):
        return _own(op, table).then(_inside(op, table)) if not _is_control(op) else _inside(op, table)
    return _own(op, table)


def _is_control(op: Operation) -> bool:
    return isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp)


def _own(op: Operation, table: TimingTable) -> OpTime:
    """Accesses to memory, and the arithmetic of what is not hidden behind them."""
    touched = touched_bytes(op)
    accesses = access_costs(touched, table, conflict_cycles(op))
    views = any(is_view(operand) for operand in op.operands)
    costs = list(accesses)
    if (not accesses or views) and not (accesses and _only_moves(op)):
        costs.append(own_cost(op, _computed(op), table))
    total = OpTime()
    for cost in costs:
        total = total.then(OpTime(cost.occupancy + cost.latency, _engine(cost)))
    return total


def _computed(op: Operation) -> list[Attribute]:
    """The types of the results that are numbers, or tiles of numbers."""
    return [result.type for result in op.results if is_number(result.type)]


def _only_moves(op: Operation) -> bool:
    """Whether `op` takes tiles to another place and computes nothing."""
    return costs_of(op) is Costs.NOTHING


def touched_bytes(op: Operation) -> dict[str, int]:
    """The bytes that `op` itself reads and writes, by memory space; registers are left out."""
    touched: dict[str, int] = {}
    for effect in stated_effects(op) or ():
        if effect.target is None or isinstance(effect.target, EffectResource):
            continue
        space = memory_space(effect.target.type)
        if space == "register":
            continue
        touched[space] = touched.get(space, 0) + _bytes_through(op, effect.target)
    if isinstance(op, ConvertLayoutOp) and (space := memory_space(op.result.type)) != "register":
        touched[space] = touched.get(space, 0) + tile_bytes(op.result.type)
    return touched


def memory_space(type_: Attribute) -> str:
    """`register`, `shared`, `tensor` or `global`: where the storage of a value of `type_` lies."""
    spaces = storage_spaces(type_)
    return next(iter(sorted(spaces - {"generic"})), "global") if spaces else "global"


def _bytes_through(op: Operation, target: SSAValue) -> int:
    """The bytes that an access to `target` moves: of a tile all; of an array as much as the op brings or takes away."""
    if not isinstance(target.type, MemRefType) and isinstance(target.type, ShapedType) and is_view(target):
        static = tile_bytes(target.type)
        if static:
            return static
    moved = [tile_bytes(v.type) for v in (*op.results, *op.operands) if v is not target and not is_array(v.type)]
    return max(moved, default=0)


def is_array(type_: Attribute) -> bool:
    """Whether values of `type_` are arrays or views of arrays, and not tiles or numbers."""
    return isinstance(type_, MemRefType) or (isinstance(type_, ShapedType) and any(e < 0 for e in type_.get_shape()))


def tile_bytes(type_: Attribute) -> int:
    """The bytes of a tile or a number; 0 of what has no fixed size."""
    shape = type_.get_shape() if isinstance(type_, ShapedType) else ()
    if any(extent < 0 for extent in shape):
        return 0
    return -(-prod(shape) * packed_bits(type_) // 8)


def _inside(op: Operation, table: TimingTable) -> OpTime:
    """All that is in the regions of `op`, one after the other; of a branch the longer arm; of a loop every turn."""
    arms = [_sum(_time(inner, table) for inner in _ops_of(op, number)) for number in range(len(op.regions))]
    if not arms:
        return OpTime()
    if isinstance(op, scf.IfOp):
        return max(arms, key=lambda arm: (arm.agent, arm.latency))
    total = _sum(arms)
    trips = static_trip_count(op) if isinstance(op, scf.ForOp) else None
    return _times(total, min(trips, MOST_TRIPS)) if trips is not None else total


def _ops_of(op: Operation, region: int) -> Iterator[Operation]:
    for block in op.regions[region].blocks:
        yield from block.ops


def _sum(times: Iterator[OpTime] | Sequence[OpTime]) -> OpTime:
    total = OpTime()
    for time in times:
        total = total.then(time)
    return total


def _times(time: OpTime, count: int) -> OpTime:
    engines = tuple((engine, rows * count) for engine, rows in time.engines)
    return replace(time, agent=time.agent * count, engines=engines)


# Pipelines ------------------------------------------------------------------------------------------------------------


def _produce(op: ProduceOp, table: TimingTable) -> OpTime:
    steps = own_steps(op)
    signals = table.signal * (steps.takes + steps.gives)
    if not isinstance(op, ProduceOneAsyncOp):
        return OpTime(signals).then(_inside(op, table)).then(_slot_write(op, table) if steps.moves else OpTime())
    scalars = _sum(OpTime(_scalars(inner, table)) for inner in op.walk() if inner is not op)
    engine = op.producer_kind.data if op.producer_kind is not None else Engine.TMA
    rate = table.copy_rate(engine)
    busy = rate.occupancy(_payload_bytes(op))
    agent = signals + scalars.agent + table.instruction
    return OpTime(agent, ((engine, busy),), agent + busy + rate.latency)


def _scalars(op: Operation, table: TimingTable) -> int:
    """The operations on scalars in an asynchronous region; its accesses are paid for by the work."""
    if touched_bytes(op) or op.regions or isinstance(op, ClassifiedOp) or not op.results:
        return 0
    if any(isinstance(result.type, ShapedType) for result in op.results):
        return 0
    return own_cost(op, _computed(op), table).occupancy


def _payload_bytes(op: RegionOp) -> int:
    types: Sequence[Attribute] = op.payload or [value.type for value in op.yielded]
    return sum(map(tile_bytes, types))


def _slot_write(op: RegionOp, table: TimingTable) -> OpTime:
    """A synchronous write of a slot: the bytes of its payload, to where it lies; a view is read from where it is."""
    given = [value for value in (*op.yielded, *op.values) if isinstance(value.type, ShapedType)]
    written: Sequence[Attribute] = op.payload or [value.type for value in given]
    touched: dict[str, int] = {}
    for type_ in (*written, *(value.type for value in given if is_view(value))):
        space = memory_space(type_)
        if space != "register":
            touched[space] = touched.get(space, 0) + tile_bytes(type_)
    return _sum([OpTime(c.occupancy + c.latency, _engine(c)) for c in access_costs(touched, table)])


def _consume(op: ConsumeOp, table: TimingTable) -> OpTime:
    steps = own_steps(op)
    return OpTime(table.signal * (steps.takes + steps.gives)).then(_inside(op, table))


# The published model --------------------------------------------------------------------------------------------------


def _published_time(op: Operation, model: MachineModel) -> OpTime:
    vector = model.vectors[op_class(op)]
    engines = tuple((use.slot, use.rows) for use in vector.uses)
    return OpTime(0, engines, vector.latency)


def op_class(op: Operation) -> str:
    """The class under which the published model has a vector for `op`."""
    if isinstance(op, ProduceOneAsyncOp):
        return "tma_load" if op.producer_kind is None or op.producer_kind.data == Engine.TMA else "shared_write"
    if isinstance(op, AsyncDotOp) or costs_of(op) is Costs.PRODUCT:
        return "product"
    if isinstance(op, ClassifiedOp | AsyncWaitOp | FutureWaitOp):
        return "handshake"
    touched = touched_bytes(op)
    for space, name in (("shared", "shared_read"), ("tensor", "tensor_read"), ("global", "global_read")):
        if space in touched:
            return name
    if not any(isinstance(result.type, ShapedType) for result in op.results):
        return "scalar" if op.results else "nothing"
    if costs_of(op) is Costs.NOTHING:
        return "nothing"
    return "special" if costs_of(op) is Costs.SPECIAL_RESULTS else "arithmetic"
