"""Values carried through structured control flow (`transforms/rewriting/structure.py`), by itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.ir import parse, print_custom
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.transforms.rewriting.structure import Names, carry_through

FUNCTION = """
func.func @f(%n: index, %c: i1, %x: f32) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{body}
  func.return %c0 : index
}}"""

BEFORE_AND_AFTER = {
    "for": (
        "scf.for %i = %c0 to %n step %c1 {\n}",
        """%v = scf.for %i = %c0 to %n step %c1 iter_args(%v_1 = %c0) -> (index) {
             %next = arith.addi %v_1, %c1 : index
             scf.yield %next : index
           }""",
    ),
    "for with a value of its own": (
        "%r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {\nscf.yield %a : f32\n}",
        """%r, %v = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %v_1 = %c0) -> (f32, index) {
             %next = arith.addi %v_1, %c1 : index
             scf.yield %a, %next : f32, index
           }""",
    ),
    "if without else": (
        "scf.if %c {\n}",
        """%v = scf.if %c -> (index) {
             %next = arith.addi %c0, %c1 : index
             scf.yield %next : index
           } else {
             %next_1 = arith.addi %c0, %c1 : index
             scf.yield %next_1 : index
           }""",
    ),
    "while": (
        """%r = scf.while (%a = %x) : (f32) -> (f32) {
             scf.condition(%c) %a : f32
           } do {
           ^bb0(%d: f32):
             scf.yield %d : f32
           }""",
        """%r, %v = scf.while (%a = %x, %v_1 = %c0) : (f32, index) -> (f32, index) {
             %next = arith.addi %v_1, %c1 : index
             scf.condition(%c) %a, %next : f32, index
           } do {
           ^bb0(%d: f32, %v_2: index):
             %next_1 = arith.addi %v_2, %c1 : index
             scf.yield %d, %next_1 : f32, index
           }""",
    ),
    "execute_region": (
        "scf.execute_region {\nscf.yield\n}",
        """%v = scf.execute_region -> (index) {
             %next = arith.addi %c0, %c1 : index
             scf.yield %next : index
           }""",
    ),
    "index_switch": (
        "scf.index_switch %n\ncase 1 {\nscf.yield\n}\ndefault {\nscf.yield\n}",
        """%v = scf.index_switch %n -> index
           case 1 {
             %next = arith.addi %c0, %c1 : index
             scf.yield %next : index
           }
           default {
             %next_1 = arith.addi %c0, %c1 : index
             scf.yield %next_1 : index
           }""",
    ),
}

STRUCTURED = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.ExecuteRegionOp, scf.IndexSwitchOp)


def counted(body: str, names: Names) -> str:
    """The function with each block of its one structured op counted in a value that is carried, and returned."""
    module = parse(FUNCTION.format(body=body))
    (op,) = [op for op in module.walk() if isinstance(op, STRUCTURED)]
    zero, one = (constant.result for constant in module.walk() if isinstance(constant, arith.ConstantOp))

    def count(block: Block, entering: Sequence[SSAValue]) -> list[SSAValue]:
        terminator = block.last_op
        assert terminator is not None
        following = arith.AddiOp(entering[0], one)
        following.result.name_hint = "next"
        Rewriter.insert_op(following, InsertPoint.before(terminator))
        return [following.result]

    (behind,) = carry_through(op, [zero], count, names)
    assert isinstance(behind.type, IndexType)
    (end,) = [end for end in module.walk() if isinstance(end, ReturnOp)]
    end.operands = [behind]
    module.verify()
    verify_dominance(module)
    return print_custom(module)


@pytest.mark.parametrize("kind", BEFORE_AND_AFTER)
def test_every_structured_op_carries_a_value(kind: str) -> None:
    before, after = BEFORE_AND_AFTER[kind]
    expected = FUNCTION.format(body=after).replace("func.return %c0", "func.return %v")
    assert counted(before, "v") == print_custom(parse(expected))


@pytest.mark.parametrize(("names", "name"), [("v", "%v"), (["w"], "%w"), (None, "%0")])
def test_values_are_named_alike_or_each_or_not_at_all(names: Names, name: str) -> None:
    text = counted(BEFORE_AND_AFTER["for"][0], names)
    assert f"func.return {name} : index" in text


def test_attributes_and_names_of_the_op_stay() -> None:
    text = counted(
        "%r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {\nscf.yield %a : f32\n} {tag}", "v"
    )
    assert "%r, %v = scf.for" in text
    assert "{tag}" in text
