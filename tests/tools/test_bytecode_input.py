"""Files of bytecode of Tile IR: every command reads them as text, `opt` writes them, garbled ones get one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cutile.exports import exported
from tests.support.ir import parse, print_custom
from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.readers.tile_ir import read, write
from tileas_xdsl.tools.inputs import read_module
from tileas_xdsl.tools.main import main


def stored(folder: Path, name: str) -> str:
    path = folder / f"{name}.tileirbc"
    path.write_bytes(exported(name))
    return str(path)


@pytest.mark.parametrize("name", ["double", "matmul_f16", "controlled", "attention_causal", "locked", "scaled"])
def test_a_command_reads_bytecode_with_places_in_python(name: str, tmp_path: Path) -> None:
    module = read_module(stored(tmp_path, name))
    assert module.is_structurally_equivalent(read(exported(name)))
    places = [location_of(op) for op in module.walk() if op.name == "cuda_tile.make_tensor_view"]
    assert places
    assert all(place is not None and ".py:" in place for place in places)


def test_opt_prints_bytecode_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", stored(tmp_path, "softmax")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("builtin.module {\n  cuda_tile.module @kernels {\n    entry @softmax(")
    assert print_custom(parse(printed)) == printed.rstrip("\n")


def test_opt_writes_bytecode(tmp_path: Path) -> None:
    out = tmp_path / "out.tileirbc"
    assert main(["opt", stored(tmp_path, "softmax"), "-o", str(out)]) == 0
    again = read(out.read_bytes())
    assert again.is_structurally_equivalent(read(exported("softmax")))
    assert write(again) == out.read_bytes()


def test_run_executes_all_programs_of_a_kernel(tmp_path: Path) -> None:
    want = tmp_path / "want.npy"
    command = ["run", stored(tmp_path, "double"), "--arg", "arg1=16", "--arg", "arg2=1", "--programs", "4"]
    np.save(want, np.arange(16, dtype=np.float32) * 2)
    assert main([*command, "--arg", "arg0=16:iota", "--expect", f"arg0={want}"]) == 0
    assert main([*command, "--arg", "arg0=16:zeros", "--expect", f"arg0={want}"]) == 1


def test_run_says_the_line_in_python_of_what_is_undefined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arg", "arg0=8:iota", "--arg", "arg1=8", "--arg", "arg2=1"]
    assert main(["run", stored(tmp_path, "double"), *arguments]) == 1
    said = capsys.readouterr()
    assert "ops.py:" in said.out + said.err
    assert "assumes #cuda_tile.div_by<16>, which does not hold" in said.out + said.err


def test_what_is_no_cuda_tile_is_not_written_as_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "other.mlir"
    source.write_text("func.func @f() {\n  func.return\n}\n")
    assert main(["opt", str(source), "-o", str(tmp_path / "out.tileirbc")]) == 2
    assert "holds 0 modules of cuda_tile" in capsys.readouterr().err
    assert not (tmp_path / "out.tileirbc").exists()


def test_garbled_bytecode_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.tileirbc"
    path.write_bytes(exported("double")[:200])
    assert main(["opt", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{path}: error: byte ")
    assert len(said.err.splitlines()) == 1
