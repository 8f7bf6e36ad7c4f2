"""
Products of a warpgroup and their groups: `wgmma.mma_async`, `commit_group` and `wait_group` of `nvvm`, and the ops of
`ttng` that become them.

The products of one thread are performed in order, and belong to the group that is committed next. A wait leaves the
youngest groups unfinished. (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.wait_group".)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Touch
from tileas_xdsl.machine.core.standings import Request
from tileas_xdsl.machine.parts.barriers import wait_for_queue
from tileas_xdsl.machine.parts.copy_groups import commit_copies, copy_groups
from tileas_xdsl.machine.parts.tensor_core import start_in_order
from tileas_xdsl.targets.engines import Engine

WGMMA = Engine.WGMMA
"""The family of these works among those that are waited for by groups."""


def start_warpgroup_product(
    agent: Agent,
    op: Operation,
    touches: Sequence[Touch],
    label: str,
    fetch: Callable[[], Any] | None = None,
    deliver: Callable[[Any], None] | None = None,
) -> AsyncWork:
    """Issue a product. `fetch` reads its factors, and `deliver` computes the result."""
    data = None if fetch is None or deliver is None else (fetch, deliver)
    work = start_in_order(agent, op, touches, label, data)
    copy_groups(agent, WGMMA).uncommitted.append(work)
    return work


def commit_warpgroup_products(agent: Agent, op: Operation) -> None:
    """The products that are in no group yet become one."""
    commit_copies(agent, WGMMA, op)


def wait_for_warpgroup_products(agent: Agent, op: Operation, in_flight: int) -> Request:
    """Wait until at most `in_flight` groups of products are unfinished."""
    return wait_for_queue(agent, copy_groups(agent, WGMMA).queue, in_flight, op)
