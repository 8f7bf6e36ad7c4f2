"""
The plan of an expansion: which copy of which op goes where. Touches nothing.

Enters a loop, a placement (stage and order) for each op of its body, and its dependences. Leaves an `ExpansionPlan`, or
a refusal. With `S` stages, `M = S - 1`, and `N` iterations numbered from 0:

* Time runs in *slots*, and in each the op of a stage works on one iteration: `scheduling/timetable.py`. Ops of one slot
  run in `order`.
* The *prologue* is unrolled, the *kernel* is a loop of `N - M` trips, the *epilogue* is unrolled. A *predicated*
  epilogue is no code of its own: the kernel goes on to the last slot, and each op checks whether its iteration still
  exists.
* With constant bounds every copy is known to run or is left out; `N` may then be smaller than `M`, and there is no
  kernel. With bounds that are not known, and an epilogue of its own, prologue slot `t` runs only when `N > t`, and a
  copy of the epilogue only when its iteration is not below 0. So for every `N` a copy keeps its place relative to the
  first or to the last slot, and what a caller computed for it, such as a wait count, stays a constant.

How values travel between the copies is the subject of `streams.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.dependence import DependenceEdge, DependenceGraph, Placement, dependence_graph
from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.scheduling.timetable import Section, TimeSlot, Timetable
from tileas_xdsl.transforms.loops.loop_expander.streams import LoopResult, PlannedOp, Stream, StreamPlanner


class Epilogue(Enum):
    """How the last iterations are drained."""

    PEELED = "peeled"
    """The last iterations are drained by code of their own behind the kernel."""
    PREDICATED = "predicated"
    """The kernel makes more trips, in which ops whose iteration no longer exists are switched off."""


# What a plan consists of --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Iteration:
    """An iteration of the original loop, counted in its section as in the timetable; the last of all is -1."""

    section: Section
    offset: int


@dataclass(frozen=True)
class TripsAtLeast:
    """A guard that holds if the loop has `count` iterations or more."""

    count: int


@dataclass(frozen=True)
class StillRunning:
    """A guard in a kernel: it holds if the iteration `ahead` of the one at the induction variable exists."""

    ahead: int


Guard = TripsAtLeast | StillRunning


@dataclass(frozen=True)
class PlannedCopy:
    """One copy of an op: what it works on, and when it runs at all."""

    planned: PlannedOp
    iteration: Iteration
    guard: Guard | None = None


@dataclass(frozen=True)
class PlannedSlot:
    """The copies of one slot in order."""

    slot: TimeSlot
    copies: tuple[PlannedCopy, ...]
    guard: TripsAtLeast | None = None
    """A guard under which the whole slot stands; None where the slot always runs."""

    @property
    def number(self) -> int:
        """The slot, counted from 0 in its section."""
        return self.slot.number


Placeholder = Callable[[Attribute], Operation | None]
"""Makes a detached op whose one result may stand for a missing value of the type, or gives None."""


@dataclass(frozen=True)
class ExpansionPlan:
    """How one loop is expanded: its ops in kernel order, the copies of each part, and the values that travel."""

    loop: scf.ForOp
    ops: tuple[PlannedOp, ...]
    """The ops of the body in kernel order."""
    stage_count: int
    first_stage: int
    """The lowest stage of the placement, which was subtracted from all stages."""
    trip_count: int | None
    prologue: tuple[PlannedSlot, ...]
    kernel: PlannedSlot | None
    epilogue: tuple[PlannedSlot, ...]
    epilogue_kind: Epilogue
    streams: tuple[Stream, ...]
    """The streams that are read, in the order of the carried arguments, then in program order."""
    constants: Mapping[SSAValue, SSAValue]
    """Carried arguments that never change, and their values."""
    results: tuple[LoopResult | None, ...]
    """For each result of the loop; None where it is not used."""
    arguments: tuple[tuple[Stream, int] | None, ...]
    """For each carried argument its stream and how far back there it reads; None where it never changes."""
    readers: Mapping[Stream, tuple[tuple[PlannedOp, int], ...]]
    """Stream -> the ops that read it, each with the age at which it does."""
    placeholder: Placeholder

    @property
    def lead(self) -> int:
        """`M`: how many slots the first stage runs ahead of the last."""
        return self.stage_count - 1


def zero_constant(value_type: Attribute) -> Operation | None:
    """The default placeholder: a zero of a signless integer, index or float, or a vector or static tensor of those."""
    if isinstance(value_type, VectorType | TensorType):
        shaped = cast(VectorType[Attribute] | TensorType[Attribute], value_type)
        scalar = zero_constant(shaped.element_type)
        if scalar is None or not shaped.has_static_shape():
            return None
        return arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(cast(VectorType[IntegerType], shaped), [0]))
    if isinstance(value_type, AnyFloat):
        return arith.ConstantOp(FloatAttr(0.0, value_type))
    if not isinstance(value_type, IndexType | IntegerType):
        return None
    number_type = cast(IndexType | IntegerType, value_type)
    if isinstance(number_type, IntegerType) and number_type.signedness.data is not Signedness.SIGNLESS:
        return None
    return arith.ConstantOp(IntegerAttr(0, number_type))


def late_stages_first(loop: scf.ForOp, stages: Mapping[Operation, int]) -> dict[Operation, Placement]:
    """Placements from stages alone: in the kernel late stages come first, and ops of one stage in program order."""
    values = LoopValues(loop)
    placed = [op for op in values.ops if op in stages]
    placed.sort(key=lambda op: (-stages[op], values.position[op]))
    return {op: Placement(stages[op], order) for order, op in enumerate(placed)}


# Planning -----------------------------------------------------------------------------------------------------------


def plan_expansion(
    loop: scf.ForOp,
    placements: Mapping[Operation, Placement],
    *,
    epilogue: Epilogue = Epilogue.PEELED,
    dependences: DependenceGraph | None = None,
    placeholder: Placeholder = zero_constant,
) -> ExpansionPlan:
    """
    Decide how `loop` is to be expanded. Linear in the number of copies and carried values.

    `placements` places every op of the body but the terminator, at stages of 0 or more and different orders.
    `dependences` is what the schedule must respect, by default all that `dependence_graph` finds. `placeholder` makes
    the values that stand for those of ops that did not run; they are never used.

    Raises `RefusedError` on an op without a placement, on a schedule that breaks a dependence, on a step that is not
    positive, and where a value needs a placeholder and `placeholder` has none.
    """
    values = LoopValues(loop)
    _check_step(loop)
    _check_placements(values, placements)
    graph = dependences if dependences is not None else dependence_graph(loop)
    _check_dependences(graph, placements)
    trips = static_trip_count(loop)
    if trips == 0:
        epilogue = Epilogue.PEELED
    planner = StreamPlanner(values, placements, drains_itself=epilogue is Epilogue.PREDICATED)
    ops = planner.plan_ops()
    timetable = Timetable(planner.stage_count - 1, trips, drains_itself=epilogue is Epilogue.PREDICATED)
    plan = ExpansionPlan(
        loop=loop,
        ops=ops,
        stage_count=planner.stage_count,
        first_stage=planner.first_stage,
        trip_count=trips,
        prologue=tuple(_planned_slot(ops, timetable, slot) for slot in timetable.prologue),
        kernel=None if timetable.kernel is None else _planned_slot(ops, timetable, timetable.kernel),
        epilogue=tuple(_planned_slot(ops, timetable, slot) for slot in timetable.epilogue),
        epilogue_kind=epilogue,
        streams=planner.streams,
        constants=planner.constants,
        results=planner.plan_results(),
        arguments=planner.plan_arguments(),
        readers=_readers(ops),
        placeholder=placeholder,
    )
    _check_placeholders(plan)
    return plan


def _check_step(loop: scf.ForOp) -> None:
    step = constant_integer(loop.step)
    if step is not None and step <= 0:
        refuse(loop, f"has step {step}", "a loop counts upwards: give it a step of 1 or more")


def _check_placements(values: LoopValues, placements: Mapping[Operation, Placement]) -> None:
    by_order: dict[int, Operation] = {}
    for op in values.ops:
        placement = placements.get(op)
        if placement is None:
            refuse(op, "not assigned a pipeline stage", "give every op of the loop body a stage and an order")
        if placement.stage < 0:
            refuse(op, f"has the negative stage {placement.stage}", "count stages from 0")
        if placement.order in by_order:
            other = op_name(by_order[placement.order])
            refuse(op, f"has order {placement.order}, as '{other}' does", "give each op of the body its own order")
        by_order[placement.order] = op
    for op in placements:
        if op not in values.position:
            refuse(op, "has a place in the schedule of a loop that it is not in", "place only the ops of the loop body")


def _check_dependences(graph: DependenceGraph, placements: Mapping[Operation, Placement]) -> None:
    violations = graph.violations(placements)
    if not violations:
        return
    edge = violations[0]
    more = f" ({len(violations)} dependences, this the first)" if len(violations) > 1 else ""
    refuse(
        edge.sink,
        f"scheduled before what it depends on{more}: {edge}; {_times(edge, placements)}",
        "place it in a later stage, or later in the same time step",
    )


def _times(edge: DependenceEdge, placements: Mapping[Operation, Placement]) -> str:
    source, sink = placements[edge.source], placements[edge.sink]
    return f"that runs at stage {source.stage}, order {source.order}, this at stage {sink.stage}, order {sink.order}"


def _check_placeholders(plan: ExpansionPlan) -> None:
    """Guards leave values out; each type that may be left out needs something to stand for it."""
    if plan.trip_count is not None and plan.epilogue_kind is Epilogue.PEELED:
        return
    run = _runs(plan.ops)
    accepted: dict[Attribute, None] = {}
    for planned in plan.ops:
        for stream in (stream for streams in planned.makes for stream in streams):
            leaves_run = any(run[reader.rank] != run[planned.rank] for reader, _ in plan.readers[stream])
            value_type = stream.source.type
            if stream.initial or value_type in accepted or not (stream.depth > 0 or leaves_run):
                continue
            if plan.placeholder(value_type) is None:
                refuse(
                    planned.op,
                    f"makes a {value_type} that may be missing in a short loop, and nothing can stand for it",
                    "give the loop constant bounds, or use the value only in the stage that makes it",
                )
            accepted[value_type] = None


def _runs(ops: tuple[PlannedOp, ...]) -> list[int]:
    """Numbers the maximal runs of neighbours of one stage in kernel order; one entry for each op."""
    numbers: list[int] = []
    for planned in ops:
        new_run = not numbers or ops[planned.rank - 1].stage != planned.stage
        numbers.append((numbers[-1] if numbers else 0) + new_run)
    return numbers


def _readers(ops: tuple[PlannedOp, ...]) -> dict[Stream, tuple[tuple[PlannedOp, int], ...]]:
    readers: dict[Stream, list[tuple[PlannedOp, int]]] = {}
    for planned in ops:
        for stream in (stream for streams in planned.makes for stream in streams):
            readers.setdefault(stream, [])
        for read in planned.reads:
            if read.stream is not None:
                readers.setdefault(read.stream, []).append((planned, read.age))
    return {stream: tuple(uses) for stream, uses in readers.items()}


# Slots --------------------------------------------------------------------------------------------------------------


def _planned_slot(ops: tuple[PlannedOp, ...], timetable: Timetable, slot: TimeSlot) -> PlannedSlot:
    """The copies of the ops that may have an iteration in `slot`."""
    stages = {planned.stage for planned in ops}
    # What a stage works on is the same for all of its ops.
    work = {stage: found for stage in stages if (found := _work_of(stage, timetable, slot)) is not None}
    copies = tuple(PlannedCopy(planned, *work[planned.stage]) for planned in ops if planned.stage in work)
    return PlannedSlot(slot, copies, _guard_of_slot(timetable, slot))


def _work_of(stage: int, timetable: Timetable, slot: TimeSlot) -> tuple[Iteration, Guard | None] | None:
    """The iteration that `stage` works on in `slot`, and under which guard; None if there never is one."""
    iteration = timetable.iteration(slot, stage)
    if not timetable.may_exist(slot, iteration):
        return None
    return Iteration(slot.section, iteration), _guard(timetable, slot, iteration)


def _guard_of_slot(timetable: Timetable, slot: TimeSlot) -> TripsAtLeast | None:
    """A peeled slot of the prologue runs as a whole or not at all."""
    if slot.section is not Section.PROLOGUE or timetable.trip_count is not None or timetable.drains_itself:
        return None
    return TripsAtLeast(slot.number + 1)


def _guard(timetable: Timetable, slot: TimeSlot, iteration: int) -> Guard | None:
    """The guard of one copy, by the section that it stands in; None where the copy always runs."""
    if slot.section is Section.KERNEL:
        return StillRunning(iteration) if timetable.drains_itself and iteration else None
    if timetable.trip_count is not None or _guard_of_slot(timetable, slot) is not None:
        return None
    return TripsAtLeast(timetable.trips_needed(slot, iteration))
