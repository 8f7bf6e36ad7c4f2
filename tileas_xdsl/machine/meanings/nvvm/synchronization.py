"""
What the synchronising ops of `nvvm` do (PTX ISA, "Asynchronous operations" and "Parallel Synchronization and
Communication Instructions"; MLIR's `nvvm` dialect for the operands).

An agent stands for `threads` hardware threads, those of one warp or fewer. What a thread counts (arrivals, bytes that
it expects, copies that it starts) the agent counts as often as it has active ones; inside a branch on `elect.sync` it
is one thread. Copies are `cp.async` (generic proxy, groups per thread), bulk copies into shared memory (asynchronous
proxy, bytes on an mbarrier) and bulk copies out of it (asynchronous proxy, groups per thread; the source may be reused
once it has been read).

Predicates that are false switch an `mbarrier.init`, an `arrive.expect_tx`, a tensor load or store off; an unknown one
is undecided.

Each generation of a barrier has a count of its own, given by its first arrival; two counts in one generation are
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.analysis.answers import AnswerUse, use_of_answer
from tileas_xdsl.analysis.threads.grid_dependence import waits_for_grids
from tileas_xdsl.dialects.nvvm import bulk, cp_async, fence, mbarrier, registers, thread
from tileas_xdsl.dialects.nvvm.attributes import MemScope, SetMaxRegisterAction
from tileas_xdsl.dialects.nvvm.barrier import (
    Barrier0Op,
    BarrierArriveOp,
    BarrierOp,
    ClusterArriveOp,
    ClusterArriveRelaxedOp,
    ClusterWaitOp,
    GriddepcontrolOp,
    MapaOp,
    SyncWarpOp,
)
from tileas_xdsl.dialects.nvvm.mbarrier import ArriveLikeOp, NoCompleteOp, WaitOp
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import CLUSTER_AS_ONE, FIRST_ELECTED, ORDERS_ITS_WARP
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import FENCE_SPACES, Knowledge
from tileas_xdsl.machine.core.meaning import effect, pure, refused, suspends, sync
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND, Crosses, TakesPerThread
from tileas_xdsl.machine.core.questions import Hope
from tileas_xdsl.machine.core.standings import Answer, Done, Leave, Pause, Request, continuation
from tileas_xdsl.machine.core.synchronization import (
    PhaseBarrier,
    Rendezvous,
    StateCondition,
    StateToken,
)
from tileas_xdsl.machine.core.threads.block_barriers import NamedBarriers, leave_block, threads_left, threads_of_block
from tileas_xdsl.machine.core.threads.by_thread import known_to_all, per_thread, rows_of_threads
from tileas_xdsl.machine.core.threads.clusters import is_in_another_block
from tileas_xdsl.machine.core.threads.earlier_grids import launch_dependents, wait_for_earlier_grids
from tileas_xdsl.machine.core.threads.hardware import WARP, Elections, PerThread, Varies, name_in_block
from tileas_xdsl.machine.core.values import UNKNOWN, wrap
from tileas_xdsl.machine.core.violations import (
    MistakeError,
    Party,
    UnsupportedError,
    Violation,
    ViolationKind,
    end_malformed,
)
from tileas_xdsl.machine.parts.atomics import words
from tileas_xdsl.machine.parts.barrier_lives import (
    end_barrier,
    make_barrier,
    note_switched_off,
    use_barrier,
)
from tileas_xdsl.machine.parts.barrier_states import note_test, phase_of_state, state_of
from tileas_xdsl.machine.parts.barriers import (
    arrive,
    expect_bytes,
    hope_for_parity,
    report_bytes,
    wait_for_parity,
)
from tileas_xdsl.machine.parts.clusters import (
    arrive_in_cluster,
    must_be_own,
    pass_barrier,
    place_in_block,
    wait_in_cluster,
)
from tileas_xdsl.machine.parts.copy_groups import (
    CP_ASYNC,
    CopyOfThread,
    arrive_behind_copies,
    commit_copies,
    issue_copies,
    issue_copy,
    wait_for_own_copies,
)
from tileas_xdsl.machine.parts.divergence import each_place, predicated
from tileas_xdsl.machine.parts.instructions.operand_ranges import (
    ARRIVE_COUNT,
    BARRIER_NUMBER,
    GROUPS,
    PARITY,
    THREAD_COUNT,
    TX_COUNT,
    require_in_range,
)
from tileas_xdsl.machine.parts.instructions.proxy_fences import fence_inits, fence_proxies
from tileas_xdsl.machine.parts.instructions.register_pool import (
    lower_registers,
    note_executed,
    raise_registers,
    warps_of_agent,
)
from tileas_xdsl.machine.parts.placed_barriers import ClusterArrival, PlacedBarrier, publish_inits
from tileas_xdsl.machine.parts.tensor_maps import acquire_map, release_maps
from tileas_xdsl.machine.parts.thread_numbers import (
    Reading,
    block_extent,
    block_extents,
    block_ids,
    lane_ids,
    read_by_threads,
    thread_id,
    warp_ids,
    warp_sizes,
    warps_in_block,
)
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.unknown_places import size_to_read

# Barriers with phases -------------------------------------------------------------------------------------------------


def barrier_at(agent: Agent, op: Operation, address: Any) -> PlacedBarrier:
    """The barrier at `address`; see `use_barrier` for what is reported."""
    return use_barrier(agent, op, agent.known(address, op, "uses a barrier at"))


def _own_barrier_at(agent: Agent, op: Operation, address: Any) -> PlacedBarrier:
    """The same for an op that may not reach into another block."""
    place: Pointer = agent.known(address, op, "uses a barrier at")
    must_be_own(agent, op, place, "waits at a barrier")
    return use_barrier(agent, op, place)


MOST_ARRIVALS = (1 << 20) - 1
"""Of one phase, as PTX has it (`mbarrier.init`)."""


@sync(mbarrier.MBarrierInitOp, per_thread=TakesPerThread.ITSELF)
def _init(agent: Agent, op: Operation, address: Any, count: Any, predicate: Any = True) -> None:
    with predicated(agent, op, predicate) as threads:
        if threads:
            _make(agent, op, address, count, threads)


def _make(agent: Agent, op: Operation, address: Any, count: Any, threads: int) -> None:
    """Each of `threads` threads makes a barrier."""
    place: Pointer = agent.known(address, op, "makes a barrier at")
    must_be_own(agent, op, place, "makes a barrier")
    expected = agent.known(count, op, "takes as its count")
    if not 1 <= expected <= MOST_ARRIVALS:
        rule = f'1 to {MOST_ARRIVALS} (PTX ISA, "mbarrier.init")'
        raise MistakeError(op, f"makes a barrier for {expected} arrivals; {rule}")
    make_barrier(agent, op, place, expected, threads, fenced=mbarrier.ORDER_IS_ENOUGH in op.attributes)


@sync(mbarrier.MBarrierInvalOp)
def _inval(agent: Agent, op: Operation, address: Any) -> None:
    place: Pointer = agent.known(address, op, "invalidates a barrier at")
    must_be_own(agent, op, place, "invalidates a barrier")
    end_barrier(agent, op, place)


def _count(agent: Agent, op: Operation, rest: tuple[Any, ...]) -> int:
    """How many arrivals the op makes: its count (or 1) for each thread."""
    each = agent.known(rest[0], op, "takes as its count") if rest else 1
    require_in_range(agent, op, each, ARRIVE_COUNT)
    return each * agent.threads


def _is_relaxed(op: Operation) -> bool:
    """Whether it orders no memory (PTX ISA, "mbarrier.arrive": `.relaxed`)."""
    return isinstance(op, ArriveLikeOp | WaitOp) and bool(op.relaxed.value.data)


def _hands_over(agent: Agent, op: Operation, address: Any) -> bool:
    """
    Whether an arrive releases, and to those who wait: a relaxed one releases nothing, and one of block scope never
    leaves the block.
    """
    if not isinstance(op, ArriveLikeOp):
        return True
    return not (_is_relaxed(op) or (op.scope.data is MemScope.CTA and _is_remote(agent, op, address)))


def _is_remote(agent: Agent, op: ArriveLikeOp, address: Any) -> bool:
    """Whether an arrive is at a barrier of another block; where one block is executed, whether it may be."""
    if agent.block is None:
        return op.is_remote
    return is_in_another_block(agent, agent.known(address, op, "uses a barrier at").base)


def _may_complete(op: Operation) -> bool:
    """Whether an arrive may be the last of its phase."""
    return not isinstance(op, NoCompleteOp)


@sync(mbarrier.MBarrierArriveOp, mbarrier.MBarrierArriveNocompleteOp, per_thread=TakesPerThread.ITSELF)
def _arrive(agent: Agent, op: Operation, address: Any, *count: Any) -> int | StateToken | None:
    """Threads of a warp may arrive at different barriers, as those do that tell each block of a cluster."""
    state = None
    for place in each_place(agent, op, address):
        counts = (known_to_all(agent, each, op, "takes") if isinstance(each, PerThread) else each for each in count)
        state = _arrive_at(agent, op, place, *counts)
    return state


def _arrive_at(agent: Agent, op: Operation, address: Any, *count: Any) -> int | StateToken | None:
    barrier = barrier_at(agent, op, address).state
    phase = barrier.phases_completed
    arrive(
        agent,
        barrier,
        op,
        _count(agent, op, count),
        hands_over=_hands_over(agent, op, address),
        may_complete=_may_complete(op),
    )
    return _state(agent, op, barrier, phase)


@sync(mbarrier.MBarrierArriveDropOp, mbarrier.MBarrierArriveDropNocompleteOp)
def _arrive_drop(agent: Agent, op: Operation, address: Any, *count: Any) -> int | StateToken | None:
    barrier = barrier_at(agent, op, address).state
    phase, arrivals = barrier.phases_completed, _count(agent, op, count)
    barrier.expected -= arrivals
    arrive(agent, barrier, op, arrivals, hands_over=_hands_over(agent, op, address), may_complete=_may_complete(op))
    return _state(agent, op, barrier, phase)


@sync(mbarrier.MBarrierExpectTxOp)
def _expect_tx(agent: Agent, op: Operation, address: Any, size: Any) -> None:
    barrier, count = barrier_at(agent, op, address).state, _bytes(agent, op, size) * agent.threads
    expect_bytes(agent, barrier, op, count)
    phase = barrier.phases_completed
    agent.note(op, "expect", f"expects {count} bytes at {barrier.name}", on=barrier, turn=phase)


@sync(mbarrier.MBarrierCompleteTxOp)
def _complete_tx(agent: Agent, op: Operation, address: Any, size: Any) -> None:
    barrier = barrier_at(agent, op, address).state
    report_bytes(agent, barrier, op, _bytes(agent, op, size) * agent.threads)


def _bytes(agent: Agent, op: Operation, size: Any) -> int:
    """How many bytes each thread expects, or reports."""
    count = agent.known(size, op, "takes as its number of bytes")
    require_in_range(agent, op, count, TX_COUNT)
    return count


@sync(mbarrier.MBarrierArriveExpectTxOp, mbarrier.MBarrierArriveDropExpectTxOp, per_thread=TakesPerThread.ITSELF)
def _arrive_expect_tx(
    agent: Agent, op: Operation, address: Any, size: Any, predicate: Any = True
) -> int | StateToken | None:
    with predicated(agent, op, predicate) as threads:
        if threads:
            return _arrive_with_bytes(agent, op, address, _bytes(agent, op, size))
    note_switched_off(agent, op, agent.known(address, op, "uses a barrier at"))
    return None


def _arrive_with_bytes(agent: Agent, op: Operation, address: Any, size: int) -> int | StateToken | None:
    barrier = barrier_at(agent, op, address).state
    phase = barrier.phases_completed
    expect_bytes(agent, barrier, op, size * agent.threads)
    if isinstance(op, mbarrier.MBarrierArriveDropExpectTxOp):
        barrier.expected -= agent.threads
    arrive(agent, barrier, op, agent.threads, hands_over=_hands_over(agent, op, address))
    return _state(agent, op, barrier, phase)


def _state(agent: Agent, op: Operation, barrier: PhaseBarrier, phase: int) -> int | StateToken | None:
    """What an arrival in `phase` returns, if anything."""
    if not op.results:
        return None
    return state_of(agent, barrier, phase)


@suspends(mbarrier.MBarrierTryWaitParityOp)
def _try_wait_parity(agent: Agent, op: Operation, address: Any, parity: Any, *_ticks: Any) -> Answer:
    barrier, wanted = _own_barrier_at(agent, op, address).state, agent.known(parity, op, "waits for")
    require_in_range(agent, op, wanted, PARITY)
    return wait_for_parity(agent, barrier, wanted, op)


_use_of_answer = per_op(use_of_answer)


@suspends(mbarrier.MBarrierTryWaitOp, mbarrier.MBarrierTestWaitOp)
def _test(agent: Agent, op: WaitOp, address: Any, which: Any, *_ticks: Any) -> Answer:
    """
    A test: no is always possible, yes when the phase is over. One that a loop repeats until yes is a wait.

    Where the program branches on the answer, that is a question (`questions`).
    """
    barrier, wanted = _own_barrier_at(agent, op, address).state, agent.known(which, op, "asks for")
    if _names_state(op):
        wanted = phase_of_state(agent, op, wanted, barrier)
    else:
        require_in_range(agent, op, wanted, PARITY)
    use = _use_of_answer(agent, op)
    if use is AnswerUse.SPINS:
        return _wait_until_over(agent, op, barrier, wanted)
    if use is not AnswerUse.BRANCHES:
        return 0
    machine, guide = agent.machine, agent.guide
    machine.asked += 1
    if guide is None:
        return _hope(agent, op, None, barrier, wanted) if machine.order.hopes() else 0
    pause = Pause() if guide.poses(agent, op) else Done()
    return pause.then(_take_answer, barrier, wanted)


def _wait_until_over(agent: Agent, op: Operation, barrier: PhaseBarrier, wanted: int) -> Request:
    if not _names_state(op):
        return wait_for_parity(agent, barrier, wanted & 1, op, acquires=not _is_relaxed(op)).then(_succeed)
    condition = StateCondition(barrier, wanted, acquires=not _is_relaxed(op))
    return agent.wait(condition, op).then(_saw_state, condition).then(_succeed)


def _names_state(op: Operation) -> bool:
    """Whether a test names the state that an arrival returned, and not a parity."""
    return str(op.operands[1].type) == "i64"


@continuation
def _take_answer(agent: Agent, op: Operation, _: None, barrier: PhaseBarrier, wanted: int) -> Answer:
    guide = agent.guide
    assert guide is not None
    return _hope(agent, op, None, barrier, wanted) if guide.says_yes(agent, op) else 0


@continuation
def _hope(agent: Agent, op: Operation, _: None, barrier: PhaseBarrier, wanted: int) -> Answer:
    if not _names_state(op):
        return hope_for_parity(agent, barrier, wanted & 1, op, acquires=not _is_relaxed(op))
    hope = Hope(StateCondition(barrier, wanted, acquires=not _is_relaxed(op)))
    return agent.wait(hope, op).then(_heard_of_state, hope)


@continuation
def _heard_of_state(agent: Agent, op: Operation, _: None, hope: Hope) -> Answer:
    if hope.is_over:
        return 0
    assert isinstance(hope.wanted, StateCondition)
    _note_state_seen(agent, op, hope.wanted)
    return 1


@continuation
def _saw_state(agent: Agent, op: Operation, _: None, condition: StateCondition) -> Answer:
    _note_state_seen(agent, op, condition)


def _note_state_seen(agent: Agent, op: Operation, condition: StateCondition) -> None:
    barrier, phase = condition.barrier, condition.phase
    note_test(agent, op, barrier, phase)
    agent.note(op, "wait", f"sees phase {phase} of {barrier.name}", on=barrier, turn=phase)


@continuation
def _succeed(_agent: Agent, _op: Operation, _: None) -> Answer:
    return 1


# Copies with groups ---------------------------------------------------------------------------------------------------


@sync(cp_async.CpAsyncOp, per_thread=TakesPerThread.ITSELF)
def _cp_async(agent: Agent, op: Any, *operands: Any) -> None:
    copies = [_copy_of_thread(agent, op, lane, row) for lane, row in rows_of_threads(agent, operands)]
    if len(copies) == 1:
        issue_copy(agent, op, copies[0].source, copies[0].target)
    else:
        issue_copies(agent, op, copies)


def _copy_of_thread(agent: Agent, op: Any, lane: int, operands: Sequence[Any]) -> CopyOfThread:
    target, source, *read_size = operands
    size = op.size.value.data
    start: Pointer = agent.known(source, op, "copies from")
    read = size_to_read(agent, op, start.base, read_size[0]) if read_size else size
    if not 0 <= read <= size:
        raise MistakeError(op, f'reads {read} of {size} bytes, which has no meaning; 0 to {size} (PTX ISA, "cp.async")')
    into: View = agent.known(target, op, "copies to").bytes(size)
    return CopyOfThread(lane, start.bytes(read), into)


@sync(cp_async.CpAsyncCommitGroupOp)
def _cp_async_commit(agent: Agent, op: Operation) -> None:
    commit_copies(agent, CP_ASYNC, op)


@suspends(cp_async.CpAsyncWaitGroupOp)
def _cp_async_wait(agent: Agent, op: Any) -> Answer:
    require_in_range(agent, op, op.n.value.data, GROUPS)
    return wait_for_own_copies(agent, op, [CP_ASYNC], op.n.value.data)


@sync(cp_async.CpAsyncMBarrierArriveOp)
def _cp_async_arrive(agent: Agent, op: Any, address: Any) -> None:
    increments = not op.noinc.value.data
    arrive_behind_copies(agent, op, barrier_at(agent, op, address), agent.threads, increments=increments)


# Barriers of threads --------------------------------------------------------------------------------------------------


def _rendezvous(agent: Agent, op: Operation, name: str, expected: int, *, of_all: bool = False) -> Rendezvous:
    """
    The barrier `name`, at which `expected` threads arrive in this generation.

    Once a thread has returned, a number and all that are left are two things: who is left depends on the order.
    """
    barrier = agent.shared(NamedBarriers).of(name_in_block(agent, name), agent.cohort, expected)
    if not barrier.arrived:
        barrier.expected, barrier.is_of_all = expected, of_all
    if barrier.is_of_all is not of_all and threads_left(agent) != threads_of_block(agent):
        raise MistakeError(
            op,
            f"uses {name} with a number of threads or for all that are left, and elsewhere otherwise; the same in all "
            'threads that meet (PTX ISA, "barrier")',
        )
    if barrier.expected != expected and not (of_all and barrier.is_of_all):
        rule = 'the same count in all threads that meet (PTX ISA, "barrier")'
        raise MistakeError(op, f"uses {name} with {expected} threads here and {barrier.expected} elsewhere; {rule}")
    return barrier


def arrive_at_barrier(agent: Agent, op: Operation, barrier: Rendezvous, *, hands_over: bool = True) -> int:
    agent.shares(barrier.name, alone=True)
    if barrier.is_ahead(agent.number, agent.mind):
        agent.doubt(op, f"arrives at {barrier.name}, unordered with its last generation")
    # A warp arrives as a whole once those of its threads have that have not left (PTX ISA, "barrier").
    count = agent.threads + (0 if barrier.is_of_all else len(agent.left))
    if barrier.arrived + count > barrier.expected:
        _too_many_threads(agent, op, barrier)
    text = f"arrives at {barrier.name}{'' if hands_over else ', and hands over nothing: it is relaxed'}"
    agent.note(op, "arrive", text, on=barrier, turn=barrier.generation)
    moment, knowledge = agent.moment, agent.release()
    return barrier.arrive(knowledge if hands_over else Knowledge(), agent.number, moment, count)


def _too_many_threads(agent: Agent, op: Operation, barrier: Rendezvous) -> None:
    """Threads arrive warp by warp, and a count that whole warps do not meet is undefined (PTX ISA, `barrier`)."""
    missing = barrier.expected - barrier.arrived
    role = f"arrives with {agent.threads} threads at {barrier.name}, which waits for {missing} more"
    violation = Violation(
        ViolationKind.PHASE,
        f"more threads meet at {barrier.name} than the {barrier.expected} that it waits for",
        (Party(op, agent.name, agent.iteration, role),),
        "a number of threads that is the sum of the warps that meet",
    )
    agent.report(violation)


def _barrier_numbered(agent: Agent, op: Any, operands: tuple[Any, ...]) -> Rendezvous:
    values = dict(zip(op.operands, operands, strict=True))
    number = 0 if op.barrier_id is None else agent.known(values[op.barrier_id], op, "takes as its barrier")
    require_in_range(agent, op, number, BARRIER_NUMBER)
    threads = op.number_of_threads
    expected = threads_left(agent) if threads is None else agent.known(values[threads], op, "waits for")
    if threads is not None and agent.hardware is not None:
        require_in_range(agent, op, expected, THREAD_COUNT)
    return _rendezvous(agent, op, f"barrier {number}", expected, of_all=threads is None)


def barrier_of_threads(agent: Agent, op: Operation) -> Rendezvous:
    """The barrier of the whole block."""
    return _rendezvous(agent, op, "barrier 0", threads_left(agent), of_all=True)


@suspends(Barrier0Op)
def barrier_of_all_threads(agent: Agent, op: Operation) -> Answer:
    """Arrive at the barrier of the whole block, and wait until all its threads have arrived."""
    barrier = barrier_of_threads(agent, op)
    return pass_barrier(agent, op, barrier, arrive_at_barrier(agent, op, barrier))


@suspends(BarrierOp)
def _barrier(agent: Agent, op: Any, *operands: Any) -> Answer:
    if op.reduction_predicate is not None:
        raise UnsupportedError(op, "reduces over the threads of a barrier, and an agent has one flow of control")
    barrier = _barrier_numbered(agent, op, operands)
    return pass_barrier(agent, op, barrier, arrive_at_barrier(agent, op, barrier))


@sync(BarrierArriveOp)
def _barrier_arrive(agent: Agent, op: Any, *operands: Any) -> None:
    arrive_at_barrier(agent, op, _barrier_numbered(agent, op, operands))


@sync(ClusterArriveOp, ClusterArriveRelaxedOp, crosses=Crosses.BY_MEETING)
def _cluster_arrive(agent: Agent, op: Operation) -> None:
    hands_over = not isinstance(op, ClusterArriveRelaxedOp)
    if agent.block is not None:
        arrive_in_cluster(agent, op, hands_over=hands_over)
        return
    agent.assume(CLUSTER_AS_ONE)
    barrier = _rendezvous(agent, op, "the cluster barrier", threads_left(agent), of_all=True)
    arrival = agent.part(ClusterArrival)
    arrival.barrier, arrival.generation = barrier, arrive_at_barrier(agent, op, barrier, hands_over=hands_over)


@suspends(ClusterWaitOp, crosses=Crosses.BY_MEETING)
def _cluster_wait(agent: Agent, op: Operation) -> Answer:
    return wait_in_cluster(agent, op)


@suspends(thread.ExitOp)
def _exit(agent: Agent, op: Operation) -> Answer:
    """The threads end here, and hand over nothing. Barriers of the whole block do not wait for them any more."""
    if agent.threads != agent.size:
        raise UnsupportedError(
            op, "ends some threads of an agent and not the others; let all of them branch to their end"
        )
    agent.note(op, "leave", "leaves the block")
    leave_block(agent, op)
    return Leave()


# Fences, election, registers ------------------------------------------------------------------------------------------

PROXY_FENCES = {"async": FENCE_SPACES, "async.global": ("global",), "async.shared": ("shared",)}


@sync(fence.FenceProxyOp)
def _fence_proxy(agent: Agent, op: Any) -> None:
    fence_proxies(agent, op, PROXY_FENCES.get(str(op.kind.data), ()))


@sync(fence.FenceMbarrierInitOp)
def _fence_init(agent: Agent, op: Operation) -> None:
    fence_inits(agent)
    if agent.block is not None:
        publish_inits(agent)


@sync(fence.FenceProxyReleaseOp)
def _release_maps(agent: Agent, op: Operation) -> None:
    release_maps(agent)
    agent.note(op, "fence", "releases what was written to tensor maps")


@sync(fence.FenceProxyAcquireOp)
def _acquire_map(agent: Agent, op: Operation, address: Any, _size: Any) -> None:
    acquire_map(agent, agent.known(address, op, "acquires the tensor map at"))
    agent.note(op, "fence", "acquires a tensor map")


@effect(registers.ElectSyncOp)
def _elect(agent: Agent, op: Operation, *_mask: Any) -> Any:
    """True in one of the active threads, and which one is open, as a rule: the first stands for it."""
    chosen = agent.lanes[0]
    if agent.threads == 1:
        return 1
    agent.assume(ORDERS_ITS_WARP)
    varies = Varies.BY_ELECTION
    if agent.elections is Elections.FIRST and registers.FIRST_IF_NEEDED in op.attributes:
        agent.assume(FIRST_ELECTED)
        varies = Varies.BY_THREAD
    return per_thread(agent, [int(lane == chosen) for lane in range(agent.size)], varies)


@effect(fence.MembarOp, fence.FenceScClusterOp)
def _memory_barrier(agent: Agent, op: Operation) -> None:
    """It orders atomic accesses; the rest the machine keeps in order anyway."""
    words.fence(agent, op)


@effect(
    fence.FenceSyncRestrictOp,
    fence.FenceProxySyncRestrictOp,
    thread.NanosleepOp,
    bulk.PrefetchOp,
    bulk.CpAsyncBulkPrefetchOp,
    bulk.CpAsyncBulkTensorPrefetchOp,
    opaque=EVERY_OPERAND,
)
def _no_effect_here(_agent: Agent, _op: Operation, *_operands: Any) -> None:
    """Nothing: the op orders what the machine keeps in order anyway, or changes only the speed."""


@sync(GriddepcontrolOp)
def _grid_dependency(agent: Agent, op: GriddepcontrolOp) -> None:
    if waits_for_grids(op):
        wait_for_earlier_grids(agent, op)
    else:
        launch_dependents(agent)


@suspends(registers.SetMaxRegisterOp)
def _set_max_register(agent: Agent, op: registers.SetMaxRegisterOp) -> Answer:
    """A warp gives registers back, or waits until the pool of the block has those that it lacks (`register_pool`)."""
    if agent.threads != agent.size:
        rule = 'a branch that all threads of the warp take (PTX ISA, "barrier")'
        end_malformed(agent, op, "is executed by some threads of a warp", rule)
    warps, count = warps_of_agent(agent), op.reg_count.value.data
    note_executed(agent, op, warps)
    if op.action.data is SetMaxRegisterAction.INCREASE:
        return raise_registers(agent, op, warps, count)
    lower_registers(agent, op, warps, count)
    return None


@sync(SyncWarpOp)
def _sync_warp(agent: Agent, op: Operation, mask: Any) -> None:
    """The threads in the mask meet. A mask that leaves some out, or is not known, is taken for none."""
    every = (1 << agent.size) - 1
    if mask is not UNKNOWN and not isinstance(mask, PerThread) and int(mask) & every == every:
        agent.let_threads_meet()
    agent.own_waits = []


@effect(MapaOp, per_thread=TakesPerThread.ONE_BY_ONE, crosses=Crosses.BY_RANK)
def _mapa(agent: Agent, op: Operation, pointer: Any, rank: Any) -> Pointer:
    """The place in another block that corresponds to one in this block."""
    place: Pointer = agent.known(pointer, op, "takes the address in another block of")
    return place_in_block(agent, op, place, agent.known(rank, op, "takes as its rank"))


THREAD_REGISTERS: dict[type[Operation], Reading] = {
    registers.ThreadIdXOp: thread_id(0),
    registers.ThreadIdYOp: thread_id(1),
    registers.ThreadIdZOp: thread_id(2),
    registers.WarpIdOp: warp_ids,
    registers.LaneIdOp: lane_ids,
    registers.LaneMaskEqOp: lambda threads: [1 << lane for lane in lane_ids(threads)],
    registers.LaneMaskLtOp: lambda threads: [(1 << lane) - 1 for lane in lane_ids(threads)],
    registers.LaneMaskLeOp: lambda threads: [(2 << lane) - 1 for lane in lane_ids(threads)],
    registers.LaneMaskGtOp: lambda threads: [ALL_LANES - (2 << lane) + 1 for lane in lane_ids(threads)],
    registers.LaneMaskGeOp: lambda threads: [ALL_LANES - (1 << lane) + 1 for lane in lane_ids(threads)],
    registers.BlockDimXOp: block_extent(0),
    registers.BlockDimYOp: block_extent(1),
    registers.BlockDimZOp: block_extent(2),
    registers.WarpDimOp: warps_in_block,
    registers.WarpSizeOp: warp_sizes,
}
"""Registers that tell the threads of a block apart, or count them."""

ALL_LANES = (1 << WARP) - 1
"""The mask of all lanes of a warp."""

BLOCK_IDS = (
    registers.SmIdOp,
    registers.GridIdOp,
    registers.ClusterIdOp,
    registers.BlockIdXOp,
    registers.BlockIdYOp,
    registers.BlockIdZOp,
    registers.ClusterIdXOp,
    registers.ClusterIdYOp,
    registers.ClusterIdZOp,
    registers.BlockInClusterIdXOp,
    registers.BlockInClusterIdYOp,
    registers.BlockInClusterIdZOp,
)
"""Numbers of blocks, of clusters and of what runs them: 0, or in a check any from 0 up."""

BLOCK_EXTENTS = (
    registers.ClusterDimOp,
    registers.GridDimXOp,
    registers.GridDimYOp,
    registers.GridDimZOp,
    registers.ClusterDimXOp,
    registers.ClusterDimYOp,
    registers.ClusterDimZOp,
    registers.ClusterDimBlocksXOp,
    registers.ClusterDimBlocksYOp,
    registers.ClusterDimBlocksZOp,
)
"""How many there are of these: 1, or in a check any from 1 up."""


@pure(*THREAD_REGISTERS, may_fail=True)
def _register(agent: Agent, op: Operation) -> Any:
    reading = THREAD_REGISTERS[type(op)]
    return read_by_threads(agent, op, lambda threads: (wrap(n, op.results[0].type) for n in reading(threads)))


def _register_name(op: Operation) -> str:
    """Its name in PTX, without the `%`: `ctaid.x`."""
    return op.name.partition("sreg.")[2]


block_ids(_register_name, *BLOCK_IDS)
block_extents(_register_name, *BLOCK_EXTENTS)

refused("combines what the threads of a warp decide, and an agent has one flow of control", thread.VoteSyncOp)
