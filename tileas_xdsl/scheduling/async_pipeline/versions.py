"""
How many versions a buffer needs, so that iterations that overlap do not share one.

The rule of the reference counts stages: `last reading stage - first writing stage + 1`, and 1 in place of 2 where no
writer runs before a reader of a later stage in the same slot. It is not enough for a buffer that is written after its
last read, or by several: version `j mod V` is used again in iteration `j + V`, and whatever touched it in iteration `j`
must have run by then. The larger of the two counts (spec/async-queue-pipeline.md 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Meeting:
    """Component `writer` writes, in a later iteration, what component `other` reads or writes in an earlier one."""

    writer: int
    other: int
    other_reads: bool


def version_count(stages: Sequence[int], order: Sequence[int], meetings: Sequence[Meeting]) -> int:
    """The number of versions of a buffer whose accesses meet so, were there only one; 1 where nothing meets."""
    bound = 1
    for meeting in meetings:
        distance = stages[meeting.other] - stages[meeting.writer]
        bound = max(bound, distance + (order[meeting.writer] < order[meeting.other]))
    return max(bound, _reference_rule(stages, order, meetings))


def _reference_rule(stages: Sequence[int], order: Sequence[int], meetings: Sequence[Meeting]) -> int:
    reads = [meeting for meeting in meetings if meeting.other_reads]
    if not reads:
        return 1
    first_write = min(stages[meeting.writer] for meeting in meetings)
    last_read = max(stages[meeting.other] for meeting in reads)
    versions = last_read - first_write + 1
    if versions == 2 and not any(
        stages[meeting.writer] < stages[meeting.other] and order[meeting.writer] < order[meeting.other]
        for meeting in reads
    ):
        return 1
    return max(versions, 1)
