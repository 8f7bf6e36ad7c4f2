"""
What `nvvm.inline_ptx` does: a product of `wgmma` with A in registers, which is the one text with a meaning.

Its op, said in `dialects.nvvm.register_products`, is a fence, then a chain of instructions. Each warp of the warpgroup
looks at its sums and at A before, so they have to be there, and starts one work that reads B whole by the asynchronous
proxy. The sums belong to that work until a wait covers its group. A has no name that could be written anew meanwhile: a
value has no registers, and which ones it lies in, and for how long, is up to ptxas.

Any other text is refused, whatever it says: it may wait and signal, so nobody may assume that it only computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nvvm import wgmma
from tileas_xdsl.dialects.nvvm.register_products import K, RegisterProduct
from tileas_xdsl.dialects.nvvm.thread import InlinePtxOp
from tileas_xdsl.layouts.fragments import MmaShape
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.late_values import seen_by_agent
from tileas_xdsl.machine.core.meaning import issues
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.threads.by_thread import per_thread_of_warp
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.nvvm.wgmma import (
    matrix_behind,
    must_be_warpgroup,
    rank_in_warpgroup,
    reading,
)
from tileas_xdsl.machine.parts.instructions.warpgroup_products import start_warpgroup_product
from tileas_xdsl.machine.parts.register_works import RegistersInFlight, fence_registers
from tileas_xdsl.machine.parts.tensor_core import must_be_whole_warp
from tileas_xdsl.machine.tiles import warpgroup_products as products
from tileas_xdsl.machine.tiles.warp_fragments import matrix_of, of_lanes

ROWS = MmaShape(16, 8, K)
"""The rows of A that a warp has: its fragment is that of `mma.sync`."""


def _sums_and_a(op: Operation) -> Sequence[SSAValue]:
    """What a product adds to, and the registers that it multiplies: they do not say what it reads."""
    product = RegisterProduct.of(op) if isinstance(op, InlinePtxOp) else None
    if product is None:
        return ()
    sums, a, _ = product.split(op.operands)
    return [sums, *(register for part in a for register in part)]


@issues(InlinePtxOp, per_thread=TakesPerThread.ITSELF, data=_sums_and_a)
def _inline_ptx(agent: Agent, op: InlinePtxOp, *operands: Any) -> Answer:
    product = RegisterProduct.of(op)
    if product is None:
        raise UnsupportedError(op, "runs PTX that has no meaning here; write ops of nvvm for what it does")
    must_be_whole_warp(agent, op)
    must_be_warpgroup(agent, op)
    sums, a, words = product.split([seen_by_agent(operand, agent, op) for operand in operands])
    fence_registers(agent, op)
    known = [agent.known(word, op, "reads a matrix through") for word in words]
    extents = (product.columns, K)
    touches = [reading(agent, op, word, extents, k_major=product.b_is_k_major) for word in known]
    agent.makes_late_values()
    result = RegistersInFlight(op, wgmma.WgmmaWaitGroupSyncOp.name)
    kind = products.numbers_of(op, product.factors)

    def fetch() -> list[Any]:
        return [matrix_behind(agent, word, kind, extents, k_major=product.b_is_k_major) for word in known]

    def deliver(b: list[Any]) -> None:
        result.actual = _sum(agent, product, (sums, a, b), kind)

    with_data = agent.has_data
    if with_data:
        rank_in_warpgroup(agent, op)
    label = f"a product of 64 x {product.columns} x {product.steps * K}"
    work = start_warpgroup_product(agent, op, touches, label, fetch if with_data else None, deliver)
    return result.filled_by(agent, work)


def _sum(agent: Agent, product: RegisterProduct, numbers: tuple[Any, Any, Any], kind: Any) -> Any:
    """The registers of the warp behind the product; one k after the other is added, as in a chain of instructions."""
    sums, a, b = numbers
    held = [sums, *(register for part in a for register in part)]
    if any(lane is UNKNOWN for register in held for lane in of_lanes(register)):
        return UNKNOWN
    total = products.matrix_in(of_lanes(sums), product.columns)
    for registers, factor in zip(a, b, strict=True):
        total = products.summed(matrix_of(registers, kind, ROWS, "a", (ROWS.m, K)), factor, total)
    return per_thread_of_warp(agent, products.lanes_with(total))
