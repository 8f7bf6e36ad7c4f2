"""The picture of an execution in time: what is in it, and the three ways in which it is written down."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.machine.test_timed import AGAIN, ONE, TWO, copies
from tests.support.browser import browser
from tests.support.ir import ROOT
from tests.support.trace_events import read_trace
from tileas_xdsl.checker.verdict.deciding import report_undrained
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.time.simulation import TimedRun, simulate
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.views.timeline import Bar, Edge, Timeline, timeline
from tileas_xdsl.views.timeline.chrome import chrome_trace
from tileas_xdsl.views.timeline.html import timeline_html
from tileas_xdsl.views.timeline.picture import ARRIVES, COMPLETES, FORKS, ISSUES, MOST_ROWS
from tileas_xdsl.views.timeline.style import headline, label_for, tick_step
from tileas_xdsl.views.timeline.svg import timeline_svg

SVG = "{http://www.w3.org/2000/svg}"


def simulated(text: str, n: int | None = None) -> TimedRun:
    module = parse_module(text, "p.mlir", full_context())
    return simulate(module, None, {} if n is None else {"n": n}, at_end=[report_undrained], observer=Investigator())


def picture_of(text: str, n: int | None = None) -> Timeline:
    return timeline(simulated(text, n))


def zoo(name: str, n: int = 4) -> Timeline:
    return picture_of((ROOT / "examples" / "zoo" / f"{name}.mlir").read_text(), n)


def ring(depth: int = 2, n: int = 5) -> Timeline:
    return picture_of(handshake(depth, f"{READ}\n{RELEASE}"), n)


def pipelined_gemm(stages: int) -> ModuleOp:
    """The GEMM with its copies asynchronous, and issued `stages - 1` iterations ahead of the product."""
    context, passes = full_context(), Universe.get_multiverse().all_passes
    module = parse_module((ROOT / "examples" / "gemm_loop.mlir").read_text(), "gemm_loop.mlir", context)
    PassPipeline.parse_spec(passes, "tileas-materialize-async").apply(context, module)
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    for op in loop.body.block.ops:
        side = op.attributes.get("pipeline_stage")
        if isinstance(side, IntegerAttr):
            stage = (stages - 1) * side.value.data
            op.attributes |= {"stage": IntegerAttr(stage, i32), "iter_offset": IntegerAttr(-stage, i32)}
    spec = f"tileas-unspecialized-pipeline{{num-stages={stages}}}"
    PassPipeline.parse_spec(passes, spec).apply(context, module)
    return module


def ends(picture: Timeline, edge: Edge) -> tuple[Bar, Bar]:
    return picture.bars[edge.source], picture.bars[edge.target]


# The picture ----------------------------------------------------------------------------------------------------------


def test_one_copy_is_an_issue_a_turn_a_stall_and_a_wait() -> None:
    picture = picture_of(copies(ONE))
    assert [(lane.name, lane.is_engine) for lane in picture.lanes] == [("main", False), ("copy", True)]
    bars = {(bar.lane, bar.kind): (bar.start, bar.freed, bar.end) for bar in picture.bars}
    assert bars[1, "turn"] == (0, 64, 564)
    assert bars[0, "stall"] == (1, 564, 564)
    steps = [bar for bar in picture.bars if bar.kind == "step"]
    assert [(bar.start, bar.end) for bar in steps] == [(0, 1), (564, 574)]
    (issues,) = [edge for edge in picture.edges if edge.kind == ISSUES]
    (completes,) = [edge for edge in picture.edges if edge.kind == COMPLETES]
    turn = next(bar.number for bar in picture.bars if bar.kind == "turn")
    assert (issues.source, issues.target) == (steps[0].number, turn)
    assert (completes.source, completes.target) == (turn, steps[1].number)
    assert (completes.start, completes.end) == (564, 564)
    assert picture.cycles == picture.until == 574


def test_a_work_has_an_edge_to_the_first_wait_that_saw_it() -> None:
    for body, expected in ((TWO, 2), (AGAIN, 1)):
        picture = picture_of(copies(body))
        found = [ends(picture, edge) for edge in picture.edges if edge.kind == COMPLETES]
        assert len(found) == expected
        waits = [target.number for _, target in found]
        assert waits == sorted(set(waits)), "each wait sees its own copy"


def test_works_in_flight_have_rows_of_their_own() -> None:
    picture = timeline(simulate(pipelined_gemm(4), None, {"n": 6}, "sm_90"))
    for number, lane in enumerate(picture.lanes):
        assert 1 <= lane.rows <= MOST_ROWS
        for row in range(lane.rows):
            turns = sorted((b.start, b.end) for b in picture.bars if (b.lane, b.row, b.kind) == (number, row, "turn"))
            assert all(before[1] <= after[0] for before, after in pairwise(turns))


def test_more_works_in_flight_than_rows_share_rows() -> None:
    copies_in_flight = "\n".join(
        f"  %t{k} = async_region.copy %x to %y : memref<1024xf32> to memref<1024xf32>" for k in range(30)
    )
    picture = picture_of(copies(copies_in_flight))
    assert picture.lanes[1].rows == MOST_ROWS
    assert read_trace(chrome_trace(picture)).problems == []


def test_load_and_product_of_one_slot_have_one_colour() -> None:
    picture = timeline(simulate(pipelined_gemm(4), None, {"n": 6}, "sm_90"))
    hues: dict[int, set[int | None]] = {}
    for bar in picture.bars:
        if bar.slot is not None and bar.kind in ("turn", "agent"):
            hues.setdefault(bar.slot, set()).add(bar.hue)
    assert len(hues) == 6
    assert all(len(found) == 1 for found in hues.values())
    labels = [bar.label for bar in picture.bars if bar.kind == "turn"]
    assert labels[:2] == ["at_owner[0]", "bt_owner[0]"]
    assert "dot" in labels


def test_edges_of_agents_are_arrivals_forks_and_joins() -> None:
    picture = ring()
    kinds = {edge.kind for edge in picture.edges}
    assert kinds == {ISSUES, COMPLETES, ARRIVES, FORKS}
    for edge in picture.edges:
        source, target = ends(picture, edge)
        assert edge.start <= edge.end
        if edge.kind == ARRIVES:
            assert source.lane != target.lane
    names = [lane.name for lane in picture.lanes]
    forked = {names[target.lane] for edge in picture.edges for _, target in [ends(picture, edge)] if edge.kind == FORKS}
    assert forked == {"main", "agent 0", "agent 1.0", "agent 1.1"}, "three are forked, and the fourth joins them"


def test_every_stall_is_drawn() -> None:
    run = simulated(handshake(2, f"{READ}\n{RELEASE}"), 5)
    stalls = [(bar.start, bar.end) for bar in timeline(run).bars if bar.kind == "stall"]
    assert sorted(stalls) == sorted((stall.start, stall.end) for stall in run.clock.stalls)
    assert stalls


def test_array_in_shared_memory_has_slots_too() -> None:
    picture = picture_of((ROOT / "examples" / "double_buffer.mlir").read_text(), 4)
    loads = [bar for bar in picture.bars if bar.kind == "turn" and bar.op == "memref.load"]
    assert {bar.slot for bar in loads} == {0, 1}


# Violations -----------------------------------------------------------------------------------------------------------


def test_race_is_marked_where_both_sides_are() -> None:
    picture = zoo("release-before-load.bad")
    (mark,) = picture.marks
    assert mark.kind == "race"
    marked = [picture.bars[bar] for bar in mark.bars]
    assert {(bar.op.rpartition(".")[2], bar.iteration) for bar in marked} == {
        ("producer_write", (1,)),
        ("convert_layout", (0,)),
    }
    assert all(bar.marks == [0] for bar in marked)
    collide = [picture.bars[bar] for label, _, bar in mark.steps if label == "=>" and bar is not None]
    assert len(collide) == 2
    numbered = sorted(number for bar in picture.bars for number in bar.witness)
    assert numbered == list(range(1, 1 + sum(label.rstrip(".").isdigit() for label, _, _ in mark.steps)))


def test_deadlock_is_drawn_to_the_end() -> None:
    picture = zoo("missing-release.bad", 6)
    (mark,) = picture.marks
    assert mark.kind == "deadlock"
    blocked = [bar for bar in picture.bars if bar.kind == "blocked"]
    assert {picture.lanes[bar.lane].name for bar in blocked} == {"main", "agent 0", "agent 1"}
    assert all(bar.end == picture.until > picture.cycles for bar in blocked)
    assert headline(picture).endswith("and then it stands still")
    assert picture.per_iteration is None


def test_a_program_without_steps_does_not_stand_still() -> None:
    assert headline(picture_of("func.func @f() {\n  func.return\n}")) == "@f on generic: 0 cycles"


def test_work_that_nobody_waits_for_is_marked() -> None:
    picture = picture_of(copies(ONE.splitlines()[0]))
    assert [mark.kind for mark in picture.marks] == ["undrained"]
    (turn,) = [bar for bar in picture.bars if bar.kind == "turn"]
    assert turn.marks == [0]


# As SVG ---------------------------------------------------------------------------------------------------------------

DRAWN = {"ring": ring, "race": lambda: zoo("release-before-load.bad"), "deadlock": lambda: zoo("missing-release.bad")}

each_picture = pytest.mark.parametrize("name", list(DRAWN))


@each_picture
def test_svg_has_a_group_for_each_bar_and_a_path_for_each_edge(name: str) -> None:
    picture = DRAWN[name]()
    root = ElementTree.fromstring(timeline_svg(picture))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    groups = [group for group in root.iter(f"{SVG}g")]
    assert len(groups) == len(picture.bars)
    edges = [path for path in root.iter(f"{SVG}path") if (path.get("class") or "").startswith("edge")]
    assert len(edges) == len(picture.edges)
    for group, bar in zip(groups, picture.bars, strict=True):
        assert bar.kind in (group.get("class") or "").split()
        assert ("marked" in (group.get("class") or "").split()) == bool(bar.marks)
        rectangle = group.find(f"{SVG}rect")
        assert rectangle is not None
        left, wide = float(rectangle.get("x", -1)), float(rectangle.get("width", -1))
        assert 0 <= left <= left + wide <= width
        title = group.find(f"{SVG}title")
        assert title is not None
        assert bar.what.splitlines()[0] in (title.text or "")
        for text in group.findall(f"{SVG}text"):
            if text.get("class") is None:
                assert left + 4 + 6 * len(text.text or "") <= left + wide + 1, "a label stays in its bar"
    for element in root.iter():
        assert float(element.get("y") or 0) <= height
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {lane.name for lane in picture.lanes} <= words
    for mark in picture.marks:
        assert f"{mark.kind}: {mark.message}" in words


def test_svg_has_the_width_that_is_asked_for() -> None:
    for width in (400, 1000):
        assert ElementTree.fromstring(timeline_svg(ring(), width)).get("width") == str(width)


def test_svg_follows_light_and_dark() -> None:
    text = timeline_svg(ring())
    assert "prefers-color-scheme:dark" in text
    used = set(re.findall(r"var\((--[\w-]+)\)", text))
    defined = re.findall(r"(--[\w-]+):#", text)
    assert used <= set(defined)
    assert all(defined.count(name) == 2 for name in used), "once for light, once for dark"


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_text_can_be_read_on_every_colour() -> None:
    """The contrast that WCAG asks for, 4.5 to 1, in both schemes."""
    from tileas_xdsl.views.timeline.style import DARK, LIGHT

    for scheme in (LIGHT, DARK):
        colour = dict(re.findall(r"--([\w-]+):(#\w{6})", scheme))
        pairs = [("ink", name) for name in colour if re.fullmatch(r"[hp][-\d]|paper|lane", name)]
        pairs += [("faint", "lane"), ("faint", "paper"), ("bad", "bad-paper"), ("paper", "bad")]
        for ink, ground in pairs:
            light, dark = sorted((luminance(colour[ink]), luminance(colour[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_labels_and_ticks_fit() -> None:
    bar = next(bar for bar in ring().bars if bar.kind == "turn")
    assert label_for(bar, 1000) == "p[0] i0"
    assert label_for(bar, 36) == "p[0]"
    assert label_for(bar, 20) == "s0"
    assert label_for(bar, 5) == ""
    assert [tick_step(scale) for scale in (100, 50, 20, 1, 0.1, 0.01)] == [1, 2, 5, 100, 1000, 10000]


# As HTML --------------------------------------------------------------------------------------------------------------

VOID = {"meta", "br", "link", "img", "path"}


class Page(HTMLParser):
    """Checks that elements nest, and collects them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.elements if name in (attributes.get("class") or "").split()]


@each_picture
def test_html_nests_and_holds_every_bar_and_edge(name: str) -> None:
    picture = DRAWN[name]()
    page = Page(timeline_html(picture))
    bars = page.of_class("bar")
    assert sorted(int(bar["data-i"] or -1) for bar in bars) == [bar.number for bar in picture.bars]
    edges = [attributes for tag, attributes in page.elements if tag == "path" and "data-a" in attributes]
    assert [(e["data-a"], e["data-b"]) for e in edges] == [(str(e.source), str(e.target)) for e in picture.edges]
    assert len(page.of_class("tl-lane")) == len(picture.lanes)
    assert len(page.of_class("tl-bad")) == len(page.of_class("tl-flag")) == len(picture.marks)
    jumps = [attributes["data-bar"] for tag, attributes in page.elements if tag == "li" and "data-bar" in attributes]
    assert set(jumps) == {str(bar) for mark in picture.marks for _, _, bar in mark.steps if bar is not None}


@each_picture
def test_html_asks_nothing_of_a_network(name: str) -> None:
    text = timeline_html(DRAWN[name]())
    assert not re.search(r"\b(src|href)\s*=|@import|url\(|https?://(?!www\.w3\.org)", text)


def test_what_a_program_says_stays_text() -> None:
    """Names from a program are no markup."""
    picture = ring()
    picture.bars[0].what = "<script>alert(1)</script>\"'&"
    picture.bars[0].label = "</div><b>"
    for text in (timeline_html(picture), timeline_svg(picture)):
        assert "alert(1)</script>" not in text
    Page(timeline_html(picture))
    ElementTree.fromstring(timeline_svg(picture))


@pytest.mark.parametrize("name", ["small", "release-before-load", "missing-release"])
def test_the_page_works_in_a_browser(tmp_path: Path, name: str) -> None:
    """No error and no sideways scroll at two widths. The script widens a small picture to the window."""
    picture = picture_of(copies(ONE)) if name == "small" else zoo(f"{name}.bad")
    path = tmp_path / "t.html"
    path.write_text(timeline_html(picture))
    before = re.search(r"--z:([\d.e-]+)px", path.read_text())
    assert before is not None
    with browser(tmp_path) as tab:
        assert tab.look_at(path) == []
        scale = tab.open(path).locator(".tl").evaluate("tl => parseFloat(tl.style.getPropertyValue('--z'))")
        assert (scale > float(before[1])) if name == "small" else scale > 0


# Scale ----------------------------------------------------------------------------------------------------------------


def seconds(n: int) -> tuple[int, float]:
    """Bars, and the time that it takes to make the picture and to write it in all three ways."""
    run = simulate(pipelined_gemm(4), None, {"n": n}, "sm_90")
    start = time.process_time()
    picture = timeline(run)
    for write in (timeline_svg, timeline_html, chrome_trace):
        write(picture)
    return len(picture.bars), time.process_time() - start


def test_two_thousand_operations_are_drawn_in_linear_time() -> None:
    seconds(10)
    few, short = seconds(35)
    many, long = min((seconds(280) for _ in range(2)), key=lambda pair: pair[1])
    assert many > 4000
    assert long / many <= 3 * short / few + 1e-4


def test_picture_is_deterministic() -> None:
    assert timeline_html(ring()) == timeline_html(ring())
    assert timeline_svg(ring()) == timeline_svg(ring())
