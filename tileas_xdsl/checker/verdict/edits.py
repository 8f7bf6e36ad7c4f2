"""
Edits that may repair a mistake: each adds, moves or corrects one piece of synchronisation near its ops.

    nvvm.cp.async.wait.group 2   ->   nvvm.cp.async.wait.group 1        a count too many
    nvvm.mbarrier.init %bar, %c1                                        a fence that is missing
                                 +    nvvm.fence.mbarrier.init
    nvvm.cp.async.wait.group 0   ->   nvvm.cp.async.commit.group        a wait that comes too early
    nvvm.cp.async.commit.group        nvvm.cp.async.wait.group 0

They are guesses: `repairing` tries them, and keeps one if the program is safe with it. No edit touches an op that moves
or computes data, and none takes synchronisation away. The tables say what may be inserted, moved and corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain
from typing import TypeAlias, cast

from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i1, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.dialects import async_queue, nvgpu
from tileas_xdsl.dialects.async_.groups import AwaitAllOp
from tileas_xdsl.dialects.async_.tasks import AwaitOp, ExecuteOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp
from tileas_xdsl.dialects.nvvm import barrier, bulk, cp_async, fence, mbarrier, tcgen05, wgmma
from tileas_xdsl.dialects.nvvm.attributes import GridDepAction, MemScope, MemScopeAttr, ProxyKind, SharedSpace
from tileas_xdsl.dialects.rocdl import ROCDL, barriers, waits
from tileas_xdsl.dialects.triton import amdg, ttg, ttng
from tileas_xdsl.machine.core.violations import Violation, ViolationKind

Values: TypeAlias = Callable[[SSAValue], SSAValue]
"""Leads from a value of a module to the same value of its copy."""
Maker: TypeAlias = Callable[[Values], Sequence[Operation]]
Kinds: TypeAlias = tuple[type[Operation], ...]
Correction: TypeAlias = Callable[[Operation], None]


class Side(Enum):
    """Where an edit puts its ops: before an op, after it, or instead of it."""

    BEFORE = auto()
    AFTER = auto()
    INSTEAD = auto()


@dataclass(frozen=True)
class Edit:
    """
    One change at the op `at`: the ops that `make` builds for a copy of the module, or `moved`, go to its `side`, or
    `correct` changes its properties.
    """

    at: Operation
    side: Side
    make: Maker | None = None
    moved: tuple[Operation, ...] = ()
    correct: Correction | None = None


@dataclass(frozen=True)
class Edited:
    """A copy of a module with one change."""

    module: ModuleOp
    added: tuple[Operation, ...]
    """The ops that are new in it, or that stand elsewhere."""


def edited(module: ModuleOp, edit: Edit) -> Edited:
    """A copy of `module` with `edit`."""
    values: dict[SSAValue, SSAValue] = {}
    copy = module.clone(value_mapper=values)
    ops = dict(zip(module.walk(), copy.walk(), strict=True))
    at = ops[edit.at]
    if edit.correct is not None:
        edit.correct(at)
        return Edited(copy, (at,))
    added = [ops[each] for each in edit.moved]
    for op in added:
        op.detach()
    if edit.make is not None:
        added = list(edit.make(lambda value: values.get(value, value)))
    for op in added:
        op.location = at.location
    block = at.parent
    assert block is not None
    if edit.side is Side.AFTER:
        block.insert_ops_after(added, at)
    else:
        block.insert_ops_before(added, at)
    if edit.side is Side.INSTEAD:
        for old, new in zip(at.results, added[-1].results, strict=False):
            old.replace_all_uses_with(new)
        block.erase_op(at)
    return Edited(copy, tuple(added))


def candidates(violation: Violation, about: Iterable[Operation]) -> Iterator[Edit]:
    """
    What may repair `violation`, the likeliest first; `about` are further ops of its witness.
    """
    case = Case(violation, tuple(dict.fromkeys(party.op for party in violation.parties)), tuple(dict.fromkeys(about)))
    if case.function is not None:
        for generator in GENERATORS[violation.kind]:
            yield from generator(case)


@dataclass(frozen=True)
class Case:
    """A violation, the ops of its parties, and the ops of its witness."""

    violation: Violation
    parties: tuple[Operation, ...]
    about: tuple[Operation, ...]

    @property
    def function(self) -> Operation | None:
        """The function in which the first party stands."""
        op: Operation | None = self.parties[0]
        while op is not None and not isinstance(op.parent_op(), ModuleOp):
            op = op.parent_op()
        return op

    @property
    def synchronisation(self) -> list[Operation]:
        """The ops of the function that may be moved or corrected, those of the parties and the witness first."""
        assert self.function is not None
        near = [op for op in (*self.parties, *self.about) if type(op) in MOVABLE]
        return list(dict.fromkeys([*near, *(op for op in self.function.walk() if type(op) in MOVABLE)]))

    def speaks(self, *dialects: str) -> bool:
        """Whether the function uses one of these dialects."""
        assert self.function is not None
        return any(op.name.partition(".")[0] in dialects for op in self.function.walk())


# Places ---------------------------------------------------------------------------------------------------------------


def around(ops: Iterable[Operation]) -> Iterator[tuple[Operation, Side]]:
    """Before and after each op, and before and after the ops around it."""
    for op in ops:
        here: Operation | None = op
        while here is not None and isinstance(here.parent, Block) and here.parent_op() is not None:
            if isinstance(here.parent_op(), ModuleOp):
                break
            yield here, Side.BEFORE
            if not here.has_trait(IsTerminator):
                yield here, Side.AFTER
            here = here.parent_op()


def at_ends(ops: Iterable[Operation]) -> Iterator[tuple[Operation, Side]]:
    """Before the terminators of the blocks around `ops`, innermost first."""
    for op in ops:
        here: Operation | None = op
        while here is not None and here.parent is not None and not isinstance(here.parent_op(), ModuleOp):
            if here.parent.last_op is not None:
                yield here.parent.last_op, Side.BEFORE
            here = here.parent_op()


def inserted(places: Iterable[tuple[Operation, Side]], makers: Iterable[Maker]) -> Iterator[Edit]:
    """Every one of `makers` at every one of `places`, each place once."""
    known = list(dict.fromkeys(places))
    for maker in makers:
        yield from (Edit(at, side, maker) for at, side in known)


# What may be inserted -------------------------------------------------------------------------------------------------


def fences(case: Case) -> Iterator[Edit]:
    """The fence that a missing-fence asks for: of the initialisation of barriers, of proxies, or of registers."""
    for op in case.parties:
        if isinstance(op, mbarrier.MBarrierInitOp):
            last = [each for each in op.parent.ops if isinstance(each, type(op))][-1] if op.parent is not None else op
            yield from inserted([*around([last])], [lambda _: [fence.FenceMbarrierInitOp()]])
    if any(isinstance(op, wgmma.WGMMA_OPS) for op in case.parties):
        yield from inserted(around(case.parties), [lambda _: [wgmma.WgmmaFenceAlignedOp()]])
    elif case.speaks("ttng"):
        yield from inserted(around(case.parties), [_fence_of_triton])
    else:
        signals = [op for op in case.synchronisation if isinstance(op, SIGNALS)]
        yield from inserted([*around(case.parties), *((op, Side.BEFORE) for op in signals)], PROXY_FENCES)


def _fence_of_triton(_: Values) -> Sequence[Operation]:
    return [ttng.FenceAsyncSharedOp.build(properties={"bCluster": IntegerAttr(0, i1)})]


SHARED = (ProxyKind.ASYNC_SHARED, SharedSpace.CTA)
PROXY_FENCES: tuple[Maker, ...] = (
    lambda _: [fence.FenceProxyOp(*SHARED)],
    lambda _: [fence.FenceProxyOp(ProxyKind.ASYNC_GLOBAL)],
    lambda _: [fence.FenceProxyOp(ProxyKind.ASYNC)],
)


def waits_for_work(case: Case) -> Iterator[Edit]:
    """A wait for all of the work that one of the parties issues: before the other party, and before the end."""
    later = case.parties[-1:]
    stops = [op for op in case.synchronisation if isinstance(op, MEETINGS)]
    places = [
        *around(later),
        *((op, Side.BEFORE) for op in stops),
        *at_ends(case.parties),
        *around(case.parties),
    ]
    for op in case.parties:
        yield from inserted(places, _waits_for(op))
    for op in case.parties:
        task = _task_around(op)
        if task is not None:
            token = task.results[0]
            yield from inserted(around(later), [lambda values, token=token: [AwaitOp(values(token))]])


def _task_around(op: Operation) -> Operation | None:
    here: Operation | None = op
    while here is not None and not isinstance(here, ExecuteOp):
        here = here.parent_op()
    return here


def _waits_for(op: Operation) -> Sequence[Maker]:
    """What waits for the work of `op`, without and with what closes its group."""
    for issuing, makers in WAITS:
        if isinstance(op, issuing):
            return makers
    around_it = op.parent_op()
    if isinstance(op, async_queue.ScopeOp) and isinstance(around_it, async_queue.CommitOp):
        queue = around_it.constant_queue
        if queue is not None:
            number = queue.value.data
            return [lambda _: [async_queue.WaitOp(number, 0)], lambda _: [async_queue.WaitOp(number, 1)]]
    return []


CP_ASYNC_BULK_OPS = tuple(op for op in bulk.BULK_OPS if op not in (bulk.StBulkOp, bulk.PrefetchOp))
WAITS: tuple[tuple[Kinds, Sequence[Maker]], ...] = (
    (
        CP_ASYNC_BULK_OPS,
        (
            lambda _: [bulk.CpAsyncBulkWaitGroupOp(0)],
            lambda _: [bulk.CpAsyncBulkCommitGroupOp(), bulk.CpAsyncBulkWaitGroupOp(0)],
        ),
    ),
    (
        cp_async.CP_ASYNC_OPS,
        (
            lambda _: [cp_async.CpAsyncWaitGroupOp(0)],
            lambda _: [cp_async.CpAsyncCommitGroupOp(), cp_async.CpAsyncWaitGroupOp(0)],
        ),
    ),
    (wgmma.WGMMA_OPS, (lambda _: [wgmma.WgmmaWaitGroupSyncOp(0)],)),
    (
        tuple(ROCDL.operations),
        (
            lambda _: [waits.WaitAsyncmarkOp(0)],
            lambda _: [waits.SWaitcntOp(3952)],
            lambda _: [waits.AsyncmarkOp()],
            lambda _: [waits.AsyncmarkOp(), waits.WaitAsyncmarkOp(0)],
        ),
    ),
    ((ttng.AsyncTMACopyLocalToGlobalOp, ttng.AsyncTMAReduceOp), (lambda _: [_wait_for_stores()],)),
    (
        (ttg.AsyncCopyGlobalToLocalOp,),
        (lambda _: [_wait_for_copies()], lambda _: [_commit_copies(), _wait_for_copies()]),
    ),
)
"""Ops that issue work, and those of their family -> what waits for that work."""


def _wait_for_stores() -> Operation:
    return ttng.AsyncTMAStoreWaitOp.build(properties={"pendings": IntegerAttr(0, i32)})


def _wait_for_copies() -> Operation:
    return ttg.AsyncWaitOp.build(operands=[[]], properties={"num": IntegerAttr(0, i32)}, result_types=[ttg.TOKEN])


def _commit_copies() -> Operation:
    return ttg.AsyncCommitGroupOp.build(operands=[[]], result_types=[ttg.TOKEN])


def meetings(case: Case) -> Iterator[Edit]:
    """A barrier of the threads, of the cluster, or a wait for the grid before: between the parties, and around them."""
    places = [*around(reversed(case.parties)), *at_ends(case.parties)]
    if case.speaks("ttg", "ttng"):
        yield from inserted(places, [lambda _: [gpu.BarrierOp()]])
    elif case.speaks("rocdl"):
        yield from inserted(places, [lambda _: [waits.SWaitcntOp(49279)]])
    else:
        yield from inserted(places, NVIDIA_MEETINGS)


NVIDIA_MEETINGS: tuple[Maker, ...] = (
    lambda _: [barrier.Barrier0Op()],
    lambda _: [barrier.ClusterArriveOp(), barrier.ClusterWaitOp()],
    lambda _: [barrier.GriddepcontrolOp(GridDepAction.WAIT)],
)


def copied(case: Case) -> Iterator[Edit]:
    """An op of the function that synchronises, once more, near the parties or at the end of a block around them."""
    places = list(dict.fromkeys([*around(case.parties), *at_ends(case.parties), *at_ends(case.synchronisation)]))
    for op in case.synchronisation:
        if op.regions or op.results:
            continue
        for at, side in places:
            for named in _operands_there(op, at, case):
                yield Edit(at, side, lambda values, op=op, named=named: [_copy_with(op, [*map(values, named)])])


def _operands_there(op: Operation, at: Operation, case: Case) -> Iterator[Sequence[SSAValue]]:
    """`op`'s operands as they are known at `at`; then with a barrier of the parties in place of the first one."""
    known = [_known_there(value, at) for value in op.operands]
    if all(value is not None for value in known):
        yield [value for value in known if value is not None]
    if not known or any(value is None for value in known[1:]):
        return
    rest = [value for value in known[1:] if value is not None]
    others = (value for party in (*case.parties, *case.about) for value in party.operands)
    for other in dict.fromkeys(others):
        there = _known_there(other, at)
        if there is not None and there is not known[0] and there.type == op.operands[0].type:
            yield [there, *rest]


def waits_at_barriers(case: Case) -> Iterator[Edit]:
    """A wait of the function once more, before the later party, for the barrier that the earlier one signals."""
    waiting = [op for op in case.synchronisation if type(op) in PARITIES]
    for op in waiting:
        for at, side in [*((other, Side.AFTER) for other in waiting), *around(case.parties[-1:])]:
            for named in list(_operands_there(op, at, case))[1:]:
                yield Edit(at, side, lambda values, op=op, named=named: [_copy_with(op, [*map(values, named)])])


def releases(case: Case) -> Iterator[Edit]:
    """An arrival at a barrier that an agent waits for, alone and behind a proxy fence, at the end of a block."""
    waiting = [op for op in case.parties if type(op) in PARITIES]
    for op in waiting:
        for at, side in at_ends(other for other in case.parties if other is not op):
            there = _known_there(op.operands[0], at)
            if there is None:
                continue
            for make in ARRIVALS.get(type(op), ()):
                yield Edit(at, side, _arriving_at(there, make))


def _arriving_at(there: SSAValue, make: Callable[[SSAValue], Sequence[Operation]]) -> Maker:
    return lambda values: make(values(there))


def _arrival_in_triton(barrier_there: SSAValue) -> Sequence[Operation]:
    properties = {"count": IntegerAttr(1, i32), "multicastCTA": IntegerAttr(0, i32)}
    return [ttng.ArriveBarrierOp.build(operands=[barrier_there, []], properties=properties)]


ARRIVALS: dict[type[Operation], Sequence[Callable[[SSAValue], Sequence[Operation]]]] = {
    mbarrier.MBarrierTryWaitParityOp: (
        lambda there: [mbarrier.MBarrierArriveOp(there)],
        lambda there: [fence.FenceProxyOp(*SHARED), mbarrier.MBarrierArriveOp(there)],
    ),
    ttng.WaitBarrierOp: (_arrival_in_triton,),
}
"""A wait -> what arrives at its barrier."""


def invalidations(case: Case) -> Iterator[Edit]:
    """The end of a barrier of the parties: near them, and at the ends of the blocks around them."""
    for op in case.parties:
        make = ENDS.get(type(op))
        if make is not None:
            for at, side in [*at_ends(case.parties), *around(case.parties)]:
                there = _known_there(op.operands[0], at)
                if there is not None:
                    yield Edit(at, side, lambda values, make=make, there=there: [make(values(there))])


ENDS: dict[type[Operation], Callable[[SSAValue], Operation]] = {
    mbarrier.MBarrierInitOp: mbarrier.MBarrierInvalOp,
    ttng.InitBarrierOp: lambda there: ttng.InvalBarrierOp.build(operands=[there]),
}


def _copy_with(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    copy = op.clone(value_mapper=dict(zip(op.operands, op.operands, strict=True)))
    copy.operands = list(operands)
    return copy


def _known_there(value: SSAValue, at: Operation) -> SSAValue | None:
    """`value` where it can be named at `at`, or else what bears its name and type there."""
    if _can_be_named(value, at):
        return value
    here: Operation | None = at
    while value.name_hint is not None and here is not None and here.parent is not None:
        made = (result for op in here.parent.ops for result in op.results)
        for other in chain(here.parent.args, made):
            if other.name_hint == value.name_hint and other.type == value.type and _can_be_named(other, at):
                return other
        here = here.parent_op()
    return None


def _can_be_named(value: SSAValue, at: Operation) -> bool:
    """Whether `value` is defined before `at`, in its block or in one around it."""
    home = value.block if isinstance(value, BlockArgument) else value.owner.parent
    here: Operation | None = at
    while here is not None and here.parent is not home:
        here = here.parent_op()
    maker = value.owner
    return here is not None and (
        not isinstance(maker, Operation) or (maker is not here and maker.is_before_in_block(here))
    )


# What may be corrected ------------------------------------------------------------------------------------------------


def weaker_counts(case: Case) -> Iterator[Edit]:
    """A wait that leaves fewer works unfinished, or that waits for what they write and not for what they read only."""
    assert case.function is not None
    for op in dict.fromkeys([*case.about, *case.function.walk()]):
        for name in COUNTS.get(type(op), ()):
            for fewer in _fewer(op, _number(op, name) or 0):
                yield _with_number(op, name, fewer)
        for name in READ_ONLY:
            if type(op) in COUNTS and name in op.properties:
                yield Edit(op, Side.INSTEAD, correct=_with(name, None))


def _fewer(op: Operation, count: int) -> Iterator[int]:
    """Smaller counts, the largest first; of `s.waitcnt` those of the field for vmcnt (LLVM, AMDGPUUsage, gfx9)."""
    low = count & 15 if isinstance(op, waits.SWaitcntOp) else count
    yield from (count - less for less in range(1, low + 1))
    if isinstance(op, waits.SWaitcntOp):
        yield count & ~(15 << 8)


def _number(op: Operation, name: str) -> int | None:
    """The number that the property `name` of `op` is, if it is one."""
    value = op.properties.get(name)
    return cast("IntegerAttr", value).value.data if isinstance(value, IntegerAttr) else None


def _with_number(op: Operation, name: str, number: int) -> Edit:
    """Another number as the property `name` of `op`."""
    known = cast("IntegerAttr[IntegerType]", op.properties[name])
    return Edit(op, Side.INSTEAD, correct=_with(name, IntegerAttr(number, known.type)))


def _with(name: str, value: Attribute | None) -> Correction:
    """Gives an op another property `name`, or takes it away."""

    def correct(op: Operation) -> None:
        if value is None:
            del op.properties[name]
        else:
            op.properties[name] = value

    return correct


COUNTS: dict[type[Operation], tuple[str, ...]] = {
    cp_async.CpAsyncWaitGroupOp: ("n",),
    bulk.CpAsyncBulkWaitGroupOp: ("group",),
    wgmma.WgmmaWaitGroupSyncOp: ("group",),
    waits.WaitAsyncmarkOp: ("count",),
    waits.WaitAsynccntOp: ("count",),
    waits.WaitLoadcntOp: ("count",),
    waits.SWaitcntOp: ("bitfield",),
    async_queue.WaitOp: ("count",),
    nvgpu.DeviceAsyncWaitOp: ("numGroups",),
    ttg.AsyncWaitOp: ("num",),
    ttng.AsyncTMAStoreWaitOp: ("pendings",),
    ttng.WarpGroupDotWaitOp: ("pendings",),
}
"""A wait -> the property that says how many may stay unfinished."""
READ_ONLY = ("read", "read_only")


def other_parities(case: Case) -> Iterator[Edit]:
    """A wait for the other parity, or for the same one in every turn."""
    for op in dict.fromkeys([*case.parties, *case.about]):
        place = PARITIES.get(type(op))
        if place is not None and len(op.operands) > place:
            yield Edit(op, Side.INSTEAD, _flipped(op, place))
            for bit in (0, 1):
                yield Edit(op, Side.INSTEAD, _with_constant(op, place, bit, "right_parity"))


def _flipped(op: Operation, place: int) -> Maker:
    """A copy of `op` with the other bit as the operand at `place`."""
    kind = cast("IntegerType", op.operands[place].type)

    def make(values: Values) -> Sequence[Operation]:
        one = arith.ConstantOp(IntegerAttr(1, kind))
        other = arith.XOrIOp(values(op.operands[place]), one)
        one.result.name_hint, other.result.name_hint = "one", "other_parity"
        operands = [other.result if at == place else values(value) for at, value in enumerate(op.operands)]
        return [one, other, _copy_with(op, operands)]

    return make


PARITIES: dict[type[Operation], int] = {mbarrier.MBarrierTryWaitParityOp: 1, ttng.WaitBarrierOp: 1}


def arrival_counts(case: Case) -> Iterator[Edit]:
    """A barrier that is made for another number of arrivals; a meeting of another number of threads."""
    for op in dict.fromkeys([*case.parties, *case.about]):
        count = _number(op, "count")
        if isinstance(op, (ttng.InitBarrierOp, amdg.InitBarrierOp)) and count is not None:
            yield from (_with_number(op, "count", new) for new in _other_numbers(case, count))
        place = NUMBERS.get(type(op))
        if place is not None and len(op.operands) > place:
            numbers = _other_numbers(case, _constant(op.operands[place]))
            yield from (Edit(op, Side.INSTEAD, _with_constant(op, place, new, "right_count")) for new in numbers)


def _other_numbers(case: Case, now: int | None) -> list[int]:
    """Numbers of arrivals or threads to try: what the violation names, and one more or less."""
    named = [case.violation.instead] if case.violation.instead is not None else []
    near = [] if now is None else [now + 1, now - 1, 2 * now, now // 2]
    return [new for new in dict.fromkeys([*named, *near]) if new > 0 and new != now]


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    return _number(op, "value") if isinstance(op, arith.ConstantOp) else None


def _with_constant(op: Operation, place: int, number: int, name: str) -> Maker:
    """A copy of `op` with a constant as the operand at `place`."""
    kind = cast("IntegerType", op.operands[place].type)

    def make(values: Values) -> Sequence[Operation]:
        constant = arith.ConstantOp(IntegerAttr(number, kind))
        constant.result.name_hint = name
        operands = [constant.result if at == place else values(value) for at, value in enumerate(op.operands)]
        return [constant, _copy_with(op, operands)]

    return make


NUMBERS: dict[type[Operation], int] = {mbarrier.MBarrierInitOp: 1, barrier.BarrierOp: 1, barrier.BarrierArriveOp: 1}
"""An op -> the operand that says how many arrive there."""


def stronger_kinds(case: Case) -> Iterator[Edit]:
    """An op that does the same and more: it arrives as well, waits as well, or releases to a wider scope."""
    for op in case.synchronisation:
        if type(op) in STRONGER and not any(result.uses for result in op.results):
            yield Edit(op, Side.INSTEAD, STRONGER[type(op)](op))
        if type(op) in WIDER:
            yield Edit(op, Side.INSTEAD, correct=_with(*WIDER[type(op)]))


def _meeting(op: Operation) -> Maker:
    assert isinstance(op, barrier.BarrierArriveOp)
    threads, number = op.number_of_threads, op.barrier_id
    return lambda values: [barrier.BarrierOp(None if number is None else values(number), values(threads))]


STRONGER: dict[type[Operation], Callable[[Operation], Maker]] = {
    mbarrier.MBarrierExpectTxOp: lambda op: (
        lambda values: [mbarrier.MBarrierArriveExpectTxOp(*map(values, op.operands[:2]))]
    ),
    mbarrier.MBarrierArriveNocompleteOp: lambda op: lambda values: [mbarrier.MBarrierArriveOp(values(op.operands[0]))],
    barrier.ClusterArriveRelaxedOp: lambda _: lambda _: [barrier.ClusterArriveOp()],
    barrier.BarrierArriveOp: _meeting,
}
"""An op -> the op that does the same and more."""
WIDER: dict[type[Operation], tuple[str, Attribute]] = {
    mbarrier.MBarrierArriveOp: ("scope", MemScopeAttr(MemScope.CLUSTER)),
    cp_async.CpAsyncMBarrierArriveOp: ("noinc", IntegerAttr(1, i1)),
}
"""An op -> the property with which it releases to more, or counts for more."""


# What may be moved ----------------------------------------------------------------------------------------------------


def moves(case: Case) -> Iterator[Edit]:
    """An op that synchronises, past its neighbours in its block, next to a party, or out of the op around it."""
    for op in case.synchronisation:
        if op.parent is None or op.results:
            continue
        fenced = op.prev_op if isinstance(op.prev_op, FENCES) and isinstance(op, SIGNALS) else None
        moved = (op,) if fenced is None else (fenced, op)
        for at, side in _stops(op, case):
            if at not in moved:
                yield Edit(at, side, moved=moved)


def _stops(op: Operation, case: Case) -> Iterator[tuple[Operation, Side]]:
    """Where else `op` may stand: before and after its neighbours that synchronise, and out of the op around it."""
    assert op.parent is not None
    ops = list(op.parent.ops)
    here = ops.index(op)
    stops = [each for each in ops if type(each) in MOVABLE or each in case.parties or each.regions]
    for other in sorted((each for each in stops if each is not op), key=lambda each: abs(ops.index(each) - here))[
        :MOST_STOPS
    ]:
        yield other, Side.AFTER if ops.index(other) > here else Side.BEFORE
    around_it = op.parent_op()
    if isinstance(around_it, (scf.IfOp, scf.ForOp)):
        yield around_it, Side.AFTER
        yield around_it, Side.BEFORE


FENCES: Kinds = (fence.FenceProxyOp, ttng.FenceAsyncSharedOp)
"""What is moved together with the arrival after it."""
MOST_STOPS = 6
"""How many of its neighbours an op is moved past."""
SIGNALS: Kinds = (
    mbarrier.MBarrierArriveOp,
    mbarrier.MBarrierArriveExpectTxOp,
    barrier.BarrierArriveOp,
    barrier.Barrier0Op,
    barrier.BarrierOp,
    barrier.ClusterArriveOp,
    ttng.ArriveBarrierOp,
    ConsumerReleaseOp,
)
MEETINGS: Kinds = (
    barrier.Barrier0Op,
    barrier.BarrierOp,
    barriers.BarrierOp,
    barriers.SBarrierOp,
    gpu.BarrierOp,
    ttg.BarrierOp,
    *SIGNALS[:1],
)
MOVABLE: frozenset[type[Operation]] = frozenset(
    [
        *SIGNALS,
        *MEETINGS,
        *COUNTS,
        *PARITIES,
        *STRONGER,
        *WIDER,
        mbarrier.MBarrierInvalOp,
        cp_async.CpAsyncCommitGroupOp,
        bulk.CpAsyncBulkCommitGroupOp,
        fence.FenceMbarrierInitOp,
        fence.FenceProxyOp,
        barrier.ClusterWaitOp,
        tcgen05.Tcgen05CommitOp,
        tcgen05.Tcgen05RelinquishAllocPermitOp,
        tcgen05.Tcgen05WaitOp,
        waits.AsyncmarkOp,
        ttg.AsyncCommitGroupOp,
        ttng.InvalBarrierOp,
        ttng.FenceAsyncSharedOp,
        ttng.BarrierExpectOp,
        AwaitOp,
        AwaitAllOp,
        ConsumerReleaseOp,
    ]
)
"""Ops that only synchronise: they may be moved, repeated and made stronger."""

Generator: TypeAlias = Callable[[Case], Iterator[Edit]]
GENERATORS: dict[ViolationKind, Sequence[Generator]] = {
    ViolationKind.RACE: (
        weaker_counts,
        waits_at_barriers,
        moves,
        waits_for_work,
        stronger_kinds,
        meetings,
        invalidations,
        copied,
        other_parities,
    ),
    ViolationKind.MISSING_FENCE: (fences, moves),
    ViolationKind.PHASE: (
        other_parities,
        arrival_counts,
        stronger_kinds,
        invalidations,
        releases,
        moves,
        copied,
        meetings,
    ),
    ViolationKind.DEADLOCK: (arrival_counts, releases, stronger_kinds, moves, copied, other_parities),
    ViolationKind.UNDRAINED: (waits_for_work, weaker_counts, moves, copied),
    ViolationKind.ABSENT: (meetings, moves),
    ViolationKind.SLOT: (moves, copied),
    ViolationKind.MALFORMED: (moves, stronger_kinds),
}
"""Kind of a violation -> what to try, the likeliest first."""
