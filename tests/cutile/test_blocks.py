"""Blocks of a grid that reach one place race, and are named with lines of Python; the kernels repaired do not."""

from __future__ import annotations

import pytest

from tests.cutile.exports import require_cutile
from tests.cutile.launches import CASES
from tests.cutile.running import WRITTEN, converted, path_of
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.tools.main import main

ALONE = "blocks do not race with each other"
FAULTY = {
    "lost_sums(f32:?x?, f32:?, 8, 64)": ("Sums", "write after write", "0, 1, 0"),
    "shifted_in_place(f32:?, 64)": ("X", "a read and a write", "0, 0, 0"),
    "overlapping_rows(f32:?x?, f32:?x?, 64, 4)": ("Y", "write after write", "1, 0, 0"),
    "all_rows(f32:?x?, f32:?x?, 64)": ("Y", "write after write", "1, 0, 0"),
}
"""Kernel -> the array, how it is reached, and one of the blocks."""
RIGHT = (
    "added_sums(f32:?x?, f32:?, 8, 64)",
    "sums_by_piece(f32:?x?, f32:?x?, 8, 64)",
    "shifted(f32:?, f32:?, 64)",
    "rows_by_block(f32:?x?, f32:?x?, 64, 4)",
    "persistent_rows(f32:?x?, f32:?x?, 64)",
)
Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_cutile()


def judged(kernel: str) -> Report:
    return check(converted(f"{WRITTEN / 'faulty.py'}:{kernel}"), judge_waits=False)


@pytest.mark.parametrize("kernel", FAULTY)
def test_blocks_that_reach_one_tile_race(kernel: str) -> None:
    report, (array, how, block) = judged(kernel), FAULTY[kernel]
    assert report.verdict is Verdict.VIOLATION
    assert report.kinds == ["race"]
    (finding,) = report.findings
    assert f"two blocks of the grid reach '{array}'[" in finding.violation.message
    assert how in finding.violation.message
    assert any(block in party.agent for party in finding.violation.parties)


@pytest.mark.parametrize("kernel", RIGHT)
def test_blocks_that_are_apart_are_proved_to_be(kernel: str) -> None:
    report = judged(kernel)
    assert report.verdict is Verdict.SAFE, str(report)
    assert ALONE not in str(report)


def test_blocks_that_a_lock_orders_are_left_open() -> None:
    report = check(converted(path_of(CASES["accumulate_locked"])), judge_waits=False)
    assert report.findings == []
    assert report.verdict is not Verdict.SAFE or ALONE in str(report)


def test_a_race_of_blocks_names_the_line_of_python(capsys: Output) -> None:
    kernel = "lost_sums(f32:?x?, f32:?, 8, 64)"
    assert main(["check", f"{WRITTEN / 'faulty.py'}:{kernel}", "--no-advice"]) == 1
    told = capsys.readouterr().out
    lines = (WRITTEN / "faulty.py").read_text().splitlines()
    line = lines.index("    ct.store(Sums, index=(row,), tile=ct.sum(x, axis=1))") + 1
    assert f"faulty.py:{line}:5: numbers that differ from run to run: race: two blocks of the grid" in told
    assert "(block (0, 0, 0))" in told
    assert "(block (0, 1, 0))" in told
