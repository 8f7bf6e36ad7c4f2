"""
What the ops of `ttng` do: mbarriers as Triton counts them, TMA, `wgmma`, `tcgen05` and tensor memory (PTX ISA, under
the instructions that they lower to).

An agent is one thread here (see `ttg`): `arrive_barrier` arrives with its count and not once a thread, for one thread
of many does. What an asynchronous access needs of proxy fences the compiler puts in, within an agent
(`parts.instructions.proxy_fences`); a barrier needs none where it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.dialects.triton import ttng
from tileas_xdsl.dialects.triton.partitions import WarpSpecializeOp
from tileas_xdsl.dialects.triton.types import Im2colDescType, MemDescType
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.arguments import binds_type
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import GLOBAL_MEMORY
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import effect, issues, pure, refused, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.moving_numbers import positive
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.core.threads.clusters import Cluster
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.tt import WARPS, access_unfollowed
from tileas_xdsl.machine.meanings.ttg import TOKEN, give_nothing, seen
from tileas_xdsl.machine.parts.barrier_lives import (
    end_barrier,
    make_barrier,
    note_signal,
    note_switched_off,
    use_barrier,
)
from tileas_xdsl.machine.parts.barriers import (
    arrive,
    expect_bytes,
    promise_arrival,
    promise_bytes,
    wait_for_parity,
)
from tileas_xdsl.machine.parts.blocks_of_triton import (
    PAIR,
    arrives_in,
    bases_of_blocks,
    bits_in_common,
    blocks_alike,
    blocks_of_cluster,
    bytes_of_block,
    crossing,
    last_init,
    leader_of,
    leads,
    rank_of,
    uses_pairs,
    view_in_block,
)
from tileas_xdsl.machine.parts.clusters import arrive_in_cluster, wait_in_cluster
from tileas_xdsl.machine.parts.copy_groups import CP_ASYNC, arrive_behind_copies
from tileas_xdsl.machine.parts.instructions.bulk_copies import commit_stores, start_load, start_store, wait_for_stores
from tileas_xdsl.machine.parts.instructions.proxy_fences import fence_proxies, fenced_by_compiler
from tileas_xdsl.machine.parts.instructions.warpgroup_products import (
    commit_warpgroup_products,
    start_warpgroup_product,
    wait_for_warpgroup_products,
)
from tileas_xdsl.machine.parts.memdescs import allocate, place_of_barrier, subview
from tileas_xdsl.machine.parts.placed_barriers import PlacedBarrier, publish_inits
from tileas_xdsl.machine.parts.programs import ClaimedPrograms, next_program
from tileas_xdsl.machine.parts.register_works import RegistersInFlight, fence_registers
from tileas_xdsl.machine.parts.tensor_core import Instruction, start_commit, start_pipelined

DEFAULT_WARPS = 4
THREADS_PER_WARP = "ttg.threads-per-warp"
"""Attributes of a module."""


@binds_type(Im2colDescType.name)
def _bind_descriptor(_argument: object, _given: object, _with_data: bool) -> Any:
    return UNKNOWN


def _is_on(agent: Agent, op: Operation, predicates: Sequence[Any]) -> bool:
    """Whether the predicate of `op`, if it has one, holds."""
    return all(agent.known(predicate, op, "is switched by") for predicate in predicates)


def barrier_at(agent: Agent, op: Operation, view: Any) -> PlacedBarrier:
    """The barrier that `op` uses at `view`; see `use_barrier` for what is reported."""
    return use_barrier(agent, op, place_of_barrier(agent, op, view))


def barrier_of(agent: Agent, op: Operation, view: Any, kind: Attribute) -> PlacedBarrier:
    """The same of a barrier of that type, which may be one of several blocks: that of their leader."""
    return barrier_at(agent, op, _view_in(agent, op, view, leader_of(agent, op, kind)))


def _view_in(agent: Agent, op: Operation, view: Any, rank: int) -> View:
    return view_in_block(agent, op, agent.known(view, op, "uses a barrier at"), rank)


def number_of(attribute: object) -> int:
    """The number in an attribute that the op definition promises to be one."""
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


# mbarriers ------------------------------------------------------------------------------------------------------------


@suspends(ttng.InitBarrierOp, crosses=crossing)
def _init(agent: Agent, op: ttng.InitBarrierOp, view: Any) -> Answer:
    """Who shares a barrier arrives there, each with its count."""
    blocks = blocks_of_cluster(agent, op)
    if leads(agent, op, op.alloc.type):
        shares = max(blocks // cast("MemDescType", op.alloc.type).extents[-1], 1)
        make_barrier(agent, op, place_of_barrier(agent, op, view), number_of(op.count) * shares, fenced=True)
    if agent.block is None:
        return None
    publish_inits(agent)
    if last_init(agent, op) is not op:
        return None
    arrive_in_cluster(agent, op, hands_over=False)
    return wait_in_cluster(agent, op)


@sync(ttng.InvalBarrierOp, crosses=crossing)
def _inval(agent: Agent, op: ttng.InvalBarrierOp, view: Any) -> None:
    if leads(agent, op, op.alloc.type):
        end_barrier(agent, op, place_of_barrier(agent, op, view))


def _ranks_told(agent: Agent, op: ttng.BarrierExpectOp | ttng.ArriveBarrierOp) -> list[int]:
    """
    The blocks at whose barriers `op` arrives: that of the leader; with `multicastCTA` those that differ in its bits;
    with `fromCTA` those whose numbers are its own where that has bits, if its own has no others.
    """
    rank, kind = rank_of(agent), op.alloc.type
    if arrives_in(op):
        return blocks_alike(rank, arrives_in(op))
    if op.fromCTA is None:
        return [leader_of(agent, op, kind)]
    kept, blocks = number_of(op.fromCTA), blocks_of_cluster(agent, op)
    return [] if rank & ~kept else blocks_alike(rank, (blocks - 1) & ~kept)


@sync(ttng.BarrierExpectOp, crosses=crossing)
def _expect(agent: Agent, op: ttng.BarrierExpectOp, view: Any, predicate: Any) -> None:
    if not _is_on(agent, op, [predicate]):
        note_switched_off(agent, op, place_of_barrier(agent, op, view))
        return
    for rank in _ranks_told(agent, op):
        barrier = barrier_at(agent, op, _view_in(agent, op, view, rank)).state
        expect_bytes(agent, barrier, op, number_of(op.size))
        arrive(agent, barrier, op)


@sync(ttng.ArriveBarrierOp, crosses=crossing)
def _arrive(agent: Agent, op: ttng.ArriveBarrierOp, view: Any, *predicate: Any) -> None:
    if not _is_on(agent, op, predicate):
        note_switched_off(agent, op, place_of_barrier(agent, op, view))
        return
    for rank in _ranks_told(agent, op):
        arrive(agent, barrier_at(agent, op, _view_in(agent, op, view, rank)).state, op, number_of(op.count))


@suspends(ttng.WaitBarrierOp, crosses=crossing)
def _wait(agent: Agent, op: ttng.WaitBarrierOp, view: Any, phase: Any, *rest: Any) -> Answer:
    """
    What is waited for beside the barrier (`deps`) keeps allocations alive, and orders nothing. Of the blocks that share
    a barrier the leader waits, and no other.
    """
    if not leads(agent, op, op.alloc.type) or not _is_on(agent, op, rest[:1] if op.pred is not None else ()):
        return None
    barrier = barrier_at(agent, op, view).state
    return wait_for_parity(agent, barrier, agent.known(phase, op, "waits for") & 1, op)


@sync(ttng.AsyncCopyMBarrierArriveOp)
def _arrive_behind_copies(agent: Agent, op: ttng.AsyncCopyMBarrierArriveOp, view: Any) -> None:
    """Every thread of the agent arrives."""
    placed, increments = barrier_at(agent, op, view), op.noIncrement is None
    arrive_behind_copies(agent, op, placed, threads_around(agent, op), increments=increments)


def _module_around(op: Operation) -> Operation:
    while (above := op.parent_op()) is not None:
        op = above
    return op


def _threads_of_warp(op: Operation) -> int:
    given = _module_around(op).attributes.get(THREADS_PER_WARP)
    return given.value.data if isinstance(given, IntegerAttr) else 32


@per_op
def threads_of_warp(op: Operation) -> int:
    """How many threads a warp has in the module around `op`."""
    return _threads_of_warp(op)


@per_op
def threads_around(op: Operation) -> int:
    """
    How many threads the partition around `op` has; else its function, which says so itself where a partition of fewer
    warps calls it; else its module.
    """
    threads, module, function = _threads_of_warp(op), _module_around(op), enclosing_function(op)
    node: Operation | None = op
    while node is not None and node is not function:
        region = node.parent_region()
        holder = region.parent_op() if region is not None else None
        around = holder.parent_op() if holder is not None else None
        if isinstance(around, WarpSpecializeOp) and holder is around.partitions_op and region is not None:
            return around.warps[list(around.partitions_op.partitions).index(region)] * threads
        node = holder
    warps = module.attributes.get(WARPS)
    if function is not None:
        warps = function.attributes.get(WARPS, warps)
    return (warps.value.data if isinstance(warps, IntegerAttr) else DEFAULT_WARPS) * threads


# TMA ------------------------------------------------------------------------------------------------------------------


def _load_box(agent: Agent, op: Any, target: Any, barrier: Any) -> None:
    """
    Each block loads its part. With `multicast` the first of those that have the same part loads it into all of them,
    and each copy is told of at the barrier of its block, or of that block's leader.
    """
    view, rank = seen(agent, op, target), rank_of(agent)
    bits = 0 if op.multicast is None else bits_in_common(op.result.type, blocks_of_cluster(agent, op))
    if rank & bits:
        return
    access_unfollowed(agent, op)
    size = bytes_of_block(view, op.result.type)
    shared = bits_in_common(op.barrier.type, blocks_of_cluster(agent, op))
    for each in blocks_alike(rank, bits):
        placed = barrier_at(agent, op, _view_in(agent, op, barrier, each & ~shared))
        touches = [Touch(view_in_block(agent, op, view, each), True, Proxy.ASYNC)]
        with fenced_by_compiler(agent):
            start_load(agent, op, placed, touches, size, kind="a TMA load")


@sync(ttng.AsyncTMACopyGlobalToLocalOp, may_move=("coord",), opaque=("coord",), crosses=crossing)
def _tma_load(agent: Agent, op: ttng.AsyncTMACopyGlobalToLocalOp, *operands: Any) -> None:
    barrier, target, predicate = operands[-3:]
    if _is_on(agent, op, [predicate]):
        _load_box(agent, op, target, barrier)


@sync(ttng.AsyncTMAGatherOp, may_move=("y_offset",), opaque=("y_offset",), crosses=crossing)
def _tma_gather(agent: Agent, op: ttng.AsyncTMAGatherOp, *operands: Any) -> None:
    barrier, target, predicate = operands[-3:]
    if _is_on(agent, op, [predicate]):
        _load_box(agent, op, target, barrier)


@sync(ttng.AsyncTMACopyLocalToGlobalOp, ttng.AsyncTMAReduceOp, may_move=("coord",), opaque=("coord",))
def _tma_store(agent: Agent, op: Operation, *operands: Any) -> None:
    _store_box(agent, op, operands[-1])


@sync(ttng.AsyncTMAScatterOp, may_move=("y_offset",), opaque=("y_offset",))
def _tma_scatter(agent: Agent, op: Operation, *operands: Any) -> None:
    _store_box(agent, op, operands[-1])


def _store_box(agent: Agent, op: Operation, source: Any) -> None:
    """The store and its commit: each is a separate group (Triton, `AsyncTMACopyLocalToGlobalOpConversion`)."""
    view = seen(agent, op, source)
    access_unfollowed(agent, op)
    with fenced_by_compiler(agent):
        label = f"a TMA store of {view.region.byte_count} bytes"
        start_store(agent, op, [Touch(view, False, Proxy.ASYNC)], [], label=label)
    commit_stores(agent, op)


@suspends(ttng.AsyncTMAStoreWaitOp)
def _tma_store_wait(agent: Agent, op: ttng.AsyncTMAStoreWaitOp) -> Answer:
    return wait_for_stores(agent, op, number_of(op.pendings), reads_only=op.read_only is not None)


@sync(ttng.AsyncSharedStoreOp, crosses=crossing)
def _shared_store(agent: Agent, op: ttng.AsyncSharedStoreOp, _tile: Any, target: Any, barrier: Any) -> None:
    """
    An asynchronous write of the generic proxy; its bytes arrive at the barrier. A tile that lies over the blocks as the
    memory does stays in its block.
    """
    kind = cast("MemDescType", op.dst.type)
    above, below = (bases_of_blocks(getattr(each, "encoding", each)) for each in (op.src.type, kind))
    if above != below:
        raise UnsupportedError(op, "moves elements to other blocks one by one, which is not followed; use a TMA load")
    view, placed = seen(agent, op, target), barrier_of(agent, op, barrier, op.mbarrier.type)
    size = bytes_of_block(view, kind)
    touches = [Touch(view, True, Proxy.GENERIC)]
    work = agent.issue(op, touches, None, label=f"a store of {size} bytes", engine=CP_ASYNC)
    promise_bytes(agent, work, placed.state, size)
    note_signal(placed, work)


@pure(ttng.ReinterpretTensorDescriptorOp)
def _reinterpret(_agent: Agent, _op: Operation, _pointer: Any) -> Any:
    return UNKNOWN


@effect(ttng.TensormapCreateOp, ttng.TensormapFenceproxyAcquireOp, opaque=("*",))
def _make_descriptor(agent: Agent, _op: Operation, *_operands: Any) -> None:
    """A descriptor in global memory, which is not followed."""
    agent.assume(GLOBAL_MEMORY)


# wgmma ----------------------------------------------------------------------------------------------------------------


@issues(ttng.WarpGroupDotOp)
def _dot(agent: Agent, op: ttng.WarpGroupDotOp, *operands: Any) -> Answer:
    """
    A `wgmma.fence`, a product and its group; complete at once where it is not asynchronous. The sum lies in registers,
    which the product writes until it is complete.
    """
    views = [seen(agent, op, v) for v, o in zip(operands, op.operands, strict=True) if isinstance(o.type, MemDescType)]
    fence_registers(agent, op)
    with fenced_by_compiler(agent):
        work = start_warpgroup_product(agent, op, [Touch(view, False, Proxy.ASYNC) for view in views], "a product")
    commit_warpgroup_products(agent, op)
    if op.isAsync is not None and op.isAsync.value.data:
        agent.makes_late_values()
        return RegistersInFlight(op, ttng.WarpGroupDotWaitOp.name).filled_by(agent, work)
    return wait_for_warpgroup_products(agent, op, 0).then(_give_product)


@continuation
def _give_product(_agent: Agent, _op: Operation, _: None) -> Answer:
    return UNKNOWN


@issues(ttng.WarpGroupDotWaitOp, may_move=("inputs",))
def _dot_wait(agent: Agent, op: ttng.WarpGroupDotWaitOp, *values: Any) -> Answer:
    return wait_for_warpgroup_products(agent, op, number_of(op.pendings)).then(_pass_on, values)


@continuation
def _pass_on(_agent: Agent, op: Operation, _: None, values: tuple[Any, ...]) -> Answer:
    return values[0] if len(op.results) == 1 else values


# tcgen05 and tensor memory --------------------------------------------------------------------------------------------


def _read(view: View) -> Touch:
    """A read by the tensor core: through the asynchronous proxy where it is of shared memory."""
    return Touch(view, False, Proxy.UNSPECIFIED if view.base.space == "tensor" else Proxy.ASYNC)


@suspends(ttng.TCGen5MMAOp, ttng.TCGen5MMAScaledOp, crosses=crossing)
def _mma(agent: Agent, op: ttng.TCGen5MMAOp | ttng.TCGen5MMAScaledOp, *operands: Any) -> Answer:
    """
    A product; where it is synchronous it is complete, like all earlier work, before the agent goes on. One of two
    blocks is started by the even one, and reads and writes in both.
    """
    values = dict(zip(op.operands, operands, strict=True))
    is_pair = op.two_ctas is not None
    if is_pair and agent.block is None:
        raise UnsupportedError(op, "has 'two_ctas' in a module of clusters of one block; compile it with num_ctas=2")
    if is_pair and _is_synchronous(agent, op):
        raise UnsupportedError(
            op, "is synchronous and of two blocks, which then meet; dump it behind triton-nvidia-mma-lowering"
        )
    if (is_pair and rank_of(agent) & PAIR) or not _is_on(agent, op, [values[op.pred]]):
        return _give_token(agent, op, None)
    scales = [op.a_scale, op.b_scale] if isinstance(op, ttng.TCGen5MMAScaledOp) else []
    sources = [seen(agent, op, values[operand]) for operand in (op.a, op.b, *scales)]
    target = seen(agent, op, values[op.d])
    ranks = blocks_alike(rank_of(agent), PAIR if is_pair else 0)
    read = [_read(view_in_block(agent, op, source, rank)) for rank in ranks for source in sources]
    touches = [*read, *(Touch(view_in_block(agent, op, target, rank), True) for rank in ranks)]
    told = zip(op.barriers, op.barrier_preds, strict=True)
    with fenced_by_compiler(agent):
        start_pipelined(agent, op, Instruction.PRODUCT, touches, "a product", _accumulator(op, target))
    for barrier, on in told:
        if _is_on(agent, op, [values[on]]):
            _commit_to(agent, op, values[barrier], [op.a, op.b] if op.multicast is not None else [])
    if not _is_synchronous(agent, op):
        return _give_token(agent, op, None)
    done = agent.event_of(start_commit(agent, op), "the product")
    return agent.wait(EventCondition(done, "a product"), op).then(_give_token)


@continuation
def _give_token(_agent: Agent, op: Operation, _: None) -> Answer:
    return TOKEN if op.results else None


def _accumulator(op: ttng.TCGen5MMAOp | ttng.TCGen5MMAScaledOp, target: View) -> tuple[object, ...]:
    """What products have in common whose instructions accumulate in the same places, in one shape and of one kind."""
    elements = [cast("MemDescType", operand.type).element for operand in (op.a, op.b)]
    formats = (op.a_type, op.b_type) if isinstance(op, ttng.TCGen5MMAScaledOp) else ()
    return (target.base, target.offset, target.shape, target.strides, *map(str, [*elements, *formats]))


@per_op
def _is_synchronous(op: ttng.TCGen5MMAOp | ttng.TCGen5MMAScaledOp) -> bool:
    """
    Whether the pass `triton-nvidia-mma-lowering` will put a wait behind the product: before that pass a product is
    synchronous unless it has `is_async` or barriers. Gluon does not run the pass, and does not write `is_async`: there
    a product waits for none before it, though it has a token, or is committed by an op of its own.
    """
    if op.is_async is not None or op.barriers:
        return False
    is_of_gluon = op.token is not None and op.acc_dep is None
    commits = any(isinstance(other, ttng.TCGen5CommitOp) for other in _module_around(op).walk())
    return not is_of_gluon and not commits


@sync(ttng.TMEMCopyOp)
def _tmem_copy(agent: Agent, op: Operation, source: Any, target: Any) -> None:
    touches = [_read(seen(agent, op, source)), Touch(seen(agent, op, target), True)]
    with fenced_by_compiler(agent):
        start_pipelined(agent, op, Instruction.COPY, touches, "a copy to tensor memory")


@sync(ttng.TCGen5CommitOp, crosses=crossing)
def _commit(agent: Agent, op: ttng.TCGen5CommitOp, barrier: Any, *rest: Any) -> None:
    if uses_pairs(op) and rank_of(agent) & PAIR:
        return
    if not _is_on(agent, op, rest[:1] if op.pred is not None else ()):
        note_switched_off(agent, op, place_of_barrier(agent, op, barrier))
        return
    _commit_to(agent, op, barrier, op.descs)


def _commit_to(agent: Agent, op: Operation, view: Any, described: Sequence[SSAValue]) -> None:
    """
    Let the barrier at `view` track the works that the agent has started: in each block that has the same part of one of
    the views `described`, and in both of a pair.
    """
    blocks, pair = blocks_of_cluster(agent, op), PAIR if uses_pairs(op) else 0
    groups = [pair | bits_in_common(cast("MemDescType", each.type), blocks) for each in described] or [pair]
    told = sorted({rank for bits in groups for rank in blocks_alike(rank_of(agent), bits)})
    for rank in told:
        barrier = barrier_at(agent, op, _view_in(agent, op, view, rank))
        work = start_commit(agent, op)
        promise_arrival(agent, work, barrier.state)
        note_signal(barrier, work)


@effect(ttng.TMEMAllocOp)
def _tmem_alloc(agent: Agent, op: ttng.TMEMAllocOp, *source: Any) -> Any:
    view = allocate(agent, op, op.result.type)
    if source:
        agent.store(view, UNKNOWN, op, Proxy.UNSPECIFIED)
    return view if op.token is None else (view, TOKEN)


@pure(ttng.TMEMSubsliceOp, may_fail=True)
def _tmem_subslice(_agent: Agent, op: ttng.TMEMSubsliceOp, view: View) -> View:
    axis = 1 if op.dim is None else number_of(op.dim)
    if not 0 <= axis < len(view.shape):
        raise UnsupportedError(op, f"cuts dimension {axis} of a view that has {len(view.shape)}")
    offsets = [0] * len(view.shape)
    offsets[axis] = number_of(op.offset)
    return subview(op, view, offsets, op.result.type)


@effect(ttng.TMEMLoadOp)
def _tmem_load(agent: Agent, op: Operation, view: Any, *_dependency: Any) -> Any:
    agent.load(seen(agent, op, view), op, Proxy.UNSPECIFIED)
    results = give_nothing(agent, op)
    return results[0] if len(results) == 1 else results


@effect(ttng.TMEMStoreOp)
def _tmem_store(agent: Agent, op: ttng.TMEMStoreOp, target: Any, *rest: Any) -> Any:
    if _is_on(agent, op, rest[-1:]):
        agent.store(seen(agent, op, target), UNKNOWN, op, Proxy.UNSPECIFIED)
    return TOKEN if op.token is not None else None


@effect(ttng.TMEMWaitOp)
def _tmem_wait(_agent: Agent, _op: Operation) -> None:
    """Loads and stores of tensor memory are complete where they stand."""


# Fences and the rest --------------------------------------------------------------------------------------------------


@sync(ttng.FenceAsyncSharedOp)
def _fence(agent: Agent, op: Operation) -> None:
    fence_proxies(agent, op, ["shared"])


@pure(*ttng.COMPUTING)
def _compute(_agent: Agent, _op: Operation, *_operands: Any) -> Any:
    return UNKNOWN


# Clusters -------------------------------------------------------------------------------------------------------------


def _must_be_in_cluster(agent: Agent, op: Operation) -> None:
    if agent.block is None:
        raise UnsupportedError(op, "is for clusters of several blocks; compile it with num_ctas=2 or more")
    if agent is not agent.shared(Cluster).blocks[agent.block.rank]:
        raise UnsupportedError(
            op, "lets some warps of each block meet, which is not followed; move it out of partitions"
        )


def _is_relaxed(op: Operation) -> bool:
    said = op.properties.get("relaxed") or op.attributes.get("relaxed")
    return isinstance(said, IntegerAttr) and said.value.data != 0


@sync(ttng.ClusterArriveOp, crosses=crossing)
def _cluster_arrive(agent: Agent, op: Operation) -> None:
    _must_be_in_cluster(agent, op)
    arrive_in_cluster(agent, op, hands_over=not _is_relaxed(op))


@suspends(ttng.ClusterWaitOp, crosses=crossing)
def _cluster_wait(agent: Agent, op: Operation) -> Answer:
    _must_be_in_cluster(agent, op)
    return wait_in_cluster(agent, op)


@suspends(ttng.ClusterBarrierOp, crosses=crossing)
def _cluster_barrier(agent: Agent, op: Operation) -> Answer:
    _must_be_in_cluster(agent, op)
    arrive_in_cluster(agent, op, hands_over=not _is_relaxed(op))
    return wait_in_cluster(agent, op)


@sync(ttng.FenceMBarrierInitReleaseClusterOp)
def _fence_inits(agent: Agent, _op: Operation) -> None:
    publish_inits(agent)


# Work of other blocks -------------------------------------------------------------------------------------------------


@sync(ttng.CLCTryCancelOp, crosses=crossing, takes_programs=True)
def _try_cancel(agent: Agent, op: ttng.CLCTryCancelOp, answer: Any, barrier: Any) -> None:
    """The first block of a cluster asks for all, and the 16 bytes of the answer arrive in each."""
    if rank_of(agent):
        return
    view, program = seen(agent, op, answer), next_program(agent)
    for rank in range(blocks_of_cluster(agent, op)):
        own = view_in_block(agent, op, view, rank)
        placed = barrier_at(agent, op, _view_in(agent, op, barrier, rank))
        agent.shared(ClaimedPrograms).at[own.base.serial, own.offset] = program
        with fenced_by_compiler(agent):
            start_load(agent, op, placed, [Touch(own, True, Proxy.ASYNC)], ANSWER, kind="an answer")


ANSWER = 16
"""Bytes of an answer (PTX ISA, "clusterlaunchcontrol.try_cancel")."""


@effect(ttng.CLCLoadResultOp, gives_count=True)
def _load_answer(agent: Agent, op: ttng.CLCLoadResultOp, answer: Any) -> Any:
    """The number of programs that are left, with the one that the answer names; unknown before it is asked."""
    view = seen(agent, op, answer)
    agent.load(view, op)
    return agent.shared(ClaimedPrograms).at.get((view.base.serial, view.offset), UNKNOWN)


@pure(ttng.CLCIsCanceledOp, moves=positive)
def _is_canceled(_agent: Agent, _op: Operation, program: Any) -> Any:
    return program if program is UNKNOWN else program > 0


@pure(ttng.CLCGetProgramIdOp)
def _program_of_answer(_agent: Agent, _op: Operation, _program: Any) -> Any:
    return UNKNOWN


refused(
    "has its answer at once, in a form that only the compiler uses; dump the module before it is made",
    ttng.CLCTryCancelSyncOp,
)
