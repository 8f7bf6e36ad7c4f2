"""
From a loop to a scheduling problem: its dependence graph with latencies, the footprints of its ops, its rings.

Every edge of the dependence graph gets a latency: until its agent is free of the source, or, where the sink waits for
what the source started, until that is complete. What a produce op starts is waited for by the consumer of its stage.

A ring whose turns are all in this loop, one in each iteration, is as deep as the schedule asks for; it becomes a `Ring`
of the problem, and the dependence from its release to its acquire goes. The depth of every other ring stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation

from tileas_xdsl.analysis.dependence import DependenceEdge, DependenceGraph, DependenceKind, dependence_graph
from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.pipeline_dependence import Sides, pipeline_edges, sides_by_root
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp, ConsumeOp, ProduceOp, RegionOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreatePipelineOp,
    ProducerAcquireOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.problem import NO_LIMIT, Constraints, ModuloProblem, RingDemand, RingUse, TimedOp
from tileas_xdsl.scheduling.op_times import OpTime, memory_space, op_time, tile_bytes
from tileas_xdsl.targets.machine_model import MachineModel, SlotUse
from tileas_xdsl.targets.machine_models import AGENT

CONSTRAINT = "tileas.schedule.constraint."

LOOP_CONTROL = "the loop's own arithmetic"
"""The op that stands for what an expanded loop computes of its induction variable."""


@dataclass(frozen=True)
class LoopProblem:
    """A loop, and the problem whose op number `k` is its op number `k`; what the problem has beyond them is no op."""

    loop: scf.ForOp
    ops: tuple[Operation, ...]
    problem: ModuloProblem
    rings: tuple[CreatePipelineOp, ...] = ()
    """For each ring of the problem the op that makes it."""
    times: Mapping[Operation, OpTime] = field(default_factory=dict[Operation, OpTime])
    works: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """For ops whose asynchronous work is an op of the problem by itself, its number."""


class PipelineTurns:
    """
    Which ops of a function work on which pipelines, and in which blocks: one walk, made when it is first asked for, for
    all loops of the function. Stale once the IR changes.
    """

    def __init__(self) -> None:
        self.roots = PipelineRoots()
        self._blocks: dict[Operation, dict[PipelineRoot, dict[Block | None, None]]] = {}
        self._fills: dict[PipelineRoot, list[ProduceOp]] = {}

    def fills(self, root: PipelineRoot) -> Sequence[ProduceOp]:
        """The ops that fill the pipeline of `root`, where a `create_pipeline` makes it."""
        scope = root.op.parent_op()
        if scope is None or not self.blocks(root, scope):
            return ()
        return self._fills.get(root, ())

    def blocks(self, root: PipelineRoot, scope: Operation) -> Collection[Block | None]:
        """The blocks inside `scope` in which ops work on the pipeline of `root`."""
        if scope not in self._blocks:
            found = self._blocks[scope] = dict[PipelineRoot, dict[Block | None, None]]()
            for op in scope.walk():
                for worked_on in _roots_of(op, self.roots) if isinstance(op, ClassifiedOp) else ():
                    found.setdefault(worked_on, {})[op.parent_block()] = None
                    fills = self._fills.setdefault(worked_on, [])
                    if isinstance(op, ProduceOp) and op not in fills:
                        fills.append(op)
        return self._blocks[scope].get(root, {})


def loop_problem(
    loop: scf.ForOp,
    model: MachineModel,
    *,
    most_stages: int = NO_LIMIT,
    pending: Sequence[Operation] = (),
    turns: PipelineTurns | None = None,
) -> LoopProblem:
    """
    The problem of scheduling the body of `loop` on `model`, in at most `most_stages` stages. `turns` is shared by the
    loops of one function.
    """
    values = LoopValues(loop)
    turns = turns or PipelineTurns()
    roots = turns.roots
    free = _free_rings(loop, values, turns)
    graph = _without_reuse(dependence_graph(loop, providers=[pipeline_edges]), free, roots)
    times = {op: op_time(op, model) for op in values.ops}
    position = values.position
    works = _Works(values, times, queued=model.timing is not None)
    ops = [
        TimedOp(_label(op, number), works.uses(op), works.time_of_op(op), constraints_of(op, op in pending))
        for number, op in enumerate(values.ops)
    ]
    edges = [timed for edge in graph.edges for timed in works.edges(edge)]
    edges += [*_transfers(values, roots, works), *_refills(values, turns, times, model)]
    rings = tuple(_ring(root, sides, position, times) for root, sides in free.items())
    control = _loop_control(loop, model, most_stages)
    problem = ModuloProblem(
        (*ops, *works.ops(ops), *control),
        (*edges, *works.issues()),
        rings,
        model.capacities,
        {"shared": model.shared_bytes, "tensor": model.tensor_bytes},
        most_stages,
        model.ceilings[0] if model.ceilings else NO_LIMIT,
        {slot.name: slot.number for slot in model.slots} if model.timing is None else {},
        tuple(works.number.values()),
    )
    makers = tuple(root.op for root in free if isinstance(root.op, CreatePipelineOp))
    return LoopProblem(loop, values.ops, problem, makers, times, works.number)


def _label(op: Operation, number: int) -> str:
    """A name for reports: the SSA name of a result, or the op's own, and its place."""
    hint = next((result.name_hint for result in op.results if result.name_hint), None)
    short = op_name(op).rsplit(".", 1)[-1]
    return f"{short} %{hint}" if hint else f"{short} #{number}"


def _loop_control(loop: scf.ForOp, model: MachineModel, most_stages: int) -> list[TimedOp]:
    """Where stages work on different iterations, each needs its own induction variable: an addition or two."""
    if model.timing is None or most_stages == 1:
        return []
    users = sum(1 for _ in loop.body.block.args[0].uses)
    each = 1 if constant_integer(loop.step) is not None else 2
    cycles = each * min(users, most_stages) * model.timing.instruction
    return [TimedOp(LOOP_CONTROL, (SlotUse(AGENT, cycles),), cycles)] if cycles else []


def constraints_of(op: Operation, is_pending: bool = False) -> Constraints:
    """The constraint attributes of `op`; an inherent attribute wins over a discardable one."""

    def number(name: str) -> int:
        entry: Attribute | None = op.properties.get(CONSTRAINT + name) or op.attributes.get(CONSTRAINT + name)
        value = entry.value.data if isinstance(entry, IntegerAttr) else 0
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)

    return Constraints(number("gid"), number("leader_gid"), number("max_depth"), is_pending)


def is_forced_serial(op: Operation) -> bool:
    """Whether the unit attribute is there that asks for a serial schedule."""
    name = CONSTRAINT + "force_serial_execution"
    return isinstance(op.attributes.get(name) or op.properties.get(name), UnitAttr)


# Edges ----------------------------------------------------------------------------------------------------------------


class _Works:
    """
    The asynchronous works of a body. On a machine with queues each is an op of its own, behind that which issues it:
    its engine may begin later. On one without, the op that issues it occupies the engine.
    """

    def __init__(self, values: LoopValues, times: Mapping[Operation, OpTime], *, queued: bool) -> None:
        self.values = values
        self.times = times
        issuing = [op for op in values.ops if times[op].completion is not None] if queued else []
        self.number = {op: len(values.ops) + index for index, op in enumerate(issuing)}
        """Op -> the number of the op that stands for the work which it issues."""

    def uses(self, op: Operation) -> tuple[SlotUse, ...]:
        """What the op itself occupies."""
        uses = self.times[op].uses
        return tuple(use for use in uses if use.slot == AGENT) if op in self.number else uses

    def time_of_op(self, op: Operation) -> int:
        return self.times[op].agent if op in self.number else self.times[op].latency

    def ops(self, issuers: Sequence[TimedOp]) -> list[TimedOp]:
        """The ops that stand for works."""
        return [
            TimedOp(
                f"work of {issuers[self.values.position[op]].name}",
                tuple(use for use in self.times[op].uses if use.slot != AGENT),
                self._duration(op),
            )
            for op in self.number
        ]

    def _duration(self, op: Operation) -> int:
        """Cycles of the work alone, from its start to its completion."""
        return self.times[op].latency - self.times[op].agent

    def issues(self) -> list[TimedEdge]:
        """A work begins when it has been issued."""
        return [
            TimedEdge(self.values.position[op], number, self.times[op].agent, 0, "its issue")
            for op, number in self.number.items()
        ]

    def edges(self, edge: DependenceEdge) -> Iterator[TimedEdge]:
        """`edge` with a latency: until the agent is free again, or until what the source started is complete."""
        source, sink = edge.source, edge.sink
        if isinstance(sink, AsyncWaitOp | FutureWaitOp):
            yield self.completed(source, sink, edge.distance, edge.carrier)
            return
        adds_again = edge.kind in (DependenceKind.FLOW, DependenceKind.OUTPUT)
        if adds_again and isinstance(source, AsyncDotOp) and isinstance(sink, AsyncDotOp):
            # Products on one tile are issued in order, and each begins when the one before is complete.
            begins = self.number.get(sink, self.values.position[sink])
            yield self._after_work(source, begins, edge.distance, edge.carrier)
        pair = self.values.position[source], self.values.position[sink]
        yield TimedEdge(*pair, self.times[source].agent, edge.distance, edge.carrier)

    def completed(self, source: Operation, sink: Operation, distance: int, reason: str) -> TimedEdge:
        """The edge from what `source` started, or did, to `sink`, which waits for it."""
        return self._after_work(source, self.values.position[sink], distance, reason)

    def _after_work(self, source: Operation, sink: int, distance: int, reason: str) -> TimedEdge:
        if source in self.number:
            return TimedEdge(self.number[source], sink, self._duration(source), distance, reason)
        return TimedEdge(self.values.position[source], sink, self.times[source].latency, distance, reason)


def _transfers(values: LoopValues, roots: PipelineRoots, works: _Works) -> list[TimedEdge]:
    """From each op that starts to fill a stage to the op that waits for it: the first with the first, and so on."""
    fills: dict[PipelineRoot, list[Operation]] = {}
    waits: dict[PipelineRoot, list[Operation]] = {}
    tokens: list[TimedEdge] = []
    for op in values.ops:
        if (
            isinstance(op, ProduceOp)
            and works.times[op].completion is not None
            and (root := roots.of_op(op)) is not None
        ):
            fills.setdefault(root, []).append(op)
        elif isinstance(op, ConsumerWaitOp | ConsumeOp) and (root := roots.of_op(op)) is not None:
            waits.setdefault(root, []).append(op)
        elif isinstance(op, AsyncWaitOp):
            tokens += _awaited_transfers(op, values, works)
    pairs = [pair for root, made in fills.items() for pair in zip(made, waits.get(root, ()), strict=False)]
    position = values.position
    return tokens + [
        works.completed(fill, wait, 0, "the stage that is filled")
        for fill, wait in pairs
        if position[fill] < position[wait]
    ]


def _refills(
    values: LoopValues, turns: PipelineTurns, times: Mapping[Operation, OpTime], model: MachineModel
) -> Iterator[TimedEdge]:
    """
    From each op that gives a slot back to those that wait for what another agent fills from then on: the same ring, one
    turn of its slots later, and the rings that the agent fills behind it.
    """
    lone = [
        (sides, fill, root.depth)
        for root, sides in sides_by_root(values).items()
        if root.depth is not None and (fill := _fill_elsewhere(root, sides, turns)) is not None
    ]
    for sides, fill, depth in lone:
        for release in sides.releases:
            for others, other, _ in lone:
                if other.parent_block() is not fill.parent_block():
                    continue
                pair = values.position[release], values.position[others.waits[0]]
                filled = times[release].agent + op_time(other, model).latency
                is_behind = other is fill or fill.is_before_in_block(other)
                yield TimedEdge(*pair, filled, depth + (not is_behind), "a slot is filled again")


def _fill_elsewhere(root: PipelineRoot, sides: Sides, turns: PipelineTurns) -> ProduceOp | None:
    """The op of another agent that fills `root`, where there is one, and the body takes one stage in each iteration."""
    is_lone = len(sides.waits) == 1 and not sides.acquires and not sides.commits
    fills = turns.fills(root) if is_lone else ()
    return fills[0] if len(fills) == 1 else None


def _awaited_transfers(wait: AsyncWaitOp, values: LoopValues, works: _Works) -> list[TimedEdge]:
    """From the transfers of the same iteration that a wait for committed stages completes."""
    edges: list[TimedEdge] = []
    stack = [wait.token]
    while stack:
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or owner not in values.position:
            continue
        if isinstance(owner, ProduceOp):
            if works.times[owner].completion is not None:
                edges.append(works.completed(owner, wait, 0, "the transfer"))
        elif isinstance(owner, ClassifiedOp) and owner.side == "producer":
            stack.extend(owner.tokens)
        elif isinstance(owner, TokenToAsyncOp | ToAsyncOp):
            stack.append(owner.operands[0])
    return edges


# Rings ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turns:
    """The ops of one iteration that begin and end the use of a slot, and what it holds."""

    acquire: Operation
    release: Operation
    payload: tuple[Attribute, ...]


def _free_rings(loop: scf.ForOp, values: LoopValues, turns: PipelineTurns) -> dict[PipelineRoot, _Turns]:
    """The rings whose depth is the schedule's to choose."""
    roots = turns.roots
    begins: dict[PipelineRoot, list[Operation]] = {}
    ends: dict[PipelineRoot, list[Operation]] = {}
    payloads: dict[PipelineRoot, tuple[Attribute, ...]] = {}
    for op in values.ops:
        if not isinstance(op, ClassifiedOp):
            continue
        for root in _roots_of(op, roots):
            if isinstance(op, ProducerAcquireOp):
                begins.setdefault(root, []).append(op)
            elif isinstance(op, ConsumerReleaseOp):
                ends.setdefault(root, []).append(op)
            if (held := payload_of(op)) and root not in payloads:
                payloads[root] = held
    found: dict[PipelineRoot, _Turns] = {}
    for root, acquires in begins.items():
        releases = ends.get(root, [])
        if len(acquires) == len(releases) == 1 and _is_ours(root, loop, turns):
            found[root] = _Turns(acquires[0], releases[0], payloads.get(root, ()))
    return found


def payload_of(op: Operation) -> tuple[Attribute, ...]:
    """The types of what lies in the slot that `op` works on, where it says so."""
    if isinstance(op, RegionOp) and op.payload:
        return op.payload
    return tuple(value.type for value in op.value_results) if isinstance(op, ConsumerReadOp) else ()


def _roots_of(op: ClassifiedOp, roots: PipelineRoots) -> list[PipelineRoot]:
    if isinstance(op, ConsumerReleaseOp):
        return [root for token in op.tokens if (root := roots.of(token)) is not None]
    root = roots.of_op(op)
    return [] if root is None else [root]


def _is_ours(root: PipelineRoot, loop: scf.ForOp, turns: PipelineTurns) -> bool:
    """Whether the ring has no buffer that the program gave it, and all its turns are in `loop`."""
    if not isinstance(root.op, CreatePipelineOp) or root.has_buffers:
        return False
    scope = root.op.parent_op()
    if scope is None or loop.is_ancestor(root.op):
        return False
    return all(block is loop.body.block for block in turns.blocks(root, scope))


def _without_reuse(
    graph: DependenceGraph, free: Mapping[PipelineRoot, _Turns], roots: PipelineRoots
) -> DependenceGraph:
    turns = {(sides.release, sides.acquire) for sides in free.values()}
    return graph.keeping(
        lambda edge: (
            edge.kind is not DependenceKind.ANTI
            or edge.distance == 0
            or (edge.source, edge.sink) not in turns
            or _shares_another(edge, free, roots)
        )
    )


def _shares_another(edge: DependenceEdge, free: Mapping[PipelineRoot, _Turns], roots: PipelineRoots) -> bool:
    """Whether the release stands for stages of more than one ring: then another one's depth may be fixed."""
    assert isinstance(edge.source, ConsumerReleaseOp)
    return any(root not in free for root in _roots_of(edge.source, roots))


def _ring(
    root: PipelineRoot, sides: _Turns, position: Mapping[Operation, int], times: Mapping[Operation, OpTime]
) -> RingDemand:
    spaces = [memory_space(type_) for type_ in sides.payload]
    size = sum(tile_bytes(type_) for type_ in sides.payload)
    name = root.op.results[0].name_hint or "an unnamed ring"
    use = RingUse(position[sides.release], times[sides.release].agent)
    return RingDemand(name, spaces[0] if spaces else "register", size, position[sides.acquire], (use,))
