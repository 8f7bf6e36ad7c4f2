"""
Which names are tiles in slots of rings, and which ops hand slots over.

    produce_one { ..; yield %d }       the yield: threads have stored the tile, and arrive
    %v, %t = consumer_read             %v lies in a slot, and so does what loops and branches hand on of it
    consumer_release %t                the release: threads have read the tile, and arrive

Barriers in memory order what agents do to slots. They do not order what threads did by one proxy before what an engine
does by the other one: each thread fences its own accesses before it arrives.

    acquire %p; acquire %q; fill %p; fill %q       of a turn of both rings, TMA fills neither before it has both slots:
    release %c; ..; release %d                     so the first slot is handed over with the second one

    produce_one %own, %k { ..; yield %d }          all threads of the agent arrive, and none goes on behind the wait
    consumer_wait %c, %k                           before all have: there they meet, as at a barrier
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.analysis.threads.filling import filled_with, is_by_tma, stores_into
from tileas_xdsl.analysis.threads.liveness import agent_of, seen_from
from tileas_xdsl.analysis.threads.products import is_in_tensor_memory
from tileas_xdsl.analysis.value_flow import Families, names_behind, values_in
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ProduceOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    PipelineYieldOp,
    ProducerAcquireOp,
)
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType


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
        self._filled: dict[ProduceOp, Slots] = {}
        self._meetings: dict[Operation, ProduceOp] = {}
        released: dict[Operation, tuple[Slots, ...]] = {}
        steps = _Steps()
        begun: dict[SSAValue, Slots] = {}
        for op in function.walk():
            found = tuple(map(Slots.of, roots.all_of_op(op))) if isinstance(op, STEPS) else ()
            steps.note(op, found)
            steps.by_products |= isinstance(op, AsyncDotOp) and is_in_tensor_memory(op)
            if isinstance(op, ConsumerReleaseOp):
                released[op] = found
            elif isinstance(op, ProduceOp) and found:
                self._filled[op] = found[0]
                stored = {copy.destination for copy in stores_into(op)}
                begun |= {tile: found[0] for tile in filled_with(op) if tile in stored}
            elif isinstance(op, ConsumerWaitOp) and found and (fill := self._filled_by_all(op, found[0])) is not None:
                self._meetings[op] = fill
            elif isinstance(op, ConsumerReadOp) and found:
                begun |= dict.fromkeys(op.value_results, found[0])
        self._tiles = _handed_on(function, begun)
        self._released: dict[Operation, list[Slots]] = {}
        for op, found in released.items():
            for slots in found:
                self._released.setdefault(steps.last_release(op, slots), []).append(slots)

    def filled_by(self, op: ProduceOp) -> Slots | None:
        """The slots that an op fills; None where no ring is known."""
        return self._filled.get(op)

    @property
    def meetings(self) -> Mapping[Operation, ProduceOp]:
        """By a wait: the op at which all threads of its agent have arrived before, when they had filled the slot."""
        return self._meetings

    def _filled_by_all(self, wait: ConsumerWaitOp, slots: Slots) -> ProduceOp | None:
        """The op in front of a wait, in its block, by which threads fill the slot that is waited for."""
        block, stage = wait.parent_block(), wait.stage
        fills = [op for op, filled in self._filled.items() if filled == slots and op.parent_block() is block]
        mine = [op for op in fills if stage is not None and op.stage is stage and stores_into(op)]
        return mine[-1] if mine else None

    def of_tile(self, tile: SSAValue) -> Sequence[Slots]:
        """The rings in whose slots a tile may lie."""
        return self._tiles.get(seen_from(tile), ())

    def handed_over_by(self, op: Operation) -> Sequence[Slots]:
        """The rings of which all threads of an agent hand a slot over at this op, when they have accessed it."""
        if isinstance(op, PipelineYieldOp) and isinstance(filler := op.parent_op(), ProduceOp):
            slots = self.filled_by(filler)
            return () if slots is None or is_by_tma(filler) else (slots,)
        return self._released.get(op, ())


STEPS = (ProducerAcquireOp, ProduceOp, ConsumerWaitOp, ConsumerReadOp, ConsumerReleaseOp)


class _Steps:
    """Which rings take their turns together, block by block."""

    def __init__(self) -> None:
        self._acquired: dict[Slots, dict[Block, Operation]] = {}
        self._filled: dict[Slots, dict[Block, Operation]] = {}
        self._released: dict[Slots, dict[Block, Operation]] = {}
        self._others: set[Slots] = set()
        """Rings of which a block takes several turns, or names the turn, or that threads fill."""
        self.by_products = False
        """Whether products give slots back, at whatever op."""

    def note(self, op: Operation, rings: Sequence[Slots]) -> None:
        """Note an op of these rings."""
        block, stage = op.parent_block(), op.stage if isinstance(op, ClassifiedOp) else None
        steps = self._steps_of(op)
        for slots in rings:
            is_counted = stage is None or isinstance(stage.type, PipelineIteratorType)
            is_plain = is_counted and not (isinstance(op, ProduceOp) and not is_by_tma(op))
            if not is_plain or (steps is not None and block in steps.setdefault(slots, {})):
                self._others.add(slots)
            if steps is not None and block is not None:
                steps.setdefault(slots, {})[block] = op

    def _steps_of(self, op: Operation) -> dict[Slots, dict[Block, Operation]] | None:
        match op:
            case ProducerAcquireOp():
                return self._acquired
            case ProduceOp():
                return self._filled
            case ConsumerReleaseOp():
                return self._released
            case _:
                return None

    def last_release(self, op: Operation, slots: Slots) -> Operation:
        """The op at which the slot that `op` releases is handed over."""
        block = op.parent_block()
        if block is None or slots in self._others or self.by_products:
            return op
        together = (other for other in self._released if self._waits_for(slots, other))
        releases = [self._released[other][block] for other in together if self._is_released_with(slots, other, block)]
        return max([op, *releases], key=block.get_operation_index)

    def _waits_for(self, slots: Slots, other: Slots) -> bool:
        """Whether no slot of the first is filled before the one of the same turn of the other has been acquired."""
        if other in self._others or other.depth != slots.depth or slots not in self._filled:
            return False
        filled, acquired = self._filled[slots], self._acquired.get(other, {})
        if not filled.keys() == acquired.keys() == self._filled.get(other, {}).keys():
            return False
        return all(acquired[block].is_before_in_block(fill) for block, fill in filled.items())

    def _is_released_with(self, slots: Slots, other: Slots, block: Block) -> bool:
        """Whether the agent around a block releases as many of both, block by block."""
        agent = agent_of_block(block)
        ours, theirs = (
            {each for each in self._released[ring] if agent_of_block(each) is agent} for ring in (slots, other)
        )
        return ours == theirs


def agent_of_block(block: Block) -> Region | None:
    """The agent that runs a block."""
    first = block.first_op
    return None if first is None else agent_of(first)


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
