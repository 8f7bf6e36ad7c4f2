"""`tileas.compile` and `tileas.load`: the object of a compiled kernel, from a program and from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import tileas_xdsl as tileas
from tests.support.ir import ROOT
from tests.support.ptx import require_llvmlite, require_ptxas
from tests.test_front_door import Tags
from tileas_xdsl.analysis.memory.program_axes import program_axes
from tileas_xdsl.backend.contract import Buffer, KernelContract, Number, ProgramAxis, TensorMap
from tileas_xdsl.backend.llvm_ir.lines import without_lines
from tileas_xdsl.kernels import compiling
from tileas_xdsl.kernels.kernel import Kernel
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.errors import InputError, UnsafeCodeError
from tileas_xdsl.transforms.tileas.materialize_async import MaterializeAsyncPass

GEMM = ROOT / "examples/gemm_loop.mlir"
COPY = ROOT / "examples/annotated_copy.mlir"
RING = ROOT / "examples/cp_async_ring.mlir"
RACE = ROOT / "examples/double_buffer_race.mlir"


@pytest.fixture(autouse=True)
def _tools() -> None:
    require_llvmlite()
    require_ptxas()


@pytest.fixture(scope="module")
def gemm() -> Kernel:
    require_llvmlite()
    require_ptxas()
    return tileas.compile(GEMM, target="sm_90a", check=False, cache=False)


def test_a_loop_becomes_an_object(gemm: Kernel) -> None:
    assert (gemm.name, gemm.target) == ("gemm", "sm_90a")
    assert "wgmma.mma_async" in gemm.ptx
    assert "define ptx_kernel void @gemm(" in gemm.llvm_ir
    assert gemm.cubin.startswith(b"\x7fELF")
    assert gemm.verdict is None
    assert gemm.report.registers == 128
    assert gemm.report.spill_bytes == 0
    assert gemm.report.serialized_products == ""
    assert gemm.report.shared_bytes == 98_480
    ((stages, cycles),) = [(loop.stages, loop.cycles) for loop in gemm.report.loops]
    assert (stages, cycles) == (3, 530)
    assert gemm.decisions[-1].startswith("@gemm: 256 threads a block, 128 registers a thread")


def test_the_contract_is_typed(gemm: Kernel) -> None:
    assert gemm.contract.block == (256, 1, 1)
    assert gemm.contract.cluster is None
    a, *_ = gemm.contract.parameters
    assert a == TensorMap(name="a", type="f16", shape=(None, None), box=(128, 64), swizzle=128)
    rows, columns = (ProgramAxis(array="c", dimension=axis, extent=128) for axis in (0, 1))
    assert gemm.contract.programs == (rows, columns, None)
    scale = tileas.compile(RING, function="scale", target="sm_80", check=False)
    assert scale.contract.parameters[:2] == (
        Buffer(name="src", type="f32", shape=(None, 8), strides=(8, 1), offset=0),
        Number(name="src", type="i64", of="size 0"),
    )
    assert KernelContract.from_data(scale.contract.as_data()) == scale.contract


def test_the_stages_are_the_ir_behind_each_pass(gemm: Kernel) -> None:
    names = list(gemm.stages)
    assert names[0] == "00-tileas-queue-to-pipeline"
    assert names[-1].endswith("convert-nvvm-to-llvm")
    assert "agent_switch" in gemm.stages[next(n for n in names if n.endswith("materialize-schedule"))]


def test_it_says_and_shows_what_it_is(gemm: Kernel) -> None:
    assert repr(gemm) == (
        "Kernel(@gemm on sm_90a: 256 threads a block, 128 registers a thread, 0 bytes spilled, "
        "98,480 bytes of shared memory; threads: not checked)"
    )
    page = gemm._repr_html_()
    assert Tags(page).open == []
    assert "a turn every 530 cycles" in page
    assert json.loads(json.dumps(gemm.to_dict()))["report"]["registers"] == 128


def test_the_verdict_is_that_of_the_check_of_the_threads() -> None:
    kernel = tileas.compile(COPY, target="sm_80", cache=False)
    assert kernel.verdict is not None
    assert kernel.verdict.verdict == "safe"
    assert kernel.verdict.every_trip_count
    assert str(kernel.verdict).startswith("threads: safe for every trip count")
    assert repr(kernel).endswith("; threads: safe for every trip count)")
    with pytest.raises(UnsafeCodeError, match="is unsafe"):
        tileas.compile(RACE, target="sm_80")


def test_a_file_a_text_and_a_module_are_the_same_program() -> None:
    options: dict[str, Any] = {"target": "sm_80", "check": False}
    from_file = tileas.compile(COPY, **options)
    assert without_lines(tileas.compile(str(COPY), **options).ptx) == without_lines(from_file.ptx)
    assert without_lines(tileas.compile(COPY.read_text(), **options).ptx) == without_lines(from_file.ptx)
    assert without_lines(tileas.compile(tileas.parse(COPY), **options).ptx) == without_lines(from_file.ptx)


def test_the_second_time_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    first = tileas.compile(COPY, target="sm_80", check=False)

    def never(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(compiling, "parse_module", never)
    again = tileas.compile(COPY, target="sm_80", check=False)
    assert again.cubin == first.cubin
    assert again.to_dict() == first.to_dict()
    for other in ({"target": "sm_90"}, {"target": "sm_80", "threads": 32}, {"target": "sm_80", "cache": False}):
        with pytest.raises(AssertionError, match="compiled again"):
            tileas.compile(COPY, check=False, **other)
    monkeypatch.setattr(compiling, "_versions", lambda: ["another version"])
    with pytest.raises(AssertionError, match="compiled again"):
        tileas.compile(COPY, target="sm_80", check=False)


def test_without_ptxas_there_is_ptx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tileas_xdsl.backend import ptxas

    monkeypatch.setattr(ptxas, "_candidates", lambda: iter(()))
    monkeypatch.delenv("TILEAS_PTXAS", raising=False)
    kernel = tileas.compile(COPY, target="sm_80", check=False)
    assert ".target sm_80" in kernel.ptx
    assert kernel.report.registers is None
    with pytest.raises(InputError, match="ptxas is needed to write a cubin"):
        _ = kernel.cubin
    with pytest.raises(InputError, match="'/nowhere' is not a program that could be ptxas"):
        tileas.compile(COPY, target="sm_80", check=False, ptxas="/nowhere")


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".ll", ".ptx", ".cubin"])
def test_what_the_command_wrote_is_the_same_object(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"copy{ending}"
    assert command.main(["compile", "--no-check", str(COPY), "--target", "sm_80", "-o", str(out)]) == 0
    kernel, made = tileas.load(out), tileas.compile(COPY, target="sm_80", check=False)
    assert kernel.contract == made.contract
    assert (kernel.llvm_ir, kernel.ptx, kernel.cubin) == (made.llvm_ir, made.ptx, made.cubin)
    assert kernel.stages == made.stages
    assert kernel.target == "sm_80"


def test_of_several_kernels_one_is_named(tmp_path: Path) -> None:
    out = tmp_path / "ring.ptx"
    assert command.main(["compile", "--no-check", str(RING), "--target", "sm_80", "-o", str(out)]) == 0
    assert tileas.load(out, function="scale").name == "scale"
    for load in (lambda: tileas.load(out), lambda: tileas.compile(RING, target="sm_80", check=False)):
        with pytest.raises(InputError, match="say by function= which kernel: scale, double_buffered"):
            load()
    with pytest.raises(InputError, match="there is no kernel 'none'; there are: scale, double_buffered"):
        tileas.load(out, function="none")


def test_files_that_are_no_kernels_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this is no machine code: its name ends with one of \.ll, \.ptx, \.cubin"):
        tileas.load(tmp_path / "gemm.mlir")
    with pytest.raises(FileNotFoundError, match="no such file") as caught:
        tileas.load(tmp_path / "absent.cubin")
    assert isinstance(caught.value, tileas.Error)
    (tmp_path / "a.ptx").write_text("")
    with pytest.raises(FileNotFoundError, match=r"a\.json: error: no such file"):
        tileas.load(tmp_path / "a.ptx")
    for text in ("", "{}", "[]", '{"program": {"name": "a", "text": "", "options": {"target": "sm_80"}}}'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(InputError, match=r"a\.json: error: this is no launch contract"):
            tileas.load(tmp_path / "a.ptx")


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        ("nothing", {}, r"^<text>:1:1: error"),
        (COPY, {"target": "sm_70"}, "'sm_70' is too old"),
        (COPY, {"target": "sm_80", "threads": 0}, "a block has 1 to 1024 threads"),
        ("func.func private @f()", {"target": "sm_80"}, "there is no kernel"),
        (GEMM, {"target": "sm_90", "check": False}, "help: use sm_90a"),
        ("absent.mlir", {}, "absent.mlir: error: no such file"),
    ],
)
def test_what_cannot_be_compiled_is_one_error(program: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(tileas.Error, match=said):
        tileas.compile(program, **options)


def test_what_a_pass_leaves_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code is made without a look at the module behind each pass, unless something fails."""
    apply = MaterializeAsyncPass.apply

    def leaving_something_wrong(step: MaterializeAsyncPass, ctx: Context, op: ModuleOp) -> None:
        apply(step, ctx, op)
        function, _ = find_function(op, None)
        last = function.regions[0].block.last_op
        assert last is not None
        last.detach()

    monkeypatch.setattr(MaterializeAsyncPass, "apply", leaving_something_wrong)
    with pytest.raises(InputError, match="terminator"):
        tileas.compile(GEMM, target="sm_90a", check=False, cache=False)


def test_a_program_names_its_grid_only_where_ids_are_plain_coordinates() -> None:
    text = GEMM.read_text()
    other = text.replace("tiled_store %c[%row, %col]", "tiled_store %c[%moved, %col]").replace(
        "  %product", "  %moved = arith.addi %row, %c1 : index\n  %product"
    )
    assert tileas.compile(text, target="sm_90a", check=False).contract.programs is not None
    assert tileas.compile(other, target="sm_90a", check=False).contract.programs is None
    function, _ = find_function(tileas.parse(READS_A_REGISTER), None)
    assert program_axes(function) is None


READS_A_REGISTER = """
func.func @f(%a: memref<?xi32>, %i: index) {
  %x = nvvm.read.ptx.sreg.ctaid.x : i32
  memref.store %x, %a[%i] : memref<?xi32>
  func.return
}
"""
