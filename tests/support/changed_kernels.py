"""
The same kernel, written otherwise: values renamed, independent ops in another order, one more load chain.

Nothing of this matters to a pass that looks at ops and dependences; all of it would to one that recognises kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

MORE_ARGUMENTS = "%n: index, %extra: memref<?x?xf32>, %twice: memref<?x?xf32>)"

ONE_MORE_CHAIN = """
    %extra_tile = nv_tileaa.tiled_load %extra[{0}, %c0] : (memref<?x?xf32>, index, index) -> tensor<16x16xf32, #smem>
    %extra_value = nv_tileas.convert_layout %extra_tile : (tensor<16x16xf32, #smem>) -> tensor<16x16xf32>
    %extra_twice = arith.addf %extra_value, %extra_value : tensor<16x16xf32>
    nv_tileaa.tiled_store %twice[{0}, %c0], %extra_twice : (memref<?x?xf32>, tensor<16x16xf32>, index, index) -> ()"""
"""Doubles tile after tile of `%extra` into `%twice`, through a ring of its own."""


def with_one_more_load_chain(text: str) -> str:
    """The kernel of `text` with a third (second, fourth, ...) load chain at the top of its loop."""
    text = text.replace("%n: index)", MORE_ARGUMENTS)
    header = re.search(r"scf\.for (%\w+) =[^{]*\{", text)
    assert header is not None
    return text[: header.end()] + ONE_MORE_CHAIN.format(header[1]) + text[header.end() :]


def rename_values(module: ModuleOp, prefix: str | None = None) -> None:
    """Every value gets another name, in an order that is not that of the program; None takes all names away."""
    values = list(_values(module))
    Random(5).shuffle(values)
    for number, value in enumerate(values):
        value.name_hint = None if prefix is None else f"{prefix}{number}"


def _values(module: ModuleOp) -> Iterator[SSAValue]:
    for op in module.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def permute_loop(module: ModuleOp, seed: int) -> None:
    """
    The ops of the loop in another order in which each still comes behind those whose results it uses. The kernels load
    from other arrays than they store to, and store once at most, so nothing else orders their ops.
    """
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    body = loop.body.block
    last = body.last_op
    assert last is not None
    draw = Random(seed)
    waiting = list(body.ops)[:-1]
    for op in waiting:
        op.detach()
    while waiting:
        inside = set(waiting)
        op = draw.choice([op for op in waiting if not _used_by(op) & inside])
        waiting.remove(op)
        body.insert_op_before(op, last)


def _used_by(op: Operation) -> set[Operation]:
    """The ops whose results `op`, or an op inside it, uses."""
    owners = (operand.owner for inner in op.walk() for operand in inner.operands)
    return {owner for owner in owners if not isinstance(owner, Block)}
