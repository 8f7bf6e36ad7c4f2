"""
Forty kernels with one planted mistake each: a right program, and the text that makes it wrong.

The right programs are kernels in Gluon as people write them, with their launches, their tests and their measurements,
and programs in the other languages that are checked. `seen` was written down before anything was checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLUON = "tests/planted/gluon"


class Kind(StrEnum):
    """What is wrong."""

    NO_WAIT = "a wait is missing"
    WEAK_WAIT = "a wait leaves too much in flight"
    PHASE = "a wait asks for the wrong phase"
    SLOT = "an index of a slot is wrong"
    NO_ARRIVAL = "an arrival is missing"
    ARRIVALS = "a barrier counts other arrivals than come"
    BYTES = "a barrier expects other bytes than come"
    FENCE = "a fence is missing"
    EARLY_FILL = "a slot is filled before it is released"
    FREED = "something is used after it is freed"
    CIRCLE = "agents wait for each other"
    STORE = "a store is not waited for"


HANG, NUMBERS, FAULT = "hang", "numbers", "fault"
"""What the author sees, as a word of the first line that is printed."""


@dataclass(frozen=True)
class Planted:
    """One mistake in the program in `file`: `wrong` stands in it instead of `right`, which is there once."""

    file: str
    kind: Kind
    seen: str
    right: str
    wrong: str
    options: tuple[str, ...] = ()
    """Of `tileas check`."""

    @property
    def name(self) -> str:
        return f"{Path(self.file).name}: {self.kind}"

    @property
    def text(self) -> str:
        """The program with the mistake. Raises `ValueError` where `right` is not in it once."""
        before, *after = (ROOT / self.file).read_text().split(self.right)
        if len(after) != 1:
            raise ValueError(f"{self.name}: '{self.right}' is {len(after)} times in it")
        return before + self.wrong + after[0]


ADD, COPY, PARTITIONS = f"{GLUON}/add_cp_async.py", f"{GLUON}/memcpy_tma.py", f"{GLUON}/add_specialized.py"
HOPPER, BLACKWELL = f"{GLUON}/matmul_hopper.py", f"{GLUON}/matmul_blackwell.py"
SCALE, AMD = f"{GLUON}/scale_rows.py", f"{GLUON}/copy_amd.py"
ON_BLACKWELL, ON_AMD, BY_TEST = ("--target", "sm_100"), ("--target", "gfx950"), ("--call", "test_scale_rows")

IN_GLUON = (
    Planted(ADD, Kind.NO_WAIT, NUMBERS, "    cp.wait_group(PENDING)\n", ""),
    Planted(ADD, Kind.WEAK_WAIT, NUMBERS, "cp.wait_group(PENDING)", "cp.wait_group(NUM_BUFFERS - 1)"),
    Planted(
        ADD, Kind.SLOT, NUMBERS, "b = b_smem.index(step % NUM_BUFFERS)", "b = b_smem.index((step + 1) % NUM_BUFFERS)"
    ),
    Planted(COPY, Kind.NO_WAIT, NUMBERS, "        mbarrier.wait(bar, phase)\n", ""),
    Planted(COPY, Kind.BYTES, HANG, "in_desc.block_type.nbytes", "BLOCK_M * BLOCK_N * 4"),
    Planted(COPY, Kind.PHASE, NUMBERS, "        phase ^= 1\n", ""),
    Planted(COPY, Kind.STORE, NUMBERS, "        tma.store_wait(pendings=0)\n", ""),
    Planted(PARTITIONS, Kind.NO_ARRIVAL, HANG, "        mbarrier.arrive(load_empty.index(index), count=1)\n", ""),
    Planted(
        PARTITIONS,
        Kind.ARRIVALS,
        HANG,
        "mbarrier.init(c_ready.index(i), count=1)",
        "mbarrier.init(c_ready.index(i), count=2)",
    ),
    Planted(
        PARTITIONS, Kind.FENCE, NUMBERS, "        fence_async_shared()  # the sum is written before it is stored\n", ""
    ),
    Planted(
        PARTITIONS,
        Kind.FENCE,
        NUMBERS,
        "        fence_async_shared()  # the tiles are read before they are loaded again\n",
        "",
    ),
    Planted(PARTITIONS, Kind.EARLY_FILL, NUMBERS, "        mbarrier.wait(load_empty.index(index), phase ^ 1)\n", ""),
    Planted(
        PARTITIONS,
        Kind.PHASE,
        HANG,
        "mbarrier.wait(c_empty.index(index), phase ^ 1)",
        "mbarrier.wait(c_empty.index(index), phase)",
    ),
    Planted(
        PARTITIONS,
        Kind.BYTES,
        NUMBERS,
        "a_desc.block_type.nbytes + b_desc.block_type.nbytes",
        "a_desc.block_type.nbytes",
    ),
    Planted(
        PARTITIONS,
        Kind.CIRCLE,
        HANG,
        "        ready = load_ready.index(index)\n",
        "        mbarrier.wait(store_bars[1].index(index), phase)\n        ready = load_ready.index(index)\n",
    ),
    Planted(PARTITIONS, Kind.STORE, NUMBERS, "        tma.store_wait(pendings=0)\n", ""),
    Planted(
        HOPPER, Kind.WEAK_WAIT, NUMBERS, "warpgroup_mma_wait(1, deps=(acc,))", "warpgroup_mma_wait(2, deps=(acc,))"
    ),
    Planted(HOPPER, Kind.EARLY_FILL, NUMBERS, "AHEAD: gl.constexpr = STAGES - 2", "AHEAD: gl.constexpr = STAGES - 1"),
    Planted(
        HOPPER,
        Kind.FREED,
        HANG,
        "    for k in range(steps):\n",
        "    mbarrier.invalidate(ring.bars.index(0))\n    for k in range(steps):\n",
    ),
    Planted(
        BLACKWELL,
        Kind.PHASE,
        NUMBERS,
        "    phase = 0\n    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):\n",
        "    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):\n        phase = 0\n",
        ON_BLACKWELL,
    ),
    Planted(BLACKWELL, Kind.NO_WAIT, NUMBERS, "            mbarrier.wait(mma_bar, phase)\n", "", ON_BLACKWELL),
    Planted(BLACKWELL, Kind.NO_ARRIVAL, HANG, "            tcgen05_commit(mma_bar)\n", "", ON_BLACKWELL),
    Planted(SCALE, Kind.WEAK_WAIT, NUMBERS, "pendings=DEPTH - 1", "pendings=DEPTH", BY_TEST),
    Planted(
        SCALE,
        Kind.STORE,
        NUMBERS,
        "        slot = (slot + 1) % DEPTH\n    tma.store_wait(pendings=0)\n",
        "        slot = (slot + 1) % DEPTH\n",
        BY_TEST,
    ),
    Planted(AMD, Kind.WEAK_WAIT, NUMBERS, "wait_group(BUFFERS - 2)", "wait_group(BUFFERS - 1)", ON_AMD),
    Planted(AMD, Kind.SLOT, NUMBERS, "x = bufs.index(i % BUFFERS)", "x = bufs.index((i + 1) % BUFFERS)", ON_AMD),
)

WITHOUT_EDIT = (Kind.CIRCLE, Kind.FREED)
"""What is repaired by taking something away, which no edit does."""

RING, TASKS, PHASES = "examples/cp_async_ring.mlir", "examples/async_tasks.mlir", "examples/four_ways_phases.mlir"
DEVICE, REGIONS, ATTENTION = "examples/nvgpu_ring.mlir", "examples/async_regions.mlir", "examples/attention_queue.mlir"
BULK, STORES = "examples/zoo/tma-arrival-count.good.mlir", "examples/zoo/store-wait-count.good.mlir"
COLUMNS, PTX = "examples/zoo/permit-given-up.good.mlir", "examples/zoo/operands-given-back-early.good.ptx"
SCALE_RING = ("--function", "scale")

IN_IR = (
    Planted(RING, Kind.WEAK_WAIT, NUMBERS, "async_queue.wait 0, 2 {", "async_queue.wait 0, 3 {", SCALE_RING),
    Planted(
        RING, Kind.SLOT, NUMBERS, "%next_slot = arith.remui %next, %c3", "%next_slot = arith.remui %i, %c3", SCALE_RING
    ),
    Planted(TASKS, Kind.NO_WAIT, NUMBERS, "async.execute [%cleared] {", "async.execute {"),
    Planted(TASKS, Kind.NO_WAIT, NUMBERS, "  async.await_all %group\n", ""),
    Planted(DEVICE, Kind.NO_WAIT, NUMBERS, "    nvgpu.device_async_wait %a\n", ""),
    Planted(DEVICE, Kind.SLOT, NUMBERS, "%here = arith.remui %i, %c3", "%here = arith.remui %ahead, %c3"),
    Planted(PHASES, Kind.CIRCLE, HANG, "numStages = 3", "numStages = 2"),
    Planted(PHASES, Kind.SLOT, NUMBERS, "%use = arith.remui %i, %c3", "%use = arith.remui %ahead, %c3"),
    Planted(REGIONS, Kind.NO_WAIT, NUMBERS, "[%there, %x_moved, %y_moved, %z_moved]", "[%there, %x_moved, %z_moved]"),
    Planted(
        REGIONS,
        Kind.STORE,
        NUMBERS,
        "async_region.yield %host : memref<8x8xf32> after [%back]",
        "async_region.yield %host : memref<8x8xf32>",
    ),
    Planted(
        ATTENTION,
        Kind.NO_ARRIVAL,
        HANG,
        "      nv_tileaa.queue.put %qv[%j], %v_tile : (!v_queue, index, !v_tile) -> ()\n",
        "",
    ),
    Planted(BULK, Kind.PHASE, HANG, "try_wait.parity %e, %turn, %ticks", "try_wait.parity %e, %bit, %ticks"),
    Planted(BULK, Kind.NO_ARRIVAL, HANG, "      nvvm.mbarrier.arrive %e : !llvm.ptr<3>\n", ""),
    Planted(BULK, Kind.BYTES, HANG, "arrive.expect_tx %f, %bytes", "arrive.expect_tx %f, %ticks"),
    Planted(BULK, Kind.ARRIVALS, NUMBERS, "nvvm.mbarrier.init %e, %threads", "nvvm.mbarrier.init %e, %c1"),
    Planted(STORES, Kind.STORE, NUMBERS, "  nvvm.cp.async.bulk.wait_group 0\n  func", "  func"),
    Planted(STORES, Kind.EARLY_FILL, NUMBERS, "      nvvm.cp.async.bulk.wait_group 0 {read}\n", ""),
    Planted(COLUMNS, Kind.FREED, FAULT, "dealloc %other", "dealloc %one"),
    Planted(PTX, Kind.WEAK_WAIT, NUMBERS, "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    Planted(PTX, Kind.BYTES, NUMBERS, "[full], 9216;", "[full], 8192;"),
)
