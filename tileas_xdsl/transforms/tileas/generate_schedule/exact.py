"""
The exact strategy: the least interval with one agent, with two, or with as few as reach the least.

Two agents can always do what one does, so with `auto` there are two only where the least interval of one is larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.exact.search import Limits
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import SearchLimits, schedule
from tileas_xdsl.scheduling.proven import ProvenSchedule, proven_schedule
from tileas_xdsl.scheduling.two_agents import SLOTS, OneAgentError, for_two_agents

AUTO = "auto"

AGENTS = (1, len(SLOTS), AUTO)
"""What may be asked for: one agent, a producer and one that computes, or as few as reach the least interval."""

Agents = tuple[int | None, ...]


@dataclass(frozen=True)
class Exactly:
    """What is asked for."""

    agents: int | str
    seconds: float
    """Deterministic seconds of the solver, for each number of agents."""
    rounds: int
    """Of the heuristic that the search for two agents starts from."""


def exact_schedule(problem: LoopProblem, found: ModuloSchedule, asked: Exactly) -> tuple[Agents, ModuloSchedule]:
    """
    The schedule of `problem` with the least interval, and who runs each op: nothing for one agent. `found` is the
    heuristic's for one agent. Raises `OneAgentError`, `SolverMissing`.
    """
    if asked.agents == 1:
        return (), _proven(found, asked)
    try:
        agents, two = _with_two_agents(problem, asked)
    except OneAgentError as error:
        if asked.agents != AUTO:
            raise
        return (), _saying(_proven(found, asked), f"1 agent: {error}")
    if asked.agents != AUTO:
        return agents, _saying(two, f"{len(SLOTS)} agents")
    one = _proven(found, asked)
    if one.ii <= two.ii:
        return (), _saying(one, f"1 agent: with {len(SLOTS)}, II is {two.ii}")
    least = 0 if one.proof is None else one.proof.lower_bound
    return agents, _saying(two, f"{len(SLOTS)} agents{_why_not_one(least, one.ii, two.ii)}")


def _why_not_one(least: int, best: int, reached: int) -> str:
    if least > reached:
        return f" (proven: with 1, II >= {least})"
    return f" (with 1, II = {best} is the best known, >= {least})"


def _with_two_agents(problem: LoopProblem, asked: Exactly) -> tuple[Agents, ModuloSchedule]:
    """Stages between agents become slots of rings, which memory limits, so `num-stages` does not."""
    shared = for_two_agents(problem)
    free = replace(shared.problem.problem, most_stages=NO_LIMIT)
    start = schedule(free, Strategy.COST_BASED, SearchLimits(rounds=asked.rounds))
    return shared.agents, _proven(start, asked)


def _proven(start: ModuloSchedule, asked: Exactly) -> ModuloSchedule:
    found = proven_schedule(start, Limits(seconds=asked.seconds))
    assert isinstance(found, ProvenSchedule), "the search starts from a schedule"
    return found.schedule


def _saying(found: ModuloSchedule, more: str) -> ModuloSchedule:
    """`found` with more in its proof."""
    assert found.proof is not None
    return replace(found, proof=replace(found.proof, text=f"{found.proof.text}; {more}"))
