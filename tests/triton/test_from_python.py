"""`tileas_xdsl.triton`: kernels and launches are checked from Python, with the real Triton and without a GPU."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tileas_xdsl.triton as tx
from tests.triton.pairs import MATMUL, SIGNATURES, TILES
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.tools.errors import InputError

if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
    pytest.skip("needs Triton 3.9: pip install '.[triton]'", allow_module_level=True)

import triton

from tests.triton import kernels, triton_kernels

SQUARE = tx.tensor("fp16", 512, 512)
FENCED = {"signature": SIGNATURES["fenced_stores"], "target": "sm_90"}


def launch_matmul(launch: Any, kernel: Any = triton_kernels.matmul, **constants: Any) -> None:
    launch(kernel, grid=(16,), args=[SQUARE, SQUARE, SQUARE, *[512] * 6], **constants)


# One kernel -----------------------------------------------------------------------------------------------------------


def test_a_kernel_that_is_right() -> None:
    report = tx.check(kernels.fenced_stores, constexprs={"MISTAKE": 0}, **FENCED)
    assert report.safe
    assert report.verdict is Verdict.SAFE
    assert report.violations == []
    assert "safe for every trip count" in report.text


def test_a_mistake_is_named_by_its_python_line() -> None:
    report = tx.check(kernels.fenced_stores, constexprs={"MISTAKE": 1}, **FENCED)
    assert not report.safe
    assert [str(finding.violation.kind) for finding in report.violations] == ["missing-fence"]
    lines = Path(kernels.__file__).read_text().splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "buf.store(" in line)
    assert f"tests/triton/kernels.py:{place}:9: wrong numbers: missing-fence" in report.text
    assert lines[place - 1] in report.text
    assert str(report).startswith("fenced_stores for sm_90:\n")


def test_options_of_the_check_reach_it() -> None:
    """All of them, beside those of Triton; what a kernel is launched in takes the same."""
    given: Any = {"constexprs": TILES, "target": "sm_80", "num_stages": 2, "judge_waits": False}
    report = tx.check(triton_kernels.matmul, signature=MATMUL, assume=["K >= 1"], trip_counts=[0, 1], **given)
    assert "K >= 1" in report.assumed
    assert "for every trip count" not in report.text
    with tx.checking("sm_80", assume=["K > 1"], judge_waits=False) as launches:
        launch_matmul(lambda kernel, grid, args, **options: kernel[grid](*args, **options), **TILES)
    assert "K > 1" in launches.reports[0].assumed


def test_options_and_hints_reach_the_compiler() -> None:
    """With strides that 16 divides, rows are copied asynchronously; with 8 warps, and as many stages as asked for."""
    aligned = {**MATMUL, **dict.fromkeys(("N", "K", "sam", "sbk"), "i32:16")}
    plain = tx.check(triton_kernels.matmul, signature=MATMUL, constexprs=TILES, target="sm_80")
    report = tx.check(
        triton_kernels.matmul,
        signature=aligned,
        constexprs=TILES,
        target="sm_80",
        num_warps=8,
        num_stages=4,
        args={"K": 0},
    )
    assert '"ttg.num-warps" = 8' in report.ttgir
    assert "3x128x64xf16" in report.ttgir
    assert "tt.divisibility = 16" in report.ttgir
    assert report.ttgir.count("async_copy_global_to_local") > plain.ttgir.count("async_copy_global_to_local")
    assert report.report.fixed == {"K": 0}


def test_the_kernel_is_found_under_tuners() -> None:
    tuned = triton.autotune([triton.Config(TILES)], key=["K"])(triton_kernels.matmul)
    report = tx.check(tuned, signature=MATMUL, constexprs=TILES, target="sm_90", args={"K": 64})
    assert report.kernel == "matmul"


WRONG = {
    "is no kernel": (launch_matmul, {}),
    "there is no argument 'steps'; there are: c_desc, n, MISTAKE": (None, {"constexprs": {"MISTAKE": 0, "steps": 1}}),
    "there is neither a type nor a value for the argument 'MISTAKE'": (None, {}),
    "'sm90' is no target; write one of sm_80, ": (None, {"constexprs": {"MISTAKE": 0}, "target": "sm90"}),
    "'sm_91' is no target; write one of sm_80, ": (None, {"constexprs": {"MISTAKE": 0}, "target": "sm_91"}),
    "Triton has no option 'pipeline'; there are: ": (None, {"constexprs": {"MISTAKE": 0}, "pipeline": 4}),
    "Triton has no option 'num_stage'; did you mean 'num_stages'?": (
        None,
        {"constexprs": {"MISTAKE": 0}, "num_stage": 4},
    ),
    "there is no argument 'MISTAK'; did you mean 'MISTAKE'?": (None, {"constexprs": {"MISTAK": 0}}),
    "'n' is said to be 'i32:8': a type has ':16', ':1'": (
        None,
        {"constexprs": {"MISTAKE": 0}, "signature": {**SIGNATURES["fenced_stores"], "n": "i32:8"}},
    ),
    "'fenced_stores' does not compile for sm_90: ": (
        None,
        {"constexprs": {"MISTAKE": 0}, "signature": {**SIGNATURES["fenced_stores"], "c_desc": "i32"}},
    ),
}


@pytest.mark.parametrize("complaint", WRONG)
def test_bad_input_is_one_error(complaint: str) -> None:
    kernel, given = WRONG[complaint]
    with pytest.raises(InputError) as error:
        tx.check(kernel or kernels.fenced_stores, **{**FENCED, **given})
    assert complaint in str(error.value)
    if kernel is None and "target" not in given:
        assert str(error.value).startswith("tests/triton/kernels.py:")


def test_another_release_is_refused_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "__version__", "3.6.0")
    with pytest.raises(InputError, match=r"Triton 3\.6\.0 is installed, and the TTGIR of 3\.9 is what is read here"):
        tx.check(kernels.fenced_stores, constexprs={"MISTAKE": 0}, **FENCED)


def test_without_triton_the_error_says_how_to_install_it() -> None:
    """The rest of the package, and the import of this one, do without."""
    code = (
        "import sys; sys.modules['triton'] = None\n"
        "import tileas_xdsl.triton as tx\n"
        "try: tx.check(None, signature={})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "InputError error: Triton is not installed: pip install -e '.[triton]'\n"


# Launches -------------------------------------------------------------------------------------------------------------


def test_launches_are_checked_and_not_made() -> None:
    before = triton.runtime.driver._active
    with tx.checking("sm_90") as launches:
        kernels.copy_ring[(1,)](tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8, S=2, MISTAKE=0)
        kernels.copy_ring[(1,)](tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 24, S=2, MISTAKE=0)
        kernels.copy_ring[(1,)](tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8, S=3, MISTAKE=0)
    assert triton.runtime.driver._active is before
    assert [report.kernel for report in launches.reports] == ["copy_ring", "copy_ring"]
    assert all("safe for every trip count" in report.text for report in launches.reports)
    assert str(launches) == "2 kernels were checked for sm_90, and nothing is wrong"


def test_a_wrong_launch_fails_at_the_end_of_the_block() -> None:
    def launches() -> None:
        with tx.checking("sm_80"):
            kernels.copy_ring[(1,)](tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8, S=2, MISTAKE=2)
            kernels.copy_ring[(1,)](tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8, S=3, MISTAKE=0)

    with pytest.raises(tx.NotSafeError, match=r"copy_ring for sm_80:\n(.|\n)*race: ") as error:
        launches()
    assert str(error.value).count("copy_ring for") == 1
    assert isinstance(error.value, AssertionError)


def test_a_block_without_launches_fails() -> None:
    with pytest.raises(tx.NotSafeError, match="no kernel was launched"), tx.checking("sm_90"):
        pass


def test_every_configuration_of_a_tuner_is_checked() -> None:
    configs = [triton.Config({**TILES, "BK": depth}, num_stages=2) for depth in (32, 64)]
    tuned = triton.autotune(configs, key=["K"])(triton_kernels.matmul)
    with tx.checking("sm_80") as launches:
        tuned[(16,)](SQUARE, SQUARE, SQUARE, *[512] * 6)
    assert ["x32xf16" in report.ttgir for report in launches.reports] == [True, False]
    assert tuned.cache == {}


@tx.checked("sm_80", "sm_90")
def test_a_decorated_test_is_one_for_each_target(launch: Any, tmp_path: Path) -> None:
    """Fixtures of pytest go on to be given."""
    assert tmp_path.exists()
    launch(kernels.copy_ring, args=[tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8], S=2, MISTAKE=0)


def test_a_decorated_test_fails_with_the_reports_of_all_targets() -> None:
    @tx.checked("sm_80", "sm_90")
    def wrong(launch: Any) -> None:
        launch(kernels.copy_ring, args=[tx.tensor("fp32", 4096), tx.tensor("fp32", 4096), 8], S=2, MISTAKE=1)

    assert list(inspect.signature(wrong).parameters) == []
    with pytest.raises(AssertionError, match=r"copy_ring for sm_80(.|\n)*race(.|\n)*copy_ring for sm_90"):
        wrong()


def test_what_the_test_itself_says_is_not_swallowed() -> None:
    @tx.checked("sm_80")
    def wrong(launch: Any) -> None:
        assert launch is None

    with pytest.raises(AssertionError) as error:
        wrong()
    assert not isinstance(error.value, tx.NotSafeError)


def test_the_decorator_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match="name at least one target"):
        tx.checked(test_the_decorator_says_what_it_needs)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has no parameter 'launch'"):
        tx.checked("sm_80")(test_the_decorator_says_what_it_needs)


def test_tensors_are_what_triton_asks_of_torch() -> None:
    assert (SQUARE.stride(), SQUARE.stride(1), SQUARE.numel(), str(SQUARE.dtype)) == ((512, 1), 1, 512 * 512, "float16")
    assert tx.tensor("float32", 3, 4, 5).stride() == (20, 5, 1)
    assert tx.tensor("i32").numel() == 1
    with pytest.raises(InputError, match="'fp17' is no type of elements"):
        tx.tensor("fp17", 1)


def test_a_check_ends_after_so_many_steps() -> None:
    report = tx.check(kernels.fenced_stores, constexprs={"MISTAKE": 0}, steps=10, **FENCED)
    assert "not for every trip count" in report.text
    assert "after 10 steps; give it more by --steps" in report.text
