"""
Random programs of `nv_tileaa` queues that hand over tiles: what `tileas-queue-to-pipeline` makes pipelines of.

Two agents, of which one loads and puts; or one agent that puts some tiles ahead of those that it takes.
"""

from __future__ import annotations

import random

from tests.support.lines import Lines

SHARED = ", #nv_tileas.layout<smem>"
OUT = "memref<64x4xf32>"


class Generator(Lines):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)

    def payload(self) -> list[str]:
        """The tile types of a slot: rows of a source, in registers or in shared memory."""
        return [f"tensor<1x4xf32{self.random.choice(['', SHARED])}>" for _ in range(self.random.choice([1, 1, 2]))]

    def queue(self, payload: list[str], depth: int) -> tuple[str, str]:
        kind = f"!nv_tileaa.queue<[{', '.join(payload)}], depth = {depth}>"
        return self.value("queue", f"nv_tileaa.create_queue : () -> {kind}"), kind

    def load(self, row: str, kind: str) -> str:
        source = self.random.choice(["%a", "%b"])
        memref = "memref<?x?xf32>"
        return self.value("tile", f"nv_tileaa.tiled_load {source}[{row}, %c0] : ({memref}, index, index) -> {kind}")

    def put(self, queue: tuple[str, str], tiles: list[str], payload: list[str], stage: str = "") -> None:
        name, kind = queue
        subscript, index = (f"[{stage}]", ", index") if stage else ("", "")
        types = ", ".join(payload)
        self.lines.append(f"nv_tileaa.queue.put {name}{subscript}, {', '.join(tiles)} : ({kind}{index}, {types}) -> ()")

    def get(self, queue: tuple[str, str], payload: list[str], stage: str = "") -> list[str]:
        name, kind = queue
        tiles = [self.name("got") for _ in payload]
        subscript, index = (f"[{stage}]", ", index") if stage else ("", "")
        types = ", ".join(payload)
        types = types if len(payload) == 1 else f"({types})"
        self.lines.append(f"{', '.join(tiles)} = nv_tileaa.queue.get {name}{subscript} : ({kind}{index}) -> {types}")
        return tiles

    def store(self, tile: str, kind: str, row: str) -> None:
        """Reads the tile where it is and writes what comes of it to the result."""
        twice = self.value("twice", f"arith.addf {tile}, {tile} : {kind}")
        self.lines.append(f"nv_tileaa.tiled_store %out[{row}, %c0], {twice} : ({OUT}, {kind}, index, index) -> ()")

    def function(self) -> str:
        constants = "\n".join(f"%c{number} = arith.constant {number} : index" for number in range(20))
        body = "\n".join(self.lines)
        return (
            f"func.func @f(%n: index, %a: memref<?x?xf32>, %b: memref<?x?xf32>, %out: {OUT}) {{\n{constants}\n{body}\n"
            "func.return\n}"
        )


def two_agents(seed: int) -> str:
    """A producer of up to three queues of several depths, and a consumer that takes them in an order of its own."""
    made = Generator(seed)
    pick = made.random
    payloads = [made.payload() for _ in range(pick.randint(1, 3))]
    queues = [made.queue(payload, pick.randint(1, 4)) for payload in payloads]
    lower, step = pick.choice([(0, 1), (0, 1), (1, 1), (3, 2)])
    stage = pick.random() < 0.5 and (lower, step) == (0, 1)
    span = made.value("span", f"arith.muli %n, %c{step} : index")
    bound = made.value("bound", f"arith.addi {span}, %c{lower} : index")
    order = pick.sample(range(len(queues)), len(queues))
    made.lines.append("nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {")
    made.lines.append(f"scf.for %k = %c{lower} to {bound} step %c{step} {{")
    for queue, payload in zip(queues, payloads, strict=True):
        row = made.value("row", f"arith.addi %k, %c{pick.randint(0, 2)} : index")
        tiles = [made.load(row, kind) for kind in payload]
        made.put(queue, tiles, payload, "%k" if stage else "")
    made.lines += ["}", "}, {", f"scf.for %k = %c{lower} to {bound} step %c{step} {{"]
    number = made.value("number", f"arith.subi %k, %c{lower} : index")
    number = made.value("number", f"arith.divui {number}, %c{step} : index")
    width = sum(map(len, payloads))
    first = made.value("first", f"arith.muli {number}, %c{width} : index")
    written = 0
    held: list[tuple[str, str]] = []
    for place in order:
        held += zip(made.get(queues[place], payloads[place], "%k" if stage else ""), payloads[place], strict=True)
        if pick.random() < 0.6:
            for tile, kind in held:
                made.store(tile, kind, made.value("at", f"arith.addi {first}, %c{written} : index"))
                written += 1
            held = []
    for tile, kind in held:
        made.store(tile, kind, made.value("at", f"arith.addi {first}, %c{written} : index"))
        written += 1
    made.lines += ["}", "} : () -> ()"]
    return made.function()


def one_agent(seed: int) -> str:
    """Tiles are put `ahead` iterations ahead of those that are taken, by the same thread; sometimes in a branch."""
    made = Generator(seed)
    pick = made.random
    payload = made.payload()
    ahead = pick.randint(0, 3)
    queue = made.queue(payload, ahead + pick.randint(1, 2))
    for number in range(ahead):
        made.put(queue, [made.load(f"%c{number}", kind) for kind in payload], payload)
    made.lines.append("scf.for %k = %c0 to %n step %c1 {")
    row = made.value("row", f"arith.addi %k, %c{ahead} : index")
    if pick.random() < 0.4:
        odd = made.value("odd", "arith.remui %k, %c2 : index")
        made.lines.append(f"%is_odd = arith.cmpi eq, {odd}, %c1 : index\nscf.if %is_odd {{")
        made.put(queue, [made.load(row, kind) for kind in payload], payload)
        made.lines.append("} else {")
        made.put(queue, [made.load(row, kind) for kind in payload], payload)
        made.lines.append("}")
    else:
        made.put(queue, [made.load(row, kind) for kind in payload], payload)
    width = len(payload)
    first = made.value("first", f"arith.muli %k, %c{width} : index")
    for place, (tile, kind) in enumerate(zip(made.get(queue, payload), payload, strict=True)):
        made.store(tile, kind, made.value("at", f"arith.addi {first}, %c{place} : index"))
    made.lines.append("}")
    rest = made.value("rest", f"arith.muli %n, %c{width} : index")
    for number in range(ahead):
        for place, (tile, kind) in enumerate(zip(made.get(queue, payload), payload, strict=True)):
            made.store(tile, kind, made.value("at", f"arith.addi {rest}, %c{number * width + place} : index"))
    return made.function()
