"""
Random queue programs: agents that pass tiles to each other through queues, as IR text.

Every program comes from a *skeleton*, a tree of loops, branches and transfers. Each agent walks the whole skeleton and
emits its part of it: the puts of the queues that it fills, the gets of those that it drains, and the loops and branches
around them. Queues lead from earlier agents to later ones. So all agents take the transfers in one order, and the
programs are free of deadlocks whatever the depths are, and also when slots are held until the end of a block.

    loop i {                        agent 0                      agent 1
      transfer q0: 0 -> 1           for i { put q0, f(acc, i) }  for i { %v = get q0; acc = g(acc, %v)
      if i even { transfer q1 }       if i even { put q1 }         if i even { get q1 } }
    }

An agent keeps one tile, its accumulator: what it puts is computed from it, what it gets is folded into it, and at the
end it is stored in the agent's row of `%out`. Some programs have no agents: then one thread puts and gets.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

TILE = "tensor<4xf32>"
SHARED = "tensor<4xf32, #smem>"
HALVES = "tensor<2x2xf32>"
SHARED_HALVES = "tensor<2x2xf32, #smem>"
ROWS = 8
"""Rows of the array `%out`: one for each agent."""

TRIPS = (0, 1, 4)
"""What `%n`, from which the bounds of outer loops are computed, is worth in turn."""


# Skeletons ------------------------------------------------------------------------------------------------------------


@dataclass
class Queue:
    """A queue from agent `source` to agent `target`."""

    number: int
    source: int
    target: int
    depth: int | None
    payload: tuple[str, ...]
    transfers: int = 0
    """How many transfers of the skeleton go through it."""
    put_by_index: bool = False
    get_by_index: bool = False

    @property
    def name(self) -> str:
        return f"%q{self.number}"

    @property
    def type(self) -> str:
        depth = "" if self.depth is None else f", depth = {self.depth}"
        return f"!nv_tileaa.queue<[{', '.join(self.payload)}]{depth}>"

    @property
    def holds_views(self) -> bool:
        return SHARED in self.payload


@dataclass
class Transfer:
    """One put and one get."""

    queue: Queue
    put_region: bool
    get_region: bool
    used_late: bool
    """Whether the consumer uses the tiles at the end of the block rather than at once."""
    relay: Transfer | None = None
    """A transfer whose get stands inside the region of this one's put."""


@dataclass
class Loop:
    """`for i = lower to lower + trips * step`, as an `scf.for` or an `scf.while`."""

    lower: int
    step: int
    trips: int | None
    """None for `%n` trips."""
    is_while: bool
    body: list[Node] = field(default_factory=list["Node"])


@dataclass
class Branch:
    """`if` on the induction variable around, or on `%n`."""

    limit: int
    then: list[Node] = field(default_factory=list["Node"])
    otherwise: list[Node] = field(default_factory=list["Node"])


Node = Transfer | Loop | Branch


@dataclass(frozen=True)
class QueueProgram:
    """A module with one function `@f(%n: index, %out: memref<8x4xf32>)`, and what to call it with."""

    seed: int
    text: str
    queues: tuple[Queue, ...]
    agents: int
    """How many agent groups there are; 0 for a program of one thread."""

    @property
    def argument_sets(self) -> list[dict[str, int]]:
        return [{"n": trips} for trips in TRIPS]


def queue_program(seed: int) -> QueueProgram:
    """The program of this seed."""
    return _Generator(seed).generate()


# Making a skeleton ----------------------------------------------------------------------------------------------------


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.agents = self.random.choice([0, 2, 2, 2, 3, 3, 4])
        self.queues: list[Queue] = []

    def generate(self) -> QueueProgram:
        for number in range(self.random.randint(1, 3) if self.agents < 3 else self.random.randint(self.agents - 1, 4)):
            self.queues.append(self._queue(number))
        skeleton = self._block(depth=0, queues=self.queues)
        for queue in self.queues:
            if queue.transfers == 0:
                skeleton.append(self._loop_around(queue))
        text = _Emitter(self.random, self.agents, self.queues).program(skeleton)
        return QueueProgram(self.seed, text, tuple(self.queues), self.agents)

    def _queue(self, number: int) -> Queue:
        rng = self.random
        source = (
            0
            if self.agents == 0
            else min(number, self.agents - 2)
            if number < self.agents
            else rng.randrange(self.agents - 1)
        )
        target = 0 if self.agents == 0 else rng.randint(source + 1, self.agents - 1)
        payload = tuple(rng.choice([TILE, TILE, SHARED]) for _ in range(rng.choice([1, 1, 1, 2, 3])))
        # Without agents a queue is filled before it is drained, so any depth will do; unspecified ones never block.
        depth = rng.choice([1, 2, 2, 3, 4, None])
        return Queue(number, source, target, depth, payload)

    def _block(self, depth: int, queues: Sequence[Queue]) -> list[Node]:
        nodes: list[Node] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if depth < 2 and kind < 0.45:
                nodes.append(self._loop(depth, queues))
            elif depth < 2 and kind < 0.6:
                branch = Branch(self.random.randint(1, 3), self._block(depth + 1, queues))
                if self.random.random() < 0.5:
                    branch.otherwise = self._block(depth + 1, queues)
                nodes.append(branch)
            else:
                nodes.append(self._transfer(self.random.choice(queues)))
        return nodes

    def _loop(self, depth: int, queues: Sequence[Queue]) -> Loop:
        rng = self.random
        trips = rng.choice([None, None, 3]) if depth == 0 else 2
        loop = Loop(rng.choice([0, 0, 0, 1, 2]), rng.choice([1, 1, 1, 2, 3]), trips, rng.random() < 0.15)
        loop.body = self._block(depth + 1, queues)
        return loop

    def _loop_around(self, queue: Queue) -> Loop:
        """A loop of its own for a queue, in which its slots may be named by index."""
        loop = Loop(0, 1, None, is_while=False)
        loop.body.append(self._transfer(queue))
        queue.put_by_index, queue.get_by_index = self.random.random() < 0.5, self.random.random() < 0.5
        return loop

    def _transfer(self, queue: Queue) -> Transfer:
        rng = self.random
        queue.transfers += 1
        transfer = Transfer(queue, rng.random() < 0.4, rng.random() < 0.4, rng.random() < 0.5)
        feeders = [q for q in self.queues if self.agents and q.target == queue.source and q is not queue]
        if feeders and rng.random() < 0.3:
            transfer.put_region = True
            transfer.relay = self._transfer(rng.choice(feeders))
            transfer.relay.relay, transfer.relay.used_late = None, False
        return transfer


# Writing it down ------------------------------------------------------------------------------------------------------


def turns_in(nodes: Sequence[Node], agent: int, *, gets: bool) -> bool:
    """Whether `agent` gets, or puts, anywhere below `nodes`."""
    for node in nodes:
        match node:
            case Transfer():
                both = [node] if node.relay is None else [node, node.relay]
                if any((t.queue.target if gets else t.queue.source) == agent for t in both):
                    return True
            case Loop():
                if turns_in(node.body, agent, gets=gets):
                    return True
            case Branch():
                if turns_in([*node.then, *node.otherwise], agent, gets=gets):
                    return True
    return False


@dataclass
class _Emitter:
    """Writes a program: the queues, and the agents around its walks over the skeleton."""

    random: random.Random
    agents: int
    queues: list[Queue]

    def program(self, skeleton: list[Node]) -> str:
        lines = ["#smem = #nv_tileas.layout<smem>", "func.func @f(%n: index, %out: memref<8x4xf32>) {"]
        body = [f"{queue.name} = nv_tileaa.create_queue : () -> {queue.type}" for queue in self.queues]
        body += self._reuse()
        body += self._agents(skeleton) if self.agents else _Walk(self, 0, "%c0", {}).body(skeleton)
        if self.random.random() < 0.2:
            lines += [f"%r{k} = arith.constant {k} : index" for k in range(3)]
            body = ["scf.for %repeat = %r0 to %r2 step %r1 {", *body, "}"]
        return "\n".join([*lines, *body, "func.return", "}"])

    def _reuse(self) -> list[str]:
        """Storage that is reused: by queues that are never in use together, as one thread fills and drains them."""
        alike = [queue for queue in self.queues if queue.depth == self.queues[0].depth]
        if len(alike) < 2 or self.random.random() < 0.5:
            return []
        if self.agents or any(queue.holds_views for queue in alike):
            return []
        names = ", ".join(queue.name for queue in alike)
        types = ", ".join(queue.type for queue in alike)
        partitions = f"array<i32: {', '.join('1' for _ in alike)}>"
        return [f"nv_tileaa.mark_for_reuse {names} attributes {{partitions = {partitions}}} : ({types}) -> ()"]

    def _agents(self, skeleton: list[Node]) -> list[str]:
        rng = self.random
        sizes = [1 if turns_in(skeleton, agent, gets=False) else rng.choice([1, 1, 2]) for agent in range(self.agents)]
        isolated = rng.random() < 0.3
        outer = {"%n": "index", "%out": "memref<8x4xf32>"} | {queue.name: queue.type for queue in self.queues}
        captured = {name: kind for name, kind in outer.items() if isolated or rng.random() < 0.2}
        regions: list[str] = []
        row = 0
        for agent, size in enumerate(sizes):
            names = {name: f"%a{agent}_{name[1:]}" for name in captured}
            arguments = [f"{names[name]}: {kind}" for name, kind in captured.items()]
            arguments = ([f"%number{agent}: index"] if size > 1 else []) + arguments
            label = [f"^bb0({', '.join(arguments)}):"] if arguments else []
            walk = _Walk(self, agent, f"%number{agent}" if size > 1 else "%c0", names, row)
            regions.append("\n".join(["{", *label, *walk.body(skeleton), "}"]))
            row += size
        attributes = [f"num_agents_per_group = array<i32: {', '.join(map(str, sizes))}>"]
        if rng.random() < 0.5:
            attributes.append(f"max_regs = array<i32: {', '.join(str(40 + 8 * size) for size in sizes)}>")
        if isolated or rng.random() < 0.2:
            attributes.append(f"isolated = {'true' if isolated else 'false'}")
        head = f"nv_tileaa.execute {', '.join(captured)} attributes {{{', '.join(attributes)}}}"
        return [f"{head} {', '.join(regions)} : ({', '.join(captured.values())}) -> ()"]


@dataclass
class _Walk:
    """One agent's walk over the skeleton."""

    emitter: _Emitter
    agent: int
    number: str
    """The agent's number in its group."""
    names: dict[str, str]
    """What captured values are called here."""
    row: int = 0
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def body(self, skeleton: list[Node]) -> list[str]:
        self.lines += [f"%c{k} = arith.constant {k} : index" for k in range(8)]
        self.lines += [
            "%half = arith.constant dense<0.5> : tensor<4xf32>",
            f"%first = arith.constant dense<[1.0, 2.0, 3.0, {4 + self.agent}.0]> : tensor<4xf32>",
        ]
        last = self.block(skeleton, "%first", self.called("%n"))
        self.store(last, self.fresh("arith.addi", f"%c{self.row}, {self.number} : index"))
        return self.lines

    def called(self, name: str) -> str:
        return self.names.get(name, name)

    def fresh(self, op: str, rest: str) -> str:
        """Emit an op with one result; returns its name."""
        self.count += 1
        name = f"%v{self.agent}_{self.count}"
        self.lines.append(f"{name} = {op} {rest}")
        return name

    def name(self) -> str:
        self.count += 1
        return f"%v{self.agent}_{self.count}"

    def store(self, tile: str, row: str) -> None:
        flat = self.fresh("nv_tileaa.view", f"{tile} : ({TILE}) -> tensor<1x4xf32>")
        types = "(memref<8x4xf32>, tensor<1x4xf32>, index, index) -> ()"
        self.lines.append(f"nv_tileaa.tiled_store {self.called('%out')}[{row}, %c0], {flat} : {types}")

    # Control flow

    def block(self, nodes: list[Node], acc: str, counter: str) -> str:
        """Emit `nodes`; returns the accumulator behind them. `counter` is the induction variable around, or `%n`."""
        late: list[tuple[str, str]] = []
        for node in nodes:
            match node:
                case Transfer():
                    acc = self.transfer(node, acc, counter, late)
                case Loop():
                    acc = self.loop(node, acc)
                case Branch():
                    acc = self.branch(node, acc, counter)
        for tile, kind in late:
            acc = self.fold(acc, tile, kind)
        return acc

    def takes_part(self, nodes: list[Node]) -> bool:
        return any(turns_in(nodes, self.agent, gets=gets) for gets in (True, False))

    def loop(self, loop: Loop, acc: str) -> str:
        if not self.takes_part(loop.body):
            return acc
        lower, step = f"%c{loop.lower}", f"%c{loop.step}"
        trips = self.called("%n") if loop.trips is None else f"%c{loop.trips}"
        length = self.fresh("arith.muli", f"{trips}, {step} : index")
        upper = self.fresh("arith.addi", f"{length}, {lower} : index")
        gets = turns_in(loop.body, self.agent, gets=True)
        if loop.is_while:
            return self.while_loop(loop, acc, lower, upper, step)
        counter, inner, result = self.name(), self.name(), self.name()
        carried = f" iter_args({inner} = {acc}) -> ({TILE})" if gets else ""
        self.lines.append(
            f"{f'{result} = ' if gets else ''}scf.for {counter} = {lower} to {upper} step {step}{carried} {{"
        )
        last = self.block(loop.body, inner if gets else acc, counter)
        self.lines += [f"scf.yield {last} : {TILE}"] if gets else []
        self.lines.append("}")
        return result if gets else acc

    def while_loop(self, loop: Loop, acc: str, lower: str, upper: str, step: str) -> str:
        counter, inner, last_counter, result = (self.name() for _ in range(4))
        self.lines.append(
            f"{last_counter}, {result} = scf.while ({counter} = {lower}, {inner} = {acc}) : "
            f"(index, {TILE}) -> (index, {TILE}) {{"
        )
        condition = self.fresh("arith.cmpi", f"slt, {counter}, {upper} : index")
        self.lines.append(f"scf.condition({condition}) {counter}, {inner} : index, {TILE}")
        counter, inner = self.name(), self.name()
        self.lines += ["} do {", f"^bb0({counter}: index, {inner}: {TILE}):"]
        last = self.block(loop.body, inner, counter)
        following = self.fresh("arith.addi", f"{counter}, {step} : index")
        self.lines += [f"scf.yield {following}, {last} : index, {TILE}", "}"]
        return result

    def branch(self, branch: Branch, acc: str, counter: str) -> str:
        if not self.takes_part([branch]):
            return acc
        condition = self.fresh("arith.cmpi", f"ult, {counter}, %c{branch.limit} : index")
        gets = turns_in([branch], self.agent, gets=True)
        result = self.name()
        self.lines.append(f"{f'{result} = ' if gets else ''}scf.if {condition}{f' -> ({TILE})' if gets else ''} {{")
        for number, arm in enumerate((branch.then, branch.otherwise)):
            if number == 1 and not gets and not self.takes_part(arm):
                continue
            self.lines += ["} else {"] if number == 1 else []
            last = self.block(arm, acc, counter)
            self.lines += [f"scf.yield {last} : {TILE}"] if gets else []
        self.lines.append("}")
        return result if gets else acc

    # Transfers

    def transfer(self, transfer: Transfer, acc: str, counter: str, late: list[tuple[str, str]]) -> str:
        """This agent's part of a transfer. A queue with several of them is drained at once: it may have one slot."""
        queue = transfer.queue
        if transfer.relay is not None and transfer.relay.queue.source == self.agent:
            self.put(transfer.relay, acc, counter)
        if queue.source == self.agent:
            self.put(transfer, acc, counter)
        if queue.target != self.agent:
            return acc
        tiles = self.get(transfer, counter)
        if transfer.used_late and queue.transfers == 1:
            late.extend(tiles)
            return acc
        for tile, kind in tiles:
            acc = self.fold(acc, tile, kind)
        return acc

    def put(self, transfer: Transfer, acc: str, counter: str) -> None:
        queue = transfer.queue
        indexed = queue.put_by_index and queue.transfers == 1
        subject = f"{self.called(queue.name)}{f'[{counter}]' if indexed else ''}"
        types = f"{queue.type}{', index' if indexed else ''}"
        if not transfer.put_region:
            tiles = self.payload(queue, acc, counter)
            kinds = "".join(f", {kind}" for kind in queue.payload)
            self.lines.append(f"nv_tileaa.queue.put {subject}, {', '.join(tiles)} : ({types}{kinds}) -> ()")
            return
        slots = ", ".join(f"{self.name()}: {kind}" for kind in queue.payload)
        self.lines += [f"nv_tileaa.queue.put {subject} {{", f"^bb0({slots}):"]
        if transfer.relay is not None:
            for tile, kind in self.get(transfer.relay, counter):
                acc = self.fold(acc, tile, kind)
        tiles = self.payload(queue, acc, counter)
        self.lines.append(f"nv_tileaa.queue.yield {', '.join(tiles)} : ({', '.join(queue.payload)}) -> ()")
        self.lines.append(f"}} : ({types}) -> ()")

    def payload(self, queue: Queue, acc: str, counter: str) -> list[str]:
        """One tile for each element of a slot, computed from the accumulator and the iteration."""
        number = self.fresh("arith.index_cast", f"{counter} : index to i32")
        value = self.fresh("arith.sitofp", f"{number} : i32 to f32")
        tile = self.fresh("nv_tileaa.splat", f"{value} : (f32) -> {TILE}")
        tiles: list[str] = []
        for kind in queue.payload:
            tile = self.fresh("arith.addf", f"{tile}, {acc} : {TILE}")
            shared = kind == SHARED
            tiles.append(self.fresh("nv_tileas.convert_layout", f"{tile} : ({TILE}) -> {SHARED}") if shared else tile)
        return tiles

    def get(self, transfer: Transfer, counter: str) -> list[tuple[str, str]]:
        """A get; returns its results with their types."""
        queue = transfer.queue
        indexed = queue.get_by_index and queue.transfers == 1
        subject = f"{self.called(queue.name)}{f'[{counter}]' if indexed else ''}"
        types = f"({queue.type}{', index' if indexed else ''})"
        if not transfer.get_region:
            tiles = [(self.name(), kind) for kind in queue.payload]
            names, kinds = ", ".join(name for name, _ in tiles), ", ".join(queue.payload)
            self.lines.append(f"{names} = nv_tileaa.queue.get {subject} : {types} -> ({kinds})")
            return tiles
        outside, self.lines = self.lines, []
        slots = [(self.name(), kind) for kind in queue.payload]
        given = self.get_body(slots)
        body, self.lines = self.lines, outside
        tiles = [(self.name(), kind) for _, kind in given]
        names, kinds = ", ".join(name for name, _ in tiles), ", ".join(kind for _, kind in tiles)
        self.lines += [
            f"{f'{names} = ' if tiles else ''}nv_tileaa.queue.get {subject} {{",
            f"^bb0({', '.join(f'{name}: {kind}' for name, kind in slots)}):",
            *body,
            f"nv_tileaa.queue.yield {', '.join(name for name, _ in given)} : ({kinds}) -> ()",
            f"}} : {types} -> ({kinds})",
        ]
        return tiles

    def get_body(self, slots: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """A body gives the tiles as they are, a view of one, or the sum of all; or it stores that and gives nothing."""
        rng = self.emitter.random
        style = rng.choice(["all", "sum", "sum", "view", "store"])
        if style == "all":
            return slots
        if style == "view":
            tile, kind = rng.choice(slots)
            if kind == SHARED:
                return [(self.fresh("nv_tileas.view", f"{tile} : ({SHARED}) -> {SHARED_HALVES}"), SHARED_HALVES)]
        total = "%half"
        for tile, kind in slots:
            total = self.fold(total, tile, kind)
        if style == "store":
            self.store(total, self.fresh("arith.addi", f"%c{self.row}, {self.number} : index"))
            return []
        return [(total, TILE)]

    def fold(self, acc: str, tile: str, kind: str) -> str:
        """`acc / 2 + tile`; a tile in shared memory is read in one of two ways."""
        if kind == SHARED and self.emitter.random.random() < 0.5:
            tile = self.fresh("nv_tileas.view", f"{tile} : ({SHARED}) -> {SHARED_HALVES}")
            kind = SHARED_HALVES
        if kind == SHARED:
            tile = self.fresh("nv_tileas.convert_layout", f"{tile} : ({SHARED}) -> {TILE}")
        elif kind == SHARED_HALVES:
            halves = self.fresh("nv_tileas.convert_layout", f"{tile} : ({SHARED_HALVES}) -> {HALVES}")
            tile = self.fresh("nv_tileaa.view", f"{halves} : ({HALVES}) -> {TILE}")
        scaled = self.fresh("arith.mulf", f"{acc}, %half : {TILE}")
        return self.fresh("arith.addf", f"{scaled}, {tile} : {TILE}")
