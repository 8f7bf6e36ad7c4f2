"""Barriers of the block, the warp, the cluster and the grid; fences."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.dialects.nvvm import attributes, barrier, fence
from tileas_xdsl.dialects.nvvm.attributes import BarrierReduction, MemOrder, MemScope, ProxyKind
from tileas_xdsl.dialects.upstream import address_space
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, refusal, rule

# Block and warp -------------------------------------------------------------------------------------------------------


@rule(barrier.Barrier0Op)
def _barrier0(_op: barrier.Barrier0Op, emit: Emitter) -> None:
    emit.call("barrier.cta.sync.aligned.all", [emit.integer(0)])


@rule(barrier.BarrierOp)
def _barrier(op: barrier.BarrierOp, emit: Emitter) -> SSAValue | None:
    if op.reduction_op is not None and op.reduction_predicate is not None:
        found = _reduction(op.reduction_op.data, op.reduction_predicate, emit)
        return found if op.res is not None else None
    number = op.barrier_id if op.barrier_id is not None else emit.integer(0)
    if op.number_of_threads is None:
        return emit.call("barrier.cta.sync.aligned.all", [number])
    return emit.call("barrier.cta.sync.aligned.count", [number, op.number_of_threads])


def _reduction(kind: BarrierReduction, predicate: SSAValue, emit: Emitter) -> SSAValue:
    """The intrinsics take a truth value; `and` and `or` give one."""
    is_true = emit.insert(llvm.ICmpOp(predicate, emit.integer(0), IntegerAttr(1, 64))).res
    name, operands = f"barrier.cta.red.{kind.value}.aligned.all", [emit.integer(0), is_true]
    if kind is BarrierReduction.POPC:
        return emit.call(name, operands, i32)
    return emit.insert(llvm.ZExtOp(emit.call(name, operands, i1), i32)).res


@rule(barrier.BarrierArriveOp)
def _barrier_arrive(op: barrier.BarrierArriveOp, emit: Emitter) -> None:
    number = op.barrier_id if op.barrier_id is not None else emit.integer(0)
    emit.call("barrier.cta.arrive.aligned.count", [number, op.number_of_threads])


@rule(barrier.SyncWarpOp)
def _sync_warp(op: barrier.SyncWarpOp, emit: Emitter) -> None:
    emit.call("bar.warp.sync", [op.mask])


# Cluster and grid -----------------------------------------------------------------------------------------------------


@rule(barrier.ClusterArriveOp, barrier.ClusterArriveRelaxedOp, barrier.ClusterWaitOp)
def _cluster(op: barrier.ClusterBarrierOp, emit: Emitter) -> None:
    suffix = ".aligned" if isinstance(op.aligned, UnitAttr) else ""
    emit.call(f"barrier.{op.name.removeprefix('nvvm.')}{suffix}")


@rule(barrier.MapaOp)
def _mapa(op: barrier.MapaOp, emit: Emitter) -> SSAValue:
    name = "mapa.shared.cluster" if address_space(op.a.type) == 3 else "mapa"
    return emit.call(name, [op.a, op.b], op.res.type)


@refusal(barrier.MapaOp)
def _mapa_between_spaces(op: barrier.MapaOp) -> tuple[str, str] | None:
    if (address_space(op.a.type), address_space(op.res.type)) in ((3, 7), (0, 0)):
        return None
    return f"maps a '{op.a.type}' to a '{op.res.type}', which no instruction does", "map !llvm.ptr<3> to !llvm.ptr<7>"


@rule(barrier.GriddepcontrolOp)
def _griddepcontrol(op: barrier.GriddepcontrolOp, emit: Emitter) -> None:
    emit.call(f"griddepcontrol.{op.kind.data.value.replace('_', '.')}")


# Fences ---------------------------------------------------------------------------------------------------------------

MEMBAR = {
    MemScope.CTA: "membar.cta",
    MemScope.CLUSTER: "fence.sc.cluster",
    MemScope.GPU: "membar.gl",
    MemScope.SYS: "membar.sys",
}


@rule(fence.MembarOp)
def _membar(op: fence.MembarOp, emit: Emitter) -> None:
    emit.call(MEMBAR[op.scope.data])


@rule(fence.FenceScClusterOp)
def _fence_sc_cluster(_op: fence.FenceScClusterOp, emit: Emitter) -> None:
    emit.call("fence.sc.cluster")


@rule(fence.FenceMbarrierInitOp)
def _fence_mbarrier_init(_op: fence.FenceMbarrierInitOp, emit: Emitter) -> None:
    emit.call("fence.mbarrier_init.release.cluster")


def _restricted(order: MemOrder) -> str:
    """A one-sided fence acquires from the cluster and releases to the block."""
    return f"{order.value}.sync_restrict.space.{'cluster' if order is MemOrder.ACQUIRE else 'cta'}.scope.cluster"


@rule(fence.FenceSyncRestrictOp)
def _fence_sync_restrict(op: fence.FenceSyncRestrictOp, emit: Emitter) -> None:
    emit.call(f"fence.{_restricted(op.order.data)}")


@rule(fence.FenceProxyOp)
def _fence_proxy(op: fence.FenceProxyOp, emit: Emitter) -> None:
    if op.kind.data is ProxyKind.ASYNC_SHARED and isinstance(op.space, attributes.SharedSpaceAttr):
        emit.call(f"fence.proxy.async.shared_{op.space.data.value}")
    else:
        emit.call(f"fence.proxy.{op.kind.data.value}")


@rule(fence.FenceProxySyncRestrictOp)
def _fence_proxy_sync_restrict(op: fence.FenceProxySyncRestrictOp, emit: Emitter) -> None:
    emit.call(f"fence.proxy.async_generic.{_restricted(op.order.data)}")


@rule(fence.FenceProxyReleaseOp)
def _fence_proxy_release(op: fence.FenceProxyReleaseOp, emit: Emitter) -> None:
    emit.call(f"fence.proxy.tensormap_generic.release.{op.scope.data.value}")


MAP_BYTES = 128


@rule(fence.FenceProxyAcquireOp)
def _fence_proxy_acquire(op: fence.FenceProxyAcquireOp, emit: Emitter) -> None:
    emit.call(f"fence.proxy.tensormap_generic.acquire.{op.scope.data.value}", [op.addr, emit.integer(MAP_BYTES)])


@refusal(fence.FenceProxyAcquireOp)
def _fence_of_other_sizes(op: fence.FenceProxyAcquireOp) -> tuple[str, str] | None:
    if _constant(op.size) == MAP_BYTES:
        return None
    return "acquires a number of bytes that is not the constant 128", "a tensor map has 128 bytes: write that constant"


def _constant(value: SSAValue) -> int | None:
    """The number that a value is known to be."""
    given: Any = getattr(value.owner, "value", None)
    constant: Attribute | None = given if isinstance(given, Attribute) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None
