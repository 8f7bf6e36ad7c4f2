"""
Every row of the table of instructions: what computes against Python on numbers, what acts by the ops that it becomes.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.readers.ptx.evaluation import M32, M64, computed
from tests.readers.ptx.programs import module_of, ops_of, text_of
from tileas_xdsl.readers.ptx.arithmetic import evaluated, signed
from tileas_xdsl.readers.ptx.instructions.rows import Row
from tileas_xdsl.readers.ptx.launch import Launch, map_from_text
from tileas_xdsl.readers.ptx.lowering import TABLE
from tileas_xdsl.readers.ptx.operands import operands_of
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.steps import Constant, Step, Value
from tileas_xdsl.readers.ptx.syntax import Instruction

# What computes --------------------------------------------------------------------------------------------------------


def s32(value: int) -> int:
    return signed(value & M32, 32)


def s64(value: int) -> int:
    return signed(value & M64, 64)


def divided(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


COMPUTED: dict[str, Callable[[int, int, int], int]] = {
    "add.s32 %r9, %r1, %r2;": lambda a, b, c: a + b,
    "sub.u32 %r9, %r1, %r2;": lambda a, b, c: a - b,
    "mul.lo.s32 %r9, %r1, %r2;": lambda a, b, c: a * b,
    "mul.hi.u32 %r9, %r1, %r2;": lambda a, b, c: (a & M32) * (b & M32) >> 32,
    "mul.hi.s32 %r9, %r1, %r2;": lambda a, b, c: s32(a) * s32(b) >> 32,
    "mad.lo.s32 %r9, %r1, %r2, %r3;": lambda a, b, c: a * b + c,
    "div.u32 %r9, %r1, %r2;": lambda a, b, c: (a & M32) // ((b & M32) or 1),
    "div.s32 %r9, %r1, 7;": lambda a, b, c: divided(s32(a), 7),
    "rem.s32 %r9, %r1, 7;": lambda a, b, c: s32(a) - divided(s32(a), 7) * 7,
    "rem.u32 %r9, %r1, 7;": lambda a, b, c: (a & M32) % 7,
    "min.s32 %r9, %r1, %r2;": lambda a, b, c: min(s32(a), s32(b)),
    "max.u32 %r9, %r1, %r2;": lambda a, b, c: max(a & M32, b & M32),
    "neg.s32 %r9, %r1;": lambda a, b, c: -a,
    "abs.s32 %r9, %r1;": lambda a, b, c: abs(s32(a)),
    "and.b32 %r9, %r1, %r2;": lambda a, b, c: a & b,
    "or.b32 %r9, %r1, %r2;": lambda a, b, c: a | b,
    "xor.b32 %r9, %r1, %r2;": lambda a, b, c: a ^ b,
    "not.b32 %r9, %r1;": lambda a, b, c: ~a,
    "shl.b32 %r9, %r1, 5;": lambda a, b, c: a << 5,
    "shl.b32 %r9, %r1, 32;": lambda a, b, c: 0,
    "shl.b32 %r9, %r1, %r3;": lambda a, b, c: (a & M32) << (c & M32) if c & M32 < 32 else 0,
    "shr.u32 %r9, %r1, 5;": lambda a, b, c: (a & M32) >> 5,
    "shr.u32 %r9, %r1, %r3;": lambda a, b, c: (a & M32) >> (c & M32) if c & M32 < 32 else 0,
    "shr.s32 %r9, %r1, 5;": lambda a, b, c: s32(a) >> 5,
    "shr.s32 %r9, %r1, 40;": lambda a, b, c: s32(a) >> 31,
    "shr.s32 %r9, %r1, %r3;": lambda a, b, c: s32(a) >> min(c & M32, 31),
    "bfe.u32 %r9, %r1, 4, 9;": lambda a, b, c: a >> 4 & 0x1FF,
    "bfe.u32 %r9, %r1, 28, 9;": lambda a, b, c: (a & M32) >> 28,
    "bfe.s32 %r9, %r1, 4, 9;": lambda a, b, c: signed(a >> 4 & 0x1FF, 9),
    "bfe.s32 %r9, %r1, 0, 0;": lambda a, b, c: 0,
    "bfi.b32 %r9, %r1, %r2, 8, 4;": lambda a, b, c: b & ~0xF00 | (a & 0xF) << 8,
    "prmt.b32 %r9, %r1, %r2, 0x5410;": lambda a, b, c: a & 0xFFFF | (b & 0xFFFF) << 16,
    "lop3.b32 %r9, %r1, %r2, %r3, 0xE8;": lambda a, b, c: a & b | a & c | b & c,
    "lop3.b32 %r9, %r1, %r2, %r3, 0x96;": lambda a, b, c: a ^ b ^ c,
    "shf.l.wrap.b32 %r9, %r1, %r2, 36;": lambda a, b, c: ((b & M32) << 32 | a & M32) << 4 >> 32,
    "shf.r.clamp.b32 %r9, %r1, %r2, 36;": lambda a, b, c: b,
    "shf.r.wrap.b32 %r9, %r1, %r2, 4;": lambda a, b, c: ((b & M32) << 32 | a & M32) >> 4,
    "setp.lt.s32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": lambda a, b, c: int(s32(a) < s32(b)),
    "setp.lt.u32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": lambda a, b, c: int(a & M32 < b & M32),
    "setp.ls.u32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": lambda a, b, c: int(a & M32 <= b & M32),
    "setp.ne.s32 %p2, %r2, 0; setp.eq.and.b32 %p1|%p3, %r1, 4, %p2; selp.b32 %r9, 1, 0, %p3;": (
        lambda a, b, c: int(a & M32 != 4 and b & M32 != 0)
    ),
    "setp.ne.s32 %p2, %r2, %r1; not.pred %p3, %p2; or.pred %p3, %p3, %p2; selp.b32 %r9, 7, 8, %p3;": (
        lambda a, b, c: 7
    ),
    "setp.gt.s32 %p2, %r2, %r1; setp.gt.s32 %p3, %r1, 0; and.pred %p4, %p2, %p3; xor.pred %p4, %p4, 1;"
    "selp.b32 %r9, 7, 8, %p4;": lambda a, b, c: 8 if s32(b) > s32(a) > 0 else 7,
    "mov.b32 {%h3, %h4}, %r1; mov.b32 %r9, {%h4, %h3};": lambda a, b, c: a << 16 | (a & M32) >> 16,
    "mov.b32 %r9, WARP_SZ;": lambda a, b, c: 32,
    "setp.lt.s32 %p1, %r1, 0; mov.b32 %r9, 3; @%p1 mov.b32 %r9, %r2;": lambda a, b, c: b if s32(a) < 0 else 3,
    "setp.lt.s32 %p1, %r1, 0; mov.b32 %r9, 3; @!%p1 add.s32 %r9, %r2, 1;": lambda a, b, c: 3 if s32(a) < 0 else b + 1,
    "cvt.u16.u32 %h3, %r1; cvt.s32.s16 %r9, %h3;": lambda a, b, c: signed(a & 0xFFFF, 16),
    "cvt.u32.u16 %r9, %h1;": lambda a, b, c: a & 0xFFFF,
    "cvt.s32.s8 %r9, %r1;": lambda a, b, c: signed(a & 0xFF, 8),
    "add.s16 %h3, %h1, %h2; cvt.u32.u16 %r9, %h3;": lambda a, b, c: a + b & 0xFFFF,
    "cvta.shared.u64 %d3, %d1; cvt.u32.u64 %r9, %d3;": lambda a, b, c: a,
}
"""Instructions that put a number into %r9, and that number; its low 32 bits are compared."""
WIDE: dict[str, Callable[[int, int, int], int]] = {
    "mul.wide.u32 %d9, %r1, %r2;": lambda a, b, c: (a & M32) * (b & M32),
    "mul.wide.s32 %d9, %r1, %r2;": lambda a, b, c: s32(a) * s32(b),
    "mad.wide.s32 %d9, %r1, %r2, %d2;": lambda a, b, c: s32(a) * s32(b) + b,
    "mul.hi.u64 %d9, %d1, %d2;": lambda a, b, c: (a & M64) * (b & M64) >> 64,
    "mad.lo.s64 %d9, %d1, %d2, %d1;": lambda a, b, c: a * b + a,
    "cvt.s64.s32 %d9, %r1;": lambda a, b, c: s32(a),
    "cvt.u64.u32 %d9, %r1;": lambda a, b, c: a & M32,
    "mov.b64 %d9, {%r1, %r2};": lambda a, b, c: a & M32 | (b & M32) << 32,
    "shr.s64 %d9, %d1, 5;": lambda a, b, c: s64(a) >> 5,
    "xor.b64 %d9, %d1, -1;": lambda a, b, c: ~a,
    "max.s64 %d9, %d1, %d2;": lambda a, b, c: max(s64(a), s64(b)),
    "mov.b64 %d9, 0d3FF0000000000000;": lambda a, b, c: 0x3FF0000000000000,
}
EDGES = (0, 1, 3, 31, 32, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x123456789ABCDEF0, -1)


def arguments() -> list[tuple[int, int, int]]:
    draw = random.Random(3)
    some = [(draw.choice(EDGES), draw.choice(EDGES[1:]), draw.choice(EDGES)) for _ in range(12)]
    return [*some, *((draw.getrandbits(64), draw.getrandbits(64) | 1, draw.getrandbits(6)) for _ in range(12))]


@pytest.mark.parametrize("instructions", COMPUTED)
def test_what_computes_gives_the_numbers_of_the_manual(instructions: str):
    for a, b, c in arguments():
        if "div.u32" in instructions and b & M32 == 0:
            continue
        found = computed(f"{instructions} cvt.u64.u32 %d9, %r9;", a & M64, b & M64, c & M64)
        assert found == COMPUTED[instructions](a & M64, b & M64, c & M64) & M32, (a, b, c)


@pytest.mark.parametrize("instructions", WIDE)
def test_what_computes_64_bits_gives_the_numbers_of_the_manual(instructions: str):
    for a, b, c in arguments():
        assert computed(instructions, a & M64, b & M64, c) == WIDE[instructions](a & M64, b & M64, c) & M64, (a, b)


UNKNOWN = (
    "mov.b128 %q1, {%d1, %d2}; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %q1;",
    "popc.b32 %r1, %r2;",
    "add.sat.s32 %r1, %r2, %r3;",
    "bfe.u32 %r1, %r2, %r3, 4;",
    "bfi.b32 %r1, %r2, %r3, %r4, 4;",
    "prmt.b32 %r1, %r2, %r3, 0x8000;",
    "lop3.b32 %r1, %r2, %r3, %r4, %r5;",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4;",
    "fma.rn.f32 %r1, %f1, %f2, %f3;",
    "ld.global.b32 %r1, [%d1];",
    "ldu.global.b32 %r1, [%d1];",
    "ld.const.b32 %r1, [%d1];",
    "atom.global.add.u32 %r1, [%d1], 1;",
    "vote.sync.ballot.b32 %r1, %p1, -1;",
    "match.any.sync.b32 %r1, %r2, -1;",
    "redux.sync.add.s32 %r1, %r2, -1;",
    "activemask.b32 %r1;",
    "mbarrier.pending_count.b64 %r1, %d1;",
    "shfl.idx.b32 %r1, %r2, 0, 31;",
    "mov.u32 %r1, %smid;",
    "mov.u32 %r1, %clock;",
)
"""Instructions whose result is a number that is not followed."""


@pytest.mark.parametrize("instruction", UNKNOWN)
def test_what_is_not_followed_is_an_unknown_number(instruction: str):
    text = str(module_of(f"{instruction}\n setp.eq.s32 %p1, %r1, 0;\n @%p1 bar.sync 0;"))
    assert "llvm.mlir.undef : i32" in text


# What acts ------------------------------------------------------------------------------------------------------------

ACTING: dict[str, list[str]] = {
    "ld.shared.b32 %r1, [s];": ["llvm.load"],
    "ld.volatile.shared.u8 %r1, [s+3];": ["llvm.load"],
    "ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [s+16];": ["llvm.load"],
    "st.shared.b32 [s], %r1;": ["llvm.store"],
    "st.shared::cta.v2.b64 [s], {%d1, %d2};": ["llvm.store"],
    "mov.u64 %d1, s; st.b32 [%d1+4], %r1;": ["llvm.store"],
    "mov.u64 %d1, s; ld.b32 %r1, [%d1+4];": ["llvm.load"],
    "st.global.b32 [%d1], %r1;": [],
    "st.b32 [%d1], %r1;": [],
    "ld.b32 %r1, [%d1];": [],
    "red.global.add.u32 [%d1], 1;": [],
    "st.param.b32 [p], %r1;": [],
    "atom.shared.add.u32 %r1, [s], 1;": ["llvm.atomicrmw"],
    "atom.shared.cas.b32 %r1, [s], 1, 2;": ["llvm.atomicrmw"],
    "red.shared.max.s32 [s], %r1;": ["llvm.atomicrmw"],
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [s];": ["nvvm.ldmatrix"],
    "ldmatrix.sync.aligned.x1.m8n8.shared::cta.b16 {%r1}, [s];": ["nvvm.ldmatrix"],
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {%r1, %r2};": ["nvvm.stmatrix"],
    "mapa.shared::cluster.u32 %r1, %r2, 0;": [],
    "getctarank.shared::cluster.u32 %r1, %r2;": [],
    "mbarrier.init.shared.b64 [s], 1;": ["nvvm.mbarrier.init"],
    "mbarrier.inval.shared::cta.b64 [s];": ["nvvm.mbarrier.inval"],
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 64;": ["nvvm.mbarrier.expect_tx"],
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [s], 64;": ["nvvm.mbarrier.complete_tx"],
    "mbarrier.arrive.shared.b64 %d1, [s];": ["nvvm.mbarrier.arrive"],
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [s], 2;": ["nvvm.mbarrier.arrive"],
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [s];": ["nvvm.mbarrier.arrive"],
    "mbarrier.arrive.expect_tx.shared.b64 _, [s], 64;": ["nvvm.mbarrier.arrive.expect_tx"],
    "mbarrier.arrive.noComplete.shared.b64 %d1, [s], 2;": ["nvvm.mbarrier.arrive.nocomplete"],
    "mbarrier.arrive_drop.shared.b64 %d1, [s];": ["nvvm.mbarrier.arrive_drop"],
    "mbarrier.arrive_drop.expect_tx.shared.b64 %d1, [s], 8;": ["nvvm.mbarrier.arrive_drop.expect_tx"],
    "mbarrier.arrive_drop.noComplete.shared.b64 %d1, [s], 2;": ["nvvm.mbarrier.arrive_drop.nocomplete"],
    "mbarrier.test_wait.parity.shared.b64 %p1, [s], 0;": ["nvvm.mbarrier.test.wait"],
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [s], 0, 100;": ["nvvm.mbarrier.try_wait"],
    "mbarrier.arrive.shared.b64 %d1, [s]; mbarrier.try_wait.shared.b64 %p1, [s], %d1;": [
        "nvvm.mbarrier.arrive",
        "nvvm.mbarrier.try_wait",
    ],
    "cp.async.mbarrier.arrive.noinc.shared.b64 [s];": ["nvvm.cp.async.mbarrier.arrive"],
    "bar.sync 0;": ["nvvm.barrier0"],
    "bar.sync 1, 64;": ["nvvm.barrier"],
    "bar.cta.sync 2;": ["nvvm.barrier"],
    "barrier.sync 1;": ["nvvm.barrier"],
    "barrier.cta.sync.aligned 1, 64;": ["nvvm.barrier"],
    "bar.arrive 1, 64;": ["nvvm.barrier.arrive"],
    "bar.cta.arrive 1, 64;": ["nvvm.barrier.arrive"],
    "barrier.arrive 1, 64;": ["nvvm.barrier.arrive"],
    "barrier.cta.arrive.aligned 1, 64;": ["nvvm.barrier.arrive"],
    "bar.warp.sync -1;": ["nvvm.bar.warp.sync"],
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire;": [
        "nvvm.cluster.arrive",
        "nvvm.cluster.wait",
    ],
    "barrier.cluster.arrive.relaxed;": ["nvvm.cluster.arrive.relaxed"],
    "fence.proxy.async;": ["nvvm.fence.proxy"],
    "fence.proxy.async.shared::cta;": ["nvvm.fence.proxy"],
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;": ["nvvm.fence.proxy.sync_restrict"],
    "fence.acquire.sync_restrict::shared::cluster.cluster;": ["nvvm.fence.sync_restrict"],
    "fence.mbarrier_init.release.cluster;": ["nvvm.fence.mbarrier.init"],
    "mov.b64 %d1, map; fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;": ["nvvm.fence.proxy.acquire"],
    "fence.proxy.alias;": [],
    "fence.acq_rel.gpu;": ["nvvm.memory.barrier"],
    "fence.sc.cta;": ["nvvm.memory.barrier"],
    "membar.gl;": ["nvvm.memory.barrier"],
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s+16], [s];": [
        "nvvm.clusterlaunchcontrol.try.cancel"
    ],
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1; @%p1 bar.warp.sync -1;": [
        "nvvm.clusterlaunchcontrol.query.cancel",
        "cf.cond_br",
        "nvvm.bar.warp.sync",
    ],
    "elect.sync %r1|%p1, -1; @%p1 bar.warp.sync -1;": ["nvvm.elect.sync", "cf.cond_br", "nvvm.bar.warp.sync"],
    "mov.b32 %r2, -1; elect.sync _|%p1, %r2; @%p1 bar.warp.sync -1;": [
        "nvvm.elect.sync",
        "cf.cond_br",
        "nvvm.bar.warp.sync",
    ],
    "elect.sync %r1|%p1, -1;": [],
    "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; bar.sync %r2;": ["nvvm.shfl.sync", "nvvm.barrier"],
    "setmaxnreg.inc.sync.aligned.u32 232;": [],
    "nanosleep.u32 20;": [],
    "griddepcontrol.wait;": [],
    "pmevent.mask 1;": [],
    "cp.async.ca.shared.global [s], [%d1], 4;": ["nvvm.cp.async.shared.global"],
    "cp.async.cg.shared.global.L2::128B [s], [%d1], 16, %r1;": ["nvvm.cp.async.shared.global"],
    "cp.async.commit_group;": ["nvvm.cp.async.commit.group"],
    "cp.async.wait_group 2;": ["nvvm.cp.async.wait.group"],
    "cp.async.wait_all;": ["nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group"],
    "cp.async.bulk.commit_group;": ["nvvm.cp.async.bulk.commit.group"],
    "cp.async.bulk.wait_group.read 1;": ["nvvm.cp.async.bulk.wait_group"],
    "mov.b64 %d1, map; cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
    "[s], [%d1, {%r1, %r2}], [s+64];": ["nvvm.cp.async.bulk.tensor.shared.cluster.global"],
    "mov.b64 %d1, map; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    ".L2::cache_hint [s], [%d1, {%r1, %r2}], [s+64], %h1, %d2;": [
        "llvm.addrspacecast",
        "nvvm.cp.async.bulk.tensor.shared.cluster.global",
    ],
    "mov.b64 %d1, map; cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r1, %r2}], [s];": [
        "nvvm.cp.async.bulk.tensor.global.shared.cta"
    ],
    "mov.b64 %d1, map; cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d1, {%r1, %r2}], [s];": [
        "nvvm.cp.async.bulk.tensor.reduce"
    ],
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r1, %r2}];": [],
    "cp.async.bulk.prefetch.L2.global [%d1], 64;": [],
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 64, [s+64];": [
        "llvm.addrspacecast",
        "nvvm.cp.async.bulk.shared.cluster.global",
    ],
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], [s+128], 64, [s+64];": [
        "llvm.addrspacecast",
        "nvvm.cp.async.bulk.shared.cluster.shared.cta",
    ],
    "cp.async.bulk.global.shared::cta.bulk_group [%d1], [s], 64;": ["nvvm.cp.async.bulk.global.shared.cta"],
    "prefetch.global.L2 [%d1];": [],
    "prefetchu.L1 [%d1];": [],
    "discard.global.L2 [%d1], 128;": [],
    "applypriority.global.L2::evict_normal [%d1], 128;": [],
    "wgmma.fence.sync.aligned;": ["nvvm.wgmma.fence.aligned"],
    "wgmma.commit_group.sync.aligned;": ["nvvm.wgmma.commit.group.sync.aligned"],
    "wgmma.wait_group.sync.aligned 1;": ["nvvm.wgmma.wait.group.sync.aligned"],
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, 1, 1, 1, 0, 1;": [
        "nvvm.wgmma.mma_async"
    ],
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %d1, %d2, 1, 1, 1, 0, 0; "
    "add.f32 %f5, %f1, %f2;": ["nvvm.wgmma.mma_async", "llvm.extractvalue"],
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 128;": ["nvvm.tcgen05.alloc"],
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;": ["nvvm.tcgen05.dealloc"],
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;": ["nvvm.tcgen05.relinquish_alloc_permit"],
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3]; mov.b32 %r4, %r2;": [
        "nvvm.tcgen05.ld",
        "llvm.extractelement",
    ],
    "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r2};": ["nvvm.tcgen05.st"],
    "tcgen05.wait::ld.sync.aligned;": ["nvvm.tcgen05.wait"],
    "tcgen05.wait::st.sync.aligned;": ["nvvm.tcgen05.wait"],
    "tcgen05.fence::before_thread_sync;": ["nvvm.tcgen05.fence"],
    "tcgen05.fence::after_thread_sync;": ["nvvm.tcgen05.fence"],
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;": ["nvvm.tcgen05.mma"],
    "tcgen05.mma.cta_group::1.kind::tf32.collector::a::fill [%r1], [%r3], %d2, %r2, %p1;": ["nvvm.tcgen05.mma"],
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [s];": ["nvvm.tcgen05.commit"],
    "tcgen05.cp.cta_group::1.128x256b [%r1], %d1;": ["nvvm.tcgen05.cp"],
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
    "{%f1,%f2,%f3,%f4};": [],
}
"""Instructions, and the ops that they become; those that only make numbers are left out."""
LAUNCH = Launch(maps={(1, 0): map_from_text("f16[64x64]:swizzle=128")})
PARAMETERS = ".param .u32 n, .param .align 64 .b8 map[128], .param .b8 p[8]"


@pytest.mark.parametrize("instructions", ACTING)
def test_what_acts_becomes_its_ops(instructions: str):
    found = ops_of(instructions, LAUNCH, strict_tcgen05=True, target="sm_100a", parameters=PARAMETERS)
    assert [name for name in found if not name.startswith("nvvm.read")] == ACTING[instructions]


@pytest.mark.parametrize("instructions", [text for text, ops in ACTING.items() if len(ops) == 1 and text[-1] == ";"])
def test_what_acts_under_a_predicate_stands_in_a_branch(instructions: str):
    *before, last = [part for part in instructions.split(";") if part.strip()]
    body = "; ".join(["mov.u32 %r60, %tid.x; setp.eq.s32 %p9, %r60, 0", *before, f"@%p9 {last.strip()}"]) + ";"
    found = ops_of(body, LAUNCH, target="sm_100a", parameters=PARAMETERS)
    assert "cf.cond_br" in found
    assert found.index("cf.cond_br") < found.index(ACTING[instructions][0])


def test_neighbours_under_one_predicate_share_the_branch():
    body = "mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 0; @%p1 st.shared.b32 [s], 1; @%p1 st.shared.b32 [s+4], 1;"
    assert ops_of(body).count("cf.cond_br") == 1
    assert ops_of(body.replace("@%p1 st.shared.b32 [s+4]", "@!%p1 st.shared.b32 [s+4]")).count("cf.cond_br") == 2


def test_each_row_of_the_table_has_a_sample():
    """So a row cannot come in without a test of what it becomes."""
    met = set()
    for text in (*COMPUTED, *WIDE, *UNKNOWN, *ACTING, "ld.param.u32 %r1, [n];"):
        body = (
            parse(text_of(f".reg .pred %p<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .b128 %q<2>; {text}"))
            .kernels[0]
            .body
        )
        for item in body:
            assert isinstance(item, Instruction)
            count = len(operands_of(item))
            met.update(id(row) for row in TABLE.of(item.words) if row.takes(count))
    assert [row.opcode for row in TABLE.rows if id(row) not in met] == []


PLUMBING = ("cf.cond_br", "llvm.addrspacecast", "llvm.extractvalue", "llvm.extractelement")
"""Ops that lead to the others, and from them."""


REGISTERS = ".reg .pred %p<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .b128 %q<2>;"


def rows_of(text: str) -> list[Row]:
    """The rows of the instructions in a text."""
    body = (
        parse(text_of(f".reg .pred %p<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .b128 %q<2>; {text}"))
        .kernels[0]
        .body
    )
    instructions = [item for item in body if isinstance(item, Instruction)]
    fitting = [(TABLE.of(item.words), len(operands_of(item))) for item in instructions]
    return [next(row for row in rows if row.takes(count)) for rows, count in fitting if rows]


def test_each_row_says_what_its_samples_become():
    """The manual is made of what the rows say."""
    becomes: dict[str, set[str]] = {}
    for text, ops in ACTING.items():
        said = {name for row in rows_of(text) for name in row.what.split(", ")}
        made = {name for name in ops if name not in PLUMBING}
        assert made <= said, text
        for row in rows_of(text):
            becomes.setdefault(row.what, set()).update(made)
    for row in TABLE.rows:
        names = {name for name in row.what.split(", ") if name.startswith(("nvvm.", "llvm."))}
        assert names <= becomes.get(row.what, set()) or row.opcode == "mapa", row.opcode
    for text in UNKNOWN:
        rows = rows_of(text)
        assert not rows or rows[-1].what in ("an unknown number", "the number itself") or not rows[-1].acts


def test_a_step_is_not_evaluated_where_it_has_no_number():
    zero = Step(
        "compute",
        "div.u",
        [Constant(4, 32), Constant(0, 32)],
        [Value(32, None)],
        parse(text_of("ret;")).kernels[0].body[0],
    )  # type: ignore[arg-type]
    assert evaluated(zero, [4, 0]) is None
    assert evaluated(zero, [4, 2]) == 2
