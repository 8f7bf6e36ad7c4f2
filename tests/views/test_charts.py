"""Slots over iterations, and the contents of queues: what the bars say, against the program, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.checker.verdict.deciding import report_undrained
from tileas_xdsl.machine.time.simulation import TimedRun, simulate
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.views.charts import Chart, ChartBar, chart_html, chart_svg
from tileas_xdsl.views.queues import queues_chart
from tileas_xdsl.views.slots import SlotUses, slots_chart

COURSE = files("tileas_xdsl") / "course"
ZOO = ROOT / "examples" / "zoo"
SVG = "{http://www.w3.org/2000/svg}"


def program(chapter: str, name: str = "solution") -> str:
    return (COURSE / chapter / f"{name}.mlir").read_text()


def simulated(text: str, n: int) -> TimedRun:
    module = parse_module(text, "p.mlir", full_context())
    return simulate(module, None, {"n": n}, "sm_90", at_end=[report_undrained], observer=SlotUses())


def slots(text: str, n: int) -> Chart:
    return slots_chart(simulated(text, n))


def queues(text: str, n: int) -> Chart:
    return queues_chart(simulated(text, n))


def in_row(chart: Chart, row: int) -> list[ChartBar]:
    return sorted((bar for bar in chart.bars if bar.row == row), key=lambda bar: bar.start)


# Slots ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_number_k_lies_in_slot_k_modulo_the_slots_until_iteration_k(n: int) -> None:
    """The ring of chapter 5: four slots, three ahead."""
    chart = slots(program("05-rings"), n)
    assert list(chart.rows) == [f"ring[{k}]" for k in range(min(4, n + 3))]
    assert sorted(bar.number for bar in chart.bars) == list(range(n + 3))
    assert all(bar.row == bar.number % 4 for bar in chart.bars)
    assert not any(bar.is_wrong for bar in chart.bars)
    for bar in chart.bars:
        read = f"read in {bar.number}" if bar.number < n else "never read"
        assert bar.what.endswith(read)
        assert len(bar.events) == (bar.number < n)
        assert bar.start <= bar.ready <= bar.end
    assert [name for _, name in chart.columns] == [str(k) for k in range(n)]


def test_four_numbers_are_alive_at_one_time() -> None:
    chart = slots(program("05-rings"), 9)
    alive = [sum(bar.start <= other.start < bar.end for bar in chart.bars) for other in chart.bars]
    assert max(alive) == 4


def test_a_slot_too_few_shows_in_red() -> None:
    chart = slots(program("05-rings", "start"), 6)
    assert len(chart.rows) == 3
    assert {bar.number for bar in chart.bars if bar.is_wrong} >= {3, 4, 5, 6, 7, 8}
    assert any(note.startswith("race: ") for note in chart.notes)


@pytest.mark.parametrize("chapter", ["06-phases", "08-proxies"])
def test_slots_of_raw_memory_are_found_by_their_bytes(chapter: str) -> None:
    """Two slots in an array of bytes that also has barriers beside it."""
    chart = slots(program(chapter), 5)
    assert list(chart.rows) == ["ring[0]", "ring[1]"]
    assert [bar.number for bar in in_row(chart, 0)] == [0, 2, 4]
    assert not any(bar.is_wrong for bar in chart.bars)


@pytest.mark.parametrize(
    "exhibit", ["short-loop-prologue", "buffers-for-stages", "wait-inside-its-group", "live-slots"]
)
def test_what_a_slot_of_a_right_program_holds_does_not_overlap(exhibit: str) -> None:
    chart = slots((ZOO / f"{exhibit}.good.mlir").read_text(), 7)
    assert not any(bar.is_wrong for bar in chart.bars)
    for row in range(len(chart.rows)):
        assert all(before.end <= after.start for before, after in pairwise(in_row(chart, row)))


# Queues ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 3, 8])
@pytest.mark.parametrize(("name", "count"), [("solution", 3), ("wrong-two", 2), ("start", 0)])
def test_a_wait_empties_the_rows_from_its_count_on(name: str, count: int, n: int) -> None:
    """The loop of exercise 4, three ahead: one group is committed in each iteration, and three in front of them."""
    chart = queues(program("04-counts", name), n)
    assert {bar.number for bar in chart.bars} == set(range(n + 3))
    assert [label for _, label in chart.columns] == [f"wait {count}"] * n + ["wait 0"]
    for time, label in chart.columns:
        left = int(label.removeprefix("wait "))
        assert all(bar.row < left for bar in chart.bars if bar.start < time < bar.end or bar.start == time < bar.end)
    assert not any(bar.is_wrong for bar in chart.bars)


def test_a_group_is_one_older_with_each_commit() -> None:
    chart = queues(program("05-rings"), 6)
    for number in range(9):
        mine = sorted((bar for bar in chart.bars if bar.number == number), key=lambda bar: bar.row)
        assert [bar.row for bar in mine] == list(range(len(mine)))
        assert all(before.end == after.start for before, after in pairwise(mine))
    assert list(chart.rows) == [f"queue 0, age {age}" for age in range(4)]


def test_a_group_that_nothing_waits_for_stays_in_red() -> None:
    chart = queues(program("02-races", "start"), 4)
    (last,) = {bar.number for bar in chart.bars if bar.is_wrong}
    assert last == 3
    assert max(bar.end for bar in chart.bars if bar.number == last) == chart.until
    assert any(note.startswith("undrained: ") for note in chart.notes)


# How they are drawn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [slots, queues])
@pytest.mark.parametrize("width", [None, 800])
def test_every_bar_is_in_the_picture(make: Callable[[str, int], Chart], width: int | None) -> None:
    chart = make(program("05-rings", "start"), 6)
    picture = ElementTree.fromstring(chart_svg(chart, width))
    shown = [found for found in picture.iter(f"{SVG}g") if (found.get("class") or "").startswith("bar")]
    assert [found.findtext(f"{SVG}title") for found in shown] == [bar.what for bar in chart.bars]
    full = float(picture.get("width") or 0)
    assert width is None or abs(full - width) <= 1
    for found in picture.iter(f"{SVG}rect"):
        if found.get("x") is not None:
            assert float(found.get("x") or 0) + float(found.get("width") or 0) <= full
    assert chart_svg(chart) in chart_html(chart)


def test_names_are_escaped() -> None:
    chart = Chart("a < b", ["x & y"], [ChartBar(0, 0, 1, 2, 7, "<i>")], [(0, "<0>")], 2, "key", ["a > b"])
    text = chart_svg(chart)
    ElementTree.fromstring(text)
    assert "x &amp; y" in text
