"""
TileASGenerateSchedule: decides when each op of a loop runs, and writes that down.

    scf.for %i = ... {                          scf.for %i = ... {
      %own = producer_acquire %ring, %it          %own = producer_acquire ... {stage = 0, iter_offset = 0, order = 0}
      ...                               ->        ...
      %s, %t = async.dot ...                      %s, %t = async.dot ... {stage = 1, iter_offset = -1, order = 9}
    }                                           } {nv_tileas.schedule = {ii = 530, stages = 3, ...}}

Attributes and nothing else: ops, operands, types and their order stay. Rings whose depth is the schedule's to choose
get `nv_tileas.depth` on their `create_pipeline`. The scheduler is in `scheduling/modulo/`; `scheduling/loop_problem.py`
makes its problem of a loop; `strategy.py` decides which strategy a loop gets, `trace.py` writes the Chrome trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.analysis.threads.registers import blocks_of
from tileas_xdsl.diagnostics import refuse, remark
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.layouts.distributed import WARPGROUP
from tileas_xdsl.scheduling.agent_loops import has_agents, is_innermost, loops_of_agents, takes_stages
from tileas_xdsl.scheduling.exact.solver import SolverMissing
from tileas_xdsl.scheduling.loaded_schedules import in_time_under_load
from tileas_xdsl.scheduling.loop_problem import LoopProblem, PipelineTurns, loop_problem
from tileas_xdsl.scheduling.modulo.distances import DependenceCycleError
from tileas_xdsl.scheduling.modulo.schedule import EXACT, ModuloSchedule, Strategy
from tileas_xdsl.scheduling.modulo.search import ROUNDS, InfeasibleError, SearchLimits, schedule
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters, warps_of
from tileas_xdsl.scheduling.schedules_in_registers import fitting
from tileas_xdsl.scheduling.shared_loops import OneAgentError, tiles_of_agent
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.machine_model import MachineModel
from tileas_xdsl.targets.warps import WARP_GROUP, registers_each
from tileas_xdsl.transforms.tileas.generate_schedule.strategy import LARGEST, strategy_of
from tileas_xdsl.transforms.tileas.generate_schedule.trace import write_trace

SCHEDULE, DEPTH = "nv_tileas.schedule", "nv_tileas.depth"


NONE = Strategy.NONE.value
NO_PIPELINE = DictionaryAttr({"strategy": StringAttr(NONE)})
"""The record of a loop that stays synchronous."""

STRATEGIES = (*(strategy.value for strategy in Strategy), EXACT)


@dataclass(frozen=True)
class ScheduledLoop:
    """A loop, its problem for one agent, and the schedule that was found."""

    loop: scf.ForOp
    problem: LoopProblem
    schedule: ModuloSchedule
    agents: tuple[int | None, ...] = ()
    """For each op the agent that runs it, None where several do; empty where there is one agent."""
    count: int = 1
    """Agents."""


@dataclass(frozen=True)
class GenerateSchedulePass(ModulePass):
    """
    Schedule the loops of functions without agents, and of agents that the program has where that is asked for.

    Rewrites
        Attributes only: `stage`, `iter_offset` and `order` on every op of a scheduled body, `nv_tileas.schedule` on the
        loop (`{strategy = "none"}` on one that stays synchronous), `nv_tileas.depth` on rings. `strategy` is
        `cost-based`, `fast`, `serial`, `default` (by target), `none` or `exact`, which proves the least interval within
        `exact-limit` deterministic seconds of its solver, and puts what is proven into `proof` and `lower_bound` of
        `nv_tileas.schedule`. With `exact-agents` of 2 a producer and a computing agent share the loop, with 3 a
        producer and one or two of them, as few as reach the least interval; ops get an `agent`. `auto` takes as few
        agents as reach it, be it one. With 3 and `auto` work that hangs together may be dealt: a tile in registers that
        one computing agent makes and the other one uses is moved, which `proof` says with its bytes; the move itself is
        `tileas-materialize-schedule`'s to write. Under `exact` tiles in registers have to fit a thread of the agent
        that holds them: where that lengthens the interval `proof` says what it is without, and where they never fit how
        many words they take. `num-stages` limits the stages of a loop in one agent; between agents it is memory that
        limits them. Under `cost-based` a loop of asynchronous products whose tiles do not fit their registers is cut in
        two stages behind its loads (`scheduling/schedules_in_registers.py`). With `under-load`, on targets with
        measured figures, loads lead by as many more turns as hide their latency if all multiprocessors load at once
        (`scheduling/loaded_schedules.py`); so they do where `num-warps` are several warpgroups. Rings have room in what
        each of the `blocks` of a multiprocessor has of its shared memory. With `agents` the loops of an `agent_switch`
        that take from rings are scheduled, each by itself, on the rings as deep as they are, and `num-stages` limits
        the slots that loads under load get. A loop that is too small,
        that nothing asynchronous happens in, or that has `tileas.schedule.constraint.force_serial_execution`, gets the
        serial schedule.

    Requires
        Verified IR. Only innermost loops are scheduled, and those whose inner loops are one op to them. For tiles to
        move, a target with a table of times, and tiles of fixed size in registers, read in the iteration that makes
        them.

    Refuses
        An unknown capability or strategy, naming those that there are; a number of agents that nothing is scheduled
        for, or without `exact`; a loop that agents cannot share, where 2 or 3 are asked for, also because what an agent
        carries from iteration to iteration has no room in its registers; `exact` without its solver, with the command
        that installs it; ops that wait for each other within one iteration; a ring of which not even one copy fits,
        with the bytes that are missing.
    """

    name = "tileas-generate-schedule"

    DESCRIPTION: ClassVar[str] = "Decide when each op of a loop runs, and write it down as attributes"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})
    strategy: str = field(
        default=Strategy.COST_BASED.value,
        metadata={
            "help": "how loops are scheduled: cost-based, exact (with a proof), fast, serial, default (serial before "
            "sm_90) or none"
        },
    )
    num_stages: int = field(default=4, metadata={"help": "the most stages of a loop in one agent"})
    rrt_size_threshold: int = field(
        default=4096,
        metadata={"help": "more rows of the reservation table than that are counted in coarser units; 0: never"},
    )
    max_constraint_iterations: int = field(
        default=ROUNDS,
        metadata={"help": "rounds in which rings are made smaller until they fit; then the loop is serial"},
    )
    exact_limit: int = field(
        default=10, metadata={"help": "under exact: deterministic seconds of the solver for each loop"}
    )
    exact_agents: int | str = field(
        default=1,
        metadata={
            "help": "under exact: 1, 2 (a producer and a computing agent), 3 (one or two of these), or auto: as few as "
            "reach the least interval"
        },
    )
    agents: bool = field(
        default=False,
        metadata={"help": "schedule the loops of an agent_switch that take from rings, too, each by itself"},
    )
    under_load: bool = field(
        default=False,
        metadata={"help": "let loads come in time if all multiprocessors load at once, where that is measured"},
    )
    num_warps: int = field(
        default=4, metadata={"help": "warps that compute together: several warpgroups count as under load"}
    )
    blocks: int = field(default=1, metadata={"help": "blocks that a multiprocessor holds, where a function says none"})
    schedule_trace_file: str = field(
        default="", metadata={"help": "where a Chrome trace of the schedule goes, one lane a unit"}
    )

    @property
    def is_under_load(self) -> bool:
        """Whether loads have to come in time under load: whoever asks for several warpgroups wants the chip to be."""
        return self.under_load or self.num_warps > WARPGROUP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strategy not in STRATEGIES:
            raise PassFailedException(
                f"{self.name}: unknown strategy '{self.strategy}'; choose one of {', '.join(STRATEGIES)}"
            )
        if self.num_stages < 1:
            raise PassFailedException(f"{self.name}: num-stages={self.num_stages}; a loop has at least 1 stage")
        if self.blocks < 1:
            raise PassFailedException(f"{self.name}: blocks={self.blocks}; a multiprocessor holds at least 1 block")
        if self.exact_limit < 1:
            raise PassFailedException(
                f"{self.name}: exact-limit={self.exact_limit}; the solver needs at least 1 second"
            )
        self._check_agents()
        planned = plan_module(op, self)
        for found in planned:
            write_schedule(found)
        record_no_pipelines(op, self.agents)
        if self.schedule_trace_file:
            write_trace(self.schedule_trace_file, [(found.problem, found.schedule) for found in planned])

    def _check_agents(self) -> None:
        if self.exact_agents == 1:
            return
        from tileas_xdsl.transforms.tileas.generate_schedule.exact import AGENTS

        if self.exact_agents not in AGENTS:
            raise PassFailedException(
                f"{self.name}: exact-agents={self.exact_agents}; a loop is scheduled for one agent, or for a producer "
                f"and one or two that compute: choose one of {', '.join(map(str, AGENTS))}"
            )
        if self.strategy != EXACT:
            raise PassFailedException(
                f"{self.name}: exact-agents={self.exact_agents} contradicts strategy={self.strategy}; use "
                f"strategy={EXACT}, or leave out exact-agents"
            )


def plan_module(module: ModuleOp, options: GenerateSchedulePass) -> list[ScheduledLoop]:
    """The schedules of all loops that get one. Changes nothing. Raises `RefusedError`."""
    planned: list[ScheduledLoop] = []
    for function in functions_in(module):
        loops = _loops_to_schedule(function, options.agents)
        if loops is None:
            continue
        blocks = blocks_of(function, options.blocks)
        model = model_of_target(function, options.compute_capability).shared_among(blocks)
        turns = PipelineTurns()
        found = [plan_loop(loop, model, options, turns) for loop in loops]
        planned += [scheduled for scheduled in found if scheduled is not None]
    return planned


def _loops_to_schedule(function: Operation, agents: bool) -> list[scf.ForOp] | None:
    """The innermost loops of `function`, or those of its agents that take from rings; None where it is skipped."""
    if not has_agents(function):
        return [op for op in function.walk() if isinstance(op, scf.ForOp) and is_innermost(op)]
    return [loop for loop in loops_of_agents(function) if takes_stages(loop)] if agents else None


def plan_loop(
    loop: scf.ForOp, model: MachineModel, options: GenerateSchedulePass, turns: PipelineTurns
) -> ScheduledLoop | None:
    """The schedule of `loop`; None under the strategy `none`, or where there is nothing to schedule."""
    is_exact = options.strategy == EXACT
    strategy = strategy_of(loop, Strategy.COST_BASED if is_exact else Strategy(options.strategy), model)
    ops = [op for op in loop.body.block.ops][:-1]
    if strategy is Strategy.NONE or not ops:
        return None
    if len(ops) > LARGEST and strategy is not Strategy.SERIAL:
        remark(loop, f"has {len(ops)} ops and is scheduled serially", f"split it into loops of at most {LARGEST} ops")
        strategy = Strategy.SERIAL
    most = 1 if strategy is Strategy.SERIAL else options.num_stages
    problem = loop_problem(loop, model, most_stages=most, turns=turns)
    limits = SearchLimits(rounds=options.max_constraint_iterations)
    try:
        found = schedule(problem.problem, strategy, limits, options.rrt_size_threshold)
        if strategy is Strategy.COST_BASED and not is_exact and model.timing is not None:
            groups = _warpgroups(problem)
            tiles = _tiles_of(problem, model, groups, options.blocks)
            found = fitting(problem, found, tiles, is_alone=groups * options.blocks == 1)
        if not is_exact or strategy is Strategy.SERIAL:
            if options.is_under_load and model.measured is not None:
                found = in_time_under_load(
                    problem,
                    found,
                    model.measured,
                    warpgroups=max(options.num_warps // WARPGROUP, 1),
                    most_slots=options.num_stages if options.agents else None,
                )
            return ScheduledLoop(loop, problem, found)
        return _exactly(problem, found, options, model)
    except DependenceCycleError as error:
        refuse(problem.ops[error.ops[0]], f"cannot be scheduled: {error}", "break the cycle")
    except InfeasibleError as error:
        refuse(loop, f"failed to find a schedule: {error}", "use smaller tiles")


def _warpgroups(problem: LoopProblem) -> int:
    """Of those that compute, as the layouts of tiles say."""
    warps = (warps_of(result.type) for op in problem.ops for result in op.results)
    return max(max(warps, default=WARP_GROUP) // WARP_GROUP, 1)


def _tiles_of(problem: LoopProblem, model: MachineModel, groups: int, blocks: int) -> TilesInRegisters:
    """What the agent that computes holds, beside one that loads where the target has an engine for that."""
    producers = int(model.has_tma)
    each = registers_each(groups + producers, producers, hands_over=model.has_tma, blocks=blocks)
    return tiles_of_agent(problem, each)


def _exactly(
    problem: LoopProblem, found: ModuloSchedule, options: GenerateSchedulePass, model: MachineModel
) -> ScheduledLoop:
    """The best schedule of `problem`, with what is proven of it. Only here the exact scheduler is loaded."""
    from tileas_xdsl.transforms.tileas.generate_schedule.exact import AUTO, Exactly, exact_schedule

    asked = Exactly(
        options.exact_agents,
        float(options.exact_limit),
        options.max_constraint_iterations,
        model.has_tma,
        model.timing,
    )
    try:
        count, agents, better = exact_schedule(problem, found, asked)
    except SolverMissing as error:
        raise PassFailedException(f"{GenerateSchedulePass.name}: {error}") from None
    except OneAgentError as error:
        refuse(
            problem.loop, f"cannot be shared by {options.exact_agents} agents: {error}", f"use exact-agents=1 or {AUTO}"
        )
    except ValueError as error:
        refuse(problem.loop, f"cannot be scheduled exactly: {error}", "use strategy=cost-based")
    return ScheduledLoop(problem.loop, problem, better, agents, count)


def write_schedule(found: ScheduledLoop) -> None:
    """Write the attributes of one loop."""
    result = found.schedule
    for number, op in enumerate(found.problem.ops):
        stage = result.stage(number)
        op.attributes["stage"] = IntegerAttr(stage, i32)
        op.attributes["iter_offset"] = IntegerAttr(-stage, i32)
        op.attributes["order"] = IntegerAttr(_position(result, number, len(found.problem.ops)), i32)
        if found.agents and (agent := found.agents[number]) is not None:
            op.attributes["agent"] = IntegerAttr(agent, i32)
    found.loop.attributes[SCHEDULE] = described(found)
    for maker, copies in zip(found.problem.rings, result.copies, strict=False):
        maker.attributes[DEPTH] = IntegerAttr(copies, i32)


def _position(result: ModuloSchedule, number: int, count: int) -> int:
    """The position of an op among the ops of the body: what stands for the loop itself is left out."""
    return sum(other < result.order[number] for other in result.order[:count])


def described(found: ScheduledLoop) -> DictionaryAttr:
    """What later passes and people ask of a schedule as a whole."""
    result = found.schedule
    entries: dict[str, Attribute] = {
        "strategy": StringAttr(result.strategy_name),
        "ii": IntegerAttr(result.ii, i32),
        "mii": IntegerAttr(result.bounds.mii, i32),
        "bound": StringAttr(result.bounds.binding.name),
        "stages": IntegerAttr(result.peeled_stages, i32),
        "stage_count": IntegerAttr(result.stage_count, i32),
        "total_work": IntegerAttr(result.total_work // result.ii, i32),
        "iters": IntegerAttr(1, i32),
        "arms": ArrayAttr([StringAttr(arm) for arm in dict.fromkeys(result.arms)]),
        "truncated": BoolAttr.from_bool(result.is_truncated),
    }
    if result.budget:
        entries["budget"] = StringAttr(result.budget)
    if result.proof is not None:
        entries["proof"] = StringAttr(result.proof.text)
        entries["compared"] = StringAttr(result.proof.comparison(result.ii))
        entries["lower_bound"] = IntegerAttr(result.proof.lower_bound, i32)
        entries["agents"] = IntegerAttr(found.count, i32)
    return DictionaryAttr(entries)


def record_no_pipelines(module: ModuleOp, agents: bool) -> None:
    """
    Write the strategy `none` on the innermost loops that have no schedule, counted or not: later passes distinguish
    loops that stay synchronous by decision from loops that no scheduler has seen.
    """
    for function in functions_in(module):
        loops = _loops_to_schedule(function, agents)
        if loops is None:
            continue
        waiting = [] if has_agents(function) else [op for op in function.walk() if _is_innermost_while(op)]
        for loop in (*loops, *waiting):
            loop.attributes.setdefault(SCHEDULE, NO_PIPELINE)


def _is_innermost_while(op: Operation) -> bool:
    return isinstance(op, scf.WhileOp) and not any(
        isinstance(inner, scf.ForOp | scf.WhileOp) for inner in op.walk() if inner is not op
    )


def is_analysed(op: Operation) -> bool:
    """Whether the scheduler has seen `op`, a loop: it carries a schedule, or the decision that it gets none."""
    return SCHEDULE in op.attributes


def is_serial(loop: scf.ForOp) -> bool:
    """Whether the schedule of `loop` is the serial one."""
    return _strategy(loop) == Strategy.SERIAL.value


def _strategy(loop: Operation) -> str | None:
    found = loop.attributes.get(SCHEDULE)
    strategy = found.data.get("strategy") if isinstance(found, DictionaryAttr) else None
    return strategy.data if isinstance(strategy, StringAttr) else None


def scheduled_loops(module: Operation) -> list[scf.ForOp]:
    """The loops that carry a schedule; those with the strategy `none` are not among them."""
    return [op for op in module.walk() if isinstance(op, scf.ForOp) and is_analysed(op) and _strategy(op) != NONE]
