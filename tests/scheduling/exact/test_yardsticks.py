"""
Kernels whose optima are known: one agent in the published slot model, and jointly with agents on Hopper and Blackwell.

Every result is also judged by the validator, in `solve` itself and here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.support import slot_kernels as kernels
from tests.support.joint_kernels import CYCLES, HEAD_64, blackwell, gemm, hopper
from tileas_xdsl.scheduling.exact.agents import crowded_op
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import ExactSchedule, NoSchedule
from tileas_xdsl.scheduling.exact.search import Limits, solve
from tileas_xdsl.scheduling.exact.solver import Answer, Limit
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.exact.variables import Query
from tileas_xdsl.targets.machine_model import SlotUse

KIB = 1024


@cache
def best(problem: ExactProblem, *, explain: bool = False, phases: bool = True) -> ExactSchedule:
    result = solve(problem, Limits(seconds=30, explain=explain, phases=phases))
    assert isinstance(result, ExactSchedule), result.text
    assert validate(problem, result.schedule) == ()
    assert result.proven
    assert result.trail.limits_hit == ()
    assert all(phase.proven for phase in result.phases)
    return result


# One agent ------------------------------------------------------------------------------------------------------------


def finish(result: ExactSchedule) -> int:
    """Stages counted by the last finish, as the published model counts them."""
    ends = [start + op.latency for start, op in zip(result.schedule.starts, result.problem.ops, strict=True)]
    return -(-(max(ends) + 1) // result.ii)


@pytest.mark.parametrize(
    ("problem", "ii", "stages", "finishes", "shared"),
    [
        (kernels.GEMM, 16, 2, 3, 64),
        (kernels.SMALL_GEMM, 32, 1, 2, 32),
        (kernels.TWO_GROUPS, 24, 2, 2, 48),
        (kernels.EPILOGUE, 24, 3, 4, 112),
        (kernels.WORKED_NUMBERS, 15, 1, 2, 0),
        (kernels.ATTENTION, 20, 4, 4, 128),
        (kernels.CHAIN, 31, 2, 3, 96),
        (kernels.CONVOLUTION, 16, 2, 3, 64),
        (kernels.STENCIL, 29, 3, 3, 64),
        (kernels.REDUCTION, 8, 3, 4, 32),
        (kernels.LAYER_NORM, 28, 3, 3, 32),
        (kernels.BLOCK_SCALED, 32, 2, 2, 36),
        (kernels.INTERLOCK, 18, 2, 2, 0),
    ],
)
def test_one_agent(problem: ExactProblem, ii: int, stages: int, finishes: int, shared: int) -> None:
    """
    Interval, stages and least shared memory.

    Of the stencil's input three copies are needed, not two: with two, both rows that are read again an iteration later
    would have to be read in rows 8 to 29 after their load, and the store lies there too, since it may not meet the load
    on the TMA. So only 7 rows of the remaining read would be left for the first 8 rows of a slot that is full.
    """
    result = best(problem)
    assert (result.ii, result.schedule.stage_counts, finish(result)) == (ii, (stages,), finishes)
    assert dict(result.bytes)["shared"] == shared * KIB


def test_bytes_refute_each_interval_between() -> None:
    """GEMM with room for one copy of each tile: loads and products take turns, and every faster interval is refuted."""
    result = best(kernels.SMALL_GEMM, explain=True)
    assert [it.ii for it in result.trail.refuted] == list(range(16, 32))
    assert result.text == (
        "II = 32 (proven; at 31: slot 16 (smem_wr): a 8 and b 8 of 31 rows; "
        "shared memory: a and b with 1 copy each are 32768 of 32768 bytes)"
    )


# Jointly with agents --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "ii", "agents", "peeled", "refuted"),
    [
        (gemm(128), 4, 2, [0], []),
        (gemm(256), 8, 3, [0, 0], [(8, 2)]),
        (hopper(1, crossing=False), 9, 2, [1], [(8, 3)]),
        (hopper(2), 16, 3, [0, 0], [(16, 2)]),
        (hopper(2, agents=2), 27, 2, [0], [(ii, 2) for ii in range(16, 27)]),
        (hopper(2, HEAD_64), 8, 3, [1, 1], [(8, 2)]),
        (blackwell(1), 13, 3, [0, 1], [*((ii, 3) for ii in range(8, 13)), (13, 2)]),
        (blackwell(2), 21, 3, [0, 0], [*((ii, 3) for ii in range(16, 21)), (21, 2)]),
    ],
    ids=["gemm", "wide-gemm", "one-tile", "two-tiles", "one-consumer", "head-64", "blackwell-1", "blackwell-2"],
)
def test_agents(problem: ExactProblem, ii: int, agents: int, peeled: list[int], refuted: list[tuple[int, int]]) -> None:
    """The least interval, the fewest agents that reach it, and every refutation that says so."""
    result = best(problem)
    assert (result.ii, result.schedule.agent_count) == (ii, agents)
    assert sorted(count - 1 for count in result.schedule.stage_counts[1:]) == peeled
    assert [(it.ii, it.agents) for it in result.trail.refuted] == refuted
    assert result.fewest_proven
    assert {result.schedule.agents[problem.positions[op.name]] for op in problem.ops if op.varying_latency} == {0}


def test_attention_at_single_cycles() -> None:
    """Nothing is rounded: the same schedule at 128 times the resolution."""
    result = best(hopper(2, CYCLES, signal=92))
    assert (result.ii, result.schedule.agent_count, result.schedule.stage_counts) == (2048, 3, (1, 1, 1))
    assert [(it.ii, it.agents) for it in result.trail.refuted] == [(2048, 2)]


def test_more_agents_do_not_help_on_blackwell() -> None:
    result = best(blackwell(2, agents=5), phases=False)
    assert (result.ii, result.schedule.agent_count) == (21, 3)
    assert [it.ii for it in result.trail.refuted if it.agents == 5] == [16, 17, 18, 19, 20]


def test_fewer_exponentials_on_their_unit_do_not_help_on_blackwell() -> None:
    """The chain of one sub-tile is then 19 long, and 20 is refuted by three resources together, each of them needed."""
    result = best(blackwell(2, exp=6), phases=False)
    assert (result.ii, result.schedule.agent_count) == (21, 3)
    assert [it.ii for it in result.trail.refuted if it.agents == 3] == [16, 17, 18, 19, 20]


def test_what_20_would_need_on_blackwell() -> None:
    """A second ALU, or a store of P of 2 units instead of 3; more agents, registers and free signals do not help."""
    problem = blackwell(2, exp=6)
    machine = problem.machine
    file = machine.registers
    assert file is not None
    slots = tuple(replace(it, capacity=2) if it.name == "alu" else it for it in machine.slots)
    quick = {"uses": (SlotUse("alu", 2),), "latency": 2, "issue": 2}
    ops = tuple(replace(op, **quick) if op.name.startswith("store") else op for op in problem.ops)
    free = tuple(replace(it, cycles=0) for it in machine.handshakes)
    assert says(replace(problem, machine=replace(machine, slots=slots)), 20) is Answer.OPTIMAL
    assert says(replace(problem, ops=ops), 20) is Answer.OPTIMAL
    for other in (replace(machine, handshakes=free), replace(machine, registers=replace(file, budget=400))):
        assert says(replace(problem, machine=other), 20) is Answer.INFEASIBLE


def says(problem: ExactProblem, ii: int) -> Answer:
    return Formulation(Query(problem, ii, problem.agents)).solve(Limit(30, 600))[0].answer


def test_with_140_words_blackwell_has_no_schedule_at_any_interval() -> None:
    """
    S and P lie in the registers of the agent that computes the exponentials, whichever that is: 192 words of 140.

    That is told without the solver, for all intervals at once; the solver says the same of one sub-tile at some.
    """
    for tiles in (1, 2):
        result = solve(blackwell(tiles, budget=140))
        assert isinstance(result, NoSchedule)
        assert result.text == "no schedule at any II: registers: exp0 needs S0 128 and P0 64 at once, 192 words of 140"
        assert result.trail.seconds == 0
    assert crowded_op(blackwell(2, budget=192)) is None
    assert {says(blackwell(1, budget=140, agents=2), ii) for ii in (13, 21, 40, 80)} == {Answer.INFEASIBLE}


def test_a_queue_lets_one_tile_reach_the_bound() -> None:
    """
    With 16 units of queue the tensor core never waits for the agent, if results take registers only while it executes.

    A queued product of Hopper has its registers from its issue on (PTX ISA, `wgmma.mma_async`): then two S tiles live
    too long beside P, and the interval is that without a queue.
    """
    queued = hopper(1, crossing=False, queue=16, agents=2)
    file = queued.machine.registers
    assert file is not None
    late = replace(queued, machine=replace(queued.machine, registers=replace(file, taken_at_issue=False)))
    assert best(late, phases=False).ii == 8
    assert best(queued, phases=False).ii == 9


def test_what_binds_in_words() -> None:
    assert best(gemm(256), explain=True).text == (
        "II = 8 (proven: slot tensor core: mma0 4, mma1 4); "
        "3 agents (proven: with 2, registers: acc0 128 and acc1 128 words of 200)"
    )
    assert best(blackwell(2), explain=True, phases=False).text.startswith(
        "II = 21 (proven; at 20: tensor memory: SP0 and SP1 with 1 copy each are 131072 of 262144 bytes "
        "beside 131072 static ones); 3 agents (proven: with 2, in-order issue: "
    )


# Shapes ---------------------------------------------------------------------------------------------------------------


def rows_of(result: ExactSchedule, *names: str) -> list[int]:
    return [result.schedule.starts[result.problem.positions[name]] % result.ii for name in names]


def agent_of(result: ExactSchedule, name: str) -> int:
    return result.schedule.agents[result.problem.positions[name]]


def test_gemm_has_one_product_for_each_consumer() -> None:
    """Loads alone in the producer, products half an interval apart, rings two to four deep."""
    result = best(gemm(256))
    assert sorted(agent_of(result, name) for name in ("mma0", "mma1")) == [1, 2]
    first, second = rows_of(result, "mma0", "mma1")
    assert (first - second) % 8 == 4
    assert result.schedule.copies == (2, 3)


def test_ping_pong() -> None:
    """The tensor core does qk1, pv0, qk0, pv1 without a gap; each exp runs while the other tile's products do."""
    result = best(hopper(2))
    for tile in "01":
        assert len({agent_of(result, f"{op}{tile}") for op in ("qk", "max", "exp", "sum", "resc", "pv")}) == 1
    qk0, pv0, qk1, pv1 = rows_of(result, "qk0", "pv0", "qk1", "pv1")
    assert [(row - qk1) % 16 for row in (qk1, pv0, qk0, pv1)] == [0, 4, 8, 12]
    exp0, exp1 = rows_of(result, "exp0", "exp1")
    assert 12 <= (exp0 - qk1) % 16 <= 16
    assert 4 <= (exp1 - qk1) % 16 <= 8


@pytest.mark.parametrize("problem", [hopper(1, crossing=False), hopper(2, HEAD_64)], ids=["one-tile", "head-64"])
def test_overlap_within_a_group_where_it_is_needed(problem: ExactProblem) -> None:
    """FlashAttention-3's second device: the next qk is issued before pv of this iteration, at one peeled stage."""
    result = best(problem)
    for tile in range(sum(op.name.startswith("qk") for op in problem.ops)):
        qk, pv = problem.positions[f"qk{tile}"], problem.positions[f"pv{tile}"]
        assert result.schedule.issues[qk] + result.ii <= result.schedule.issues[pv]
        assert result.schedule.local_stages[pv] == result.schedule.local_stages[qk] + 1


def test_rescaling_moves_to_the_other_agent_on_blackwell() -> None:
    result = best(blackwell(2))
    assert agent_of(result, "exp0") != agent_of(result, "exp1")
    for tile, other in ("01", "10"):
        assert agent_of(result, f"resc{tile}") == agent_of(result, f"exp{other}")
