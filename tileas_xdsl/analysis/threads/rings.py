"""
Which names are tiles in slots of rings, and which ops hand slots over.

    produce_one { ..; yield %d }       the yield: threads have stored the tile, and arrive
    %v, %t = consumer_read             %v lies in a slot, and so does what loops and branches hand on of it
    consumer_release %t                the release: threads have read the tile, and arrive

Barriers in memory order what agents do to slots. They do not order what threads did by one proxy before what an engine
does by the other one: each thread fences its own accesses before it arrives.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.threads.filling import filled_with, is_by_tma, stores_into
from tileas_xdsl.analysis.threads.liveness import names_behind, seen_from
from tileas_xdsl.analysis.value_flow import Families, values_in
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReadOp, ConsumerReleaseOp, PipelineYieldOp


@dataclass(frozen=True)
class Slots:
    """The slots of a ring."""

    ring: Hashable
    """The key of its root."""
    depth: int
    """How many there are."""

    @staticmethod
    def of(root: PipelineRoot) -> Slots:
        """The slots of the ring with this root."""
        return Slots(root.key, root.depth or 1)


class Rings:
    """The slots of the rings of a function. Stale once the IR changes."""

    def __init__(self, function: Operation) -> None:
        roots = PipelineRoots()
        self._filled: dict[Operation, Slots] = {}
        self._released: dict[Operation, tuple[Slots, ...]] = {}
        begun: dict[SSAValue, Slots] = {}
        for op in function.walk():
            found = tuple(map(Slots.of, roots.all_of_op(op))) if isinstance(op, STEPS) else ()
            if isinstance(op, ConsumerReleaseOp):
                self._released[op] = found
            elif isinstance(op, ProduceOp) and found:
                self._filled[op] = found[0]
                stored = {copy.destination for copy in stores_into(op)}
                begun |= {tile: found[0] for tile in filled_with(op) if tile in stored}
            elif isinstance(op, ConsumerReadOp) and found:
                begun |= dict.fromkeys(op.value_results, found[0])
        self._tiles = _handed_on(function, begun)

    def filled_by(self, op: ProduceOp) -> Slots | None:
        """The slots that an op fills; None where no ring is known."""
        return self._filled.get(op)

    def of_tile(self, tile: SSAValue) -> Sequence[Slots]:
        """The rings in whose slots a tile may lie."""
        return self._tiles.get(seen_from(tile), ())

    def handed_over_by(self, op: Operation) -> Sequence[Slots]:
        """The rings of which all threads of an agent hand a slot over at this op, when they have accessed it."""
        if isinstance(op, PipelineYieldOp) and isinstance(filler := op.parent_op(), ProduceOp):
            slots = self.filled_by(filler)
            return () if slots is None or is_by_tma(filler) else (slots,)
        return self._released.get(op, ())


STEPS = (ProduceOp, ConsumerReadOp, ConsumerReleaseOp)


def _handed_on(function: Operation, begun: dict[SSAValue, Slots]) -> dict[SSAValue, tuple[Slots, ...]]:
    """The rings of each name that control flow connects with one of `begun`."""
    if not begun:
        return {}
    names, families = list(values_in(function)), Families()
    for name in names:
        for use in name.uses:
            for behind in names_behind(use) or ():
                families.unite(name, behind)
    rings: dict[SSAValue, dict[Slots, None]] = {}
    for tile, slots in begun.items():
        rings.setdefault(families.of(tile), {})[slots] = None
    return {name: tuple(rings[root]) for name in names if (root := families.of(name)) in rings}
