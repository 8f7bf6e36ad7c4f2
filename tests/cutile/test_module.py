"""`tileas.cutile`: kernels in cuTile Python as objects of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tileas_xdsl as tileas
from tests.cutile.exports import require_cutile
from tileas_xdsl.tools.main import main

Output = pytest.CaptureFixture[str]
WORDS = ("f16:?x?", "f16:?x?", "f16:?x?", 64, 64, 32)


@pytest.fixture
def kernels() -> Any:
    require_cutile()
    from tests.cutile.written import products

    return products


def product() -> tuple[np.ndarray[Any, Any], ...]:
    generator = np.random.default_rng(3)
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((96, 64), (64, 80)))
    return a, b, np.zeros((96, 80), np.float16)


def test_a_check_by_words_and_one_by_arrays_say_the_same(kernels: Any) -> None:
    by_words, by_arrays = (tileas.cutile.check(kernels.gemm, *args) for args in (WORDS, (*product(), 64, 64, 32)))
    assert by_words.holds_for_every_trip_count
    assert by_words.last_line == by_arrays.last_line


def test_a_run_computes_what_numpy_does(kernels: Any) -> None:
    a, b, d = product()
    outcome = tileas.cutile.run(kernels.gemm, (2, 2), a, b, d, 64, 64, 32)
    assert np.allclose(outcome.arrays["D"], a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)
    assert not d.any()


def test_a_kernel_is_compiled_once_for_its_types(kernels: Any) -> None:
    a, b, d = product()
    options = {"target": "sm_80", "check": False}
    made = tileas.cutile.compile(kernels.gemm, *WORDS, **options)
    assert made is tileas.cutile.compile(kernels.gemm, a, b, d, 64, 64, 32, **options)
    ran = made.run(a, b, d, grid=(2, 2), device="machine")
    assert np.allclose(ran.arrays["D"], a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)


def test_a_launch_without_a_gpu_says_so(kernels: Any) -> None:
    from tileas_xdsl.backend.present_gpu import present_chip

    if present_chip() is not None:
        pytest.skip("there is a GPU")
    with pytest.raises(tileas.Error):
        tileas.cutile.launch(None, (2, 2), kernels.gemm, (*product(), 64, 64, 32), target="sm_80", check=False)


def test_arguments_that_do_not_fit_are_told(kernels: Any) -> None:
    with pytest.raises(tileas.InputError, match="arguments are given, and there are 6 parameters"):
        tileas.cutile.check(kernels.gemm, "f16:?x?")
    with pytest.raises(tileas.InputError, match="is no kernel of cuTile"):
        tileas.cutile.check(len, "f16:?x?")


def test_a_search_times_each_configuration_and_names_what_fails(kernels: Any) -> None:
    a, b, d = product()

    def grid(tile: int) -> tuple[int, int]:
        return -(-96 // tile), -(-80 // tile)

    def arguments(tile: int) -> tuple[Any, ...]:
        return a, b, d, tile, tile, 32

    def hints(_tile: int) -> dict[str, int]:
        return {"occupancy": 2}

    result = tileas.cutile.exhaustive_search(
        [64, 32, 3],
        None,
        grid,
        kernels.gemm,
        arguments,
        hints,
        target="sm_90a",
        measure=False,
        check=False,
    )
    assert {each.config for each in result.successes} == {64, 32}
    assert result.best.mean_us == min(each.mean_us for each in result.successes) > 0
    ((config, error, _),) = result.failures
    assert (config, error) == (3, tileas.InputError)


ANNOTATED = """from typing import Annotated

import cuda.tile as ct
import numpy as np
from cuda.tile import tune

Array = Annotated[ct.Array, "f32:?:unaligned"]


@ct.kernel
def scaled(X: Array, Y: Array, by: float, n: ct.Constant[int] = 16):
    ct.store(Y, index=(ct.bid(0),), tile=ct.load(X, index=(ct.bid(0),), shape=(n,)) * by)


if __name__ == "__main__":
    x = np.zeros(64, np.float32)
    found = tune.exhaustive_search(
        [16, 32], None, lambda n: (64 // n,), scaled, lambda n: (x, x, 2.0, n), lambda n: {"num_ctas": n // 16}
    )
    ct.launch(None, (64 // found.best.config,), scaled, (x, x, 3.0, found.best.config))
    ct.launch(None, (8,), scaled, (x, x, 3.0, 8))
"""


@pytest.fixture
def annotated(tmp_path: Path, kernels: Any) -> str:
    file = tmp_path / "annotated.py"
    file.write_text(ANNOTATED)
    return str(file)


def test_what_annotations_say_may_be_left_out(annotated: str, capsys: Output) -> None:
    assert main(["check", f"{annotated}:scaled()", "--no-advice"]) == 0
    assert "safe for every trip count" in capsys.readouterr().out
    assert main(["check", f"{annotated}:scaled(n=3)", "--no-advice"]) == 2
    assert "error" in capsys.readouterr().err


COMMANDS = {
    "run": ([], "ran\n"),
    "timeline": (["-o", "out.svg"], "out-2.svg: "),
    "explain": (["-o", "out.html"], "as written: safe for every trip count"),
    "compile": (["--target", "sm_80", "-o", "out.mlir"], ""),
}
"""Command -> options, and what each launch makes it say."""


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_takes_each_launch(
    command: str, annotated: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options, said = COMMANDS[command]
    assert main([command, f"{annotated}:scaled", "--launches", *options]) == 0
    told = capsys.readouterr()
    launches = [(16, 4), (32, 2), (8, 8)]
    for n, grid in launches:
        assert f"note: launched as scaled(f32:?, f32:?, f32, {n}), grid ({grid},)" in told.err
    assert said in told.out
    if command == "run":
        assert told.out.count(said) == 3
    else:
        suffix = Path(options[-1]).suffix
        assert sorted(file.name for file in tmp_path.glob(f"*{suffix}")) == [f"out-{n}{suffix}" for n in (1, 2, 3)]


def test_launches_that_a_file_does_not_make_are_told(annotated: str, capsys: Output) -> None:
    assert main(["run", f"{annotated}:other", "--launches"]) == 2
    assert "no kernel was launched" in capsys.readouterr().err


def test_launches_of_one_kernel_are_those_of_searches_too(annotated: str, capsys: Output) -> None:
    assert main(["check", f"{annotated}:scaled", "--launches", "--no-advice"]) == 0
    told = capsys.readouterr()
    assert [told.out.count(f"scaled(f32:?, f32:?, f32, {n})") for n in (16, 32, 8)] == [1, 1, 1]
    assert "the hint num_cta_in_cga = 2 is ignored: one CTA computes the tiles of a block" in told.err
