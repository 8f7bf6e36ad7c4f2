"""
How many versions a buffer needs, so that overlapping iterations do not share one.

TVM's `InjectSoftwarePipeline` counts stages: `last reading stage - first writing stage + 1`, reduced from 2 to 1 where
no writer runs before a reader of a later stage in the same slot. That is too few for a buffer that is written after its
last read, or by several components: version `j mod V` is used again in iteration `j + V`, so every access to it in
iteration `j` must precede that reuse, as in any dependence. The answer is the larger of the two counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileas_xdsl.analysis.dependence import Placement


@dataclass(frozen=True)
class Meeting:
    """Component `writer` writes, in a later iteration, what component `other` reads or writes in an earlier one."""

    writer: int
    other: int
    other_reads: bool


def version_count(placements: Sequence[Placement], meetings: Sequence[Meeting]) -> int:
    """
    The number of versions of a buffer with the given conflicts between accesses; 1 where there are none.

    `placements` has the place of each component.
    """
    distances = [placements[m.other].least_distance(placements[m.writer]) for m in meetings if m.other != m.writer]
    return max(1, *distances, _reference_rule(placements, meetings))


def _reference_rule(placements: Sequence[Placement], meetings: Sequence[Meeting]) -> int:
    reads = [meeting for meeting in meetings if meeting.other_reads]
    if not reads:
        return 1
    first_write = min(placements[meeting.writer].stage for meeting in meetings)
    last_read = max(placements[meeting.other].stage for meeting in reads)
    versions = last_read - first_write + 1
    if versions == 2 and not any(
        placements[meeting.writer].stage < placements[meeting.other].stage
        and placements[meeting.writer].order < placements[meeting.other].order
        for meeting in reads
    ):
        return 1
    return max(versions, 1)
