"""What one sees on a terminal while `tileas check` takes its time, and that nobody else sees it."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.checker.growing_programs import NEVER, copying
from tests.support.ir import ROOT, parse
from tests.tools.conftest import Run
from tests.tools.programs import queue
from tileas_xdsl import check as check_from_python
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.tools.progress import bar, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def looked_at(monkeypatch: pytest.MonkeyPatch, patience: float = 0) -> Terminal:
    """Make standard error a terminal on which one is told after `patience` seconds. (pytest undoes it in fixtures.)"""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("tileas_xdsl.tools.progress.PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm-256color")
    return screen


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_what_is_done_is_shown_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    threads = threading.active_count()
    with progress() as tell:
        assert tell is not None
        tell("@ring(n = 1)")
        until(lambda: "@ring(n = 1)" in terminal.getvalue())
        tell("[red]@ring[/]")
        until(lambda: "[red]@ring[/]" in terminal.getvalue())
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")
    until(lambda: threading.active_count() <= threads)


def test_it_is_gone_after_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)

    def interrupted() -> None:
        with progress():
            until(lambda: "\x1b[?25l" in terminal.getvalue())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


def test_nothing_is_shown_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch, patience=3600)
    threads = threading.active_count()
    with progress() as tell:
        assert tell is not None
        tell("@ring(n = 1)")
    until(lambda: threading.active_count() <= threads)
    assert terminal.getvalue() == ""


def test_nothing_is_made_where_standard_error_is_no_terminal() -> None:
    script = (
        "import sys, threading\nfrom tileas_xdsl.tools import progress\nprogress.PATIENCE = 0\n"
        "with progress.progress() as tell:\n  print(tell, threading.active_count(), 'rich' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert (result.stdout, result.stderr) == ("None 1 False\n", "")


def test_the_report_is_the_same_under_the_eyes_of_somebody(tileas: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    seen = tileas("check", copying(NEVER))
    assert "safe for every trip count" in seen[1]
    assert "\x1b" not in seen[1]
    assert tileas("check", queue(0))[0] == 0
    assert "safe" not in terminal.getvalue()


def test_a_check_from_python_is_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    module, told = parse(copying(NEVER)), list[str]()
    monkeypatch.setattr("tileas_xdsl.tools.progress._Line.tell", lambda _, text: told.append(text))
    report = check_from_python(module)
    assert report.last_line.startswith("safe for every trip count")
    assert told[:2] == ["@copies(n = 0)", "@copies(n = 1)"]
    assert "safe" not in terminal.getvalue()


class Cell:
    """What a cell of a notebook shows: IPython as far as the progress needs it."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.kernel = self

    def get_ipython(self) -> Cell:
        return self

    def display(self, shown: Any, *, display_id: bool) -> Cell:
        assert display_id
        self.update(shown)
        return self

    def update(self, shown: Any) -> None:
        assert "text/html" in shown._repr_mimebundle_((), ()), "a notebook can draw it"
        self.shown.append(str(shown))


def test_a_notebook_shows_it_in_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    monkeypatch.setitem(sys.modules, "IPython", cell)
    monkeypatch.setitem(sys.modules, "IPython.display", cell)
    monkeypatch.setattr("tileas_xdsl.tools.progress.PATIENCE", 0)
    with progress() as tell:
        assert tell is not None
        tell("@ring(n = 1)")
        until(lambda: "@ring(n = 1)" in cell.shown)
        tell("[red]@ring[/]")
    assert cell.shown[-2:] == ["[red]@ring[/]", ""]
    with bar() as step:
        assert step is not None
        step(1, 3, "two stages")
        until(lambda: "1 of 3: two stages" in cell.shown)
    assert cell.shown[-1] == ""


def test_a_check_tells_which_call_it_is_at() -> None:
    told: list[str] = []
    report = check(parse(copying(NEVER)), tell=told.append)
    assert told[:2] == ["@copies(n = 0)", "@copies(n = 1)"]
    assert told[9] == "@copies(n = 8): proving every trip count"
    assert told[-1].endswith(": waits that could be weaker")
    looked_for = told.index("@copies(n = 0): waits that could be weaker")
    proving = sum(text.endswith("proving every trip count") for text in told[:looked_for])
    assert report.executions == 9 + proving


def test_of_two_arguments_both_are_told() -> None:
    text = "func.func @f(%n: index, %m: index) {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
    loops = "".join(f"scf.for %i{k} = %c0 to %{k} step %c1 {{\n}}\n" for k in "nm")
    loops += "%more = arith.cmpi sgt, %n, %m : index\nscf.if %more {\n}\n"
    told: list[str] = []
    check(parse(f"{text}{loops}func.return\n}}"), tell=told.append)
    assert told[1] == "@f(n = 0, m = 1)"
    assert told[81] == "@f(n = 8, m = 0): proving every trip count"
