"""
The dependence graph of a loop body, and the check of a schedule against it.

Input: an `scf.for`. Output: the ops of its body and the edges between them. An edge from `p` to `c` at distance `d`
says that `p` in iteration `j` must be done before `c` in iteration `j + d`:

    %a = memref.load %A[%i]           %a -> store, flow, 0       (the value)
    memref.store %a, %A[%i + 1]       store -> load, flow, 1     (the next iteration loads what this one stores)

Edges come from five sources:

1. SSA values, also through loop-carried arguments;
2. memory: two accesses that may touch the same bytes, at least one of them a write;
3. ops whose effects are unknown: they keep their order with every effect;
4. asynchronous products: who reads an accumulator comes after the wait for it, and before the product that adds to it
   next (`analysis/product_waits.py`); a wait is no reason to hold back that product;
5. *providers*: functions that a dialect adds for what memory does not show, such as a pipeline slot that must be
   released before it is acquired again.

Distances are exact where the subscripts are linear in the induction variable, else the least possible.

A *placement* gives each op a stage and an order: the op runs iteration `j` at time `(j + stage, order)`. A schedule is
legal when every edge goes forward in time; `violations` lists the edges that do not.

Edges between accesses to one location that follow from other edges are left out, so their number stays linear in the
number of accesses. Different function arguments do not alias unless the caller says so.

An assertion counts as a read of all memory: no write passes it, for what was written may be seen when it ends the
program; loads do.

Tiles and arrays share no bytes, whatever the address space of the array: the storage of tiles is the compiler's.
Memrefs of all spaces may, by generic addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.distances import smallest_distance
from tileas_xdsl.analysis.induction import LoopIndices, static_trip_count
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.accesses import AccessReader, BodyAccess
from tileas_xdsl.analysis.memory.objects import MemoryRoot, ObjectKind, may_alias
from tileas_xdsl.analysis.memory.places import AccessPlace

if TYPE_CHECKING:
    from tileas_xdsl.analysis.product_waits import ProductChain

ASYNC_PRODUCT = "nv_tileas.async.dot"
"""Ops of this name are issued, and read and write their operands until somebody waits for them."""


@dataclass(frozen=True)
class Placement:
    """The place of an op in a schedule: it runs iteration `j` in slot `j + stage`, at position `order` of that slot."""

    stage: int
    order: int

    def precedes(self, other: Placement, distance: int = 0) -> bool:
        """Whether the op placed here runs iteration `j` before the op at `other` runs iteration `j + distance`."""
        return (self.stage, self.order) < (other.stage + distance, other.order)

    def least_distance(self, other: Placement) -> int:
        """The least distance at which the op placed here precedes the op at `other`."""
        return self.stage - other.stage + (self.order >= other.order)


class DependenceKind(Enum):
    """Why one op must precede another."""

    FLOW = "flow"
    """The sink reads what the source made or wrote."""
    ANTI = "anti"
    """The sink overwrites what the source reads."""
    OUTPUT = "output"
    """Both write."""
    CONTROL = "control"
    """At least one of the two has effects that are unknown."""
    TOKEN = "token"
    """The sink waits for a token of the source."""


@dataclass(frozen=True)
class DependenceEdge:
    """
    `source` in iteration `j` must precede `sink` in iteration `j + distance`; `through` is what the dependence goes
    through.
    """

    source: Operation
    sink: Operation
    kind: DependenceKind
    distance: int
    through: SSAValue | str

    def __str__(self) -> str:
        return f"{self.kind.value} from '{self.source.name}' through {self.carrier}, distance {self.distance}"

    @property
    def carrier(self) -> str:
        """The name of what the dependence goes through, for diagnostics."""
        if isinstance(self.through, str):
            return self.through
        return f"%{self.through.name_hint}" if self.through.name_hint else "an unnamed value"

    def holds(self, placements: Mapping[Operation, Placement]) -> bool:
        """Whether the placements run the source before the sink."""
        return placements[self.source].precedes(placements[self.sink], self.distance)


EdgeProvider = Callable[[LoopValues], Iterable[DependenceEdge]]
"""Gives edges that neither values nor memory show; see `dependence_graph`."""


@dataclass(frozen=True)
class DependenceGraph:
    """The ops of a loop body in program order, and the edges between them, ordered by source, sink and distance."""

    loop: scf.ForOp
    ops: tuple[Operation, ...]
    edges: tuple[DependenceEdge, ...]

    @cached_property
    def position(self) -> Mapping[Operation, int]:
        """The place of each op in program order."""
        return {op: index for index, op in enumerate(self.ops)}

    @cached_property
    def successors(self) -> Mapping[Operation, tuple[DependenceEdge, ...]]:
        """The edges that leave each op."""
        return self._by_op(lambda edge: edge.source)

    @cached_property
    def predecessors(self) -> Mapping[Operation, tuple[DependenceEdge, ...]]:
        """The edges that reach each op."""
        return self._by_op(lambda edge: edge.sink)

    def violations(self, placements: Mapping[Operation, Placement]) -> tuple[DependenceEdge, ...]:
        """The edges that run backward under `placements`, which places every op. Empty for a legal schedule."""
        return tuple(edge for edge in self.edges if not edge.holds(placements))

    def keeping(self, wanted: Callable[[DependenceEdge], bool]) -> DependenceGraph:
        """The graph without the edges that `wanted` rejects, such as those that versioning a buffer removes."""
        return replace(self, edges=tuple(edge for edge in self.edges if wanted(edge)))

    def _by_op(self, end: Callable[[DependenceEdge], Operation]) -> Mapping[Operation, tuple[DependenceEdge, ...]]:
        lists: dict[Operation, list[DependenceEdge]] = {op: [] for op in self.ops}
        for edge in self.edges:
            lists[end(edge)].append(edge)
        return {op: tuple(edges) for op, edges in lists.items()}


def dependence_graph(
    loop: scf.ForOp,
    *,
    arguments_alias: bool = False,
    providers: Sequence[EdgeProvider] = (),
) -> DependenceGraph:
    """
    The dependences between the ops of the body of `loop`.

    With `arguments_alias`, different function arguments may be the same memory. Each of `providers` is called once and
    adds edges between ops of the body.
    """
    values = LoopValues(loop)
    memory = _MemoryEdges(values, arguments_alias)
    edges = [*_value_edges(values), *memory.edges(), *memory.product_edges()]
    for provider in providers:
        edges.extend(provider(values))
    return DependenceGraph(loop, values.ops, _in_order(edges, values))


def _in_order(edges: Iterable[DependenceEdge], values: LoopValues) -> tuple[DependenceEdge, ...]:
    """Each edge once, by source, sink, distance and kind; of two that differ only in `through` the first stays."""
    position, kinds = values.position, list(DependenceKind)
    unique: dict[tuple[int, int, int, int], DependenceEdge] = {}
    for edge in edges:
        key = (position[edge.source], position[edge.sink], edge.distance, kinds.index(edge.kind))
        unique.setdefault(key, edge)
    return tuple(unique[key] for key in sorted(unique))


# Values -------------------------------------------------------------------------------------------------------------


def is_token(value_type: Attribute) -> bool:
    """Whether values of this type are completion tokens: `!async.token`, `!gpu.async.token` and the like."""
    return value_type.name.rsplit(".", 1)[-1] == "token"


def _value_edges(values: LoopValues) -> Iterator[DependenceEdge]:
    for op in values.ops:
        for value in values.read_by(op):
            origin = values.origin_of(value)
            if origin.result is None:
                continue
            kind = DependenceKind.TOKEN if is_token(value.type) else DependenceKind.FLOW
            yield DependenceEdge(origin.result.op, op, kind, origin.distance, value)


# Memory -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Location:
    """The accesses to one place, in program order. Distances are computed between locations, not between accesses."""

    place: AccessPlace
    opaque: bool
    accesses: tuple[BodyAccess, ...]

    @cached_property
    def is_written(self) -> bool:
        return any(access.writes for access in self.accesses)

    @cached_property
    def last(self) -> Sequence[BodyAccess]:
        """The last write and the reads after it: later iterations must come after these."""
        tail: list[BodyAccess] = []
        for access in reversed(self.accesses):
            tail.append(access)
            if access.writes:
                break
        return tail

    @cached_property
    def first_write(self) -> Sequence[BodyAccess]:
        """The first write, if there is one."""
        return [access for access in self.first if access.writes]

    @cached_property
    def first(self) -> Sequence[BodyAccess]:
        """The first write and the reads before it: earlier iterations must come before these."""
        head: list[BodyAccess] = []
        for access in self.accesses:
            head.append(access)
            if access.writes:
                break
        return head


class _MemoryEdges:
    """The edges between the accesses of one loop body."""

    def __init__(self, values: LoopValues, arguments_alias: bool) -> None:
        self.position = values.position
        self.arguments_alias = arguments_alias
        self.trips = static_trip_count(values.loop)
        self.values = values
        self.reader = AccessReader(LoopIndices(values.loop))
        self.chains = _chains(values)
        self.locations = _locations(values, self.reader, self._product_waits())

    def _product_waits(self) -> Mapping[Operation, None]:
        if not self.chains:
            return {}
        from tileas_xdsl.analysis.product_waits import product_waits

        return product_waits(self.chains)

    def product_edges(self) -> Iterator[DependenceEdge]:
        """The edges between the waits for asynchronous products, the readers of their tiles, and the products."""
        for chain in self.chains:
            for op in self.values.ops:
                if op in chain.waits or not self._reads_tile(op, chain):
                    continue
                for wait in chain.waits:
                    yield self._in_turn(wait, op, DependenceKind.FLOW)
                for product in chain.products:
                    if product is not op:
                        yield self._in_turn(op, product, DependenceKind.ANTI)

    def _reads_tile(self, op: Operation, chain: ProductChain) -> bool:
        """Whether `op` touches the tile of `chain` otherwise than by adding to it."""
        if op in chain.products or op.name == chain.products[0].name:
            return chain.values_read_by(op, self.values)
        if chain.values_read_by(op, self.values):
            return True
        tile = [item for product in chain.products for item in self.reader.objects_of(product.c)]
        return any(
            may_alias(mine, theirs, arguments_alias=self.arguments_alias)
            for access in self.reader.accesses_of(op)
            for mine in access.place.objects
            for theirs in tile
        )

    def _in_turn(self, first: Operation, second: Operation, kind: DependenceKind) -> DependenceEdge:
        """The two keep the order that they have in the body, from the last run of `first` to the next of `second`."""
        distance = 0 if self.position[first] < self.position[second] else 1
        return DependenceEdge(first, second, kind, distance, "a product's accumulator")

    def edges(self) -> Iterator[DependenceEdge]:
        """All pairs of locations that may meet, also of one with itself."""
        neighbours = _Neighbours(self.locations)
        for index, first in enumerate(self.locations):
            for number in neighbours.of(index):
                second = self.locations[number]
                if first.is_written or second.is_written:
                    yield from self._between(first, second)

    def _between(self, first: _Location, second: _Location) -> Iterator[DependenceEdge]:
        if not self._may_meet(first, second):
            return
        pairs = [(first, second)] if first is second else [(first, second), (second, first)]
        for source, sink in pairs:
            in_one_iteration = self._distance(source, sink, 0) == 0
            if in_one_iteration:
                yield from self._within_iteration(source, sink)
            later = self._distance(source, sink, 1)
            if later is not None:
                yield from self._across_iterations(source, sink, later, in_one_iteration)

    def _may_meet(self, first: _Location, second: _Location) -> bool:
        if first.opaque or second.opaque:
            return True
        return any(
            may_alias(a, b, arguments_alias=self.arguments_alias)
            for a in first.place.objects
            for b in second.place.objects
        )

    def _distance(self, source: _Location, sink: _Location, least: int) -> int | None:
        if source.opaque or sink.opaque:
            return least
        return smallest_distance(source.place, sink.place, least, self.trips)

    def _within_iteration(self, source: _Location, sink: _Location) -> Iterator[DependenceEdge]:
        """
        Edges at distance 0: from accesses of `source` to the accesses of `sink` that follow them.

        A write of `sink` is ordered before all later accesses of `sink`, so edges to those would be redundant.
        """
        write: BodyAccess | None = None
        reads: list[BodyAccess] = []
        upcoming = iter(source.accesses)
        candidate = next(upcoming, None)
        for access in sink.accesses:
            while candidate is not None and self.position[candidate.op] < self.position[access.op]:
                if candidate.writes:
                    write, reads = candidate, []
                else:
                    reads.append(candidate)
                candidate = next(upcoming, None)
            if write is not None:
                yield self._edge(write, access, 0)
            if access.writes:
                yield from (self._edge(read, access, 0) for read in reads)
                write, reads = None, []

    def _across_iterations(
        self, source: _Location, sink: _Location, distance: int, also_within: bool
    ) -> Iterator[DependenceEdge]:
        for earlier in source.last:
            for later in sink.first if earlier.writes else sink.first_write:
                # Where the two also meet in one iteration and come in this order, distance 0 says more.
                if not (also_within and self.position[earlier.op] < self.position[later.op]):
                    yield self._edge(earlier, later, distance)

    def _edge(self, source: BodyAccess, sink: BodyAccess, distance: int) -> DependenceEdge:
        if source.opaque or sink.opaque:
            return DependenceEdge(source.op, sink.op, DependenceKind.CONTROL, distance, "unknown effects")
        through = next((str(item) for item in source.place.objects if item in sink.place.objects), "memory")
        kind = (
            DependenceKind.ANTI if not source.writes else DependenceKind.OUTPUT if sink.writes else DependenceKind.FLOW
        )
        return DependenceEdge(source.op, sink.op, kind, distance, through)


class _Neighbours:
    """
    Which locations to compare with which. Resources meet only themselves, allocations themselves and unknown objects
    (`may_alias`): so a body with many rings has few pairs to look at.
    """

    def __init__(self, locations: Sequence[_Location]) -> None:
        self.locations = locations
        self.everything: list[int] = []
        """Opaque locations."""
        self.unknown: list[int] = []
        self.named: list[int] = []
        """With an object that is neither a resource nor an allocation."""
        self.holding: dict[MemoryRoot, list[int]] = {}
        for number, location in enumerate(locations):
            kinds = {item.kind for item in location.place.objects}
            if location.opaque:
                self.everything.append(number)
            if ObjectKind.UNKNOWN in kinds:
                self.unknown.append(number)
            if kinds - {ObjectKind.RESOURCE, ObjectKind.ALLOCATION}:
                self.named.append(number)
            for item in location.place.objects:
                self.holding.setdefault(item, []).append(number)

    def of(self, index: int) -> Sequence[int]:
        """The locations from number `index` on that the one there may meet, in order."""
        location = self.locations[index]
        kinds = {item.kind for item in location.place.objects}
        if location.opaque or ObjectKind.UNKNOWN in kinds:
            return range(index, len(self.locations))
        found = dict.fromkeys([index, *self.everything])
        for item in location.place.objects:
            found.update(dict.fromkeys(self.holding[item]))
        if ObjectKind.ALLOCATION in kinds:
            found.update(dict.fromkeys(self.unknown))
        if kinds - {ObjectKind.RESOURCE, ObjectKind.ALLOCATION}:
            found.update(dict.fromkeys(self.named))
        return sorted(number for number in found if number >= index)


def _chains(values: LoopValues) -> Sequence[ProductChain]:
    # The dialect of the products is large: it need not be loaded for a body without any.
    if not any(op.name == ASYNC_PRODUCT for op in values.ops):
        return ()
    from tileas_xdsl.analysis.product_waits import product_chains

    return product_chains(values)


def _locations(values: LoopValues, reader: AccessReader, without: Mapping[Operation, None]) -> list[_Location]:
    """The accesses of the body, gathered by place; those of the ops in `without` are left out."""
    gathered: dict[tuple[AccessPlace, bool], list[BodyAccess]] = {}
    for op in values.ops:
        if op in without:
            continue
        for access in reader.accesses_of(op):
            gathered.setdefault((access.place, access.opaque), []).append(access)
    return [_Location(place, opaque, tuple(accesses)) for (place, opaque), accesses in gathered.items()]
