"""Each barrier and fence in the threads of kernels is needed, or has a reason (`python -m bench.mutate_threads`)."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from bench.mutation import orders
from bench.mutation.orders import KEPT, KERNELS, OF_HARDWARE, Need, dropped, without
from tests.support.corpora import each
from tests.support.threads_and_tiles import ONE_AGENT, VARIANTS, lowered

LEAST_KERNELS = 30
CASES = [(kernel, variant) for kernel in KERNELS for variant in VARIANTS]


def test_there_are_kernels_enough_and_no_reason_for_others() -> None:
    assert len(KERNELS) >= LEAST_KERNELS
    assert {kernel for kernel, _ in KEPT} <= set(KERNELS)
    assert {op.name for op in orders.ORDERS} >= OF_HARDWARE.keys()


@each("case", CASES, 6, ids="-".join)
def test_no_barrier_and_no_fence_is_redundant(case: tuple[str, str]) -> None:
    assert not [str(found) for found in dropped(*case) if found.need is Need.REDUNDANT]


@pytest.mark.parametrize("kernel", ["elementwise", "batched_gemm", "cross_entropy"])
def test_most_are_missed(kernel: str) -> None:
    found = list(dropped(kernel, VARIANTS[0]))
    assert found
    assert all(each.need is Need.NEEDED for each in found)


def test_a_fence_too_many_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two fences in a row each is redundant."""
    threads = lowered(orders.text_of("elementwise"), ONE_AGENT)
    fence = next(op for op in orders.orders(threads) if op.name == "nvvm.fence.proxy")
    block = fence.parent_block()
    assert block is not None
    block.insert_op_before(fence.clone(), fence)

    def given(_text: str, _variant: str) -> ModuleOp:
        return threads

    monkeypatch.setattr(orders, "lowered", given)
    assert Need.REDUNDANT in {found.need for found in dropped("elementwise", ONE_AGENT)}


def test_what_is_dropped_is_one_op() -> None:
    threads = lowered(orders.text_of("elementwise"), ONE_AGENT)
    before = len(orders.orders(threads))
    assert len(orders.orders(without(threads, 0))) == before - 1
