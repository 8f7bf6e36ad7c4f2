"""
The exact strategy: the least interval with one agent, with a producer and one or two that compute, or with as few as
reach the least.

Each partition that the rules allow (`scheduling/shared_loops.py`) is a problem of its own, solved on its own: so the
least interval of all is the least of any partition, and is proven where each smaller one is refuted for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.exact.search import Limits
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import SearchLimits, schedule
from tileas_xdsl.scheduling.proven import ProvenSchedule, proven_schedule
from tileas_xdsl.scheduling.shared_loops import OneAgentError, SharedLoop, missing_words, partitions_of

AUTO = "auto"

MOST_AGENTS = 3

AGENTS = (*range(1, MOST_AGENTS + 1), AUTO)
"""
What may be asked for: one agent; a producer and one that computes; a producer and as few as reach the least interval;
as few as reach it, be it one.
"""


@dataclass(frozen=True)
class Exactly:
    """What is asked for."""

    agents: int | str
    seconds: float
    """Deterministic seconds of the solver, for each partition."""
    rounds: int
    """Of the heuristic that the search for several agents starts from."""
    hands_over: bool
    """Whether a producer can leave its registers to others."""

    @property
    def most(self) -> int:
        return MOST_AGENTS if isinstance(self.agents, str) else self.agents


@dataclass(frozen=True)
class Candidate:
    """The best schedule of one partition."""

    count: int
    agents: tuple[int | None, ...]
    schedule: ModuloSchedule

    @property
    def least(self) -> int:
        """No schedule of the partition has a smaller interval."""
        return self.schedule.ii if self.schedule.proof is None else self.schedule.proof.lower_bound


def exact_schedule(
    problem: LoopProblem, found: ModuloSchedule, asked: Exactly
) -> tuple[int, tuple[int | None, ...], ModuloSchedule]:
    """
    The number of agents, who runs each op (nothing for one agent), and the schedule of `problem` with the least
    interval. `found` is the heuristic's for one agent. Raises `OneAgentError`, `SolverMissing`.
    """
    alone = [Candidate(1, (), _proven(found, asked))] if asked.agents in (1, AUTO) else []
    if asked.agents == 1:
        return 1, (), alone[0].schedule
    reasons: list[str] = []
    try:
        shared = list(_candidates(problem, asked, reasons))
    except OneAgentError as error:
        if not alone:
            raise
        shared, reasons = [], [str(error)]
    if not alone and not shared:
        raise OneAgentError(reasons[-1])
    candidates = [*alone, *shared]
    best = min(candidates, key=lambda it: (it.schedule.ii, it.count))
    why = "; ".join(_compared(best, candidates, reasons))
    return best.count, best.agents, _saying(best.schedule, why, min(it.least for it in candidates))


def _candidates(problem: LoopProblem, asked: Exactly, reasons: list[str]) -> Iterator[Candidate]:
    """The best schedule of each partition that has the registers; `reasons` gets why others do not count."""
    for shared in partitions_of(problem, asked.most):
        missing = missing_words(shared, hands_over=asked.hands_over)
        if missing is None:
            yield _shared(shared, asked)
        else:
            reasons.append(f"with {shared.count}, {missing}")


def _shared(shared: SharedLoop, asked: Exactly) -> Candidate:
    """Stages between agents become slots of rings, which memory limits, so `num-stages` does not."""
    free = replace(shared.problem.problem, most_stages=NO_LIMIT)
    start = schedule(free, Strategy.COST_BASED, SearchLimits(rounds=asked.rounds))
    return Candidate(shared.count, shared.agents, _proven(start, asked))


def _compared(best: Candidate, candidates: Sequence[Candidate], reasons: Sequence[str]) -> Iterator[str]:
    """The agents, and what others come to."""
    said = list(dict.fromkeys(reasons))
    for count in dict.fromkeys(it.count for it in candidates):
        rivals = [it for it in candidates if it.count == count]
        if count != best.count:
            said.append(_rival(count, best.schedule.ii, rivals))
    name = f"{best.count} agent{'s' if best.count > 1 else ''}"
    yield f"{name} ({'; '.join(said)})" if said else name


def _rival(count: int, reached: int, rivals: Sequence[Candidate]) -> str:
    """What so many agents come to, and whether that is proven."""
    least, best = min(it.least for it in rivals), min(it.schedule.ii for it in rivals)
    if least > reached or least == best:
        return f"proven: with {count}, II >= {least}"
    return f"with {count}, II = {best} is the best known, >= {least}"


def _proven(start: ModuloSchedule, asked: Exactly) -> ModuloSchedule:
    found = proven_schedule(start, Limits(seconds=asked.seconds))
    assert isinstance(found, ProvenSchedule), "the search starts from a schedule"
    return found.schedule


def _saying(found: ModuloSchedule, more: str, least: int) -> ModuloSchedule:
    """`found` with more in its proof, which then holds for every partition."""
    assert found.proof is not None
    if least < found.proof.lower_bound:
        more += f"; proven for these agents only: others may reach {least}"
    return replace(found, proof=replace(found.proof, text=f"{found.proof.text}; {more}", lower_bound=least))
