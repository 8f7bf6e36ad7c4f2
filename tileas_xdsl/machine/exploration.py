"""
All interleavings of a small program, one after the other, within a bound.

Used where one execution does not speak for all. Each run replays a list of choices and then takes the first option;
the last choice that has another option left is changed for the next run. Agents pause only at synchronisation:
accesses need no interleaving of their own, since races are found by happens-before whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileas_xdsl.machine.agents import Agent
from tileas_xdsl.machine.execution import Machine
from tileas_xdsl.machine.orders import Order, Pauses
from tileas_xdsl.machine.works import AsyncWork

MOST_RUNS = 2_000
"""Interleavings tried before the exploration gives up."""


class Scripted(Order):
    """Replays `script`, then takes the first option; remembers how many options there were each time."""

    pauses = Pauses.AT_SYNCHRONISATION

    def __init__(self, script: list[int]) -> None:
        self.script = script
        self.taken: list[int] = []
        self.options: list[int] = []

    def choose(self, machine: Machine, runnable: list[Agent]) -> Agent | AsyncWork | None:
        choices: list[Agent | AsyncWork] = [*runnable, *machine.ready_works()]
        if not choices:
            return None
        turn = len(self.taken)
        pick = self.script[turn] if turn < len(self.script) else 0
        self.taken.append(pick)
        self.options.append(len(choices))
        return choices[pick]


@dataclass
class Exploration:
    """What the exploration came to."""

    machine: Machine
    """The first execution with a violation, else the last one."""
    runs: int
    exhausted: bool
    """Whether every interleaving was tried."""


def explore(make: Callable[[Order], Machine], most_runs: int = MOST_RUNS) -> Exploration:
    """Run `make(order)`, which builds and runs a machine, under every order until one shows a violation."""
    script: list[int] = []
    runs = 0
    while True:
        order = Scripted(script)
        machine = make(order)
        runs += 1
        if machine.violations:
            return Exploration(machine, runs, False)
        turn = len(order.taken) - 1
        while turn >= 0 and order.taken[turn] + 1 >= order.options[turn]:
            turn -= 1
        if turn < 0:
            return Exploration(machine, runs, True)
        if runs >= most_runs:
            return Exploration(machine, runs, False)
        script = [*order.taken[:turn], order.taken[turn] + 1]
