"""The TTGIR of a kernel and the PTX that Triton makes of it, one below the other."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest

import tileas_xdsl.triton as tx
from tests.triton.pairs import MATMUL, SIGNATURES, TILES
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.triton.ptx_level import parameter_names

if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
    pytest.skip("needs Triton 3.9: pip install '.[triton]'", allow_module_level=True)

from tests.triton import kernels, triton_kernels

RING: Any = kernels.fenced_stores  # pyright: ignore
MULTIPLIED: Any = triton_kernels.matmul  # pyright: ignore

FENCED: Any = {"signature": SIGNATURES["fenced_stores"], "target": "sm_90", "trip_counts": [0, 1, 2, 3], "level": "ptx"}


def test_a_right_kernel_is_safe_at_both_levels():
    report = tx.check(RING, constexprs={"MISTAKE": 0}, **FENCED)
    above, below = report.text.splitlines()
    assert above.startswith("TTGIR: safe for trip counts 0..3")
    assert below.startswith("PTX: safe for trip counts 0..3")
    assert report.safe


def test_a_mistake_is_found_at_both_levels_at_one_python_line():
    report = tx.check(RING, constexprs={"MISTAKE": 1}, **FENCED)
    assert report.below is not None
    found = [each.findings[0].violation for each in (report.report, report.below)]
    assert [str(each.kind) for each in found] == ["missing-fence", "missing-fence"]
    assert found[0].parties[0].place == found[1].parties[0].place
    assert report.violations == [*report.report.findings, *report.below.findings]
    # Each text gets an edit, and that of PTX is a line of PTX.
    assert report.below.edit is not None
    assert report.below.edit.after[0].strip() == "fence.proxy.async.shared::cta;"
    assert tx.check(RING, constexprs={"MISTAKE": 1}, edit=False, **FENCED).below.edit is None  # pyright: ignore


def test_a_bound_counts_tiles_unless_it_is_given():
    given: Any = {"signature": MATMUL, "constexprs": TILES, "target": "sm_80", "num_stages": 2, "level": "ptx"}
    report = tx.check(MULTIPLIED, trip_counts=[0, 1, 3], judge_waits=False, **given)
    assert report.safe
    assert any(phrase.startswith("K is ") for phrase in report.assumed)
    fixed = tx.check(MULTIPLIED, trip_counts=[0], args={"K": 64}, judge_waits=False, **given)
    assert fixed.safe
    assert not any(phrase.startswith("K is ") for phrase in fixed.assumed)


def test_another_level_is_refused():
    other: Any = {**FENCED, "level": "sass"}
    with pytest.raises(InputError, match="there is no level 'sass'; there are: ttgir, ptx"):
        tx.check(RING, constexprs={"MISTAKE": 0}, **other)


def test_a_descriptor_is_a_map_its_sizes_and_its_strides():
    types = {"a": "tensordesc<fp16[64,32], layout>", "BLOCK": "constexpr", "n": "i32"}
    assert parameter_names(types, "constexpr") == ["a", "a_size0", "a_size1", "a_stride0", "a_stride1", "n"]
