"""
What the exact scheduler is asked: the ops of one loop body, what orders them, what they hold, and a machine.

All times are cycles, or any other unit that is used throughout. All records are frozen and hashable; the order of the
ops is program order, which breaks ties. A loop of these ops runs for ever: the instance of an op in iteration `j`
starts to execute at `start + II * j`, where `II` is the initiation interval (Rau, "Iterative Modulo Scheduling", MICRO
1994). `check_problem` refuses what is malformed; that a problem has no schedule is for the search to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tileas_xdsl.scheduling.exact.cycles import CycleEdge, worst_cycle
from tileas_xdsl.targets.machine_model import SlotUse

SHARED = "shared"
TENSOR = "tensor"

MBARRIER = "mbarrier"
NAMED = "named"


class ProblemError(ValueError):
    """A problem that makes no sense, whatever the initiation interval: the message names the record and the reason."""


# What ops are ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpSpec:
    """One op of the body."""

    name: str
    uses: tuple[SlotUse, ...] = ()
    latency: int = 0
    """From the start of execution to the moment at which its results are there."""
    issue: int = 0
    """Cycles for which it keeps its agent: of a synchronous op its whole duration, of an asynchronous one a few."""
    asynchronous: bool = False
    """Whether it executes apart from its agent; only then may it wait in a queue of the machine."""
    varying_latency: bool = False
    """Whether its latency is a guess (a load from global memory): such ops are put on an agent of their own."""
    min_warps: int = 1
    group: str | None = None
    """Ops of one group run in the same stage."""
    max_stage: int | None = None
    """The last stage in which it may start; stages count from the first one in use."""


@dataclass(frozen=True)
class Dependence:
    """`sink`, `distance` iterations later, starts at least `latency` cycles after `source` does."""

    source: str
    sink: str
    latency: int
    """May be negative."""
    distance: int = 0
    reason: str = ""
    handshake: str = MBARRIER
    """The kind of signal where the two run on different agents."""


@dataclass(frozen=True)
class RingRead:
    """An op that reads memory or a value written `distance` iterations ago, until `hold` cycles after its start."""

    op: str
    hold: int
    distance: int = 0


@dataclass(frozen=True)
class ExactRing:
    """Memory that each iteration writes anew: so many copies of it as iterations may hold it at once."""

    name: str
    space: str
    writer: str
    readers: tuple[RingRead, ...]
    bytes: int
    """Of one copy."""
    min_copies: int = 1
    max_copies: int | None = None
    handshake: str = MBARRIER
    """How a reader on another agent says that it is done."""


@dataclass(frozen=True)
class Move:
    """What it costs to bring a register value to another agent, through memory."""

    bytes: int
    cycles: int
    """For which the sender is kept to write it, and the receiver to read it."""
    space: str = SHARED
    handshake: str = MBARRIER


@dataclass(frozen=True)
class RegisterValue:
    """A value in registers, from the start of its definition until nobody needs it any more."""

    name: str
    definition: str
    uses: tuple[RingRead, ...]
    words: int
    """Registers of each thread."""
    move: Move | None = None
    """None: it does not leave the agent that defines it."""
    pool: str | None = None
    """Which pool of the machine it takes its registers from; None: those of the agent that defines it."""


@dataclass(frozen=True)
class Constant:
    """Registers that the agent of `op` never gives back: accumulators, values that do not change."""

    name: str
    op: str
    words: int


# What the machine has -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlotLimit:
    """A unit, or a pool of `capacity` equal ones."""

    name: str
    capacity: int = 1
    number: int | None = None
    """Of the published slot model, where it has one."""

    def __str__(self) -> str:
        return f"slot {self.name}" if self.number is None else f"slot {self.number} ({self.name})"


@dataclass(frozen=True)
class Space:
    """A memory for rings. `static` bytes of it are taken for the whole kernel."""

    name: str
    bytes: int
    static: int = 0


@dataclass(frozen=True)
class Handshake:
    """A way to signal between agents, and how long the signal takes."""

    kind: str
    cycles: int


@dataclass(frozen=True)
class RegisterFile:
    """
    Registers, in words of 32 bits.

    The agents of a block share `words`. The producer gets `producer` a thread, the others share equally what it leaves,
    in steps of 8 and at most 256 (PTX ISA, `setmaxnreg`). Of these `reserve` are kept for what the problem does not
    list: addresses, predicates, what the assembler spills otherwise.
    """

    budget: int
    """The most words a thread that the values of one agent may take, however few agents there are."""
    words: int = 65536
    producer: int = 24
    reserve: int = 40
    taken_at_issue: bool = True
    """Whether the result of a queued op has its registers from its issue on, or only while it executes."""


@dataclass(frozen=True)
class RegisterPool:
    """
    The registers of one thread of an agent that is no choice of the solver's: the problem says which values it holds.

    `kept` of its `words` are taken for the whole kernel.
    """

    name: str
    words: int
    kept: int = 0

    @property
    def free(self) -> int:
        return max(0, self.words - self.kept)


DEFAULT_HANDSHAKES = (Handshake(MBARRIER, 92), Handshake(NAMED, 30))
"""Cycles one way, measured on B200 (facebookexperimental/triton, `paper_joint_solver`); elsewhere an estimate."""


@dataclass(frozen=True)
class MachineLimits:
    """What the ops share."""

    slots: tuple[SlotLimit, ...]
    spaces: tuple[Space, ...] = ()
    handshakes: tuple[Handshake, ...] = DEFAULT_HANDSHAKES
    named_barriers: int = 15
    """Of the 16 of a block (PTX ISA, `barrier`) barrier 0 is left to the whole block."""
    queue: int = 0
    """How many cycles before its execution an asynchronous op may be issued."""
    registers: RegisterFile | None = None
    """None: registers of the agents that the solver chooses are not modelled."""
    pools: tuple[RegisterPool, ...] = ()
    warps: int = 32
    """Of a block: 1024 threads."""
    ceiling: int | None = None
    """The most cycles that one iteration may take from its first start to its last result."""


# What can be lowered --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Together:
    """Ops that no lowering can put on different agents."""

    name: str
    ops: tuple[str, ...]


@dataclass(frozen=True)
class ComputeAgents:
    """The most agents beside the producer that a lowering knows how to make."""

    name: str
    count: int


Rule = Together | ComputeAgents
"""A constraint on who runs what that comes from the lowering, not from the machine; a refutation names it."""

ONE_OR_TWO_COMPUTE_AGENTS = ComputeAgents("one producer with one or two compute agents", 2)


# The whole ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExactProblem:
    """A loop body and the machine that runs it."""

    ops: tuple[OpSpec, ...]
    machine: MachineLimits
    dependences: tuple[Dependence, ...] = ()
    rings: tuple[ExactRing, ...] = ()
    values: tuple[RegisterValue, ...] = ()
    constants: tuple[Constant, ...] = ()
    agents: int = 1
    """The most agents that may share the ops."""
    rules: tuple[Rule, ...] = ()
    serial: bool = False
    """Whether an iteration must end before the next begins."""

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Op -> its place in program order."""
        return {op.name: position for position, op in enumerate(self.ops)}

    def op(self, name: str) -> OpSpec:
        return self.ops[self.positions[name]]

    def slot(self, name: str) -> SlotLimit:
        return next(slot for slot in self.machine.slots if slot.name == name)

    def handshake(self, kind: str) -> int:
        """Cycles of a signal of that kind."""
        return next(handshake.cycles for handshake in self.machine.handshakes if handshake.kind == kind)

    @cached_property
    def has_producer(self) -> bool:
        """Whether agent 0 is a producer: with several agents it runs the ops of varying latency and no others."""
        return self.agents > 1 and any(op.varying_latency for op in self.ops)

    @cached_property
    def fewest_agents(self) -> int:
        """No partition has fewer: a producer does not compute."""
        return 2 if self.has_producer and not all(op.varying_latency for op in self.ops) else 1


# Checks ---------------------------------------------------------------------------------------------------------------


def check_problem(problem: ExactProblem) -> None:
    """Raise `ProblemError` for a name that is unknown or given twice, a number out of range, an impossible order."""
    if not problem.ops:
        raise ProblemError("the problem has no ops")
    _check_names(problem)
    _check_numbers(problem)
    _check_order(problem)


def _check_names(problem: ExactProblem) -> None:
    machine = problem.machine
    ops = _distinct("op", (op.name for op in problem.ops))
    slots = _distinct("slot", (slot.name for slot in machine.slots))
    spaces = _distinct("space", (space.name for space in machine.spaces))
    kinds = _distinct("kind of handshake", (handshake.kind for handshake in machine.handshakes))
    _distinct("ring", (ring.name for ring in problem.rings))
    _distinct("register value", (value.name for value in problem.values))
    pools = _distinct("register pool", (pool.name for pool in machine.pools))
    for value in problem.values:
        if value.pool is not None and value.move is not None:
            raise ProblemError(f"register value '{value.name}' may be moved, and is given the pool '{value.pool}'")
    for kind, known, name, user in _names_used(problem, ops, slots, spaces, kinds, pools):
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise ProblemError(f"{user} names the {kind} '{name}', which the problem does not have; it has: {there}")


def _names_used(
    problem: ExactProblem,
    ops: frozenset[str],
    slots: frozenset[str],
    spaces: frozenset[str],
    kinds: frozenset[str],
    pools: frozenset[str],
) -> Iterator[tuple[str, frozenset[str], str, str]]:
    """What kind of name, which ones there are, the name, and who uses it."""
    for op in problem.ops:
        yield from (("slot", slots, use.slot, f"op '{op.name}'") for use in op.uses)
    for dependence in problem.dependences:
        user = f"the dependence {dependence.source} -> {dependence.sink}"
        yield "op", ops, dependence.source, user
        yield "op", ops, dependence.sink, user
        yield "kind of handshake", kinds, dependence.handshake, user
    for ring in problem.rings:
        user = f"ring '{ring.name}'"
        yield from (("op", ops, name, user) for name in (ring.writer, *(read.op for read in ring.readers)))
        yield "space", spaces, ring.space, user
        yield "kind of handshake", kinds, ring.handshake, user
    for value in problem.values:
        user = f"register value '{value.name}'"
        yield from (("op", ops, name, user) for name in (value.definition, *(read.op for read in value.uses)))
        if value.pool is not None:
            yield "register pool", pools, value.pool, user
        if value.move is not None:
            yield "space", spaces, value.move.space, user
            yield "kind of handshake", kinds, value.move.handshake, user
    yield from (("op", ops, constant.op, f"constant '{constant.name}'") for constant in problem.constants)
    for rule in problem.rules:
        if isinstance(rule, Together):
            yield from (("op", ops, name, f"rule '{rule.name}'") for name in rule.ops)


def _distinct(kind: str, names: Iterable[str]) -> frozenset[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProblemError(f"two records have the {kind} name '{name}'")
        seen.add(name)
    return frozenset(seen)


def _check_numbers(problem: ExactProblem) -> None:
    for what, number, least in _numbers(problem):
        if number < least:
            raise ProblemError(f"{what} is {number}; the least that makes sense is {least}")
    for ring in problem.rings:
        if ring.max_copies is not None and ring.max_copies < ring.min_copies:
            raise ProblemError(f"ring '{ring.name}' asks for {ring.min_copies} copies and allows {ring.max_copies}")


def _numbers(problem: ExactProblem) -> Iterator[tuple[str, int, int]]:
    """What it is, the number, the least that makes sense."""
    yield "the number of agents", problem.agents, 1
    for op in problem.ops:
        yield f"the latency of op '{op.name}'", op.latency, 0
        yield f"the issue time of op '{op.name}'", op.issue, 0
        yield f"the number of warps of op '{op.name}'", op.min_warps, 1
        yield f"the last stage of op '{op.name}'", 0 if op.max_stage is None else op.max_stage, 0
        for use in op.uses:
            yield f"the footprint of op '{op.name}' on slot {use.slot}", use.rows, 1
            yield f"the amount of slot {use.slot} that op '{op.name}' takes", use.amount, 1
    for dependence in problem.dependences:
        yield f"the distance of the dependence {dependence.source} -> {dependence.sink}", dependence.distance, 0
    for ring in problem.rings:
        yield f"the bytes of ring '{ring.name}'", ring.bytes, 0
        yield f"the least copies of ring '{ring.name}'", ring.min_copies, 1
        yield from _numbers_of_reads(f"ring '{ring.name}'", ring.readers)
    for value in problem.values:
        yield f"the words of register value '{value.name}'", value.words, 0
        yield from _numbers_of_reads(f"register value '{value.name}'", value.uses)
        if value.move is not None:
            yield f"the bytes of the move of register value '{value.name}'", value.move.bytes, 0
            yield f"the cycles of the move of register value '{value.name}'", value.move.cycles, 0
    yield from ((f"the words of constant '{constant.name}'", constant.words, 0) for constant in problem.constants)
    yield from _numbers_of_machine(problem.machine)


def _numbers_of_reads(owner: str, reads: Iterable[RingRead]) -> Iterator[tuple[str, int, int]]:
    for read in reads:
        yield f"the hold of reader '{read.op}' of {owner}", read.hold, 0
        yield f"the distance of reader '{read.op}' of {owner}", read.distance, 0


def _numbers_of_machine(machine: MachineLimits) -> Iterator[tuple[str, int, int]]:
    yield from ((f"the capacity of slot {slot.name}", slot.capacity, 0) for slot in machine.slots)
    for space in machine.spaces:
        yield f"the bytes of the space '{space.name}'", space.bytes, 0
        yield f"the static bytes of the space '{space.name}'", space.static, 0
    yield from ((f"the cycles of the handshake '{it.kind}'", it.cycles, 0) for it in machine.handshakes)
    for pool in machine.pools:
        yield f"the words of the register pool '{pool.name}'", pool.words, 0
        yield f"the words that the register pool '{pool.name}' keeps", pool.kept, 0
    yield "the number of named barriers", machine.named_barriers, 0
    yield "the length of the queue", machine.queue, 0
    yield "the number of warps", machine.warps, 1


def _check_order(problem: ExactProblem) -> None:
    """Within one iteration no op can wait for itself."""
    edges = [
        CycleEdge(problem.positions[it.source], problem.positions[it.sink], it.latency, it.distance)
        for it in problem.dependences
        if it.distance == 0
    ]
    cycle = worst_cycle(len(problem.ops), edges, period=0)
    if cycle is None:
        return
    names = [problem.ops[edge.source].name for edge in cycle]
    total = sum(edge.latency for edge in cycle)
    raise ProblemError(
        f"the dependences {' -> '.join([*names, names[0]])} of one iteration form a cycle of {total} cycles: "
        "no op of it can start first"
    )
