"""
Reporting what an op may not do by its manual, though it can be read: an operand out of range, a count that nobody can
meet. It is a mistake of the program, as a race is, and no input that cannot be read.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.violations import NoMeaningError, Party, Violation, ViolationKind


def report_malformed(agent: Agent, op: Operation, role: str, rule: str, *, stuck: bool = False) -> None:
    """Report `op`, which does `role` ("takes 16 as its barrier"); `rule` says in words what it may do."""
    party = Party(op, agent.name, agent.iteration, role)
    message = "an op is used in a way that its manual leaves undefined"
    agent.machine.report(Violation(ViolationKind.MALFORMED, message, (party,), rule, stuck=stuck))


def end_malformed(agent: Agent, op: Operation, role: str, rule: str) -> NoReturn:
    """The same for an op after which nothing that follows has a meaning. Raises `NoMeaningError`."""
    report_malformed(agent, op, role, rule, stuck=True)
    raise NoMeaningError
