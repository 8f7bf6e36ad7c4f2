"""`tileas.tune` and `tileas tune`: candidates, their order, what is kept, and what is measured on a stand-in."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tileas_xdsl as tileas
from tests.kernel_objects.test_launch import driver, said  # noqa: F401 - a fixture
from tests.support.ir import ROOT
from tests.support.ptx import require_llvmlite, require_ptxas
from tileas_xdsl.kernels.compiling import Program
from tileas_xdsl.kernels.tuning import estimate, steps, tuning, workers
from tileas_xdsl.kernels.tuning.result import Candidate, Tuning
from tileas_xdsl.kernels.tuning.space import points_of
from tileas_xdsl.tools.compile import Options
from tileas_xdsl.tools.main import main

GEMM = ROOT / "examples" / "gemm_loop.mlir"
SIZE = 1024
SPACE = {"strategy": ["unspecialize", "warp-specialize"], "num_stages": [2, 3]}


def gemm_arguments() -> dict[str, Any]:
    half, single = (np.zeros((SIZE, SIZE), kind) for kind in (np.float16, np.float32))
    return {"a": half, "b": half, "c": single, "n": SIZE // 64}


@pytest.fixture(autouse=True)
def tools() -> None:
    require_llvmlite()
    require_ptxas()


def tuned(space: Any = SPACE, **options: Any) -> Tuning:
    options = {"target": "sm_90a", "compiled": 1, "check": False, "progress": False, **options}
    return tileas.tune(GEMM, space, gemm_arguments(), **options)


# Spaces ---------------------------------------------------------------------------------------------------------------


def test_a_space_is_a_product_or_a_list() -> None:
    assert points_of({"a": [1, 2], "b": [3, 4]}) == [{"a": x, "b": y} for x in (1, 2) for y in (3, 4)]
    assert points_of([{"a": 1}, {"b": 2}]) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("space", "text"),
    [
        ({}, "the space has no points"),
        ([], "the space has no points"),
        ({"num_stages": []}, "'num_stages' has no values"),
        ({"num_stages": 3}, "'num_stages' has no values"),
        ({"strategy": "none"}, "'strategy' has no values"),
        ({"depth": [32]}, "there is no option 'depth'"),
        ({"num_stages": [0]}, "num_stages is a number of 1 or more, not 0"),
        ({"blocks": [True]}, "blocks is a number of 1 or more, not True"),
        ({"under_load": [1]}, "under_load is True or False, not 1"),
        ({"strategy": ["fast"]}, "there is no strategy 'fast'"),
        ({"num_stages": list(range(101)), "blocks": list(range(100))}, "10,100 points"),
    ],
)
def test_a_space_that_is_wrong_is_refused(space: Any, text: str) -> None:
    with pytest.raises(tileas.InputError, match=text):
        tileas.tune(GEMM, space, gemm_arguments(), progress=False)


def test_what_make_takes_goes_to_it_and_the_rest_to_the_compiler() -> None:
    asked: list[int] = []

    def make(depth: int) -> Path:
        asked.append(depth)
        return GEMM

    def arguments(depth: int) -> dict[str, Any]:
        return {**gemm_arguments(), "n": SIZE // depth}

    found = tileas.tune(
        make,
        {"depth": [64, 128], "num_stages": [2]},
        arguments,
        target="sm_90a",
        compiled=1,
        check=False,
        progress=False,
    )
    assert asked == [64, 128]
    assert found.best == {"depth": 128, "num_stages": 2}  # half as many turns
    assert found.kernel.options.num_stages == 2
    with pytest.raises(tileas.InputError, match="make takes no 'width'"):
        tileas.tune(make, {"width": [1], "depth": [64]}, arguments, progress=False)


# Order ----------------------------------------------------------------------------------------------------------------


def test_a_grid_that_is_computed_tells_what_is_kept_apart() -> None:
    """The second tuning must not find the times of the first one in the cache."""
    one, many = (tuned([{"num_stages": 2}], grid=lambda _, blocks=blocks: blocks) for blocks in (1, 4096))
    assert one.candidates[0].estimated < many.candidates[0].estimated


def test_all_are_estimated_and_the_best_foretold() -> None:
    found = tuned()
    assert len(found.candidates) == 4
    assert all(one.estimated is not None for one in found.candidates)
    assert [one.foretold is not None for one in found.candidates] == [True, False, False, False]
    assert found.best == found.candidates[0].point
    assert found.kernel.options.strategy == found.best["strategy"]
    assert found.correlation is None
    assert "foretold" in repr(found)
    assert len(str(found).splitlines()) == 5
    assert json.loads(json.dumps(found.to_dict()))["best"] == found.best
    HTMLParser().feed(found._repr_html_())
    assert "<svg" in found._repr_html_()


def test_blocks_that_compute_many_programs_are_sooner_where_each_is_short() -> None:
    """What stands before and behind eight turns is hidden but for the last program of a block."""
    half, single = (np.broadcast_to(kind(0), (8192, 8192)) for kind in (np.float16, np.float32))
    given = {"a": half[:, :512], "b": half[:512], "c": single, "n": 8}
    space = {"persistent": [False, True]}
    found = tileas.tune(GEMM, space, given, target="sm_90a", compiled=2, check=False, measure=False, progress=False)
    assert [one.point["persistent"] for one in found.candidates] == [True, False]
    estimated, foretold = ([getattr(one, what) for one in found.candidates] for what in ("estimated", "foretold"))
    assert estimated[0] < 0.9 * estimated[1]
    assert foretold[0] < 0.9 * foretold[1]


@pytest.mark.parametrize("strategy", SPACE["strategy"])
def test_the_order_of_programs_decides_nothing_in_a_block(strategy: Any) -> None:
    program = Program("gemm", GEMM.read_text())
    options = Options(target="sm_90a", strategy=strategy, num_stages=3)
    alone, grouped = (
        estimate._decided(tileas.parse(program.text), None, replace(options, group_programs=rows)) for rows in (0, 8)
    )
    assert grouped == alone == estimate.agents_of(program, None, replace(options, group_programs=8))


def test_what_does_not_fit_comes_last_and_says_why() -> None:
    wide = GEMM.read_text().replace("64x128x", "64x256x").replace("128x128x", "128x256x")
    found = tileas.tune(
        lambda columns: wide if columns == 256 else GEMM,
        {"columns": [256, 128], "num_stages": [2], "num_warps": [4]},
        {**gemm_arguments()},
        target="sm_90a",
        compiled=2,
        check=False,
        progress=False,
    )
    assert [one.point["columns"] for one in found.candidates] == [128, 256]
    assert found.candidates[1].problem is not None
    assert "registers" in found.candidates[1].problem


def test_nothing_that_fits_is_an_error() -> None:
    wide = GEMM.read_text().replace("64x128x", "64x256x").replace("128x128x", "128x256x")
    with pytest.raises(tileas.InputError, match=r"no candidate is left of 1; the first one: .*registers"):
        tileas.tune(wide, {"num_stages": [2], "num_warps": [4]}, gemm_arguments(), target="sm_90a", progress=False)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": "sm_80"}, "no launches on sm_80 can be foretold"),
        ({"grid": (0, 1)}, "a grid has 1 block or more"),
        ({"grid": "x"}, "a grid is made of integers, and 'x' is given"),
        ({"grid": lambda _: (1, 2, 3, 4)}, "a grid has 1 to 3 extents, not 4"),
    ],
)
def test_what_cannot_be_foretold_is_said(options: dict[str, Any], text: str) -> None:
    with pytest.raises(tileas.Error, match=text):
        tuned({"num_stages": [2]}, **options)


def test_all_arguments_that_are_missing_are_named_at_once() -> None:
    space: Any = {"num_stages": [2]}
    with pytest.raises(tileas.Error, match="@gemm lacks 'a', 'b', 'c': the grid follows from the sizes of arrays"):
        tileas.tune(GEMM, space, {"n": 4}, target="sm_90a", progress=False)
    # A launch whose loop has any number of turns cannot be foretold.
    with pytest.raises(tileas.Error, match="@gemm lacks 'n': "):
        tileas.tune(GEMM, space, {}, target="sm_90a", grid=(2, 2), progress=False)


def test_the_line_to_be_typed_has_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND[:2], "--space", "num-stages=2,3", "--arg", "n=4", "--target", "sm_90a", "--no-check"]) == 2
    said, line = capsys.readouterr().err.splitlines()
    assert said.endswith("type this, with your sizes:")
    words = shlex.split(line)
    arrays = [f"{name}=1024x1024:zeros" for name in "abc"]
    assert [words[place + 1] for place, word in enumerate(words) if word == "--arg"] == ["n=4", *arrays]
    assert words[:3] == ["tileas", "tune", COMMAND[1]]
    assert words[-3:] == ["--target", "sm_90a", "--no-check"]


def test_without_llvm_nothing_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda _: None)
    monkeypatch.setattr(tuning, "points_of", lambda _: pytest.fail("work was begun"))
    with pytest.raises(tileas.Error, match=r"llvmlite is not installed: pip install -e"):
        tuned({"num_stages": [2]})


# What is kept ---------------------------------------------------------------------------------------------------------


def test_what_was_found_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tuned()
    monkeypatch.setattr(steps, "agents_of", _never)
    monkeypatch.setattr(steps, "forecast", _never)
    assert tuned().to_dict() == first.to_dict()


def test_an_interrupted_tuning_says_one_line_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    how = tuning.HowTuned(target="sm_90a", compiled=1, check=False)

    def tune(tell: tuning.Tell | None) -> Tuning:
        told = tuning.HowTuned(**{**vars(how), "tell": tell})
        return tuning.tune(GEMM, SPACE, gemm_arguments(), told)

    def interrupting(done: int, total: int, text: str) -> None:
        if text.startswith("compile"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(interrupting)
    line = "interrupted: 4 candidates, 4 estimated, 0 foretold, 0 measured; the next tuning goes on from there\n"
    assert capsys.readouterr().err == line
    monkeypatch.setattr(steps, "agents_of", _never)
    assert tune(None).candidates[0].foretold is not None


# On several cores -----------------------------------------------------------------------------------------------------

MANY = {**SPACE, "blocks": [1, 2]}


def test_processes_find_what_one_finds(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 1)
    alone = tuned(MANY, compiled=2, cache=False)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    monkeypatch.setattr(steps, "agents_of", _never)
    told: list[tuple[int, int, str]] = []
    how = tuning.HowTuned(target="sm_90a", compiled=2, check=False, cache=False, tell=lambda *each: told.append(each))
    found = tuning.tune(GEMM, MANY, gemm_arguments(), how)
    assert found.to_dict() == alone.to_dict()
    assert [done for done, _, text in told if text.startswith("estimate")] == list(range(9))
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_ends_the_processes_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)
    started: list[subprocess.Popen[bytes]] = []
    start = workers._started
    monkeypatch.setattr(workers, "_started", lambda: started.append(start()) or started[-1])

    def interrupting(done: int, total: int, text: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    def tune(tell: tuning.Tell | None) -> Tuning:
        how = tuning.HowTuned(target="sm_90a", compiled=1, check=False, tell=tell)
        return tuning.tune(GEMM, MANY, gemm_arguments(), how)

    with pytest.raises(KeyboardInterrupt):
        tune(interrupting)
    line = capsys.readouterr().err
    said = re.fullmatch(
        r"interrupted: 8 candidates, (\d) estimated, 0 foretold, 0 measured; the next tuning goes on from there\n", line
    )
    assert said is not None
    assert int(said[1]) in (3, 4), "of two processes the other one may have ended, too"
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2
    told: list[str] = []
    tune(lambda done, total, text: told.append(text))
    assert sum(text.startswith("estimate ") for text in told) == 8 - int(said[1])


def test_a_process_that_dies_costs_its_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 2)
    program = [sys.executable, "-c", "import sys; sys.exit(7)"]
    monkeypatch.setattr(
        workers, "_started", lambda: subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )
    with pytest.raises(tileas.InputError, match="no candidate is left of 8; the first one: the process that compiled "):
        tuned(MANY)


def _never(*_: Any) -> Any:
    raise AssertionError("this was found before")


# The command ----------------------------------------------------------------------------------------------------------

ARRAYS = ["--arg", "a=1024x1024:zeros", "--arg", "b=1024x1024:zeros", "--arg", "c=1024x1024:zeros", "--arg", "n=16"]
COMMAND = ["tune", str(GEMM), "--target", "sm_90a", "--compiled", "1", "--no-check", *ARRAYS, "--space"]


def test_the_command_prints_the_table_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("found.json", "found.svg"):
        assert main([*COMMAND, "num-stages=2,3", "strategy=warp-specialize", "-o", str(tmp_path / name)]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed[0].split()[:3] == ["rank", "num_stages", "strategy"]
        assert printed[-1].startswith("Tuning(2 candidates for NVIDIA H200; best: num_stages=")
    assert len(json.loads((tmp_path / "found.json").read_text())["candidates"]) == 2
    assert (tmp_path / "found.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["num-stages"], "error: 'num-stages' is not NAME=VALUE"),
        (["stages=2"], "error: there is no option 'stages'"),
        (["num-stages=2", "--grid", "0"], "a grid has 1 block or more"),
        (["num-stages=2", "--grid", "a"], "error: --grid a: a grid has 1 to 3 extents"),
        (["num-stages=2", "-o", "x.txt"], "x.txt: error: the name of a result ends with one of .json, .svg"),
    ],
)
def test_wrong_input_is_one_line(more: Sequence[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *more]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line


# Measured on a stand-in -----------------------------------------------------------------------------------------------

MEASURED = """
arguments = {{"src": src, "out": out, "n": {n}}}
found = tileas.tune(RING, {{"threads": [32, 64]}}, arguments, function="scale", target="sm_90a", grid=1, check=False,
                    progress=False, expected={expected})
first = found.candidates[0]
print(found.device, len(found.candidates), first.measured is not None and first.measured > 0, first.problem)
"""


def test_candidates_are_measured_where_there_is_a_gpu(driver: Path, tmp_path: Path) -> None:  # noqa: F811
    lines = said(MEASURED.format(n=7, expected="None"), driver, tmp_path)
    assert lines == ["a stand-in 0 2 True None"]


def test_a_candidate_with_wrong_numbers_is_out(driver: Path, tmp_path: Path) -> None:  # noqa: F811
    tuning_ = MEASURED.format(n=7, expected='{"out": 3 * src}')
    script = f"try:\n{_indented(tuning_)}\n"
    script += "except tileas.Error as error:\n    print(error)\n"
    (line,) = said(script, driver, tmp_path)
    assert "no candidate is left of 2" in line
    assert "wrong numbers in 'out': 0.33 apart" in line


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())


def test_the_correlation_is_that_of_what_was_measured() -> None:
    candidates = tuple(
        Candidate(point={"blocks": number}, foretold=number * 1e-5, measured=seconds * 1e-5)
        for number, seconds in ((1, 10), (2, 30), (3, 20))
    )
    kernel = tileas.compile(ROOT / "examples/cp_async_ring.mlir", function="scale", target="sm_90", check=False)
    found = Tuning(candidates=candidates, kernel=kernel, target="sm_90", device="a GPU")
    assert found.correlation == pytest.approx(0.5)
    assert found.plot().count("<circle") == 3
    assert "measured, microseconds" in found.plot()
