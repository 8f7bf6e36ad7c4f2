"""
What the ops of `async_queue` do.

The body of a scope is recorded and becomes one work. A commit makes one group of the works that are issued in it, but
not in a commit inside it, and puts the group on a queue when it is left, even if the group is empty. A wait of `N` is
passed, and its body runs, once at most `N` groups of the queue are unfinished. The groups of one queue complete in
order; groups of different queues are unordered. Source: TVM RFC 0077, "Asynchronous stage in software pipeline"
(Masuda and Lin, 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, ScopeOp, WaitOp, around
from tileas_xdsl.interfaces import AsyncCollectorOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.meaning import control, suspends
from tileas_xdsl.machine.core.recording import Recording
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.synchronization import GroupQueue
from tileas_xdsl.machine.parts import rings
from tileas_xdsl.machine.parts.barriers import commit, wait_for_queue
from tileas_xdsl.machine.parts.rings import OpenStages


@dataclass
class NumberedQueues(SharedPart):
    """The queues of an execution, by number."""

    queues: dict[int, GroupQueue] = field(default_factory=dict[int, GroupQueue])

    def draw(self, canvas: Canvas) -> None:
        for number, queue in self.queues.items():
            canvas.literal(("queue", number))
            canvas.thing(queue)


@dataclass
class OpenCommits(OwnPart):
    """For each commit that an agent is in, the works that will be its group; the innermost last."""

    works: list[list[AsyncWork]] = field(default_factory=list["list[AsyncWork]"])

    def draw(self, canvas: Canvas, agent: Who) -> None:
        for works in self.works:
            canvas.works(works)


def queue_numbered(agent: Agent, number: int) -> GroupQueue:
    """The queue of that number; queues belong to the execution, not to an agent."""
    queues = agent.shared(NumberedQueues).queues
    if number not in queues:
        queues[number] = GroupQueue(str(number))
    return queues[number]


def _open_commits(agent: Agent) -> list[list[AsyncWork]]:
    return agent.part(OpenCommits).works


def _number(agent: Agent, op: Operation, constant: Any, operands: list[Any], use: str) -> int:
    """A queue number or count: the property, or the next operand."""
    if constant is not None:
        return constant.value.data
    return agent.known(operands.pop(0), op, use)


@control(ScopeOp)
def _scope(agent: Agent, op: ScopeOp) -> Answer:
    agent.recording = Recording(agent.machine, op)
    return agent.run_region(op.body).then(_issue_what_was_recorded)


@continuation
def _issue_what_was_recorded(agent: Agent, op: ScopeOp, _: Any) -> Answer:
    recording, agent.recording = agent.recording, None
    assert recording is not None
    if agent.captures_at_issue:
        recording.read_now()
    move = recording.perform if agent.has_data else None
    work = agent.issue(op, recording.touches, move, label="an asynchronous scope")
    if isinstance(_collector_of(agent, op), CommitOp):
        _open_commits(agent)[-1].append(work)
        return None
    # A stage that is being filled is not committed yet; one that is being emptied is.
    ring, stage = next((ring, k) for ring, k in reversed(agent.part(OpenStages).stages) if k not in ring.committed)
    rings.attach(agent, ring, stage, work)
    return None


def _find_collector(scope: Operation) -> Operation | None:
    return next((node for node in around(scope) if AsyncCollectorOpInterface.of(node) is not None), None)


_collector_of = per_op(_find_collector)


@suspends(CommitOp)
def _commit(agent: Agent, op: CommitOp, *operands: Any) -> Answer:
    number = _number(agent, op, op.properties.get("queue"), list(operands), "takes as its queue")
    _open_commits(agent).append([])
    return agent.run_region(op.body).then(_close_commit, number)


@continuation
def _close_commit(agent: Agent, _op: CommitOp, _: Any, number: int) -> Answer:
    works = _open_commits(agent).pop()
    return agent.pause().then(_commit_works, number, works)


@continuation
def _commit_works(agent: Agent, op: CommitOp, _: None, number: int, works: list[AsyncWork]) -> Answer:
    commit(agent, queue_numbered(agent, number), works, op)


@suspends(WaitOp)
def _wait(agent: Agent, op: WaitOp, *operands: Any) -> Answer:
    rest = list(operands)
    number = _number(agent, op, op.properties.get("queue"), rest, "takes as its queue")
    count = _number(agent, op, op.properties.get("count"), rest, "takes as its count")
    return wait_for_queue(agent, queue_numbered(agent, number), count, op).then(_run_body)


@control(BlockOp)
def _block(agent: Agent, op: BlockOp) -> Answer:
    return agent.run_region(op.body)


@continuation
def _run_body(agent: Agent, op: WaitOp, _: None) -> Answer:
    return agent.run_region(op.body)
