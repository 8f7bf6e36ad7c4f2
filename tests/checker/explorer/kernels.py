"""
Kernels of warps as trees of statements, and as IR.

A kernel is a list of agents, each with its number of warps (0: one thread) and its statements, and what the function
does before it forks them. Or it is one block of warps, without agents, whose statements branch on the warp.

Statements are `Do(kind, at, n, ...)`. Barriers in memory lie at byte `at` behind `%bar`, 8 bytes each; slots of 16
bytes behind `%s`. Every kind, its numbers and its text are in `LINES`; `BODIES` has those with statements inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

THREADS_OF_WARP = 32
SLOT = 16


@dataclass
class Do:
    """One statement. What `at` and `n` are depends on the kind."""

    kind: str
    at: int = 0
    n: int = 0
    flags: set[str] = field(default_factory=set[str])
    """`relaxed`; `off`, for a predicate that is false, `on` for one that is true."""
    bodies: list[list[Do]] = field(default_factory=list["list[Do]"])


@dataclass
class Agent:
    """So many warps, or one thread, and what they do."""

    warps: int
    body: list[Do]

    @property
    def threads(self) -> int:
        return self.warps * THREADS_OF_WARP or 1


@dataclass
class Kernel:
    """A program."""

    agents: list[Agent]
    before: list[Do] = field(default_factory=list[Do])
    is_block: bool = False
    """Whether its only agent is the function itself."""

    @property
    def threads(self) -> int:
        """Of the block."""
        return sum(agent.threads for agent in self.agents)

    def lists(self) -> Iterator[list[Do]]:
        """Every list of statements, outermost first."""
        stack = [self.before, *(agent.body for agent in self.agents)]
        while stack:
            found = stack.pop(0)
            yield found
            stack += [body for statement in found for body in statement.bodies]


# Statements -----------------------------------------------------------------------------------------------------------


def init(at: int, count: int, *flags: str) -> Do:
    return Do("init", at, count, set(flags))


def inval(at: int) -> Do:
    return Do("inval", at)


def arrive(at: int, count: int = 1, *flags: str) -> Do:
    return Do("arrive", at, count, set(flags))


def no_complete(at: int, count: int = 1) -> Do:
    return Do("no_complete", at, count)


def expect(at: int, slots: int = 1, *flags: str) -> Do:
    """Arrive and expect the bytes of so many slots."""
    return Do("expect", at, slots, set(flags))


def copy(slot: int, at: int) -> Do:
    """Start the copy of a slot, which the barrier counts."""
    return Do("copy", at, slot)


def wait(at: int, parity: int) -> Do:
    return Do("wait", at, parity)


def spin(at: int, parity: int) -> Do:
    """A loop that tests until the answer is yes."""
    return Do("spin", at, parity)


def ignored(at: int, parity: int, kind: str = "test") -> Do:
    """A test (or a `try`) whose answer nobody uses."""
    return Do(kind, at, parity)


def when(at: int, parity: int, yes: list[Do], no: list[Do]) -> Do:
    """A test, and what is done after each answer."""
    return Do("when", at, parity, bodies=[yes, no])


def load(slot: int) -> Do:
    return Do("load", slot)


def store(slot: int) -> Do:
    return Do("store", slot)


def peek(at: int) -> Do:
    """Read 4 bytes among the barriers."""
    return Do("peek", at)


def poke(at: int) -> Do:
    """Write 4 bytes among the barriers."""
    return Do("poke", at)


def copy_over(target: int, at: int) -> Do:
    """Start a copy of a slot to byte `target` among the barriers."""
    return Do("copy_over", at, target)


def meet(number: int, threads: int) -> Do:
    return Do("meet", number, threads)


def meet_later(number: int, threads: int) -> Do:
    """Arrive at a barrier of threads, and do not wait."""
    return Do("meet_later", number, threads)


def meet_all() -> Do:
    return Do("meet_all")


def fence() -> Do:
    return Do("fence")


def publish() -> Do:
    """The fence behind `init`."""
    return Do("publish")


def elected(*body: Do) -> Do:
    return Do("elected", bodies=[list(body)])


def on_warp(number: int, yes: list[Do], no: list[Do]) -> Do:
    return Do("on_warp", number, bodies=[yes, no])


def first_thread(*body: Do) -> Do:
    return Do("first_thread", bodies=[list(body)])


# Text -----------------------------------------------------------------------------------------------------------------

HEAD = "func.func @main(%s: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %g: !llvm.ptr<1>)"


def text_of(kernel: Kernel) -> str:
    """The kernel as IR."""
    return _Writer(kernel).module()


class _Writer:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.names = 0
        self.constants: set[int] = {0, 1}

    def module(self) -> str:
        kernel = self.kernel
        self.write(kernel.before)
        if kernel.is_block:
            self.write(kernel.agents[0].body)
        else:
            self.fork(kernel.agents)
        required = f" attributes {{nvvm.reqntid = array<i32: {kernel.threads}>}}" if kernel.is_block else ""
        numbers = [f"%c{n} = arith.constant {n} : i32" for n in sorted(self.constants)]
        fixed = ["%on = arith.constant true", "%off = arith.constant false", "%ticks = arith.constant 1000000 : i32"]
        if kernel.is_block:
            fixed.append("%tid = nvvm.read.ptx.sreg.tid.x : i32")
            fixed.append("%c32 = arith.constant 32 : i32\n%warp = arith.divui %tid, %c32 : i32")
            numbers = [line for line in numbers if not line.startswith("%c32 ")]
        return "\n".join([f"{HEAD}{required} {{", *numbers, *fixed, *self.lines, "func.return", "}"]) + "\n"

    def fork(self, agents: list[Agent]) -> None:
        ones = ", ".join("1" for _ in agents)
        if all(not agent.warps for agent in agents):
            head = f"nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {ones}>}} {{"
        else:
            warps = ", ".join(str(agent.warps or 1) for agent in agents)
            sizes = f"num_agents_per_group = array<i32: {ones}>, num_warps = array<i32: {warps}>"
            head = f"nv_tileas.async.pipeline.agent_switch attributes {{{sizes}, isolated = false}} {{"
        self.emit(head)
        for number, agent in enumerate(agents):
            if number:
                self.emit("}, {")
            self.emit("^bb0:")
            self.write(agent.body)
        self.emit("} : () -> ()")

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def value(self, operation: str) -> str:
        self.names += 1
        self.emit(f"%v{self.names} = {operation}")
        return f"%v{self.names}"

    def number(self, value: int) -> str:
        self.constants.add(value)
        return f"%c{value}"

    def write(self, body: Iterable[Do]) -> None:
        for statement in body:
            LINES[statement.kind](self, statement)

    def pointer(self, base: str, offset: int) -> str:
        return self.value(f"llvm.getelementptr {base}[{offset // 4}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32")

    def barrier(self, statement: Do) -> str:
        return self.pointer("%bar", statement.at)

    def branch(self, condition: str, bodies: list[list[Do]]) -> None:
        self.emit(f"scf.if {condition} {{")
        self.write(bodies[0])
        if len(bodies) > 1:
            self.emit("} else {")
            self.write(bodies[1])
        self.emit("}")


def _predicate(statement: Do) -> tuple[str, str]:
    for flag in ("on", "off"):
        if flag in statement.flags:
            return f", predicate = %{flag}", ", i1"
    return "", ""


def _relaxed(statement: Do) -> str:
    return " {relaxed = true}" if "relaxed" in statement.flags else ""


def _init(writer: _Writer, do: Do) -> None:
    predicate, type_ = _predicate(do)
    place = writer.barrier(do)
    writer.emit(f"nvvm.mbarrier.init {place}, {writer.number(do.n)}{predicate} : !llvm.ptr<3>, i32{type_}")


def _inval(writer: _Writer, do: Do) -> None:
    writer.emit(f"nvvm.mbarrier.inval {writer.barrier(do)} : !llvm.ptr<3>")


def _arrive(writer: _Writer, do: Do) -> None:
    count = "" if do.n == 1 else f", {writer.number(do.n)}"
    writer.emit(f"nvvm.mbarrier.arrive {writer.barrier(do)}{count}{_relaxed(do)} : !llvm.ptr<3>")


def _no_complete(writer: _Writer, do: Do) -> None:
    place = writer.barrier(do)
    writer.value(f"nvvm.mbarrier.arrive.nocomplete {place}, {writer.number(do.n)} : !llvm.ptr<3>, i32 -> i64")


def _expect(writer: _Writer, do: Do) -> None:
    predicate, type_ = _predicate(do)
    place, size = writer.barrier(do), writer.number(SLOT * do.n)
    operands = f"{place}, {size}{predicate}{_relaxed(do)} : !llvm.ptr<3>, i32{type_}"
    writer.emit(f"nvvm.mbarrier.arrive.expect_tx {operands}")


def _copy(base: str, scale: int) -> Callable[[_Writer, Do], None]:
    def write(writer: _Writer, do: Do) -> None:
        target, place = writer.pointer(base, scale * do.n), writer.barrier(do)
        operands = f"{target}, %g, {place}, {writer.number(SLOT)} : !llvm.ptr<3>, <1>"
        writer.emit(f"nvvm.cp.async.bulk.shared.cluster.global {operands}")

    return write


def _wait(writer: _Writer, do: Do) -> None:
    place, parity = writer.barrier(do), writer.number(do.n)
    writer.emit(f"nvvm.mbarrier.try_wait.parity {place}, {parity}, %ticks : !llvm.ptr<3>, i32, i32")


def _ask(writer: _Writer, do: Do) -> str:
    place, parity = writer.barrier(do), writer.number(do.n)
    return writer.value(f"nvvm.mbarrier.test.wait {place}, {parity} : !llvm.ptr<3>, i32 -> i1")


def _test(writer: _Writer, do: Do) -> None:
    _ask(writer, do)


def _try(writer: _Writer, do: Do) -> None:
    place, parity = writer.barrier(do), writer.number(do.n)
    writer.value(f"nvvm.mbarrier.try_wait {place}, {parity}, %ticks : !llvm.ptr<3>, i32, i32 -> i1")


def _spin(writer: _Writer, do: Do) -> None:
    """The carried number is for parsers that want one."""
    before = f"%w{writer.names}"
    writer.value(f"scf.while ({before} = %c0) : (i32) -> i32 {{")
    done = _ask(writer, do)
    again = writer.value(f"arith.xori {done}, %on : i1")
    writer.emit(f"scf.condition({again}) {before} : i32")
    writer.emit(f"}} do {{\n^bb0({before}a: i32):\nscf.yield {before}a : i32\n}}")


def _when(writer: _Writer, do: Do) -> None:
    writer.branch(_ask(writer, do), do.bodies)


def _access(base: str, scale: int, is_store: bool) -> Callable[[_Writer, Do], None]:
    def write(writer: _Writer, do: Do) -> None:
        place = writer.pointer(base, scale * do.at)
        if is_store:
            writer.emit(f"llvm.store %c1, {place} : i32, !llvm.ptr<3>")
        else:
            writer.value(f"llvm.load {place} : !llvm.ptr<3> -> i32")

    return write


def _meet(name: str) -> Callable[[_Writer, Do], None]:
    def write(writer: _Writer, do: Do) -> None:
        number, threads = writer.number(do.at), writer.number(do.n)
        writer.emit(f"{name} id = {number} number_of_threads = {threads}")

    return write


def _fixed(line: str) -> Callable[[_Writer, Do], None]:
    return lambda writer, do: writer.emit(line)


def _elected(writer: _Writer, do: Do) -> None:
    writer.branch(writer.value("nvvm.elect.sync -> i1"), do.bodies)


def _on_warp(writer: _Writer, do: Do) -> None:
    writer.branch(writer.value(f"arith.cmpi eq, %warp, {writer.number(do.at)} : i32"), do.bodies)


def _first_thread(writer: _Writer, do: Do) -> None:
    writer.branch(writer.value("arith.cmpi eq, %tid, %c0 : i32"), do.bodies)


LINES: dict[str, Callable[[_Writer, Do], None]] = {
    "init": _init,
    "inval": _inval,
    "arrive": _arrive,
    "no_complete": _no_complete,
    "expect": _expect,
    "copy": _copy("%s", SLOT),
    "copy_over": _copy("%bar", 1),
    "wait": _wait,
    "spin": _spin,
    "test": _test,
    "try": _try,
    "when": _when,
    "load": _access("%s", SLOT, False),
    "store": _access("%s", SLOT, True),
    "peek": _access("%bar", 1, False),
    "poke": _access("%bar", 1, True),
    "meet": _meet("nvvm.barrier"),
    "meet_later": _meet("nvvm.barrier.arrive"),
    "meet_all": _fixed("nvvm.barrier0"),
    "fence": _fixed("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"),
    "publish": _fixed("nvvm.fence.mbarrier.init"),
    "elected": _elected,
    "on_warp": _on_warp,
    "first_thread": _first_thread,
}
BARRIER_KINDS = frozenset(
    {"init", "inval", "arrive", "no_complete", "expect", "copy", "wait", "spin", "test", "try", "when"}
)
"""Kinds whose `at` is a barrier in memory."""
