"""
Waits for products that nothing needs any more, once commits give slots back.

    async.dot %a, %b, %c            commits behind it give back the slots of %a and %b
    async.wait %done                only the release needs it, and another wait stands in front of what reads %c: idle
    consumer_release %read

A wait is for all products that have been started. So one is needed if something else than steps of rings and numbers
comes behind it with no other wait in between, on any path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, scf
from xdsl.ir import Operation

from tileas_xdsl.analysis.forward_flow import Arrival, FlowClient, analyse
from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.threads.products import is_in_tensor_memory
from tileas_xdsl.analysis.threads.rings import Rings
from tileas_xdsl.analysis.threads.stores import stores_behind
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReadOp,
    ConsumerReleaseOp,
    ConsumerWaitOp,
    CreateIteratorOp,
    CreateNullTokenOp,
    CreatePipelineOp,
    IncIterOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProduceOneOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaLoadOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp
from tileas_xdsl.transforms.to_llvm.pipelines.filling import returned_rings

Waits = frozenset[AsyncWaitOp]

STEPS = (
    *(ConsumerReadOp, ConsumerWaitOp, CreateIteratorOp, CreateNullTokenOp, CreatePipelineOp, IncIterOp),
    *(ProducerAcquireOp, ProduceOneAsyncOp, ProduceOneOp, ProducerCommitOp, TiledTmaLoadOp),
    *(CreateNoneOp, PipelineYieldOp, AgentSwitchOp, AsyncDotOp),
    *(scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp),
)
"""
Ops that need no product to be complete: products on one sum are made in order, and others share nothing. But scale
factors that lie in no slot are copied over those of the product before.
"""


def idle_waits(function: func.FuncOp, roots: PipelineRoots) -> set[AsyncWaitOp]:
    """The waits of a function for products with sums in tensor memory that nothing needs."""
    products = [op for op in function.body.walk() if isinstance(op, AsyncDotOp)]
    if not products or not all(map(is_in_tensor_memory, products)):
        return set()
    flow = _Needs(roots, Rings(function), frozenset(returned_rings(function, roots)))
    analyse(function, flow, frozenset())
    waits = {op for op in function.body.walk() if isinstance(op, AsyncWaitOp) and _is_of_product(op)}
    return waits - flow.needed


def _is_of_product(op: AsyncWaitOp) -> bool:
    return not isinstance(op.token.owner, AsyncTiledLoadOp) and not stores_behind(op.token)


@dataclass
class _Needs(FlowClient[Waits]):
    """The waits behind which no other one has come yet, and those of them that something needs."""

    roots: PipelineRoots
    rings: Rings
    returned: frozenset[object]
    needed: set[AsyncWaitOp] = field(default_factory=set[AsyncWaitOp])

    def join(self, arrivals: Sequence[Arrival[Waits]]) -> Waits:
        return frozenset[AsyncWaitOp]().union(*(arrival.state for arrival in arrivals))

    def enter(self, op: Operation, state: Waits) -> Waits:
        if state and self._needs_products(op):
            self.needed |= state
        return state

    def leave(self, op: Operation, state: Waits) -> Waits:
        if isinstance(op, AsyncWaitOp) and _is_of_product(op):
            return frozenset([op])
        return state

    def _needs_products(self, op: Operation) -> bool:
        """Whether an op may read or write what a product works on, or hands on that it is complete."""
        if isinstance(op, ConsumerReleaseOp):
            return any(root.key not in self.returned for root in self.roots.all_of_op(op))
        if isinstance(op, AsyncWaitOp):
            return not _is_of_product(op)
        if isinstance(op, AsyncDotOp):
            return any(not self.rings.of_tile(each) for each in op.scales)
        is_number = type(op).__module__ == arith.__name__ and not any(_is_tile(value) for value in op.results)
        return not isinstance(op, STEPS) and not is_number


def _is_tile(value: object) -> bool:
    return hasattr(getattr(value, "type", None), "get_shape")
