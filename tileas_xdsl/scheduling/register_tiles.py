"""
Tiles in registers, in the problem of a loop: from when to when each lies with which agent, and how many words it takes.

    %s, %t = async.dot ...        64 words from its issue on, since then nothing else may be there (PTX ISA, `wgmma`)
    %x = mulf %s, %scale          the same registers: each number takes the place of that of which it is made
    %m = reduce %x                none of its own: less than a word of each thread
    %p = exp2 %x                  the same registers again
    %h = truncf %p                half of them; %p goes when all that reads it is over
    async.dot %h, %v, %out        %h until the product is complete; the result where %out has been

A tile lives from the start of what makes it until the end of the last op that reads it, of a product until that is
complete. An op that computes a tile hands the registers of one operand over to its result: of that which a product adds
to, and of the largest that has room for it otherwise. Where nothing else can read that operand any more, both are one
life; an accumulator, which goes round from iteration to iteration, is there for all time. Expanded and broadcast rows
are the rows themselves, which each thread reads again. What is less than a word of each thread counts among the working
registers, and so do copies of one number. A tile that moves to another agent lives with its maker until it is given,
with the other from when it is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.loop_values import LoopValues, OriginKind
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.dialects.nv_tileaa.structure import BroadcastOp, ExpandDimsOp, SplatOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.layouts.distributed import WARP as WARPS
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import RingUse
from tileas_xdsl.scheduling.moved_values import MovedTile
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.targets.warps import WARP, WARP_GROUP

RENAMES = (BroadcastOp, ExpandDimsOp)
"""Ops whose result each thread reads from where the operand is."""


@dataclass(frozen=True)
class TileLife:
    """A tile in the registers of an agent: from the start of op `definition` until its last use."""

    name: str
    agent: str
    """The slot that the agent is."""
    definition: int
    uses: tuple[RingUse, ...]
    words: int
    """Of each thread."""

    def copies(self, starts: Mapping[int, int], ii: int) -> int:
        """How many iterations have such a tile at once."""
        begin = starts[self.definition]
        end = max((starts[use.op] + use.hold + ii * use.distance for use in self.uses), default=begin)
        return max(1, -(-(end - begin) // ii))


@dataclass(frozen=True)
class TilesInRegisters:
    """What the agents of a loop hold."""

    lives: tuple[TileLife, ...]
    kept: Mapping[str, int]
    """For each agent the words of tiles from before the loop that it reads in each iteration."""
    room: int
    """Words of each thread of a computing agent, beside its working registers."""


def words_of(type_: Attribute) -> int:
    """Whole registers of each thread that hold a tile of the type."""
    return tile_bytes(type_) // (4 * WARP * warps_of(type_))


def warps_of(type_: Attribute) -> int:
    """The warps that hold a tile of the type together; a warpgroup where no layout in registers says."""
    tile = tile_of(type_)
    return WARP_GROUP if tile is None or not tile.in_registers else tile.layout.input_size(WARPS)


def tiles_in_registers(
    found: LoopProblem, runs: Mapping[str, Sequence[Operation]], moves: Sequence[MovedTile], room: int
) -> TilesInRegisters:
    """The tiles of `found`, whose ops the agents `runs` run, where `moves` go from one to the other."""
    tiles = _Tiles(found)
    held = {agent: _Held(tiles, agent, ops, moves) for agent, ops in runs.items()}
    lives = tuple(life for its in held.values() for life in its.lives)
    return TilesInRegisters(lives, {agent: its.kept for agent, its in held.items()}, room)


@dataclass(frozen=True)
class _Read:
    """An op that reads a tile of `distance` iterations before."""

    op: Operation
    distance: int
    takes_over: bool
    """Whether its result has the registers of the tile."""


class _Tiles:
    """Which tiles the ops of a loop make, and who reads them."""

    def __init__(self, found: LoopProblem) -> None:
        self.found = found
        self.values = LoopValues(found.loop)
        self.reads: dict[OpResult, list[_Read]] = {}
        for op in self.values.ops:
            for result, distance in self._read_by(op):
                own = self._handed_over(op) == (result, distance)
                self.reads.setdefault(result, []).append(_Read(op, distance, own))

    def _read_by(self, op: Operation) -> list[tuple[OpResult, int]]:
        """The tiles in registers that `op` reads, with how many iterations ago they were made."""
        if isinstance(op, RENAMES):
            return []
        made = [self._made(value) for value in self.values.read_by(op)]
        return list(dict.fromkeys(it for it in made if it is not None and words_in_registers(it[0])))

    def _made(self, value: SSAValue) -> tuple[OpResult, int] | None:
        """The result that `value` is, or expands, and how many iterations ago it was made."""
        distance = 0
        while self.values.is_own(value) and (origin := self.values.origin_of(value)).result is not None:
            distance += origin.distance
            if not isinstance(origin.result.op, RENAMES):
                return origin.result, distance
            value = origin.result.op.operands[0]
        return None

    def _handed_over(self, op: Operation) -> tuple[OpResult, int] | None:
        """The tile whose registers the result of `op` has."""
        words = max(map(words_in_registers, op.results), default=0)
        if not words or op.regions or isinstance(op, SplatOp):
            return None
        if isinstance(op, AsyncDotOp):
            return self._made(op.c)
        tiles = [it for it in self._read_by(op) if words_in_registers(it[0]) >= words]
        return max(tiles, key=lambda it: words_in_registers(it[0]), default=None)

    def takes_registers(self, value: OpResult) -> bool:
        """Whether `value` is a tile of its own: copies of one number are, where a product adds to them."""
        added_to = any(isinstance(read.op, AsyncDotOp) for read in self.reads.get(value, ()))
        return words_in_registers(value) > 0 and (added_to or not _is_one_number(value))

    def heir(self, value: OpResult, mine: Collection[Operation]) -> tuple[OpResult, int] | None:
        """
        The result that has the registers of `value` after it, and how many iterations later its op runs: where all
        other ops of `mine` that read the value are over before that, by dependences, so that the two are one life.
        """
        reads = [read for read in self.reads.get(value, ()) if read.op in mine]
        for last in (read for read in reads if read.takes_over):
            result = next(it for it in last.op.results if words_in_registers(it))
            others = [read for read in reads if read is not last]
            if words_in_registers(result) == words_in_registers(value) and all(
                self._is_over_before(it, last) for it in others
            ):
                return result, last.distance
        return None

    def _is_over_before(self, one: _Read, other: _Read) -> bool:
        """Whether, of one value, the op of `one` is over when that of `other` starts, in every schedule."""
        if one.distance != other.distance:
            return False
        end = self.until_over(one.op)
        return self._least_delays(end.op).get(self.values.position[other.op], -1) >= end.hold

    def _least_delays(self, start: int) -> dict[int, int]:
        """By how many cycles other ops of the same iteration start later than op number `start`, at least."""
        delays, waiting = {start: 0}, [start]
        while waiting:
            source = waiting.pop()
            for edge in self.found.problem.outgoing[source]:
                later = delays[source] + edge.latency
                if edge.distance == 0 and later > delays.get(edge.sink, -1):
                    delays[edge.sink] = later
                    waiting.append(edge.sink)
        return delays

    def until_over(self, op: Operation, agent: str = "", distance: int = 0) -> RingUse:
        """Until `op` has read what it reads: a product when it is complete."""
        work = self.found.works.get(op)
        if work is not None:
            return RingUse(work, self.found.problem.ops[work].latency, distance)
        return RingUse(self.values.position[op], self.rows(op, agent), distance)

    def rows(self, op: Operation, agent: str) -> int:
        """For how long `op` keeps its agent; where the model knows of no agents, until it is over."""
        timed = self.found.problem.ops[self.values.position[op]]
        return sum(use.rows for use in timed.uses if use.slot == agent) or timed.latency

    def from_before(self, ops: Sequence[Operation]) -> int:
        """Words of the tiles from before the loop, or handed on unchanged, that `ops` read in each iteration."""
        read = dict.fromkeys(self._outside(value) for op in ops for value in _operands(op))
        return sum(words_in_registers(value) for value in read if value is not None and not _is_one_number(value))

    def _outside(self, value: SSAValue) -> SSAValue | None:
        if not self.values.is_own(value):
            return value
        origin = self.values.origin_of(value)
        return value if origin.kind in (OriginKind.CONSTANT, OriginKind.ROTATING) else None


class _Held:
    """What lies in the registers of one agent, which runs `ops`."""

    def __init__(self, tiles: _Tiles, agent: str, ops: Sequence[Operation], moves: Sequence[MovedTile]) -> None:
        self.tiles = tiles
        self.agent = agent
        self.mine = set(ops)
        self.given = {move.value: move for move in moves if move.giver == agent}
        self.kept = tiles.from_before(ops)
        made = [it for op in ops if not isinstance(op, RENAMES) for it in op.results if tiles.takes_registers(it)]
        heirs = {value: tiles.heir(value, self.mine) for value in made if value not in self.given}
        self.heirs = {value: heir for value, heir in heirs.items() if heir is not None}
        self.lives = self._chains(made) + [
            self._taken(it) for it in moves if it.taker == agent and words_in_registers(it.value)
        ]

    def _chains(self, made: Sequence[OpResult]) -> list[TileLife]:
        """One life for all values that have the same registers; a circle of them is kept for all time."""
        inherited = {result for result, _ in self.heirs.values()}
        heads = [value for value in made if value not in inherited]
        lives = [self._chain(value) for value in heads]
        seen = {value for head in heads for value, _ in self._followed(head)}
        for value in made:
            if value not in seen:
                circle = self._followed(value)
                seen |= {it for it, _ in circle}
                last, distance = circle[-1]
                self.kept += words_in_registers(value) * (distance + self.heirs[last][1])
        return lives

    def _followed(self, value: OpResult) -> list[tuple[OpResult, int]]:
        """`value` and those that have its registers after it, each with how many iterations later that is."""
        chain = [(value, 0)]
        while (heir := self.heirs.get(chain[-1][0])) is not None and heir[0] is not value:
            chain.append((heir[0], chain[-1][1] + heir[1]))
        return chain

    def _chain(self, head: OpResult) -> TileLife:
        last, later = self._followed(head)[-1]
        own = self.tiles.values.position[last.op]
        uses = [RingUse(own, self.tiles.rows(last.op, self.agent), later)]
        reads = (read for read in self.tiles.reads.get(last, ()) if read.op in self.mine)
        uses += [self._use(read, later) for read in reads]
        if last in self.given:
            uses.append(self._until_over(self.tiles.values.ops[self.given[last].given_at], later))
        return self._life(head, self.tiles.values.position[head.op], uses)

    def _taken(self, move: MovedTile) -> TileLife:
        """A tile of another agent, which it takes in front of its first use."""
        uses = [self._until_over(self.tiles.values.ops[user], 0) for user in move.users]
        return self._life(move.value, move.users[0], uses)

    def _life(self, value: OpResult, definition: int, uses: Sequence[RingUse]) -> TileLife:
        name = f"%{value.name_hint}" if value.name_hint else self.tiles.found.problem.ops[definition].name
        return TileLife(name, self.agent, definition, tuple(uses), words_in_registers(value))

    def _use(self, read: _Read, later: int) -> RingUse:
        if read.takes_over:
            return RingUse(self.tiles.values.position[read.op], 0, read.distance + later)
        return self._until_over(read.op, read.distance + later)

    def _until_over(self, op: Operation, distance: int) -> RingUse:
        return self.tiles.until_over(op, self.agent, distance)


def _operands(op: Operation) -> list[SSAValue]:
    return [operand for inner in op.walk() for operand in inner.operands]


def words_in_registers(value: SSAValue) -> int:
    """Words of each thread that a tile in registers takes; 0 of all else."""
    if memory_space(value.type) != "register" or is_view(value):
        return 0
    return words_of(value.type)


def _is_one_number(value: SSAValue) -> bool:
    """Whether all numbers of a tile are one, which needs no tile to be read from."""
    op = value.owner
    if isinstance(op, arith.ConstantOp):
        return isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat()
    return isinstance(op, SplatOp)
