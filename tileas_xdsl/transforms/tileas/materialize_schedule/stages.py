"""
The stages of one agent's loop: those of the schedule that are left in it, numbered from 0, and peeled.

    wait, read, product {stage = 1}          prologue: wait, read, product of iteration 0
    async.wait, release {stage = 2}    ->    loop:     ... of iteration i, async.wait and release of iteration i - 1
                                             epilogue: async.wait, release of the last iteration
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Operation

from tileas_xdsl.analysis.dependence import Placement, dependence_graph
from tileas_xdsl.analysis.pipeline_dependence import pipeline_edges
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.scheduling.agent_loops import AWS_ORDER, AWS_STAGE
from tileas_xdsl.transforms.tileas.materialize_schedule.extraction import Extracted
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import (
    ITER_OFFSET,
    ORDER,
    STAGE,
    ScheduleMap,
    pipeline_loop,
    schedule_map,
)


def materialize_stages(code: Extracted, *, fold: bool = True) -> None:
    """
    Peel the scheduled loops in the code of one agent. Raises `RefusedError` where one cannot be.

    With `fold` the steady state is one body in the order of the schedule. Without, it has a block for each stage, the
    latest first, in program order: always a right order, since what a stage needs of a later one is of the iteration
    before, which is there already.
    """
    loops = [op for op in code.region.walk() if isinstance(op, scf.ForOp)]
    for loop in reversed(loops):
        if not peel(loop, code.own, fold=fold) and fold:
            _put_in_order(loop, code.own)
    for op in code.region.walk():
        keep_only_what_was_scheduled(op)


def peel(loop: scf.ForOp, mine: set[Operation], *, fold: bool = True) -> bool:
    """
    Peel `loop` by the stages of the ops that are `mine`; False where there is one only. Raises `RefusedError` where it
    cannot be peeled.
    """
    stages = _renumber(loop, mine)
    if stages < 2:
        return False
    found = schedule_map(loop.body.block, stages)
    if found is None:
        refuse(loop, "uses values in an earlier stage than the one that makes them", "schedule it anew")
    pipeline_loop(loop, found if fold else _in_blocks(found), stages)
    return True


def _in_blocks(schedule: ScheduleMap) -> ScheduleMap:
    """The same stages, one after the other in each turn, the latest first."""
    orders = {op: (-stage, number) for number, (op, stage) in enumerate(schedule.stages.items())}
    return ScheduleMap(schedule.stages, schedule.tagged, orders)


def _renumber(loop: scf.ForOp, mine: set[Operation]) -> int:
    """
    Let the stages of the body begin at 0, with the first op that is the agent's own; returns how many there are.

    Arithmetic that stood in an earlier stage moves into the first: it is there for ops of the agent only.
    """
    tagged = {op: _number(op, STAGE) for op in loop.body.block.ops if STAGE in op.attributes}
    own = [stage for op, stage in tagged.items() if op in mine]
    if not own:
        return 1
    first = min(own)
    for op, scheduled in tagged.items():
        stage = max(scheduled, first)
        op.attributes[AWS_STAGE] = IntegerAttr(scheduled, i32)
        if ORDER in op.attributes:
            op.attributes[AWS_ORDER] = op.attributes[ORDER]
        op.attributes[STAGE] = IntegerAttr(stage - first, i32)
        op.attributes[ITER_OFFSET] = IntegerAttr(first - stage, i32)
    return max(own) - first + 1


def _put_in_order(loop: scf.ForOp, mine: set[Operation]) -> None:
    """
    What has no stages to overlap runs in the order of the schedule, too, where that keeps every dependence. Arithmetic
    that stood in an earlier stage comes first, in program order: it needs nothing of the agent's own.
    """
    *body, last = loop.body.block.ops
    if not all(AWS_STAGE in op.attributes and ORDER in op.attributes for op in body):
        return
    own = [_number(op, AWS_STAGE) for op in body if op in mine]
    ranked = sorted(body, key=lambda op: -1 if _number(op, AWS_STAGE) < min(own) else _number(op, ORDER))
    placements = {op: Placement(0, rank) for rank, op in enumerate(ranked)}
    if dependence_graph(loop, providers=[pipeline_edges]).violations(placements):
        return
    for op in ranked:
        op.detach()
        loop.body.block.insert_op_before(op, last)


def keep_only_what_was_scheduled(op: Operation) -> None:
    """Drop the tags of a schedule that is carried out; `AWS_STAGE` and `AWS_ORDER` stay."""
    for name in (STAGE, ITER_OFFSET, ORDER):
        op.attributes.pop(name, None)


def _number(op: Operation, name: str) -> int:
    value = op.attributes[name]
    assert isinstance(value, IntegerAttr), "tags that are no integers were refused before (`inconsistent_tags`)"
    return value.value.data
