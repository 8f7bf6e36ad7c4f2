"""Which lane an election takes: open, and the first where a kernel asks for it."""

from __future__ import annotations

from tests.readers.ptx.programs import verdict

FIRST = "elect.sync elects the first lane"


def made_by_leader(number: int) -> str:
    """Within an election, the thread of this number makes a barrier, at which all arrive."""
    return f"""
      mov.u32 %r1, %tid.x; elect.sync %r2|%p1, -1; setp.lt.u32 %p2, %r1, 32; and.pred %p3, %p1, %p2;
      @!%p3 bra MADE;
      setp.ne.u32 %p4, %r1, {number};
      @%p4 bra MADE;
      mbarrier.init.shared.b64 [s], 128;
      MADE: bar.sync 0;
      mbarrier.arrive.shared.b64 %d1, [s];"""


def test_a_leader_by_number_is_the_elected_one_if_that_is_the_first_and_the_verdict_says_so():
    report = verdict(made_by_leader(0))
    assert (str(report.verdict), FIRST in report.scope.assumed) == ("safe", True)
    assert verdict(made_by_leader(1)).kinds == ["phase"]


def test_an_election_alone_assumes_nothing_of_its_lane():
    report = verdict(made_by_leader(0).replace("@%p4 bra MADE;", ""))
    assert (str(report.verdict), FIRST in report.scope.assumed) == ("safe", False)
