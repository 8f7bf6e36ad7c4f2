"""
What the ops of `wgmma` do (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").

The four warps of a warpgroup execute them together. Each of these agents starts a work of its own, which is taken to
read both matrices whole, and waits for its own groups. It computes the rows of the result that its registers hold.

Products of a warpgroup are one work for each of its warps, which reads both matrices whole: who may refill them has to
know of all four. With a swizzle whole rows of the pattern count as read, of which one step along K reads a part: a
write of the rest of those rows while it does so would be reported, and no kernel that we know does that. Each of these
works computes the 16 rows that its warp holds. The order of additions, which PTX leaves open, is a fixed one: the
accumulator, then k = 0, 1, 2, ..., each sum rounded to f32. tf32 is read as f32, since PTX promises at least 10 bits of
it.

Registers that `wgmma` adds to need a `wgmma.fence` before the first product, after ordinary instructions have touched
the result of an earlier one, and behind the op that gives an accumulator its name (`register_works`). Which
instructions write the registers no IR says, since a value has no registers: that they stand where that op does is
assumed, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tileas_xdsl.dialects.nvvm import wgmma
from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.layouts.descriptors import wgmma_operand
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.late_values import LateValue
from tileas_xdsl.machine.core.meaning import issues, suspends, sync
from tileas_xdsl.machine.core.op_facts import TakesPerThread
from tileas_xdsl.machine.core.standings import Answer
from tileas_xdsl.machine.core.threads.by_thread import per_thread_of_warp
from tileas_xdsl.machine.core.threads.hardware import WARP, PerThread
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.parts.instructions.warpgroup_products import (
    commit_warpgroup_products,
    start_warpgroup_product,
    wait_for_warpgroup_products,
)
from tileas_xdsl.machine.parts.register_works import RegistersInFlight, fence_registers, take_accumulator
from tileas_xdsl.machine.parts.tensor_core import must_be_whole_warp
from tileas_xdsl.machine.tiles import warpgroup_products as products
from tileas_xdsl.machine.tiles.matrix_operands import WORD, address_in_block, operand_view
from tileas_xdsl.machine.tiles.pointers import Addresses

WARPS = 4
"""Of a warpgroup."""
K_BYTES = 32
"""Of one row along K, whatever the elements are."""


@sync(wgmma.WgmmaFenceAlignedOp)
def _fence(agent: Agent, op: Operation) -> None:
    must_be_whole_warp(agent, op)
    fence_registers(agent, op)


@issues(wgmma.WgmmaMmaAsyncOp, per_thread=TakesPerThread.ITSELF, data=("inouts",))
def _mma(agent: Agent, op: wgmma.WgmmaMmaAsyncOp, accumulator: Any, a: Any, b: Any) -> Answer:
    must_be_whole_warp(agent, op)
    must_be_warpgroup(agent, op)
    take_accumulator(agent, op, accumulator)
    m, n, k = op.shape.m.data, op.shape.n.data, op.shape.k.data
    matrices = list(zip((a, b), (m, n), products.is_k_major(op), strict=True))
    if wgmma.A_IN_REGISTERS in op.attributes:
        _must_be_check(agent, op)
        del matrices[0]
    words = [agent.known(word, op, "reads a matrix through") for word, _, _ in matrices]
    touches = [
        reading(agent, op, word, (rows, k), k_major=k_major)
        for word, (_, rows, k_major) in zip(words, matrices, strict=True)
    ]
    agent.makes_late_values()
    result = RegistersInFlight(op, wgmma.WgmmaWaitGroupSyncOp.name)

    def deliver(factors: Any) -> None:
        result.actual = _sum(agent, op, factors, accumulator)

    fetch = _factors(agent, op, words) if agent.has_data else None
    work = start_warpgroup_product(agent, op, touches, f"a product of {m} x {n} x {k}", fetch, deliver)
    return result.filled_by(agent, work)


def _must_be_check(agent: Agent, op: Operation) -> None:
    machine = agent.machine
    if machine.with_data:
        raise UnsupportedError(op, "has A in registers that are not followed, so it has no numbers; check the program")


def must_be_warpgroup(agent: Agent, op: Operation) -> None:
    """Raises `UnsupportedError` where a block has fewer threads than a warpgroup."""
    threads = sum(member.size for member in agent.cohort)
    if agent.hardware is not None and threads < WARPS * WARP:
        raise UnsupportedError(op, f"takes a warpgroup of {WARPS * WARP} threads, and the block has {threads}")


def reading(agent: Agent, op: Operation, word: int, extents: tuple[int, int], *, k_major: bool) -> Touch:
    """The read of a matrix of (rows, K) elements through the descriptor `word`."""
    rows, k = extents
    shape = (rows, K_BYTES) if k_major else (k, rows * K_BYTES // k)
    view = operand_view(agent, op, word, wgmma_operand, *shape, k_major=k_major)
    return Touch(view, False, Proxy.ASYNC)


# Numbers --------------------------------------------------------------------------------------------------------------


def _factors(agent: Agent, op: wgmma.WgmmaMmaAsyncOp, words: list[int]) -> Callable[[], tuple[Any, Any]]:
    """What reads the rows of A that the warp multiplies, and B."""
    rank = rank_in_warpgroup(agent, op)
    kinds = [products.numbers_of(op, each.data) for each in (op.type_a, op.type_b)]
    extents = [(rows.data, op.shape.k.data) for rows in (op.shape.m, op.shape.n)]

    def matrix(which: int) -> Any:
        k_major = products.is_k_major(op)[which]
        return matrix_behind(agent, words[which], kinds[which], extents[which], k_major=k_major)

    return lambda: (products.rows_of_warp(matrix(0), rank), matrix(1))


def matrix_behind(
    agent: Agent, word: int, dtype: np.dtype[Any], extents: tuple[int, int], *, k_major: bool
) -> NDArray[Any]:
    """The matrix of `extents` that lies now where the descriptor `word` leads."""
    addresses = agent.shared(Addresses)
    operand = wgmma_operand(word & WORD)
    address = address_in_block(agent, operand)
    base = addresses.base(address)
    assert base is not None
    assert base.data is not None
    start = operand.address - addresses.offset(address)
    return products.matrix_behind(base.data, start, operand, dtype, extents, k_major=k_major)


def rank_in_warpgroup(agent: Agent, op: Operation) -> int:
    """Which warp of its warpgroup the agent is."""
    if agent.hardware is None:
        raise UndecidedError(
            op,
            "is executed by a warpgroup, and nothing says how many threads there are: say it by nvvm.reqntid",
        )
    if agent.size != WARP:
        raise UnsupportedError(op, f"takes warps of {WARP} threads, and this one has {agent.size}")
    return agent.hardware.first // WARP % WARPS


def _sum(agent: Agent, op: wgmma.WgmmaMmaAsyncOp, factors: tuple[Any, Any], accumulator: Any) -> Any:
    """The registers of the warp behind the product."""
    while isinstance(accumulator, LateValue):
        accumulator = accumulator.actual
    before = None
    if products.adds(op):
        lanes = accumulator.values if isinstance(accumulator, PerThread) else (accumulator,) * WARP
        if any(of_lane is UNKNOWN for of_lane in lanes):
            return UNKNOWN
        before = products.matrix_in(lanes, op.shape.n.data, packed=op.type_d.data is WGMMAType.F16)
    return per_thread_of_warp(agent, products.registers_with(products.multiplied(op, *factors, before), op))


# Waits ----------------------------------------------------------------------------------------------------------------


@sync(wgmma.WgmmaGroupSyncAlignedOp)
def _commit(agent: Agent, op: Operation) -> None:
    commit_warpgroup_products(agent, op)


@suspends(wgmma.WgmmaWaitGroupSyncOp)
def _wait(agent: Agent, op: Any) -> Answer:
    return wait_for_warpgroup_products(agent, op, op.group.value.data)
