"""
Lower marks to the counters of a target: a wait for marks becomes a wait for what its operations left in flight.

    3 x rocdl.global.load.async.lds; rocdl.asyncmark            3 x rocdl.global.load.lds
    5 x rocdl.global.load.async.lds; rocdl.asyncmark     ->     5 x rocdl.global.load.lds
    2 x rocdl.global.load.async.lds; rocdl.asyncmark            2 x rocdl.global.load.lds
    rocdl.wait.asyncmark 2                                      rocdl.s.waitcnt 3959                    // vmcnt(7)

Source: LLVM, "AMDGPU Asynchronous Operations", and the counters in "User Guide for AMDGPU Backend" (memory model).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.windows import (
    NOTHING,
    Count,
    WindowAnalysis,
    called_functions,
    function_name,
    functions_with_body,
    require_few_groups,
)
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.rocdl import async_lds_transfer, counter_of
from tileas_xdsl.dialects.rocdl.transfers import counted_twin
from tileas_xdsl.dialects.rocdl.waits import (
    AsyncmarkOp,
    SWaitcntOp,
    WaitAsynccntOp,
    WaitAsyncmarkOp,
    WaitTensorcntOp,
)
from tileas_xdsl.interfaces import AgentLikeOpInterface, AsyncRegionOpInterface, FunctionOpInterface
from tileas_xdsl.targets.amdgpu import AMD_TARGETS, AMDTarget, AMDTargetName, Counter, waitcnt_field
from tileas_xdsl.transforms.rewriting.choices import ChoosingPass

MARKS = "marks"
"""The sequence of marks: each function has one."""

WAITS: dict[Counter, Callable[[int], Operation]] = {
    "vmcnt": lambda count: SWaitcntOp(waitcnt_field(count)),
    "asynccnt": WaitAsynccntOp,
    "tensorcnt": WaitTensorcntOp,
}


@dataclass(frozen=True)
class ConvertROCDLMarksToCountersPass(ChoosingPass):
    """
    Lower asynchronous marks to hardware counters.

    Rewrites:

    - A wait for at most N marks becomes one for as many operations as were issued since the (N + 1)-th newest mark, the
      least number on any path that has so many marks: `s.waitcnt` for vmcnt on gfx942 and gfx950, `s.wait.asynccnt`
      and, where there are tensor transfers, `s.wait.tensorcnt` on gfx1250. A wait that no path reaches with so many
      marks cannot block and goes. Numbers beyond what the counter can hold become its largest.
    - Marks go. The asynchronous transfers of gfx9, which came after LLVM 22, become their twins that only counters know
      of.

    What is counted: transfers in the function itself, on every path. What a call issues is not counted, nor are
    ordinary loads: too few waits for longer, too many races. A counter that only other functions use is waited for at
    0, because a mark covers the operations of callers and callees too.

    Requires: transfers of one counter complete in the order of their issue.
    Refuses: transfers that the target does not have; marks in regions that other threads run.

    Choices
        Transfers of the synchronous model that were there before are not counted: the compiler waits for them, and too
        few is safe.
    """

    name = "convert-rocdl-marks-to-counters"

    target: AMDTargetName = field(default="gfx950", metadata={"help": "which counters and transfers there are"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = AMD_TARGETS[self.target]
        marks = [inner for inner in op.walk() if isinstance(inner, AsyncmarkOp | WaitAsyncmarkOp)]
        transfers = [inner for inner in op.walk() if async_lds_transfer(inner) is not None]
        for transfer in transfers:
            _refuse_transfer(transfer, target)
        for mark in marks:
            refuse_in_other_threads(mark)
        waits = [inner for inner in marks if isinstance(inner, WaitAsyncmarkOp)]
        for wait in waits:
            require_few_groups(wait, wait.count.value.data)
        counts: dict[Counter, dict[Operation, int | None]] = {}
        for counter in _counters_in_use(op, transfers, target):
            counts[counter] = _counts(op, waits, counter)
        for wait in waits:
            for counter, found in counts.items():
                if (count := found[wait]) is not None:
                    bounded = min(count, target.most_in_flight)
                    Rewriter.insert_op(WAITS[counter](bounded), InsertPoint.before(wait))
            Rewriter.erase_op(wait)
        for mark in marks:
            if isinstance(mark, AsyncmarkOp):
                Rewriter.erase_op(mark)
        for transfer in transfers:
            twin = counted_twin(transfer)
            if twin is not None:
                Rewriter.replace_op(transfer, twin)


def _refuse_transfer(op: Operation, target: AMDTarget) -> None:
    """Raises `RefusedError` for a transfer that `target` does not have."""
    transfer = async_lds_transfer(op)
    assert transfer is not None
    if counter_of(op) not in target.counters:
        older = "vmcnt" in target.counters
        refuse(
            op,
            f"is no transfer of {target.name}",
            "use rocdl.global.load.async.lds and its like, of gfx9"
            if older
            else "use rocdl.global.load.async.to.lds.b32 and its like, of gfx1250",
        )
    if transfer.bytes is not None and transfer.bytes not in target.transfer_bytes:
        widths = ", ".join(map(str, target.transfer_bytes))
        refuse(
            op,
            f"moves {transfer.bytes} bytes for each lane, and {target.name} moves {widths}",
            "move them in parts of such a size",
        )


def refuse_in_other_threads(op: Operation) -> None:
    """Raises `RefusedError` for a mark or a wait that is not run by the thread that runs its function."""
    node = op.parent_op()
    while node is not None and FunctionOpInterface.of(node) is None:
        if AgentLikeOpInterface.of(node) is not None or AsyncRegionOpInterface.of(node) is not None:
            refuse(
                op,
                f"stands in an '{node.name}', which another thread runs, and threads wait for their own operations",
                "mark and wait in the thread that runs the function",
            )
        node = node.parent_op()


def _counters_in_use(module: Operation, transfers: list[Operation], target: AMDTarget) -> list[Counter]:
    """The counters that count some transfer of the module; all of them where functions from elsewhere are called."""
    if called_functions(module) - {function_name(function) for function in functions_with_body(module)}:
        return list(target.counters)
    used = {counter_of(transfer) for transfer in transfers}
    return [counter for counter in target.counters if counter in used]


def _counts(module: Operation, waits: list[WaitAsyncmarkOp], counter: Counter) -> dict[Operation, int | None]:
    """Wait -> how many of the transfers that `counter` counts it leaves in flight; None where it cannot block."""

    def count(op: Operation) -> Count:
        if isinstance(op, AsyncmarkOp):
            return Count(closes=(MARKS,))
        return Count(1) if async_lds_transfer(op) is not None and counter_of(op) == counter else NOTHING

    depth = max((wait.count.value.data + 1 for wait in waits), default=0)
    windows = WindowAnalysis(module, {MARKS: depth}, count, across_calls=False)
    return {wait: windows.window(wait, MARKS, wait.count.value.data + 1) for wait in waits}
