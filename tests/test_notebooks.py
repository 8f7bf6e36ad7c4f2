"""
The notebooks of `docs/notebooks/`: they run with the first, a middle and the last value of each control, and as
scripts. What is wrong is said with the name of the control. `make docs` runs them with all values.

All of it runs in this process, since marimo takes long to start.
"""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from functools import cache
from typing import Any

import marimo
import pytest

from docs.site.notebooks import TITLES, Notebook, NotebookError, script
from tests.support.ir import ROOT
from tileas_xdsl.views.notebook import PICTURE, TEXT, Pane, panes_html

FOLDER = ROOT / "docs" / "notebooks"
every_notebook = pytest.mark.parametrize("name", TITLES)


@cache
def notebook(name: str) -> Notebook:
    return Notebook(name)


def text(panes: Sequence[Pane], title: str) -> str:
    """What stands in the pane whose title begins so."""
    return next(pane.text for pane in panes if pane.title.startswith(title))


def test_every_notebook_has_a_page():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(TITLES)
    assert all(f"notebooks/{name}.py" in (FOLDER.parent / "notebooks.md").read_text() for name in TITLES)


@every_notebook
def test_it_runs_with_the_ends_and_the_middle_of_each_control(name: str):
    book = notebook(name)
    assert book.about.startswith(f"# {TITLES[name]}\n")
    seen: set[str] = set()
    for control in book.controls:
        for value in {control.values[0], control.values[len(control.values) // 2], control.values[-1]}:
            panes = book.shown({control.name: value})
            assert len(panes) >= 3
            assert all(pane.text and pane.kind in (TEXT, PICTURE) for pane in panes)
            assert "fails" not in " ".join(pane.title for pane in panes)
            seen.add(panes_html(panes))
    assert len(seen) > len(book.controls), "each control changes what is shown"


@every_notebook
@pytest.mark.filterwarnings("error")
def test_it_runs_as_a_script(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")  # it needs nothing of the folder that it runs in
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")


# What they show -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["counts", "tokens", "phases", "marks"])
def test_three_slots_are_enough_for_two_ahead_in_every_model(model: str):
    book = notebook("four_models")
    assert text(book.shown({"model": model}), "Verdict").startswith("safe for every trip count")
    assert text(book.shown({"model": model, "distance": 3}), "Verdict").startswith("unsafe: race")


def test_a_python_kernel_is_proved_and_multiplies_as_the_target_does():
    book = notebook("python_to_ptx")
    for target, product in (("sm_90a", "wgmma.mma_async"), ("sm_80", "mma.sync")):
        panes = book.shown({"stage": "PTX", "target": target})
        assert product in text(panes, "PTX")
        assert text(panes, "Verdict").startswith("safe for every trip count")
        assert "stages" in text(panes, "Schedule")
    assert "= mmaf " in text(book.shown({"stage": "Tile IR"}), "Tile IR")


def test_an_order_can_hide_a_race():
    book = notebook("four_models")
    numbers = {order: text(book.shown({"distance": 3, "order": order}), "Numbers") for order in ("eager", "lazy")}
    assert numbers["eager"].endswith("WRONG")
    assert numbers["lazy"].endswith("right")


def test_the_witness_ends_in_two_steps_whose_lines_are_lit():
    panes = notebook("race").shown({"program": "02-races", "step": 9})
    assert text(panes, "Steps").count("=> ") == 2
    program = next(pane for pane in panes if pane.title == "The program")
    lit = [line for number, line in enumerate(program.text.splitlines(), 1) if number in program.lit]
    assert any("async_queue.scope" in line for line in lit)
    assert any("memref.load %ring" in line for line in lit)
    assert "may be in flight" in text(panes, "Who knows what")


def test_more_stages_take_fewer_cycles_and_more_slots():
    book = notebook("pipelining")
    table = text(book.shown({"trips": 12}), "Cycles").splitlines()[1:]
    cycles = [int(line.replace(">", " ").split()[2].replace(",", "")) for line in table]
    assert cycles == sorted(cycles, reverse=True)
    assert text(book.shown({"stages": 4}), "Prologue").startswith("copies in front of the loop: 3;")


def test_a_deeper_queue_stalls_its_producer_less():
    book = notebook("warp_specialisation")
    stalls = {depth: text(book.shown({"depth": depth}), "Stalls").splitlines() for depth in (1, 4)}
    cycles = {
        depth: sum(int(line.split()[2].replace(",", "")) for line in lines if "on empty" in line)
        for depth, lines in stalls.items()
    }
    assert cycles[1] > 2 * cycles[4]


def test_the_exact_scheduler_keeps_the_interval_and_needs_less():
    table = text(notebook("schedulers").shown({"loop": "two products"}), "At most").splitlines()[1:]
    serial, heuristic, exact = ([int(n.replace(",", "")) for n in line[14:].split()] for line in table)
    assert exact[0] == heuristic[0] < serial[0], "the interval"
    assert exact[2] < heuristic[2], "the bytes of the rings"
    assert max(exact[3], heuristic[3]) < serial[3], "cycles on the machine"


def test_a_wrong_pass_makes_some_program_unsafe():
    book = notebook("your_pass")
    assert "unsafe" not in text(book.shown({"answer": "right"}), "All programs")
    for answer in ("forgets commits", "mixes up queues", "keeps the weaker wait"):
        assert "unsafe: race" in text(book.shown({"answer": answer}), "All programs")


# What is wrong --------------------------------------------------------------------------------------------------------


def run(name: str, **given: Any) -> list[Pane]:
    """The panes with a text that a reader wrote."""
    from importlib import import_module

    return import_module(f"docs.notebooks.{name}").app.run(defs=given)[1]["shown"]


def test_a_text_that_does_not_parse_is_said_with_its_control():
    panes = run("race", text="func.func @f() {\n  %x = arith.addi %y, %y : i32\n  func.return\n}")
    assert panes[0].title == "IR text does not parse"
    assert panes[0].text.startswith("<text>:2:19: error: %y is used and never defined")


def test_a_text_without_a_fault_has_a_verdict():
    panes = run("race", text="func.func @f() {\n  func.return\n}")
    assert panes[0].title == "Verdict"
    assert panes[0].text.startswith("safe")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def (", "invalid syntax"),
        ("x = 1", "0 passes are defined; one is needed"),
        ("raise KeyError('k')", "k"),
    ],
)
def test_a_pass_that_fails_is_said_with_its_control(code: str, said: str):
    panes = run("your_pass", code=code)
    assert panes[0].title == "The code cell fails"
    assert said in panes[0].text


def small_app() -> marimo.App:
    """A notebook with one control, which fails with its last value."""
    app = marimo.App()

    @app.cell
    def _():
        import marimo as mo

        about = "# Small\n"
        controls = mo.ui.dictionary({"slots": mo.ui.slider(0, 2)})
        return about, controls, mo

    @app.cell
    def _(controls):
        slots = controls.value["slots"]
        return (slots,)

    @app.cell
    def _(slots):
        from tileas_xdsl.views.notebook import Pane as Shown

        shown = [Shown("Share", str(2 // (2 - slots)), lit={1})]
        return Shown, shown

    return app


def test_a_notebook_that_fails_names_its_control_and_the_value():
    book = Notebook("small", small_app())
    assert book.shown({"slots": 1}) == [Pane("Share", "2", lit={1})]
    with pytest.raises(NotebookError, match=r"^small fails with slots = 2: ZeroDivisionError: "):
        script(book)


def test_a_control_or_a_value_that_does_not_exist_is_named():
    book = Notebook("small", small_app())
    with pytest.raises(NotebookError, match=r"^small has no control 'slot'; it has slots$"):
        book.shown({"slot": 1})
    with pytest.raises(NotebookError, match=r"^small: slots = 7: choose one of \[0, 1, 2\]$"):
        book.shown({"slots": 7})


def test_a_pane_is_escaped_and_its_lit_lines_are_marked():
    html = Pane("a < b", "x < y\nz", lit={2}).html()
    assert "<h3>a &lt; b</h3>" in html
    assert "x &lt; y\n<mark " in html
    assert html.count("<mark") == 1
    assert 'alt="t" src="data:image/svg+xml' in Pane("t", "<svg/>", PICTURE).html()
