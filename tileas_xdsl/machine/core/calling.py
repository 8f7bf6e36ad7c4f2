"""
Calling a function from outside: one execution of it on a fresh machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, Request, Standing, continuation
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.threads.cluster_calls import call_by_grid
from tileas_xdsl.machine.core.violations import MistakeError, NoMeaningError, StuckError, report_mistake


def execute(machine: Machine, function: Operation, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """
    Call `function` on `machine`, which must be fresh. Returns its results; a deadlock is reported as a violation,
    without results. There are none either where the execution comes to something that has no meaning.
    """
    machine.arguments = tuple(arguments)
    return _executed(machine, lambda: machine.run("main", Standing(function, _call_entry, (machine.arguments,))))


def execute_to_mistake(machine: Machine, function: Operation, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The same, where a mistake of the program is a violation that ends the execution, without results."""
    try:
        return execute(machine, function, arguments)
    except MistakeError as error:
        report_mistake(machine, error)
        return ()


def execute_on(machine: Machine, agent: Agent) -> tuple[Any, ...]:
    """Go on with a call that was put aside when `agent` had stopped for the observer. The same as `execute` else."""
    return _executed(machine, lambda: machine.run_on(agent))


def _executed(machine: Machine, run: Callable[[], Agent]) -> tuple[Any, ...]:
    returned: Sequence[Any] = ()
    try:
        returned = run().outcome or ()
    except StuckError:
        machine.report_standstill()
    except NoMeaningError:
        pass  # It has been reported.
    machine.observer.ended(machine)
    return tuple(_result(value) for value in returned)


@continuation
def _call_entry(agent: Agent, function: Operation, _: None, arguments: Sequence[Any]) -> Answer:
    return call_by_grid(agent, function, arguments, agent.machine.threads).then(_await_returned)


@continuation
def _await_returned(agent: Agent, function: Operation, values: Sequence[Any]) -> Answer:
    """Wait for each returned token or promise, as a caller would."""
    return _await_from(agent, function, tuple(values), 0)


def _await_from(agent: Agent, function: Operation, values: tuple[Any, ...], first: int) -> Request:
    for number, value in enumerate(values[first:], first):
        if isinstance(value, Event):
            return agent.wait(EventCondition(value), function).then(_await_others, values, number + 1)
    payloads = [value.payload if isinstance(value, Event) else value for value in values]
    return agent.settled(payloads, agent.current_op or function)


@continuation
def _await_others(agent: Agent, function: Operation, _: None, values: tuple[Any, ...], first: int) -> Answer:
    return _await_from(agent, function, values, first)


def _result(value: Any) -> Any:
    """A returned value for the caller: for a view a copy of its contents."""
    if isinstance(value, View) and value.base.data is not None:
        return value.array().copy()
    return value
