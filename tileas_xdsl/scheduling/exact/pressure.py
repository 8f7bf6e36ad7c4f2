"""
How many registers a schedule needs: the words that are alive at each row of an agent's loop.

The result of a queued op has its registers from its issue on (PTX ISA, `wgmma.mma_async`: accesses before the wait are
undefined). `RegisterFile.taken_at_issue = False` is the weaker model, in which they are taken while the op executes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileas_xdsl.scheduling.exact.agents import register_budgets, round_warps
from tileas_xdsl.scheduling.exact.problem import ExactProblem, RegisterValue
from tileas_xdsl.scheduling.exact.schedule import Schedule


def words_of(problem: ExactProblem, schedule: Schedule, agent: int) -> int:
    """Words a thread that the agent needs, with its constants, in its fullest cycle."""
    constants = sum(it.words for it in problem.constants if schedule.agents[problem.positions[it.op]] == agent)
    own = [value for value in problem.values if value.pool is None]
    lives = [(value.words, *life) for value in own for life in _life(problem, schedule, value, agent)]
    turns = sum(words * ((end - start) // schedule.ii) for words, start, end in lives)
    starts = sorted({start % schedule.ii for _, start, _ in lives})
    rests = [sum(_rest_at(row, *life, schedule.ii) for life in lives) for row in starts]
    return constants + turns + max(rests, default=0)


def warps_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...]:
    """Warps of each agent: what the largest of its ops needs."""
    return tuple(
        round_warps(max(problem.ops[op].min_warps for op in schedule.ops_of(agent)))
        for agent in range(schedule.agent_count)
    )


def budgets_of(problem: ExactProblem, schedule: Schedule) -> tuple[int, ...] | None:
    """Words a thread that each agent may use; None where the machine does not model registers."""
    if problem.machine.registers is None:
        return None
    return register_budgets(problem, warps_of(problem, schedule))


def _rest_at(row: int, words: int, start: int, end: int, ii: int) -> int:
    """What a value takes at a row beyond its whole turns."""
    return words if (row - start) % ii < (end - start) % ii else 0


def _life(problem: ExactProblem, schedule: Schedule, value: RegisterValue, agent: int) -> Iterator[tuple[int, int]]:
    """From when to when the value of iteration 0 lies in registers of the agent, if it does."""
    places = problem.positions
    ends = [
        schedule.starts[places[read.op]] + schedule.ii * read.distance + read.hold
        for read in value.uses
        if schedule.agents[places[read.op]] == agent
    ]
    transfer = next((it for it in schedule.transfers if it.value == value.name), None)
    cycles = 0 if value.move is None else value.move.cycles
    definition = places[value.definition]
    if schedule.agents[definition] == agent:
        ends.append(schedule.starts[definition])
        ends += [] if transfer is None else [transfer.write + cycles]
        file = problem.machine.registers
        at_issue = file is not None and file.taken_at_issue
        yield (schedule.issues if at_issue else schedule.starts)[definition], max(ends)
    elif transfer is not None:
        yield from ((read, max([*ends, read + cycles])) for reader, read in transfer.reads if reader == agent)
