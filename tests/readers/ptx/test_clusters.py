"""Clusters of two blocks: the bit of an address that says which block, who arrives there, and what that hands over."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import verdict

BLOCK = ".reqntid 32 .explicitcluster .reqnctapercluster 2"
MADE = """
  mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p2, %r2, 0; mov.b32 %r3, s;
  @%p1 mbarrier.init.shared::cta.b64 [s+64], 1;
  @%p1 fence.mbarrier_init.release.cluster;
"""
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
WAIT = "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [s+64], 0; @!%p5 bra L;"


def kinds(body: str) -> set[str]:
    found = verdict(body, block=BLOCK, parameters=".param .u64 n")
    assert found.verdict != "undecided", found
    return set(found.kinds)


def told(count: int = 1) -> str:
    """Thread t of block 0 arrives at the barrier of block t, whose address has t in bit 24."""
    return f"""{MADE.replace("[s+64], 1", f"[s+64], {count}")} {MEET}
      shl.b32 %r4, %r1, 24; add.s32 %r5, %r3, 64; xor.b32 %r6, %r4, %r5;
      setp.lt.u32 %p3, %r1, 2; and.pred %p4, %p2, %p3;
      @%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
      {WAIT} {MEET}"""


def handed(arrive: str) -> str:
    """Thread 0 of block 1 writes into block 0, whose address lacks bit 24, and tells it."""
    return f"""{MADE} {MEET}
      and.b32 %r6, %r3, -16777217; setp.ne.u32 %p3, %r2, 0; and.pred %p4, %p1, %p3; add.s32 %r7, %r6, 64;
      @%p4 st.shared::cluster.b32 [%r6], 7;
      @%p4 {arrive} _, [%r7];
      @!%p2 bra END;
      {WAIT}
      ld.shared.b32 %r8, [s];
      END: {MEET}"""


def test_threads_of_a_warp_arrive_in_different_blocks():
    assert not kinds(told())
    assert kinds(told(count=2)) == {"deadlock"}


@pytest.mark.parametrize(
    ("arrive", "found"),
    [
        ("mbarrier.arrive.release.cluster.shared::cluster.b64", set[str]()),
        ("mbarrier.arrive.shared::cluster.b64", {"race"}),
        ("mbarrier.arrive.relaxed.cluster.shared::cluster.b64", {"race"}),
    ],
)
def test_an_arrival_without_a_scope_hands_over_within_its_block_alone(arrive: str, found: set[str]):
    assert kinds(handed(arrive)) == found


def test_copies_into_the_own_block_use_its_barrier_without_a_fence():
    copied = f"""{MADE.replace("@%p1 fence.mbarrier_init.release.cluster;", "")}
      ld.param.u64 %d1, [n]; bar.sync 0;
      @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %d3, [s+64], 64;
      @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 64, [s+64];
      {WAIT} ld.shared.b32 %r8, [s]; {MEET}"""
    assert not kinds(copied)
    assert kinds(copied.replace("@%p1 cp.async", "@!%p1 cp.async")) != set()
