"""
The form of what is known of a multiprocessor and its warps. The figures of a device are in `measured/`.

Every number says where it comes from: the name of a measurement, a sum of several, or the fit that chose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto


class Port(Enum):
    """What takes one instruction after the other, in each quarter of a multiprocessor."""

    NONE = auto()
    FMA = auto()
    """Additions and products, of floats and integers."""
    ALU = auto()
    """Logic, comparisons, selections, maxima, conversions."""
    SPECIAL = auto()
    SHUFFLE = auto()
    SHARED = auto()
    TENSOR = auto()


INSTRUCTION_CLASSES = {
    **{"mma": "product", "shfl": "shuffle", "mul": "multiply", "mad": "multiply", "fma": "float"},
    **dict.fromkeys(("setp", "selp", "set"), "select"),
    **dict.fromkeys(("max", "min", "cvt"), "half_rate"),
}
"""First word of an instruction of PTX -> the class by which it is timed, where nothing more decides."""


@dataclass(frozen=True)
class Figure:
    """A number, and where it comes from."""

    value: float
    source: str
    """The name of a measurement in `bench/gpu/results/`, or `fitted: ...`, or `derived: ...`."""


@dataclass(frozen=True, slots=True)
class InstructionTiming:
    """One class of instructions."""

    slots: int
    """Instructions that the warp issues for it."""
    latency: float
    """Cycles from the issue until the result is there."""
    port: Port = Port.NONE
    interval: float = 0
    """Cycles for which the port takes no other."""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class WarpTiming:
    """Cycles of one multiprocessor, unless said otherwise, with the arrays in the second-level cache."""

    device: str
    instructions: Mapping[str, InstructionTiming]
    branch: float
    """A branch that is taken."""
    join: float
    """Where threads that parted meet again."""
    guard: float
    """From a predicate to the step that it guards, more than to one that selects by it."""
    special_register: float
    """The latency of `%tid.x` and its like."""
    mbarrier_test: float
    """A `try_wait` of a phase that is complete, with its branch and the arithmetic of its address."""
    mbarrier_spin: float
    """The same for `test_wait`."""
    one_lane: float
    """How much longer one lane waits than a warp."""
    wake: float
    """From the end of a phase to the first step of a warp that waits in `try_wait`."""
    spin_wake: float
    """The same for `test_wait`."""
    arrive: float
    """An arrival, for the warp that makes it."""
    arrive_visible: float
    """From the issue of an arrival until it counts."""
    expect: float
    """An arrival that expects bytes."""
    tma_issue: float
    """A transfer, until its warp goes on."""
    tma_next: float
    """From one transfer to the next, if nothing stands between them."""
    tma_start: float
    """From the issue until the engine begins."""
    tma_latency: float
    """From the last row of a box until its bytes count."""
    tma_row: float
    """A row of a box, if it is short."""
    tma_bytes: float
    """Bytes a cycle that the engine brings."""
    tma_store_bytes: float
    tma_store_latency: float
    wgmma_issue: float
    wgmma_fence: float
    wgmma_commit: float
    wgmma_drain: float
    """From the end of the last product until a wait for it is over."""
    wgmma_queue: int
    """Products that a warp may have handed over and that are not complete."""
    wgmma_shared: float
    """The least cycles of a product whose first factor lies in shared memory."""
    wgmma_registers: float
    """The least cycles of one whose first factor lies in registers."""
    bar: float
    """A barrier of all warps that are there, beside what each warp adds."""
    bar_per_warp: float
    bar_warp: float
    """`bar.warp.sync`."""
    fence: float
    """`fence.proxy.async`."""
    fence_after_stores: float
    """From the last store to the end of a fence."""
    shared_load: float
    """The latency of 4 bytes a lane."""
    shared_load_8: float
    shared_load_16: float
    matrix_load: float
    shared_store: float
    """Until a store is there."""
    l2: float
    """The latency of a load from global memory."""
    l2_far: float
    """What is added to each latency, since arrays that are streamed lie in both halves of the second-level cache."""
    global_bytes: float
    """Bytes a cycle that loads bring."""
    store_bytes: float
    """Bytes a cycle that stores take away."""
    store_backlog: float
    """Cycles of stores that may wait before a warp does."""
    copy_latency: float
    """Of `cp.async`."""
    copy_bytes: float
    """Bytes a cycle that `cp.async` brings."""
    copy_arrive: float
    """`cp.async.mbarrier.arrive`."""
    register_hand_over: float
    """`setmaxnreg`."""
    hand_over: float
    """From the end of a product to the issue of the load that refills its slot, or of the next product."""
    loaded: tuple[tuple[float, float], ...]
    """(bytes on their way to a multiprocessor, latency of a load), with all multiprocessors busy; fewer bytes first."""
