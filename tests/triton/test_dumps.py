"""What `MLIR_ENABLE_DUMP=1` makes Triton write: one module of each kernel is checked, with its places in the dump."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.triton.pairs import SIGNATURES
from tests.triton.test_pairs import text_of
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.machine_input import is_dump, kernels_in
from tileas_xdsl.tools.main import main

HEADER = "// -----// IR Dump Before {}: {} ('builtin.module' operation) //----- //\n"
PLAIN = ("TritonGPUPipeline", "tritongpu-pipeline{num-stages=3}")
LAID_OUT = ("SCFToControlFlowPass", "convert-scf-to-cf{allow-pattern-rollback=true}")
RIGHT, WRONG, OTHER = (text_of(name) for name in ("store_ring-2-good", "store_ring-2-1", "copy_ring-2-good"))


def laid_out(text: str) -> str:
    return text.replace('"ttg.num-warps"', '"ttg.total-num-warps" = 4 : i32, "ttg.num-warps"')


def dump(*modules: tuple[tuple[str, str], str]) -> str:
    """What people keep of standard error has other lines between the modules."""
    return "".join(f"a warning\n{HEADER.format(*stage)}{text}\nanother\n" for stage, text in modules)


def test_the_last_module_in_ttgir_of_each_kernel_is_taken() -> None:
    text = dump((PLAIN, RIGHT), (PLAIN, WRONG), (LAID_OUT, laid_out(RIGHT)), (PLAIN, RIGHT), (PLAIN, OTHER))
    found = kernels_in(text)
    assert [module.kernel for module in found] == ["store_ring", "store_ring", "copy_ring"]
    assert [module.text.strip() for module in found] == [WRONG.strip(), RIGHT.strip(), OTHER.strip()]


def test_a_module_has_the_lines_that_it_has_in_the_dump() -> None:
    text = dump((PLAIN, RIGHT), (PLAIN, OTHER))
    lines = text.splitlines()
    for module in kernels_in(text):
        own = module.text.splitlines()
        place = next(number for number, line in enumerate(own) if "tt.func" in line)
        assert lines[place] == own[place]


@pytest.mark.parametrize("stage", ["tritongpu-pipeline", "TritonGPUPipeline"])
def test_another_stage_is_picked_by_name(stage: str) -> None:
    text = dump((PLAIN, RIGHT), (("CSEPass", "cse"), WRONG), (LAID_OUT, laid_out(WRONG)))
    assert [module.text.strip() for module in kernels_in(text, stage)] == [RIGHT.strip()]


def test_what_is_not_there_is_one_error() -> None:
    with pytest.raises(InputError, match=r"--dump-stage nix: no module stands before that pass; there are: cse"):
        kernels_in(dump((("CSEPass", "cse"), WRONG)), "nix")
    with pytest.raises(InputError, match="no module with a kernel"):
        kernels_in(HEADER.format(*PLAIN))
    assert not is_dump(RIGHT)


def test_the_command_says_the_worst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "dump.txt"
    file.write_text(dump((PLAIN, OTHER), (PLAIN, WRONG)))
    assert main(["check", str(file)]) == 1
    said = capsys.readouterr().out
    assert said.index("@copy_ring:\n") < said.index("safe for every trip count") < said.index("@store_ring:\n")
    assert said.endswith("unsafe: race\n")
    main(["check", str(file), "--format", "json"])
    assert [each["verdict"] for each in json.loads(capsys.readouterr().out)] == ["safe", "violation"]


def test_the_stage_of_what_is_no_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel.ttgir"
    file.write_text(RIGHT)
    assert main(["check", str(file), "--dump-stage", "cse"]) == 2
    assert capsys.readouterr().err == (
        f"{file}: error: --dump-stage picks a module of a dump of Triton, and this is no dump\n"
    )


def test_ttir_is_safe_and_the_verdict_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in it is asynchronous yet, so it is always safe."""
    file = tmp_path / "kernel.ttir"
    load = "%x = tt.load %p : !tt.ptr<f32>"
    file.write_text(f"module {{ tt.func private @g(i32) -> i32 tt.func @f(%p: !tt.ptr<f32>) {{ {load} tt.return }} }}")
    assert main(["check", str(file)]) == 0
    assert "it is TTIR, and what Triton makes of it is not checked" in capsys.readouterr().out


COMPILE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import compile
from triton.experimental.gluon._runtime import GluonASTSource
from tests.triton import kernels
constants = {"S": 2, "MISTAKE": 1}
source = GluonASTSource(kernels.store_ring, {**%r, **dict.fromkeys(constants, "constexpr")}, constants)
compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
"""


def test_a_dump_of_the_real_triton(tmp_path: Path) -> None:
    if find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1":
        pytest.skip("needs Triton 3.9: pip install '.[triton]'")
    code = COMPILE % SIGNATURES["store_ring"]
    environment = {**os.environ, "MLIR_ENABLE_DUMP": "1", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (module,) = kernels_in(done.stderr)
    assert module.passes == ("TritonGPUAllocateWarpGroups", "tritongpu-allocate-warp-groups")
    (before,) = kernels_in(done.stderr, "convert-scf-to-cf")
    assert before.is_behind_ttgir
    known = re.sub(r"#loc\d*", "#loc", text_of("store_ring-2-1"))
    ours = re.sub(r"#loc\d*", "#loc", module.text.strip()).replace(f"{Path.cwd()}/", "")
    assert ours == known.strip()
