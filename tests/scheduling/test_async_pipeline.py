"""Groups, versions and the closed form of the counts, on records alone (`scheduling/async_pipeline`)."""

from __future__ import annotations

import pytest

from tileas_xdsl.analysis.dependence import Placement
from tileas_xdsl.scheduling.async_pipeline.groups import cut_groups
from tileas_xdsl.scheduling.async_pipeline.model import AsyncPipeline, Meeting, Need, version_count
from tileas_xdsl.scheduling.async_pipeline.waits import CountedWait, plan_waits, undrained_queues
from tileas_xdsl.scheduling.timetable import Section, TimeSlot


@pytest.mark.parametrize(
    ("stages", "order", "conflicts", "groups"),
    [
        ((0, 0, 3), (0, 1, 2), (), ((0, 1),)),
        ((0, 0, 3), (0, 2, 1), (), ((0,), (1,))),
        ((0, 0, 0, 3), (0, 2, 3, 1), (), ((0,), (1, 2))),
        ((0, 0, 0), (0, 1, 2), {(0, 2)}, ((0, 1), (2,))),
        ((0, 0, 0), (2, 1, 0), {(0, 1)}, ((2, 1), (0,))),
    ],
)
def test_groups(
    stages: tuple[int, ...],
    order: tuple[int, ...],
    conflicts: set[tuple[int, int]],
    groups: tuple[tuple[int, ...], ...],
) -> None:
    cut = cut_groups(stages, order, [0], conflicts)
    assert cut.of_queue == {0: groups}
    assert [cut.index_of(component) for group in groups for component in group] == [
        index for index, group in enumerate(groups) for _ in group
    ]


@pytest.mark.parametrize(
    ("stages", "order", "pairs", "versions"),
    [
        ((0, 3), (0, 1), [(0, 1)], 4),
        ((0, 1), (0, 1), [(0, 1)], 2),
        # Who reads first in the slot is done before the next version is written.
        ((0, 1), (1, 0), [(0, 1)], 1),
        # The reference keeps one too many here; its rule is followed.
        ((0, 2), (1, 0), [(0, 1)], 3),
        # A write after the last read: the reference's rule is not enough.
        ((0, 0, 2), (0, 1, 2), [(0, 1), (0, 2), (2, 0), (2, 1)], 3),
        ((0, 1), (0, 1), [], 1),
    ],
)
def test_versions(stages: tuple[int, ...], order: tuple[int, ...], pairs: list[tuple[int, int]], versions: int) -> None:
    meetings = [Meeting(writer, other, other_reads=other == 1) for writer, other in pairs]
    assert version_count([Placement(*place) for place in zip(stages, order, strict=True)], meetings) == versions


def interleaved(trips: int | None) -> AsyncPipeline:
    """Two copies, the second one behind the consumer in the slot, which runs three stages later."""
    groups = cut_groups((0, 0, 3), (0, 2, 1), [0], ())
    return AsyncPipeline((0, 0, 3), groups, (Need(2, 0, 0), Need(2, 1, 0)), trips)


@pytest.mark.parametrize("trips", [None, 16, 4, 3, 1])
def test_closed_form_of_the_interleaved_example(trips: int | None) -> None:
    """`m = 2, d = 3, b = 1, r = 1` gives 5; behind the last group `2 * (3 - e) - 2`."""
    plan = plan_waits(interleaved(trips))
    if trips is None or trips > 3:
        assert plan[TimeSlot(Section.KERNEL, 0)] == {2: (CountedWait(0, 5),)}
    runs = [e for e in range(3) if trips is None or trips >= 3 - e]
    assert [plan[TimeSlot(Section.EPILOGUE, e)] for e in runs] == [{2: (CountedWait(0, 4 - 2 * e),)} for e in runs]
    assert undrained_queues(interleaved(trips)) == ()


def test_queue_that_nobody_waits_for_is_drained() -> None:
    groups = cut_groups((0, 0, 1), (0, 2, 1), [0], ())
    assert undrained_queues(AsyncPipeline((0, 0, 1), groups, (Need(2, 0, 0),))) == (0,)


def test_later_consumer_of_an_unknown_loop_keeps_its_wait() -> None:
    """Consumers at stages 3 and 2: in the epilogue of a loop of two iterations only the second one has work."""
    groups = cut_groups((0, 3, 2), (0, 1, 2), [0], ())
    needs = (Need(1, 0, 0), Need(2, 0, 0))
    first = TimeSlot(Section.EPILOGUE, 0)
    assert plan_waits(AsyncPipeline((0, 3, 2), groups, needs, 16))[first] == {1: (CountedWait(0, 1),)}
    assert plan_waits(AsyncPipeline((0, 3, 2), groups, needs, None))[first] == {
        1: (CountedWait(0, 1),),
        2: (CountedWait(0, 1),),
    }
