"""PTX and cubins: kernels of `nvvm` assemble without spills, and what has no instruction is blamed by name."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ir import ROOT, parse, run_passes
from tests.support.ptx import assembled, ptx_of, require_llvmlite, require_ptxas
from tileas_xdsl.backend import code_generation, ptxas
from tileas_xdsl.backend.llvm_ir import llvm_ir_of
from tileas_xdsl.backend.nvptx import CodeTarget
from tileas_xdsl.backend.ptx_target import NoPTXError, ptx_of_module
from tileas_xdsl.diagnostics import RefusedError, how_to_install
from tileas_xdsl.targets.chips import PTX_VERSIONS

KERNELS = ROOT / "tests/backend/kernels"
EXPONENTIAL = """llvm.func @k(%p: !llvm.ptr<1>, %x: f32, %n: i32) attributes {nvvm.kernel} {
  %0 = llvm.mlir.constant(3 : i32) : i32
  %1 = llvm.add %n, %0 : i32
  %2 = llvm.fadd %x, %x : f32
  %3 = llvm.intr.exp(%2) : (f32) -> f32
  llvm.store %3, %p : f32, !llvm.ptr<1>
  llvm.return
}"""
RELAXED = """llvm.func @k(%s: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %s {relaxed = true} : !llvm.ptr<3>
  llvm.return
}"""

INSTRUCTIONS = {
    "cp_async_ring": {
        r"cp\.async\.cg\.shared\.global \[.*\], \[.*\], 16;": 3,
        r"cp\.async\.commit_group;": 3,
        r"cp\.async\.wait_group\s+1;": 1,
        r"cp\.async\.wait_group\s+0;": 1,
        r"(bar|barrier)\.sync\s+0;|barrier\.cta\.sync\.aligned\s+0": 1,
    },
    "tma_copy": {
        r"mbarrier\.init\.shared\.b64": 4,
        r"fence\.mbarrier_init": 1,
        r"mbarrier\.try_wait\.parity": 2,
        r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global": 1,
        r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta": 1,
        r"cp\.async\.bulk\.wait_group\.read": 1,
        r"mbarrier\.arrive\.expect_tx": 1,
    },
    "tma_wgmma": {
        r"wgmma\.mma_async\.sync\.aligned\.m64n64k16\.f32\.f16\.f16": 4,
        r"wgmma\.wait_group\.sync\.aligned\s+0;": 1,
    },
    "tma_wgmma_ws": {
        r"wgmma\.mma_async\.sync\.aligned\.m64n64k16\.f32\.f16\.f16": 4,
        r"setmaxnreg\.dec\.sync\.aligned\.u32\s+40;": 1,
        r"setmaxnreg\.inc\.sync\.aligned\.u32\s+232;": 1,
        r"fence\.proxy\.async\.shared::cta": 1,
    },
}
"""How often an instruction stands in the PTX of a kernel."""


@pytest.mark.parametrize(("name", "arch"), [*((name, "sm_90a") for name in INSTRUCTIONS), ("cp_async_ring", "sm_80")])
def test_kernels_assemble_without_spills(name: str, arch: str) -> None:
    ptx = ptx_of(parse((KERNELS / f"{name}.mlir").read_text()), arch)
    report = assembled(ptx, arch)
    assert report.name in ptx
    assert 0 < report.registers <= 232
    assert f".target {arch}" in ptx
    version = PTX_VERSIONS[arch]
    assert f".version {version // 10}.{version % 10}" in ptx
    for pattern, count in INSTRUCTIONS[name].items():
        assert len(re.findall(pattern, ptx)) == count, (pattern, ptx)
    assert ".local" not in ptx, "a tensor map that is copied to local memory, or a spill"


def test_a_struct_that_many_ops_name_has_a_short_name_for_llvm() -> None:
    require_llvmlite()
    module = run_passes(parse((KERNELS / "tma_wgmma.mlir").read_text()), "convert-nvvm-to-llvm")
    long, short = llvm_ir_of(module), llvm_ir_of(module, names_structs=True)
    assert "%struct" not in long
    assert short.count("= type {") == 1
    assert len(short) < len(long) / 2
    chip = CodeTarget("sm_90a")
    assert code_generation.ptx_of(short, chip) == code_generation.ptx_of(long, chip)


def test_stock_xdsl_opt_writes_ptx(tmp_path: Path) -> None:
    require_llvmlite()
    command = [str(Path(sys.executable).parent / "xdsl-opt"), str(KERNELS / "cp_async_ring.mlir")]
    options = ["-p", "convert-nvvm-to-llvm", "-t", "ptx{arch=sm_80}", "-o", str(tmp_path / "k.ptx")]
    subprocess.run([*command, *options], check=True, capture_output=True)
    assert assembled((tmp_path / "k.ptx").read_text(), "sm_80").shared == 6144


@pytest.mark.parametrize(
    ("text", "arch", "op"), [(EXPONENTIAL, "sm_90a", "llvm.intr.exp"), (RELAXED, "sm_80", "llvm.call_intrinsic")]
)
def test_what_llvm_dies_of_is_blamed(text: str, arch: str, op: str) -> None:
    """LLVM ends its process at these; ours goes on, and says which op it was."""
    require_llvmlite()
    module = run_passes(parse(text), "convert-nvvm-to-llvm")
    with pytest.raises(RefusedError, match=f"'{op}' op has no instruction on {arch}"):
        ptx_of_module(module, arch)


def test_what_was_written_before_llvm_died_is_there() -> None:
    require_llvmlite()
    good = "define void @a() {\n ret void\n}\n"
    bad = "define float @b(float %x) {\n %y = call float @llvm.exp.f32(float %x)\n ret float %y\n}\n"
    generated = code_generation.generate([good, bad, good], CodeTarget("sm_80"))
    assert len(generated.outputs) == 1
    assert generated.reason is not None
    assert "fexp" in generated.reason


def test_text_that_llvm_does_not_read_is_an_error() -> None:
    require_llvmlite()
    with pytest.raises(code_generation.CodeGenerationError, match="use of undefined value"):
        code_generation.ptx_of("define float @f() {\n ret float %z\n}", CodeTarget("sm_80"))


@pytest.mark.parametrize(
    ("arch", "said"),
    [
        ("sm_75", "'sm_75' is too old: cp.async came with sm_80"),
        ("sm_91", "is not a chip"),
        ("gfx950", "is not a chip"),
    ],
)
def test_chips_that_there_is_no_ptx_for(arch: str, said: str) -> None:
    with pytest.raises(NoPTXError, match=said):
        ptx_of_module(parse("llvm.func @f() { llvm.return }"), arch)


def test_without_llvmlite_the_pip_command_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module of that name which cannot be imported stands before the real one."""
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(NoPTXError, match=re.escape(f"llvmlite is not installed: {how_to_install('ptx')}")):
        ptx_of_module(parse("llvm.func @f() { llvm.return }"), "sm_80")


# ptxas ----------------------------------------------------------------------------------------------------------------


def program(path: Path, lines: str) -> str:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_ptxas_is_taken_from_the_option_then_the_environment_then_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("option", "variable", "path"):
        (tmp_path / folder).mkdir()
    option, variable, path = (program(tmp_path / d / "ptxas", "exit 0") for d in ("option", "variable", "path"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert ptxas.find_ptxas() == path
    monkeypatch.setenv("TILEAS_PTXAS", variable)
    assert ptxas.find_ptxas() == variable
    assert ptxas.find_ptxas(option) == option


def test_ptxas_is_found_in_wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TILEAS_PTXAS", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(ptxas.sysconfig, "get_paths", lambda: {"platlib": str(tmp_path)})
    monkeypatch.setattr(ptxas.sys, "path", [])
    with pytest.raises(ptxas.AssemblerError, match="pip install nvidia-cuda-nvcc-cu12"):
        ptxas.find_ptxas()
    for wheel in reversed(ptxas.WHEELS):
        (tmp_path / wheel).mkdir(parents=True)
        placed = program(tmp_path / wheel / "ptxas", "exit 0")
        assert ptxas.find_ptxas() == placed


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("exit 7", "ptxas ended with status 7"),
        ("echo 'ptxas fatal   : no' >&2; exit 1", "ptxas: fatal   : no"),
        ("exit 0", "ptxas ended with status 0"),
    ],
)
def test_a_ptxas_that_fails_is_an_error(lines: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ptxas.AssemblerError, match=said):
        ptxas.assemble("", "sm_80", program(tmp_path / "ptxas", lines))


def test_a_file_that_is_no_program_is_no_ptxas(tmp_path: Path) -> None:
    (tmp_path / "ptxas").write_text("text")
    with pytest.raises(ptxas.AssemblerError, match="is not a program"):
        ptxas.find_ptxas(str(tmp_path / "ptxas"))


def test_a_line_that_ptxas_refuses_is_shown() -> None:
    text = ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {\n  cp.foo 1;\n  ret;\n}\n"
    with pytest.raises(ptxas.AssemblerError, match=r"ptxas: .*in 'cp\.foo 1;'"):
        ptxas.assemble(text, "sm_80", require_ptxas())


def test_what_ptxas_reports_is_read() -> None:
    said = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 168 registers, used 3 barriers, 32784 bytes smem, 372 bytes cmem[0]
"""
    assert list(ptxas.reports_in(said)) == [ptxas.KernelReport("k", 168, 24, 32, 16, 32784, 3)]


def test_products_that_do_not_overlap_are_read() -> None:
    said = """ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
non wgmma instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage \
in the function 'k'
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Used 136 registers
ptxas info    : Compiling entry function 'm' for 'sm_90a'
ptxas info    : Used 40 registers
"""
    reason = (
        "non wgmma instructions reading accumulator registers of a wgmma between start and end of the pipeline stage"
    )
    found = {report.name: report.serialized for report in ptxas.reports_in(said)}
    assert found == {"k": reason, "m": ""}


SPILLS = """
last=$(eval echo \\${$#})
echo cubin "$#" > $last
case "$*" in *minnctapersm*) bytes=%s;; *) bytes=%s;; esac
echo "ptxas info    : Compiling entry function 'k' for 'sm_90a'" >&2
echo "    8 bytes stack frame, $bytes bytes spill stores, 0 bytes spill loads" >&2
"""


@pytest.mark.parametrize(
    ("alone", "beside_others", "spilt", "words"),
    [(0, 4, 0, 7), (8, 4, 4, 5), (0, 0, 0, 5), (2, 6, 2, 7)],
    ids=["none alone", "more alone", "none", "fewer alone"],
)
def test_a_kernel_that_spills_is_tried_as_the_only_block(
    alone: int, beside_others: int, spilt: int, words: int, tmp_path: Path
) -> None:
    found = ptxas.assemble("", "sm_90a", program(tmp_path / "ptxas", SPILLS % (alone, beside_others)))
    assert (found.spills, found.cubin) == (spilt, f"cubin {words}\n".encode())
