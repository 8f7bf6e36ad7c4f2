"""
Where the rings of a function are empty for good, so that something else may lie in their slots.

    scf.for { produce .. }           agent 0: as many stages are filled ..
    scf.for { read ..; release }     agent 1: .. as are read here
    copy %held, %tile                behind, each slot has been filled and read for the last time

A ring is *in step* if in the program that agents were made of each stage is filled and read in the same turn of the
same loop: whatever is filled is read. Behind the last read nobody fills a slot any more; the threads that have read
have waited for what fills it, by its barrier. What these threads have read they have to wait for among themselves
(`order`).
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp, CreatePipelineOp

IN_STEP = "nv_tileas.in_step"
"""What a `create_pipeline` says whose stages are filled and read equally often."""


def mark_rings_in_step(function: Operation) -> None:
    """Mark the rings of a function without agents that one op fills and one op reads, both in the same block."""
    roots, ends = PipelineRoots(), dict[Hashable, list[ClassifiedOp]]()
    for op in function.walk():
        if isinstance(op, ProduceOp | ConsumerReadOp) and (root := roots.of_op(op)) is not None:
            ends.setdefault(root.key, []).append(op)
    for ring, found in ends.items():
        kinds = [isinstance(op, ProduceOp) for op in found]
        if isinstance(ring, CreatePipelineOp) and sorted(kinds) == [False, True] and found[0].parent is found[1].parent:
            ring.attributes[IN_STEP] = UnitAttr()


class Drained:
    """Of a function with agents or without. Stale once the IR changes."""

    def __init__(self, function: Operation) -> None:
        ops = list(function.walk())
        roots = PipelineRoots()
        self._steps = [op for op in ops if isinstance(op, ProduceOp | ConsumerReadOp | ConsumerReleaseOp)]
        rings = {root.key for op in self._steps for root in roots.all_of_op(op)}
        rings |= {op for op in ops if isinstance(op, CreatePipelineOp)}
        self._are_in_step = bool(rings) and all(_is_in_step(ring) for ring in rings)

    def at(self, point: Operation) -> bool:
        """Whether all rings are empty for good where `point` is executed, and its agent knows."""
        return self._are_in_step and all(_is_over(step, point) for step in self._steps)


def _is_in_step(ring: Hashable) -> bool:
    return isinstance(ring, CreatePipelineOp) and IN_STEP in ring.attributes


def _is_over(step: Operation, point: Operation) -> bool:
    """Whether a step on a ring is over at `point`, each time that it is executed."""
    agent = agent_of(point)
    if agent_of(step) is not agent:
        return isinstance(step, ProduceOp)
    block = point.parent_block() if agent is None else agent.block
    assert block is not None
    first, then = (block.find_ancestor_op_in_block(op) for op in (step, point))
    return first is not None and then is not None and first is not then and first.is_before_in_block(then)
