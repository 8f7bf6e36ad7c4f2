"""The text of `nvvm.inline_ptx` that is a product of `wgmma`: what is built is recognised, and nothing else is."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32, i64

from tests.support.ir import parse
from tests.support.mlir import mlir_opt
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.register_products import RegisterProduct
from tileas_xdsl.dialects.nvvm.thread import InlinePtxOp

PRODUCTS = [
    RegisterProduct(8, WGMMAType.F16, 1, True),
    RegisterProduct(16, WGMMAType.BF16, 2, False),
    RegisterProduct(256, WGMMAType.F16, 4, False),
]
ONE = PRODUCTS[0]


def built(product: RegisterProduct) -> InlinePtxOp:
    values = test.TestOp(result_types=[product.sums, *[i32] * 4 * product.steps, *[i64] * product.steps]).results
    a = [values[1 + 4 * step : 5 + 4 * step] for step in range(product.steps)]
    return product.built(values[0], a, values[1 + 4 * product.steps :])


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_what_is_built_is_recognised(product: RegisterProduct) -> None:
    assert RegisterProduct.of(built(product)) == product


def test_the_text() -> None:
    """PTX ISA, wgmma.mma_async: D, A, the descriptor of B, scale-d, the signs of A and B, whether B is turned."""
    text = RegisterProduct(8, WGMMAType.BF16, 2, False).text
    assert text == (
        "{ .reg .pred p; setp.ne.b32 p, 1, 0; "
        "mov.b32 $0, $4; mov.b32 $1, $5; mov.b32 $2, $6; mov.b32 $3, $7; wgmma.fence.sync.aligned; "
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 1; "
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$13, $14, $15, $16}, $17, p, 1, 1, 1; }"
    )


CHANGES = {
    "no fence": ("wgmma.fence.sync.aligned; ", ""),
    "a register that is not moved": ("mov.b32 $1, $5; ", ""),
    "another A": ("{$8, $9, $10, $11}", "{$9, $8, $10, $11}"),
    "another descriptor": ("$12, p", "$11, p"),
    "a sign": ("p, 1, 1, 0;", "p, -1, 1, 0;"),
    "nothing added": ("p, 1, 0;", "p, 0, 0;"),
    "two types": (".f16.f16", ".f16.bf16"),
    "another width": ("m64n8k16", "m64n16k16"),
    "a wait": ("; }", "; wgmma.wait_group.sync.aligned 0; }"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_text_is_not_recognised(change: str) -> None:
    old, new = CHANGES[change]
    op = built(ONE)
    assert old in ONE.text
    changed = InlinePtxOp(ONE.text.replace(old, new, 1), op.read_only_args, result_types=[ONE.sums])
    assert RegisterProduct.of(changed) is None


def test_other_operands_are_not_recognised() -> None:
    op, more = built(ONE), built(PRODUCTS[1])
    given = list(op.read_only_args)
    others = [
        InlinePtxOp(ONE.text, given[:-1], result_types=[ONE.sums]),
        InlinePtxOp(ONE.text, [*given[:-1], given[1]], result_types=[ONE.sums]),
        InlinePtxOp(ONE.text, [more.read_only_args[0], *given[1:]], result_types=[ONE.sums]),
        InlinePtxOp(ONE.text, given, result_types=[PRODUCTS[1].sums]),
        InlinePtxOp(ONE.text, given[1:], given[:1]),
        InlinePtxOp("mov.b32 $0, $1;", given[1:2], result_types=[i32]),
    ]
    assert [RegisterProduct.of(each) for each in others] == [None] * len(others)


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_mlir_reads_it_as_an_op_that_it_knows(product: RegisterProduct) -> None:
    """And gives it back as it is; what `--convert-nvvm-to-llvm` makes of it has the same text and no tied operands."""
    types = ", ".join(map(str, product.types))
    names = [f"%v{number}" for number in range(len(product.types))]
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, product.types, strict=True))
    line = f'nvvm.inline_ptx "{product.text}" ro({", ".join(names)} : {types}) -> {product.sums}'
    text = f"llvm.func @f({arguments}) -> {product.sums} {{\n %d = {line}\n llvm.return %d : {product.sums}\n}}"
    for given in (mlir_opt(text), mlir_opt(str(parse(text)))):
        (op,) = (op for op in parse(given).walk() if isinstance(op, InlinePtxOp))
        assert RegisterProduct.of(op) == product
    lowered = mlir_opt(text, "--convert-nvvm-to-llvm")
    (found,) = re.findall(r'llvm.inline_asm .* "(\{.*\})", "([^"]*)"', lowered)
    letters = (
        ["=f"] * (product.columns // 2) + ["f"] * (product.columns // 2) + ["r", "r", "r", "r", "l"] * product.steps
    )
    assert found == (product.text, ",".join(letters))
