"""
What the exact scheduler is asked: the ops of one loop body, what orders them, what they hold, and a machine.

All times are cycles, or any other unit that is used throughout. All records are frozen and hashable; the order of the
ops is program order, which breaks ties. A loop of these ops runs for ever: the instance of an op in iteration `j`
starts to execute at `start + II * j`, where `II` is the initiation interval (Rau, "Iterative Modulo Scheduling", MICRO
1994). `checks.py` refuses what is malformed; that a problem has no schedule is for the search to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tileas_xdsl.targets.machine_model import SlotUse

SHARED = "shared"
TENSOR = "tensor"

MBARRIER = "mbarrier"
NAMED = "named"


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
    queues: tuple[tuple[str, ...], ...] = ()
    """
    Ops that an engine serves in the order in which they are ready, for each engine with several: an op is ready when
    all that it depends on lets it start.
    """

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Op -> its place in program order."""
        return {op.name: position for position, op in enumerate(self.ops)}

    def op(self, name: str) -> OpSpec:
        return self.ops[self.positions[name]]

    def slot(self, name: str) -> SlotLimit:
        return next(slot for slot in self.machine.slots if slot.name == name)

    @cached_property
    def arrivals(self) -> Mapping[str, tuple[Dependence, ...]]:
        """For each op of the queues what it is ready after."""
        queued = dict.fromkeys(name for queue in self.queues for name in queue)
        return {name: tuple(it for it in self.dependences if it.sink == name != it.source) for name in queued}

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
