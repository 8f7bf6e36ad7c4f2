"""Registers become values: phis where definitions meet and are read, copies forwarded."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import text_of
from tileas_xdsl.readers.ptx.lowering import lower
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.ssa import to_values
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value
from tileas_xdsl.readers.ptx.syntax import Symbols


def values_of(body: str) -> list[Block]:
    module = parse(text_of(body))
    blocks = lower(Symbols(module, module.kernels[0]), 1).blocks
    to_values(blocks)
    return blocks


def phis_of(blocks: list[Block]) -> list[Step]:
    return [phi for block in blocks for phi in block.phis]


def stored_in(blocks: list[Block]) -> list[Operand]:
    return [step.stored[0] for block in blocks for step in block.steps if step.what == "store"]


LOOP = """
  mov.b32 %r1, 0;
L:
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 9;
  @%p1 bra L;
  st.shared.b32 [s], %r1;
"""


def test_what_a_loop_carries_is_one_phi():
    blocks = values_of(LOOP)
    (phi,) = phis_of(blocks)
    start, step = phi.operands
    assert start == Constant(0, 32)
    assert isinstance(step, Value)
    assert step.step is not None
    assert step.step.operands == [phi.results[0], Constant(1, 32)]
    assert stored_in(blocks) == [step]


def test_a_register_that_is_no_longer_read_has_no_phi():
    assert phis_of(values_of(LOOP.replace("[s], %r1", "[s], 7").replace("%r1, 9", "%r2, 9"))) != []
    diamond = "@%p1 bra L;\n mov.b32 %r1, 1;\nL: st.shared.b32 [s], 2;"
    assert phis_of(values_of(diamond)) == []
    assert len(phis_of(values_of(diamond.replace("[s], 2", "[s], %r1")))) == 1


def test_copies_are_forwarded_and_phis_of_one_value_removed():
    blocks = values_of(
        "mov.b32 %r1, %tid.x; @%p1 bra L; mov.b32 %r2, %r1; mov.b32 %r1, %r2; L: st.shared.b32 [s], %r1;"
    )
    assert phis_of(blocks) == []
    (stored,) = stored_in(blocks)
    assert isinstance(stored, Value)
    assert stored.step is not None
    assert stored.step.kind == "special"


def test_a_register_that_is_read_before_it_is_written_is_a_value_without_a_step():
    (stored,) = stored_in(values_of("st.shared.b32 [s], %r7;"))
    assert isinstance(stored, Value)
    assert stored.step is None


def test_a_phi_of_one_value_and_an_undefined_one_stays():
    (phi,) = phis_of(values_of("@%p1 bra L; mov.b32 %r1, %tid.x; L: st.shared.b32 [s], %r1;"))
    assert [operand.step is None for operand in phi.operands if isinstance(operand, Value)].count(True) == 1


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_nested_loops_have_a_phi_a_loop(turns: int):
    opened = "".join(f"L{n}: add.s32 %r1, %r1, {n};" for n in range(turns))
    closed = "".join(f"setp.lt.s32 %p1, %r1, {n}; @%p1 bra L{n};" for n in reversed(range(turns)))
    blocks = values_of(f"mov.b32 %r1, 0; {opened} {closed} st.shared.b32 [s], %r1;")
    assert len(phis_of(blocks)) == turns


def test_each_operand_of_a_phi_is_that_of_its_predecessor():
    body = "setp.eq.s32 %p1, %r9, 0; mov.b32 %r1, 1; @%p1 bra L; mov.b32 %r1, 2; L: st.shared.b32 [s], %r1;"
    blocks = values_of(body)
    (phi,) = phis_of(blocks)
    home = next(block for block in blocks if phi in block.phis)
    found = dict(zip(home.predecessors, phi.operands, strict=True))
    assert [found[block] for block in sorted(found, key=lambda block: block.number)] == [
        Constant(1, 32),
        Constant(2, 32),
    ]


def test_code_that_is_not_reached_goes():
    blocks = values_of("bra L; st.shared.b32 [s], 1; L: st.shared.b32 [s], 2;")
    assert stored_in(blocks) == [Constant(2, 32)]
