"""Timelines of many bars: what the page holds, and what a reader of it can do in a browser."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Generator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from tests.support.browser import WIDTHS, Browser, browser
from tileas_xdsl.front_door import parse, timeline
from tileas_xdsl.tools.main import main
from tileas_xdsl.views.timeline.html import MOST_ELEMENTS, timeline_html
from tileas_xdsl.views.timeline.large import MOST_LANES, packed, rows_of, with_tasks_in_rows
from tileas_xdsl.views.timeline.picture import AGENT, STALL, Bar, Edge, Lane, Timeline


@cache
def made(bars: int, lanes: int = 4) -> Timeline:
    """A picture without a run: in each lane bars of lengths from 1 to 7, one behind the other, and some edges."""
    drawn: list[Bar] = []
    ends = [0] * lanes
    for number in range(bars):
        lane, length = number % lanes, 1 + number * 5 % 7
        kind = STALL if number % 3 == 0 else AGENT
        start, ends[lane] = ends[lane], ends[lane] + length
        turn = number // lanes
        words = (f"op{lane}", f"does {lane}", f"x.op{lane}", f"p.mlir:{number % 50}:1")
        drawn.append(
            Bar(number, lane, 0, kind, start, start + length, start + length, *words, (turn,), turn % 3, turn % 3)
        )
    edges = [Edge(k, k + 1, "completes", drawn[k].end, drawn[k + 1].start) for k in range(0, bars - 1, 10)]
    names = [Lane(f"agent {number}", is_engine=False, note="stalled 1 %") for number in range(lanes)]
    return Timeline("f", "generic", max(ends), max(ends), None, names, drawn, edges, [])


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(b64decode(text)))


def tasks(number: int) -> Timeline:
    """The run of a program of so many tasks."""
    return timeline(parse(task_program(number)))


def task_program(number: int) -> str:
    """A program of so many tasks, of which four are under way at a time: six ops a task."""
    lines: list[str] = []
    for k in range(number):
        lines += [f"%i{k} = arith.constant {k} : index", f"%s{k} = arith.constant {k % 4} : index"]
        lines += [
            f"%t{k} = async.execute {f'[%t{k - 4}] ' if k >= 4 else ''}{{",
            f"%x{k} = memref.load %src[%i{k}] : memref<4096xf32>",
        ]
        lines += [f"memref.store %x{k}, %slots[%s{k}] : memref<4xf32, 3>", "async.yield", "}"]
    lines += [f"async.await %t{k} : !async.token" for k in range(number - 4, number)]
    body = "\n".join(lines)
    head = "func.func @many(%src: memref<4096xf32>) {\n%slots = memref.alloc() : memref<4xf32, 3>\n"
    return f"{head}{body}\nfunc.return\n}}"


# What the page holds --------------------------------------------------------------------------------------------------


def test_a_large_picture_is_packed_whole():
    picture = made(MOST_ELEMENTS + 1)
    data = unpacked(packed(picture))
    bars, texts = data["bars"], data["texts"]
    assert [bar.start for bar in picture.bars] == bars["start"]
    assert [bar.end for bar in picture.bars] == [a + b for a, b in zip(bars["start"], bars["length"], strict=True)]
    assert [bar.kind for bar in picture.bars] == [texts[k] for k in bars["kind"]]
    assert [[e.source, e.target, e.start, e.end] for e in picture.edges] == data["edges"]
    assert packed(picture) == packed(picture)


def test_pictures_up_to_the_limit_have_an_element_for_each_bar():
    assert 'class="tlc-data"' not in timeline_html(made(MOST_ELEMENTS))
    assert 'class="tlc-data"' in timeline_html(made(MOST_ELEMENTS + 1))


def test_tasks_share_rows_and_no_two_at_one_time():
    picture = tasks(60)
    folded = with_tasks_in_rows(picture)
    assert len(picture.lanes) > MOST_LANES
    assert [lane.name for lane in folded.lanes].count("tasks") == 1
    lane = next(number for number, lane in enumerate(folded.lanes) if lane.name == "tasks")
    assert folded.lanes[lane].rows == 4, "as many as are under way at a time"
    spans: dict[tuple[int, str], list[int]] = {}
    for bar in folded.bars:
        if bar.lane == lane:
            task = bar.what.partition(":")[0]
            spans.setdefault((bar.row, task), []).extend([bar.start, bar.end])
    assert len(spans) == 60, "each task is in one row"
    for row in range(4):
        ordered = sorted((min(ends), max(ends)) for (at, _), ends in spans.items() if at == row)
        assert all(first[1] <= second[0] for first, second in pairwise(ordered))
    steps = [bar for bar in picture.bars if not picture.lanes[bar.lane].name.startswith("task") or bar.kind != STALL]
    assert {bar.number for bar in steps} <= {bar.number for bar in folded.bars}, "only waits to begin are left out"


def test_few_lanes_stay_as_they_are():
    picture = tasks(8)
    assert with_tasks_in_rows(picture) is picture


def test_a_row_is_free_again_when_its_task_is_over():
    picture = made(6, lanes=3)
    begun = {lane: [bar for bar in picture.bars if bar.lane == lane] for lane in range(3)}
    assert sorted(rows_of(begun).values()) == [0, 1, 2]
    behind = {0: picture.bars[0:1], 1: picture.bars[4:5]}
    assert rows_of(behind) == {0: 0, 1: 0}


# What a reader can do -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    with browser(tmp_path_factory.mktemp("pages")) as found:
        yield found


def opened(tab: Browser, name: str, picture: Timeline) -> Any:
    path = tab.folder / name
    path.write_text(timeline_html(picture))
    assert tab.look_at(path) == []
    tab.open(path)
    tab.page.locator(".tlc[data-to]").wait_for()
    return tab.page


def window(page: Any) -> tuple[int, int]:
    section = page.locator(".tlc")
    return int(section.get_attribute("data-from")), int(section.get_attribute("data-to"))


def test_a_hundred_thousand_bars_are_moved_scaled_and_found(tab: Browser):
    picture = made(100_000)
    page = opened(tab, "large.html", picture)
    assert (tab.folder / "large.html").stat().st_size < 5_000_000, "fifty bytes a bar"
    assert window(page) == (0, picture.until)
    view, find, status = page.locator(".tlc-view"), page.get_by_label("find bars"), page.get_by_role("status")

    view.focus()
    page.keyboard.press("+")
    first, last = window(page)
    assert last - first == pytest.approx(picture.until / 1.5, abs=2)
    page.keyboard.press("ArrowRight")
    assert window(page)[0] > first
    page.keyboard.press("Home")
    assert window(page)[0] == 0
    page.keyboard.press("0")
    assert window(page) == (0, picture.until)

    for words, meant in {
        "op2": lambda bar: bar.label == "op2",
        "AGENT 3": lambda bar: bar.lane == 3,
        "s1": lambda bar: bar.slot == 1,
        "i7 op1": lambda bar: bar.iteration == (7,) and bar.label == "op1",
        "p.mlir:4:1": lambda bar: bar.place == "p.mlir:4:1",
    }.items():
        find.fill(words)
        count = sum(map(meant, picture.bars))
        assert status.inner_text() == f"{count:,} of 100,000 bars", words
    find.fill("i7 op1")
    find.press("Enter")
    first, last = window(page)
    bar = next(bar for bar in picture.bars if bar.iteration == (7,) and bar.label == "op1")
    assert first <= bar.start < bar.end <= last < picture.until
    assert page.locator(".tl-said strong").inner_text() == "does 1"
    assert tab.faults == []


def test_the_overview_moves_the_window(tab: Browser):
    picture = made(MOST_ELEMENTS + 1)
    page = opened(tab, "overview.html", picture)
    page.locator(".tl-in").click()
    page.locator(".tl-in").click()
    box = page.locator(".tlc-over").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
    first, last = window(page)
    assert (first + last) / 2 == pytest.approx(picture.until / 2, rel=0.02)
    assert tab.faults == []


COLOURS = """() => {
  const canvas = document.querySelector('.tlc-main'), pen = canvas.getContext('2d');
  const colours = lane => {
    const found = y => {
      const row = pen.getImageData(140, 26 + lane * 36 + y, canvas.width - 150, 1).data;
      return new Set(Array.from({ length: row.length / 4 }, (_, k) => row.slice(4 * k, 4 * k + 3).join()));
    };
    const background = found(2);
    return [...found(18)].filter(colour => !background.has(colour)).length;
  };
  return [0, 1, 2, 3].map(colours);
}"""
"""How many colours but that of the background there are in the middle of each of the first four lanes."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_narrower_than_a_pixel_are_drawn_as_shares(tab: Browser, scheme: str):
    """The whole picture shows something in the row of each lane, in either scheme."""
    tab.page.emulate_media(color_scheme=scheme)
    page = opened(tab, "shares.html", made(20_000))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        colours = page.evaluate(COLOURS)
        assert all(colours), (width, colours)
    assert tab.faults == []


def test_a_run_of_many_tasks_fits_its_page(tab: Browser):
    picture = tasks(250)
    assert len(picture.bars) > MOST_ELEMENTS
    page = opened(tab, "tasks.html", picture)
    page.get_by_label("find bars").fill("task 77")
    said = page.get_by_role("status").inner_text()
    assert re.fullmatch(r"\d+ of [\d,]+ bars", said)
    assert int(said.partition(" ")[0]) < 20, "a number is a whole number"


# What passes left as it was -------------------------------------------------------------------------------------------


def test_explain_folds_what_did_not_change(tab: Browser):
    """At most a hundred bytes an op. What is folded is there when it is unfolded. Equal stages have one timeline."""
    source, out = tab.folder / "many.mlir", tab.folder / "explained.html"
    source.write_text(task_program(400))
    assert main(["explain", str(source), "-p", "async-simplify,verify-dominance", "-o", str(out)]) == 0
    assert out.stat().st_size < 100 * 6 * 400
    assert out.read_text().count("The timeline is that of the stage before") == 2
    assert tab.look_at(out) == []
    tab.open(out)
    fold = tab.page.locator("details[data-lines]").first
    fold.locator("summary").click()
    listed = fold.locator("pre").inner_text()
    assert listed.count("async.execute") == 400
    assert tab.faults == []
