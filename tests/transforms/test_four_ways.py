"""One program in all four models (docs/four-ways.md): each file is what a conversion makes of the one in counts."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, print_custom, run_passes

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
