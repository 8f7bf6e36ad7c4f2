"""
Atomic accesses: a read, a computation and a write of one place as one step.

Two of them never race with each other; one and an ordinary access of the same bytes do. Those of `llvm` by which the
program decides are followed (`words`). The others order nothing else: what one would hand over by its ordering a check
does not rely on. Nor does it follow what they read, as that depends on the order in which others come; so what branches
on it is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError


def load(agent: Agent, op: Operation, place: View) -> Any:
    """What is at `place`: UNKNOWN when data is not computed, since others may change it at the same time."""
    _must_not_be_put_off(agent, op)
    agent.check_bounds(place, op)
    agent.touch(place, op, write=False, is_atomic=True)
    return agent.peek(place) if agent.has_data else UNKNOWN


def update(agent: Agent, op: Operation, place: View, compute: Callable[[Any], Any]) -> Any:
    """
    Put `compute(old)` to `place`, of which `old` is the content, and return that: UNKNOWN when data is not computed. A
    result None leaves the content as it is.
    """
    _must_not_be_put_off(agent, op)
    agent.check_bounds(place, op)
    agent.touch(place, op, write=True, is_atomic=True)
    machine = agent.machine
    if not machine.with_data:
        machine.write(place, UNKNOWN)
        return UNKNOWN
    old = machine.read(place)
    new = compute(old)
    if new is not None:
        machine.write(place, new)
    return old


def _must_not_be_put_off(agent: Agent, op: Operation) -> None:
    if agent.recording is not None:
        raise UnsupportedError(op, "is atomic inside an asynchronous scope, which has no meaning here; move it outside")
