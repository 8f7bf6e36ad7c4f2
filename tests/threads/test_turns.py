"""What stands between two turns of a loop of products: no number that the next product does not need."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation

from tests.support.ir import ROOT
from tests.support.threads_and_tiles import AGENTS, lowered
from tileas_xdsl.dialects.nvvm.thread import ShflOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaMmaAsyncOp

PRODUCT = (ROOT / "tests" / "kernels" / "gemm_128x64x16.mlir").read_text()
WORD_UP = (arith.ExtUIOp, arith.OrIOp, arith.ConstantOp)
"""What makes a descriptor of its low word: for the assembler these are two halves of a register pair."""


@pytest.fixture(scope="module", params=[4, 8], ids=["one warpgroup", "two warpgroups"])
def turn(request: pytest.FixtureRequest) -> Block:
    """The body of the loop of products."""
    return _loop_of(lowered(PRODUCT, AGENTS, request.param)).body.block


def _loop_of(threads: ModuleOp) -> scf.ForOp:
    loops = [op for op in threads.walk() if isinstance(op, scf.ForOp) and _first(op.body.block, WgmmaMmaAsyncOp)]
    assert len(loops) == 1
    return loops[0]


def _first(block: Block, kind: type[Operation]) -> Operation | None:
    return next((op for op in block.ops if isinstance(op, kind)), None)


def _needed(turn: Block) -> list[Operation]:
    """What the first product needs that is computed in its turn."""
    product = _first(turn, WgmmaMmaAsyncOp)
    assert isinstance(product, WgmmaMmaAsyncOp)
    found: dict[Operation, None] = {}
    left = [product.descriptor_a, product.descriptor_b]
    while left:
        owner = left.pop().owner
        if isinstance(owner, Operation) and owner.parent is turn and owner not in found:
            found[owner] = None
            left += owner.operands
    return list(found)


def test_a_descriptor_is_a_multiple_of_the_slot(turn: Block) -> None:
    """Of each of the two operands: a product and a sum of 32 bits, then the word above."""
    computed = [op for op in _needed(turn) if not isinstance(op, (*WORD_UP, arith.IndexCastOp))]
    assert sorted(op.name for op in computed) == [*["arith.addi"] * 2, *["arith.muli"] * 2]
    assert {op.results[0].type for op in computed} == {i32}


def test_the_next_slot_is_computed_under_the_product(turn: Block) -> None:
    ops = list(turn.ops)
    product = next(number for number, op in enumerate(ops) if isinstance(op, WgmmaMmaAsyncOp))
    later = [number for number, op in enumerate(ops) if isinstance(op, arith.SelectOp)]
    assert later, "slot and parity of each ring"
    assert min(later) > product


def test_the_warpgroup_is_known_before_the_loop(turn: Block) -> None:
    assert not any(isinstance(op, ShflOp) for op in turn.walk())
