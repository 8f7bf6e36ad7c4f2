"""
Lower the scopes of `async_queue` to transfers to LDS and marks.

    async_queue.commit 1 {                            rocdl.global.load.async.lds %from, %to, 4, 0, 0
      async_queue.scope {
        %v = memref.load %src[%i]              ->
        memref.store %v, %slot[%j]
      }
    }                                                 rocdl.asyncmark
    async_queue.commit 0 { ... }                      ...; rocdl.asyncmark
    async_queue.wait 1, 0 { use }                     rocdl.wait.asyncmark 1; use

Source: LLVM, "AMDGPU Asynchronous Operations".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tileas_xdsl.dialects.rocdl.barriers import SBarrierOp
from tileas_xdsl.dialects.rocdl.transfers import GLOBAL_LOADS, GlobalLoadAsyncLdsOp
from tileas_xdsl.dialects.rocdl.waits import AsyncmarkOp, WaitAsyncmarkOp
from tileas_xdsl.targets.amdgpu import AMD_TARGETS, AMDTarget, AMDTargetName
from tileas_xdsl.transforms.queues.queue_lowering import Copy, Pointers, QueueTarget, lower_queues
from tileas_xdsl.transforms.queues.queue_lowering.buffers import GLOBAL, SHARED
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass


class AsyncMarks(QueueTarget):
    """Marks: one sequence for each activation of a function."""

    across_calls: ClassVar[bool] = False
    most_in_flight: ClassVar[int] = 2**15 - 1

    def __init__(self, hardware: AMDTarget) -> None:
        self.hardware = hardware

    def closes_group(self, op: Operation) -> bool:
        return isinstance(op, AsyncmarkOp)

    def groups_awaited(self, op: Operation) -> int | None:
        return op.count.value.data if isinstance(op, WaitAsyncmarkOp) else None

    def refuses(self, copy: Copy) -> str | None:
        if copy.condition is not None:
            return "no transfer to LDS fills with zeros"
        if copy.target.size not in self.hardware.transfer_bytes:
            widths = ", ".join(map(str, self.hardware.transfer_bytes))
            return f"it has {copy.target.size} bytes, and {self.hardware.name} transfers {widths} for each lane"
        return None

    def emit_copy(self, copy: Copy, pointers: Pointers) -> None:
        size = copy.target.size
        source = pointers.to(copy.source, GLOBAL, copy.store)
        to = pointers.to(copy.target, SHARED, copy.store)
        if "asynccnt" in self.hardware.counters:
            transfer: Operation = GLOBAL_LOADS[size](source, to)
        else:
            transfer = GlobalLoadAsyncLdsOp(source, to, size)
        Builder(InsertPoint.before(copy.store)).insert(transfer)

    def commit(self) -> Operation:
        return AsyncmarkOp()

    def wait(self, count: int) -> Operation:
        return WaitAsyncmarkOp(count)

    def barrier(self) -> Operation:
        return SBarrierOp()


@dataclass(frozen=True)
class ConvertQueueToROCDLPass(ChoosingPass):
    """
    Lower `async_queue` to asynchronous marks.

    Rewrites:

    - A store to LDS of what was just loaded from global memory becomes a transfer, where the target moves so many bytes
      for each lane. Any other op of a scope runs at once, as ordinary code, and a remark says why: also a load under a
      condition with zero as the alternative, for there are no transfers that fill with zeros.
    - A group becomes a mark. A function has one sequence of marks, so the count of every wait is taken anew: the marks
      of all queues since the one that is needed, on any path. A wait that cannot block goes.
    - Counts are immediates. With `peel` (the default) the first turns of loops of constant bounds run on their own
      where that makes counts constants. Where a count or a queue is computed still, the largest constant that is safe
      takes its place, and a remark says so.
    - With `barriers` (the default) the waves of the workgroup meet after each wait, and before transfers overwrite what
      may still be read: the order that publishes a transfer is transfer, wait, barrier.
    - With `static-shared` (the default) buffers in LDS of static shape, allocated at the top of a function that nobody
      in the module calls, become `memref.global`s.

    Requires: LDS is address space 3. On gfx9 the lanes' bytes land one behind the other from the first lane's address
    on.
    Refuses: calls between functions with queues (marks belong to one activation); queues of other threads' regions;
    loops that are still to be pipelined; a barrier where threads may diverge.

    Choices
        Functions from elsewhere do not commit to the module's queues. A queue across a call is refused, for marks
        belong to one activation.
    """

    name = "convert-queue-to-rocdl"

    target: AMDTargetName = field(default="gfx950", metadata={"help": "which transfers there are"})
    barriers: bool = field(
        default=True,
        metadata={"help": "let the waves of a workgroup meet after each wait and before buffers are overwritten"},
    )
    static_shared: bool = field(
        default=True, metadata={"help": "turn buffers in LDS into globals: it is not allocated at run time"}
    )
    peel: bool = field(
        default=True,
        metadata={"help": "peel the first iterations of loops if computed counts are constants then"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = AsyncMarks(AMD_TARGETS[self.target])
        lower_queues(op, target, barriers=self.barriers, static_shared=self.static_shared, peel_loops=self.peel)
