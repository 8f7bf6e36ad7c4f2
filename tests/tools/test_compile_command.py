"""`tileas compile`: the program, what was decided, and input that is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.compile import OF_THE_DRIVER
from tileas_xdsl.transforms.tileas.materialize_schedule import ONE_COMPUTES

EXAMPLE = ROOT / "examples/gemm_loop.mlir"


def compiled(*options: str | Path) -> int:
    return command.main(["compile", *map(str, options)])


def decisions(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines without their places."""
    return [line.rpartition("gemm_loop.mlir:")[2].partition(": ")[2] for line in capsys.readouterr().out.splitlines()]


def test_agents_and_what_each_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(EXAMPLE, "-o", tmp_path / "out.mlir") == 0
    assert decisions(capsys) == [
        "loop: 3 stages, a turn every 530 cycles (RecMII)",
        "@gemm: 98,304 bytes of smem in 2 rings",
        "@gemm: 2 agents; agent 0: 4 warps, 40 registers a thread; agent 1: 4 warps, 232 registers a thread",
        f"@gemm: {ONE_COMPUTES}",
    ]
    driver = "tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize}"
    expected = print_custom(run_passes(parse(EXAMPLE.read_text()), driver))
    assert print_custom(parse((tmp_path / "out.mlir").read_text())) == expected


HEAVY = {"tileas_xdsl.machine", "tileas_xdsl.checker", "numpy", "ml_dtypes", "rich", "llvmlite", "importlib.metadata"}


@pytest.mark.parametrize("suffix", [".ll", ".ptx"])
def test_neither_the_machine_nor_numpy_is_loaded(tmp_path: Path, suffix: str) -> None:
    """Half of the time of compiling is that of imports, so what only a run or a check needs has to stay away."""
    script = (
        "import sys\nfrom tileas_xdsl.tools.main import main\n"
        f"main(['compile', '--no-check', {str(EXAMPLE)!r}, '--target', 'sm_90a', "
        f"'-o', {str(tmp_path / ('out' + suffix))!r}])\n"
        "packages = {'.'.join(name.split('.')[:2]) for name in sys.modules}\n"
        f"print(sorted(packages & {HEAVY}))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_one_agent_and_fewer_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--strategy", "unspecialize", "--num-stages", "2")
    assert compiled(EXAMPLE, "-o", tmp_path / "out.mlir", *options) == 0
    assert decisions(capsys) == [
        "loop: 2 stages, a turn every 762 cycles (DepMII)",
        "@gemm: 65,536 bytes of smem in 2 rings",
        "@gemm: 1 agent: AUS was asked for",
    ]


def test_why_there_is_one_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "gemm_loop.mlir"
    text = EXAMPLE.read_text()
    for before, now in (("128x64", "256x64"), ("64x128", "64x256"), ("128x128", "256x256")):
        text = text.replace(before, now)
    source.write_text(text)
    assert compiled(source, "-o", tmp_path / "out.mlir") == 0
    reason = "no division of the warps and registers of the multiprocessor holds its tiles"
    assert decisions(capsys)[-1] == f"@gemm: 1 agent: {reason}"


def test_the_program_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(EXAMPLE) == 0
    said = capsys.readouterr()
    assert "agent_switch" in said.out
    assert "2 agents" in said.err
    parse(said.out)


def test_what_stands_behind_every_pass(tmp_path: Path) -> None:
    assert compiled(EXAMPLE, "-o", tmp_path / "out.mlir", "--save-temps", tmp_path / "temps") == 0
    files = sorted((tmp_path / "temps").iterdir())
    assert files[0].name == "00-tileas-queue-to-pipeline.mlir"
    assert files[-1].read_text() == (tmp_path / "out.mlir").read_text()
    for file in files:
        parse(file.read_text())


def test_an_unknown_target_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(EXAMPLE, "-o", tmp_path / "out.mlir", "--target", "sm_75") == 2
    assert "no machine model of sm_75: choose one of sm_80" in capsys.readouterr().err
    assert not (tmp_path / "out.mlir").exists()


@pytest.mark.parametrize(
    ("option", "needed"),
    [
        (("--num-ctas", "2"), "num-ctas=2 needs the pass tileas-plan-cta, which does not exist yet"),
        (("--opt-level", "3"), "opt-level=3 is read by no pass yet"),
        (("--v2-opt-level", "1"), "v2-opt-level=1 is read by no pass yet"),
        (("--index-bitwidth", "64"), "index-bitwidth=64 is read by no pass yet"),
        (("--enable-random-delay",), "enable-random-delay=true is read by no pass yet"),
    ],
)
def test_options_of_the_original_driver_without_effect_are_refused_by_name(
    option: tuple[str, ...], needed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiled(EXAMPLE, "-o", tmp_path / "out.mlir", *option) == 2
    assert needed in capsys.readouterr().err
    assert not (tmp_path / "out.mlir").exists()


def test_the_options_of_the_original_driver_have_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compiled("--help")
    said = " ".join(capsys.readouterr().out.split())
    for name in OF_THE_DRIVER:
        assert TileIRPass.__dataclass_fields__[name].metadata["help"] in said
