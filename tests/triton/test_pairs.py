"""
Kernels as people write them, right and wrong: each mistake is found, with its kind and at the Python line that is
marked for it, and no kernel that is right is reported.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.triton.pairs import FOUND, TRITON_KERNELS, Case, Pair, pairs
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Finding, Verdict
from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.rendering import Source, report_lines

HERE = Path(__file__).parent
ALL = list(pairs())
RIGHT = [(pair, case) for pair in ALL for case in pair.cases if not case.kind]
WRONG = [(pair, case) for pair in ALL for case in pair.cases if case.kind]
EDGES = (0, 1, 2, 3, 5, 9)
"""Trip counts below and above those at which rings of up to 4 slots come round."""


def name_of(value: Pair | Case) -> str:
    return value.name


def text_of(name: str) -> str:
    return (HERE / "ttgir" / f"{name}.ttgir").read_text()


def module_of(name: str, text: str | None = None) -> ModuleOp:
    return parse_module(text if text is not None else text_of(name), f"{name}.ttgir", full_context())


@cache
def marked_lines(module: str) -> dict[tuple[int, int], set[str]]:
    """(section, mistake) -> `kernels.py:38` for each line that is marked for the mistake."""
    marked: dict[tuple[int, int], set[str]] = {}
    for number, (section, line) in enumerate(sections(module), 1):
        for mistake in re.findall(r"-?\d+", (line.split("# mistake ")[1:] or [""])[0]):
            marked.setdefault((section, int(mistake)), set()).add(f"tests/triton/{module}.py:{number}")
    return marked


@cache
def sections(module: str) -> list[tuple[int, str]]:
    """Each line of a file of kernels, with the number of the section that it stands in."""
    lines = (HERE / f"{module}.py").read_text().splitlines()
    begins = accumulate(line.startswith("# ") and line.endswith("---") for line in lines)
    return list(zip(map(int, begins), lines, strict=True))


def section_of(pair: Pair) -> int:
    return next(section for section, line in sections(pair.module) if line.startswith(f"def {pair.kernel}("))


def places(findings: list[Finding]) -> Iterator[str]:
    """`file:line` of each party of each violation."""
    for finding in findings:
        for party in finding.violation.parties:
            yield (location_of(party.op) or "").rpartition(":")[0]


@pytest.mark.parametrize(("pair", "case"), RIGHT, ids=name_of)
def test_a_kernel_that_is_right_is_not_reported(pair: Pair, case: Case) -> None:
    nested = pair.kernel == "two_rings"
    counts = (0, 1, 2, 3) if nested else None
    report = check(module_of(f"{pair.name}-{case.name}"), trip_counts=counts, timeout=None)
    assert report.findings == []
    assert report.verdict is Verdict.SAFE
    assert nested or "safe for every trip count" in report.last_line


@pytest.mark.parametrize(("pair", "case"), WRONG, ids=name_of)
def test_a_mistake_is_found(pair: Pair, case: Case) -> None:
    counts = (2, 3) if pair.kernel == "two_rings" or pair.module == "cluster_kernels" else EDGES
    report = check(module_of(f"{pair.name}-{case.name}"), trip_counts=counts, timeout=None)
    assert report.verdict is Verdict.VIOLATION
    assert case.kind in {str(finding.violation.kind) for finding in report.findings}
    marked = marked_lines(pair.module).get((section_of(pair), case.mistake))
    assert marked is None or marked & set(places(report.findings))


def test_the_texts_are_what_triton_makes() -> None:
    """In a process of its own: Triton's library keeps settings for the whole of one."""
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[triton]'")
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    command = [sys.executable, "-W", "ignore", "-m", "tests.triton.emit", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)
    assert done.returncode == 0, f"not what Triton makes (make triton-texts writes them): {done.stdout}{done.stderr}"


def test_the_report_quotes_the_line_of_the_kernel() -> None:
    name = "fenced_stores-1"
    source = Source(f"{name}.ttgir", text_of(name))
    text = "\n".join("".join(piece for piece, _ in line) for line in report_lines(check(module_of(name)), source))
    assert "tests/triton/kernels.py" in text
    assert "missing-fence: generic write, then asynchronous read of shared 'buf'" in text
    assert "buf.store(gl.full([64, 64], 1.0, gl.float16, layout))" in text
    assert "(partition 0 (1 warp), iteration 0)" in text


@pytest.mark.parametrize("name", TRITON_KERNELS)
def test_what_triton_pipelines_by_itself_is_right(name: str) -> None:
    """Two turns of each loop: what the trip counts of these kernels are computed from does not matter here."""
    args = {"M": 128, "N": 256, "K": 320} if "persistent" in name else {"M": 128, "N": 128, "K": 320}
    text = text_of(name)
    given = {argument: value for argument, value in args.items() if f"%{argument}: i32" in text}
    report = check(module_of(name), args=given, timeout=None)
    assert report.findings == []


def test_of_a_cluster_whose_blocks_do_not_meet_one_block_is_checked() -> None:
    """Each block gets its half of the tile of B and a copy of that of A; their bytes are what its barriers expect."""
    report = check(module_of("matmul_cluster-90"), timeout=None)
    assert report.last_line.startswith("safe for every trip count; assumed: ")
    assert "the blocks of a cluster do the same" in report.last_line
    text = text_of("matmul_cluster-90")
    expected = text.replace("ttng.barrier_expect %acc_36, 24576", "ttng.barrier_expect %acc_36, 32768")
    assert expected != text
    assert "phase" in check(module_of("wrong", expected), args={"M": 128, "N": 128, "K": 320}, timeout=None).kinds


def test_that_a_tile_lies_otherwise_over_the_blocks_than_memory_is_assumed_to_be_ordered() -> None:
    text = text_of("matmul_cluster-90")
    encoding = next(line for line in text.splitlines() if line.startswith("#mma = "))
    assert "CGALayout = [[0, 1]]" in encoding
    changed = text.replace(encoding, encoding.replace("CGALayout = [[0, 1]]", "CGALayout = [[1, 0]]"))
    report = check(module_of("changed", changed), args={"M": 128, "N": 128, "K": 320})
    assert report.findings == []
    assert "the compiler orders what threads read and write of tiles in other blocks" in report.last_line


@pytest.mark.parametrize("programs", [0, 1, 2, 5])
@pytest.mark.parametrize("name", ["taken_over", "taken_over_by_both"])
def test_work_is_taken_over_for_any_number_of_programs(name: str, programs: int) -> None:
    right, wrong = (check(module_of(f"{name}-{case}"), programs=programs, timeout=None) for case in ("good", "1"))
    assert right.verdict is Verdict.SAFE
    assert "race" in wrong.kinds or programs < 2


def test_blocks_of_triton_meet_before_they_end() -> None:
    """A block whose memory another one still copies to stays: Triton's compiler puts a barrier before the return."""
    text = text_of("shared_tiles-1-good")
    dropped = re.sub(r"\n *ttng\.(cluster_barrier|inval_barrier)[^\n]*", "", text)
    assert dropped.count("\n") == text.count("\n") - 3
    assert check(module_of("dropped", dropped), timeout=None).verdict is Verdict.SAFE


def test_of_a_pair_of_blocks_both_are_executed() -> None:
    """The even block multiplies; the other one loads its halves, and goes on when they have been read."""
    text = text_of("pair_product-2-good")
    assert "blocks of a cluster do the same" not in check(module_of("pair", text), timeout=None).last_line
    alone = text.replace(", two_ctas", "").replace('"ttng.two-ctas" = true', '"ttng.two-ctas" = false')
    assert check(module_of("alone", alone), trip_counts=(2,), timeout=None).verdict is Verdict.VIOLATION


MEETING = "      ttng.cluster_barrier\n"
MADE_IN_A_LOOP = f"""
#one = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[0]]}}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #one, #smem, mutable>
module attributes {{"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @f(%n: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %k = %c0 to %n step %c1 : i32 {{
      %bar = ttg.local_alloc : () -> !bar
      ttng.init_barrier %bar, 1 : !bar
{MEETING}      ttng.arrive_barrier %bar, 1 : !bar
      ttng.wait_barrier %bar, %c0 : !bar
      ttng.inval_barrier %bar : !bar
    }}
    tt.return
  }}
}}
"""


def test_triton_lets_no_blocks_meet_behind_a_barrier_that_a_loop_makes_and_uses() -> None:
    """The program has to do it itself."""
    right = check(module_of("loop", MADE_IN_A_LOOP), timeout=None)
    assert right.last_line == "safe for every trip count; assumed: n >= 0"
    dropped = check(module_of("dropped", MADE_IN_A_LOOP.replace(MEETING, "")), timeout=None)
    assert dropped.kinds[0] == "race"


@pytest.mark.parametrize("name", FOUND)
def test_what_triton_pipelines_wrongly_is_found(name: str) -> None:
    report = check(module_of(name), timeout=60)
    assert report.kinds == ["race"]
    assert {finding.violation.message.partition(" on ")[0] for finding in report.findings} == {"write after read"}
    assert report.findings[0].arguments["turns"] <= 3


@pytest.mark.parametrize(("name", "kinds"), [("copy_ring-3-good", []), ("copy_ring-3-1", ["race"])])
def test_views_are_read_as_releases_before_3_5_print_them(name: str, kinds: list[str]) -> None:
    text = re.sub(r"ttg\.memdesc_index (%\w+)\[(%\w+)\]", r"ttg.memdesc_subview \1[\2, %c0_i32]", text_of(name))
    assert text.count("memdesc_subview") >= 4
    report = check(module_of("older", text), timeout=None)
    assert report.kinds == kinds
    assert bool(kinds) or report.last_line.startswith("safe for every trip count")


# What is refused ------------------------------------------------------------------------------------------------------

REFUSALS = {
    "is for clusters of several blocks": ("    tt.return loc", "    ttng.cluster_barrier\n    tt.return loc"),
    "takes slot 5 of the 2": ("%i = arith.remsi %k, %c2_i32", "%i = arith.addi %k, %c2_i32"),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_what_has_no_meaning_is_refused_by_name(reason: str) -> None:
    old, new = REFUSALS[reason]
    text = text_of("wgmma_ring-2-good")
    changed = text.replace(old, new, 1)
    assert changed != text
    with pytest.raises(UnsupportedError) as error:
        check(module_of("changed", changed), trip_counts=(4,))
    assert reason.split(" 5 ")[0] in str(error.value)
