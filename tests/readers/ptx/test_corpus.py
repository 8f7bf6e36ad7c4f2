"""
A sample of the corpus of PTX: kernels of Triton have the verdict of their TTGIR, with a mistake and without.

All of it is a measurement, `python -m bench.ptx_corpus`, of which the page has the sums. A sample is measured again.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec

import pytest

from bench.ptx_corpus import RESULTS, known, summary
from tests.readers.ptx.programs import KERNELS
from tests.support.corpora import each
from tests.support.ir import ROOT
from tests.support.ptx_corpus import entries, own_kernel, row_of, texts_in, triton_kernels

COUNTS, SECONDS = range(6), 60.0
SAMPLE = (
    *("wgmma_ring-3-good", "wgmma_ring-2-4", "wgmma_ring-4-6", "wgmma_ring-1-7", "copy_ring-4-good", "copy_ring-3-1"),
    *("tcgen05_loop-good", "tcgen05_loop-4", "store_ring-3-good", "store_ring-2-1", "fenced_stores-good1"),
    *("fenced_stores-1", "barrier_life-good", "barrier_life-2"),
)


@pytest.mark.skipif(
    find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1",
    reason="needs Triton 3.9: pip install '.[triton]'",
)
@pytest.mark.parametrize("name", SAMPLE)
def test_the_text_of_triton_has_the_verdict_of_its_ttgir(name: str):
    (kernel,) = (each for each in triton_kernels() if each.name == name)
    row = row_of(kernel.compiled(), list(COUNTS), SECONDS)
    assert row.read == "yes"
    assert row.verdict == ("safe" if kernel.expected == "safe" else "violation"), row
    assert kernel.expected == "safe" or kernel.expected in row.kinds


def test_our_own_text_is_safe():
    row = row_of(own_kernel("reduction", "sm_80", "unspecialize"), [0, 1, 2], SECONDS)
    assert (row.read, row.verdict) == ("yes", "safe")


def test_a_folder_of_texts_is_read_with_what_lies_beside():
    found = list(texts_in(KERNELS))
    assert len(found) >= 11
    assert {text.target for text in found} == {"sm_80", "sm_90a"}
    assert all(text.launch is not None for text in found)


MEASURED = known(RESULTS)
QUICK = [key for key, row in MEASURED.items() if row["verdict"] in ("safe", "violation") and row["seconds"] < 2]
NAMES = {f"{maker}-{kernel}": (maker, kernel) for maker, kernel in QUICK}


def test_the_page_says_what_was_measured():
    page = (ROOT / "docs" / "ptx.md").read_text()
    for maker, counts in summary(MEASURED.values()).items():
        assert " | ".join(["", maker, *map(str, counts.values()), ""]).strip() in page


def test_what_was_measured_is_of_this_corpus():
    there = {(entry.maker, entry.kernel) for entry in entries()}
    assert {key for key in MEASURED if key[0] in ("Triton 3.9", "tileas compile", "nvcc")} <= there


@each("name", sorted(NAMES), 15)
def test_a_sample_of_what_was_measured_is_found_again(name: str):
    key = NAMES[name]
    entry = next((entry for entry in entries() if (entry.maker, entry.kernel) == key), None)
    if entry is None or (entry.maker.startswith("Triton") and find_spec("triton") is None):
        pytest.skip("its compiler is not here")
    measured = MEASURED[key]
    row = row_of(replace(entry.made(), args=measured.get("args", {})), list(range(9)), SECONDS)
    assert (row.read, row.verdict, list(row.kinds)) == (measured["read"], measured["verdict"], measured["kinds"])
