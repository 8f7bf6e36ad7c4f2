"""`tileas check kernel.py`: kernels are found by executing their files, without a GPU and without torch."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.python.folders import programs_in, watch

if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
    pytest.skip("needs Triton 3.9: pip install '.[triton]'", allow_module_level=True)

from tileas_xdsl.triton.host.tensors import FLOAT, GPU, TYPES, Tensor, tensor
from tileas_xdsl.triton.python_files import kernels_of

FILES = Path(__file__).parent / "files"
SOFTMAX, COPIES = FILES / "softmax.py", FILES / "copies.py"
RIGHT = "k[(1,)](torch.ones(64), 64)\n"
HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, n):
    for i in range(n):
        tl.store(x_ptr + i, 1.0)

"""

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """`check(path or text, *options)`: status, standard output and error of `tileas check`; a text is `k.py`."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        first, *others = arguments
        if isinstance(first, str) and "\n" in first:
            Path("k.py").write_text(first)
            first = "k.py"
        status = command.main(["check", str(first), *map(str, others)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


# Other commands on a Python file --------------------------------------------------------------------------------------


def test_a_kernel_is_drawn_and_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `check` finds in a Python file, the other commands show of the same file."""
    monkeypatch.chdir(tmp_path)
    launch = "\nx = torch.ones(4096)\ndoubled[(1,)](x, x, 8, STAGES=4, PENDING=3)\n"
    Path("copies.py").write_text(COPIES.read_text() + launch)
    assert command.main(["timeline", "copies.py", "--view", "slots", "-o", "copies.svg"]) == 1
    assert re.search(r"^copies\.py:\d+:\d+: numbers that differ from run to run", capsys.readouterr().out)
    assert Path("copies.svg").read_text().startswith("<svg")
    assert command.main(["opt", "copies.py"]) == 0
    assert "tt.func public @doubled(" in capsys.readouterr().out


def test_of_several_kernels_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(HEAD + HEAD.replace("def k(", "def other(") + RIGHT + RIGHT.replace("k[", "other["))
    assert command.main(["opt", "k.py"]) == 2
    assert capsys.readouterr().err == (
        "k.py: error: this file launches several kernels; name one: k.py:k, k.py:other\n"
    )
    assert command.main(["opt", "k.py:third"]) == 2
    assert capsys.readouterr().err == "k.py: error: this file launches no 'third'; it launches: k, other\n"
    assert command.main(["opt", "k.py:other"]) == 0
    assert "@other(" in capsys.readouterr().out


# Files as they are ----------------------------------------------------------------------------------------------------


def test_a_file_that_compares_with_torch_and_measures(check: Check) -> None:
    status, out, err = check(SOFTMAX)
    assert status == 0
    titles = [line for line in out.splitlines() if line.startswith("softmax_rows for sm_90 (")]
    # Of the tuner both, at the shape of the comparison and at the first one of the plot.
    assert len(titles) == len(set(titles)) == 4
    assert {"num_warps = 4):", "num_warps = 8):"} == {title.rpartition(", ")[2] for title in titles}
    assert out.count("safe for every trip count") == 4
    assert "nothing launched 'never_launched', so it was not checked" in err
    assert "the largest difference" not in out + err
    assert "torch" not in sys.modules


def test_a_test_is_called_with_its_parameters(check: Check) -> None:
    status, out, _ = check(COPIES, "--call", "test_doubled", "--target", "sm_80")
    right, wrong = out.split("doubled for sm_80 (")[1:]
    assert status == 1
    assert right.startswith("PENDING = 2):\nsafe for every trip count")
    assert wrong.startswith("PENDING = 3):\n")
    assert "copies.py:16:9: numbers that differ from run to run: race: read after write on shared 'tiles'" in wrong


def test_a_test_of_another_file_is_called(check: Check, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(COPIES, package / "copies.py")
    (tmp_path / "test_it.py").write_text(
        "from package.copies import doubled\n"
        "from package.other import k\nimport torch\n"
        "def test_it():\n"
        "    x = torch.rand(4, 512)\n"
        "    doubled[(1,)](x, x.clone(), 4, STAGES=4, PENDING=2)\n"
        "    k[(1,)](torch.ones(64), 64)\n"
    )
    (package / "other.py").write_text(HEAD)
    status, out, _ = check(package / "copies.py", "--call", f"{tmp_path / 'test_it.py'}::test_it")
    assert (status, out.count("for sm_90:")) == (0, 1)
    assert out.startswith("doubled for sm_90:")


def test_relative_imports_of_a_package_work(check: Check, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "other.py").write_text(HEAD)
    (package / "launches.py").write_text(f"from .other import k\nimport torch\nimport triton\n{RIGHT}")
    assert check(package / "launches.py")[0] == 0


def test_several_targets_and_json(check: Check) -> None:
    status, out, _ = check(HEAD + RIGHT, "--target", "sm_80", "--target", "gfx950", "--format", "json")
    assert status == 0
    assert [each["kernel"] for each in json.loads(out)] == ["k for sm_80", "k for gfx950"]


def test_folders_and_files_are_checked_in_one_call(check: Check, tmp_path: Path) -> None:
    shutil.copy(Path("/") / FILES.parent / "ttgir" / "wgmma_ring-2-good.ttgir", tmp_path / "b.ttgir")
    (tmp_path / "a.py").write_text(HEAD + RIGHT)
    (tmp_path / "no_kernels.py").write_text("raise SystemExit('never run')")
    assert programs_in([str(tmp_path)]) == [str(tmp_path / "a.py"), str(tmp_path / "b.ttgir")]
    status, out, _ = check(tmp_path, "--no-advice")
    assert status == 0
    assert out.count("safe for every trip count") == 2
    assert "@wgmma_ring:" in out


def test_a_folder_without_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no program in this folder"):
        programs_in([str(tmp_path)])


def test_a_file_is_checked_again_when_it_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.py"
    file.write_text("1")
    contents: list[str] = []

    def action() -> int:
        contents.append(file.read_text())
        if len(contents) == 3:
            raise KeyboardInterrupt
        file.write_text(contents[-1] + "1")
        os.utime(file, ns=(len(contents), len(contents)))
        if len(contents) == 2:
            raise InputError(["error: told, and the next change is waited for"])
        return 1

    # Changed while it was checked: what counts is what the file is like behind the check.
    os.utime(file, ns=(7, 7))
    steps = iter([7, 8, 8, 9])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tileas_xdsl.tools.python.folders._times", lambda _files: [next(steps)])  # pyright: ignore
        patch.setattr("time.sleep", lambda _seconds: None)  # pyright: ignore
        assert watch([str(file)], action) == 2
    assert contents == ["1", "11", "111"]
    assert "told, and the next change" in capsys.readouterr().err


# What is missing is told ----------------------------------------------------------------------------------------------


def test_the_line_that_is_missing_can_be_pasted(check: Check) -> None:
    status, out, err = check(HEAD)
    assert (status, out) == (2, "")
    first, *lines = err.splitlines()
    assert first.startswith(
        "k.py:5: error: nothing in this file launches 'k', so the types of its arguments are not known"
    )
    status, out, err = check(HEAD + "\n".join(lines) + "\n")
    assert (status, err) == (0, "")
    assert out.startswith("k for sm_90:\nsafe for every trip count")


def test_the_missing_lines_make_descriptors(check: Check) -> None:
    kernel = Path(__file__).parents[2] / "examples" / "gluon" / "matmul.py"
    status, out, err = check(kernel)
    assert (status, out) == (2, "")
    lines = err.splitlines()[1:]
    assert 'c_desc = TensorDescriptor.from_tensor(tensor("fp16", 1024, 1024), [128, 128]' in err
    assert "STAGES=3, LAG=False)" in lines[-1]
    status, out, _ = check("\n".join([kernel.read_text(), *lines, ""]), "--no-edit")
    assert status == 1
    assert "race: write after read on shared 'a_tiles'" in out, "one product still runs where LAG is 0"


def test_a_test_of_the_file_is_proposed(check: Check) -> None:
    _, _, err = check(HEAD + f"def test_k():\n    {RIGHT}")
    assert "--call k.py::test_k" in err
    assert check(Path("k.py"), "--call", "test_k")[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import triton\nx = 1\n", "k.py: error: there is no kernel in this file"),
        ("def f(:\n", "k.py:1:7: error: invalid syntax"),
        ("raise ValueError('no config')\n", "k.py:1: note: here the file ended with ValueError: no config"),
        (HEAD + "k[(1,)](torch.ones(64))\n", "here the file ended with TypeError: "),
    ],
    ids=["no kernel", "no Python", "an error of its own", "an argument too few"],
)
def test_what_cannot_be_checked_is_told(check: Check, text: str, said: str) -> None:
    status, out, err = check(text)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_what_was_launched_before_an_error_counts(check: Check) -> None:
    status, out, err = check(HEAD + RIGHT + "x = open('weights.bin')\n")
    assert (status, out.count("safe for every trip count")) == (0, 1)
    assert "k.py:11: note: here the file ended with FileNotFoundError: " in err


def test_a_kernel_that_does_not_compile_stops_no_other(check: Check) -> None:
    text = HEAD.replace("@triton.jit", "@triton.jit\ndef bad(x_ptr, n):\n    tl.dot(n, n)\n\n@triton.jit")
    status, out, err = check(text + "bad[(1,)](torch.ones(64), 64)\n" + RIGHT)
    assert (status, out.count("safe for every trip count")) == (2, 1)
    assert "'bad' does not compile for sm_90" in err


def test_a_function_that_is_not_there_is_told(check: Check) -> None:
    status, _, err = check(COPIES, "--call", "test_halved")
    assert status == 2
    assert "there is no function 'test_halved' to be called; there are: test_doubled" in err


def test_nothing_of_the_stand_ins_is_left() -> None:
    before = {name for name in sys.modules if name.partition(".")[0] in ("torch", "einops")}
    finders = list(sys.meta_path)
    kernels_of(str(SOFTMAX), "sm_90")
    assert {name for name in sys.modules if name.partition(".")[0] in ("torch", "einops")} == before
    assert sys.meta_path == finders


# Tensors without elements ---------------------------------------------------------------------------------------------


def test_views_have_the_strides_of_numpy() -> None:
    import numpy as np

    array, ours = np.zeros((4, 6, 8), np.float32), tensor("fp32", 4, 6, 8)

    def same(theirs: np.ndarray, view: Tensor) -> bool:
        return (theirs.shape, tuple(each // 4 for each in theirs.strides)) == (view.shape, view.stride())

    assert same(array.T, ours.T)
    assert same(array.transpose(0, 2, 1), ours.transpose(1, 2))
    assert same(array.transpose(2, 0, 1), ours.permute(2, 0, 1))
    assert same(array[1], ours[1])
    assert same(array[:, 2:5, ::2], ours[:, 2:5, ::2])
    assert same(array[..., 3], ours[..., 3])
    assert same(array.reshape(2, -1), ours.view(2, -1))
    assert same(array[:, :1].squeeze(1), ours[:, :1].squeeze(1))
    assert same(np.broadcast_to(array[:1], (5, 6, 8)), ours[:1].expand(5, -1, -1))
    assert not ours.mT.is_contiguous()
    assert ours.mT.contiguous().is_contiguous()


def test_results_have_the_shapes_and_types_of_torch() -> None:
    half, whole = tensor("fp16", 4, 1), tensor("i32", 8)
    assert (half + whole).shape == (4, 8)
    assert (half + whole).dtype is TYPES["float16"]
    assert (whole + 1.5).dtype is FLOAT
    assert (half < 1).dtype is TYPES["bool"]
    assert (tensor("fp16", 2, 4, 8) @ tensor("fp16", 8, 16)).shape == (2, 4, 16)
    assert tensor("fp16", 4, 8).sum(dim=1, keepdim=True).shape == (4, 1)
    values, places = tensor("fp16", 4, 8).max(dim=0)
    assert (values.shape, places.dtype) == ((8,), TYPES["int64"])
    assert half.float().dtype is FLOAT
    assert half.to(device=GPU, dtype=TYPES["bfloat16"]).dtype is TYPES["bfloat16"]
    assert half.normal_(0, 1).shape == half.shape
    assert half.exp().shape == half.shape


# Preconditions --------------------------------------------------------------------------------------------------------


def test_comments_of_a_kernel_state_its_preconditions(check: Check) -> None:
    """Those of one kernel are not about another one."""
    other = "@triton.jit\ndef other(x_ptr, m):\n    tl.store(x_ptr, 1.0)\n\n"
    stated = HEAD.replace("    for i", "    # tileas: assume n >= 16 and n % 16 == 0\n    for i")
    status, out, _ = check(f"{stated}{other}{RIGHT}other[(1,)](torch.ones(64), 64)\n")
    assert status == 0
    first, second = (line for line in out.splitlines() if line.startswith("safe"))
    assert "n >= 16, n % 16 == 0" in first
    assert "n >= 16" not in second
    status, out, _ = check(f"{HEAD}{RIGHT}", "--assume", "n > 8")
    assert (status, "n > 8" in out) == (0, True)
