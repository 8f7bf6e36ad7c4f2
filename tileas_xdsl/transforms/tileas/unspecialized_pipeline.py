"""
TileASUnspecializedPipeline: overlap the iterations of a loop whose ops carry stages, in one agent.

    scf.for %i = %c0 to %n step %c1 {            %ap0, %ta0 = produce_one_async %c0 {stage = 0}      // Prologue
      %ap, %ta = produce_one_async %i            %ap1, %ta1 = produce_one_async %c1 {stage = 0}
          {stage = 0, iter_offset = 0}           %t:2 = scf.for %i = %c0 to %n_minus_2 step %c1
      %a, %tac = consume_one %ta          ->         iter_args(%x = %ta0, %y = %ta1) {               // Kernel
          {stage = 2, iter_offset = -2}            consume_one %x {stage = 2}
    }                                              produce_one_async (%i + 2) {stage = 0}
                                                 }
                                                 consume_one %t#0; consume_one %t#1                  // Epilogue

The loop expander does the work; this pass reads the stages, says what depends on what, and keeps the tags: a copy
keeps its `stage` and loses its `iter_offset`, so a second run finds nothing to do. A loop that has stages and cannot
be expanded is left as it is, with TileAS' own remark. Then bit 2 of the pass status of its function is set: the soft
failure, of which later passes know and which fails nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.dependence import DependenceGraph, Placement, dependence_graph
from tileas_xdsl.analysis.induction import static_trip_count
from tileas_xdsl.analysis.pipeline_dependence import pipeline_edges
from tileas_xdsl.analysis.pipeline_facts import is_root, pipeline_facts
from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.diagnostics import (
    Diagnostic,
    RefusedError,
    Severity,
    clear_status,
    location_of,
    mark_soft_failure,
    op_name,
)
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp, StagedOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreatePipelineOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.loops.loop_expander import Expansion, expand_loop
from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks, OpCopy
from tileas_xdsl.transforms.loops.loop_expander.plan import ExpansionPlan, late_stages_first, plan_expansion
from tileas_xdsl.transforms.tileas.assign_buffers import assigned_depth

FAILED = "Failed to pipeline loop"
"""TileAS' own text, byte for byte (docs/verbatim.md)."""

STAGE, PIPELINE_STAGE, ITER_OFFSET, ORDER, PIPELINE_ID, TOKEN_ITER_IDX = (
    "stage",
    "pipeline_stage",
    "iter_offset",
    "order",
    "pipeline_id",
    "token_iter_idx",
)

WHILE = "an scf.while has no trip count to peel; write it as an scf.for"
PARTLY_EXPANDED = "pieces of an inner loop that an earlier run expanded have stages too; pipeline the nest in one run"


# Reading the schedule -------------------------------------------------------------------------------------------------


@dataclass
class ScheduleMap:
    """
    The stage of every op of a loop body, which ops carried a tag, and the order where every op had one.

    An order is a tuple, compared number by number, so that the pieces of an inner loop find room between two ops.
    """

    stages: dict[Operation, int]
    tagged: set[Operation]
    orders: dict[Operation, tuple[int, ...]] | None

    early_first: bool = False
    """Whether early stages come first in the kernel: so the next load is issued before this iteration's product."""

    @property
    def stage_count(self) -> int:
        return max(self.stages.values(), default=0) + 1

    def spread(self, stage_count: int) -> ScheduleMap:
        """The same two stages with idle ones between them, `stage_count` in all, the early one first."""
        last = stage_count - 1
        stages = {op: last if stage else 0 for op, stage in self.stages.items()}
        return ScheduleMap(stages, set(self.tagged), None, early_first=True)

    def replace(self, loop: Operation, pieces: Sequence[Operation], kernel: Operation | None) -> None:
        """An inner loop has been expanded: `pieces` stand in its place, all in its stage, one after the other."""
        stage = self.stages.pop(loop)
        self.stages.update(dict.fromkeys(pieces, stage))
        if loop in self.tagged:
            self.tagged.remove(loop)
            self.tagged.update([kernel] if kernel is not None else [])
        if self.orders is not None:
            at = self.orders.pop(loop)
            self.orders.update({piece: (*at, number) for number, piece in enumerate(pieces)})


def _number(op: Operation, name: str) -> int | None:
    value: Attribute | None = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


def has_pipelinable_ops(body: Block) -> bool:
    """Whether some op of the body says which stage it belongs to."""
    return any(_number(op, STAGE) is not None or _number(op, PIPELINE_STAGE) is not None for op in body.ops)


def schedule_map(body: Block, num_stages: int) -> ScheduleMap | None:
    """
    The stages of the ops of `body`, or None when they are no valid schedule.

    `stage` counts where some op carries it, with `iter_offset` its negative on each carrier; else `pipeline_stage`.
    Stages lie in `0..num_stages - 1`. An op without a tag takes the highest stage among the definitions of its
    operands; no value may be used in an earlier stage than that of its definition. `stage` without `iter_offset`
    marks a body that is expanded already.
    """
    ops = [op for op in body.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
    by_stage = any(_number(op, STAGE) is not None for op in ops)
    stages: dict[Operation, int] = {}
    tagged: list[Operation] = []
    for op in ops:
        stage = _number(op, STAGE if by_stage else PIPELINE_STAGE)
        earliest = max((stages[d] for d in _definitions(op, body) if d in stages), default=0)
        if stage is None:
            stages[op] = earliest
            continue
        if by_stage and _number(op, ITER_OFFSET) != -stage:
            return None
        if not 0 <= stage < num_stages or stage < earliest:
            return None
        stages[op] = stage
        tagged.append(op)
    return ScheduleMap(stages, set(tagged), _orders(ops)) if tagged else None


def _orders(ops: Sequence[Operation]) -> dict[Operation, tuple[int, ...]] | None:
    orders = {op: (order,) for op in ops if (order := _number(op, ORDER)) is not None}
    return orders if len(orders) == len(ops) else None


def inconsistent_tags(body: Block) -> str | None:
    """
    What is wrong with the tags of `body`: one that is no integer, an `iter_offset` that is not minus the stage, an
    `order` on some ops and not on others. The text names the op and its place.
    """
    ops = [op for op in body.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
    if not any(STAGE in op.attributes or PIPELINE_STAGE in op.attributes for op in ops):
        return None
    has_order = any(ORDER in op.attributes for op in ops)
    for op in ops:
        place = f" at {location}" if (location := location_of(op)) else ""
        for name in (STAGE, PIPELINE_STAGE, ITER_OFFSET, ORDER):
            if name in op.attributes and _number(op, name) is None:
                return f"'{op_name(op)}' op{place} has {_article(name)} {name} that is no integer"
        stage, offset = _number(op, STAGE), _number(op, ITER_OFFSET)
        if stage is not None and offset not in (None, -stage):
            return f"'{op_name(op)}' op{place} has stage {stage} and iter_offset {offset}, which is to be {-stage}"
        if has_order and ORDER not in op.attributes:
            return f"'{op_name(op)}' op{place} has no order, and others have; give every op of the body one, or none"
    return None


def _article(name: str) -> str:
    return "an" if name[0] in "aeiou" else "a"


def is_partly_expanded(body: Block) -> bool:
    """
    Whether `body` has a schedule and holds pieces of an inner loop that an earlier run expanded: tags of the two loops
    cannot be told apart then.
    """
    stages = [op for op in body.ops if _number(op, STAGE) is not None]
    unscheduled = [op for op in stages if _number(op, ITER_OFFSET) is None]
    if not unscheduled:
        return False
    by_pipeline_stage = any(_number(op, PIPELINE_STAGE) is not None and STAGE not in op.attributes for op in body.ops)
    return by_pipeline_stage or len(unscheduled) < len(stages)


def _definitions(op: Operation, body: Block) -> Iterator[Operation]:
    """The ops of `body` whose results `op`, or an op inside it, uses."""
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner.parent_block() is body:
                yield owner


# Planning -------------------------------------------------------------------------------------------------------------


def _placements(loop: scf.ForOp, schedule: ScheduleMap) -> dict[Operation, Placement]:
    """Late stages first and program order inside a stage, unless every op says its `order`."""
    if schedule.orders is None and schedule.early_first:
        return early_stages_first(loop, schedule.stages)
    if schedule.orders is None:
        return late_stages_first(loop, schedule.stages)
    rank = {order: number for number, order in enumerate(sorted(set(schedule.orders.values())))}
    return {op: Placement(schedule.stages[op], rank[order]) for op, order in schedule.orders.items()}


def early_stages_first(loop: scf.ForOp, stages: Mapping[Operation, int]) -> dict[Operation, Placement]:
    """Placements from stages alone: in the kernel early stages come first, and ops of one stage in program order."""
    ranked = sorted((op for op in loop.body.block.ops if op in stages), key=lambda op: stages[op])
    return {op: Placement(stages[op], order) for order, op in enumerate(ranked)}


def _none_of(type_: Attribute) -> Operation:
    """The placeholder for a token that a short loop never makes: `create_none`."""
    return CreateNoneOp(type_)


def plan_loop(loop: scf.ForOp, schedule: ScheduleMap, graph: DependenceGraph | None = None) -> ExpansionPlan:
    """Raises `RefusedError`, with the reason, for a loop that cannot be expanded so."""
    trips = static_trip_count(loop)
    if trips is not None and trips < schedule.stage_count - 1:
        reason = f"runs {trips} times, and its prologue alone takes {schedule.stage_count - 1} iterations"
        raise RefusedError([Diagnostic(Severity.ERROR, loop, reason, "use fewer stages")])
    graph = graph or dependence_graph(loop, providers=[pipeline_edges])
    return plan_expansion(loop, _placements(loop, schedule), dependences=graph, placeholder=_none_of)


def first_plan(loop: scf.ForOp, choices: Sequence[ScheduleMap]) -> tuple[ExpansionPlan, ScheduleMap]:
    """The plan of the first of `choices` that can be expanded. Raises the refusal of the last one."""
    graph = dependence_graph(loop, providers=[pipeline_edges])
    for schedule in choices[:-1]:
        try:
            return plan_loop(loop, schedule, graph), schedule
        except RefusedError:
            continue
    return plan_loop(loop, choices[-1], graph), choices[-1]


# Carrying it out ------------------------------------------------------------------------------------------------------


def _as_attribute(value: int) -> Attribute:
    return IntegerAttr(value, i32)


class _KeepTags(ExpansionHooks):
    """Copies keep `stage`, lose `iter_offset`, and say which implicit pipeline they belong to; sums keep registers."""

    def __init__(self, schedule: ScheduleMap, identities: dict[Operation, int]) -> None:
        number = cache(_as_attribute)
        self.stages = {op: number(schedule.stages[op]) for op in schedule.tagged}
        self.identities = {op: number(identity) for op, identity in identities.items()}

    def on_copy(self, copy: OpCopy) -> list[SSAValue] | None:
        attributes = copy.op.attributes
        attributes.pop(ITER_OFFSET, None)
        attributes.pop(ORDER, None)
        if (stage := self.stages.get(copy.original)) is not None:
            attributes[STAGE] = stage
        if (identity := self.identities.get(copy.original)) is not None:
            attributes[PIPELINE_ID] = identity
        return None

    def stays_in_place(self, value: SSAValue) -> bool:
        """
        A sum that the tensor core still writes, or to which each turn adds a product and does nothing else. Its
        registers are the same whether the last turns ran or not, so nobody moves them.
        """
        op = value.owner
        return isinstance(op, AsyncDotOp) or (isinstance(op, DotOp) and isinstance(op.c, BlockArgument))


def spread_schedules(loop: scf.ForOp, schedule: ScheduleMap, num_stages: int) -> Iterator[ScheduleMap]:
    """
    What to try for a loop without a schedule, whose load chains MaterializeAsync has put into two stages: as many
    stages as the option, the rings and the trip count allow, then fewer, and at last the two as they are.
    """
    by_stage = any(_number(op, STAGE) is not None for op in loop.body.block.ops)
    if not by_stage and schedule.orders is None and schedule.stage_count == 2:
        trips = static_trip_count(loop)
        most = min(num_stages, *_depths(loop), num_stages if trips is None else trips + 1)
        yield from (schedule.spread(count) for count in range(most, 1, -1))
    yield schedule


def _depths(loop: scf.ForOp) -> list[int]:
    """The depths of the rings that the body takes turns on."""
    roots = PipelineRoots()
    found = (roots.of_op(op) for op in loop.body.block.ops if isinstance(op, StagedOp))
    return [root.depth for root in found if root is not None and root.depth is not None] or [1 << 30]


def _set_depths(function: Operation) -> None:
    """Rings get the depth that a schedule, or the assignment of buffers, has given them."""
    for op in function.walk():
        if isinstance(op, CreatePipelineOp) and (depth := assigned_depth(op)) is not None:
            op.num_stages = IntegerAttr(depth, i32)


def _implicit_identities(loop: scf.ForOp) -> dict[Operation, int]:
    """
    For the produce and consume ops of implicit pipelines that the body makes: the number of the pipeline in the
    function, by which their copies are one pipeline still.
    """
    roots = PipelineRoots()
    implicit: dict[Operation, Hashable] = {}
    for op in loop.body.block.ops:
        if not isinstance(op, StagedOp) or (root := roots.of_op(op)) is None:
            continue
        if isinstance(root.op, ProduceOp) and is_root(root.op):
            implicit[op] = root.key
    if not implicit:
        return {}
    facts = pipeline_facts(loop)
    return {op: facts.pipelines[key].source for op, key in implicit.items()}


def pipeline_loop(loop: scf.ForOp, schedule: ScheduleMap, num_stages: int) -> Expansion:
    """Expand `loop`. Raises `RefusedError` and leaves it alone where that is not possible."""
    plan, schedule = first_plan(loop, list(spread_schedules(loop, schedule, num_stages)))
    token = _number(loop, TOKEN_ITER_IDX)
    expansion = expand_loop(plan, _KeepTags(schedule, _implicit_identities(loop)))
    if expansion.kernel is not None and token is not None:
        _move_token_index(expansion.kernel, token, expansion.kernel_positions)
    return expansion


def _move_token_index(kernel: scf.ForOp, index: int, positions: Sequence[int | None]) -> None:
    """
    Say where the kernel carries the token that the loop carried at `index`.

    It often carries none: when nothing in the loop reads the token, what waits for it behind the loop gets it from the
    last piece of the epilogue.
    """
    position = positions[index] if 0 <= index < len(positions) else None
    if position is None:
        del kernel.attributes[TOKEN_ITER_IDX]
    else:
        kernel.attributes[TOKEN_ITER_IDX] = IntegerAttr(position, i32)


@dataclass(frozen=True)
class UnspecializedPipelinePass(ModulePass):
    """
    Software-pipeline the stage-tagged loops of functions without agents.

    Rewrites: a tagged `scf.for` into prologue, kernel and epilogue, as the module's docstring shows; tokens rotate,
    one for each stage that they cross, so that each consumer gets the token of its own iteration. Requires: `stage`
    with `iter_offset` (or `pipeline_stage`) on the ops of the loop. `num-stages` is the upper limit of the stages; 1
    or less does nothing but clear the status of an earlier run. Functions with an `agent_switch` are skipped, loops
    without a valid schedule are left alone in silence. Refuses: nothing. A loop with a valid schedule that cannot be
    expanded (too few slots or iterations, a dependence that would run backward, an `scf.while`) stays byte for byte,
    with the remark "Failed to pipeline loop" and bit 2 of this pass's status.

    Choices
        A body with tags of its own schedule and with expanded pieces is a miss with the remark, and not silently
        invalid: else the outer loop of a nest would be dropped without a word. The pieces of an inner loop keep the
        `stage` that they had in it.

        Without a schedule early stages come first in the kernel, where the published kernel has late ones first: so the
        next load is issued before the product, and not behind it. A synchronous product would hold the load back for
        its whole duration.

        `token_iter_idx` follows the token to its place in the kernel, and goes where the kernel carries no such token.
    """

    name = "tileas-unspecialized-pipeline"

    DESCRIPTION: ClassVar[str] = "Software-pipeline stage-tagged loops in one agent: prologue, kernel, epilogue"

    num_stages: int = field(default=2, metadata={"help": "the most stages of a loop; 1: loops stay as they are"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            clear_status(function, self.name)
            if self.num_stages > 1 and not any(isinstance(inner, AgentSwitchOp) for inner in function.walk()):
                self._pipeline_function(function)

    def _pipeline_function(self, function: Operation) -> None:
        _set_depths(function)
        # Inner loops first: what is expanded is replaced, with every loop in it. All schedules are read before that:
        # the pieces of an inner loop stand in the body of the outer one, with tags that are not of its schedule.
        nested = function.walk(reverse=True, region_first=True)
        loops = [inner for inner in nested if isinstance(inner, scf.ForOp | scf.WhileOp)]
        schedules: dict[Operation | None, ScheduleMap] = {}
        for loop in loops:
            if (found := self._read_schedule(function, loop)) is not None:
                schedules[loop] = found
        for loop in loops:
            if (schedule := schedules.get(loop)) is None:
                continue
            if isinstance(loop, scf.WhileOp):
                self._miss(function, loop, WHILE)
                continue
            outer = schedules.get(loop.parent_op())
            expansion = self._try_loop(function, loop, schedule)
            if expansion is not None and outer is not None and loop in outer.stages:
                outer.replace(loop, expansion.pieces, expansion.kernel)

    def _read_schedule(self, function: Operation, loop: scf.ForOp | scf.WhileOp) -> ScheduleMap | None:
        body = loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block
        if (complaint := inconsistent_tags(body)) is not None:
            self._miss(function, loop, complaint)
            return None
        if not has_pipelinable_ops(body):
            return None
        if is_partly_expanded(body):
            self._miss(function, loop, PARTLY_EXPANDED)
            return None
        schedule = schedule_map(body, self.num_stages)
        return schedule if schedule is not None and schedule.stage_count > 1 else None

    def _try_loop(self, function: Operation, loop: scf.ForOp, schedule: ScheduleMap) -> Expansion | None:
        try:
            return pipeline_loop(loop, schedule, self.num_stages)
        except RefusedError as refusal:
            first = refusal.diagnostics[0]
            hint = f"; {first.way_out}" if first.way_out else ""
            self._miss(function, loop, f"'{first.op.name}' op {first.message}{hint}")
            return None

    def _miss(self, function: Operation, loop: Operation, reason: str) -> None:
        mark_soft_failure(function, self.name, Diagnostic(Severity.REMARK, loop, FAILED, reason, verbatim=True))
