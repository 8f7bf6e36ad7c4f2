"""
Phases to counts: a pipeline of TileAS becomes a queue, where one thread can issue all that fills it.

    produce_one %p {                            async_queue.commit 0 {
      async_queue.scope { ... }                   async_queue.scope { ... }
      yield                              ->     }
    }
    consume_one %c { ... yield }                async_queue.wait 0, 2 { ... }

A pipeline that one agent fills and empties in turn: `one_agent.py`. Two agents of an `agent_switch`, of which one does
nothing but load tiles and put them into slots: `two_agents.py`. Each refuses what it cannot say exactly before anything
is changed. The rules of TileAS behind it: turns of a pipeline are first in, first out; a turn does by itself each step
of the handshake (acquire, write, commit; wait, read, release) that no op in it does.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreatePipelineOp
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.merging import Merging
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.one_agent import OneAgent
from tileas_xdsl.transforms.queues.convert_pipeline_to_queue.two_agents import TwoAgents


@dataclass(frozen=True)
class ConvertPipelineToQueuePass(ModulePass):
    """
    Turn stages and phases of TileAS pipelines into groups and counts of `async_queue`.

    Rewrites: `create_pipeline` to a queue, numbered past those in use, and to buffers where tiles travel in the slots;
    `produce_one` to `commit`, `consume_one` to `wait`; an `agent_switch` of a producer and a consumer to the consumer.

    Requires: turns in order, first in first out, by `produce_one` and `consume_one` that do all their steps.

    Refuses, with the IR untouched: turns that are not seen to be in order; pipelines whose two ends are in different
    agents, unless one of the agents only loads tiles; reads of memory that somebody writes meanwhile; waits that are
    reached with different numbers of full stages (all of it in `one_agent.py` and `two_agents.py`).

    Choices
        The agent that only loads is merged into the one that consumes, and its turn k + depth is issued where slot k is
        given back: the earliest that it could have begun. Its sources must not be written meanwhile, since groups are
        unordered among themselves where turns of an agent are not. One agent that handed itself tiles copies them
        itself, in the commit.
    """

    name = "convert-pipeline-to-queue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        roots = [root for root in op.walk() if isinstance(root, CreatePipelineOp)]
        shared = _by_switch(op, roots)
        covered = {root for found in shared.values() for root in found}
        pairs = [TwoAgents(switch, _function_of(switch), found) for switch, found in shared.items()]
        singles = [OneAgent(root) for root in roots if root not in covered]
        for plan in (*pairs, *singles):
            plan.make()
        queue = first_free_queue(op) if roots else 0
        for pair in pairs:
            Merging(pair).merge(queue)
            queue += len(pair.roots)
        for number, single in enumerate(singles, queue):
            single.rewrite(number)


def _by_switch(module: Operation, roots: list[CreatePipelineOp]) -> dict[AgentSwitchOp, list[CreatePipelineOp]]:
    """The outermost switches in which ends of pipelines from outside are used, and these pipelines."""
    found: dict[AgentSwitchOp, list[CreatePipelineOp]] = {}
    for root in roots:
        switches: dict[AgentSwitchOp, None] = {}
        for end in (root.producer, root.consumer):
            for use in end.uses:
                switch = _outermost_switch(use.operation, root)
                if switch is not None:
                    switches[switch] = None
        for switch in switches:
            found.setdefault(switch, []).append(root)
    return found


def _outermost_switch(op: Operation, root: CreatePipelineOp) -> AgentSwitchOp | None:
    found: AgentSwitchOp | None = None
    node: Operation | None = op
    while node is not None and node is not root.parent_op():
        if isinstance(node, AgentSwitchOp):
            found = node
        node = node.parent_op()
    return found


def _function_of(op: Operation) -> Operation:
    function = enclosing_function(op)
    if function is None:
        refuse(op, "stands in no function", "put it into a function")
    return function


def first_free_queue(module: Operation) -> int:
    """The number past all queues of `module`: queues are shared between functions. Raises `RefusedError`."""
    first = 0
    for op in module.walk():
        if not isinstance(op, CommitOp | WaitOp):
            continue
        if not isinstance(op.queue, int):
            refuse(op, "is for a queue whose id is computed, so no queue is known to be free", "use constant ids")
        first = max(first, op.queue + 1)
    return first
