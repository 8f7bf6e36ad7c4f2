"""
The exact strategy: the least interval with one agent, with a producer and one or two that compute, or with as few as
reach the least.

Each partition that the rules allow (`scheduling/shared_loops.py`) is a problem of its own, solved on its own: so the
least interval of all is the least of any partition, and is proven where each smaller one is refuted for each of them.
Where what computing agents do is what binds, partitions in which tiles move from one to the other are asked about, too:
each for the intervals below the best that is known, which most of them miss by their work alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tileas_xdsl.scheduling.exact.bounds import bounds_of
from tileas_xdsl.scheduling.exact.search import Limits
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import InfeasibleError, SearchLimits, schedule
from tileas_xdsl.scheduling.moved_values import MovedTile
from tileas_xdsl.scheduling.proven import ProvenSchedule, exact_problem, in_registers, proven_schedule
from tileas_xdsl.scheduling.shared_loops import (
    OneAgentError,
    SharedLoop,
    TooManyError,
    dealt_partitions,
    missing_words,
    missing_words_of_one,
    partitions_of,
    slot_names,
    tiles_of_one,
    tiles_of_shared,
)
from tileas_xdsl.targets.cycles import TimingTable

AUTO = "auto"

LEAST_SECONDS = 0.1
"""What a partition gets where next to nothing is left."""

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
    table: TimingTable | None = None
    """What moving a tile takes; without one none moves."""

    @property
    def most(self) -> int:
        return MOST_AGENTS if isinstance(self.agents, str) else self.agents


@dataclass(frozen=True)
class Candidate:
    """The best schedule of one partition."""

    count: int
    agents: tuple[int | None, ...]
    schedule: ModuloSchedule
    fits: bool = True
    """Whether all tiles fit their registers."""
    moves: tuple[MovedTile, ...] = ()

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
    if asked.agents == 1:
        return 1, (), _of_one(problem, found, asked).schedule
    reasons: list[str] = []
    alone = list(_alone(problem, found, asked, reasons))
    try:
        shared = list(_candidates(problem, asked, reasons))
    except OneAgentError as error:
        if not alone:
            raise
        shared = []
        reasons.append(str(error))
    if not alone and not shared:
        raise OneAgentError("; ".join(dict.fromkeys(reasons)))
    candidates = [*alone, *shared]
    least = min(it.least for it in candidates)
    if shared and asked.most == MOST_AGENTS and asked.table is not None:
        better, least_dealt = _dealt(problem, asked, asked.table, _best(candidates), shared[0])
        candidates += better
        least = min(least, least_dealt)
    best = _best(candidates)
    why = "; ".join(_compared(best, candidates, reasons))
    return best.count, best.agents, _saying(best.schedule, why, least)


def _best(candidates: Sequence[Candidate]) -> Candidate:
    """As few agents as reach the least interval; one whose tiles do not fit only where none do."""
    return min(candidates, key=lambda it: (not it.fits, it.schedule.ii, it.count))


def _alone(problem: LoopProblem, found: ModuloSchedule, asked: Exactly, reasons: list[str]) -> Iterator[Candidate]:
    """One agent, where that is asked for, and where it has the registers."""
    if asked.agents != AUTO:
        return
    missing = missing_words_of_one(problem, hands_over=asked.hands_over)
    if missing is None:
        yield _of_one(problem, found, asked)
    else:
        reasons.append(f"with 1, {missing}")


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
    found = _proven(_heuristic(shared, asked), asked)
    tiles = tiles_of_shared(shared, hands_over=asked.hands_over)
    fitting = in_registers(found, tiles, asked.seconds)
    return Candidate(shared.count, shared.agents, fitting.schedule, fitting.fits)


def _heuristic(shared: SharedLoop, asked: Exactly) -> ModuloSchedule:
    free = replace(shared.problem.problem, most_stages=NO_LIMIT)
    return schedule(free, Strategy.COST_BASED, SearchLimits(rounds=asked.rounds))


def _dealt(
    problem: LoopProblem, asked: Exactly, table: TimingTable, best: Candidate, shared: Candidate
) -> tuple[list[Candidate], int]:
    """
    The partitions in which tiles move and whose interval is less than that of `best`, each better than the one before;
    and the least interval that one of them may have, as far as is known.
    """
    least = _without_computing(shared)
    if best.schedule.ii <= least:
        return [], best.schedule.ii
    rivals: list[tuple[int, ModuloSchedule, SharedLoop]] = []
    try:
        for rival in dealt_partitions(problem, best.schedule.ii, table):
            start = _start_of(rival, asked)
            if start is not None:
                rivals.append((bounds_of(exact_problem(start.problem)).mii, start, rival))
    except TooManyError:
        return [], least
    found: list[Candidate] = []
    bounds = [best.schedule.ii]
    left, reached = asked.seconds, best.schedule.ii
    for bound, start, rival in sorted(rivals, key=lambda it: it[0]):
        if bound >= reached:
            break
        limits = Limits(seconds=max(left, LEAST_SECONDS), explain=False, last=reached - 1)
        proven = proven_schedule(start, limits)
        assert isinstance(proven, ProvenSchedule), "the search starts from a schedule"
        left -= proven.result.trail.seconds
        bounds.append(min(reached, proven.result.lower_bound))
        if proven.schedule.ii < reached:
            fitting = in_registers(proven, tiles_of_shared(rival, hands_over=asked.hands_over), asked.seconds)
            if fitting.fits and fitting.schedule.ii < reached:
                reached = fitting.schedule.ii
                found.append(Candidate(rival.count, rival.agents, fitting.schedule, moves=rival.moves))
    return found, min(bounds)


def _start_of(rival: SharedLoop, asked: Exactly) -> ModuloSchedule | None:
    """The heuristic's schedule; None where what is carried, or one copy of each ring, does not fit."""
    if missing_words(rival, hands_over=asked.hands_over) is not None:
        return None
    try:
        return _heuristic(rival, asked)
    except InfeasibleError:
        return None


def _without_computing(shared: Candidate) -> int:
    """A bound for every partition: that of all but the computing agents."""
    kept = slot_names(shared.count - 1)[1:]
    problem = shared.schedule.problem
    ops = [replace(op, uses=tuple(use for use in op.uses if use.slot not in kept)) for op in problem.ops]
    return bounds_of(exact_problem(replace(problem, ops=tuple(ops)))).mii


def _compared(best: Candidate, candidates: Sequence[Candidate], reasons: Sequence[str]) -> Iterator[str]:
    """The agents, and what others come to."""
    said = list(dict.fromkeys(reasons))
    for count in dict.fromkeys(it.count for it in candidates):
        rivals = [it for it in candidates if it.count == count]
        if count != best.count:
            said.append(_rival(count, best.schedule.ii, rivals))
    name = f"{best.count} agent{'s' if best.count > 1 else ''}"
    if best.moves:
        name += f" between which tiles of {' and '.join(str(it.bytes) for it in best.moves)} bytes move"
    yield f"{name} ({'; '.join(said)})" if said else name


def _rival(count: int, reached: int, rivals: Sequence[Candidate]) -> str:
    """What so many agents come to, and whether that is proven."""
    least, best = min(it.least for it in rivals), min(it.schedule.ii for it in rivals)
    if least > reached or least == best:
        return f"proven: with {count}, II >= {least}"
    return f"with {count}, II = {best} is the best known, >= {least}"


def _of_one(problem: LoopProblem, found: ModuloSchedule, asked: Exactly) -> Candidate:
    tiles = tiles_of_one(problem, hands_over=asked.hands_over)
    fitting = in_registers(_proven(found, asked), tiles, asked.seconds)
    return Candidate(1, (), fitting.schedule, fitting.fits)


def _proven(start: ModuloSchedule, asked: Exactly) -> ProvenSchedule:
    found = proven_schedule(start, Limits(seconds=asked.seconds))
    assert isinstance(found, ProvenSchedule), "the search starts from a schedule"
    return found


def _saying(found: ModuloSchedule, more: str, least: int) -> ModuloSchedule:
    """`found` with more in its proof, which then holds for every partition."""
    assert found.proof is not None
    if least < found.proof.lower_bound:
        more += f"; proven for these agents only: others may reach {least}"
    return replace(found, proof=replace(found.proof, text=f"{found.proof.text}; {more}", lower_bound=least))
