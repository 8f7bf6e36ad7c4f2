"""
Proxy fences that a program writes: `fence.proxy.async`, and what becomes it (PTX ISA, "membar/fence").

Those that a compiler puts in are in `compiler_fences`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.parts.placed_barriers import UnfencedInits


def fence_proxies(agent: Agent, op: Operation, spaces: Sequence[str]) -> None:
    """Order generic accesses of `spaces` before asynchronous ones, and initialisations of barriers with them."""
    agent.fence_proxies(spaces)
    if "shared" in spaces:
        fence_inits(agent)
    agent.machine.happened(agent, op, "fence", f"orders generic before asynchronous accesses ({', '.join(spaces)})")


def fence_inits(agent: Agent) -> None:
    """The barriers that `agent` has made so far may be signalled by asynchronous work."""
    made = agent.part(UnfencedInits)
    for barrier in made.barriers:
        barrier.fenced = True
    made.barriers = []
