"""
Fences: they order the memory accesses of one thread, and never block.

An ordinary fence orders accesses made in the same way. Accesses through different *proxies*
(generic instructions, the asynchronous copy engine, tensor maps) are unordered even within a
thread until a proxy fence stands between them: shared memory written by ordinary stores may be
read by a TMA store only behind

    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import (
    MemOrder,
    MemOrderAttr,
    MemScope,
    MemScopeAttr,
    ProxyKind,
    ProxyKindAttr,
    SharedSpace,
    SharedSpaceAttr,
)
from tileas_xdsl.dialects.upstream import I32, ClassProperty, EffectfulOp, Value, pointer

GENERIC = ProxyKindAttr(ProxyKind.GENERIC)
TENSORMAP = ProxyKindAttr(ProxyKind.TENSORMAP)
ASYNC = ProxyKindAttr(ProxyKind.ASYNC)


@irdl_op_definition
class MembarOp(EffectfulOp):
    """
    Perform all earlier accesses of the thread, as seen from `scope`, before any later one.

    `nvvm.memory.barrier <gpu>`
    """

    name = "nvvm.memory.barrier"

    scope = prop_def(ClassProperty(MemScopeAttr))

    assembly_format = "custom<Bare>($scope) attr-dict"

    def __init__(self, scope: MemScope) -> None:
        super().__init__(properties={"scope": MemScopeAttr(scope)})


@irdl_op_definition
class FenceScClusterOp(EffectfulOp):
    """
    A sequentially consistent fence over the cluster.

    `nvvm.fence.sc.cluster`
    """

    name = "nvvm.fence.sc.cluster"

    assembly_format = "attr-dict"


@irdl_op_definition
class FenceMbarrierInitOp(EffectfulOp):
    """
    Make earlier `mbarrier.init`s visible to the cluster (release).

    `nvvm.fence.mbarrier.init`
    """

    name = "nvvm.fence.mbarrier.init"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class FenceSyncRestrictOp(EffectfulOp):
    """
    Fence in one direction only: acquire from shared::cluster, or release to shared::cta.

    `nvvm.fence.sync_restrict {order = #nvvm.mem_order<acquire>}`
    """

    name = "nvvm.fence.sync_restrict"

    order = prop_def(ClassProperty(MemOrderAttr))

    assembly_format = "attr-dict"

    def __init__(self, order: MemOrder) -> None:
        super().__init__(properties={"order": MemOrderAttr(order)})

    def verify_(self) -> None:
        _verify_acquire_or_release(self.name, self.order)


def _verify_acquire_or_release(op: str, order: MemOrderAttr) -> None:
    if order.data not in (MemOrder.ACQUIRE, MemOrder.RELEASE):
        raise VerifyException(f"'{op}' op only acquire and release semantics are supported")


@irdl_op_definition
class FenceProxyOp(EffectfulOp):
    """
    Order accesses through the generic proxy against those through the proxy `kind`.

    `nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}`

    Kind `async.shared` also says which shared memory: `space = #nvvm.shared_space<cta>`.
    """

    name = "nvvm.fence.proxy"

    kind = prop_def(ClassProperty(ProxyKindAttr))
    space = opt_prop_def(ClassProperty(SharedSpaceAttr))

    assembly_format = "attr-dict"

    def __init__(self, kind: ProxyKind, space: SharedSpace | None = None) -> None:
        super().__init__(
            properties={
                "kind": ProxyKindAttr(kind),
                "space": None if space is None else SharedSpaceAttr(space),
            }
        )

    def verify_(self) -> None:
        problem = self._problem()
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")

    def _problem(self) -> str | None:
        kind = self.kind.data
        if kind is ProxyKind.TENSORMAP:
            return "tensormap proxy is not a supported proxy kind"
        if kind is ProxyKind.GENERIC:
            return "generic proxy not a supported proxy kind"
        if kind is ProxyKind.ASYNC_SHARED and self.space is None:
            return "async_shared fence requires space attribute"
        if kind is not ProxyKind.ASYNC_SHARED and self.space is not None:
            return "only async_shared fence can have space attribute"
        return None


class TensormapFenceOp(EffectfulOp):
    """Base of the fences between generic writes of a tensor map and its use by a TMA op."""

    from_proxy = prop_def(ClassProperty(ProxyKindAttr), prop_name="fromProxy", default_value=GENERIC)
    to_proxy = prop_def(ClassProperty(ProxyKindAttr), prop_name="toProxy", default_value=TENSORMAP)

    def verify_(self) -> None:
        if self.from_proxy != GENERIC:
            raise VerifyException(
                f"'{self.name}' op uni-directional proxies only support generic for from_proxy attribute"
            )
        if self.to_proxy != TENSORMAP:
            raise VerifyException(
                f"'{self.name}' op uni-directional proxies only support tensormap for to_proxy attribute"
            )


@irdl_op_definition
class FenceProxyAcquireOp(TensormapFenceOp):
    """
    Before reading the tensor map of `size` bytes (128, a constant) at `addr`: acquire its writes.

    `nvvm.fence.proxy.acquire <gpu> %addr, %size`
    """

    name = "nvvm.fence.proxy.acquire"

    scope = prop_def(ClassProperty(MemScopeAttr))
    addr = operand_def(pointer(0))
    size = operand_def(I32)

    assembly_format = (
        "custom<Bare>($scope) $addr `,` $size (`from_proxy` `=` custom<Bare>($fromProxy)^)?"
        " (`to_proxy` `=` custom<Bare>($toProxy)^)? attr-dict"
    )

    def __init__(self, scope: MemScope, addr: Value, size: Value) -> None:
        super().__init__(operands=[addr, size], properties={"scope": MemScopeAttr(scope)})


@irdl_op_definition
class FenceProxyReleaseOp(TensormapFenceOp):
    """
    After writing a tensor map: release the writes to those that acquire it.

    `nvvm.fence.proxy.release <cta>`
    """

    name = "nvvm.fence.proxy.release"

    scope = prop_def(ClassProperty(MemScopeAttr))

    assembly_format = (
        "custom<Bare>($scope) (`from_proxy` `=` custom<Bare>($fromProxy)^)?"
        " (`to_proxy` `=` custom<Bare>($toProxy)^)? attr-dict"
    )


@irdl_op_definition
class FenceProxySyncRestrictOp(EffectfulOp):
    """
    Fence between the generic and the async proxy in one direction only.

    `nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}`
    """

    name = "nvvm.fence.proxy.sync_restrict"

    order = prop_def(ClassProperty(MemOrderAttr))
    from_proxy = prop_def(ClassProperty(ProxyKindAttr), prop_name="fromProxy", default_value=GENERIC)
    to_proxy = prop_def(ClassProperty(ProxyKindAttr), prop_name="toProxy", default_value=ASYNC)

    assembly_format = "attr-dict"

    def __init__(self, order: MemOrder) -> None:
        super().__init__(properties={"order": MemOrderAttr(order)})

    def verify_(self) -> None:
        _verify_acquire_or_release(self.name, self.order)
        if self.from_proxy != GENERIC:
            raise VerifyException(f"'{self.name}' op only generic is support for from_proxy attribute")
        if self.to_proxy != ASYNC:
            raise VerifyException(f"'{self.name}' op only async is supported for to_proxy attribute")


FENCE_OPS: tuple[type[Operation], ...] = (
    MembarOp,
    FenceScClusterOp,
    FenceMbarrierInitOp,
    FenceSyncRestrictOp,
    FenceProxyOp,
    FenceProxyAcquireOp,
    FenceProxyReleaseOp,
    FenceProxySyncRestrictOp,
)
