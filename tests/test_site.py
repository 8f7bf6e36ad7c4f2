"""
The site that `make docs` writes: no warning, no dead link, and pages that work without a network.

All pages are opened in Chromium at two widths: none scrolls sideways, asks for something that is not of the site, or
has an error on the console.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

import pytest

from docs.build import build
from docs.site.glossary import link_terms
from docs.site.links import faults
from docs.site.markdown import relink, retag, space_lists
from docs.site.plan import navigation
from docs.site.reference.commands import WIDTH, subparser, usage
from docs.site.reference.diagnostics import diagnostics_page
from docs.site.reference.docstrings import as_markdown, breakable, cell, sections
from docs.site.reference.ptx import ptx_page
from docs.site.source import generated
from tests.support.browser import browser
from tests.support.corpora import nightly
from tests.support.ir import ROOT
from tileas_xdsl.readers.ptx.lowering import TABLE
from tileas_xdsl.tools.main import SUBCOMMANDS
from tileas_xdsl.tools.passes import describe
from tileas_xdsl.universe import TILEAS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes of a run. The build itself fails at a warning."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site-of-this-run"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            assert build(folder) == []
            (folder / "done").touch()
    return folder / "site"


of_the_site = nightly("mkdocs writes some thousand pages, and Chromium opens each")


@of_the_site
def test_the_site_has_every_command_pass_and_dialect(site: Path):
    for kind, names in (("commands", SUBCOMMANDS), ("passes", TILEAS.all_passes), ("dialects", TILEAS.all_dialects)):
        assert {page.stem for page in (site / "reference" / kind).glob("*.html")} == {*names, "index"}


@of_the_site
def test_every_pass_shows_the_ir_before_and_after_and_what_it_refuses(site: Path):
    for name in TILEAS.all_passes:
        text = (site / "reference" / "passes" / f"{name}.html").read_text()
        assert all(f'id="{anchor}"' in text for anchor in ("before-and-after", "rewrites", "requires", "refuses")), name


def test_every_command_pass_and_dialect_has_a_page() -> None:
    pages = generated(ROOT)
    for kind, names in (("commands", SUBCOMMANDS), ("passes", TILEAS.all_passes), ("dialects", TILEAS.all_dialects)):
        found = {path.stem for path in map(Path, pages) if path.parent == Path("reference") / kind}
        assert found - {"index"} == set(names)
    for name in TILEAS.all_passes:
        titles = re.findall(r"^#+ (.*)", pages[f"reference/passes/{name}.md"], re.MULTILINE)
        assert {"Before and after", "Rewrites", "Requires", "Refuses"} <= set(titles), name


def test_every_instruction_of_ptx_that_is_read_stands_in_the_reference() -> None:
    table = [line.split(" | ")[0] for line in ptx_page().splitlines() if line.startswith("| `")]
    assert sorted(table) == sorted(f"| `{row.opcode}`" for row in TABLE.rows)
    assert all(row.what for row in TABLE.rows)


def test_every_option_of_a_pass_says_what_it_means():
    rows = [describe(name, factory) for name, factory in TILEAS.all_passes.items()]
    assert [f"{row.name}: {option.name}" for row in rows for option in row.options if not option.help] == []


@of_the_site
def test_all_pages_work_without_a_network_at_two_widths(site: Path):
    with browser(site) as tab:
        found = [fault for page in sorted(site.rglob("*.html")) for fault in tab.look_at(page)]
    assert found == []


@of_the_site
def test_search_finds_without_a_network_and_the_zoo_is_filtered(site: Path):
    with browser(site) as tab:
        page = tab.open(site / "index.html")
        page.get_by_role("textbox", name="Search").click()
        page.keyboard.type("witness")
        page.locator(".md-search-result__item").first.wait_for(timeout=30_000)

        page = tab.open(site / "zoo" / "index.html")
        rows = page.locator("article table tbody tr")
        everything = rows.count()
        page.locator("#zoo-kind").select_option("deadlock")
        shown = rows.filter(visible=True)
        assert 0 < shown.count() < everything
        assert set(shown.locator("td:nth-child(2)").all_inner_texts()) == {"deadlock"}
        page.locator("#zoo-words").fill("no such words")
        assert shown.count() == 0
        assert tab.faults == []


@of_the_site
def test_the_page_of_a_notebook_shows_the_state_that_its_controls_choose(site: Path):
    with browser(site) as tab:
        page = tab.open(site / "notebooks" / "four-models.html")
        page.locator("div.notebook[data-ready]").wait_for(timeout=30_000)
        verdict = page.locator("div.notebook pre").first
        assert verdict.inner_text().startswith("safe for every trip count")
        page.get_by_label("model").select_option(label="phases")
        page.get_by_label("distance").fill("3")
        assert verdict.inner_text().startswith("unsafe: race")
        assert page.locator("div.notebook img").count() == 2
        assert page.get_by_role("heading", name="The program, in phases").count() == 1
        assert tab.faults == []


@of_the_site
def test_a_chapter_that_is_solved_is_marked_and_counted(site: Path):
    with browser(site) as tab:
        page = tab.open(site / "course" / "04-counts.html")
        assert page.locator(".course-solved").count() == 0
        page.locator("#course-is-solved").check()
        page = tab.open(site / "course" / "index.html")
        assert page.locator("#course-progress").inner_text().strip() == "1 of 15 solved"
        assert page.locator("article table .course-solved").all_inner_texts() == ["4. Counts"]
        page = tab.open(site / "course" / "04-counts.html")
        assert page.locator("#course-is-solved").is_checked()
        page.locator("#course-is-solved").uncheck()
        page = tab.open(site / "course" / "index.html")
        assert page.locator("#course-progress").inner_text().strip() == "0 of 15 solved"
        assert tab.faults == []


# What the site is made of ---------------------------------------------------------------------------------------------


def test_fences_get_tags_that_python_markdown_reads():
    assert retag("```sh exit=1\na\n```\n\n```text output\nb\n```") == "```sh\na\n```\n\n``` { .text .output }\nb\n```"
    assert retag("```python file=build/a.py\nx\n```") == '``` { .python title="build/a.py" }\nx\n```'
    assert retag("```mlir-fragment\nx\n```\n```\ny\n```") == "```mlir\nx\n```\n```text\ny\n```"


def test_a_list_behind_a_paragraph_gets_an_empty_line():
    assert space_lists("All:\n- one\n- two\n  more\n- three") == "All:\n\n- one\n- two\n  more\n- three"


def test_links_out_of_the_documentation_lead_to_pages_of_the_site():
    text = "[a](../x.py) [b](other.md#c) `[d](../x.py)`\n\n```\n[e](../x.py)\n```\n[f](https://a.b/c)"
    moved = relink(text, "docs/p.md", {"x.py": "docs/files/x.py.md"}.get)
    assert moved == text.replace("[a](../x.py)", "[a](files/x.py.md)").replace("`[d](../x.py)`", "`[d](files/x.py.md)`")


def test_words_are_linked_where_prose_uses_them_first():
    text = "# A ring\n\n`ring` [ring](x.md) The rings. A ring.\n\n| ring |"
    expected = '# A ring\n\n`ring` [ring](x.md) The [rings](../course/glossary.md#ring "Slots."). A ring.\n\n| ring |'
    assert link_terms(text, "passes/p.md", {"ring": "Slots."}) == expected


def test_a_longer_word_is_not_taken_for_a_shorter():
    known = {"trip count": "Turns.", "count": "Groups."}
    assert link_terms("A trip count.", "p.md", known) == 'A [trip count](course/glossary.md#trip-count "Turns.").'


def test_docstrings_become_markdown():
    doc = "Do.\n\n    a -> b\n\n    c\n\nRewrites\n    One `<x>`.\n\n    Two <y>.\n\nRequires: IR.\n\nRefuses:\n\n- all"
    found = sections(doc)
    assert found == {
        "": "Do.\n\n    a -> b\n\n    c",
        "Rewrites": "One `<x>`.\n\nTwo <y>.",
        "Requires": "IR.",
        "Refuses": "- all",
    }
    assert as_markdown(found[""]) == "Do.\n\n```text\na -> b\n\nc\n```"
    assert cell("a | b in\n`x|y`") == "a \\| b in `x|y`"
    assert as_markdown(found["Rewrites"]) == "One `<x>`.\n\nTwo &lt;y>."


def test_the_call_of_a_command_fits_its_page_and_is_aligned():
    for name in SUBCOMMANDS:
        first, *others = usage(subparser(name)).splitlines()
        assert first.startswith(f"tileas {name} ")
        assert all(line.startswith(" " * len(f"tileas {name} ")) for line in others), name
        assert all(len(line) <= WIDTH for line in (first, *others)), name


def test_long_names_may_be_broken_behind_their_dots():
    assert (
        breakable("of a.b and tileas.async.pipeline.one/two")
        == "of a.b and tileas.<wbr>async.<wbr>pipeline.<wbr>one/<wbr>two"
    )


def test_a_page_that_is_not_on_the_map_is_an_error(tmp_path: Path):
    (tmp_path / "course").mkdir()
    (tmp_path / "astray.md").write_text("# Astray\n")
    with pytest.raises(ValueError, match=r"not on the map of the site \(docs/site/plan.py\): astray\.md"):
        navigation(tmp_path, [])


def test_the_page_of_diagnostics_has_texts_with_what_varies_left_out():
    text = diagnostics_page(ROOT / "tileas_xdsl")
    assert text.count("| error |") > 150
    assert "| error | uses values in an earlier stage than the one that makes them | schedule it anew |" in text


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html#there">x</a>', None),
        ('<a href="b.html#gone">x</a>', "a.html: leads nowhere: b.html#gone"),
        ('<a href="c.html">x</a>', "a.html: leads nowhere: c.html"),
        ('<img src="gone.png">', "a.html: leads nowhere: gone.png"),
        ('<script src="https://cdn.example/x.js"></script>', "a.html: loads https://cdn.example/x.js"),
        ('<a href="https://example.org/">x</a>', None),
    ],
)
def test_dead_links_and_what_is_fetched_from_elsewhere_are_found(tmp_path: Path, body: str, fault: str | None):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h2 id="there">x</h2>')
    assert faults(tmp_path) == ([] if fault is None else [fault])
