"""Kernels in cuTile Python as input: `kernel.py:name(types)` in front of every command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cutile.exports import require_cutile
from tests.support.ir import ROOT
from tileas_xdsl.tools.main import main

WRITTEN = ROOT / "tests" / "cutile" / "written"
PRODUCTS = WRITTEN / "products.py"
MATMUL = f"{PRODUCTS}:gemm(f16:?x?, f16:?x?, D=f32:?x?, tm=64, tn=64, tk=32)"

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_cutile()


def test_a_kernel_is_proved_for_every_trip_count(capsys: Output) -> None:
    assert main(["check", MATMUL, "--no-advice"]) == 0
    assert "safe for every trip count" in capsys.readouterr().out


def test_a_kernel_computes_what_numpy_does(tmp_path: Path, capsys: Output) -> None:
    generator = np.random.default_rng(5)
    a, b = (generator.integers(-4, 5, shape).astype(np.float16) for shape in ((100, 40), (40, 72)))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.save(tmp_path / "want.npy", a.astype(np.float32) @ b.astype(np.float32))
    given = ["--arg", f"A={tmp_path}/a.npy", "--arg", f"B={tmp_path}/b.npy", "--arg", "D=100x72:zeros"]
    assert main(["run", MATMUL, *given, "--programs", "2x2", "--expect", f"D={tmp_path}/want.npy"]) == 0
    assert "ran, and is as expected" in capsys.readouterr().out


def test_numbers_that_no_mask_checks_are_those_of_numpy(tmp_path: Path, capsys: Output) -> None:
    """A padding that no lane takes, and a place that is computed from a loaded one."""
    x, places = np.random.default_rng(2).standard_normal(32).astype(np.float32), np.array([1, 2], np.int32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "places.npy", places)
    np.save(tmp_path / "want.npy", x + np.repeat(np.array([2, -1], np.float32), 16))
    given = ["--arg", f"X={tmp_path}/x.npy", "--arg", f"Places={tmp_path}/places.npy", "--arg", "Y=32:zeros"]
    kernel = f"{WRITTEN}/ops.py:unchecked(f32:?, i32:?, f32:?, 16)"
    assert main(["run", kernel, *given, "--programs", "2", "--expect", f"Y={tmp_path}/want.npy"]) == 0
    assert "ran, and is as expected" in capsys.readouterr().out


def test_what_is_compiled_says_its_place_in_python(tmp_path: Path, capsys: Output) -> None:
    assert main(["compile", MATMUL, "--target", "sm_90a", "-o", str(tmp_path / "out.mlir")]) == 0
    line = PRODUCTS.read_text().split("\n").index("    for k in range(ct.num_tiles(A, axis=1, shape=(tm, tk))):") + 1
    assert f"products.py:{line}:5: loop: " in capsys.readouterr().out
    assert "nv_tileas.async.pipeline" in (tmp_path / "out.mlir").read_text()


def test_a_kernel_that_has_no_counterpart_runs_as_tile_ir(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "seen.py"
    file.write_text(SEEN)
    np.save(tmp_path / "want.npy", np.array([0, 1, 2, 3, *[0] * 12], np.int32))
    given = ["--arg", "X=16:zeros", "--expect", f"X={tmp_path}/want.npy"]
    assert main(["run", f"{file}:seen(i32:?)", *given]) == 0
    told = capsys.readouterr()
    assert "ran, and is as expected" in told.out
    assert "'cuda_tile.load_view_tko' op is relaxed, and accesses that meet those of other blocks are not" in told.err
    assert "so it stays Tile IR" in told.err


SEEN = """import cuda.tile as ct


@ct.kernel
def seen(X):
    here = ct.load(X, index=(0,), shape=(4,), memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.DEVICE)
    ct.store(X, index=(0,), tile=here + ct.arange(4, dtype=ct.int32))
"""


def test_what_a_view_is_padded_with_goes_through_text(tmp_path: Path, capsys: Output) -> None:
    """Minus infinity stands there as bits."""
    x = np.random.default_rng(3).standard_normal((2, 200)).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True).astype(np.float64))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "want.npy", (e / e.sum(axis=1, keepdims=True)).astype(np.float16))
    given = ["--arg", f"X={tmp_path}/x.npy", "--arg", "Y=2x200:zeros", "--programs", "2"]
    given += ["--expect", f"Y={tmp_path}/want.npy", "--rtol", "2e-3", "--atol", "1e-4"]
    assert main(["run", f"{WRITTEN}/rows.py:softmax(f16:?x?:unaligned, f16:?x?:unaligned, 256)", *given]) == 0
    assert "ran, and is as expected" in capsys.readouterr().out


WRONG = {
    "products.py:gemm": "say what 'A' is launched with, as in ",
    "products.py:gemm(f16:?x?, f16:?x?, 3, 64, 64, 32, 1)": "is no parameter, or one twice",
    "products.py:gemmm(1)": "there is no kernel 'gemmm', decorated with @ct.kernel; there are: gemm, gemm_swizzled",
    "ops.py:double(f32:what, 4)": "is no array: write f32:?x?",
    "ops.py:double(f32:?, four)": "neither an array (f16:?x?), a number (f32), nor a constant (128)",
    "ops.py:double(f32:?, 3)": "error: ",
    "ops.py:double(f32:?x?, 4)": "error: ",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_told_in_one_message(words: str, capsys: Output) -> None:
    assert main(["check", f"{WRITTEN}/{words}"]) == 2
    told = capsys.readouterr().err
    assert WRONG[words] in told
    assert "Traceback" not in told
    assert "defect of tileas" not in told


def test_a_file_that_does_not_run_says_where(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import cuda.tile as ct\nimport torch\nx = torch.zeros(3)\nraise ValueError('no')\n")
    assert main(["check", f"{file}:k(1)"]) == 2
    told = capsys.readouterr().err
    assert "broken.py:4: note: here the file ended with ValueError: no" in told


SCRIPT = """import cuda.tile as ct
import torch

C = ct.Constant[int]


@ct.kernel(num_ctas=2, occupancy=2)
def double(X, Y, n: C):
    ct.store(Y, index=(ct.bid(0),), tile=ct.load(X, index=(ct.bid(0),), shape=(n,)) * 2)


def factory(n):
    @ct.kernel
    def tripled(X, Y, m: C, scale: float):
        x = ct.load(X, index=(ct.bid(0), 0), shape=(m, n)) * scale
        ct.store(Y, index=(ct.bid(0), 0), tile=x)
    return tripled


if __name__ == "__main__":
    x = torch.zeros(1000, device="cuda", dtype=torch.float16)
    y = torch.zeros(64, 32, device="cuda")
    stream = torch.cuda.current_stream()
    ct.launch(stream, (ct.cdiv(1000, 128),), double, (x, torch.empty_like(x), 128))
    ct.launch(stream, (8,), factory(32), (y, torch.empty_like(y), 8, 2.0))
    ct.launch(stream, (8,), factory(32), (y.t(), torch.empty_like(y), 8, 2.0))
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return str(file)


def test_a_kernel_without_words_takes_those_of_its_launch(script: str, capsys: Output) -> None:
    assert main(["check", f"{script}:double", "--no-advice"]) == 0
    told = capsys.readouterr()
    assert "safe for every trip count" in told.out
    assert "launched as double(f16:?:unaligned, f16:?:unaligned, 128), grid (8,)" in told.err


def test_a_script_is_checked_by_its_launches(script: str, capsys: Output) -> None:
    assert main(["check", script, "--no-advice"]) == 0
    told = capsys.readouterr()
    assert "double(f16:?:unaligned, f16:?:unaligned, 128):" in told.out
    assert "tripled(f32:?x?, f32:?x?, 8, f32):" in told.out
    assert "a launch of tripled is left out: the rows of 'X' are not dense" in told.err


@pytest.mark.parametrize("kernel", ["tripled", "factory(32)(f32:?x?, f32:?x?, 8, f32)"])
def test_a_kernel_of_a_factory_is_made(kernel: str, script: str, tmp_path: Path) -> None:
    assert main(["compile", f"{script}:{kernel}", "--target", "sm_80", "-o", str(tmp_path / "out.mlir")]) == 0
    assert "func.func @tripled" in (tmp_path / "out.mlir").read_text()


def test_hints_that_are_ignored_are_named(script: str, capsys: Output) -> None:
    assert main(["check", f"{script}:double", "--no-advice"]) == 0
    assert "the hint num_cta_in_cga = 2 is ignored: one CTA computes the tiles of a block" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("occupancy", "said"),
    [
        (2, "as its hints say, 4 warps compute and 2 blocks share a multiprocessor"),
        (32, "its hints are ignored: 4 warps of 32 blocks leave 16 registers a thread"),
    ],
)
def test_hints_decide_unless_a_pass_refuses_them(occupancy: int, said: str, tmp_path: Path, capsys: Output) -> None:
    file, out = tmp_path / "kernel.py", str(tmp_path / "f.ll")
    file.write_text(SCRIPT.replace("occupancy=2", f"occupancy={occupancy}"))
    command = ["compile", f"{file}:double", "--target", "sm_80", "--no-check", "-o", out]
    assert main(command) == 0
    assert said in capsys.readouterr().out
    assert main([*command, "--blocks", "1"]) == 0
    assert "its hints" not in capsys.readouterr().out


def test_a_script_that_launches_nothing_says_so(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "none.py"
    file.write_text(SCRIPT.partition("if __name__")[0])
    assert main(["check", str(file)]) == 2
    assert "no kernel was launched: name one, as in" in capsys.readouterr().err
