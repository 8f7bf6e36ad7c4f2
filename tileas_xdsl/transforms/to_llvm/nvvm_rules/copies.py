"""Copies: `cp.async`, bulk and tensor copies (TMA), filling in bulk, prefetches."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i16, i64
from xdsl.ir import SSAValue

from tileas_xdsl.dialects.nvvm import bulk, cp_async
from tileas_xdsl.dialects.nvvm.attributes import CTAGroup, PrefetchCacheLevel, TMALoadMode, TMAStoreMode
from tileas_xdsl.dialects.nvvm.bulk import TRUE
from tileas_xdsl.dialects.upstream import address_space
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, refusal, rule

# cp.async -------------------------------------------------------------------------------------------------------------


@rule(cp_async.CpAsyncOp)
def _cp_async(op: cp_async.CpAsyncOp, emit: Emitter) -> None:
    name = f"cp.async.{op.modifier.data.value}.shared.global.{op.size.value.data}"
    if op.cp_size is None:
        emit.call(name, [op.dst, op.src])
    else:
        emit.call(f"{name}.s", [op.dst, op.src, op.cp_size])


@rule(cp_async.CpAsyncCommitGroupOp)
def _cp_async_commit(_op: cp_async.CpAsyncCommitGroupOp, emit: Emitter) -> None:
    emit.call("cp.async.commit.group")


@rule(cp_async.CpAsyncWaitGroupOp)
def _cp_async_wait(op: cp_async.CpAsyncWaitGroupOp, emit: Emitter) -> None:
    emit.call("cp.async.wait.group", [emit.integer(op.n.value.data)])


@refusal(cp_async.CpAsyncWaitGroupOp)
def _fewer_than_no_groups(op: cp_async.CpAsyncWaitGroupOp) -> tuple[str, str] | None:
    if op.n.value.data >= 0:
        return None
    return f"leaves {op.n.value.data} groups in flight", "wait for 0 or more; no tool behind us sees this"


@rule(cp_async.CpAsyncMBarrierArriveOp)
def _cp_async_arrive(op: cp_async.CpAsyncMBarrierArriveOp, emit: Emitter) -> None:
    noinc = ".noinc" if op.noinc.value.data else ""
    shared = ".shared" if address_space(op.addr.type) == 3 else ""
    emit.call(f"cp.async.mbarrier.arrive{noinc}{shared}", [op.addr])


# Parts of the names ---------------------------------------------------------------------------------------------------

LOAD_WORDS = {
    TMALoadMode.TILE: "tile",
    TMALoadMode.IM2COL: "im2col",
    TMALoadMode.IM2COL_W: "im2col.w",
    TMALoadMode.IM2COL_W_128: "im2col.w.128",
    TMALoadMode.TILE_GATHER4: "tile.gather4",
}
STORE_WORDS = {
    TMAStoreMode.TILE: "tile",
    TMAStoreMode.IM2COL: "im2col",
    TMAStoreMode.TILE_SCATTER4: "tile.scatter4",
}
ROWS_OF_TWO = (TMALoadMode.TILE_GATHER4, TMAStoreMode.TILE_SCATTER4)
"""Modes that name four rows of a matrix: one coordinate is the column, four are rows."""
GROUP_NUMBERS = {None: 0, CTAGroup.CTA_1: 1, CTAGroup.CTA_2: 2}


def _dimensions(mode: TMALoadMode | TMAStoreMode, coordinates: Sequence[SSAValue]) -> str:
    return "2d" if mode in ROWS_OF_TWO else f"{len(coordinates)}d"


def _hint(given: SSAValue | None, emit: Emitter, type_: IntegerType = i64) -> tuple[SSAValue, SSAValue]:
    """An optional operand and the flag that says whether it is there."""
    value = given if given is not None else emit.integer(0, type_)
    return value, emit.flag(value=given is not None)


# Tensor copies --------------------------------------------------------------------------------------------------------


@rule(bulk.CpAsyncBulkTensorGlobalToSharedClusterOp)
def _tensor_load(op: bulk.CpAsyncBulkTensorGlobalToSharedClusterOp, emit: Emitter) -> None:
    if op.predicate is not None:
        _predicated_load(op, op.predicate, emit)
        return
    mode = op.mode.data
    form = f"{LOAD_WORDS[mode]}.{_dimensions(mode, op.coordinates)}"
    named = [op.dst_mem, op.mbar, op.tma_descriptor, *op.coordinates, *op.im2col_offsets]
    hint, has_hint = _hint(op.l2_cache_hint, emit)
    if op.is_cta_only == TRUE:
        emit.call(f"cp.async.bulk.tensor.g2s.cta.{form}", [*named, hint, has_hint])
        return
    mask, has_mask = _hint(op.multicast_mask, emit, i16)
    group = emit.integer(GROUP_NUMBERS[op.group.data if op.group is not None else None])
    emit.call(f"cp.async.bulk.tensor.g2s.{form}", [*named, mask, hint, has_mask, has_hint, group])


def _predicated_load(op: bulk.CpAsyncBulkTensorGlobalToSharedClusterOp, predicate: SSAValue, emit: Emitter) -> None:
    """No intrinsic has a predicate, so this is PTX; it names its operands in the order of the text."""
    values: list[SSAValue] = [op.dst_mem, op.tma_descriptor, *op.coordinates, op.mbar, *op.im2col_offsets]
    places = iter(range(len(values)))
    into, map_ = next(places), next(places)
    box = ",".join(f"${next(places)}" for _ in op.coordinates)
    tail = f"[${into}], [${map_}, {{{box}}}], [${next(places)}]"
    if op.im2col_offsets:
        tail += f", {{{','.join(f'${next(places)}' for _ in op.im2col_offsets)}}}"
    words = ".im2col" if op.mode.data is TMALoadMode.IM2COL else ""
    for given, word in ((op.multicast_mask, ".multicast::cluster"), (op.l2_cache_hint, ".L2::cache_hint")):
        if given is not None:
            words += word
            tail += f", ${len(values)}"
            values.append(given)
    name = f"cp.async.bulk.tensor.{len(op.coordinates)}d.shared::cluster.global.mbarrier::complete_tx::bytes{words}"
    emit.assembly(f"@${len(values)} {name} {tail};", (), [*values, predicate])


@rule(bulk.CpAsyncBulkTensorSharedCTAToGlobalOp)
def _tensor_store(op: bulk.CpAsyncBulkTensorSharedCTAToGlobalOp, emit: Emitter) -> None:
    mode = op.mode.data
    if op.predicate is None:
        form = f"{STORE_WORDS[mode]}.{_dimensions(mode, op.coordinates)}"
        named = [op.src_mem, op.tma_descriptor, *op.coordinates]
        emit.call(f"cp.async.bulk.tensor.s2g.{form}", [*named, *_hint(op.l2_cache_hint, emit)])
        return
    box = ",".join(f"${number + 2}" for number in range(len(op.coordinates)))
    name = f"cp.async.bulk.tensor.{len(op.coordinates)}d.global.shared::cta.bulk_group"
    text = f"@${len(op.coordinates) + 2} {name} [$0, {{{box}}}], [$1];"
    emit.assembly(text, (), [op.tma_descriptor, op.src_mem, *op.coordinates, op.predicate])


@refusal(bulk.CpAsyncBulkTensorSharedCTAToGlobalOp)
def _predicated_store_of_a_kind(op: bulk.CpAsyncBulkTensorSharedCTAToGlobalOp) -> tuple[str, str] | None:
    if op.predicate is None or (op.mode.data is TMAStoreMode.TILE and op.l2_cache_hint is None):
        return None
    return "has a predicate together with a cache hint or a mode that is not 'tile'", "branch on the predicate instead"


@rule(bulk.CpAsyncBulkTensorReduceOp)
def _tensor_reduce(op: bulk.CpAsyncBulkTensorReduceOp, emit: Emitter) -> None:
    mode = op.mode.data
    form = f"{op.red_kind.data.value}.{STORE_WORDS[mode]}.{_dimensions(mode, op.coordinates)}"
    named = [op.src_mem, op.tma_descriptor, *op.coordinates]
    emit.call(f"cp.async.bulk.tensor.reduce.{form}", [*named, *_hint(op.l2_cache_hint, emit)])


@refusal(bulk.CpAsyncBulkTensorReduceOp)
def _map_in_a_space(op: bulk.CpAsyncBulkTensorReduceOp) -> tuple[str, str] | None:
    if address_space(op.tma_descriptor.type) == 0:
        return None
    return f"finds its tensor map by a '{op.tma_descriptor.type}'", "cast the pointer to !llvm.ptr"


@rule(bulk.CpAsyncBulkTensorPrefetchOp)
def _tensor_prefetch(op: bulk.CpAsyncBulkTensorPrefetchOp, emit: Emitter) -> None:
    mode = op.mode.data
    form = f"{LOAD_WORDS[mode]}.{_dimensions(mode, op.coordinates)}"
    named = [op.tma_descriptor, *op.coordinates, *op.im2col_offsets]
    emit.call(f"cp.async.bulk.tensor.prefetch.{form}", [*named, *_hint(op.l2_cache_hint, emit)])


# Bulk copies ----------------------------------------------------------------------------------------------------------


@rule(bulk.CpAsyncBulkGlobalToSharedClusterOp)
def _bulk_load(op: bulk.CpAsyncBulkGlobalToSharedClusterOp, emit: Emitter) -> None:
    named = [op.dst_mem, op.mbar, op.src_mem, op.size]
    hint, has_hint = _hint(op.l2_cache_hint, emit)
    if address_space(op.dst_mem.type) == 3:
        emit.call("cp.async.bulk.global.to.shared.cta", [*named, hint, has_hint])
        return
    mask, has_mask = _hint(op.multicast_mask, emit, i16)
    emit.call("cp.async.bulk.global.to.shared.cluster", [*named, mask, hint, has_mask, has_hint])


@rule(bulk.CpAsyncBulkSharedCTAToSharedClusterOp)
def _bulk_exchange(op: bulk.CpAsyncBulkSharedCTAToSharedClusterOp, emit: Emitter) -> None:
    emit.call("cp.async.bulk.shared.cta.to.cluster", [op.dst_mem, op.mbar, op.src_mem, op.size])


@rule(bulk.CpAsyncBulkSharedCTAToGlobalOp)
def _bulk_store(op: bulk.CpAsyncBulkSharedCTAToGlobalOp, emit: Emitter) -> None:
    operands = [op.dst_mem, op.src_mem, op.size, *_hint(op.l2_cache_hint, emit)]
    if op.byte_mask is None:
        emit.call("cp.async.bulk.shared.cta.to.global", operands)
    else:
        emit.call("cp.async.bulk.shared.cta.to.global.bytemask", [*operands, op.byte_mask])


@rule(bulk.CpAsyncBulkPrefetchOp)
def _bulk_prefetch(op: bulk.CpAsyncBulkPrefetchOp, emit: Emitter) -> None:
    emit.call("cp.async.bulk.prefetch.L2", [op.src_mem, op.size, *_hint(op.l2_cache_hint, emit)])


@rule(bulk.CpAsyncBulkCommitGroupOp)
def _bulk_commit(_op: bulk.CpAsyncBulkCommitGroupOp, emit: Emitter) -> None:
    emit.call("cp.async.bulk.commit.group")


@rule(bulk.CpAsyncBulkWaitGroupOp)
def _bulk_wait(op: bulk.CpAsyncBulkWaitGroupOp, emit: Emitter) -> None:
    read = ".read" if op.read is not None else ""
    emit.call(f"cp.async.bulk.wait.group{read}", [emit.integer(op.group.value.data)])


# Filling --------------------------------------------------------------------------------------------------------------


@rule(bulk.StBulkOp)
def _fill(op: bulk.StBulkOp, emit: Emitter) -> None:
    space = ".shared.cta" if address_space(op.addr.type) == 3 else ""
    emit.call(f"st.bulk{space}", [op.addr, op.size, emit.integer(op.init_val.value.data, i64)])


# Prefetches -----------------------------------------------------------------------------------------------------------

PARAMETER_SPACE = 101
SPACE_WORDS = {0: "", 1: ".global", 5: ".local"}


@rule(bulk.PrefetchOp)
def _prefetch(op: bulk.PrefetchOp, emit: Emitter) -> None:
    if op.predicate is not None:
        emit.assembly("@$1 prefetch.tensormap [$0];", (), [op.addr, op.predicate])
        return
    if op.tensormap is not None:
        pointer = emit.in_space(op.addr, PARAMETER_SPACE) if op.in_param_space is not None else op.addr
        emit.call(f"prefetch.tensormap.p{address_space(pointer.type)}", [pointer])
        return
    level = op.cache_level.data if op.cache_level is not None else PrefetchCacheLevel.L1
    space = SPACE_WORDS[address_space(op.addr.type) or 0]
    priority = f".{op.evict_priority.data.value.replace('_', '.')}" if op.evict_priority is not None else ""
    word = "prefetchu" if op.uniform is not None else "prefetch"
    emit.call(f"{word}{space}.{level.value}{priority}", [op.addr])
