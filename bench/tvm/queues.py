"""A loop in `async_queue`, through `inject-software-pipeline`, executed on integers; and any execution as a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

from bench.tvm.executions import Access, Commit, Event, Place, Scope, Wait
from bench.tvm.loops import AnnotatedLoop
from bench.tvm.tir import LENGTH
from tileas_xdsl.dialects import async_queue

ARRAY = f"memref<{LENGTH}xf32>"


def parsed(text: str) -> ModuleOp:
    """A verified module."""
    universe = Universe.get_multiverse()
    ctx = Context()
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def function_text(loop: AnnotatedLoop) -> str:
    """
    The loop as annotated blocks over scalars. The cast of the induction variable says which component this is, and as
    it becomes part of the data every pass must keep it.
    """
    arrays = ", ".join(f"%{name}: {ARRAY}" for name in ("A", *loop.outputs))
    lines = [
        f"func.func @loop({arrays}) {{",
        "  %one = arith.constant 1 : index",
        f"  %lower = arith.constant {loop.lower} : index",
        f"  %upper = arith.constant {loop.lower + loop.trips} : index",
        *(f"  %{name} = memref.alloc() : memref<1xf32>" for name in loop.temporaries),
        "  scf.for %i = %lower to %upper step %one {",
    ]
    for number, component in enumerate(loop.components):
        sources = [(name, "memref<1xf32>", "%zero") for name in component.reads] or [("A", ARRAY, "%i")]
        lines += [
            "    async_queue.block {",
            "      %zero = arith.constant 0 : index",
            f"      %turn = arith.index_cast %i {{component = {number} : i64}} : index to i32",
            "      %v = arith.sitofp %turn : i32 to f32",
            *(f"      %r{k} = memref.load %{name}[{at}] : {kind}" for k, (name, kind, at) in enumerate(sources)),
        ]
        total = "%v"
        for k in range(len(sources)):
            lines.append(f"      %s{k} = arith.addf {total}, %r{k} : f32")
            total = f"%s{k}"
        kind, at = (ARRAY, "%i") if component.is_output else ("memref<1xf32>", "%zero")
        lines += [f"      memref.store {total}, %{component.writes}[{at}] : {kind}", "    }"]
    lines += [
        f"  }} {{software_pipeline_stage = array<i64: {', '.join(map(str, loop.stages))}>,",
        f"     software_pipeline_order = array<i64: {', '.join(map(str, loop.order))}>"
        + (
            f",\n     software_pipeline_async_stages = array<i64: {', '.join(map(str, loop.async_stages))}>}}"
            if loop.async_stages
            else "}"
        ),
        "  func.return",
        "}",
    ]
    return "\n".join(lines)


def pipelined(loop: AnnotatedLoop, capture: str = "issue") -> ModuleOp:
    """The module after our pass. Raises `PassFailedException` where the pass refuses."""
    module = parsed(function_text(loop))
    ctx = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        ctx.register_dialect(name, factory)
    spec = f"inject-software-pipeline{{source-capture={capture}}}"
    PassPipeline.parse_spec(Universe.get_multiverse().all_passes, spec).apply(ctx, module)
    module.verify()
    return module


INTEGERS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: a // b,
    arith.DivSIOp: lambda a, b: a // b,
    arith.RemUIOp: lambda a, b: a % b,
    arith.RemSIOp: lambda a, b: a % b,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
}
"""On numbers that are not negative signedness makes no difference."""

COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    *(lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b) * 2,
)
"""The comparisons, indexed by the predicate number of `arith.cmpi`."""


@dataclass
class Walk:
    """Runs the integers of a function and writes down its events."""

    loop: AnnotatedLoop
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    buffers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    turn: tuple[int, int] | None = None
    reads: list[Place] = field(default_factory=list[Place])

    def events(self, block: Block | None) -> tuple[Event, ...]:
        """The events of a block, in program order."""
        return () if block is None else tuple(event for op in block.ops for event in self.step(op))

    def step(self, op: Operation) -> Sequence[Event]:
        match op:
            case async_queue.CommitOp():
                return [Commit(self.number(op.queue), self.events(op.body.first_block))]
            case async_queue.WaitOp():
                queue, left = self.number(op.queue), self.number(op.count)
                return [Wait(queue, left, self.events(op.body.first_block))]
            case async_queue.ScopeOp():
                return [Scope(self.events(op.body.first_block))]
            case scf.ForOp():
                return self.turns(op)
            case scf.IfOp():
                region = op.true_region if self.numbers[op.cond] else op.false_region
                return self.events(region.first_block)
            case memref.LoadOp():
                self.reads.append(self.place(op.memref, op.indices))
                return []
            case memref.StoreOp():
                return [self.access(op)]
            case _:
                self.compute(op)
                return []

    def turns(self, loop: scf.ForOp) -> list[Event]:
        if loop.iter_args:
            raise NotImplementedError("a loop that carries values")
        events: list[Event] = []
        for i in range(self.numbers[loop.lb], self.numbers[loop.ub], self.numbers[loop.step]):
            self.numbers[loop.body.block.args[0]] = i
            events += self.events(loop.body.block)
        return events

    def access(self, store: memref.StoreOp) -> Access:
        assert self.turn is not None
        component, iteration = self.turn
        access = Access(component, iteration, tuple(self.reads), self.place(store.memref, store.indices))
        self.turn, self.reads = None, []
        return access

    def place(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Place:
        return buffer.name_hint or "?", self.numbers[indices[0]]

    def number(self, value: int | SSAValue) -> int:
        return value if isinstance(value, int) else self.numbers[value]

    def compute(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self.numbers[op.result] = op.value.value.data
            case arith.CmpiOp():
                left, right = (self.numbers[operand] for operand in op.operands)
                self.numbers[op.result] = int(COMPARISONS[op.predicate.value.data](left, right))
            case arith.SelectOp() if op.cond in self.numbers and op.lhs in self.numbers and op.rhs in self.numbers:
                self.numbers[op.result] = self.numbers[op.lhs if self.numbers[op.cond] else op.rhs]
            case arith.IndexCastOp():
                self.numbers[op.result] = self.numbers[op.input]
                if isinstance(mark := op.attributes.get("component"), IntegerAttr):
                    self.turn, self.reads = (mark.value.data, self.numbers[op.input]), []
            case _ if type(op) in INTEGERS:
                left, right = (self.numbers[operand] for operand in op.operands)
                self.numbers[op.results[0]] = INTEGERS[type(op)](left, right)
            case _ if any(str(result.type) == "index" for result in op.results):
                raise NotImplementedError(f"{op.name} computes an index")
            case _:
                pass


def execution_of(module: ModuleOp, loop: AnnotatedLoop) -> tuple[Event, ...]:
    """What the only function of `module` does, in program order; drains without accesses included."""
    function = next(op for op in module.body.block.ops if op.name == "func.func")
    for argument, name in zip(function.regions[0].block.args, ("A", *loop.outputs), strict=True):
        argument.name_hint = name
    return Walk(loop).events(function.regions[0].block)


# An execution as a program -------------------------------------------------------------------------------------------


def program_text(events: Sequence[Event], loop: AnnotatedLoop) -> str:
    """
    Straight-line `async_queue` code that does what `events` say, for the checker.

    A negative count waits for nothing, as where TVM deletes such waits.
    """
    versions: dict[str, int] = {name: 1 for name in loop.temporaries}
    for name, index in _places(events):
        if name in versions:
            versions[name] = max(versions[name], index + 1)
    arrays = ", ".join(f"%{name}: {ARRAY}" for name in ("A", *loop.outputs))
    lines = [f"func.func @execution({arrays}) {{"]
    lines += [f"  %n{k} = arith.constant {k} : index" for k in range(LENGTH)]
    lines += [f"  %{name} = memref.alloc() : memref<{size}xf32>" for name, size in versions.items()]
    kinds = dict.fromkeys(("A", *loop.outputs), ARRAY) | {name: f"memref<{n}xf32>" for name, n in versions.items()}
    fresh = count()
    lines += _lines(events, kinds, fresh, "  ")
    return "\n".join([*lines, "  func.return", "}"])


def _places(events: Sequence[Event]) -> list[Place]:
    found: list[Place] = []
    for event in events:
        if isinstance(event, Access):
            found += [*event.reads, event.writes]
        else:
            found += _places(event.body)
    return found


def _lines(events: Sequence[Event], kinds: dict[str, str], fresh: count[int], indent: str) -> list[str]:
    lines: list[str] = []
    for event in events:
        match event:
            case Access(reads=reads, writes=writes):
                values = [f"%v{next(fresh)}" for _ in reads]
                lines += [
                    f"{indent}{value} = memref.load %{name}[%n{index}] : {kinds[name]}"
                    for value, (name, index) in zip(values, reads, strict=True)
                ]
                name, index = writes
                lines.append(f"{indent}memref.store {values[0]}, %{name}[%n{index}] : {kinds[name]}")
            case Wait(count=left, body=body) if left < 0:
                lines += _lines(body, kinds, fresh, indent)
            case _:
                head = {Scope: "scope", Commit: "commit", Wait: "wait"}[type(event)]
                numbers = [
                    str(n) for n in (getattr(event, "queue", None), getattr(event, "count", None)) if n is not None
                ]
                opening = " ".join(filter(None, (f"{indent}async_queue.{head}", ", ".join(numbers), "{")))
                lines += [opening, *_lines(event.body, kinds, fresh, indent + "  "), f"{indent}}}"]
    return lines
