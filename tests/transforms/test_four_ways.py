"""One program in all four models (docs/four-ways.md): each file is what a conversion makes of the one in counts."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics

CONVERSIONS = {
    "tokens": "convert-queue-to-async",
    "marks": "convert-queue-to-rocdl",
    "phases": "convert-queue-to-pipeline",
}


def program(way: str) -> ModuleOp:
    return parse((ROOT / "examples" / f"four_ways_{way}.mlir").read_text())


@pytest.mark.parametrize(("way", "conversion"), CONVERSIONS.items())
def test_the_ways_are_conversions_of_one_program(way: str, conversion: str) -> None:
    converted = run_passes(program("counts"), conversion)
    assert converted.is_structurally_equivalent(program(way)), print_custom(converted)


@pytest.mark.parametrize(
    ("way", "conversion"), [("tokens", "convert-async-to-queue"), ("phases", "convert-pipeline-to-queue")]
)
def test_the_way_back_leads_to_the_same_counts(way: str, conversion: str) -> None:
    counts = [op for op in run_passes(program(way), conversion).walk() if op.name == "async_queue.wait"]
    assert [str(op.properties["count"]) for op in counts[:1]] == ["2 : i64"]
    assert str(counts[-1].properties["count"]) == "0 : i64"


# The table of docs/four-ways.md ---------------------------------------------------------------------------------------


def table() -> list[tuple[str, str, str]]:
    """(example, pass, `yes` or `no: reason`) for each cell of the section's tables that says something."""
    section = (
        (ROOT / "docs" / "four-ways.md").read_text().split("## Which example takes which way")[1].split("\n## ")[0]
    )
    passes: list[str] = []
    found: list[tuple[str, str, str]] = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| example"):
            passes = [cell.strip("`") for cell in cells[1:]]
        elif line.startswith("| `"):
            answers = zip(passes, cells[1:], strict=True)
            found += [(cells[0].strip("`"), name, answer) for name, answer in answers if answer]
    return found


def example(name: str) -> ModuleOp:
    module = parse((ROOT / "examples" / f"{name}.mlir").read_text())
    return run_passes(module, "tileas-queue-to-pipeline") if name == "gemm_queue" else module


@pytest.mark.parametrize(("name", "conversion", "answer"), table())
def test_the_table_of_the_page_is_true(name: str, conversion: str, answer: str) -> None:
    module = example(name)
    before = print_custom(module)
    if answer.startswith("no: "):
        with pytest.raises(RefusedError) as refusal:
            run_passes(module, conversion)
        assert answer.removeprefix("no: ") in str(refusal.value)
        assert print_custom(module) == before
        return
    assert answer == "yes"
    with recorded_diagnostics():
        after = run_passes(module, conversion)
    assert print_custom(after) != before
    assert check(after).verdict is Verdict.SAFE


def test_the_way_out_for_groups_that_are_left_works() -> None:
    text = (ROOT / "examples" / "cp_async_ring.mlir").read_text()
    drained = text.replace("  func.return", "  async_queue.wait 0, 0\n  func.return")
    assert check(run_passes(parse(drained), "convert-queue-to-pipeline")).verdict is Verdict.SAFE
