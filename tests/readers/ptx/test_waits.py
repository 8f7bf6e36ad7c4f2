"""Loops that only ask whether a phase is over are waits, in whatever form compilers write them."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import ops_of, verdict

ASK = "mbarrier.try_wait.parity.shared.b64 P1, [s], %r1;"
WAITS = {
    "of Triton": f"{{ .reg .pred P1; waitLoop: {ASK} @!P1 bra.uni waitLoop; }}",
    "of CUTLASS": f"{{ .reg .pred P1; LAB_WAIT: {ASK} @P1 bra DONE; bra LAB_WAIT; DONE: }}",
    "of our own": f"L: {{ .reg .pred P1; {ASK} selp.b32 %r3, 1, 0, P1; }} and.b32 %r4, %r3, 1; setp.ne.b32 %p2, %r4, 0;"
    " not.pred %p3, %p2; @%p3 bra L;",
    "by a test": "L: mbarrier.test_wait.parity.shared.b64 %p1, [s], %r1; @%p1 bra D; nanosleep.u32 20; bra L; D:",
    "of TileLang": f"L: {{ .reg .pred P1; {ASK} selp.u32 %r3, 1, 0, P1; }} setp.eq.s32 %p2, %r3, 0; @%p2 bra L;",
}
NO_WAITS = {
    "a state": "mbarrier.arrive.shared.b64 %d1, [s]; L: mbarrier.try_wait.shared.b64 %p1, [s], %d1; @!%p1 bra L;",
    "the answer leads on": "mbarrier.try_wait.parity.shared.b64 %p1, [s], %r1; @%p1 bra L; bar.sync 1; L:",
    "it stores": f"{{ .reg .pred P1; L: {ASK} st.shared.b32 [s+64], 1; @!P1 bra L; }}",
    "the parity changes": f"{{ .reg .pred P1; L: {ASK} xor.b32 %r1, %r1, 1; @!P1 bra L; }}",
    "no is the way on": f"{{ .reg .pred P1; L: {ASK} @P1 bra L; }}",
}
LEAD = "mov.b32 %r1, 0;\n"


@pytest.mark.parametrize("form", WAITS)
def test_a_loop_that_only_asks_is_a_wait(form: str):
    assert ops_of(LEAD + WAITS[form] + "bar.sync 0;") == ["nvvm.mbarrier.try_wait.parity", "nvvm.barrier0"]


@pytest.mark.parametrize("form", NO_WAITS)
def test_any_other_test_stays_a_test(form: str):
    found = ops_of(LEAD + NO_WAITS[form] + "bar.sync 0;")
    assert "nvvm.mbarrier.try_wait.parity" not in found
    assert "nvvm.mbarrier.try_wait" in found


@pytest.mark.parametrize("form", WAITS)
def test_who_waits_for_an_arrival_passes_and_who_waits_for_none_does_not(form: str):
    begin = "mov.u32 %r9, %tid.x; setp.eq.s32 %p9, %r9, 0; @%p9 mbarrier.init.shared.b64 [s], 128; bar.sync 0;"
    arrive = "mbarrier.arrive.shared.b64 %d1, [s];"
    assert str(verdict(begin + arrive + LEAD + WAITS[form]).verdict) == "safe"
    assert str(verdict(begin + LEAD + WAITS[form]).verdict) == "violation"
