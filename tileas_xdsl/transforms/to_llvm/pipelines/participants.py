"""Who fills and who empties the rings of a function, and how often their barriers are arrived at."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Region, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.stage_turns import take_turns
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp
from tileas_xdsl.transforms.to_llvm.pipelines.filling import returned_rings
from tileas_xdsl.transforms.to_llvm.warps import Warps, switch_in, warps_of_agents


@dataclass(frozen=True)
class Arrivals:
    """How often each barrier of a ring is arrived at in a turn."""

    full: int
    empty: int


class Participants:
    """
    Who fills and who empties the rings of a function: each of their threads arrives once a turn. Of those that fill by
    TMA only one does; the bytes count besides. Of those whose products give slots back one does, too. Agents that take
    turns each empty slots of their own.
    """

    def __init__(self, function: func.FuncOp, roots: PipelineRoots, block: Warps) -> None:
        returned = returned_rings(function, roots)
        self._producers: dict[Hashable, dict[int, int]] = {}
        self._consumers: dict[Hashable, dict[int, int]] = {}
        switch = switch_in(function)
        regions = {} if switch is None else dict(zip(switch.bodies, warps_of_agents(switch), strict=True))
        for op in function.body.walk():
            if not isinstance(op, ProduceOp | ConsumerReleaseOp):
                continue
            warps = block
            region = op.parent_region()
            while region is not None and region not in regions:
                region = region.parent_region()
            if region is not None:
                warps = regions[region]
            sides = self._consumers if isinstance(op, ConsumerReleaseOp) else self._producers
            for root in roots.all_of_op(op):
                is_by_one = is_by_tma(op) if isinstance(op, ProduceOp) else root.key in returned
                sides.setdefault(root.key, {})[warps.number] = 1 if is_by_one else warps.threads
        self._in_turn = _in_turn(function, roots, regions)

    def arrivals(self, ring: Hashable) -> Arrivals:
        """Of the two barriers of a slot."""
        full, empty = (list(sides.get(ring, {}).values()) for sides in (self._producers, self._consumers))
        return Arrivals(max(1, sum(full)), max(1, *empty) if ring in self._in_turn else max(1, sum(empty)))


def _in_turn(function: func.FuncOp, roots: PipelineRoots, agents: Collection[Region]) -> set[Hashable]:
    """The rings of which each slot is emptied by one agent, since they take turns."""
    stages: dict[Hashable, dict[Hashable, list[SSAValue | None]]] = {}
    for op in function.body.walk():
        root = roots.of_op(op) if isinstance(op, ConsumerReadOp) else None
        if isinstance(op, ConsumerReadOp) and root is not None:
            region = op.parent_region()
            while region is not None and region not in agents:
                region = region.parent_region()
            stages.setdefault(root.key, {}).setdefault(region, []).append(op.stage)
    return {ring for ring, own in stages.items() if take_turns(own)}
