"""The search: which intervals it tries, when it stops, what it says of limits, and that it always says the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.support import slot_kernels as kernels
from tests.support.joint_kernels import blackwell, gemm, hopper
from tests.support.random_problems import NOT_MONOTONE, random_problem
from tests.support.slot_kernels import kernel
from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import (
    MBARRIER,
    NAMED,
    ONE_OR_TWO_COMPUTE_AGENTS,
    Constant,
    Dependence,
    ExactProblem,
    MachineLimits,
    OpSpec,
    RegisterFile,
    RegisterValue,
    RingRead,
    SlotLimit,
    Together,
)
from tileas_xdsl.scheduling.exact.result import ExactSchedule, NoSchedule, ScheduleSource, ranges
from tileas_xdsl.scheduling.exact.schedule import Schedule
from tileas_xdsl.scheduling.exact.search import Limits, solve
from tileas_xdsl.scheduling.exact.solver import Answer, Limit, Model, SolverMissing
from tileas_xdsl.scheduling.exact.variables import Query
from tileas_xdsl.targets.machine_model import SlotUse

ALL = Limits()


def found(problem: ExactProblem, limits: Limits = ALL, start: Schedule | None = None) -> ExactSchedule:
    result = solve(problem, limits, start)
    assert isinstance(result, ExactSchedule), result.text
    return result


def feasible(problem: ExactProblem, ii: int, agents: int = 1) -> Answer:
    return Formulation(Query(problem, ii, agents)).solve(Limit(10, 100))[0].answer


# Which intervals ------------------------------------------------------------------------------------------------------


def test_feasibility_is_not_monotone() -> None:
    """Two ops of one row on one unit, exactly 3 cycles apart, fit 2 and 4 rows, and not 3."""
    answers = [feasible(NOT_MONOTONE, ii).has_solution for ii in (1, 2, 3, 4)]
    assert answers == [False, True, False, True]
    assert found(NOT_MONOTONE).text == "II = 2 (proven: slot unit: a 1, b 1)"


def test_every_smaller_interval_is_refuted() -> None:
    """A bisection over 2 to 4 rows that asked 3 first would never have tried 2; here 3, 4 and 5 have none."""
    ops = tuple(OpSpec(name, (SlotUse("unit", 1),), 1) for name in "abc")
    exactly = (Dependence("a", "b", 12), Dependence("b", "a", -12), Dependence("a", "c", 5), Dependence("c", "a", -5))
    result = found(ExactProblem(ops, MachineLimits((SlotLimit("unit"),)), exactly))
    assert [feasible(result.problem, ii).has_solution for ii in (3, 4, 5, 6, 7, 8)] == [False] * 4 + [False, True]
    assert (result.ii, [it.ii for it in result.trail.refuted]) == (8, [3, 4, 5, 6, 7])


def test_any_number_of_stages_is_allowed() -> None:
    """A chain of long latencies spans many intervals: a horizon of a few stages would call it infeasible."""
    ops = tuple(OpSpec(name, (SlotUse(name, 1),), 40) for name in "abc")
    chain = (Dependence("a", "b", 40), Dependence("b", "c", 40))
    problem = ExactProblem(ops, MachineLimits(tuple(SlotLimit(name) for name in "abc")), chain)
    result = found(problem)
    assert (result.ii, result.schedule.stage_counts) == (1, (81,))


def test_ranges_of_numbers() -> None:
    assert ranges([16, 17, 18, 20]) == "16-18, 20"


# Determinism and limits -----------------------------------------------------------------------------------------------


def test_the_same_question_has_the_same_answer() -> None:
    problem = hopper(2)
    first = found(problem, Limits(explain=False))
    again = found(problem, Limits(explain=False))
    assert first == again


def test_a_limit_is_never_an_optimum() -> None:
    """With next to no time, intervals stay unknown, and are said to be."""
    problem = random_problem(3, ops=(10, 10), registers=True)
    result = solve(problem, Limits(seconds=1e-6, explain=False))
    if isinstance(result, ExactSchedule):
        assert not result.proven or not all(phase.proven for phase in result.phases) or not result.trail.limits_hit
    else:
        assert not result.complete
        assert result.trail.limits_hit


def test_unknown_intervals_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two intervals go unanswered: the bound stays below them, whatever is found above."""
    forget_intervals(monkeypatch, {20, 21})
    soon = Dependence("m", "a", -1000)
    result = found(replace(kernels.SMALL_GEMM, dependences=(*kernels.SMALL_GEMM.dependences, soon)))
    assert (result.ii, result.lower_bound, result.proven) == (32, 20, False)
    assert result.text == "II <= 32, >= 20 (16-19, 22-31 refuted, 20-21 unknown)"
    assert result.trail.limits_hit[0].startswith("II = 20 with up to 1 agents was given up after ")


def test_where_schedules_stretch_a_refutation_does_for_smaller_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_intervals(monkeypatch, {20, 21})
    result = found(kernels.SMALL_GEMM)
    assert (result.ii, result.proven) == (32, True)
    assert [it.ii for it in result.trail.refuted if it.ii in (20, 21)] == []


def forget_intervals(monkeypatch: pytest.MonkeyPatch, intervals: set[int]) -> None:
    """Queries of these intervals find no answer."""
    solve_query = Formulation.solve

    def forgetful(self: Formulation, limit: Limit) -> object:
        run, schedule = solve_query(self, limit)
        return (replace(run, answer=Answer.UNKNOWN), None) if self.query.ii in intervals else (run, schedule)

    monkeypatch.setattr(Formulation, "solve", forgetful)


def test_a_phase_that_is_cut_short_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    solve_model = Model.solve
    solves: list[int] = []

    def short(self: Model, limit: Limit) -> object:
        solves.append(1)
        run = solve_model(self, limit)
        return replace(run, answer=Answer.FEASIBLE, bound=run.bound - 1) if len(solves) == 2 else run

    monkeypatch.setattr(Model, "solve", short)
    result = found(kernels.GEMM)
    assert [(it.name, it.proven) for it in result.phases] == [("stages", False)]
    assert str(result.phases[0]) == "stages 2 (at least 1)"
    assert result.proven
    assert result.trail.limits_hit[0].startswith("the phase 'stages' was ended after ")


def test_the_heuristic_is_the_answer_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    serial = Schedule(40, (0, 8, 16), (0, 8, 16), (0, 0, 0), (1, 1), (0,))
    forget_intervals(monkeypatch, set(range(100)))
    result = found(kernels.GEMM, Limits(), serial)
    assert (result.ii, result.source, result.proven) == (40, ScheduleSource.HEURISTIC, False)
    assert result.text == "II <= 40, >= 16 (16-40 unknown)".replace("16-40", "16-39")


def test_the_heuristic_bounds_the_search() -> None:
    serial = Schedule(40, (0, 8, 16), (0, 8, 16), (0, 0, 0), (1, 1), (0,))
    result = found(kernels.GEMM, Limits(), serial)
    assert (result.ii, result.source) == (16, ScheduleSource.SOLVER)


def test_a_wrong_start_is_refused() -> None:
    with pytest.raises(
        ValueError, match="the schedule to start from is wrong: dependence: m of iteration 0 starts at 0"
    ):
        solve(kernels.GEMM, Limits(), Schedule(40, (0, 8, 0), (0, 8, 0), (0, 0, 0), (1, 1), (0,)))


# Pitfalls of the solver -----------------------------------------------------------------------------------------------


def test_presolve_survives_what_it_fails_on() -> None:
    """GEMM in 32 KiB at 16 to 23 rows: with symmetry detection, presolve of 9.14 and 9.15 throws on these models."""
    assert {feasible(kernels.SMALL_GEMM, ii) for ii in range(16, 24)} == {Answer.INFEASIBLE}


def test_a_failure_of_the_solver_is_asked_again_without_presolve(monkeypatch: pytest.MonkeyPatch) -> None:
    from ortools.sat.python.cp_model import CpModel, CpSolver

    plain = CpSolver.solve
    asked: list[bool] = []

    def failing(self: CpSolver, model: CpModel) -> object:
        asked.append(self.parameters.cp_model_presolve)
        if self.parameters.cp_model_presolve:
            raise IndexError("raw_hash_map<>::at")
        return plain(self, model)

    monkeypatch.setattr(CpSolver, "solve", failing)
    assert feasible(kernels.GEMM, 16) is Answer.OPTIMAL
    assert asked == [True, False]


def test_a_solver_that_only_fails_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from ortools.sat.python.cp_model import CpSolver

    def failing(*_: object) -> object:
        raise IndexError("raw_hash_map<>::at")

    monkeypatch.setattr(CpSolver, "solve", failing)
    assert feasible(kernels.GEMM, 16) is Answer.UNKNOWN


def test_one_worker_with_a_fixed_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """google/or-tools issue 5295: with ten workers and no presolve, refutations were wrong."""
    from ortools.sat.python.cp_model import CpModel, CpSolver

    plain = CpSolver.solve
    seen: set[tuple[int, int, int]] = set()

    def watched(self: CpSolver, model: CpModel) -> object:
        seen.add((self.parameters.num_workers, self.parameters.random_seed, self.parameters.symmetry_level))
        return plain(self, model)

    monkeypatch.setattr(CpSolver, "solve", watched)
    found(kernels.GEMM)
    assert seen == {(1, 0, 0)}


def test_a_model_can_be_solved_again_with_hints() -> None:
    """Hints of two solutions would make it invalid."""
    formulation = Formulation(Query(kernels.GEMM, 16, 1))
    for _ in range(3):
        run, schedule = formulation.solve(Limit(10, 100))
        assert run.answer is Answer.OPTIMAL
        assert schedule is not None


def test_the_solver_is_loaded_when_it_is_asked_for() -> None:
    """Nothing else of the package, nor the search itself, loads it; and highspy cannot be loaded beside it."""
    code = "import sys, tileas_xdsl.scheduling.exact.search; sys.exit('ortools' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_solver_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(
        SolverMissing,
        match=r"needs the solver CP-SAT of OR-tools, which is not installed: pip install -e '\.\[exact\]'",
    ):
        solve(kernels.GEMM)


# No schedule ----------------------------------------------------------------------------------------------------------


def never(problem: ExactProblem) -> NoSchedule:
    result = solve(problem)
    assert isinstance(result, NoSchedule)
    return result


def test_too_little_memory_in_numbers() -> None:
    result = never(kernel("T a b, M m", "a>m b>m", "a16 b16", shared=20 * 1024))
    assert result.complete
    assert result.text == (
        "no schedule up to the serial II of 32: shared memory: a and b with 1 copy each are 32768 of 20480 bytes"
    )


def test_registers_that_never_fit_in_numbers() -> None:
    ops = (OpSpec("a", latency=1, issue=1), OpSpec("b", latency=1, issue=1))
    values = (RegisterValue("x", "a", (RingRead("b", 1),), 100), RegisterValue("y", "a", (RingRead("b", 1),), 100))
    machine = MachineLimits((), registers=RegisterFile(150, reserve=0))
    problem = ExactProblem(ops, machine, (Dependence("a", "b", 1),), values=values)
    assert never(problem).text.endswith(": registers: a needs x 100 and y 100 at once, 200 words of 150")


def test_an_op_that_asks_for_more_than_there_is() -> None:
    result = never(ExactProblem((OpSpec("a", (SlotUse("ports", 1, 3),), 1),), MachineLimits((SlotLimit("ports", 2),))))
    assert result.text == "no schedule up to the serial II of 2: slot ports: a 3 of 4 rows"


def test_a_slot_of_no_capacity() -> None:
    result = never(ExactProblem((OpSpec("a", (SlotUse("unit", 1),), 1),), MachineLimits((SlotLimit("unit", 0),))))
    assert result.text == "no schedule up to the serial II of 1: slot unit: a 1 of 0 rows"


# Agents ---------------------------------------------------------------------------------------------------------------


def test_without_varying_latencies_agent_0_computes() -> None:
    """Two synchronous ops of 4 cycles: one agent needs 8, two need 4."""
    ops = (OpSpec("a", latency=4, issue=4), OpSpec("b", latency=4, issue=4))
    alone = found(ExactProblem(ops, MachineLimits(())))
    shared = found(ExactProblem(ops, MachineLimits(()), agents=3))
    assert (alone.ii, shared.ii, shared.schedule.agents) == (8, 4, (0, 1))
    assert shared.text == (
        "II = 4 (proven; at 3: in-order issue: a 4 and b 4 on 3 agents of 3 cycles); "
        "2 agents (proven: with 1, in-order issue: a 4 and b 4 on one agent of 4 cycles)"
    )


def test_rules_are_named_where_they_bind() -> None:
    ops = (OpSpec("a", latency=4, issue=4), OpSpec("b", latency=4, issue=4))
    result = found(ExactProblem(ops, MachineLimits(()), agents=3, rules=(Together("one loop", ("a", "b")),)))
    assert (result.ii, result.schedule.agents) == (8, (0, 0))
    (conflict,) = [it.conflict for it in result.trail.refuted if it.conflict is not None]
    assert conflict.groups == (RuleGroup(RuleKind.ISSUE), RuleGroup(RuleKind.RULE, "one loop"))
    assert str(conflict).endswith("rule 'one loop'")


def test_a_lowering_knows_so_many_compute_agents() -> None:
    ops = tuple(OpSpec(name, latency=4, issue=4) for name in "abc")
    assert found(ExactProblem(ops, MachineLimits(()), agents=3)).schedule.agent_count == 3
    limited = found(ExactProblem(ops, MachineLimits(()), agents=3, rules=(ONE_OR_TWO_COMPUTE_AGENTS,)))
    assert (limited.ii, limited.schedule.agent_count) == (8, 2)


def test_an_issue_of_no_time_stands_at_the_edge_of_another() -> None:
    """An agent that is kept for all 4 cycles can still start a copy between two of its turns; not within one."""
    ops = (OpSpec("sum", latency=4, issue=4), OpSpec("copy", (SlotUse("dma", 4),), 4, asynchronous=True))
    machine = MachineLimits((SlotLimit("dma"),))
    edge = found(ExactProblem(ops, machine))
    assert (edge.ii, edge.schedule.starts[1] % 4) == (4, edge.schedule.starts[0] % 4)
    inside = ExactProblem(ops, machine, (Dependence("sum", "copy", 1), Dependence("copy", "sum", -1)))
    assert feasible(inside, 4) is Answer.INFEASIBLE
    assert edge.order == (1, 0)


def test_a_ring_between_agents_costs_a_release() -> None:
    """The writer and a reader need no dependence between them for the release to cross: missing that was a bug once."""
    problem = gemm(128)
    without = replace(problem, dependences=tuple(it for it in problem.dependences if it.source not in ("A", "B")))
    result = found(without)
    assert result.schedule.agents[:2] == (0, 0)
    assert [it.value for it in result.phases if it.name == "handshakes"] == [4]


def test_named_barriers_are_counted() -> None:
    ops = (OpSpec("a", latency=4, issue=4), OpSpec("b", latency=4, issue=4))
    edge = (Dependence("a", "b", 4, handshake=NAMED),)
    machine = MachineLimits((), named_barriers=0)
    assert found(ExactProblem(ops, machine, edge, agents=2)).ii == 8
    assert found(ExactProblem(ops, machine, (replace(edge[0], handshake=MBARRIER),), agents=2)).ii == 4


def test_warps_must_fit_the_block() -> None:
    ops = tuple(OpSpec(name, latency=4, issue=4, min_warps=4) for name in "abc")
    assert found(ExactProblem(ops, MachineLimits((), warps=12), agents=3)).ii == 4
    assert found(ExactProblem(ops, MachineLimits((), warps=8), agents=3)).ii == 8


def test_registers_are_shared_by_the_agents_of_a_block() -> None:
    """Three agents of 4 warps have 168 registers each, two have 248."""
    ops = tuple(OpSpec(name, latency=4, issue=4, min_warps=4) for name in "abc")
    kept = tuple(Constant(name, name, 120) for name in "abc")
    file = RegisterFile(240, words=64 * 1024 // 2, reserve=0)
    problem = ExactProblem(ops, MachineLimits((), registers=file), constants=kept, agents=3)
    assert solve(problem, Limits(explain=False)).problem.agents == 3
    wide = replace(problem, machine=MachineLimits((), registers=replace(file, words=64 * 1024)))
    assert found(wide).schedule.agent_count == 3
    assert isinstance(solve(problem, Limits(explain=False)), NoSchedule)


# Constraints on stages ------------------------------------------------------------------------------------------------


def test_ops_of_a_group_share_a_stage() -> None:
    free = found(kernels.GEMM)
    assert len(set(free.stages)) == 2
    grouped = tuple(replace(op, group="g") for op in kernels.GEMM.ops)
    tied = found(replace(kernels.GEMM, ops=grouped))
    assert set(tied.stages) == {0}
    assert tied.ii == 17


def test_an_op_may_be_bound_to_the_first_stages() -> None:
    early = tuple(replace(op, max_stage=0) for op in kernels.GEMM.ops)
    assert found(replace(kernels.GEMM, ops=early)).schedule.stage_counts == (1,)


def test_serial_iterations_do_not_overlap() -> None:
    result = found(replace(kernels.GEMM, serial=True))
    assert (result.ii, result.schedule.stage_counts) == (32, (1,))


def test_a_ceiling_bounds_an_iteration() -> None:
    """The GEMM takes 32 cycles from its first load; in 31 there is none at any interval."""
    machine = kernels.GEMM.machine
    assert found(replace(kernels.GEMM, machine=replace(machine, ceiling=32))).ii == 16
    assert isinstance(solve(replace(kernels.GEMM, machine=replace(machine, ceiling=31))), NoSchedule)


def test_blackwell_needs_its_tensor_memory() -> None:
    """Twice as much of it, and the interval is that of the tensor core."""
    problem = blackwell(2)
    spaces = tuple(replace(it, bytes=2 * it.bytes) for it in problem.machine.spaces)
    roomy = replace(problem, machine=replace(problem.machine, spaces=spaces))
    assert found(roomy, Limits(explain=False, phases=False)).ii < 21
