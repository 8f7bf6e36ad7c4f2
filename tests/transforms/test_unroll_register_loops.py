"""The roots of copies between registers are marked, and nothing else; what is printed MLIR reads."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tileas_xdsl.dialects.extensions.llvm_loops import UNROLL, LoopAnnotationAttr, LoopUnrollAttr
from tileas_xdsl.transforms.tileas.unroll_register_loops import UnrollRegisterLoopsPass

PASS = "tileas-unroll-register-loops"
TEXT = """
func.func @copies(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %c = nv_tileas.copy %a attributes {nv_tileas.root_reg_to_reg_copy_op} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = nv_tileas.copy %c : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %c, %d : tensor<8x8xf32>, tensor<8x8xf32>
}"""


def annotated(module: ModuleOp) -> list[object]:
    return [op.attributes.get("loop_annotation") for op in module.walk() if op.name == "nv_tileas.copy"]


def test_roots_are_marked_and_nothing_else() -> None:
    module = run_passes(parse(TEXT), PASS)
    assert annotated(module) == [UNROLL, None]
    for op in module.walk():
        op.attributes.pop("loop_annotation", None)
    assert print_custom(module) == print_custom(parse(TEXT))


def test_a_second_run_changes_nothing() -> None:
    once = run_passes(parse(TEXT), PASS)
    assert print_custom(run_passes(once.clone(), PASS)) == print_custom(once)


def test_the_annotation_goes_round_through_mlir() -> None:
    module = run_passes(parse(TEXT), PASS)
    assert "loop_annotation = #llvm.loop_annotation<unroll = <disable = false>>" in print_custom(module)
    returned = mlir_opt(print_generic(module), "--allow-unregistered-dialect", "--mlir-print-op-generic")
    assert parse(returned).is_structurally_equivalent(module)
    whole = "#llvm.loop_annotation<unroll = #llvm.loop_unroll<disable = true>>"
    (op,) = parse(f'"test.op"() {{a = {whole}}} : () -> ()').body.block.ops
    found = op.attributes["a"]
    assert isinstance(found, LoopAnnotationAttr)
    assert isinstance(found.unroll, LoopUnrollAttr)
    assert found.unroll.disable.value.data != 0


def test_the_description_is_that_of_tileas() -> None:
    assert UnrollRegisterLoopsPass.DESCRIPTION == "Unroll loops that access slices of register tensors"
