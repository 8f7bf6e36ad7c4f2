"""Running one function of a module on the machine, and what a machine leaves behind."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.support.ir import parse
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.standings import Answer, Standing, continuation
from tileas_xdsl.machine.running import make_order


def machine_for(order: str = "lazy", seed: int = 0, **options: Any) -> Machine:
    return Machine(make_order(order, seed), **options)


def call(module: ModuleOp | str, name: str, *arguments: Any, machine: Machine | None = None) -> Any:
    """
    Call function `name` of `module` with run-time values, on a fresh machine unless one is given.

    Returns its result: alone if there is one, else a tuple.
    """
    if isinstance(module, str):
        module = parse(module)
    machine = machine if machine is not None else machine_for()
    function = next(
        op for op in module.walk() if (f := FunctionOpInterface.of(op)) is not None and f.function_name == name
    )
    returned = machine.run("main", Standing(function, _enter, (arguments,))).outcome
    return returned[0] if len(returned) == 1 else tuple(returned)


@continuation
def _enter(agent: Agent, function: Operation, _: None, arguments: tuple[Any, ...]) -> Answer:
    interface = FunctionOpInterface.of(function)
    assert interface is not None
    return agent.call(function, interface.function_body, arguments)
