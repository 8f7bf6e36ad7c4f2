"""
The plan of one function: which loops are rewritten, which are flagged, and what happens to each op. Touches nothing.

In the body of a loop there are three kinds of sites (`sites.py`): load chains, which become stages of pipelines of
their own, filled and emptied in the same iteration; `produce_one`; `consume_one`. Everything that is staged goes to the
place of the first load, in one order: all produce ops, one commit, one wait, all consume ops. A wait any earlier would
await each copy before the next one is issued. Produce and consume ops stay where they are; their commits and releases
are gathered where nobody can be kept waiting by it (`lockstep.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.memory.written import FunctionMemory, LoopMemory, MemoryRoots
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots
from tileas_xdsl.dialects.nv_tileaa.queue import GetOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ConsumeOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerWaitOp,
    ProduceOneAsyncOp,
    ProduceOneOp,
)
from tileas_xdsl.dialects.nv_tileas.verification import is_tile
from tileas_xdsl.dialects.tiles.traits import is_view
from tileas_xdsl.transforms.tileas.materialize_async.classify import (
    fits_in_slot,
    is_load,
    load_kind,
    payload_of,
    producer_kind,
    reaches_tile_compute,
)
from tileas_xdsl.transforms.tileas.materialize_async.lockstep import Group, Lockstep, gather
from tileas_xdsl.transforms.tileas.materialize_async.sites import (
    Consumed,
    Produced,
    Staged,
    consumed_site,
    loads_yielded,
    produced_site,
)
from tileas_xdsl.transforms.tileas.materialize_async.uses import uses_in

TOKEN_ITER_IDX, NOT_PIPELINABLE = "token_iter_idx", "nv_tileas.not_pipelinable"


# What a plan consists of ----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class CommitPlan:
    """One commit: behind the last of its producers."""

    sites: Sequence[Produced]
    wait_before: Operation | None
    """The first consumer of one of the stages; None where the loop has none, and the tail waits."""
    wait_stage: int
    at_once: bool
    """Whether the wait stands right behind the commit instead."""


@dataclass(eq=False)
class LoopPlan:
    """The plan for one loop."""

    loop: scf.ForOp
    staged: list[Staged] = field(default_factory=list[Staged])
    staged_at: int = 0
    """The stage of the produce ops of what is staged; the consume ops are in the next one."""
    lifted: list[Operation] = field(default_factory=list[Operation])
    """Pure ops that go in front of the first load, since later loads need them there."""
    produced: list[Produced] = field(default_factory=list[Produced])
    consumed: list[Consumed] = field(default_factory=list[Consumed])
    commits: list[CommitPlan] = field(default_factory=list[CommitPlan])
    releases: list[Group[Staged | Consumed]] = field(default_factory=list[Group[Staged | Consumed]])
    synchronous: list[tuple[Operation, Operation]] = field(default_factory=list[tuple[Operation, Operation]])
    """Loads with a chain that stay where they are, each with the op that may write what it reads."""

    @property
    def has_chain(self) -> bool:
        return bool(self.staged or self.produced or self.consumed)


@dataclass
class FunctionPlan:
    """The plan for one function: its loops, the flags, and the loads that stay as they are."""

    function: Operation
    loops: list[LoopPlan] = field(default_factory=list[LoopPlan])
    """Outer loops before inner ones."""
    not_pipelinable: list[Operation] = field(default_factory=list[Operation])
    """Loops to be flagged, those that are flagged already included."""
    synchronous: list[tuple[Operation, Operation]] = field(default_factory=list[tuple[Operation, Operation]])
    """Loads with a chain that stay as they are, each with the op that may write what it reads."""

    @property
    def kinds(self) -> dict[Operation, str | None]:
        """The family of each produce op that is rewritten, as it will be."""
        return {site.op: site.kind for plan in self.loops for site in plan.produced}


# Functions ------------------------------------------------------------------------------------------------------------


def plan_function(function: Operation, *, agents: bool = True) -> FunctionPlan:
    """
    Plan every loop of `function`; without `agents`, what the loops of agents load stays synchronous. For each level of
    nesting linear in the size of the function.
    """
    plan = FunctionPlan(function)
    loops = [op for op in function.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]
    if not loops:
        return plan
    planner = _LoopPlanner(function, agents)
    with_chain: set[Operation] = set()
    for loop in loops:
        if NOT_PIPELINABLE in loop.attributes:
            continue
        if _is_asynchronous(loop):
            with_chain.add(loop)
        elif isinstance(loop, scf.ForOp):
            planned = planner.plan(loop)
            plan.synchronous.extend(planned.synchronous)
            if planned.has_chain:
                plan.loops.append(planned)
                with_chain.add(loop)
    excused = {outer for loop in loops if loop in with_chain for outer in _loops_around(loop)}
    plan.not_pipelinable = [loop for loop in loops if loop not in with_chain and loop not in excused]
    return plan


def _is_asynchronous(loop: Operation) -> bool:
    """Whether the loop carries a token already, or has stages in flight that somebody else put there."""
    return TOKEN_ITER_IDX in loop.attributes or any(
        isinstance(op, ProduceOneAsyncOp | ConsumeOneAsyncOp) for region in loop.regions for op in region.block.ops
    )


def _loops_around(op: Operation) -> Iterator[Operation]:
    node = op.parent_op()
    while node is not None:
        if isinstance(node, scf.ForOp | scf.WhileOp):
            yield node
        node = node.parent_op()


def _is_loop_of_agent(loop: Operation) -> bool:
    """
    Whether a loop stands in an agent, or in loops of one. Of no other loop a schedule says how the agents of a program
    go through its stages.
    """
    parent = loop.parent_op()
    while isinstance(parent, scf.ForOp):
        parent = parent.parent_op()
    return isinstance(parent, AgentSwitchOp)


# One loop -------------------------------------------------------------------------------------------------------------


class _LoopPlanner:
    """Plans the loops of one function."""

    def __init__(self, function: Operation, agents: bool) -> None:
        self.agents = agents
        self.roots = PipelineRoots()
        self.lockstep = Lockstep(function, self.roots)
        self.memory = FunctionMemory(function)
        self.has_agents = any(isinstance(op, AgentSwitchOp) for op in function.walk())

    def plan(self, loop: scf.ForOp) -> LoopPlan:
        body = loop.body.block
        ops = [op for op in body.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
        position = {op: number for number, op in enumerate(ops)}
        plan, memory = LoopPlan(loop), LoopMemory(loop, self.memory)
        for op in ops:
            if isinstance(op, ProduceOneOp) and (site := produced_site(op, self.roots)) is not None:
                plan.produced.append(site)
            elif isinstance(op, ConsumeOneOp) and (taken := consumed_site(op, self.roots, position)) is not None:
                plan.consumed.append(taken)
        for site in plan.produced:
            site.loads = [load for load in loads_yielded(site.op) if _may_be_late(load, memory)]
            site.kind = producer_kind(site.op, site.loads)
            site.reads_borrowed_bytes = _reads_borrowed_bytes(site, memory)
        if not self.has_agents or (self.agents and _is_loop_of_agent(loop)):
            _plan_staged(plan, ops, position, memory)
        _number_stages(plan, ops)
        plan.commits = self._plan_commits(plan, ops, position)
        plan.releases = self._plan_releases(plan, ops, position)
        return plan

    def _plan_commits(
        self, plan: LoopPlan, ops: Sequence[Operation], position: Mapping[Operation, int]
    ) -> list[CommitPlan]:
        sites, taken = _by_op(plan.produced), _by_op(plan.consumed)

        def passes(site: Produced, op: Operation) -> bool:
            other = sites.get(op)
            if other is None or other.reads_borrowed_bytes:
                return False
            return not site.reads_borrowed_bytes and self.lockstep.advance_together(site.root, other.root)

        ready = {op: (site,) for op, site in sites.items()}
        groups = {group.last: group.sites for group in gather(ops, ready, passes)}
        commits: list[CommitPlan] = []
        consumers: dict[PipelineRoot, Operation] = {}
        for op in reversed(ops):
            if op in groups:
                commits.append(_commit_plan(groups[op], consumers, taken, position))
            for inner in op.walk():
                if isinstance(inner, ConsumeOp | ConsumerWaitOp) and (root := self.roots.of_op(inner)) is not None:
                    consumers[root] = op
        return commits[::-1]

    def _plan_releases(
        self, plan: LoopPlan, ops: Sequence[Operation], position: Mapping[Operation, int]
    ) -> list[Group[Staged | Consumed]]:
        takers = _by_op(plan.consumed)
        replaced: set[Operation] = {release for site in plan.consumed for release in site.releases}

        def passes(site: Staged | Consumed, op: Operation) -> bool:
            if op in replaced or isinstance(site, Staged):
                return True
            return op in takers and self.lockstep.advance_together(site.root, takers[op].root)

        ready: dict[Operation, list[Staged | Consumed]] = {}
        if plan.staged:
            ready[max((site.last for site in plan.staged), key=position.__getitem__)] = [*plan.staged]
        for site in plan.consumed:
            ready.setdefault(site.last, []).append(site)
        groups = gather(ops, ready, passes)
        for group in groups:
            group.sites.sort(key=lambda site: position[site.op])
        return groups


def _commit_plan(
    sites: Sequence[Produced],
    consumers: Mapping[PipelineRoot, Operation],
    taken: Mapping[Operation, Consumed],
    position: Mapping[Operation, int],
) -> CommitPlan:
    """`consumers` are the first ones behind the producers, by pipeline; `taken` are those that are rewritten."""
    stage = max(site.stage for site in sites)
    if any(site.reads_borrowed_bytes for site in sites):
        return CommitPlan(sites, None, stage, at_once=True)
    waiting = [consumers[site.root] for site in sites if site.root is not None and site.root in consumers]
    if not waiting:
        return CommitPlan(sites, None, stage, at_once=False)
    first = min(waiting, key=position.__getitem__)
    return CommitPlan(sites, first, taken[first].stage if first in taken else stage + 1, at_once=False)


# Producers that are there ---------------------------------------------------------------------------------------------


def _may_be_late(load: Operation, memory: LoopMemory) -> bool:
    """Whether nothing tells if `load` reads later: nobody in the function writes what it reads."""
    return not memory.writes_of(load) and not memory.written_in_function.may_hold_any(memory.reads_of(load))


def _reads_borrowed_bytes(site: Produced, memory: LoopMemory) -> bool:
    """Whether the region of a produce op copies from a view of something outside of it, or from memory that changes."""
    given = {result for load in site.loads for result in load.results}
    captured = [value for value in captured_values(site.op.regions) if value not in given]
    if any(is_tile(value.type) and is_view(value) for value in captured):
        return True
    return memory.written_in_function.may_hold_any(memory.reads_of(site.op))


# Load chains ----------------------------------------------------------------------------------------------------------


def _plan_staged(
    plan: LoopPlan, ops: Sequence[Operation], position: Mapping[Operation, int], memory: LoopMemory
) -> None:
    """Decide which loads are staged, and which pure ops have to go in front of them."""
    body = plan.loop.body.block
    moved = {load for site in plan.produced for load in site.loads}
    written = memory.written_by(op for op in ops if not _only_takes_its_turn(op, memory))
    last = {op: _last_use_of_chain(op, body, position) for op in ops if is_load(op) and op not in moved}
    loads: list[Operation] = []
    for op, use in last.items():
        if use is None:
            continue
        if (writer := _writer_of(op, memory, written)) is None:
            loads.append(op)
        else:
            plan.synchronous.append((op, writer))
    while loads:
        kept = _alone_on_their_queues(loads, ops, memory)
        kept, plan.lifted = _movable_to_first(kept, position)
        if len(kept) == len(loads):
            break
        loads = kept
    plan.staged = [Staged(op, load_kind(op), use) for op in loads if (use := last[op]) is not None]


def _last_use_of_chain(op: Operation, body: Block, position: Mapping[Operation, int]) -> Operation | None:
    """The last op that needs the tiles of a load or get; None where it is no load chain, or its tiles escape."""
    tiles = payload_of(op)
    tokens = [result for result in op.results if result not in tiles]
    if any(token.first_use is not None for token in tokens) or not fits_in_slot(tile.type for tile in tiles):
        return None
    if not any(is_tile(tile.type) for tile in tiles) or not reaches_tile_compute(tiles):
        return None
    users = uses_in(body, tiles)
    return max(users, key=position.__getitem__) if users else None


def _writer_of(op: Operation, memory: LoopMemory, written: MemoryRoots) -> Operation | None:
    """The op that may write what a load or get reads; None where it may run at another place of the iteration."""
    if memory.writes_of(op) and not _only_takes_its_turn(op, memory):
        return op
    return written.accessor_of(memory.reads_of(op))


def _only_takes_its_turn(op: Operation, memory: LoopMemory) -> bool:
    """Whether `op` is a get that writes nothing but the state of its queue."""
    return isinstance(op, GetOp) and all(
        item.key is op.queue for access in memory.writes_of(op) for item in access.place.objects
    )


def _alone_on_their_queues(loads: Sequence[Operation], ops: Sequence[Operation], memory: LoopMemory) -> list[Operation]:
    """
    Those of the loads and gets that may be staged: a get is left out if an op that stays behind takes a turn on its
    queue.
    """
    chosen = set(loads)
    touched = memory.written_by(op for op in ops if op not in chosen)
    return [op for op in loads if not isinstance(op, GetOp) or not touched.may_hold_any(memory.accesses_of(op))]


def _movable_to_first(
    loads: Sequence[Operation], position: Mapping[Operation, int]
) -> tuple[list[Operation], list[Operation]]:
    """The loads whose operands can be had at the place of the first one, and the pure ops that go there for them."""
    if not loads:
        return [], []
    place = position[loads[0]]
    available: dict[Operation, bool] = {}
    kept = [op for op in loads if all(_available(value, place, position, available) for value in _taken_by(op))]
    needed: dict[Operation, None] = {}
    worklist = [value for op in kept for value in _taken_by(op)]
    while worklist:
        owner = worklist.pop().owner
        if isinstance(owner, Operation) and position.get(owner, -1) > place and owner not in needed:
            needed[owner] = None
            worklist.extend(owner.operands)
    return kept, sorted(needed, key=position.__getitem__)


def _available(value: SSAValue, place: int, position: Mapping[Operation, int], known: dict[Operation, bool]) -> bool:
    """Whether `value` is there at `place`, or can be computed there by pure ops; `known` keeps what was found out."""
    stack = [value]
    chain: list[Operation] = []
    while stack:
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or position.get(owner, -1) < place or known.get(owner, False):
            continue
        if known.get(owner) is False or owner.regions or not owner.has_trait(Pure, value_if_unregistered=False):
            known.update(dict.fromkeys(chain, False))
            return False
        known[owner] = True
        chain.append(owner)
        stack.extend(owner.operands)
    return True


def _taken_by(op: Operation) -> list[SSAValue]:
    """The values that `op` takes from around it, its regions included."""
    return [*op.operands, *captured_values(op.regions)]


# Stages ---------------------------------------------------------------------------------------------------------------


def _number_stages(plan: LoopPlan, ops: Sequence[Operation]) -> None:
    """
    Producers are in the stage of what they take, 0 for what comes from outside; consumers in a later one than their
    producer, and at least in 1. So a producer that puts what a consumer has read is in that consumer's stage.
    """
    body = plan.loop.body.block
    stages: dict[Operation, int] = {}
    produced, consumed = _by_op(plan.produced), _by_op(plan.consumed)
    filled: dict[PipelineRoot, int] = {}
    for group in _in_new_order(plan, ops):
        stage = max((stages[d] for op in group for d in _definitions(op, body) if d in stages), default=0)
        op = group[0]
        if plan.staged and op is plan.staged[0].op:
            plan.staged_at = stage
            stage += 1
        elif op in produced:
            produced[op].stage = stage
            if (root := produced[op].root) is not None:
                filled[root] = stage
        elif op in consumed:
            root = consumed[op].root
            stage = max(stage, 1 if root is None else 1 + filled.get(root, 0))
            consumed[op].stage = stage
        stages.update(dict.fromkeys(group, stage))


SiteT = TypeVar("SiteT", Staged, Produced, Consumed)


def _by_op(sites: Sequence[SiteT]) -> dict[Operation, SiteT]:
    """A map from the op of each site to the site."""
    return {site.op: site for site in sites}


def _in_new_order(plan: LoopPlan, ops: Sequence[Operation]) -> Iterator[Sequence[Operation]]:
    """The ops of the body as they will stand, what is staged together as one group."""
    staged = [site.op for site in plan.staged]
    moved = {*staged, *plan.lifted}
    for op in ops:
        if staged and op is staged[0]:
            yield from ([lifted] for lifted in plan.lifted)
            yield staged
        elif op not in moved:
            yield [op]


def _definitions(op: Operation, body: Block) -> Iterator[Operation]:
    """The ops of `body` whose results `op`, or an op inside it, uses."""
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            if isinstance(owner, Operation) and owner.parent_block() is body:
                yield owner
