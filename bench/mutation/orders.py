"""
The threads of kernels without one of the barriers and fences that the passes insert: each is needed, or has a reason.

    kernel of tiles  --passes-->  threads         each barrier and each fence is dropped in turn, and a check of some
                                                  trip counts has to find what is wrong then
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tests.support.thread_kernels import BY_NAME
from tests.support.threads_and_tiles import lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp, SyncWarpOp
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp, FenceProxyOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05FenceOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaFenceAlignedOp

ORDERS = (Barrier0Op, BarrierOp, SyncWarpOp, FenceMbarrierInitOp, FenceProxyOp, WgmmaFenceAlignedOp, Tcgen05FenceOp)
TURNS = ([3], [6], [1], [0])
"""Trip counts, those first that show most."""
SECONDS = 20
"""For the check of each."""
PEOPLE = Path(__file__).parents[2] / "tests" / "kernels" / "people"
KERNELS = (*BY_NAME, *sorted(path.stem for path in PEOPLE.glob("*.mlir")))

OF_HARDWARE = {
    SyncWarpOp.name: "the machine takes the threads of a warp to run in step, and PTX promises no order of theirs "
    '(CUDA C++ Programming Guide, "Independent Thread Scheduling")',
    WgmmaFenceAlignedOp.name: "on another path ordinary instructions have written the registers: the guards of the "
    'stages exclude it, and nobody shows that to ptxas (PTX ISA, "wgmma.fence": before the first product, and between '
    "a register access by a thread and any product on the same registers)",
}
"""Ops that a check does not miss everywhere -> why they stand there all the same, with the public source."""

ONE_SLOT = "a ring of one slot orders the same: its next turn begins when all threads have released it"
KEPT = {
    **dict.fromkeys(
        [
            ("causal_attention_blocks", BarrierOp.name),
            ("causal_attention_blocks", Barrier0Op.name),
            ("dequantised_activations", Barrier0Op.name),
        ],
        ONE_SLOT,
    ),
    ("layer_norm_backward", FenceProxyOp.name): "the slot is filled again behind a later release of a shorter ring",
    **dict.fromkeys(
        [("prefix_sum", BarrierOp.name), ("prefix_sum", Barrier0Op.name)],
        "the loop takes one slot for a tile and the other one for the next, in each turn",
    ),
    ("chained_gemm", Barrier0Op.name): "each warp multiplies the rows that its threads have copied: they meet in warps",
}
"""Kernel and op without which its threads are safe -> what orders the same, and the passes do not follow."""


class Need(StrEnum):
    """What becomes of threads without a barrier or a fence."""

    NEEDED = "needed"
    """A check finds a mistake."""
    OF_HARDWARE = "of hardware"
    """None is found, and the table of rules that the machine does not have says why it stands there."""
    KEPT = "kept"
    """None is found, and what orders the same is known, but not to the passes."""
    REDUNDANT = "redundant"
    """None is found, and there is no reason."""


@dataclass(frozen=True)
class Dropped:
    """A barrier or a fence, and whether the threads need it."""

    kernel: str
    variant: str
    number: int
    """Which of the barriers and fences of the kernel."""
    op: str
    need: Need
    found: str
    """The kind of mistake that is found without it, or why it stands there."""

    def __str__(self) -> str:
        return f"{self.need}: {self.kernel} {self.variant} {self.number} '{self.op}': {self.found}"


def text_of(kernel: str) -> str:
    """The tiles of a kernel of the tests, or of people."""
    return BY_NAME[kernel].text if kernel in BY_NAME else (PEOPLE / f"{kernel}.mlir").read_text()


def orders(threads: ModuleOp) -> list[Operation]:
    """The barriers and fences, in program order."""
    return [op for op in threads.walk() if isinstance(op, ORDERS)]


def dropped(kernel: str, variant: str) -> Iterator[Dropped]:
    """Each barrier and fence of a kernel in turn; none where a pass refuses the kernel."""
    try:
        threads = lowered(text_of(kernel), variant)
    except RefusedError:
        return
    for number, op in enumerate(orders(threads)):
        need, found = _judged(without(threads, number), kernel, op.name)
        yield Dropped(kernel, variant, number, op.name, need, found)


def without(threads: ModuleOp, number: int) -> ModuleOp:
    """A copy of threads without the barrier or fence of this number."""
    mutant = threads.clone()
    Rewriter.erase_op(orders(mutant)[number])
    return mutant


def _judged(mutant: ModuleOp, kernel: str, op: str) -> tuple[Need, str]:
    for turns in TURNS:
        report = check(mutant, trip_counts=turns, prove=False, judge_waits=False, timeout=SECONDS)
        if report.findings:
            return Need.NEEDED, str(report.findings[0].violation.kind)
    if op in OF_HARDWARE:
        return Need.OF_HARDWARE, OF_HARDWARE[op]
    why = KEPT.get((kernel, op))
    return (Need.REDUNDANT, "nothing is wrong without it") if why is None else (Need.KEPT, why)
