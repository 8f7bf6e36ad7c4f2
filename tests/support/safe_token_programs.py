"""
Random programs of tokens that are safe by construction: whoever touches what another one touched waits for it.

Each is a function `@f` of four arrays, with buffers of its own besides, in the ops of `async_region` and `async`:
copies, tasks that compute and yield values, tasks that start copies, regions that are issued at once, and waits of the
function itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

KIND = "memref<2xf32>"
ARRAYS = 4


@dataclass
class Step:
    """Something asynchronous: its token, and what it touches."""

    token: str
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def conflicts(self, reads: set[str], writes: set[str]) -> bool:
        return bool(self.writes & (reads | writes) or self.reads & writes)


class Generator:
    def __init__(
        self, seed: int, *, locals_: int = 4, steps: int = 9, upstream: bool = False, returns_all: bool = True
    ) -> None:
        self.random = random.Random(seed)
        self.steps_left = steps
        self.locals = [f"%b{number}" for number in range(locals_)]
        self.upstream = upstream
        """Only ops of `async`, as MLIR has them."""
        self.returns_all = returns_all
        """Whether every token is returned, or only those for which nobody waits."""
        self.named: set[str] = set()
        """The tokens for which something waits."""
        self.steps: list[Step] = []
        self.values: list[tuple[str, bool, Step]] = []
        """(name, whether it is a promise, the step that brings it)"""
        self.names = 0
        self.lines: list[str] = []

    def name(self, stem: str) -> str:
        self.names += 1
        return f"%{stem}{self.names}"

    def program(self) -> str:
        arguments = [f"%m{number}" for number in range(ARRAYS)]
        self.lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
        allocated: list[str] = []
        waiting = list(self.locals)
        while self.steps_left > 0:
            self.steps_left -= 1
            buffers = arguments + allocated
            if waiting and self.random.random() < 0.5:
                allocated.append(self.allocate(waiting.pop(0), self.random.choice(buffers)))
                continue
            self.random.choice((self.copy, self.task, self.task, self.starting, self.issued, self.host))(buffers)
        returned = [step.token for step in self.steps if self.returns_all or step.token not in self.named]
        types = ", ".join(["!async.token"] * len(returned))
        body = "\n  ".join([*self.lines, f"return {', '.join(returned)} : {types}" if returned else "return"])
        head = ", ".join(f"{name}: {KIND}" for name in arguments)
        return f"func.func @f({head}) -> ({types}) {{\n  {body}\n}}"

    # Steps ------------------------------------------------------------------------------------------------------------

    def edges(self, reads: set[str], writes: set[str], *more: Step) -> str:
        """The tokens to wait for, in brackets; now and then one more than needed."""
        needed = [step.token for step in self.steps if step.conflicts(reads, writes)]
        needed += [step.token for step in more]
        if self.steps and self.random.random() < 0.2:
            needed.append(self.random.choice(self.steps).token)
        self.named.update(needed)
        listed = ", ".join(dict.fromkeys(needed))
        return f" [{listed}]" if listed else ""

    def allocate(self, name: str, source: str) -> str:
        """Memory of the function's own, and at once something in it."""
        if self.upstream or self.random.random() < 0.5:
            self.lines.append(f"{name} = memref.alloc() : {KIND}")
        else:
            step = Step(self.name("t"), set(), {name})
            self.lines.append(f"{name}, {step.token} = async_region.alloc : {KIND}")
            self.steps.append(step)
        self.move(source, name)
        return name

    def copy(self, buffers: list[str]) -> None:
        source, target = self.random.sample(buffers, 2)
        self.move(source, target)

    def move(self, source: str, target: str) -> None:
        edges = self.edges({source}, {target})
        step = Step(self.name("t"), {source}, {target})
        if self.upstream:
            self.lines.append(f"{step.token} = async.execute{edges} {{")
            self.lines += [f'  "memref.copy"({source}, {target}) : ({KIND}, {KIND}) -> ()', "  async.yield", "}"]
        else:
            self.lines.append(f"{step.token} = async_region.copy{edges} {source} to {target} : {KIND} to {KIND}")
        self.steps.append(step)

    def task(self, buffers: list[str]) -> None:
        """Reads, computes, writes; may yield what it computed, now or as a promise."""
        reads = set(self.random.sample(buffers, self.random.randint(1, 2)))
        writes = set(self.random.sample(buffers, self.random.randint(0, 2)))
        used = self.random.sample(self.values, min(len(self.values), self.random.randint(0, 2)))
        promised = self.upstream or self.random.random() < 0.5
        yields = self.random.random() < 0.6
        late = [(name, by) for name, promise, by in used if not promise]
        unwrapped = {name: self.name("x") for name, promise, _ in used if promise}
        edges = self.edges(reads, writes, *(by for _, by in late))
        given = ", ".join(f"{name} as {inner}: !async.value<f32>" for name, inner in unwrapped.items())
        step = Step(self.name("t"), reads, writes)
        terms = [*unwrapped.values(), *(name for name, _ in late)]
        body: list[str] = []
        for buffer in sorted(reads):
            terms.append(self.name("r"))
            body.append(f"{terms[-1]} = memref.load {buffer}[{self.random.choice(('%c0', '%c1'))}] : {KIND}")
        total = terms[0]
        for term in terms[1:]:
            before, total = total, self.name("s")
            op = self.random.choice(("addf", "subf", "maximumf"))
            body.append(f"{total} = arith.{op} {before}, {term} : f32")
        for buffer in sorted(writes):
            body.append(f"memref.store {total}, {buffer}[{self.random.choice(('%c0', '%c1'))}] : {KIND}")
        self.write_task(step, edges, given, body, total if yields else None, promised=promised)
        self.steps.append(step)

    def write_task(
        self, step: Step, edges: str, given: str, body: list[str], total: str | None, *, promised: bool
    ) -> None:
        upstream = self.upstream or (promised and self.random.random() < 0.3)
        dialect, op = ("async", "execute") if upstream else ("async_region", "region")
        passed = f" ({given})" if given else ""
        left, right = step.token, ""
        if total is not None:
            value = self.name("v")
            self.values.append((value, promised, step))
            left, right = f"{left}, {value}", f" -> {'!async.value<f32>' if promised else 'f32'}"
        self.lines.append(f"{left} = {dialect}.{op}{edges}{passed}{right} {{")
        self.lines += [f"  {line}" for line in body]
        self.lines += [f"  {dialect}.yield{f' {total} : f32' if total is not None else ''}", "}"]

    def starting(self, buffers: list[str]) -> None:
        """A task that starts two copies, one after the other, and is complete when both are."""
        first, second, third = self.random.sample(buffers, 3)
        step = Step(self.name("t"), {first, second}, {second, third})
        edges = self.edges(step.reads, step.writes)
        inner = [self.name("t"), self.name("t")]
        if self.upstream:
            self.lines += [
                f"{step.token} = async.execute{edges} {{",
                f"  {inner[0]} = async.execute {{",
                f'    "memref.copy"({first}, {second}) : ({KIND}, {KIND}) -> ()',
                "    async.yield",
                "  }",
                f"  {inner[1]} = async.execute [{inner[0]}] {{",
                f'    "memref.copy"({second}, {third}) : ({KIND}, {KIND}) -> ()',
                "    async.yield",
                "  }",
                f"  async.await {inner[1]} : !async.token",
                "  async.yield",
                "}",
            ]
        else:
            self.lines += [
                f"{step.token} = async_region.region{edges} {{",
                f"  {inner[0]} = async_region.copy {first} to {second} : {KIND} to {KIND}",
                f"  {inner[1]} = async_region.copy [{inner[0]}] {second} to {third} : {KIND} to {KIND}",
                f"  async_region.yield after [{inner[1]}]",
                "}",
            ]
        self.steps.append(step)

    def issued(self, buffers: list[str]) -> None:
        """A region that is issued at once; here it may complete in parts."""
        if self.upstream:
            self.copy(buffers)
            return
        source, first, second = self.random.sample(buffers, 3)
        step = Step(self.name("t"), {source}, {first, second})
        early = Step(self.name("t"), {source}, {first})
        edges = self.edges(step.reads, step.writes)
        ready, inner = self.name("ready"), [self.name("t"), self.name("t")]
        head = f"[{edges.strip().strip('[]')} as {ready}]"
        in_parts = self.random.random() < 0.5
        self.lines += [
            f"{step.token}{f', {early.token}' if in_parts else ''} = async_region.region {head}"
            f"{' -> !async.token' if in_parts else ''} {{",
            f"  {inner[0]} = async_region.copy [{ready}] {source} to {first} : {KIND} to {KIND}",
            f"  {inner[1]} = async_region.copy [{ready}] {source} to {second} : {KIND} to {KIND}",
            f"  async_region.yield after {f'[{inner[1]}], [{inner[0]}]' if in_parts else f'[{inner[0]}, {inner[1]}]'}",
            "}",
        ]
        self.steps.append(step)

    def host(self, buffers: list[str]) -> None:
        """The function itself waits, and then looks and writes."""
        source, target = self.random.choice(buffers), self.random.choice(buffers)
        for step in self.steps:
            if step.conflicts({source}, {target}):
                self.lines.append(f"async.await {step.token} : !async.token")
        value = self.name("h")
        self.lines.append(f"{value} = memref.load {source}[%c0] : {KIND}")
        self.lines.append(f"memref.store {value}, {target}[%c1] : {KIND}")
        self.steps = [step for step in self.steps if not step.conflicts({source}, {target})] or self.steps


def safe_program(seed: int, *, upstream: bool = False, returns_all: bool = True) -> str:
    """The program number `seed`."""
    return Generator(seed, steps=4 + seed % 9, upstream=upstream, returns_all=returns_all).program()
