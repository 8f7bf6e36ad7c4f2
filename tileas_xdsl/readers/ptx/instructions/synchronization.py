"""
Instructions by which threads meet (PTX ISA, "Parallel Synchronization and Communication Instructions").

    bar.sync a, b                                   nvvm.barrier id = a number_of_threads = b
    mbarrier.arrive.expect_tx.shared.b64 d, [m], a  nvvm.mbarrier.arrive.expect_tx
    mbarrier.try_wait.parity.shared.b64 p, [m], a   nvvm.mbarrier.try_wait; a loop that only asks is a wait (`waits`)
    elect.sync d|p, a                               nvvm.elect.sync, where p matters
    clusterlaunchcontrol.try_cancel... [a], [m]     nvvm.clusterlaunchcontrol.try.cancel

A scope and an order that are not written are `.cta` and `.release` or `.acquire` (PTX ISA 9.1, "mbarrier.arrive",
"mbarrier.arrive_drop", "mbarrier.test_wait, mbarrier.try_wait").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nvvm import barrier, cp_async, fence, mbarrier
from tileas_xdsl.dialects.nvvm.attributes import (
    CancelQuery,
    MemOrder,
    MemScope,
    ProxyKind,
    SharedSpace,
    ShflKind,
)
from tileas_xdsl.dialects.nvvm.cluster_launch import ClusterLaunchControlQueryCancelOp, ClusterLaunchControlTryCancelOp
from tileas_xdsl.dialects.nvvm.registers import FIRST_IF_NEEDED, ElectSyncOp
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.readers.ptx.emission import Emission
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.rows import Call, Row
from tileas_xdsl.readers.ptx.operands import Address, Operand, Pair, both
from tileas_xdsl.readers.ptx.steps import Constant, Register, Step
from tileas_xdsl.readers.ptx.steps import Operand as Value

PLACE = "shared shared::cta b64"
FAR = f"{PLACE} shared::cluster"
ORDER = "release relaxed acquire cta cluster"
FIRST_BLOCK = "get_first_ctaid get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z v4 b32 b128"


def number_in(builder: Builder, operand: Operand, what: str) -> int:
    """The constant that an operand has to be. Raises `PtxError`."""
    found = builder.read(operand, 32)
    if not isinstance(found, Constant):
        raise builder.here.error(f"has {what} that is no constant")
    return found.value


def _plain(make: Callable[[], Operation], builder: Builder, call: Call) -> None:
    """An op without operands."""
    builder.act(call.instruction.name, lambda e, _step: _added(e, make()))


def _added(e: Emission, op: Operation) -> None:
    e.add(op)


# mbarriers ------------------------------------------------------------------------------------------------------------


def _scope(call: Call) -> MemScope:
    return MemScope.CLUSTER if call.has("cluster") else MemScope.CTA


def _place(e: Emission, step: Step) -> SSAValue:
    """The barrier that a step uses: in another block of the cluster where it says so."""
    return e.cluster(step.operands[0]) if step.detail == "far" else e.shared(step.operands[0])


def _distance(builder: Builder, call: Call) -> str:
    return "far" if call.has("shared::cluster") and builder.blocks_of_cluster > 1 else "near"


def _initialised(builder: Builder, call: Call) -> None:
    """Nothing but order is asked of later uses: a copy accesses its mbarrier by the generic proxy."""

    def make(e: Emission, step: Step) -> None:
        made = mbarrier.MBarrierInitOp(e.shared(step.operands[0]), e.value(step.operands[1]))
        made.attributes[mbarrier.ORDER_IS_ENOUGH] = UnitAttr()
        e.add(made)

    builder.act("init", make, [builder.address(call[0]), builder.read(call[1], 32)])


def _invalidated(builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        e.add(mbarrier.MBarrierInvalOp(e.shared(step.operands[0])))

    builder.act("inval", make, [builder.address(call[0])])


def _expected(op: type[mbarrier.TransactionOp], builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        e.add(op(_place(e, step), e.value(step.operands[1]), scope=scope))

    scope = _scope(call)
    builder.act("bytes", make, [builder.address(call[0]), builder.read(call[1], 32)], detail=_distance(builder, call))


def _arrived(builder: Builder, call: Call) -> None:
    """`mbarrier.arrive` and `arrive_drop`: the state is its first operand, unless it is left out."""
    has_state = len(call.operands) > 1 and not _is_address(call[0])
    state = call[0] if has_state else None
    place, numbers = call[int(has_state)], call.operands[1 + has_state :]
    drops = call.instruction.words[1] == "arrive_drop"
    scope, relaxed, far = _scope(call), call.has("relaxed"), _distance(builder, call)
    operands: list[Value] = [builder.address(place), *(builder.read(part, 32) for part in numbers)]
    result = Register("", 64)

    def make(e: Emission, step: Step) -> None:
        place = _place(e, step)
        wanted = e.is_live(step.results[0]) and far == "near"
        count = e.value(step.operands[1]) if len(step.operands) > 1 else None
        if call.has("expect_tx"):
            assert count is not None
            made: Operation
            if drops:
                made = mbarrier.MBarrierArriveDropExpectTxOp(
                    place, count, scope=scope, relaxed=relaxed, returns_state=wanted
                )
            else:
                made = mbarrier.MBarrierArriveExpectTxOp(
                    place, count, scope=scope, relaxed=relaxed, returns_state=wanted
                )
        elif call.has("noComplete"):
            bare = mbarrier.MBarrierArriveDropNocompleteOp if drops else mbarrier.MBarrierArriveNocompleteOp
            made = bare(place, count if count is not None else e.number(1, 32))
        else:
            counted = mbarrier.MBarrierArriveDropOp if drops else mbarrier.MBarrierArriveOp
            made = counted(place, count, scope=scope, relaxed=relaxed, returns_state=wanted)
        e.add(made)
        if wanted:
            e.bind(step.results[0], made.results[0])

    builder.act("arrive", make, operands, results=[result], detail=far)
    if state is not None:
        builder.write(state, result)


def _is_address(operand: Operand) -> bool:
    return isinstance(operand, Address)


def _asked(builder: Builder, call: Call) -> None:
    """`test_wait`, `try_wait`: one question, whose answer may be no."""
    parity = call.has("parity")
    which = builder.read(call[2], 32 if parity else 64)
    result = Register("", 1)
    detail = (call.instruction.words[1], parity, _scope(call), call.has("relaxed"))
    builder.act("ask", make_question, [builder.address(call[1]), which], results=[result], detail=detail)
    builder.write(call[0], result)


def make_question(e: Emission, step: Step) -> None:
    """One test of a barrier."""
    word, _, scope, relaxed = step.detail
    kind = mbarrier.MBarrierTestWaitOp if word == "test_wait" else mbarrier.MBarrierTryWaitOp
    asked = kind(e.shared(step.operands[0]), e.value(step.operands[1]), scope=scope, relaxed=relaxed)
    e.add(asked)
    e.give(step, [asked.results[0]])


TICKS = 10_000_000
"""Nanoseconds for which a wait may sleep between two tries; no meaning depends on it."""


def make_wait(e: Emission, step: Step) -> None:
    """The whole loop that asks until the answer is yes."""
    e.add(mbarrier.MBarrierTryWaitParityOp(e.shared(step.operands[0]), e.value(step.operands[1]), e.number(TICKS, 32)))


def _after_copies(builder: Builder, call: Call) -> None:
    """`cp.async.mbarrier.arrive`"""
    noinc = call.has("noinc")

    def make(e: Emission, step: Step) -> None:
        e.add(cp_async.CpAsyncMBarrierArriveOp(e.shared(step.operands[0]), noinc=noinc))

    builder.act("cp.async.mbarrier.arrive", make, [builder.address(call[0])])


# Work of other clusters -----------------------------------------------------------------------------------------------


def _work_asked_for(builder: Builder, call: Call) -> None:
    multicast = call.has("multicast::cluster::all") and builder.blocks_of_cluster > 1

    def make(e: Emission, step: Step) -> None:
        answer, place = map(e.shared, step.operands)
        e.add(ClusterLaunchControlTryCancelOp(answer, place, multicast=multicast))

    builder.act("try cancel", make, [builder.address(call[0]), builder.address(call[1])])


def _work_given(builder: Builder, call: Call) -> None:
    """`query_cancel.is_canceled`; which cluster it is stays open."""
    result = Register("", 1)

    def make(e: Emission, step: Step) -> None:
        _give(e, step, ClusterLaunchControlQueryCancelOp(CancelQuery.IS_CANCELED, e.value(step.operands[0])))

    builder.act("query cancel", make, [builder.read(call[1], 128)], results=[result], kind="ask")
    builder.write(call[0], result)


# Barriers of the block, the warp, the cluster -------------------------------------------------------------------------


def _met(builder: Builder, call: Call) -> None:
    operands = [builder.read(operand, 32) for operand in call.operands]

    def make(e: Emission, step: Step) -> None:
        if step.operands == [Constant(0, 32)]:
            e.add(barrier.Barrier0Op())
        else:
            number, *count = map(e.value, step.operands)
            e.add(barrier.BarrierOp(number, count[0] if count else None))

    builder.act("barrier", make, operands)


def _arrived_at_barrier(builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        number, count = map(e.value, step.operands)
        e.add(barrier.BarrierArriveOp(count, number))

    builder.act("barrier", make, [builder.read(operand, 32) for operand in call.operands])


def _warp_met(builder: Builder, call: Call) -> None:
    def make(e: Emission, step: Step) -> None:
        e.add(barrier.SyncWarpOp(e.value(step.operands[0])))

    builder.act("warp", make, [builder.read(call[0], 32)])


def _cluster_met(builder: Builder, call: Call) -> None:
    aligned = call.has("aligned")
    kind: type[barrier.ClusterBarrierOp] = barrier.ClusterWaitOp
    if call.instruction.words[2] == "arrive":
        kind = barrier.ClusterArriveRelaxedOp if call.has("relaxed") else barrier.ClusterArriveOp
    builder.act("cluster", lambda e, _step: _added(e, kind(aligned=aligned)))


# Fences ---------------------------------------------------------------------------------------------------------------

PROXIES = {
    "async": (ProxyKind.ASYNC, None),
    "async.global": (ProxyKind.ASYNC_GLOBAL, None),
    "async.shared::cta": (ProxyKind.ASYNC_SHARED, SharedSpace.CTA),
    "async.shared::cluster": (ProxyKind.ASYNC_SHARED, SharedSpace.CLUSTER),
}
SCOPES = {scope.value: scope for scope in MemScope} | {"gl": MemScope.GPU}


def _proxy_fenced(builder: Builder, call: Call) -> None:
    kind, space = PROXIES[".".join(("async", *call.modifiers))]
    builder.act("fence", lambda e, _step: _added(e, fence.FenceProxyOp(kind, space)))


def _map_acquired(builder: Builder, call: Call) -> None:
    scope = SCOPES[call.one_of(SCOPES) or "gpu"]

    def make(e: Emission, step: Step) -> None:
        e.add(fence.FenceProxyAcquireOp(scope, e.tensor_map(step.operands[0]), e.number(128, 32)))

    builder.act("map fence", make, [builder.address(call[0])])


def _fenced(builder: Builder, call: Call) -> None:
    scope = SCOPES[call.one_of(SCOPES) or "sys"]
    builder.act("fence", lambda e, _step: _added(e, fence.MembarOp(scope)))


def _fenced_one_way(builder: Builder, call: Call) -> None:
    order = MemOrder.ACQUIRE if call.has("acquire") else MemOrder.RELEASE
    builder.act("fence", lambda e, _step: _added(e, fence.FenceSyncRestrictOp(order)))


def _proxy_fenced_one_way(builder: Builder, call: Call) -> None:
    order = MemOrder.ACQUIRE if call.has("acquire") else MemOrder.RELEASE
    builder.act("fence", lambda e, _step: _added(e, fence.FenceProxySyncRestrictOp(order)))


# Warps ----------------------------------------------------------------------------------------------------------------


def _elected(builder: Builder, call: Call) -> None:
    """Which lane it is nobody knows; only a whole warp elects."""
    lane, chosen = call[0], call[0]
    if isinstance(lane, Pair):
        lane, chosen = lane.first, lane.second
    result = Register("", 1)
    builder.act("elect", _make_election, [builder.read(call[1], 32)], results=[result], kind="ask")
    builder.write(chosen, result)
    if lane is not chosen:
        builder.write_unknown(lane)


def _make_election(e: Emission, step: Step) -> None:
    """The mask may stand in a register, which SSA has resolved by now."""
    if step.operands[0] != Constant(0xFFFFFFFF, 32):
        raise step.instruction.error("elects among some lanes of a warp; all (-1) are read")
    made = ElectSyncOp()
    made.attributes[FIRST_IF_NEEDED] = UnitAttr()
    _give(e, step, made)


def _give(e: Emission, step: Step, op: Operation) -> None:
    e.add(op)
    e.give(step, op.results)


KINDS = {kind.value: kind for kind in ShflKind}


def _exchanged(builder: Builder, call: Call) -> None:
    target, valid = both(call[0])
    value, offset, clamp, mask = (builder.read(operand, 32) for operand in call.operands[1:5])
    kind = KINDS[call.one_of(KINDS) or "idx"]
    result = Register("", 32)

    def make(e: Emission, step: Step) -> None:
        a, b, c, m = map(e.value, step.operands)
        _give(e, step, ShflOp(kind, m, a, b, c))

    builder.act("shfl", make, [value, offset, clamp, mask], results=[result], kind="ask")
    builder.write(target, result)
    if valid is not None:
        builder.write_unknown(valid)


def _unknown(builder: Builder, call: Call) -> None:
    builder.write_unknown(call[0])


def _nothing(_builder: Builder, _call: Call) -> None:
    """What has no meaning for a check."""


EXPECT, COMPLETE = mbarrier.MBarrierExpectTxOp, mbarrier.MBarrierCompleteTxOp
WARP_WORDS = "sync aligned b32 b64 pred ballot any all uni u32 s32 and or xor add min max NaN abs f32"
ARRIVING = f"{FAR} {ORDER} expect_tx noComplete"

SYNCHRONIZATION: tuple[Row, ...] = (
    Row("mbarrier.init", "m a", PLACE, "nvvm.mbarrier.init", _initialised, acts=True),
    Row("mbarrier.inval", "m", PLACE, "nvvm.mbarrier.inval", _invalidated, acts=True),
    Row(
        "mbarrier.expect_tx",
        "m a",
        f"{FAR} relaxed cta cluster",
        "nvvm.mbarrier.expect_tx",
        partial(_expected, EXPECT),
        acts=True,
    ),
    Row(
        "mbarrier.complete_tx",
        "m a",
        f"{FAR} relaxed cta cluster",
        "nvvm.mbarrier.complete_tx",
        partial(_expected, COMPLETE),
        acts=True,
    ),
    Row(
        "mbarrier.arrive",
        "d? m a?",
        ARRIVING,
        "nvvm.mbarrier.arrive, nvvm.mbarrier.arrive.expect_tx, nvvm.mbarrier.arrive.nocomplete",
        _arrived,
        acts=True,
    ),
    Row(
        "mbarrier.arrive_drop",
        "d? m a?",
        ARRIVING,
        "nvvm.mbarrier.arrive_drop, nvvm.mbarrier.arrive_drop.expect_tx, nvvm.mbarrier.arrive_drop.nocomplete",
        _arrived,
        acts=True,
    ),
    Row("mbarrier.test_wait", "p m a", f"parity {PLACE} {ORDER}", "nvvm.mbarrier.test.wait", _asked, acts=True),
    Row("mbarrier.try_wait", "p m a c?", f"parity {PLACE} {ORDER}", "nvvm.mbarrier.try_wait", _asked, acts=True),
    Row("mbarrier.pending_count", "d a", "b64", "an unknown number", _unknown),
    Row("cp.async.mbarrier.arrive", "m", f"noinc {PLACE}", "nvvm.cp.async.mbarrier.arrive", _after_copies, acts=True),
    Row("bar.sync", "a b?", "", "nvvm.barrier0, nvvm.barrier", _met, acts=True),
    Row("bar.cta.sync", "a b?", "", "nvvm.barrier", _met, acts=True),
    Row("barrier.sync", "a b?", "aligned", "nvvm.barrier", _met, acts=True),
    Row("barrier.cta.sync", "a b?", "aligned", "nvvm.barrier", _met, acts=True),
    Row("bar.arrive", "a b", "", "nvvm.barrier.arrive", _arrived_at_barrier, acts=True),
    Row("bar.cta.arrive", "a b", "", "nvvm.barrier.arrive", _arrived_at_barrier, acts=True),
    Row("barrier.arrive", "a b", "aligned", "nvvm.barrier.arrive", _arrived_at_barrier, acts=True),
    Row("barrier.cta.arrive", "a b", "aligned", "nvvm.barrier.arrive", _arrived_at_barrier, acts=True),
    Row("bar.warp.sync", "a", "", "nvvm.bar.warp.sync", _warp_met, acts=True),
    Row(
        "barrier.cluster",
        "",
        "arrive wait release acquire relaxed aligned",
        "nvvm.cluster.arrive, nvvm.cluster.wait, nvvm.cluster.arrive.relaxed",
        _cluster_met,
        acts=True,
    ),
    Row("fence.proxy.async", "", "global shared::cta shared::cluster", "nvvm.fence.proxy", _proxy_fenced, acts=True),
    Row(
        "fence.proxy.async::generic",
        "",
        "acquire release sync_restrict::shared::cta sync_restrict::shared::cluster cluster",
        "nvvm.fence.proxy.sync_restrict",
        _proxy_fenced_one_way,
        acts=True,
    ),
    Row(
        "fence.mbarrier_init",
        "",
        "release cluster",
        "nvvm.fence.mbarrier.init",
        partial(_plain, fence.FenceMbarrierInitOp),
        acts=True,
    ),
    Row(
        "fence.proxy.tensormap::generic",
        "m a",
        "acquire cta cluster gpu sys",
        "nvvm.fence.proxy.acquire",
        _map_acquired,
        acts=True,
    ),
    Row("fence.proxy.alias", "", "", "nothing", _nothing),
    Row(
        "fence",
        "",
        "acquire release sync_restrict::shared::cta sync_restrict::shared::cluster cluster",
        "nvvm.fence.sync_restrict",
        _fenced_one_way,
        acts=True,
        needs="sync_restrict::shared::cta sync_restrict::shared::cluster",
    ),
    Row("fence", "", "acq_rel sc acquire release cta cluster gpu sys", "nvvm.memory.barrier", _fenced, acts=True),
    Row("membar", "", "cta gl sys", "nvvm.memory.barrier", _fenced, acts=True),
    Row(
        "clusterlaunchcontrol.try_cancel",
        "m m",
        "async shared::cta mbarrier::complete_tx::bytes multicast::cluster::all b128",
        "nvvm.clusterlaunchcontrol.try.cancel",
        _work_asked_for,
        acts=True,
        needs="shared::cta",
    ),
    Row(
        "clusterlaunchcontrol.query_cancel.is_canceled",
        "p a",
        "pred b128",
        "nvvm.clusterlaunchcontrol.query.cancel",
        _work_given,
    ),
    Row("clusterlaunchcontrol.query_cancel", "v a", FIRST_BLOCK, "an unknown number", _unknown),
    Row("elect.sync", "p a", "", "nvvm.elect.sync", _elected),
    Row("shfl.sync", "d a b c e", "idx up down bfly b32", "nvvm.shfl.sync", _exchanged),
    Row("shfl", "d a b c", "idx up down bfly b32", "an unknown number", _unknown),
    Row("vote.sync", "d a b", WARP_WORDS, "an unknown number", _unknown),
    Row("match", "d a b", WARP_WORDS, "an unknown number", _unknown),
    Row("redux.sync", "d a b", WARP_WORDS, "an unknown number", _unknown),
    Row("activemask", "d", "b32", "an unknown number", _unknown),
    Row("setmaxnreg", "a", "inc dec sync aligned u32", "nothing", _nothing),
    Row("nanosleep", "a", "u32", "nothing", _nothing),
    Row("griddepcontrol", "", "wait launch_dependents", "nothing", _nothing),
    Row("pmevent", "a", "mask", "nothing", _nothing),
)
