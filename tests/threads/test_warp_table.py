"""The table of `python -m bench.warps`: how kernels come out by 1 to 16 warps."""

from __future__ import annotations

import pytest

from bench.warps import OTHERWISE, PROVED, VARIANTS, WARPS, cell, kernels, lines, measured
from tests.support.corpora import each
from tests.support.ptx import require_llvmlite, require_ptxas

TABLE = measured()
CASES = [
    (name, variant, warps, said)
    for name, rows in TABLE.items()
    for variant, cells in rows.items()
    for warps, said in cells.items()
]


def name_of(case: tuple[str, str, str, str]) -> str:
    """Kernel, variant and number of warps."""
    return "-".join(case[:3])


def test_every_cell_is_right_or_refused() -> None:
    assert TABLE.keys() <= kernels().keys()
    assert all(row.keys() == set(map(str, WARPS)) for rows in TABLE.values() for row in rows.values())
    assert all(said in (PROVED, OTHERWISE) or said.startswith("refused: ") for *_, said in CASES)


def test_one_warp_does_not_hold_a_tile_of_128_by_64() -> None:
    text = kernels()["gemm_128x64x16"]
    assert {cell(text, variant, 1) for variant in VARIANTS} <= {"refused: scf.for", "refused: nv_tileas.async.dot"}


def test_the_table_has_a_line_for_each_variant() -> None:
    assert len(list(lines())) == 1 + sum(map(len, TABLE.values()))


@pytest.mark.usefixtures("assembler")
@each("case", CASES, 4, ids=name_of)
def test_cells_are_what_the_table_says(case: tuple[str, str, str, str]) -> None:
    name, variant, warps, said = case
    found = cell(kernels()[name], variant, int(warps), proves=False)
    assert found == (OTHERWISE if said == PROVED else said)


@pytest.fixture
def assembler() -> None:
    require_llvmlite()
    require_ptxas()
