"""The slots of a pipelined loop against an enumeration of all iterations (`scheduling/timetable.py`)."""

from __future__ import annotations

from itertools import product

import pytest

from tileas_xdsl.scheduling.timetable import Section, TimeSlot, Timetable


def absolute(table: Timetable, trips: int, slot: TimeSlot, iteration: int, trip: int) -> int:
    """The number of an iteration of a loop of `trips`; `trip` counts those of the kernel."""
    match slot.section:
        case Section.PROLOGUE:
            return iteration
        case Section.KERNEL:
            return trip + iteration
        case Section.EPILOGUE:
            return trips + iteration


@pytest.mark.parametrize(("lead", "drains_itself"), list(product(range(4), (False, True))))
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("trips", [1, 2, 3, 4, 9])
def test_every_stage_works_once_on_every_iteration(lead: int, trips: int, drains_itself: bool, is_known: bool) -> None:
    table = Timetable(lead, trips if is_known else None, drains_itself)
    for stage in range(lead + 1):
        done: list[int] = []
        for slot in table.slots():
            if slot.section is Section.PROLOGUE and slot.number >= trips and not drains_itself:
                continue  # A peeled slot that a short loop does not reach is left out as a whole.
            iteration = table.iteration(slot, stage)
            kernel_trips = max(0, trips if drains_itself else trips - lead)
            for trip in range(kernel_trips if slot.section is Section.KERNEL else 1):
                number = absolute(table, trips, slot, iteration, trip)
                if table.may_exist(slot, iteration) and 0 <= number < trips:
                    assert table.trips_needed(slot, iteration) <= trips
                    done.append(number)
        assert done == list(range(trips))


def test_an_iteration_needs_as_many_trips_as_it_takes_to_get_there() -> None:
    table = Timetable(2)
    assert [table.trips_needed(slot, table.iteration(slot, 0)) for slot in table.prologue] == [1, 2]
    assert [table.trips_needed(slot, table.iteration(slot, 2)) for slot in table.epilogue] == [2, 1]
    assert table.kernel is not None
    assert [table.trips_needed(table.kernel, table.iteration(table.kernel, stage)) for stage in range(3)] == [1, 2, 3]


def test_a_short_loop_has_no_kernel_unless_the_kernel_drains_itself() -> None:
    assert Timetable(2, 2).kernel is None
    assert Timetable(2, 3).kernel is not None
    assert Timetable(2, 1, drains_itself=True).kernel is not None
