"""The table of names that LLVM lacks: mlir-opt knows none of the left column, and each of the right one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.mlir import run
from tileas_xdsl.dialects.nvvm.dialect import NVVM

PAGE = Path(__file__).parents[2] / "docs" / "dialects" / "nvvm.md"


def _columns() -> tuple[list[str], list[str]]:
    """The names of `nvvm` on either side of the table."""
    table = PAGE.read_text().split("| written | use |")[1].split("\n\n")[0]
    sides = [re.split(r"(?<!\\)\|", row)[1:3] for row in table.splitlines() if row.startswith("| `")]
    written, used = (re.findall(r"`(nvvm\.[\w.]+)`", " ".join(column)) for column in zip(*sides, strict=True))
    return written, used


WRITTEN, USED = _columns()


def _known_to_mlir(names: list[str]) -> set[str]:
    """
    The names of ops that are registered. Any name is read in its generic form, and printed as that; a registered op
    without its operands does not verify, so mlir-opt reports it instead.
    """
    known: set[str] = set()
    for name in names:
        found = run("mlir-opt", f'"{name}"() : () -> ()')
        assert found.returncode == 0 or f"'{name}' op" in found.stderr, found.stderr
        if found.returncode != 0 or f'"{name}"()' not in found.stdout:
            known.add(name)
    return known


def test_names_that_llvm_lacks() -> None:
    assert len(WRITTEN) == len(set(WRITTEN)) == 29
    assert not {op.name for op in NVVM.operations} & set(WRITTEN)
    assert _known_to_mlir(WRITTEN) == set()


def test_names_that_stand_beside_them() -> None:
    assert set(USED) <= {op.name for op in NVVM.operations}
    assert _known_to_mlir(USED) == set(USED)
