"""Work of clusters that have not started: the answer arrives at a barrier, and says how often the loop turns."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import ops_of, verdict
from tileas_xdsl.machine.core.violations import UnsupportedError

ASK = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [s+16], [s]"
FENCE = "fence.proxy.async.shared::cta;"
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p2, [s], %r2; @!%p2 bra W;"
LOAD = "ld.shared.b128 %q1, [s+16];"
BY_HALVES = "ld.shared.v2.b64 {%d1, %d2}, [s+16]; mov.b128 %q1, {%d1, %d2};"
AS_IT_IS = ("", "")


def persistent(without: tuple[str, str] = AS_IT_IS) -> str:
    """A loop that turns once for each program; `without` is a part of its text, and what stands there instead."""
    text = f"""
      mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, 0;
      @%p1 mbarrier.init.shared.b64 [s], 1;
      TURN: bar.sync 0;
      @%p1 {FENCE}
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [s], 16;
      @%p1 {ASK};
      {WAIT}
      {LOAD}
      clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;
      @%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r3, %r4, %r5, _}}, %q1;
      xor.b32 %r2, %r2, 1;
      @%p3 bra TURN;"""
    assert without[0] in text
    return text.replace(*without)


def kinds(body: str) -> set[str]:
    found = verdict(body, target="sm_100a", block=".reqntid 64", parameters="")
    assert found.verdict != "undecided", found
    return {str(finding.violation.kind) for finding in found.findings}


def test_an_answer_is_read_whole_or_by_halves():
    ops = ops_of(persistent(), target="sm_100a")
    assert "nvvm.clusterlaunchcontrol.try.cancel" in ops
    assert "nvvm.clusterlaunchcontrol.query.cancel" in ops
    assert not kinds(persistent())
    assert not kinds(persistent((LOAD, BY_HALVES)))


@pytest.mark.parametrize(
    ("part", "instead", "found"),
    [
        (WAIT, "", "race"),
        ("[s], %r2", "[s], 0", "race"),
        ("_, [s], 16", "_, [s], 32", "deadlock"),
        (f"@%p1 {FENCE}", "", "missing-fence"),
        ("TURN: bar.sync 0;", "TURN:", "race"),
    ],
)
def test_what_an_answer_needs(part: str, instead: str, found: str):
    assert found in kinds(persistent((part, instead)))


def test_a_request_behind_one_that_gave_nothing_is_taken_not_to_know_of_it():
    """PTX leaves open what it does else. It is not found, so the verdict says it; a loop that ends has none."""
    again = (
        f"@%p3 bra TURN; bar.sync 0; @%p1 {FENCE} @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [s], 16; @%p1 {ASK}; "
    )
    again += WAIT.replace("W", "V").replace("%p2", "%p4")
    assumed = "an answer that gives no work is not looked at before the last request for work"
    for text, is_assumed in ((persistent(), False), (persistent(("@%p3 bra TURN;", again)), True)):
        found = verdict(text, target="sm_100a", block=".reqntid 64", parameters="")
        assert (assumed in repr(found)) is is_assumed, found


@pytest.mark.parametrize(
    ("part", "instead", "said"),
    [
        (f"@%p1 {ASK}", ASK, "each of which asks"),
        ("[s+16], [s]", "[s+24], [s]", "no multiple of 16"),
        (f"@%p1 {ASK};", f"@%p1 {ASK}; setp.eq.u32 %p4, %r1, 32; @%p4 {ASK};", "as another warp does"),
    ],
)
def test_what_is_refused(part: str, instead: str, said: str):
    with pytest.raises(UnsupportedError, match=said):
        kinds(persistent((part, instead)))
