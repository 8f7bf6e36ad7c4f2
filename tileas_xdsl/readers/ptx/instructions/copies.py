"""
Asynchronous copies (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").

    cp.async.cg.shared.global [m], [a], 16, n           a copy of 16 bytes; how many are read does not matter
    cp.async.bulk.tensor.2d.shared::cta.global... [m], [map, {x, y}], [b]
    cp.async.bulk.tensor.2d.global.shared::cta... [map, {x, y}], [m]

What a copy reads of global memory is an object that nobody writes. Coordinates of a load matter where the kernel stores
to the same tensor (`resolving`); hints of caches never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue

from tileas_xdsl.dialects.nvvm import bulk, cp_async
from tileas_xdsl.dialects.nvvm.attributes import LoadCacheModifier, TMAReduxKind
from tileas_xdsl.readers.ptx.emission import Emission
from tileas_xdsl.readers.ptx.instructions.builder import Builder
from tileas_xdsl.readers.ptx.instructions.rows import Call, Row
from tileas_xdsl.readers.ptx.instructions.synchronization import number_in
from tileas_xdsl.readers.ptx.operands import Address
from tileas_xdsl.readers.ptx.steps import Operand, Step
from tileas_xdsl.targets.engines import Engine

L2 = "L2::cache_hint L2::64B L2::128B L2::256B"
DIMENSIONS = "1d 2d 3d 4d 5d"


def _copied(builder: Builder, call: Call) -> None:
    size = number_in(builder, call[2], "a size")
    modifier = LoadCacheModifier.CG if call.has("cg") else LoadCacheModifier.CA

    def make(e: Emission, step: Step) -> None:
        e.add(cp_async.CpAsyncOp(e.shared(step.operands[0]), e.global_memory(), size, modifier))

    builder.act(Engine.CP_ASYNC, make, [builder.address(call[0])])


def _committed(builder: Builder, _call: Call) -> None:
    builder.act("commit", lambda e, _step: _add(e, cp_async.CpAsyncCommitGroupOp()))


def _add(e: Emission, op: cp_async.CpAsyncCommitGroupOp | bulk.CpAsyncBulkCommitGroupOp) -> None:
    e.add(op)


def _waited(builder: Builder, call: Call) -> None:
    groups = number_in(builder, call[0], "a number of groups")

    def make(e: Emission, _step: Step) -> None:
        e.add(cp_async.CpAsyncWaitGroupOp(groups))

    builder.act("wait", make)


def _waited_for_all(builder: Builder, call: Call) -> None:
    _committed(builder, call)

    def make(e: Emission, _step: Step) -> None:
        e.add(cp_async.CpAsyncWaitGroupOp(0))

    builder.act("wait", make)


# Bulk -----------------------------------------------------------------------------------------------------------------


def _bulk_committed(builder: Builder, _call: Call) -> None:
    builder.act("bulk commit", lambda e, _step: _add(e, bulk.CpAsyncBulkCommitGroupOp()))


def _bulk_waited(builder: Builder, call: Call) -> None:
    groups, read = number_in(builder, call[0], "a number of groups"), call.has("read")

    def make(e: Emission, _step: Step) -> None:
        e.add(bulk.CpAsyncBulkWaitGroupOp(groups, read=read))

    builder.act("bulk wait", make)


def _target(e: Emission, operand: Operand, mask: SSAValue | None) -> tuple[SSAValue, bool]:
    """Where a load puts its bytes, and whether that is certainly in the own block."""
    if e.blocks_of_cluster == 1 and mask is None:
        return e.shared(operand), True
    return e.cluster(operand), False


def _box(builder: Builder, call: Call, operand: int) -> tuple[Operand, list[Operand]]:
    """The map and the coordinates in `[map, {x, y}]`. Raises `PtxError`."""
    place = call[operand]
    if not isinstance(place, Address) or not place.coordinates:
        raise builder.here.error("expects a tensor map and coordinates, as [map, {x, y}]")
    plain = Address(place.base, place.offset)
    return builder.address(plain), [builder.read(coordinate, 32) for coordinate in place.coordinates]


def _tensor_loaded(builder: Builder, call: Call) -> None:
    map_, coordinates = _box(builder, call, 1)
    operands = [builder.address(call[0]), map_, builder.address(call[2])]
    if call.has("multicast::cluster"):
        operands.append(builder.resized(builder.read(call[3], 16), 16))
    if builder.with_numbers:
        operands += coordinates
        coordinates = []
    builder.act("tensor load", _make_tensor_load, operands, detail=coordinates)


def _make_tensor_load(e: Emission, step: Step) -> None:
    target, map_, place, *rest = step.operands
    has_mask = bool(rest) and rest[0].bits == 16
    mask = e.value(rest[0]) if has_mask else None
    into, is_own = _target(e, target, mask)
    known = rest[1:] if has_mask else rest
    count = len(step.detail)
    coordinates = [e.value(one) for one in known] if known else [e.number(0, 32)] * count
    e.add(
        bulk.CpAsyncBulkTensorGlobalToSharedClusterOp(
            into, e.tensor_map(map_), e.shared(place), coordinates, multicast_mask=mask, is_cta_only=is_own
        )
    )


def _tensor_stored(builder: Builder, call: Call) -> None:
    map_, coordinates = _box(builder, call, 0)
    kind = call.one_of(REDUCTIONS)
    operands = [map_, builder.address(call[1]), *coordinates]
    builder.act("tensor store", partial(_make_tensor_store, kind), operands)


def _make_tensor_store(kind: str | None, e: Emission, step: Step) -> None:
    map_, source, *coordinates = step.operands
    places: Sequence[SSAValue] = [e.value(one) for one in coordinates]
    if kind is None:
        e.add(bulk.CpAsyncBulkTensorSharedCTAToGlobalOp(e.tensor_map(map_), e.shared(source), places))
    else:
        e.add(bulk.CpAsyncBulkTensorReduceOp(e.tensor_map(map_), e.shared(source), places, TMAReduxKind(kind)))


REDUCTIONS = tuple(kind.value for kind in TMAReduxKind)


def _loaded(builder: Builder, call: Call) -> None:
    operands = [builder.address(call[0]), builder.read(call[2], 32), builder.address(call[3])]
    if call.has("multicast::cluster"):
        operands.append(builder.read(call[4], 16))

    def make(e: Emission, step: Step) -> None:
        target, size, place, *rest = step.operands
        mask = e.value(rest[0]) if rest else None
        destination = e.cluster(target)
        e.add(
            bulk.CpAsyncBulkGlobalToSharedClusterOp(
                destination, e.global_memory(), e.shared(place), e.value(size), multicast_mask=mask
            )
        )

    builder.act("bulk load", make, operands)


def _sent(builder: Builder, call: Call) -> None:
    """From the own block to another one of the cluster."""
    operands = [builder.address(call[0]), builder.address(call[1]), builder.read(call[2], 32), builder.address(call[3])]

    def make(e: Emission, step: Step) -> None:
        target, source, size, place = step.operands
        e.add(
            bulk.CpAsyncBulkSharedCTAToSharedClusterOp(
                e.cluster(target), e.shared(source), e.cluster_or_shared(place), e.value(size)
            )
        )

    builder.act("bulk send", make, operands)


def _stored(builder: Builder, call: Call) -> None:
    """To global memory, which is not followed: only that shared memory is read matters."""
    operands = [builder.address(call[1]), builder.read(call[2], 32)]

    def make(e: Emission, step: Step) -> None:
        source, size = step.operands
        e.add(bulk.CpAsyncBulkSharedCTAToGlobalOp(e.unwatched_memory(), e.shared(source), e.value(size)))

    builder.act("bulk store", make, operands)


def _nothing(_builder: Builder, _call: Call) -> None:
    """A hint to a cache."""


COMPLETES = "mbarrier::complete_tx::bytes"
INTO = "shared::cluster shared::cta"

COPIES: tuple[Row, ...] = (
    Row("cp.async.commit_group", "", "", "nvvm.cp.async.commit.group", _committed, acts=True),
    Row("cp.async.wait_group", "a", "", "nvvm.cp.async.wait.group", _waited, acts=True),
    Row(
        "cp.async.wait_all", "", "", "nvvm.cp.async.commit.group, nvvm.cp.async.wait.group", _waited_for_all, acts=True
    ),
    Row(
        Engine.CP_ASYNC,
        "m m a b? c?",
        f"ca cg shared shared::cta global {L2}",
        "nvvm.cp.async.shared.global",
        _copied,
        acts=True,
        needs="ca cg",
    ),
    Row("cp.async.bulk.commit_group", "", "", "nvvm.cp.async.bulk.commit.group", _bulk_committed, acts=True),
    Row("cp.async.bulk.wait_group", "a", "read", "nvvm.cp.async.bulk.wait_group", _bulk_waited, acts=True),
    Row(
        "cp.async.bulk.tensor",
        "m m m a? b?",
        f"{DIMENSIONS} {INTO} global tile {COMPLETES} multicast::cluster cta_group::1 {L2}",
        "nvvm.cp.async.bulk.tensor.shared.cluster.global",
        _tensor_loaded,
        acts=True,
        needs=COMPLETES,
    ),
    Row(
        "cp.async.bulk.tensor",
        "m m b?",
        f"{DIMENSIONS} global shared::cta tile bulk_group {L2}",
        "nvvm.cp.async.bulk.tensor.global.shared.cta",
        _tensor_stored,
        acts=True,
        needs="bulk_group",
    ),
    Row(
        "cp.reduce.async.bulk.tensor",
        "m m b?",
        f"{DIMENSIONS} global shared::cta tile bulk_group {' '.join(REDUCTIONS)} {L2}",
        "nvvm.cp.async.bulk.tensor.reduce",
        _tensor_stored,
        acts=True,
        needs="bulk_group",
    ),
    Row("cp.async.bulk.prefetch.tensor", "m b?", f"{DIMENSIONS} L2 global tile {L2}", "nothing", _nothing),
    Row("cp.async.bulk.prefetch", "m a b?", f"L2 global {L2}", "nothing", _nothing),
    Row(
        "cp.async.bulk",
        "m m a m b? c?",
        f"{INTO} global {COMPLETES} multicast::cluster {L2}",
        "nvvm.cp.async.bulk.shared.cluster.global",
        _loaded,
        acts=True,
        needs="global",
    ),
    Row(
        "cp.async.bulk",
        "m m a m",
        f"{INTO} {COMPLETES}",
        "nvvm.cp.async.bulk.shared.cluster.shared.cta",
        _sent,
        acts=True,
        needs=COMPLETES,
    ),
    Row(
        "cp.async.bulk",
        "m m a b?",
        f"global shared::cta bulk_group {L2}",
        "nvvm.cp.async.bulk.global.shared.cta",
        _stored,
        acts=True,
        needs="bulk_group",
    ),
    Row(
        "prefetch", "m", "global local L1 L2 L2::evict_last L2::evict_normal tensormap param const", "nothing", _nothing
    ),
    Row("prefetchu", "m", "L1", "nothing", _nothing),
    Row("discard", "m a", "global L2", "nothing", _nothing),
    Row("applypriority", "m a", "global L2::evict_normal", "nothing", _nothing),
)
