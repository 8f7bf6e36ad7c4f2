"""`tileas compile -o OUT.{ll,ptx,cubin}`: the files, the launch contract, and one message for what cannot be had."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.ir import ROOT
from tests.support.llvm_ir import normal_form
from tests.support.ptx import require_llvmlite, require_ptxas
from tests.support.warpgroup_gemm import shared_bytes, warpgroup_gemm
from tileas_xdsl.tools import main as command

COPY = ROOT / "examples/annotated_copy.mlir"
RING = ROOT / "examples/cp_async_ring.mlir"
TENSORS = ROOT / "tests/backend/kernels/tma_copy.mlir"


def compiled(*options: str | Path) -> int:
    return command.main(["compile", "--no-check", *map(str, options)])


def contract(path: Path) -> dict[str, object]:
    found = json.loads(path.read_text())
    assert found["code"].startswith(path.stem)
    (kernel,) = found["kernels"]
    return kernel


def test_llvm_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(COPY, "-o", tmp_path / "copy.ll", "--target", "sm_80", "--threads", "32") == 0
    assert capsys.readouterr().out == "@scale: 32 threads a block; threads: not checked\n"
    assert "llvm.nvvm.cp.async.wait.group" in normal_form((tmp_path / "copy.ll").read_text())
    kernel = contract(tmp_path / "copy.json")
    assert kernel["block"] == [32, 1, 1]
    assert "registers" not in kernel


def test_ptx(tmp_path: Path) -> None:
    require_llvmlite()
    assert compiled(COPY, "-o", tmp_path / "copy.ptx", "--target", "sm_80") == 0
    text = (tmp_path / "copy.ptx").read_text()
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", text) == ["3", "2", "1", "0"]
    assert ".target sm_80" in text


def test_tiles_become_a_cubin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A synchronous loop in; the kernel, and what its launch has to give."""
    require_llvmlite()
    require_ptxas()
    options = ["--target", "sm_80", "--strategy", "unspecialize", "-o", tmp_path / "k.cubin"]
    assert compiled(ROOT / "tests/kernels/gemm_64x128x32.mlir", *options) == 0
    kernel = contract(tmp_path / "k.json")
    assert kernel["block"] == [128, 1, 1]
    assert kernel["spill_bytes"] == 0
    assert kernel["dynamic_shared_bytes"] == 58_400
    assert "@f: 128 threads a block" in capsys.readouterr().out


def test_a_loop_becomes_a_kernel_of_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A producer that copies by TMA, and a warpgroup that multiplies: the contract says which maps the host makes."""
    require_llvmlite()
    require_ptxas()
    options = ["--target", "sm_90a", "-o", tmp_path / "k.cubin"]
    assert compiled(ROOT / "examples/gemm_loop.mlir", *options) == 0
    kernel = contract(tmp_path / "k.json")
    assert kernel["block"] == [256, 1, 1]
    assert kernel["spill_bytes"] == 0
    assert kernel["serialized_products"] == ""
    assert [parameter["kind"] for parameter in kernel["parameters"][:2]] == ["tensor map", "tensor map"]
    said = capsys.readouterr().out
    assert "@gemm: 2 agents; agent 0: 4 warps, 40 registers a thread; agent 1: 4 warps, 216 registers a thread" in said
    assert "@gemm: 256 threads a block" in said


def test_one_agent_instead_of_several_is_not_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tiles are run by one agent then. Threads of it are refused where they have no registers for its sums."""
    source, out = tmp_path / "wide.mlir", tmp_path / "k.mlir"
    source.write_text(GEMM.replace("64x128", "64x256").replace("128x128", "128x256"))
    assert compiled(source, "--target", "sm_90a", "--num-warps", "4", "-o", out) == 0
    reason = "1 agent: no division of the warps and registers of the multiprocessor holds its tiles"
    assert f"{source}:12:1: @gemm: {reason}\n" in capsys.readouterr().out
    assert compiled(source, "--target", "sm_80", "--num-warps", "8", "-o", out) == 0
    assert f"{source}:12:1: @gemm: {reason}\n" in capsys.readouterr().out


def test_sums_that_no_thread_holds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "wide.mlir", tmp_path / "k.ll"
    source.write_text(GEMM.replace("64x128", "64x256").replace("128x128", "128x256"))
    assert compiled(source, "--target", "sm_90a", "--num-warps", "4", "-o", out) == 2
    words = "keeps tiles in 256 registers of each thread of 4 warps, which has 255"
    assert f"error: 'scf.for' op {words}\n  help: run the driver with num-warps=8" in capsys.readouterr().err
    assert not out.exists()


def test_a_cubin_and_what_ptxas_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_llvmlite()
    require_ptxas()
    assert compiled(COPY, "-o", tmp_path / "copy.cubin", "--target", "sm_80") == 0
    assert (tmp_path / "copy.cubin").read_bytes().startswith(b"\x7fELF")
    kernel = contract(tmp_path / "copy.json")
    assert kernel["spill_bytes"] == 0
    assert kernel["static_shared_bytes"] == 4 * 4 * 4, "four versions of a tile of four floats"
    registers = kernel["registers"]
    said = f"@scale: 1 thread a block, {registers} registers a thread, 0 bytes spilled, 64 bytes of shared memory"
    assert capsys.readouterr().out == f"{said}; threads: not checked\n"


def test_the_contract_says_what_the_host_passes(tmp_path: Path) -> None:
    assert compiled(RING, "-o", tmp_path / "ring.ll", "--target", "sm_80") == 0
    kernels = json.loads((tmp_path / "ring.json").read_text())["kernels"]
    scale = next(kernel for kernel in kernels if kernel["name"] == "scale")
    buffer = {"kind": "buffer", "type": "f32", "shape": [None, 8], "strides": [8, 1], "offset": 0, "alignment": 16}
    size = {"kind": "number", "type": "i64", "is": "size 0"}
    assert scale["parameters"] == [
        {"name": "src", **buffer},
        {"name": "src", **size},
        {"name": "out", **buffer},
        {"name": "out", **size},
        {"name": "n", "kind": "number", "type": "i64"},
    ]


def test_tensor_maps_and_dynamic_shared_memory_are_in_the_contract(tmp_path: Path) -> None:
    assert compiled(TENSORS, "-o", tmp_path / "tensors.ll", "--target", "sm_90a") == 0
    kernel = contract(tmp_path / "tensors.json")
    assert kernel["block"] == [64, 1, 1]
    assert kernel["dynamic_shared_bytes"] == "the host's choice"
    assert kernel["parameters"] == [
        {"name": "from", "kind": "tensor map", "bytes": 128, "alignment": 64},
        {"name": "to", "kind": "tensor map", "bytes": 128, "alignment": 64},
        {"name": "tiles", "kind": "number", "type": "i32"},
    ]


def test_what_a_tensor_map_maps_is_in_the_contract(tmp_path: Path) -> None:
    (tmp_path / "gemm.mlir").write_text(warpgroup_gemm(2))
    options = ("--target", "sm_90a", "--threads", "160")
    assert compiled(tmp_path / "gemm.mlir", "-o", tmp_path / "gemm.ll", *options) == 0
    kernel = contract(tmp_path / "gemm.json")
    assert kernel["dynamic_shared_bytes"] == shared_bytes(2)
    map_ = {"kind": "tensor map", "bytes": 128, "alignment": 64, "shape": [None, None], "box": [64, 64]}
    assert kernel["parameters"] == [
        {"name": "a", **map_, "type": "f16", "swizzle": 128},
        {"name": "b", **map_, "type": "f16", "swizzle": 128},
        {"name": "c", **map_, "type": "f32", "swizzle": 0},
        {"name": "tiles", "kind": "number", "type": "i32"},
    ]


def test_rows_that_tma_does_not_take_are_loaded_by_threads(tmp_path: Path) -> None:
    """Rows of 130 bytes: no tensor map, and no promise of rows of 16 bytes, which a launch would refuse."""
    gemm = (ROOT / "examples/gemm_loop.mlir").read_text()
    rows = gemm.replace("%a: memref<?x?xf16>", "%a: memref<?x65xf16>").replace("k] : (memref<?x?", "k] : (memref<?x65")
    (tmp_path / "gemm.mlir").write_text(rows)
    assert compiled(tmp_path / "gemm.mlir", "-o", tmp_path / "gemm.ll", "--target", "sm_90a") == 0
    parameters = contract(tmp_path / "gemm.json")["parameters"]
    kinds = [(parameter["name"], parameter["kind"]) for parameter in parameters]
    assert kinds == [("a", "buffer"), ("a", "number"), ("b", "tensor map"), ("c", "tensor map"), ("n", "number")]
    assert "row_bytes" not in parameters[0]


def test_a_tensor_map_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gemm.mlir").write_text(warpgroup_gemm(2).replace("swizzle = 128", "swizzle = 48"))
    options = ("--target", "sm_90a", "--threads", "160")
    assert compiled(tmp_path / "gemm.mlir", "-o", tmp_path / "gemm.ll", *options) != 0
    assert "has a swizzle of 48 bytes; there are 0, 32, 64, 128" in capsys.readouterr().err
    assert not (tmp_path / "gemm.ll").exists()


EXPONENTIAL = """func.func @f(%a: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<1xf32>
  %y = math.exp %x : f32
  memref.store %y, %a[%c0] : memref<1xf32>
  func.return
}"""
SHARED = (
    '"memref.global"() <{sym_name = "%s", type = memref<%dxf32, 3>, initial_value, sym_visibility = "private"}> '
    ": () -> ()"
)
TOO_MUCH = f"""{SHARED % ("s", 8192)}
{SHARED % ("t", 8192)}
func.func @f(%i: index, %x: f32) {{
  %s = memref.get_global @s : memref<8192xf32, 3>
  %t = memref.get_global @t : memref<8192xf32, 3>
  memref.store %x, %s[%i] : memref<8192xf32, 3>
  memref.store %x, %t[%i] : memref<8192xf32, 3>
  func.return
}}"""
TOO_MUCH_SAID = "has 65,536 bytes of shared memory of known size (@s 32,768, @t 32,768), and 49,152 is the most"
EMPTY = "func.func private @f()"
GEMM = (ROOT / "examples/gemm_loop.mlir").read_text()
OF_256 = re.sub("128x64|64x128|128x128", "256x256", GEMM)

BAD = {
    "an old chip": (COPY, ["--target", "sm_70"], "'sm_70' is too old: cp.async came with sm_80"),
    "a chip that is none": (COPY, ["--target", "sm_91"], "'sm_91' is not a chip that PTX is written for here"),
    "no threads": (COPY, ["--target", "sm_80", "--threads", "0"], "--threads 0: a block has 1 to 1024 threads"),
    "no ptxas": (COPY, ["--target", "sm_80", "--ptxas", "/nowhere"], "'/nowhere' is not a program that could be ptxas"),
    "tiles": (ROOT / "tests/kernels/gemm_16x8x8.mlir", ["--target", "sm_80"], "that do not all lie in registers"),
    "an op without instruction": (EXPONENTIAL, ["--target", "sm_80"], "'llvm.intr.exp' op has no instruction on sm_80"),
    "an op of another target": (
        ROOT / "examples/gemm_loop.mlir",
        ["--target", "sm_90"],
        "has no instruction on sm_90: Cannot select: intrinsic %llvm.nvvm.setmaxnreg.dec.sync.aligned.u32\n"
        "  help: use sm_90a",
    ),
    "an op without instruction on any target": (
        EXPONENTIAL,
        ["--target", "sm_90"],
        "has no instruction on sm_90: no libcall available for fexp\n  help: lower it to ops that have",
    ),
    "too much shared memory": (TOO_MUCH, ["--target", "sm_80"], TOO_MUCH_SAID),
    "more staging than memory": (
        OF_256,
        ["--target", "sm_90a"],
        "staging takes 262144 bytes of shared memory, and there",
    ),
    "no kernel": (EMPTY, ["--target", "sm_80"], "there is no kernel"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_one_message_and_no_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_llvmlite()
    require_ptxas()
    source, options, said = BAD[name]
    if isinstance(source, str):
        (tmp_path / "in.mlir").write_text(source)
        source = tmp_path / "in.mlir"
    before = sorted(tmp_path.iterdir())
    assert compiled(source, "-o", tmp_path / "out.cubin", *options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(re.findall(r"\berror:", error)) == 1, error
    assert "Traceback" not in error
    assert sorted(tmp_path.iterdir()) == before


def test_without_llvmlite_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "absent" / "llvmlite").mkdir(parents=True)
    (tmp_path / "absent" / "llvmlite" / "__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "absent"))
    assert compiled(COPY, "-o", tmp_path / "out.ptx", "--target", "sm_80") == 2
    assert "pip install -e '.[ptx]'" in capsys.readouterr().err
    assert not (tmp_path / "out.ptx").exists()
    assert not (tmp_path / "out.json").exists()
