"""
What ops do to tiles in shared memory that have a place of their own, and to arrays: which bytes, by which threads or
engine.

    copy %held, %tile               threads write, each what it holds
    %v = convert_layout %tile       threads read
    async.tiled_load .., %tile      threads write, by copies that go on until they are waited for
    async.dot %tile, %b, %acc       the tensor core reads, until the product is waited for, and adds to tensor memory
    copy %sum -> registers          threads read tensor memory, each warp its own lanes
    async.tiled_tma_store ..        one thread lets an engine read, until it has waited for that
    tiled_load, tiled_store         threads read or write a tile of an array, each what it holds

Barriers in memory hand slots of rings over, so threads need not wait for each other there. But engines reach memory by
another proxy than the loads and stores of threads (PTX ISA, "Async proxy"), in slots as in other places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, Operation, Region, SSAValue, Use

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.columns import Columns, columns_in, stores_nothing
from tileas_xdsl.analysis.threads.coordinates import TileOfArray, coordinate_of
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.analysis.threads.liveness import REARRANGES, agent_of, seen_from
from tileas_xdsl.analysis.threads.places import OTHER_SLOT, Place, place_of, webs_of
from tileas_xdsl.analysis.threads.products import factors_of, reads_shared_memory
from tileas_xdsl.analysis.threads.rings import Rings, Slots
from tileas_xdsl.analysis.threads.stores import stores_behind, waits_at_once
from tileas_xdsl.analysis.threads.teams import BYTE, Warps, warpgroups_of, warps_of
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.analysis.value_flow import names_behind
from tileas_xdsl.dialects.cute import CuteAtomAttr
from tileas_xdsl.dialects.nv_tileaa.atomics import (
    AtomicCasOp,
    AtomicRmwOp,
    GatherLoadOp,
    ScatterStoreOp,
    TiledAtomicRmwOp,
)
from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp, DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp, TiledLoadOp, TiledStoreOp, WriteOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.attributes import AtomPlanAttr
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.layout import linear_layout
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.pipeline import PipelineYieldOp, ProduceOneAsyncOp, ProduceOneOp, ProducerAcquireOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.layouts.distributed import WARP, WARP_SIZE, WARPGROUP, spare_bits
from tileas_xdsl.layouts.linear import LinearLayout


class Proxy(StrEnum):
    """By which path memory is reached."""

    GENERIC = "generic"
    """Loads and stores of threads, `cp.async` among them."""
    ASYNC = "async"
    """TMA and wgmma."""


@dataclass(frozen=True)
class Holder:
    """Which thread touches which element of a tile: the one that holds it in registers."""

    registers: LinearLayout
    memory: LinearLayout
    has_copies: bool
    """Whether several threads hold an element. One of them stores it, and all load it."""


Object = Place | Slots | Columns | SSAValue | None
"""
Bytes of shared memory, the slots of a ring, columns of tensor memory, or an array in global memory by its name; None:
any array.
"""


class Span(StrEnum):
    """When an access takes place."""

    AT_ONCE = "at once"
    LAST = "last"
    """It only meets what was before: one thread says for all others that it is over."""
    FIRST = "first"
    """It only meets what comes behind: one thread has learned for all others that they may go on."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """What an op does to bytes of shared memory, or to an array."""

    op: Operation
    object: Object
    writes: bool
    proxy: Proxy = Proxy.GENERIC
    slot: frozenset[SSAValue] = frozenset()
    """Of a place: the names of the number of the slot that it goes to; empty: of any."""
    tile: TileOfArray | None = None
    """Of an array: the tile that it goes to; None: any of it."""
    holder: Holder | None = None
    """None: any thread touches any byte."""
    warps: Warps | None = None
    """None: any warp touches any byte."""
    grain: int = 1
    """Of how many neighbouring warps it is one that touches a byte: `warps` says no more than which of these groups."""
    met: int = 0
    """In groups of how many neighbouring warps their threads have met since; 0: not at all."""
    under_way: bool = False
    """Whether it may go on until it is waited for."""
    span: Span = Span.AT_ONCE
    barrier: Operation | None = None
    """In front of which op the barrier stands that its threads have last passed since; of a slot: the op that has
    handed it over."""
    handed_over: int = 0
    """How many slots of the ring the agent has handed over since; none are counted that make no difference."""
    fenced: bool = False
    """Of a slot that has been handed over: whether its threads have made a fence since."""
    arrived: frozenset[Operation] = frozenset()
    """The ops at which all threads of the agent have arrived behind that fence, when they had filled a slot."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Of what tells accesses of a walk apart: they are put into sets again and again."""
        return hash((self.op, self.writes, self.slot, self.tile, self.met, self.under_way, self.barrier, self.fenced))

    def meets(self, later: Access) -> bool:
        """Whether a byte may be touched by both, in different threads, and written by one."""
        if not (self.writes or later.writes) or self.span is Span.LAST or later.span is Span.FIRST:
            return False
        if not _may_overlap(self.object, later.object) or self._is_product_before(later):
            return False
        if self._is_apart(later) or self._is_of_the_same_threads(later):
            return False
        return not self._is_of_the_same_warps(later)

    def _is_product_before(self, later: Access) -> bool:
        """Whether both are products on one sum in tensor memory: the tensor core makes them in order."""
        return isinstance(self.object, Columns) and self.proxy is later.proxy is Proxy.ASYNC

    def _is_apart(self, later: Access) -> bool:
        """Whether they go to different slots of one place, or to different tiles of one array."""
        if self.object is None or self.object != later.object:
            return False
        if self.tile is not None and later.tile is not None:
            return self.tile.is_apart(later.tile)
        return any(differ(one, another) for one in self.slot for another in later.slot)

    def _is_of_the_same_threads(self, later: Access) -> bool:
        """Whether each byte is touched by one and the same thread in both: its own order is that of the program."""
        if self.holder is None or self.holder != later.holder or not _are_same(self.object, later.object):
            return False
        if agent_of(self.op) is not agent_of(later.op):
            return False
        return (self.writes and later.writes) or not self.holder.has_copies

    def _is_of_the_same_warps(self, later: Access) -> bool:
        """Whether each byte is touched in both by warps that have met in between."""
        if self.warps is None or later.warps is None or self.met < max(self.grain, later.grain):
            return False
        if agent_of(self.op) is not agent_of(later.op) or len(self.warps) != len(later.warps):
            return False
        if any(one // self.met != other // self.met for one, other in zip(self.warps, later.warps, strict=True)):
            return False
        return isinstance(self.object, Place) and _are_same(self.object, later.object)

    @cached_property
    def names(self) -> frozenset[SSAValue]:
        """The values that say where it goes."""
        return frozenset({*self.slot, *(() if self.tile is None else self.tile.names)})

    def without(self, names: Callable[[SSAValue], bool]) -> Access:
        """The same access, when such names stand for other numbers."""
        if not any(map(names, self.names)):
            return self
        kept = frozenset(name for name in self.slot if not names(name))
        return replace(self, slot=kept, tile=None if self.tile is None else self.tile.without(names))


def _are_same(one: Object, other: Object) -> bool:
    """Whether two objects are the same array, or the same bytes: tiles of several webs may share a place."""
    if isinstance(one, Place) and isinstance(other, Place) and one.slots == other.slots == 1:
        return one.overlaps(other) and (one.offset, one.bytes) == (other.offset, other.bytes)
    return one == other


def _may_overlap(one: Object, other: Object) -> bool:
    if isinstance(one, Slots) or isinstance(other, Slots):
        return one == other or any(isinstance(each, Place) and each.over_rings for each in (one, other))
    if isinstance(one, Columns) or isinstance(other, Columns):
        return one == other
    if isinstance(one, Place) or isinstance(other, Place):
        return isinstance(one, Place) and isinstance(other, Place) and one.overlaps(other)
    return one is None or other is None or one is other


def differ(one: SSAValue, other: SSAValue) -> bool:
    """Whether two numbers of slots are sure to be different."""
    numbers = constant_integer(one), constant_integer(other)
    if None not in numbers:
        return numbers[0] != numbers[1]
    return one in avoided_by(other) or other in avoided_by(one)


def avoided_by(slot: SSAValue) -> set[SSAValue]:
    """The numbers that a choice of a slot compares, and does not choose."""
    if not isinstance(slot.owner, arith.SelectOp) or OTHER_SLOT not in slot.owner.attributes:
        return set()
    found: set[SSAValue] = set()
    parts: list[SSAValue] = [slot.owner.cond, slot.owner.lhs, slot.owner.rhs]
    while parts:
        match parts.pop().owner:
            case arith.CmpiOp() as op:
                found.add(op.lhs)
            case arith.OrIOp() as op:
                parts += op.operands
            case arith.SelectOp() as op if OTHER_SLOT not in op.attributes:
                parts += op.operands
            case _:
                pass
    return found


WRITING = (TiledStoreOp, TiledAtomicRmwOp, ScatterStoreOp, AtomicRmwOp, AtomicCasOp)
OF_ARRAYS = (TiledLoadOp, LoadOp, GatherLoadOp, *WRITING)

# The accesses of a function -------------------------------------------------------------------------------------------

Rule = Callable[["Accesses", Any], Iterator[Access]]


class Accesses:
    """The accesses of the ops of a function, whose tiles have places."""

    def __init__(self, function: Operation) -> None:
        self.rings = Rings(function)
        self._places: dict[SSAValue, Place] = {}
        for web in webs_of(function):
            place = place_of(web.makers[0])
            if place is not None:
                self._places |= dict.fromkeys(web.names, place)
        self._columns = columns_in(function)
        shape = block_shape_of(function)
        switch = next((op for op in function.walk() if isinstance(op, AgentSwitchOp)), None)
        self._warps_in_front = 0 if switch is None or shape is None else shape[0] // WARP_SIZE
        """How many warps run the code in front of agents; 0 where there are no agents."""
        self._agents: dict[SSAValue, set[Region]] = {}
        self._written: set[SSAValue] = set()
        for op in function.walk():
            if isinstance(op, OF_ARRAYS) and (agent := agent_of(op)) is not None:
                array = _array(array_behind(op.base))
                self._agents.setdefault(array, set()).add(agent)
                self._written |= {array} if isinstance(op, WRITING) else set()

    def of(self, op: Operation) -> Sequence[Access]:
        """What an op does, once."""
        rule = RULES.get(type(op))
        found = () if rule is None else tuple(rule(self, op))
        return (*found, *self._reads_of_slots(op, {access.object for access in found}))

    def _reads_of_slots(self, op: Operation, known: Collection[Object]) -> Iterator[Access]:
        """Threads read the slots that an op takes, and of which its rule says nothing."""
        for number, operand in enumerate(op.operands):
            slots = [each for each in self.rings.of_tile(operand) if each not in known]
            if slots and not isinstance(op, (*REARRANGES, PipelineYieldOp)) and names_behind(Use(op, number)) is None:
                yield from (Access(op=op, object=each, writes=False) for each in slots)

    def of_several_agents(self, op: Operation) -> list[SSAValue]:
        """The arrays that the agent of an op touches, and another one, too, and that one of them writes."""
        agent = agent_of(op)
        touched = [array for array, agents in self._agents.items() if agent in agents and len(agents) > 1]
        return [array for array in touched if array in self._written]

    def of_place(
        self,
        op: Operation,
        tile: SSAValue,
        *,
        writes: bool,
        proxy: Proxy = Proxy.GENERIC,
        under_way: bool = False,
        held: SSAValue | None = None,
        atom: object = None,
    ) -> Iterator[Access]:
        """
        The access to a tile: to its place, or to the slots where it may lie; none where it is in registers. Threads
        that hold `held` of it use the instructions of `atom`.
        """
        holder = None if held is None else self._plain_holder(op, held, tile, atom)
        warps = None if held is None else self._warps(op, held, tile)
        tile = seen_from(tile)
        place, slot = self._places.get(tile), frozenset[SSAValue]()
        if isinstance(tile.owner, ViewOp) and tile.owner.indices and isinstance(tile.owner.source.owner, Operation):
            place, slot = place_of(tile.owner.source.owner), frozenset([tile.owner.indices[0]])
        if place is not None:
            who = Access(op=op, object=place, writes=writes, proxy=proxy, holder=holder, warps=warps)
            yield replace(who, slot=slot, under_way=under_way)
        for slots in self.rings.of_tile(tile):
            yield Access(op=op, object=slots, writes=writes, proxy=proxy)

    def of_columns(
        self, op: Operation, sum_: SSAValue, *, writes: bool, held: SSAValue | None = None
    ) -> Iterator[Access]:
        """The access to a tile in tensor memory: by the threads that hold `held` of it, or by a product (None)."""
        columns = self._columns.get(sum_)
        if columns is None:
            return
        if held is None:
            yield Access(op=op, object=columns, writes=True, proxy=Proxy.ASYNC, under_way=True)
            return
        registers, memory = tile_of(held.type), linear_layout(sum_.type)
        assert registers is not None
        assert memory is not None
        holder = Holder(registers.layout, memory, has_copies=False)
        yield Access(op=op, object=columns, writes=writes, holder=holder)

    def of_array(
        self, op: Operation, base: SSAValue, indices: Sequence[SSAValue], held: Tile, *, writes: bool
    ) -> Access:
        """The access to a tile of an array, by those who hold it in registers, or by anybody."""
        holder = self._holder(op, held.layout, held.layout) if held.in_registers else None
        tile = TileOfArray(held.layout.shape, tuple(map(coordinate_of, indices)))
        return Access(op=op, object=self.array(base), writes=writes, tile=tile, holder=holder)

    def array(self, base: SSAValue) -> SSAValue | None:
        """The array that `base` is, where it is an argument as a whole; else None."""
        array = _array(base)
        return array if isinstance(array, BlockArgument) and array.type == base.type else None

    def _plain_holder(self, op: Operation, registers: SSAValue, memory: SSAValue, atom: object) -> Holder | None:
        """Who touches what by plain loads and stores; by `ldmatrix` and `stmatrix` lanes touch what others hold."""
        held, lies = tile_of(registers.type), tile_of(memory.type)
        if held is None or lies is None or not held.in_registers or lies.in_registers or not _is_plain(atom):
            return None
        return self._holder(op, held.layout, lies.layout)

    def _holder(self, op: Operation, registers: LinearLayout, memory: LinearLayout) -> Holder:
        copies = self._has_more_warps(op, registers) or any(spare_bits(registers).values())
        return Holder(registers, memory, copies)

    def _has_more_warps(self, op: Operation, registers: LinearLayout) -> bool:
        """In front of agents the block may have more warps than the layout: each of these is a copy of one of those."""
        return agent_of(op) is None and self._warps_in_front > registers.input_size(WARP)

    def _warps(self, op: Operation, registers: SSAValue, memory: SSAValue) -> Warps | None:
        """The warps that touch the bytes of a tile, each by what its threads hold of it; None where several may."""
        held, lies = tile_of(registers.type), tile_of(memory.type)
        if held is None or lies is None or not held.in_registers or lies.in_registers or lies.bits % BYTE:
            return None
        if not lies.layout.is_injective:
            return None
        return None if self._has_more_warps(op, held.layout) else warps_of(held.layout, lies.layout, lies.bits // BYTE)


def _array(base: SSAValue) -> SSAValue:
    """The argument of the function that an array is, also where agents get it as theirs."""
    switch = base.block.parent_op() if isinstance(base, BlockArgument) else None
    if isinstance(base, BlockArgument) and isinstance(switch, AgentSwitchOp):
        return _array(switch.arguments[base.index])
    return base


def is_written(load: TiledLoadOp) -> bool:
    """Whether the function of a load writes the array that it reads, under any name that agents have for it."""
    function, array = enclosing_function(load), _array(load.base)
    assert function is not None
    writers = (op for op in function.walk() if isinstance(op, (WriteOp, *WRITING)))
    return any(_array(array_behind(op.base)) is array for op in writers)


# Rules ----------------------------------------------------------------------------------------------------------------


def _load(accesses: Accesses, op: TiledLoadOp) -> Iterator[Access]:
    held = tile_of(op.value.type)
    if held is not None:
        yield accesses.of_array(op, op.base, op.indices, held, writes=False)


def _load_into(accesses: Accesses, op: AsyncTiledLoadOp) -> Iterator[Access]:
    tile = tile_of(op.destination.type)
    if tile is not None:
        goes_on = op.done.first_use is not None  # else it fills a slot, whose barriers say when it is over
        read = accesses.of_array(op, op.view, op.coords, tile, writes=False)
        yield replace(read, under_way=goes_on)
        yield from accesses.of_place(op, op.destination, writes=True, under_way=True)


def _store(accesses: Accesses, op: TiledStoreOp) -> Iterator[Access]:
    held = tile_of(op.value.type)
    if held is not None:
        yield accesses.of_array(op, op.base, op.indices, held, writes=True)


def _load_number(accesses: Accesses, op: LoadOp | GatherLoadOp) -> Iterator[Access]:
    """All threads load a number, or each some elements, anywhere in the array."""
    yield Access(op=op, object=accesses.array(op.base), writes=False)


def _scatter(accesses: Accesses, op: ScatterStoreOp | AtomicRmwOp | AtomicCasOp) -> Iterator[Access]:
    """Each thread writes some elements, anywhere in the array."""
    yield Access(op=op, object=accesses.array(op.base), writes=True)


def _update(accesses: Accesses, op: TiledAtomicRmwOp) -> Iterator[Access]:
    """Updates of one array commute; an ordinary access of it does not."""
    yield Access(op=op, object=accesses.array(array_behind(op.base)), writes=True)


def array_behind(base: SSAValue) -> SSAValue:
    """The array that a value is, or that it is a view of."""
    return base.owner.source if isinstance(base.owner, BlockTileOp) else base


def _copy(accesses: Accesses, op: CopyOp) -> Iterator[Access]:
    for result in () if stores_nothing(op) else op.outputs:
        yield from accesses.of_columns(op, result, writes=True, held=op.source)
        yield from accesses.of_columns(op, op.source, writes=False, held=result)
    if op.destination is not None:
        yield from accesses.of_place(op, op.destination, writes=True, held=op.source, atom=op.atom_descriptor)


def _convert(accesses: Accesses, op: ConvertLayoutOp) -> Iterator[Access]:
    atom = op.atom_plan.atom_descriptor if isinstance(op.atom_plan, AtomPlanAttr) else None
    yield from accesses.of_place(op, op.source, writes=False, held=op.result, atom=atom)


def _product(accesses: Accesses, op: DotOp | AsyncDotOp) -> Iterator[Access]:
    if isinstance(op, AsyncDotOp):
        yield from accesses.of_columns(op, op.d, writes=True)
    if reads_shared_memory(op):
        for operand in factors_of(op):
            goes_on = isinstance(op, AsyncDotOp)
            yield from accesses.of_place(op, operand, writes=False, proxy=Proxy.ASYNC, under_way=goes_on)


def _tma_store(accesses: Accesses, op: TiledTmaStoreOp) -> Iterator[Access]:
    goes_on = not waits_at_once(op)
    for access in accesses.of_place(op, op.source, writes=False, proxy=Proxy.ASYNC, under_way=goes_on):
        yield _by_warpgroups(op, access)


def _by_warpgroups(store: TiledTmaStoreOp, access: Access) -> Access:
    """The access to the tile of a store, of which each warpgroup may store its rows."""
    tile = tile_of(store.source.type)
    if store.parts == 1 or tile is None:
        return access
    return replace(access, warps=warpgroups_of(tile.layout, tile.bits // BYTE, store.parts), grain=WARPGROUP)


def _await_stores(accesses: Accesses, op: AsyncWaitOp) -> Iterator[Access]:
    """One thread has waited for the stores that it has started: the others do not know yet that they are over."""
    for store in (each for each in stores_behind(op.token) if not waits_at_once(each)):
        for access in accesses.of_place(op, store.source, writes=False):
            yield replace(_by_warpgroups(store, access), span=Span.FIRST)


def _fill(accesses: Accesses, op: ProduceOp) -> Iterator[Access]:
    """One thread that fills a slot by TMA arrives for its whole agent: it says that all the others are done."""
    if is_by_tma(op):
        for array in accesses.of_several_agents(op):
            yield Access(op=op, object=array, writes=True, span=Span.LAST)
        if (slots := accesses.rings.filled_by(op)) is not None:
            yield Access(op=op, object=slots, writes=True, proxy=Proxy.ASYNC)


def _acquire(accesses: Accesses, op: ProducerAcquireOp) -> Iterator[Access]:
    """One thread waits until it may fill a slot by TMA: the others do not know yet that agents have read it."""
    if any(isinstance(use.operation, ProduceOp) and is_by_tma(use.operation) for use in op.results[0].uses):
        for array in accesses.of_several_agents(op):
            yield Access(op=op, object=array, writes=True, span=Span.FIRST)


RULES: dict[type[Operation], Rule] = {
    TiledLoadOp: _load,
    AsyncTiledLoadOp: _load_into,
    TiledStoreOp: _store,
    LoadOp: _load_number,
    GatherLoadOp: _load_number,
    TiledAtomicRmwOp: _update,
    ScatterStoreOp: _scatter,
    AtomicRmwOp: _scatter,
    AtomicCasOp: _scatter,
    CopyOp: _copy,
    ConvertLayoutOp: _convert,
    DotOp: _product,
    AsyncDotOp: _product,
    TiledTmaStoreOp: _tma_store,
    AsyncWaitOp: _await_stores,
    ProduceOneOp: _fill,
    ProduceOneAsyncOp: _fill,
    ProducerAcquireOp: _acquire,
}
"""What each op does. Of arrays that TMA copies nobody else writes, or reads (`lower-tma-load-store-to-async`)."""


PLAIN = ("ld.shared", "st.shared")


def _is_plain(atom: object) -> bool:
    """Whether the atom of an op is one of plain loads and stores."""
    if not isinstance(atom, CuteAtomAttr):
        return False
    words = next((part.data for part in atom.parameters if isinstance(part, StringAttr)), "")
    return words.startswith(PLAIN)
