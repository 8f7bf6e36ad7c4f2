"""
Random programs with queues: agents that load, agents that compute from one queue into the next, and one or two that
store.

    load x0 -> [depth 3] -> double -> [depth 2] -\\
                                                  add -> store c
    load x1 -> [depth 4, without numbers] -------/
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEAD = """#smem = #nv_tileas.layout<smem>
!s = tensor<16x16xf32, #smem>
!t = tensor<16x16xf32>
"""
STEPS = ("arith.addf %v, %v", "arith.mulf %v, %v", "arith.negf %v", "arith.maximumf %v, %one")
JOINS = ("arith.addf", "arith.mulf", "arith.subf")


@dataclass
class QueueProgram:
    """A program in the making: its queues, and the body of each agent."""

    draw: random.Random
    queues: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    """Of each its slots, and whether puts and gets say in which."""
    agents: list[str] = field(default_factory=list[str])

    def queue(self) -> int:
        self.queues.append((self.draw.choice((1, 2, 3, 4)), self.draw.random() < 0.6))
        return len(self.queues) - 1

    def named(self, queue: int) -> tuple[str, str]:
        """How an op names the queue, and the types of that."""
        return (f"%q{queue}[%k]", f"!q{queue}, index") if self.queues[queue][1] else (f"%q{queue}", f"!q{queue}")

    def put(self, queue: int, tile: str) -> str:
        place, types = self.named(queue)
        return f"      nv_tileaa.queue.put {place}, {tile} : ({types}, !s) -> ()\n"

    def get(self, queue: int, tile: str) -> str:
        place, types = self.named(queue)
        return (
            f"      {tile}s = nv_tileaa.queue.get {place} : ({types}) -> !s\n"
            f"      {tile} = nv_tileas.convert_layout {tile}s : (!s) -> !t\n"
        )

    def agent(self, body: str, *, argument: str = "") -> None:
        one = "    %one = arith.constant dense<1.0> : !t\n" if "%one" in body else ""
        self.agents.append(f"{argument}{one}    scf.for %k = %c0 to %n step %c1 {{\n{body}    }}\n")


def _load(program: QueueProgram, array: int, queue: int) -> str:
    load = f"      %x{array}t = nv_tileaa.tiled_load %x{array}[%k, %c0] : (memref<?x?xf32>, index, index) -> !s\n"
    return load + program.put(queue, f"%x{array}t")


def written(seed: int) -> str:
    """The text of the program of a seed: a function `@f` of arrays %x0, %x1 and %c and of the number of turns %n."""
    program = QueueProgram(random.Random(seed))
    draw = program.draw
    ends = [program.queue() for _ in range(draw.choice((1, 2)))]
    loads = [_load(program, array, queue) for array, queue in enumerate(ends)]
    for body in ["".join(loads)] if draw.random() < 0.5 else loads:
        program.agent(body)
    for number in range(len(ends)):
        for _ in range(draw.choice((0, 0, 1, 2))):
            taken, ends[number] = ends[number], program.queue()
            body = program.get(taken, "%v") + f"      %w = {draw.choice(STEPS)} : !t\n"
            stored = "      %d = nv_tileas.convert_layout %w : (!t) -> !s\n"
            program.agent(body + stored + program.put(ends[number], "%d"))
    several = draw.random() < 0.3
    program.agent(_last(program, ends, several), argument="  ^bb0(%number: index):\n" if several else "")
    sizes = ", ".join(["1"] * (len(program.agents) - 1) + ["2" if several else "1"])
    return _assembled(program, sizes)


def _last(program: QueueProgram, ends: list[int], several: bool) -> str:
    body = "".join(program.get(queue, f"%v{number}") for number, queue in enumerate(ends))
    total = "%v0"
    if len(ends) > 1:
        body += f"      %sum = {program.draw.choice(JOINS)} %v0, %v1 : !t\n"
        total = "%sum"
    column = "%number" if several else "%c0"
    return body + f"      nv_tileaa.tiled_store %c[%k, {column}], {total} : (memref<?x?xf32>, !t, index, index) -> ()\n"


def _assembled(program: QueueProgram, sizes: str) -> str:
    types = "".join(f"!q{n} = !nv_tileaa.queue<[!s], depth = {depth}>\n" for n, (depth, _) in enumerate(program.queues))
    made = "".join(f"  %q{n} = nv_tileaa.create_queue : () -> !q{n}\n" for n in range(len(program.queues)))
    agents = "  }, {\n".join(program.agents)
    return (
        f"{HEAD}{types}"
        "func.func @f(%x0: memref<?x?xf32>, %x1: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {\n"
        f"  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n{made}"
        f"  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {sizes}>}} {{\n{agents}"
        "  } : () -> ()\n  func.return\n}\n"
    )
