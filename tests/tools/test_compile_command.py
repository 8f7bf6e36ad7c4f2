"""`tileas compile`: the program, what was decided, and input that is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import IntAttr

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tileas_xdsl.dialects.nv_tileaa.attributes import ComputeCapabilityAttr
from tileas_xdsl.pipelines import TileIRPass
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.compile import OF_THE_DRIVER
from tileas_xdsl.tools.machine_code import default_target
from tileas_xdsl.transforms.tileas.materialize_schedule import ONE_COMPUTES

COPY = ROOT / "examples/annotated_copy.mlir"
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
    out = parse((tmp_path / "out.mlir").read_text())
    assert out.attributes.pop("nv_tileaa.compute_capability") == ComputeCapabilityAttr(IntAttr(90))
    assert print_custom(out) == expected


def test_what_is_written_names_its_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So its cycles are those of that target; and what the program says of itself stays."""
    out, again = tmp_path / "out.mlir", tmp_path / "again.mlir"
    assert compiled(EXAMPLE, "-o", out, "--target", "sm_100a") == 0
    assert command.main(["timeline", str(out), "--trip-count", "2", "-o", str(tmp_path / "out.svg")]) == 0
    assert "@gemm on sm_100: " in capsys.readouterr().out
    assert compiled(out, "-o", again, "--target", "sm_90") == 0
    assert "compute_capability<100>" in again.read_text()


@pytest.mark.parametrize(
    ("present", "said"), [("sm_120a", "the GPU of this machine"), (None, "this machine has no GPU")]
)
def test_without_a_target_code_is_for_the_gpu_that_is_there(
    present: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default_target, "present_chip", lambda: present)
    assert compiled(COPY, "--no-check", "-o", tmp_path / "out.ll") == 0
    target = present or "sm_90a"
    assert re.match(rf"target: {target}, .*{said}; --target says another\n", capsys.readouterr().out)
    assert f'"target": "{target}"' in (tmp_path / "out.json").read_text()
    assert compiled(COPY, "--no-check", "-o", tmp_path / "out.ll", "--target", "sm_80") == 0
    assert "target:" not in capsys.readouterr().out


def test_a_program_that_says_its_target_is_compiled_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.mlir", tmp_path / "out.ll"
    source.write_text(f"module attributes {{nv_tileaa.compute_capability = 90 : i32}} {{\n{COPY.read_text()}\n}}")
    assert compiled(source, "--no-check", "-o", out) == 0
    assert '"target": "sm_90a"' in out.with_suffix(".json").read_text()
    assert "target:" not in capsys.readouterr().out
    assert compiled(source, "--no-check", "-o", out, "--target", "sm_80") == 2
    assert "--target sm_80: the program says that it is compiled for sm_90" in capsys.readouterr().err


def test_an_unknown_ending_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(EXAMPLE, "-o", tmp_path / "out.cubni") == 2
    assert "no file is written with the ending .cubni; use .mlir, .ttgir, .ll, .ptx, .cubin" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_package_is_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "tileas_xdsl", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert said.stdout.startswith("tileas-xdsl ")


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
