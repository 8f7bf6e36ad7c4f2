"""Results as tables: plain data for JSON, frames of pandas, what a notebook shows; and the commands by their names."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tileas_xdsl as tileas
from tests.support.ir import ROOT
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tabular import MissingPackageError, Tabular
from tileas_xdsl.tools.main import SUBCOMMANDS

GEMM = ROOT / "examples" / "gemm_loop.mlir"
RING = ROOT / "examples" / "cp_async_ring.mlir"
RACE = ROOT / "examples" / "double_buffer_race.mlir"
ARRAYS = {
    "a": np.ones((128, 128), np.float16),
    "b": np.ones((128, 128), np.float16),
    "c": np.zeros((128, 128), np.float32),
}
FAMILY = "tileir{compute-capability=sm_90}"

ROWS = np.ones((4, 8), np.float32)


def scale() -> tileas.Kernel:
    return tileas.compile(RING, function="scale", target="sm_90", check=False, cache=False)


RESULTS: dict[str, Callable[[], Tabular]] = {
    "check": lambda: tileas.check(tileas.parse(RACE)),
    "compile": lambda: scale(),
    "kernel.run": lambda: scale().run(ROWS, np.zeros((4, 8), np.float32), 4, device="machine"),
    "explain": lambda: tileas.explain(tileas.parse(GEMM), FAMILY),
    "layout": lambda: tileas.layout("smem, swizzle<128>"),
    "passes": tileas.passes,
    "run": lambda: tileas.run(tileas.parse(GEMM), {**ARRAYS, "n": 2}),
    "schedule": lambda: tileas.schedule(tileas.parse(GEMM)),
    "simulate": lambda: tileas.simulate(tileas.parse(GEMM), {"n": 4}, target="sm_90"),
    "timeline": lambda: tileas.timeline(tileas.parse(GEMM), {"n": 4}, target="sm_90"),
    "tune": lambda: tileas.tune(
        GEMM, {"num_stages": [2]}, {**ARRAYS, "n": 2}, target="sm_90a", check=False, cache=False, progress=False
    ),
    "tokens": lambda: tileas.tokens(tileas.parse(ROOT / "examples" / "async_tasks.mlir")),
}
FUNCTIONS = {"opt": "transform", "waits": "tokens"}
"""What a command is called in Python, where its name is another."""
FOR_TERMINALS = ("cache", "course", "explain-error", "gui", "new", "play", "try")
"""The commands that a script has no use for."""


@pytest.fixture(scope="module", params=RESULTS)
def result(request: pytest.FixtureRequest) -> Tabular:
    return RESULTS[request.param]()


def test_each_is_plain_data_a_frame_and_html(result: Tabular) -> None:
    data = json.loads(json.dumps(result.to_dict()))
    assert data
    HTMLParser().feed(result._repr_html_())
    rows = result.rows()
    assert rows
    assert all(list(row) == list(rows[0]) for row in rows)
    pandas = pytest.importorskip("pandas")
    frame: Any = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)


def test_without_pandas_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="to_frame needs pandas, which is not installed: pip install pandas"):
        tileas.passes("cse").to_frame()


def test_a_kernel_and_its_run_are_tables() -> None:
    kernel = scale()
    assert [row["parameter"] for row in kernel.rows()] == ["src", "src", "out", "out", "n"]
    assert kernel.to_dict()["target"] == "sm_90"
    out = np.zeros((4, 8), np.float32)
    run = kernel.run(ROWS, out, 4, device="machine")
    assert [(row["array"], row["most"]) for row in run.rows()] == [("src", 1.0), ("out", 2.0)]
    assert run.to_dict()["arrays"]["out"] == (2 * ROWS).tolist()


# The commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_each_command_is_a_function(command: str) -> None:
    if command not in FOR_TERMINALS:
        assert callable(getattr(tileas, FUNCTIONS.get(command, command)))


def test_the_page_names_each_command_and_each_public_name() -> None:
    lines = (ROOT / "docs" / "python.md").read_text().splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| `tileas.")]
    names = {row[0].partition("tileas.")[2].partition("(")[0].strip(" `") for row in rows}
    assert names == set(tileas.__all__)
    commands = {word for row in rows for word in row[1].replace("`", "").split(",") if word.strip()}
    assert {command.strip() for command in commands} == set(SUBCOMMANDS) - set(FOR_TERMINALS)


def test_a_schedule_leaves_the_module_alone_and_says_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    from tileas_xdsl.tools.main import main

    module = tileas.parse(GEMM)
    before = str(module)
    said = str(tileas.schedule(module, num_stages=3))
    assert str(module) == before
    assert main(["schedule", str(GEMM), "--num-stages", "3"]) == 0
    assert capsys.readouterr().out == f"{said}\n"


def test_explained_stages_end_where_a_pass_refuses() -> None:
    module = tileas.parse(GEMM)
    road = tileas.explain(module, f"{FAMILY},convert-nv-tileas-to-llvm", {"n": 3})
    assert road.stages[0].report is not None
    assert next(row["stage"] for row in road.rows()) == "as written"
    assert road.stopped[0] == "convert-nv-tileas-to-llvm stopped:"
    assert road.stages[-1].title.startswith("tileir{")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tileas.schedule(tileas.parse(GEMM), strategy="best"), tileas.InputError, "no strategy 'best'"),
        (lambda: tileas.schedule(tileas.parse(GEMM), agents=2), tileas.InputError, "with --strategy exact only"),
        (
            lambda: tileas.schedule(tileas.parse("func.func @f() {\n  func.return\n}")),
            tileas.InputError,
            "no loop to schedule",
        ),
        (lambda: tileas.explain(tileas.parse(GEMM), "csee"), tileas.InputError, "there is no pass 'csee'"),
        (lambda: tileas.explain(tileas.parse(GEMM), "", {"m": 1}), ArgumentError, "m"),
        (lambda: tileas.passes("csee"), tileas.InputError, "there is no pass 'csee'"),
        (lambda: tileas.layout("smem, swizzle<77>"), tileas.InputError, "swizzle"),
    ],
)
def test_what_is_wrong_is_an_error_of_tileas(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, tileas.Error)


def test_schedules_are_compared_by_their_summaries() -> None:
    """As a researcher does: one row for each loop and strategy, with what the text says of them."""
    found = {name: tileas.schedule(tileas.parse(GEMM), strategy=name) for name in ("serial", "fast", "cost-based")}
    (serial,), (fast,), (cost_based,) = (each.summary() for each in found.values())
    assert serial["interval"] >= fast["interval"] >= cost_based["interval"] == cost_based["bound"]
    for row, schedules in zip((serial, fast, cost_based), found.values(), strict=True):
        text = str(schedules)
        assert text.startswith(f"{row['loop']}: II = {row['interval']} ({row['strategy']}), {row['stages']} stages")
        assert f"binds: {row['binds']}" in text
        assert row["ring_bytes"] == sum(
            int(line.split(" = ")[1].split()[0]) for line in text.splitlines() if "ring " in line
        )
