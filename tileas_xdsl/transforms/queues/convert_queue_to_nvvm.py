"""
Lower the scopes of `async_queue` to `cp.async`: copies, commit groups, waits for groups.

    async_queue.commit 1 {                            nvvm.cp.async.shared.global %to, %from, 4, cache =  ca
      async_queue.scope {
        %v = memref.load %src[%i]              ->
        memref.store %v, %slot[%j]
      }
    }                                                 nvvm.cp.async.commit.group
    async_queue.commit 0 { ... }                      ...; nvvm.cp.async.commit.group
    async_queue.wait 1, 0 { use }                     nvvm.cp.async.wait.group 1; use

Source: PTX ISA, "Data Movement and Conversion Instructions: cp.async"; TVM RFC 0077 and the lowering of TVM.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tileas_xdsl.dialects.nvvm.attributes import LoadCacheModifier
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncCommitGroupOp, CpAsyncOp, CpAsyncWaitGroupOp
from tileas_xdsl.transforms.queues.queue_lowering import Copy, Pointers, QueueTarget, lower_queues
from tileas_xdsl.transforms.queues.queue_lowering.buffers import GLOBAL, SHARED

WIDTHS = (4, 8, 16)
"""How many bytes a copy may have."""


class CpAsync(QueueTarget):
    """`cp.async`: one sequence of groups for each thread."""

    across_calls: ClassVar[bool] = True
    most_in_flight: ClassVar[int] = 2**31 - 1

    def closes_group(self, op: Operation) -> bool:
        return isinstance(op, CpAsyncCommitGroupOp)

    def groups_awaited(self, op: Operation) -> int | None:
        return op.n.value.data if isinstance(op, CpAsyncWaitGroupOp) else None

    def refuses(self, copy: Copy) -> str | None:
        if copy.target.size not in WIDTHS:
            return f"it has {copy.target.size} bytes, and cp.async copies 4, 8 or 16"
        return None

    def emit_copy(self, copy: Copy, pointers: Pointers) -> None:
        size = copy.target.size
        to = pointers.to(copy.target, SHARED, copy.store)
        source = pointers.to(copy.source, GLOBAL, copy.store)
        builder = Builder(InsertPoint.before(copy.store))
        read = None if copy.condition is None else _bytes_to_read(copy.condition, size, builder)
        modifier = LoadCacheModifier.CG if size == 16 else LoadCacheModifier.CA
        builder.insert(CpAsyncOp(to, source, size, modifier, read))

    def commit(self) -> Operation:
        return CpAsyncCommitGroupOp()

    def wait(self, count: int) -> Operation:
        return CpAsyncWaitGroupOp(count)

    def barrier(self) -> Operation:
        return Barrier0Op()


def _bytes_to_read(condition: SSAValue, size: int, builder: Builder) -> SSAValue:
    """All of a copy's bytes where the condition holds, else none: the rest is filled with zeros."""
    everything, nothing = (builder.insert(arith.ConstantOp.from_int_and_width(n, i32)) for n in (size, 0))
    return builder.insert(arith.SelectOp(condition, everything, nothing)).result


@dataclass(frozen=True)
class ConvertQueueToNVVMPass(ModulePass):
    """
    Lower `async_queue` to `cp.async`.

    Rewrites:

    - A store to shared memory of 4, 8 or 16 bytes that were just loaded from global memory becomes a copy. Where the
      load stands under a condition and is zero otherwise, the copy fills with zeros. A `memref.copy` of a tile becomes
      copies of pieces, as wide as can be. Any other op of a scope runs at once, as ordinary code, and a remark says
      why.
    - A thread has one sequence of groups, so the count of every wait is taken anew: the groups of all queues that were
      committed since the one that is needed, on any path. A wait that cannot block goes.
    - Counts are immediates. With `peel` (the default) the first turns of loops of constant bounds run on their own
      where that makes counts constants. Where a count or a queue is computed still, the largest constant that is safe
      takes its place, and a remark says so.
    - A wait covers the copies of the waiting thread alone. With `barriers` (the default) the threads of the block meet
      after each wait, and before copies overwrite what may still be read.
    - With `static-shared` (the default) buffers in shared memory of static shape, allocated at the top of a function
      that nobody in the module calls, become `memref.global`s: shared memory is not allocated at run time.

    Requires: shared memory is address space 3 (or `#gpu.address_space<workgroup>`); buffers start at multiples of 16
    bytes.
    Refuses: queues of other threads' regions; loops that are still to be pipelined; a barrier where threads may
    diverge; waits that leave more than 1023 groups.

    Choices
        Threads meet after each wait and before buffers are overwritten, by default. The machine, whose agents are whole
        warps, could not find the races between threads that this prevents, so it is done by construction; a block of
        one thread can say `barriers=false`.

        A group stays a group when none of its stores became a copy: the counts are those of groups.
    """

    name = "convert-queue-to-nvvm"

    barriers: bool = field(
        default=True,
        metadata={"help": "let the threads of a block meet after each wait and before buffers are overwritten"},
    )
    static_shared: bool = field(
        default=True, metadata={"help": "turn buffers in shared memory into globals: it is not allocated at run time"}
    )
    peel: bool = field(
        default=True,
        metadata={"help": "peel the first iterations of loops if computed counts are constants then"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = CpAsync()
        lower_queues(op, target, barriers=self.barriers, static_shared=self.static_shared, peel_loops=self.peel)
