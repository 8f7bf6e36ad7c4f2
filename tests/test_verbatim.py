"""Texts that are contracts (docs/verbatim.md): each is expected by a test, letter for letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tileas_xdsl.transforms.tileas.optimize_pipeline_region import OptimizePipelineRegionPass

ROW = re.compile(r"^\| (?P<speaker>[^|]+?) \| (?P<ticks>`+)(?P<text>.*?)(?P=ticks) \| (?P<test>\S+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Contract:
    speaker: str
    text: str
    test: str

    def __str__(self) -> str:
        return self.text


CONTRACTS = [
    Contract(row["speaker"], row["text"].strip(), row["test"])
    for row in ROW.finditer((ROOT / "docs/verbatim.md").read_text())
]


@cache
def letters(path: Path) -> str:
    """The file's text without what a string literal puts between its halves: quotes, escapes, line ends, spaces."""
    return plain(path.read_text())


def plain(text: str) -> str:
    return re.sub(r"""["'\\\s]""", "", text)


def test_the_table_is_read_whole() -> None:
    rows = re.findall(r"^\| .* \| tests/", (ROOT / "docs/verbatim.md").read_text(), re.MULTILINE)
    assert len(CONTRACTS) == len(rows) >= 50


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_a_test_expects_it(contract: Contract) -> None:
    path = ROOT / contract.test
    assert plain(contract.text) in letters(path)
    runs = path.name.startswith("test_") or any(path.stem in test.read_text() for test in path.parent.glob("test_*.py"))
    assert runs, f"{contract.test} is neither a test nor read by one beside it"


def test_the_region_optimiser_is_described_in_the_words_of_the_original() -> None:
    said = "Optimize the region scope of tileas.async.pipeline.produce_one/consume_one ops"
    assert said == OptimizePipelineRegionPass.DESCRIPTION
