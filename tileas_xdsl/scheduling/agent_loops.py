"""
The loops of agents that a program has: which of them get a schedule of their own.

    agent_switch {
      scf.for %k { acquire, load, commit }                      fills rings and takes nothing: nothing to overlap
    }, {
      scf.for %k { wait, read, product, wait for it, release }  the next product may be issued before this one is over
    }

Input: a function. Output: its loops. Changes nothing. Linear in the ops.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, ConsumerWaitOp

AWS_STAGE, AWS_ORDER = "nv_tile.aws.stage", "nv_tile.aws.order"
"""On an op of an agent: where it has stood in the schedule by which the loop was peeled."""


def has_agents(function: Operation) -> bool:
    """Whether `function` says who runs what."""
    return any(isinstance(op, AgentSwitchOp) for op in function.walk())


def loops_of_agents(function: Operation) -> list[scf.ForOp]:
    """The innermost loops of the agents of `function`, but for those that a schedule has peeled before."""
    switches = [op for op in function.walk() if isinstance(op, AgentSwitchOp)]
    loops = (op for switch in switches for op in switch.walk() if isinstance(op, scf.ForOp))
    return [loop for loop in loops if is_innermost(loop) and not any(AWS_STAGE in op.attributes for op in loop.walk())]


def takes_stages(loop: scf.ForOp) -> bool:
    """Whether the body of `loop` takes stages in single steps, which can be scheduled one by one."""
    return any(isinstance(op, ConsumerWaitOp) for op in loop.body.block.ops)


def is_innermost(loop: scf.ForOp) -> bool:
    """Whether no other loop is in `loop`."""
    return not any(isinstance(op, scf.ForOp | scf.WhileOp) for op in loop.body.walk())
