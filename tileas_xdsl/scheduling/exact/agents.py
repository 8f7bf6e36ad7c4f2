"""
What a partition into agents asks of a block: warps, and registers for each thread.

Warps of an agent lie together, at a multiple of their number, in the order of the agents, as the mapping of execution
units puts them; `setmaxnreg` gives registers to groups of 4 warps in steps of 8, between 24 and 256 (PTX ISA).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tileas_xdsl.scheduling.exact.problem import ExactProblem, RegisterFile
from tileas_xdsl.targets.warps import LEAST_REGISTERS, MOST_REGISTERS, REGISTER_STEP, WARP, block_warps, up_to_groups


def round_warps(warps: int) -> int:
    """An agent is one warp, or whole groups of four."""
    return 1 if warps == 1 else up_to_groups(warps)


def register_budgets(problem: ExactProblem, agents: Sequence[int]) -> tuple[int, ...] | None:
    """Words a thread for the values of each agent, given the warps of each; None where the file has too few."""
    file = problem.machine.registers
    if file is None:
        return (0,) * len(agents)
    producers = agents[:1] if problem.has_producer and len(agents) > 1 else ()
    left = file.words - sum(warps * WARP * file.producer for warps in producers)
    threads = WARP * sum(agents[len(producers) :])
    share = _registers_each(left, threads)
    if left < 0 or share < LEAST_REGISTERS:
        return None
    compute = max(min(share - file.reserve, file.budget), 0)
    return (*(_producer_budget(file) for _ in producers), *(compute for _ in agents[len(producers) :]))


def _registers_each(words: int, threads: int) -> int:
    if threads == 0:
        return MOST_REGISTERS
    return min(words // threads // REGISTER_STEP * REGISTER_STEP, MOST_REGISTERS)


def _producer_budget(file: RegisterFile) -> int:
    return max(file.producer - file.reserve, 0)


def possible_warps(problem: ExactProblem, count: int) -> Iterator[tuple[int, ...]]:
    """The warps that up to `count` agents may have, 0 for one that is not used, so that the block can be made."""
    levels = sorted({round_warps(op.min_warps) for op in problem.ops})
    for used in range(1, count + 1):
        for agents in product(levels, repeat=used):
            if block_warps(agents) <= problem.machine.warps and register_budgets(problem, agents) is not None:
                yield (*agents, *(0,) * (count - used))
