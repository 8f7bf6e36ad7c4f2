"""Tensor memory: fences that compilers leave out, registers that are read early, the slot of an allocation."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import text_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.readers.ptx.reading import read_ptx

FIRST_WARP = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;"
ALLOCATE = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 64; bar.sync 0;"
ADDRESS = "ld.shared.b32 %r2, [s]; shr.u32 %r3, %r1, 5; shl.b32 %r4, %r3, 21; add.s32 %r5, %r2, %r4;"
STORE = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r5], {%r10, %r11}; tcgen05.wait::st.sync.aligned;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r12, %r13}, [%r5];"
WAIT = "tcgen05.wait::ld.sync.aligned;"
READ = "add.s32 %r14, %r12, %r13;"
END = "bar.sync 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;"
BEFORE, AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
EARLY = "registers that tcgen05.ld fills are there when they are read before the wait for it"
UNFENCED = "threads that meet order tensor memory: the kernel has no tcgen05.fence"


def report(*parts: str, strict: bool = False) -> Report:
    text = text_of("\n".join((FIRST_WARP, ALLOCATE, ADDRESS, *parts, END)), target="sm_100a")
    module = read_ptx(text, "k.ptx", strict_tcgen05=strict).module
    module.verify()
    return check(module, judge_waits=False)


def kinds(found: Report) -> set[str]:
    return {str(finding.violation.kind) for finding in found.findings}


def test_who_waits_and_then_reads_is_safe_in_either_manner():
    for strict in (False, True):
        found = report(STORE, LOAD, WAIT, READ, strict=strict)
        assert (str(found.verdict), EARLY in found.scope.assumed) == ("safe", False)


def test_registers_that_are_read_before_the_wait_are_said_or_asked_for():
    found = report(STORE, LOAD, READ, WAIT)
    assert str(found.verdict) == "safe"
    assert EARLY in found.scope.assumed
    assert "race" in kinds(report(STORE, LOAD, READ, WAIT, strict=True))


@pytest.mark.parametrize("strict", [False, True])
def test_a_load_that_nobody_waits_for_is_found(strict: bool):
    assert report(STORE, LOAD, READ, strict=strict).findings


def test_a_store_that_nobody_waits_for_is_found():
    assert report(STORE.partition("; tcgen05.wait")[0] + ";").findings


def test_a_kernel_with_fences_is_held_to_all_of_them():
    init = "setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [s+64], 1; bar.sync 0;"
    product = "@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r2], %d1, %d2, %r20, 0;"
    shape = (
        "mov.b32 %r20, 0x4080010; mov.b64 %d9, s; add.s64 %d9, %d9, 256; shr.u64 %d9, %d9, 4;"
        "or.b64 %d1, %d9, 0x400800400000; mov.b64 %d2, %d1;"
    )
    commit = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [s+64];"
    wait = "L: mbarrier.try_wait.parity.shared.b64 %p3, [s+64], 0; @!%p3 bra L;"
    parts = (shape, init, product, commit, wait)
    unfenced = report(*parts, LOAD, WAIT, READ)
    assert (str(unfenced.verdict), UNFENCED in unfenced.scope.assumed) == ("safe", True)
    fenced = report(*parts, AFTER, LOAD, WAIT, READ)
    assert (str(fenced.verdict), UNFENCED in fenced.scope.assumed) == ("safe", False)
    assert "missing-fence" in kinds(report(*parts, LOAD, WAIT, READ, BEFORE))
    assert "missing-fence" in kinds(report(*parts, LOAD, WAIT, READ, strict=True))


def test_the_slot_of_an_allocation_needs_no_proxy_fence_and_other_bytes_do():
    init = "setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared.b64 [s+2048], 1; bar.sync 0;"
    copy = (
        "@%p2 mbarrier.arrive.expect_tx.shared.b64 %d3, [s+2048], 1024; ld.param.u64 %d1, [n];"
        "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 1024, [s+2048];"
        "L: mbarrier.try_wait.parity.shared.b64 %p3, [s+2048], 0; @!%p3 bra L;"
    )
    assert str(report(init, copy).verdict) == "safe"
    assert "missing-fence" in kinds(report("ld.shared.b32 %r9, [s+512];", init, copy))
