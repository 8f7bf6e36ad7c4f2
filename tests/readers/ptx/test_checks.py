"""
Verdicts of kernels as compilers write them, and of the same kernels with one instruction changed.

The texts are in `kernels`, with the scripts that made them.
"""

from __future__ import annotations

import json

import pytest

from tests.readers.ptx import programs
from tests.readers.ptx.programs import KERNELS
from tests.support.ir import ROOT
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import stated_assumptions
from tileas_xdsl.readers.ptx.launch import Launch, launch_of, map_from_text
from tileas_xdsl.readers.ptx.reading import read_ptx

NAMES = sorted(path.stem for path in KERNELS.glob("*.ptx"))


def report_of(name: str, text: str, counts: range) -> Report:
    data = json.loads((KERNELS / f"{name}.json").read_text())
    reading = read_ptx(text, f"{name}.ptx", lambda kernel: launch_of(data, kernel.name, kernel.parameters))
    reading.module.verify()
    return check(reading.module, trip_counts=list(counts), judge_waits=False)


def text_of(name: str) -> str:
    return (KERNELS / f"{name}.ptx").read_text()


def test_there_are_kernels_of_three_compilers():
    assert len(NAMES) >= 11


@pytest.mark.parametrize("name", NAMES)
def test_a_right_kernel_is_safe(name: str):
    assert str(report_of(name, text_of(name), range(5)).verdict) == "safe"


REST = """\t// begin inline asm
	cp.async.wait_group 2;
	// end inline asm
	.loc	1 16 5
	bar.sync 	0;
	.loc	1 18 5
	add.s32 	%r21"""
"""Of the loop that nvcc has unrolled by four, the turns that are left over."""
MUTANTS = {
    ("copy_ring.sm_80", "cp.async.wait_group \t2;", "cp.async.wait_group \t3;"): "race",
    ("gemm_agents.sm_80", "mbarrier.init.shared.b64 \t[f_shared+20480], %r51;", ""): "phase",
    ("gemm_agents.sm_80", "cp.async.mbarrier.arrive.noinc", "// "): "deadlock",
    ("gemm.sm_90a", "fence.proxy.async", "// fence.proxy.async"): "missing-fence",
    ("gemm.sm_90a", "wgmma.wait_group.sync.aligned 0;", ""): "race",
    ("store_ring.sm_90a", "cp.async.bulk.wait_group.read", "// cp.async.bulk.wait_group.read"): "race",
    ("fenced_stores.sm_90a", "fence.proxy.async", "// fence.proxy.async"): "missing-fence",
    ("wgmma_ring.sm_90a", "], 16384;", "], 8192;"): "phase",
    ("staged.sm_80", "cp.async.wait_group 2;", "cp.async.wait_group 3;"): "race",
    ("staged.sm_80", "bar.sync", "// bar.sync"): "race",
    ("staged.sm_80", REST, REST.replace("group 2", "group 3")): "race",
    ("fed.sm_90a", "fence.proxy.async", "// "): "missing-fence",
    ("fed.sm_90a", "mbarrier.arrive.shared", "// "): "deadlock",
    ("handed.sm_80", "bar.sync", "// bar.sync"): "race",
    ("summed.sm_80", "bar.sync", "// bar.sync"): "race",
}
"""Kernel, what is replaced at its first place, by what -> what is found."""


@pytest.mark.parametrize("change", MUTANTS, ids=lambda change: f"{change[0]}-{change[1][:20]}")
def test_a_mistake_is_found(change: tuple[str, str, str]):
    name, old, new = change
    text = text_of(name)
    assert old in text
    kinds = {str(finding.violation.kind) for finding in report_of(name, text.replace(old, new, 1), range(6)).findings}
    assert MUTANTS[change] in kinds


def test_a_finding_names_the_line_of_the_source():
    text = text_of("store_ring.sm_90a").replace("cp.async.bulk.wait_group.read", "// ", 1)
    party = report_of("store_ring.sm_90a", text, range(6)).findings[0].violation.parties[0]
    assert party.place is not None
    assert "kernels.py:" in party.place


def test_a_finding_in_a_header_of_cuda_names_the_line_that_calls_it():
    text = text_of("staged.sm_80").replace("cp.async.wait_group 2;", "cp.async.wait_group 3;", 1)
    places = [party.place for party in report_of("staged.sm_80", text, range(6)).findings[0].violation.parties]
    lines = (ROOT / "tests/readers/ptx/cuda/staged.sm_80.cu").read_text().splitlines()
    for place, word in zip(places, ("__pipeline_memcpy_async", "row = ring"), strict=True):
        assert place is not None
        file, line, _ = place.rsplit(":", 2)
        assert file == "tests/readers/ptx/cuda/staged.sm_80.cu"
        assert word in lines[int(line) - 1]


def test_a_finding_names_the_line_of_the_text_where_there_is_no_other():
    text = text_of("gemm.sm_90a").replace("fence.proxy.async", "// ", 1)
    party = report_of("gemm.sm_90a", text, range(3)).findings[0].violation.parties[0]
    assert party.place is not None
    assert party.place.startswith("gemm.sm_90a.ptx:")


@pytest.mark.parametrize(("used", "expected"), [("", "safe"), ("bar.sync %r4, 128;", "undecided")])
def test_a_quotient_by_zero_is_some_number(used: str, expected: str):
    """CuTe DSL divides by the clusters of a grid, rounded down to 8, before it asks whether there are as many."""
    body = (
        "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; rem.s32 %r4, %r1, %r2; setp.gt.s32 %p1, %r2, 0;"
        f"@%p1 bra L; mov.b32 %r5, 3; st.shared.b32 [s], %r4; {used} L: bar.sync 0;"
    )
    assert str(programs.verdict(body).verdict) == expected


def test_coordinates_that_the_grid_orders_are_not_followed_and_that_is_said():
    """A number of a block that is divided by what only the launch knows would decide, and each grid be a case."""
    store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {%r4, %r5}], [s]; bar.sync 0;"
    plain = "mov.u32 %r4, %ctaid.x; mov.b32 %r5, 0;"
    by_grid = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; rem.u32 %r4, %r1, %r2; div.u32 %r5, %r1, %r2;"
    launch = Launch(maps={(0, 0): map_from_text("f16[16x64]:swizzle=128")})
    map_ = ".param .align 64 .b8 map[128]"
    assert "arith.remui" not in programs.ops_of(by_grid + store, launch, parameters=map_)
    assert "nvvm.read.ptx.sreg.ctaid.x" in programs.ops_of(plain + store, launch, parameters=map_)
    said = "accesses to global memory do not race: they are not followed"
    assert said in stated_assumptions(programs.module_of(by_grid + store, launch, parameters=map_))
    assert said not in stated_assumptions(programs.module_of(plain + store, launch, parameters=map_))
