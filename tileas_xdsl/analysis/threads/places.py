"""
Where the tiles of shared memory lie that have no slot of a ring, and for how long.

    %first = alloc_tensor                                       one web: %first, %now, %next and the loop's result
    scf.for iter_args(%now = %first) {                          are names of tiles that are one after the other,
      %next = alloc_tensor; fill %next; read %now      ->       or two at a time: %now is read behind %next, so the
      scf.yield %next                                           web takes turns in two slots
    }

A *web* is all names of shared tiles that control flow connects. It has as many slots as tiles of it are live at a time.
Two webs may share bytes if no name of one is live where a tile of the other begins, and one team runs both: what
threads of several agents do has no order but that of their barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i32
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.threads.filling import is_way_to_slot
from tileas_xdsl.analysis.threads.liveness import Liveness, agent_of, uses_of
from tileas_xdsl.analysis.threads.products import Underway
from tileas_xdsl.analysis.threads.tiles import Tile, tile_of
from tileas_xdsl.analysis.value_flow import Families, names_behind, values_in
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp

LEAST_ALIGNMENT = 128
"""Bytes: what a copy by TMA asks for in shared memory (PTX ISA, "cp.async.bulk.tensor")."""


@dataclass(frozen=True, kw_only=True)
class Web:
    """All names of shared tiles that control flow connects."""

    names: tuple[SSAValue, ...]
    makers: tuple[AllocTensorOp, ...]
    """The ops that begin a tile of it; at least one. The one whose tile takes its bytes first stands first."""

    @property
    def tile(self) -> Tile:
        """What the type of the tiles says."""
        found = tile_of(self.makers[0].tensor.type)
        assert found is not None
        return found

    @property
    def foreign(self) -> SSAValue | None:
        """A name whose tile comes from elsewhere: the slot of a ring. None where there is none."""
        owners = ((name, name.owner) for name in self.names)
        return next((name for name, owner in owners if not _is_known(owner)), None)

    @property
    def products(self) -> tuple[AsyncDotOp, ...]:
        """The asynchronous products that read a tile of it."""
        users = (use.operation for name in self.names for use in uses_of(name))
        return tuple(dict.fromkeys(user for user in users if isinstance(user, AsyncDotOp)))


def _is_known(owner: object) -> bool:
    """Whether a name is made by control flow, by an allocation, or is that of no tile."""
    if not isinstance(owner, Operation):
        return True
    return isinstance(owner, AllocTensorOp | CreateNoneOp) or bool(owner.regions)


def webs_of(function: Operation) -> list[Web]:
    """The webs of a function that need a place, in the order of their first makers."""
    names = [value for value in values_in(function) if _lies_in_shared_memory(value)]
    families = Families()
    for name in names:
        for use in name.uses:
            for behind in names_behind(use) or ():
                families.unite(name, behind)
    members: dict[SSAValue, list[SSAValue]] = {}
    for name in names:
        members.setdefault(families.of(name), []).append(name)
    positions = {op: number for number, op in enumerate(function.walk())}
    found = [
        Web(names=tuple(web), makers=tuple(sorted(_makers(web), key=lambda maker: positions[beginning(maker)])))
        for web in members.values()
    ]
    return [web for web in found if web.makers]


def _lies_in_shared_memory(value: SSAValue) -> bool:
    tile = tile_of(value.type)
    return tile is not None and not tile.in_registers


def _makers(names: Sequence[SSAValue]) -> list[AllocTensorOp]:
    owners = [name.owner for name in names]
    return [
        op for op in owners if isinstance(op, AllocTensorOp) and op.stages is None and not is_way_to_slot(op.tensor)
    ]


def beginning(maker: AllocTensorOp) -> Operation:
    """The first op that uses a tile, or holds one that does: from there on it takes its bytes."""
    block = maker.parent
    assert block is not None
    users = {block.find_ancestor_op_in_block(use.operation) for use in maker.tensor.uses}
    op = maker.next_op
    while op is not None and op not in users:
        op = op.next_op
    return op or maker


# Places ---------------------------------------------------------------------------------------------------------------


PLACE = "nv_tileas.place"
"""The attribute of an allocation that says where its bytes lie."""


OTHER_SLOT = "nv_tileas.other_slot"
"""The attribute of a selection that chooses the number of a slot: it is none of those that it compares."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The bytes of a web."""

    number: int
    bytes: int
    """Of a slot, up to the next one."""
    slots: int = 1
    align: int = LEAST_ALIGNMENT
    """A multiple of the period of the swizzle."""
    offset: int = 0
    over_rings: int = 0
    """1 where it lies in the slots of rings that are empty for good, and the offset counts from the first of these."""
    """Of the first byte in the shared memory of the kernel."""

    @staticmethod
    def of(number: int, tile: Tile, slots: int) -> Place:
        """The place of so many tiles, nobody says where."""
        align = max(LEAST_ALIGNMENT, tile.period)
        bytes_ = tile.bytes if slots == 1 else -(-tile.bytes // align) * align
        return Place(number=number, bytes=bytes_, slots=slots, align=align)

    @property
    def extent(self) -> int:
        """Of all slots, in bytes."""
        return self.slots * self.bytes

    @property
    def attribute(self) -> DictionaryAttr:
        """What an allocation says of it."""
        said = {"number": self.number, "offset": self.offset, "bytes": self.bytes, "slots": self.slots}
        said |= {"over_rings": self.over_rings} if self.over_rings else {}
        return DictionaryAttr({name: IntegerAttr(value, i32) for name, value in said.items()})

    @property
    def end(self) -> int:
        """Behind the last byte."""
        return self.offset + self.extent

    def at(self, start: int) -> Place:
        """The same place, at the first offset from `start` on where it may lie."""
        return replace(self, offset=-(-start // self.align) * self.align)

    def overlaps(self, other: Place) -> bool:
        """Whether a byte belongs to both."""
        return self.over_rings == other.over_rings and self.offset < other.end and other.offset < self.end


def place_of(op: Operation) -> Place | None:
    """The place that an op says by its attribute; None where it says none."""
    said = op.attributes.get(PLACE)
    if not isinstance(said, DictionaryAttr):
        return None
    return Place(**{name: value.value.data for name, value in said.data.items() if isinstance(value, IntegerAttr)})


@dataclass(frozen=True)
class Turns:
    """In which slot each tile of a web lies."""

    slots: int
    others: Mapping[AllocTensorOp, tuple[SSAValue, ...]]
    """By maker: the names of the web that are live there, whose slots it leaves alone."""


def turns_of(web: Web, liveness: Liveness) -> Turns:
    """How many tiles of a web there are at a time: where one begins, those that begin later are not there yet."""
    others: dict[AllocTensorOp, tuple[SSAValue, ...]] = {}
    for number, maker in enumerate(web.makers):
        point, later = beginning(maker), {each.tensor for each in web.makers[number:]}
        live = [name for name in web.names if name not in later and liveness.is_live_behind(name, point)]
        others[maker] = tuple(live)
    return Turns(1 + max(map(len, others.values())), others)


def packed(places: Sequence[Place], apart: Callable[[int, int], bool], limit: int) -> list[Place]:
    """
    The same places with offsets: two that are not `apart` may share bytes, by their numbers.

    Places of one extent take turns. Only where they do not fit into `limit` bytes so, all others may overlap, too: what
    shares bytes has to be waited for.
    """
    found = _offered(places, lambda one, other: one.extent != other.extent or apart(one.number, other.number))
    if max((place.end for place in found), default=0) <= limit:
        return found
    largest = sorted(places, key=lambda place: -place.extent)
    tight = _offered(largest, lambda one, other: apart(one.number, other.number))
    return sorted(tight, key=lambda place: place.number)


def packed_with_rings(
    places: Sequence[Place], apart: Callable[[int, int], bool], limit: int, over_rings: Collection[int]
) -> list[Place]:
    """
    The same, where those with the numbers `over_rings` may lie in the slots of rings: if `limit`, the bytes beside
    these, is too little for all.
    """
    found = packed(places, apart, limit)
    if max((place.end for place in found), default=0) <= limit or not over_rings:
        return found
    inside = [replace(place, over_rings=1) for place in places if place.number in over_rings]
    beside = [place for place in places if place.number not in over_rings]
    tight = [*_offered(inside, lambda one, other: apart(one.number, other.number)), *packed(beside, apart, limit)]
    return sorted(tight, key=lambda place: place.number)


def _offered(places: Sequence[Place], forbidden: Callable[[Place, Place], bool]) -> list[Place]:
    """Each place, at the lowest offset where it overlaps none of those before that it is forbidden to."""
    found: list[Place] = []
    for place in places:
        starts = sorted({0, *(start for other in found for start in (other.offset, other.end))})
        fitting = (place.at(start) for start in starts)
        found.append(
            next(
                each for each in fitting if not any(each.overlaps(other) and forbidden(each, other) for other in found)
            )
        )
    return found


class Apart:
    """Which webs may not share bytes."""

    def __init__(self, webs: Sequence[Web], liveness: Liveness, underway: Underway) -> None:
        self._webs, self._liveness, self._underway = webs, liveness, underway

    def __call__(self, one: int, other: int) -> bool:
        """Whether the webs with these numbers may not."""
        first, second = self._webs[one], self._webs[other]
        teams = {agent_of(maker) for maker in (*first.makers, *second.makers)}
        return len(teams) > 1 or self._is_read_at(first, second) or self._is_read_at(second, first)

    def _is_read_at(self, web: Web, later: Web) -> bool:
        """Whether a tile of `web` is still read where one of `later` begins."""
        products = set(web.products)
        for point in map(beginning, later.makers):
            if any(self._liveness.is_live_behind(name, point) for name in web.names):
                return True
            if products & self._underway.at(point):
                return True
        return False
