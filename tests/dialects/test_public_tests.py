"""How the public tests of `cuda_tile` are judged, on texts of our own, and the table that says what came of them."""

from __future__ import annotations

import json

import pytest

from bench.tile_ir_tests import judged
from tests.support.ir import ROOT

ADDED = "%0 = cuda_tile.addf %x, %x : !cuda_tile.tile<4xf32>"
WRONG = "%0 = cuda_tile.addf %x, %x : !cuda_tile.tile<4xi32>"


def part(kind: str, *lines: str) -> str:
    body = "\n".join(lines)
    return f"cuda_tile.module @m {{\ntesting$func @f(%x: !cuda_tile.tile<4x{kind}>) {{\n{body}\nreturn\n}}\n}}"


PARTS = {
    "read": part("f32", ADDED),
    "refused": part("i32", "// expected-error @below{{any words}}", WRONG),
    "elsewhere": part("i32", "// expected-error @-1{{any words}}", WRONG),
    "accepted": part("f32", "// expected-error @below{{any words}}", ADDED),
    "not read": part("i32", WRONG),
}


@pytest.mark.parametrize("outcome", PARTS)
def test_a_part_is_judged_by_what_it_expects(outcome: str) -> None:
    assert judged(PARTS[outcome])[0] == outcome


def test_the_page_has_the_counts() -> None:
    table = json.loads((ROOT / "bench" / "tile_ir_tests.json").read_text())
    page = (ROOT / "docs" / "python-to-ptx.md").read_text()
    assert sum(table["outcomes"].values()) == table["parts"]
    assert set(table["outcomes"]) == set(PARTS)
    assert all(f"| {count} | " in page for count in table["outcomes"].values())
