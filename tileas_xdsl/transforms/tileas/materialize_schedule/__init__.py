"""
TileASMaterializeSchedule: one agent or several. A scheduled loop that fills and empties rings is cut into a producer
and a consumer, which run side by side.

    scf.for %k {                                         agent_switch {
      acquire, load, commit   {stage = 0}                  scf.for %k { acquire, load, commit }
      wait, read, product     {stage = 1}         ->     }, {
      async.wait, release     {stage = 2}                  wait, read, product                    // Prologue
    }                                                      scf.for %k { ... async.wait, release }
    store                                                  async.wait, release                    // Epilogue
                                                           store
                                                         }

A plan is made for each function, on a copy of it; the function is replaced when all went well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.analysis.threads.drained import mark_rings_in_step
from tileas_xdsl.analysis.threads.registers import blocks_of
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.diagnostics import (
    Diagnostic,
    ErrorCollector,
    RefusedError,
    Severity,
    clear_status,
    failed_softly,
    mark_soft_failure,
)
from tileas_xdsl.dialects.nv_tileas.agents import warp_budget
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, ConsumerReadOp, CreatePipelineOp, ProducerWriteOp
from tileas_xdsl.interfaces import FunctionOpInterface, end_of, functions_in
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.scheduling.agent_rings import NotInStepError
from tileas_xdsl.scheduling.op_times import memory_space, tile_bytes
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.warps import WARP_GROUP, block_warps
from tileas_xdsl.transforms.loops.persistent_loop import is_persistent_loop
from tileas_xdsl.transforms.tileas.assign_buffers import BUFFER, as_attribute, assigned_depth, plan_buffers
from tileas_xdsl.transforms.tileas.generate_schedule import SCHEDULE, is_analysed, is_serial, scheduled_loops
from tileas_xdsl.transforms.tileas.materialize_schedule.agents import loops_to_peel
from tileas_xdsl.transforms.tileas.materialize_schedule.crossing import Crossing, ring_of
from tileas_xdsl.transforms.tileas.materialize_schedule.dissolving import dissolve, plan_dissolution
from tileas_xdsl.transforms.tileas.materialize_schedule.extraction import Extracted, extract
from tileas_xdsl.transforms.tileas.materialize_schedule.hoisting import hoist_rings
from tileas_xdsl.transforms.tileas.materialize_schedule.ownership import fills
from tileas_xdsl.transforms.tileas.materialize_schedule.partition import (
    Partition,
    fills_a_ring,
    has_work_in_front,
    partition,
    why_no_ring,
)
from tileas_xdsl.transforms.tileas.materialize_schedule.stages import (
    keep_only_what_was_scheduled,
    materialize_stages,
    peel,
)
from tileas_xdsl.transforms.tileas.materialize_schedule.unwrapping import unwrap_iterators
from tileas_xdsl.transforms.tileas.materialize_schedule.warps import NoPartitionError, WarpPartition, warp_partition
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import inconsistent_tags

ALIAS = "Alias is not expected here."
"""TileAS' own text, byte for byte (docs/verbatim.md)."""

AGENTS = "nv_tileas.agents"
"""What was decided for a function: a dictionary, `agents` and, where there are fewer than asked for, the `reason`."""

WRITERS = (ProduceOp, ProducerWriteOp)
READERS = (ConsumeOp, ConsumerReadOp)
ENDS = (*WRITERS, *READERS)
"""Ops that write the slot of a ring, and those that read it."""

ONE_COMPUTES = "TileAS' rule asks for two computing agents, and the work of the loops does not fall into two parts"

SERIAL = "the schedules are serial: loops of one stage have nothing to overlap"

NO_SCHEDULE = "no loop has a schedule"

NOT_SCHEDULED = "has loops without a schedule, so tileas-materialize-schedule cannot make agents of them"
"""The line of TileAS' driver for a failure that has no diagnostic; the wording is ours."""

FEEDS_TWO = 0.6
"""Two agents that compute can be fed where there are more stages than this part of the work of an iteration."""


@dataclass(frozen=True)
class MaterializeSchedulePass(ModulePass):
    """
    Make agents of the sides of scheduled loops.

    Rewrites
        A function whose scheduled loops fill and empty rings: an `agent_switch` with a producer, which has all that
        fills rings, and one or two consumers, which have all the rest; or the agents that `agent` on the ops of a loop
        asks for. Values in registers that another agent uses cross through rings of their own. Arguments of regions at
        rings that are iterators become what lies in the slot (`unwrapping.py`). Arithmetic, loops and
        branches are in each agent that needs them, and loops carry what their agent needs. Each agent's loop is peeled
        by the stages that are left in it. Rings get their depth and the numbers of the two groups; ops keep
        `nv_tile.aws.stage` and `nv_tile.aws.order`. Agents that the program has stay, and their loops are peeled by
        the stages of their schedules (`agents.py`). With `use-AUS` loops stay as they are, for
        TileASUnspecializedPipeline, and agents that the program has become one (`dissolving.py`). A function whose
        schedules are all serial stays in one agent too: its loops have one stage, so there is nothing to peel. Where
        the strategy was `none`, loops stay synchronous.

    Requires
        `nv_tileas.schedule` on the loops (`tileas-generate-schedule`), and rings with places (`tileas-assign-buffers`).
        Agents that a function has race nowhere, and end for every trip count. No two arguments of a function name the
        same memory.

    Refuses
        A function of which no partition exists stays as it is, in one agent, without a word but bit 2 of this pass's
        status; `nv_tileas.agents` says why: memory that two agents touch, a value that cannot cross, fewer
        warps in `kernel_spec` than agents need, or tiles that no division of the registers holds. So do agents of
        the program that with stages would wait for each other in a circle, or of which that cannot be said.
        Stages that contradict each other on one ring are an error. So is a function whose loops the scheduler has not
        seen, unless `use-AUS` asks for one agent.

    Choices
        A function with serial and other schedules gets agents; a serial loop then has one stage in each of them.
        Without `enable-schedule-rewrite` the loop between prologue and epilogue has the blocks of the stages one after
        the other. Their guards are left out: between the two pieces every iteration is in range. The latest stage comes
        first, so that it has read what an earlier one of the same turn overwrites.
    """

    name = "tileas-materialize-schedule"

    DESCRIPTION: ClassVar[str] = "Meterialize the pipeline schedule to generate warp-specialized or unspecialized IR"
    """TileAS' own text, typo included (docs/verbatim.md)."""

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})
    use_AUS: bool = field(
        default=False,
        metadata={
            "help": "one agent: loops keep their stages for tileas-unspecialized-pipeline, and agents of the program "
            "become one"
        },
    )
    use_aus: bool = field(default=False, metadata={"help": "the same as use-AUS"})
    use_dual_simt: bool = field(
        default=True, metadata={"help": "TileAS' rule decides on two computing agents, whatever this says"}
    )
    blocks: int = field(default=1, metadata={"help": "blocks that a multiprocessor holds, where a function says none"})
    enable_schedule_rewrite: bool = field(
        default=True,
        metadata={
            "help": "fold the stages back onto the loop; else the steady state has a block for each stage, the latest "
            "first"
        },
    )

    @property
    def wants_one_agent(self) -> bool:
        """Whether one agent is asked for, in either spelling of the option."""
        return self.use_AUS or self.use_aus

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = ErrorCollector()
        for function in functions_in(op):
            if any(isinstance(inner, AgentSwitchOp) for inner in function.walk()):
                if self.wants_one_agent:
                    self._dissolve(function)
                elif scheduled_loops(function):
                    self._keep_agents(function)
            elif any(isinstance(inner, scf.ForOp | scf.WhileOp) for inner in function.walk()):
                self._materialize(function, errors)
        errors.raise_if_any()
        for function in functions_in(op):
            if not failed_softly(function, self.name):
                unwrap_iterators(function)

    def _materialize(self, function: Operation, errors: ErrorCollector) -> None:
        clear_status(function, self.name)
        function.attributes.pop(AGENTS, None)
        loops = scheduled_loops(function)
        if not loops:
            self._without_schedules(function, errors)
            return
        if (complaint := wrong_tags(function)) is not None:
            self._stay_in_one_agent(function, complaint)
            return
        if (contradiction := contradicting_stages(loops)) is not None:
            mark_soft_failure(
                function, self.name, Diagnostic(Severity.ERROR, contradiction, ALIAS, verbatim=True), errors
            )
            return
        if self.wants_one_agent or all(map(is_serial, loops)):
            hoist_rings(function)
            function.attributes[AGENTS] = _decision(1, self._why_one(function))
            return
        for loop in loops:
            _record_dual(loop)
        copy = function.clone()
        try:
            wants_two = any(map(_wants_two_computing_agents, loops))
            blocks = blocks_of(function, self.blocks)
            made = _specialize(copy, self.compute_capability, wants_two, self.enable_schedule_rewrite, blocks)
        except (NoPartitionError, RefusedError) as found:
            self._stay_in_one_agent(function, _reason(found))
            return
        copy.attributes[AGENTS] = made
        _put_in_place(copy, function)

    def _why_one(self, function: Operation) -> str:
        if self.wants_one_agent:
            return "AUS was asked for"
        return SERIAL if fills_a_ring(function) else why_no_ring([function])

    def _without_schedules(self, function: Operation, errors: ErrorCollector) -> None:
        """
        Leave the loops of `function` synchronous. That is right where the scheduler has decided on no pipeline; where
        it has not seen the loops it is a failure, which TileAS' driver lifts to an error.
        """
        if any(map(is_analysed, function.walk())):
            function.attributes[AGENTS] = _decision(1, "the strategy is none: loops stay synchronous")
        elif self.wants_one_agent:
            self._stay_in_one_agent(function, NO_SCHEDULE)
        else:
            function.attributes[AGENTS] = _decision(1, NO_SCHEDULE)
            error = Diagnostic(Severity.ERROR, function, NOT_SCHEDULED, "run tileas-generate-schedule before this pass")
            mark_soft_failure(function, self.name, error, errors)

    def _dissolve(self, function: Operation) -> None:
        """The agents that were asked for become one, for AUS."""
        clear_status(function, self.name)
        try:
            plan = plan_dissolution(function)
        except NoPartitionError as found:
            agents = sum(sum(op.group_sizes) for op in function.walk() if isinstance(op, AgentSwitchOp))
            function.attributes[AGENTS] = _decision(agents, found.reason)
            mark_soft_failure(function, self.name, None)
            return
        dissolve(plan)
        function.attributes[AGENTS] = _decision(1, "AUS was asked for, and the agents of the program are one")

    def _keep_agents(self, function: Operation) -> None:
        """The agents of the program stay; their loops are peeled by the stages of their schedules."""
        clear_status(function, self.name)
        count = sum(sum(op.group_sizes) for op in function.walk() if isinstance(op, AgentSwitchOp))
        copy = function.clone()
        try:
            if (complaint := wrong_tags(copy)) is not None:
                raise NoPartitionError(complaint)
            for loop in reversed(loops_to_peel(copy, fold=self.enable_schedule_rewrite)):
                peel(loop, set(loop.body.block.ops), fold=self.enable_schedule_rewrite)
        except (NoPartitionError, NotInStepError, RefusedError) as found:
            function.attributes[AGENTS] = _decision(count, f"their loops have no stages: {_reason(found)}")
            mark_soft_failure(function, self.name, None)
            return
        for op in copy.walk():
            keep_only_what_was_scheduled(op)
        copy.attributes[AGENTS] = _decision(count)
        _put_in_place(copy, function)

    def _stay_in_one_agent(self, function: Operation, reason: str) -> None:
        """TileAS falls back in silence: a bit says so, and here an attribute says why."""
        hoist_rings(function)
        function.attributes[AGENTS] = _decision(1, reason)
        mark_soft_failure(function, self.name, None)


def _reason(found: NoPartitionError | NotInStepError | RefusedError) -> str:
    if not isinstance(found, RefusedError):
        return found.reason
    first = found.diagnostics[0]
    return f"'{first.op.name}' op {first.message}"


def _put_in_place(copy: Operation, function: Operation) -> None:
    """`copy` takes the place of `function`."""
    Rewriter.insert_op(copy, InsertPoint.before(function))
    Rewriter.erase_op(function)


def _decision(agents: int, reason: str | None = None) -> DictionaryAttr:
    entries: dict[str, Attribute] = {"agents": IntegerAttr(agents, i32)}
    if reason is not None:
        entries["reason"] = StringAttr(reason)
    return DictionaryAttr(entries)


def feeds_two_agents(stage_count: int, total_work: int, iters: int) -> bool:
    """Whether two agents that compute can be fed, by TileAS' rule; the division truncates toward zero."""
    return float(stage_count) > int(total_work / max(iters, 1)) * FEEDS_TWO


def _record_dual(loop: scf.ForOp) -> None:
    """Write TileAS' decision on two computing agents into the schedule of the loop."""
    found = loop.attributes[SCHEDULE]
    assert isinstance(found, DictionaryAttr)
    numbers = [_integer(found.data.get(key)) for key in ("stage_count", "total_work", "iters")]
    dual = feeds_two_agents(*numbers)
    loop.attributes[SCHEDULE] = DictionaryAttr({**found.data, "use_dual_simt": BoolAttr.from_bool(dual)})


def _wants_two_computing_agents(loop: scf.ForOp) -> bool:
    found = loop.attributes[SCHEDULE]
    return isinstance(found, DictionaryAttr) and found.data["use_dual_simt"] == BoolAttr.from_bool(True)


def _integer(value: Attribute | None) -> int:
    return value.value.data if isinstance(value, IntegerAttr) else 0


def wrong_tags(function: Operation) -> str | None:
    """What is wrong with the first tag of an op that is, wherever it is in a loop of `function`."""
    complaints = (inconsistent_tags(loop.body.block) for loop in function.walk() if isinstance(loop, scf.ForOp))
    return next((complaint for complaint in complaints if complaint is not None), None)


def contradicting_stages(loops: list[scf.ForOp]) -> Operation | None:
    """
    An op on a ring whose stage contradicts that of another: an end that writes or reads without a stage, a reader in an
    earlier stage than the writer, or writers in different stages.
    """
    roots = PipelineRoots()
    for loop in loops:
        ends: dict[object, tuple[list[ClassifiedOp], list[ClassifiedOp]]] = {}
        for op in loop.body.block.ops:
            if isinstance(op, ENDS) and (root := roots.of_op(op)) is not None:
                ends.setdefault(root.key, ([], []))[isinstance(op, READERS)].append(op)
        for writers, readers in ends.values():
            known = [_stage(op) for op in (*writers, *readers)]
            stages = [stage for stage in known if stage is not None]
            if not writers or not readers:
                continue
            written, read = set(stages[: len(writers)]), stages[len(writers) :]
            if len(stages) < len(known) or len(written) > 1 or min(read) < max(written):
                return readers[0]
    return None


def _stage(op: Operation) -> int | None:
    stage = op.attributes.get("stage")
    return stage.value.data if isinstance(stage, IntegerAttr) else None


@dataclass(frozen=True)
class _Warps:
    """What there is of warps and registers to divide, and how many warps an agent that computes has."""

    hands_over: bool
    budget: int
    width: int
    blocks: int
    """That a multiprocessor holds at a time."""


@dataclass(frozen=True)
class _Plan:
    """A partition, the code of its agents, and the warps and registers of each."""

    found: Partition
    rings: Mapping[Crossing, CreatePipelineOp]
    codes: Sequence[Extracted]
    warps: WarpPartition


def _specialize(function: Operation, capability: str, wants_two: bool, fold: bool, blocks: int) -> DictionaryAttr:
    """
    Cut the body of `function` into agents; returns what was decided. Raises `NoPartitionError` or `RefusedError`.

    Two agents compute where TileAS' rule asks for them, or where the tiles do not fit into the registers of one.
    """
    view = FunctionOpInterface.of(function)
    assert view is not None
    if len(view.function_body.blocks) != 1:
        raise NoPartitionError("the function has branches between blocks")
    warps = _Warps(
        _hands_over_registers(function, capability), warp_budget(function), _width_of_tiles(function), blocks
    )
    hoist_rings(function)
    mark_rings_in_step(function)
    block = view.function_body.block
    plan, reason = None, None
    for computing in (2, 1) if wants_two else (1, 2):
        try:
            found = partition(block, computing=computing)
            plan = None if found is None else _plan(found, warps)
        except NoPartitionError:
            # Two agents that compute may not share what stands in front of them; one that computes may have it.
            if computing == 1 or not wants_two or not has_work_in_front(block):
                raise
        if plan is not None:
            break
        reason = ONE_COMPUTES if wants_two else None
    if plan is None:
        raise NoPartitionError(_why_no_plan(warps))
    _carry_out(plan, block, fold)
    if plan.rings:
        for record in (records := plan_buffers(function, model_of_target(function, capability))):
            record.op.attributes[BUFFER] = as_attribute(record, records)
    return _decision(len(plan.codes), reason)


def _width_of_tiles(function: Operation) -> int:
    """
    The warps that hold a tile in registers together; a warpgroup where no layout says. Raises `NoPartitionError` where
    these are no whole warpgroups, or layouts say different numbers.
    """
    tiles = (tile_of(value.type) for op in function.walk() for value in op.results)
    found = {tile.layout.input_size(WARP) for tile in tiles if tile is not None and tile.in_registers}
    if len(found) > 1:
        raise NoPartitionError(f"{' and '.join(map(str, sorted(found)))} warps hold tiles, and agents have one number")
    width = next(iter(found), WARP_GROUP)
    if width % WARP_GROUP:
        raise NoPartitionError(f"{width} warps hold a tile, and an agent has {WARP_GROUP} or a multiple")
    return width


def _why_no_plan(warps: _Warps) -> str:
    if warps.budget < (needed := WARP_GROUP + warps.width):
        return f"the kernel has {warps.budget} warps, and two agents need {needed}"
    return "no division of the warps and registers of the multiprocessor holds its tiles"


def _plan(found: Partition, warps: _Warps) -> _Plan | None:
    """The code of the agents of `found`; None if their tiles do not fit into registers, or they need more warps."""
    rings = {crossing: ring_of(crossing) for crossing in found.crossings()}
    codes = [extract(found, share, rings) for share in found.shares]
    kept = [
        None if agent in found.ownership.producers else _held(code.region.block) for agent, code in enumerate(codes)
    ]
    made = warp_partition(kept, hands_over=warps.hands_over, width=warps.width, blocks=warps.blocks)
    return None if made is None or block_warps(made.warps) > warps.budget else _Plan(found, rings, codes, made)


def _held(block: Block) -> list[Attribute]:
    """The types of what loops in `block` carry, an inner one's instead of an outer one's where those take more."""
    found: list[Attribute] = []
    for op in block.ops:
        if is_persistent_loop(op):
            found += _held(op.after_region.block)
        elif isinstance(op, scf.ForOp):
            found += max([value.type for value in op.results], _held(op.body.block), key=_bytes)
    return found


def _bytes(types: Sequence[Attribute]) -> int:
    return sum(tile_bytes(type_) for type_ in types if memory_space(type_) == "register")


def _carry_out(plan: _Plan, block: Block, fold: bool) -> None:
    """Replace what the agents of `plan` share out by these agents, their stages folded onto the loops or not."""
    found = plan.found
    first_step = next(op for op in found.inside if any(map(fills, op.walk())))
    Rewriter.insert_op(list(plan.rings.values()), InsertPoint.before(first_step))
    rings = [*(op for op in found.before if isinstance(op, CreatePipelineOp)), *plan.rings.values()]
    for ring in rings:
        _lead_from_agent_to_agent(ring, plan)
    switch = AgentSwitchOp(
        [end for ring in rings for end in ring.results],
        [code.region for code in plan.codes],
        [1] * len(plan.codes),
        max_regs=plan.warps.registers,
        num_warps=plan.warps.warps,
    )
    switch.location = first_step.location
    last = end_of(block)
    Rewriter.insert_op(switch, InsertPoint.before(last))
    for op in reversed(found.inside):
        Rewriter.erase_op(op)
    for code in plan.codes:
        materialize_stages(code, fold=fold)


def _lead_from_agent_to_agent(ring: CreatePipelineOp, plan: _Plan) -> None:
    """Give `ring` its depth and its groups: the agent that fills it, and the first of those that empty it."""
    depth = assigned_depth(ring)
    if depth is not None:
        ring.num_stages = IntegerAttr(depth, i32)
    ring.producer_group = IntegerAttr(_first_agent(ring.producer, plan), i8)
    ring.consumer_group = IntegerAttr(_first_agent(ring.consumer, plan), i8)


def _first_agent(end: SSAValue, plan: _Plan) -> int:
    """The first agent that works on the side `end` of a ring; iterators are made in front of all agents."""
    users = [use.operation for use in end.uses]
    users += [use.operation for user in users for result in user.results for use in result.uses]
    agents = (agent for agent, code in enumerate(plan.codes) if any(map(code.region.is_ancestor, users)))
    return next(agents, 0)


def _hands_over_registers(function: Operation, capability: str) -> bool:
    """Whether the target has `setmaxnreg`, which came with TMA (PTX ISA, `setmaxnreg`)."""
    return model_of_target(function, capability).has_tma
