"""
What threads of the kernels gave, block by block, beside numpy: `threads.json`, by `bench.cutile --step threads-..`.

A row is a kernel, a chip, the size of a launch, what was said of the numbers, and seconds of processor time. Sizes with
extents that are multiples of 16 run what is compiled for such arrays, TMA included; others what is for any array.
"""

from __future__ import annotations

import json

import pytest

from tests.cutile.exports import require_cutile
from tests.cutile.launches import CASES
from tests.cutile.running import names_of, wrong_threads
from tests.support.corpora import sample
from tests.support.ir import ROOT
from tests.support.ptx import require_llvmlite

ROWS = [tuple(row) for row in json.loads((ROOT / "tests" / "cutile" / "threads.json").read_text())]
KERNELS = 64
"""How many have rows for Hopper: all. Of Ampere some were not run."""
SHORT = 4.1
"""Seconds of the rows of which a sample is run again."""
ONCE_NOT_RIGHT = [("quantise_rows", "sm_90a", (4, 200)), ("f8_bits", "sm_90a", (100,))]
"""A store by TMA to an array whose rows may begin anywhere was refused, and arrays of u8 were not written back."""
AGAIN = sample([(row[0], row[1], tuple(row[2])) for row in ROWS if row[4] <= SHORT], 3)


def test_all_numbers_were_right() -> None:
    assert {(kernel, chip): said for kernel, chip, _, said, _ in ROWS if said != "right"} == {}
    assert len({kernel for kernel, chip, *_ in ROWS if chip == "sm_90a"}) >= KERNELS


def test_each_row_is_of_a_launch() -> None:
    require_cutile()
    for kernel, _, size, _, _ in ROWS:
        launch = CASES[kernel].launch(tuple(size))
        assert len(launch.arguments) == len(names_of(CASES[kernel]))


@pytest.mark.parametrize(("kernel", "chip", "size"), [*ONCE_NOT_RIGHT, *AGAIN])
def test_a_short_row_is_right_again(kernel: str, chip: str, size: tuple[int, ...]) -> None:
    require_cutile()
    require_llvmlite()
    assert wrong_threads(CASES[kernel], size, chip) == []
