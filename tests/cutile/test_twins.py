"""
Kernels with one fault each beside the right one: locks, tickets and scopes that order no two blocks, numbers that
nothing defines, tiles behind the last one. The right one is safe, the faulty one is found by its lines of Python.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from tests.cutile.exports import require_cutile
from tests.cutile.running import WRITTEN, converted, tile_ir
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.checker.verdict.tile_ir import judge_tile_ir
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools.main import main

LOCKED, TICKET = "(f32:?x?, i32:?, f32:?x?, 64)", "(f32:?x?, f32:?x?, i32:?, f32:?x?, 4, 64)"
SUMS, PRODUCT, VECTORS = "(f32:?x?, f32:?, 8, 64)", "(f16:?x?, f16:?x?, f32:?x?, 64, 64, 64)", "(f32:?, f32:?, 64)"
RIGHT = {
    "under_lock": LOCKED,
    "last_block_sums": TICKET,
    "row_sums": SUMS,
    "whole_tiles": SUMS,
    "product": PRODUCT,
    "doubled": VECTORS,
}
FAULTY = {
    "taken_relaxed": (LOCKED, "race", "atomic_cas"),
    "given_back_relaxed": (LOCKED, "race", "atomic_xchg"),
    "given_back_early": (LOCKED, "race", "ct.store(Sums"),
    "under_lock_of_block": (LOCKED, "race", "atomic_cas"),
    "ticket_relaxed": (TICKET, "race", "atomic_add"),
    "ticket_only_released": (TICKET, "race", "ct.load(Parts"),
    "ticket_of_block": (TICKET, "race", "atomic_add"),
    "ticket_too_early": (TICKET, "race", "ct.store(Parts"),
    "row_sums_unpadded": (SUMS, "malformed", "ct.sum(ct.load(X"),
    "row_sums_late": (SUMS, "malformed", "ct.sum(total"),
    "product_unpadded": (PRODUCT, "malformed", "a = ct.load(A"),
    "one_tile_more": (VECTORS, "malformed", "ct.load(X"),
    "next_tile": (VECTORS, "malformed", "ct.load(X"),
    "behind_the_end": (VECTORS, "malformed", "ct.load(X"),
}
"""Kernel -> its words, the kind of the mistake, and what stands in one of the lines that are named."""
Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_cutile()


def path_of(name: str, words: str) -> str:
    return f"{WRITTEN / 'twins.py'}:{name}{words}"


@cache
def lines_of(name: str) -> dict[int, str]:
    """The lines of a kernel, by their numbers."""
    lines = (WRITTEN / "twins.py").read_text().splitlines()
    start = lines.index(next(line for line in lines if line.startswith(f"def {name}(")))
    end = next((n for n in range(start + 1, len(lines)) if lines[n] and lines[n][0] not in " #"), len(lines))
    return {number + 1: lines[number] for number in range(start, end)}


def judged(name: str, words: str) -> Report:
    report = check(converted(path_of(name, words)), judge_waits=False)
    judge_tile_ir(tile_ir(path_of(name, words)), report)
    return report


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_one_is_safe(name: str) -> None:
    report = judged(name, RIGHT[name])
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.holds_for_every_trip_count


@pytest.mark.parametrize("name", FAULTY)
def test_the_faulty_one_is_found_by_its_lines(name: str, capsys: Output) -> None:
    words, kind, line = FAULTY[name]
    assert main(["check", path_of(name, words), "--no-advice"]) == 1
    told = capsys.readouterr().out
    assert f"{kind}: " in told
    named = {int(number) for number in re.findall(r"twins\.py:(\d+):\d+: ", told)}
    assert named
    own = lines_of(name)
    assert named <= own.keys()
    assert any(line in own[number] for number in named), told


@pytest.mark.parametrize("name", ["row_sums", "row_sums_unpadded", "row_sums_late", "whole_tiles"])
def test_sums_of_what_nothing_defines_differ_from_seed_to_seed(name: str) -> None:
    x = np.arange(8 * 80, dtype=np.float32).reshape(8, 80)
    module = tile_ir(path_of(name, "(f32:?x?:unaligned, f32:?:unaligned, 8, 64)"))
    given = {"X": x, "Sums": np.zeros(8, np.float32)}
    sums = [run(module, None, given, programs=(1,), order="random", seed=seed).arrays["Sums"] for seed in range(3)]
    is_steady = all(np.array_equal(sums[0], other) for other in sums)
    assert is_steady == (name in RIGHT)
    if name == "row_sums":
        assert np.array_equal(sums[0], x.sum(axis=1))
