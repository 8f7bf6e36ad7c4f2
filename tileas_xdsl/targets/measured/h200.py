"""
The multiprocessor of an NVIDIA H200 (sm_90).

`A.` to `J.` are names in `bench/gpu/results/micro_h200.json`, which `bash bench/gpu/micro.sh OUT.json` writes. *Fitted*
figures were chosen so that the turns of fourteen kernels in `turns_h200.json` come near; the kernels of
`held_out.txt` had no part in it. *Derived* figures follow from measured ones as the text says.
"""

from __future__ import annotations

from dataclasses import replace

from tileas_xdsl.targets.gpu_timing import GPUTiming
from tileas_xdsl.targets.machine_model import KEPT_BYTES
from tileas_xdsl.targets.warp_timing import Figure, InstructionTiming, Port, WarpTiming

DEVICE = "NVIDIA H200"

FIGURES = {
    "branch": Figure(10.9, "fitted: loops of turns_h200.json"),
    "join": Figure(2.8, "fitted: loops of turns_h200.json"),
    "guard": Figure(7.3, "fitted: loops of turns_h200.json; 8 between the stall counts of the assembler"),
    "special_register": Figure(14.1, "fitted: loops of turns_h200.json"),
    "mbarrier_test": Figure(54.7, "fitted: with the arithmetic of its address; alone it is F.try_wait_ready"),
    "mbarrier_spin": Figure(56.7, "fitted: with the arithmetic of its address; alone it is F.test_wait_ready"),
    "one_lane": Figure(12.6, "derived: the note of F.try_wait_ready, 59.3, less its value"),
    "wake": Figure(49.4, "fitted: with arrive_visible, between F.wake.try_wait.w1 and F.pingpong.try_wait.warp"),
    "spin_wake": Figure(44.9, "fitted: with arrive_visible, F.wake.test_wait.w1 less a clock"),
    "arrive": Figure(6.0, "F.arrive"),
    "arrive_visible": Figure(20.8, "fitted: loops of turns_h200.json"),
    "expect": Figure(8.0, "F.arrive_expect_tx"),
    "tma_issue": Figure(34.9, "fitted: A.issue.64x64.tid0.K1 has 52 with an arrival"),
    "tma_next": Figure(10.0, "A.issue.64x64.slope"),
    "tma_start": Figure(40.0, "derived: A.issue.64x64.K1, with the arithmetic of its address"),
    "tma_latency": Figure(285.0, "derived: A.lat_otherwg.64x64.l2 less its rows, its issue and a wake"),
    "tma_row": Figure(0.73, "derived: rows of A.issue.64x64.K16, (K16 - K8) / 8 / 64"),
    "tma_bytes": Figure(107.0, "A.thr.128x64.l2.1sm.D8"),
    "tma_store_bytes": Figure(32.0, "B.thr.128x64.l2.1sm.D4.full"),
    "tma_store_latency": Figure(58.0, "derived: B.lat.128x64.l2.wait_full less its bytes"),
    "wgmma_issue": Figure(2.0, "derived: the stall counts of the assembler"),
    "wgmma_fence": Figure(13.8, "fitted: with the arithmetic of descriptors"),
    "wgmma_commit": Figure(1.0, "derived: one instruction"),
    "wgmma_drain": Figure(55.6, "fitted: C.group4.n64.ss.wg1.drain has 64 with what is issued"),
    "wgmma_queue": Figure(2, "derived: J.pipe1.bN.wait1.S6.1sm hides 93 cycles of issue, gemm_128_128_64 not 250"),
    "wgmma_shared": Figure(20.0, "C.chain.n16.ss.acc1.wg1"),
    "wgmma_registers": Figure(13.0, "C.chain.n16.rs.acc1.wg1"),
    "bar": Figure(13.4, "derived: F.bar_sync.128 less its warps"),
    "bar_per_warp": Figure(2.0, "derived: F.bar_sync.256 less F.bar_sync.128, by 4 warps"),
    "bar_warp": Figure(3.7, "F.syncwarp"),
    "fence": Figure(13.9, "B.fence.128threads.fence_only"),
    "fence_after_stores": Figure(20.0, "derived: B.fence.128threads.st_fence less B.fence.128threads.st"),
    "shared_load": Figure(23.0, "G.ld.shared.b32.lat"),
    "shared_load_8": Figure(26.0, "G.ld.shared.v2.lat"),
    "shared_load_16": Figure(32.0, "G.ld.shared.v4.lat"),
    "matrix_load": Figure(29.0, "D.ldmatrix.x4.lat"),
    "shared_store": Figure(10.0, "derived: G.st_ld.shared.lat less a load"),
    "l2": Figure(295.0, "G.ld.global.16B.lat.l2.lane"),
    "l2_far": Figure(50.0, "fitted: arrays that are streamed; the single figures read a small array again"),
    "global_bytes": Figure(92.5, "G.ld.global.cg.v4.thr.t512.l2.1sm"),
    "store_bytes": Figure(32.0, "G.st.global.v4.thr.t512.l2.1sm"),
    "store_backlog": Figure(150.0, "fitted: no loop of turns_h200.json depends on it"),
    "copy_latency": Figure(320.0, "derived: E.lat.t128.c1.l2 less its issue and its wait"),
    "copy_bytes": Figure(100.0, "derived: E.thr.16384B.S4.l2.1sm, 91.5, which is not yet its limit"),
    "copy_arrive": Figure(6.8, "fitted: loops of turns_h200.json"),
    "hand_over": Figure(93.0, "derived: J.pipe1.bN.wait0.noload.S4.1sm, 668.7, less its products and a drain"),
    "register_hand_over": Figure(60.0, "F.setmaxnreg.dec"),
}

INSTRUCTIONS = {
    "add": InstructionTiming(1, 5.0, Port.FMA, 1.1, "G.xor+add.s32.lat"),
    "logic": InstructionTiming(1, 5.0, Port.ALU, 2.0, "G.max.f32.thr.w8, of the same port"),
    "select": InstructionTiming(1, 5.0, Port.ALU, 2.0, "G.setp+selp.f32.thr.w8"),
    "wide": InstructionTiming(2, 7.0, Port.ALU, 3.0, "derived: two instructions of 32 bits, one after the other"),
    "multiply": InstructionTiming(1, 4.5, Port.FMA, 2.0, "G.mad.lo.s32.thr.w8"),
    "wide_multiply": InstructionTiming(4, 16.0, Port.FMA, 4.0, "derived: four products of 32 bits"),
    "integer_division": InstructionTiming(20, 100.0, Port.ALU, 20.0, "derived: the sequence of the assembler"),
    "float": InstructionTiming(1, 4.3, Port.FMA, 1.1, "G.add.f32.thr.w8"),
    "half_rate": InstructionTiming(1, 4.3, Port.ALU, 2.0, "G.max.f32.thr.w8, G.cvt.rn.f16x2.f32.thr.w8"),
    "special": InstructionTiming(1, 17.0, Port.SPECIAL, 8.0, "G.ex2.approx.ftz.f32.lat"),
    "scaled_special": InstructionTiming(4, 38.0, Port.SPECIAL, 8.3, "G.ex2.approx.f32+xor.lat less an xor"),
    "scaled_special_division": InstructionTiming(4, 46.0, Port.SPECIAL, 9.6, "G.div.full.f32.lat"),
    "division": InstructionTiming(10, 60.0, Port.SPECIAL, 16.0, "derived: ten instructions and a branch each"),
    "shuffle": InstructionTiming(1, 24.0, Port.SHUFFLE, 4.0, "G.shfl.sync.bfly.b32.lat"),
    "product": InstructionTiming(1, 24.0, Port.TENSOR, 6.0, "D.mma.m16n8k16.f16.lat"),
}

LOADED = (
    (0.0, 425.0, "derived: A.thr.64x64.l2.all.D1, on the line to 0 bytes"),
    (32_768.0, 990.0, "J.pipe1.bN.wait1.S2.all less hand_over"),
    (65_536.0, 1425.0, "J.pipe1.bN.wait1.S3.all, two turns, less hand_over"),
    (98_304.0, 1513.0, "J.pipe1.bN.wait1.S4.all, three turns, less hand_over"),
)
"""Bytes on their way to each multiprocessor, latency of a load, source."""

_QUEUE = "wgmma_queue"

H200 = WarpTiming(
    device=DEVICE,
    instructions=INSTRUCTIONS,
    loaded=tuple((size, latency) for size, latency, _ in LOADED),
    wgmma_queue=int(FIGURES[_QUEUE].value),
    **{name: figure.value for name, figure in FIGURES.items() if name != _QUEUE},
)


# The whole GPU --------------------------------------------------------------------------------------------------------

UNDER_LOAD = {
    "tma_bytes": Figure(45.2, "derived: 32,768 bytes in J.pipe1.bN.loads_only.S3.all"),
    "tma_row": Figure(128 / 45.2, "derived: 128 bytes of it; a shorter row takes as long, A.thr.64x16.l2.1sm.D8"),
    "global_bytes": Figure(36.6, "G.ld.global.cg.v4.thr.t512.l2.all"),
    "copy_bytes": Figure(36.6, "G.ld.global.cg.v4.thr.t512.l2.all"),
}
"""What differs while all multiprocessors load. Blocks end at different times, so stores stay as they are."""

WHOLE = {
    "memory_bytes": Figure(18.1, "A.thr.128x64.hbm.all.D8"),
    "memory_latency": Figure(835.0, "A.lat.128x64.hbm less A.lat.128x64.l2"),
    "spilled_bytes": Figure(128.0, "assumed: the first-level cache gives what shared memory does"),
    "block_start": Figure(410.0, "derived: H.launch.k3.graph less H.launch.k2.graph, three blocks more, by 1,980 MHz"),
    "launch_seconds": Figure(0.544e-6, "H.launch.k2.graph"),
    "clock": Figure(1980e6, "I.clock.light"),
    "products_clock": Figure(1542e6, "I.clock.wgmma1s"),
}

MIB = 1 << 20

H200_GPU = GPUTiming(
    device=DEVICE,
    multiprocessors=132,
    shared_bytes=227 * 1024 + KEPT_BYTES,
    alone=H200,
    loaded=replace(H200, **{name: figure.value for name, figure in UNDER_LOAD.items()}),
    cache_bytes=50 * MIB,
    **{name: figure.value for name, figure in WHOLE.items()},
)
