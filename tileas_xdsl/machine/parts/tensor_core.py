"""
Works of the tensor core: products, and for `tcgen05` copies and shifts. Those of one thread are performed in order.

They read shared memory through the asynchronous proxy. Those of `wgmma` and copies of `tcgen05` have numbers; of
the others a check follows what they touch.

Fences of tensor memory are asked for between threads: `<after>` in the one that comes later, and `<before>` in the one
that has loaded or stored. What a commit tells of needs no `<before>` (PTX ISA: it implies one), and within a thread
only what the tensor core has made needs a fence before it is loaded. `dealloc` needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.state import Canvas, OwnPart
from tileas_xdsl.machine.core.violations import UnsupportedError

TENSOR_CORE = "tensor core"


@dataclass
class LastOnTensorCore(OwnPart):
    """The work that an agent has started last on the tensor core."""

    work: AsyncWork | None = None

    def draw(self, canvas: Canvas, agent: Agent) -> None:
        canvas.works([] if self.work is None else [self.work])


def start_in_order(
    agent: Agent,
    op: Operation,
    touches: Sequence[Touch],
    label: str,
    fetch: Callable[[], Any] | None = None,
    deliver: Callable[[Any], None] | None = None,
) -> AsyncWork:
    """
    Start a work of the tensor core, behind those that `agent` has started before. `fetch` reads its sources, `deliver`
    computes; an op without them is refused where numbers are wanted.
    """
    machine, last = agent.machine, agent.part(LastOnTensorCore)
    if machine.with_data and deliver is None:
        raise UnsupportedError(op, "is not computed on the machine; check the program, which follows what it touches")
    before = [] if last.work is None else [machine.event_of(last.work)]
    last.work = agent.issue(
        op, touches, None, label=label, engine=TENSOR_CORE, dependencies=before, fetch=fetch, deliver=deliver
    )
    return last.work


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
