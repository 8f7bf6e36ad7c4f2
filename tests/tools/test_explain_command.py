"""`tileas explain`: a page with every stage of a road, what changed, what was said, verdicts and timelines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

import tileas_xdsl as tileas
from tests.support.ir import ROOT, parse
from tests.tools.conftest import Run
from tests.views.test_timeline import Page
from tileas_xdsl.diagnostics import remark, warn
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.tools import explain
from tileas_xdsl.views.listing import ADDED, KEPT, REMOVED, compared, listed

EXPLAINED, UNSAFE, INPUT = 0, 1, 2
GEMM = ROOT / "examples" / "gemm_loop.mlir"
ROAD = "tileas-materialize-async,tileas-unspecialized-pipeline{num-stages=2}"


@pytest.fixture
def run(tileas: Run) -> Run:
    """`run(text or path, *options)`: status, standard output, standard error; a text is called `p.mlir`."""
    return partial(tileas, "explain")


def page() -> Page:
    return Page(Path("o.html").read_text())


def test_every_stage_has_its_ir_its_verdict_and_its_timeline(run: Run) -> None:
    status, out, err = run(GEMM, "-p", ROAD, "-o", "o.html", "--target", "sm_90", "--trip-count", "3")
    assert (status, err) == (EXPLAINED, "")
    titles = ["as written", "tileas-materialize-async", "tileas-unspecialized-pipeline{num-stages=2}"]
    assert [line.partition(": ")[0] for line in out.splitlines()] == titles
    assert all(": safe for " in line for line in out.splitlines())
    shown = page()
    assert len(shown.of_class("stage")) == len(shown.of_class("tl")) == 3
    assert len(shown.of_class("safe")) == 6, "in the table, and with each stage"
    links = [attributes["href"] for tag, attributes in shown.elements if tag == "a"]
    assert links == ["#stage-0", "#stage-1", "#stage-2"]
    assert {attributes.get("id") for attributes in shown.of_class("stage")} == {"stage-0", "stage-1", "stage-2"}
    assert shown.of_class("added")
    assert shown.of_class("removed")


def test_the_driver_is_shown_by_its_passes(run: Run) -> None:
    """The last stage is what the driver left, and names the passes that left the program as it was."""
    driver = "tileir{pipeline-strategy=unspecialize}"
    _, out, _ = run(GEMM, "-p", driver, "-o", "o.html", "--target", "sm_90", "--trip-count", "3")
    *stages, idle = out.splitlines()
    titles = [stage.rpartition(": safe")[0] for stage in stages]
    assert titles[1] == "tileir: tileas-materialize-async"
    assert titles[-2:] == ["tileir: tileas-unspecialized-pipeline", 'tileir{pipeline-strategy="unspecialize"}']
    shown = {title.removeprefix("tileir: ") for title in titles[1:-1]}
    unchanged = idle.removeprefix("  nothing changed in ").split(", ")
    assert shown | {*unchanged} == {step.name for step in TileIRPass(pipeline_strategy="unspecialize").steps()}
    from tests.support.ir import run_passes

    left = run_passes(parse(GEMM.read_text()), driver)
    assert tileas.explain(parse(GEMM.read_text()), driver).to_dict()["stages"][-1]["ir"] == str(left).rstrip("\n")


def test_a_driver_that_refuses_ends_the_page(run: Run) -> None:
    status, out, err = run(GEMM, "-p", "tileir{opt-level=3}", "-o", "o.html")
    assert (status, len(out.splitlines())) == (INPUT, 1)
    assert "tileir: opt-level=3 is read by no pass yet" in err
    assert "tileir{opt-level=3} stopped:" in Path("o.html").read_text()


EDGES = ROOT / "tests" / "checker" / "edges"


@pytest.mark.parametrize(
    ("program", "option", "said"),
    [
        ("tid_specialised", [], "undecided"),
        ("tid_specialised", ["--threads", "64"], "unsafe: deadlock, phase"),
        ("ctaid_bound", ["--arg", "ctaid.x=1"], "unsafe: deadlock"),
    ],
)
def test_threads_and_blocks_are_those_of_the_check_as_well(
    program: str, option: list[str], said: str, run: Run
) -> None:
    """The block that is drawn is one of all that are checked."""
    _, out, err = run(EDGES / f"{program}.mlir", "-p", "canonicalize", "-o", "o.html", "--trip-count", "2", *option)
    assert err == ""
    assert out.splitlines()[0].startswith(f"as written: {said}")


def test_page_asks_nothing_of_a_network(run: Run) -> None:
    run(GEMM, "-p", ROAD, "-o", "o.html", "--trip-count", "2")
    text = Path("o.html").read_text()
    assert not re.search(r"\bsrc\s*=|<link|@import|url\(|https?://(?!www\.w3\.org)", text)
    assert 'name="viewport"' in text


def test_lines_of_a_stage_are_its_ir(run: Run) -> None:
    """What is kept and what is added, together, is what the pass printed."""
    run(GEMM, "-p", "tileas-materialize-async", "-o", "o.html", "--trip-count", "1")
    text = Path("o.html").read_text()
    stage = text[text.index('id="stage-1"') :]
    listing = stage[stage.index('<div class="ir">') : stage.index('<section class="tl"')]
    rows = re.findall(r'<div(?: class="(added|removed)")? style="--i:(\d+)">(.*?)</div>', listing)
    lines = [" " * int(i) + unescape(re.sub(r"<[^>]*>", "", row)) for change, i, row in rows if change != "removed"]
    from tests.support.ir import run_passes

    after = run_passes(parse(GEMM.read_text()), "tileas-materialize-async")
    assert lines == list(listed(after).lines)


def test_unsafe_program_is_explained_with_its_mistake(run: Run) -> None:
    status, out, _ = run(ROOT / "examples" / "zoo" / "release-before-load.bad.mlir", "-o", "o.html")
    assert status == UNSAFE
    assert "as written: unsafe: race" in out
    text = Path("o.html").read_text()
    assert "nothing that orders the two" in text
    assert page().of_class("found")


def test_program_without_a_meaning_is_shown_all_the_same(run: Run) -> None:
    text = 'func.func @f() {\n  "test.op"() : () -> ()\n  func.return\n}'
    status, out, err = run(text, "-o", "o.html")
    assert (status, err) == (EXPLAINED, "")
    reason = "p.mlir:2:3: 'test.op' op has no meaning here; remove it, lower it, or (checking) pass it to --assume-pure"
    assert out == f"as written: not checked, no timeline\n  not checked: {reason}\n  no timeline: {reason}\n"
    assert "not checked:" in Path("o.html").read_text()


# Passes that say something --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Talks(ModulePass):
    """Remarks on one function and removes another, of which it warns."""

    name = "talks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first, second = (inner for inner in op.walk() if isinstance(inner, FuncOp))
        remark(first, "stays <as it is>", "nothing to do")
        warn(second, "goes")
        second.detach()
        second.erase()


@dataclass(frozen=True)
class Stops(ModulePass):
    """Refuses everything."""

    name = "stops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from tileas_xdsl.diagnostics import refuse

        refuse(op, "is not to its taste", "write another")


TWO = "func.func @f() {\n  func.return\n}\nfunc.func @g() {\n  func.return\n}"


def test_remarks_stand_beside_their_ops(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "passes_of", lambda spec: [("talks", Talks())])
    status, _, err = run(TWO, "-p", "talks", "-o", "o.html")
    assert (status, err) == (EXPLAINED, "")
    text = Path("o.html").read_text()
    stage = text[text.index('id="stage-1"') :]
    row = stage.index("@f")
    said = stage.index("stays &lt;as it is&gt; nothing to do")
    assert row < said < stage.index("func.return", row)
    assert stage.index("<b>warning</b> goes") < row, "its op is gone, so it stands above"
    page()


def test_refusal_ends_the_page_and_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "passes_of", lambda spec: [("stops", Stops()), ("talks", Talks())])
    status, out, err = run(TWO, "-p", "stops,talks", "-o", "o.html")
    assert status == INPUT
    assert "is not to its taste" in err
    assert "Traceback" not in err
    assert out.startswith("as written: safe")
    text = Path("o.html").read_text()
    assert "stops stopped:" in text
    assert "is not to its taste" in text
    assert len(page().of_class("stage")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "error: say what to write: -o something.html\n"),
        (["-o", "o.svg"], "error: -o o.svg: the file must be called something.html\n"),
        (["-o", "missing/o.html"], "missing/o.html: error: there is no folder 'missing'; mkdir -p makes it\n"),
        (
            ["-o", "o.html", "-p", "canonicalise"],
            "error: -p: there is no pass 'canonicalise'; did you mean 'canonicalize'",
        ),
        (["-o", "o.html", "-p", "cse{a=1}"], "error: -p: "),
        (["-o", "o.html", "-p", "cse{"], "error: "),
        (["-o", "o.html", "--target", "sm_1"], "no cycles are known of the target 'sm_1'"),
        (
            ["-o", "o.html", "--function", "h"],
            "p.mlir: error: there is no function @h with a body; there are: @f, @g\n",
        ),
        (
            ["-o", "o.html", "--function", "f", "--arg", "n=1"],
            "p.mlir: error: there is no argument 'n'; there are: none",
        ),
        (["-o", "o.html", "--arg", "n=1"], "p.mlir: error: say which function with --function; there are: @f, @g\n"),
        (["-o", "o.html", "--trip-count", "-3"], "error: --trip-count -3: a loop runs 0 times or more\n"),
    ],
)
def test_wrong_options(options: list[str], message: str, run: Run) -> None:
    status, out, err = run(TWO, *options)
    assert (status, out) == (INPUT, "")
    assert message in err
    assert "Traceback" not in err
    assert "defect" not in err


# Listings -------------------------------------------------------------------------------------------------------------


def test_listing_knows_where_ops_begin() -> None:
    module = parse(GEMM.read_text())
    listing = listed(module)
    assert "\n".join(listing.lines) == str(module).rstrip("\n")
    for op, line in listing.line_of.items():
        assert op.name in listing.lines[line]
    assert len(listing.line_of) == sum(1 for _ in module.walk())


def test_comparison_holds_both_listings() -> None:
    before, after = ["a", "b", "c", "d"], ["a", "x", "c", "c", "d"]
    lines = compared(before, after)
    assert [line.text for line in lines if line.change != REMOVED] == after
    assert [line.text for line in lines if line.change != ADDED] == before
    assert [line.number for line in lines if line.number is not None] == list(range(5))
    assert {line.change for line in compared(before, before)} == {KEPT}
    assert compared([], []) == []
