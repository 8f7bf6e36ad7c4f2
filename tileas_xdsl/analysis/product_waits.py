"""
Asynchronous products in a loop body, and the waits for them.

    %s, %t = nv_tileas.async.dot %a, %b, %acc       adds to the tile behind %acc, in place
    nv_tileas.async.wait %t                         from here on the tile may be read
    %r = arith.mulf %s, %two                        a reader

Products on one tile are performed in order, so a product that adds to it again needs no wait; every other reader does,
and it must have read before the next product adds to the tile. Products that hand one tile on, from one to the next or
from iteration to iteration, are one *chain*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.awaited import works_behind
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp


@dataclass(frozen=True)
class ProductChain:
    """The products on one tile, in program order, and the waits of the body for any of them."""

    products: tuple[AsyncDotOp, ...]
    waits: tuple[AsyncWaitOp, ...]

    def values_read_by(self, op: Operation, values: LoopValues) -> bool:
        """Whether `op` takes the tile of the chain as a value, other than to add to it."""
        if isinstance(op, AsyncDotOp):
            taken: Sequence[SSAValue] = (op.a, op.b, *op.extras)
        else:
            taken = values.read_by(op)
        return any(self._makes(value, values) for value in taken if values.is_own(value))

    def _makes(self, value: SSAValue, values: LoopValues) -> bool:
        result = values.origin_of(value).result
        return result is not None and any(result is product.d for product in self.products)


def product_chains(values: LoopValues) -> list[ProductChain]:
    """The chains of the body, by their first products. Linear in the body, but for the chains' waits."""
    products = [op for op in values.ops if isinstance(op, AsyncDotOp)]
    if not products:
        return []
    leaders = _leaders(products, values)
    awaited = {op: works_behind(op.token) for op in values.ops if isinstance(op, AsyncWaitOp)}
    chains: list[ProductChain] = []
    for leader in dict.fromkeys(leaders.values()):
        members = tuple(product for product in products if leaders[product] is leader)
        waits = tuple(wait for wait, works in awaited.items() if works and any(work in members for work in works))
        chains.append(ProductChain(members, waits))
    return chains


def product_waits(chains: Sequence[ProductChain]) -> Mapping[Operation, None]:
    """The waits that complete products and nothing else."""
    found: dict[Operation, None] = {}
    for chain in chains:
        for wait in chain.waits:
            works = works_behind(wait.token)
            if works is not None and all(isinstance(work, AsyncDotOp) for work in works):
                found[wait] = None
    return found


def _leaders(products: Sequence[AsyncDotOp], values: LoopValues) -> dict[AsyncDotOp, AsyncDotOp]:
    """For each product the first of its chain: accumulators are followed from product to product."""
    leaders = {product: product for product in products}

    def find(product: AsyncDotOp) -> AsyncDotOp:
        while leaders[product] is not product:
            product = leaders[product]
        return product

    for product in products:
        before = values.origin_of(product.c).result if values.is_own(product.c) else None
        if before is not None and isinstance(before.op, AsyncDotOp) and before.op in leaders:
            first, second = sorted((find(before.op), find(product)), key=values.position.__getitem__)
            leaders[second] = first
    return {product: find(product) for product in products}
