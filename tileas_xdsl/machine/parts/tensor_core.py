"""
Works of the tensor core: products, and for `tcgen05` copies, shifts and commits.

They read shared memory through the asynchronous proxy. Those of `wgmma` and copies of `tcgen05` have numbers; of
the others a check follows what they touch.

Products of registers and of `wgmma` are performed in the order in which a thread starts them (`start_in_order`). Works
of `tcgen05` may be performed in any order, but for the pairs that form a pipeline (`start_pipelined`; PTX ISA,
"tcgen05 memory consistency model", "Pipelined tcgen05 instructions"):

    product -> product       with the same accumulator, shape and kind
    copy -> product          shift -> product
    product -> shift         shift -> copy of 4x256b
    any of them -> commit

Of two commits of a thread the first arrives first. PTX does not say so, but kernels rely on it: those of Triton end a
barrier behind the wait for a later commit to another one.

A copy behind a product is in no pipeline, nor is a product behind one with another accumulator: what the second
overwrites of the operands of the first races with it. In one thread the pairs need no more. In two threads the fences
`<before>` and `<after>` of tensor memory have to lie around the synchronisation between them.

Fences of tensor memory are asked for between threads: `<after>` in the one that comes later, and `<before>` in the one
that has loaded or stored, behind the start of that; no other thread can have it. What a commit tells of needs no
`<before>` (PTX ISA: it implies one), and within a thread only what the tensor core has made needs a fence before it is
loaded. `dealloc` needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.happens_before import Proxy, Who, after_sync
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.targets.engines import Engine

TENSOR_CORE = Engine.TENSOR_CORE


# In the order of issue -----------------------------------------------------------------------------------------------


@dataclass
class LastOnTensorCore(OwnPart):
    """The work that an agent has started last on the tensor core."""

    work: AsyncWork | None = None

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.works([] if self.work is None else [self.work])


def start_in_order(
    agent: Agent,
    op: Operation,
    touches: Sequence[Touch],
    label: str,
    data: Data | None = None,
) -> AsyncWork:
    """Start a product, behind those that `agent` has started before. Its arguments are those of `start_pipelined`."""
    last = agent.part(LastOnTensorCore)
    last.work = _start(agent, op, touches, label, [] if last.work is None else [last.work], data)
    return last.work


Data = tuple[Callable[[], Any], Callable[[Any], None]]
"""What reads the sources of a work, and what computes with what was read."""


def _start(
    agent: Agent,
    op: Operation,
    touches: Sequence[Touch],
    label: str,
    before: Sequence[AsyncWork],
    data: Data | None,
) -> AsyncWork:
    machine = agent.machine
    fetch, deliver = data or (None, None)
    if machine.with_data and touches and deliver is None:
        raise UnsupportedError(op, "is not computed on the machine; check the program, which follows what it touches")
    events = [machine.event_of(work) for work in before]
    return agent.issue(
        op, touches, None, label=label, engine=TENSOR_CORE, dependencies=events, fetch=fetch, deliver=deliver
    )


# In pipelines ---------------------------------------------------------------------------------------------------------


class Instruction(Enum):
    """The asynchronous instructions of `tcgen05` that an mbarrier tracks, and what lets it do that."""

    PRODUCT = auto()
    COPY = auto()
    COPY_4X256B = auto()
    SHIFT = auto()
    COMMIT = auto()


PIPELINES = {
    (Instruction.COPY, Instruction.PRODUCT),
    (Instruction.COPY_4X256B, Instruction.PRODUCT),
    (Instruction.SHIFT, Instruction.PRODUCT),
    (Instruction.SHIFT, Instruction.COPY_4X256B),
    (Instruction.PRODUCT, Instruction.SHIFT),
    *((each, Instruction.COMMIT) for each in Instruction),
}
"""The pairs of which the first is performed before the second; of two products that depends on their accumulators."""


@dataclass(frozen=True)
class Started:
    """A work that an agent has started."""

    work: AsyncWork
    instruction: Instruction
    accumulator: object
    """Of a product: where it adds, in which shape and kind. Else None."""

    def precedes(self, instruction: Instruction, accumulator: object) -> bool:
        """Whether it is performed before an `instruction` that is started later."""
        return (self.instruction, instruction) in PIPELINES or self._is_summand_before(instruction, accumulator)

    def is_replaced_by(self, instruction: Instruction, accumulator: object) -> bool:
        """Whether whatever is performed behind that, which is started later, is performed behind this as well."""
        both_commit = self.instruction is instruction is Instruction.COMMIT
        return both_commit or self._is_summand_before(instruction, accumulator)

    def _is_summand_before(self, instruction: Instruction, accumulator: object) -> bool:
        return self.instruction is instruction is Instruction.PRODUCT and self.accumulator == accumulator


@dataclass
class PipelinedWorks(OwnPart):
    """The works that an agent has started and does not know to be complete, without those that others stand for."""

    started: list[Started] = field(default_factory=list[Started])

    def forget_complete(self, agent: Who) -> None:
        self.started = [each for each in self.started if not agent.mind.knows_work(each.work)]

    def draw(self, canvas: Canvas, agent: Who) -> None:
        self.forget_complete(agent)
        canvas.works(each.work for each in self.started)
        for each in self.started:
            canvas.literal(each.instruction)
            canvas.value(each.accumulator)


def start_pipelined(
    agent: Agent,
    op: Operation,
    instruction: Instruction,
    touches: Sequence[Touch],
    label: str,
    accumulator: object = None,
    data: Data | None = None,
) -> AsyncWork:
    """
    Start a work of `tcgen05`, behind those with which it forms a pipeline; `accumulator` is as in `Started`. An op
    that touches memory without `data` is refused where numbers are wanted.
    """
    own = agent.part(PipelinedWorks)
    own.forget_complete(agent)
    others = () if instruction is Instruction.COMMIT else _handed_over(agent)
    before = [each.work for each in (*own.started, *others) if each.precedes(instruction, accumulator)]
    work = _start(agent, op, touches, label, before, data)
    own.started = [each for each in own.started if not each.is_replaced_by(instruction, accumulator)]
    own.started.append(Started(work, instruction, accumulator))
    return work


def _handed_over(agent: Agent) -> Iterator[Started]:
    """
    The works of other threads that later ones of `agent` may follow in a pipeline: started before a fence `<before>`,
    of which `agent` has learnt before a fence `<after>`.
    """
    fenced = agent.fenced.get(after_sync(Proxy.TENSOR_REGISTERS, agent.number), {})
    for other in agent.agents if fenced else ():
        known = fenced.get(other.number, -1)
        if other is not agent and other.block is agent.block and known >= 0:
            yield from (each for each in other.part(PipelinedWorks).started if each.work.moment <= known)


def start_commit(agent: Agent, op: Operation) -> AsyncWork:
    """Start a work that is complete when all works of `tcgen05` are that `agent` has started."""
    return start_pipelined(agent, op, Instruction.COMMIT, [], "an arrival behind works of the tensor core")


# Who may start them ---------------------------------------------------------------------------------------------------


def must_be_one_thread(agent: Agent, op: Operation) -> None:
    """Raises `UnsupportedError` unless one thread executes `op`, which speaks for the whole block."""
    if agent.threads != 1:
        raise UnsupportedError(
            op, f"is executed by {agent.threads} threads, each of which starts it; let one start it (elect.sync)"
        )


def must_be_whole_warp(agent: Agent, op: Operation) -> None:
    """Raises `UnsupportedError` where only some threads of a warp execute `op`, in which all take part."""
    if agent.active is not None:
        raise UnsupportedError(op, "is executed by some threads of a warp, and all of it have to (.sync.aligned)")
