"""
Code of single threads for NVIDIA's GPUs, in which one op that orders threads is left out or altered: a check finds it.

What it does not find has to be as right as the program: a second judge (`trace_order`) finds every conflict ordered in
runs of several orders, and the numbers are right; and there has to be a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.mutated_threads import SYNCHRONISING, Mutation, mutated, mutations
from tests.support.scheduled_kernels import Kernel
from tests.support.thread_kernels import BY_NAME, threads_of
from tests.support.trace_order import Accesses, disorders
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

KERNELS = ("gemm_64x64x16", "elementwise", "attention_64", "layer_norm", "reduction", "chain_of_three_agents")
"""The last with queues: an agent fills one from what it takes from another."""
STRATEGIES, TARGETS = ("warp-specialize", "unspecialize"), ("sm_90a", "sm_80")
PARTS = 32
"""Each takes one of so many changes of its kernel."""
CASES = list(product(KERNELS, STRATEGIES, TARGETS, range(PARTS)))
TURNS = ([5], [2], [6], [9], [3], [1], [4], [0])
"""Numbers of turns, those first that show most."""
RUNS = ((5, "lazy"), (2, "eager"), (3, "random"), (1, "lazy"))

WAITS, BARRIERS = ("mbarrier.try_wait.parity", "mbarrier.test.wait"), ("barrier", "barrier0")
WGMMA_WAIT, WGMMA_COMMIT = "wgmma.wait.group.sync.aligned", "wgmma.commit.group.sync.aligned"
REASONS = {
    **dict.fromkeys(
        [(op, kind) for op in WAITS for kind in ("drop", "beside")],
        "the phase is over by then: the slot is used for the first time, or the wait for its neighbour says the same",
    ),
    ("mbarrier.arrive", "drop"): "nobody waits for the phase any more",
    (WGMMA_COMMIT, "drop"): "the next group takes the product, and is waited for before anybody looks at it",
    **dict.fromkeys(
        [(WGMMA_WAIT, kind) for kind in ("drop", "younger")],
        "nothing is under way, or another wait comes before anybody looks",
    ),
    **dict.fromkeys(
        [("fence.proxy", kind) for kind in ("drop", "proxy")],
        "nobody fills the slot again, or another fence stands between the accesses",
    ),
    (
        "fence.mbarrier.init",
        "drop",
    ): "a proxy fence of the thread that makes the barriers comes before their first signal",
    **dict.fromkeys(
        [(op, "drop") for op in BARRIERS],
        "it stands beside another, or the bytes behind it are used for the first time",
    ),
}
"""Op and change -> why it may be as right as the program."""


def what(mutation: Mutation) -> tuple[str, str]:
    return mutation.op.removeprefix("nvvm."), mutation.kind


def verdict(module: ModuleOp) -> Verdict | None:
    """A violation at some number of turns, else whether all are safe; None where the machine takes no such program."""
    open_ones = False
    for turns in TURNS:
        try:
            found = check(module, trip_counts=turns, prove=False, timeout=5).verdict
        except UnsupportedError:
            return None
        if found is Verdict.VIOLATION:
            return found
        open_ones |= found is Verdict.UNDECIDED
    return Verdict.UNDECIDED if open_ones else Verdict.SAFE


def judged(module: ModuleOp, kernel: Kernel) -> Iterator[str]:
    """What the second judge finds in some runs, and what is wrong with their numbers."""
    for turns, order in RUNS:
        log = Accesses()
        outcome = run(module, "f", kernel.arguments(turns), order=order, seed=turns, observer=log)
        if not outcome.finished:
            yield f"{turns} turns: stuck"
            return
        yield from (f"{turns} turns: {found}" for found in disorders(outcome, log.found))
        expected = kernel.reference(kernel.arguments(turns))
        agree = np.array_equal if kernel.is_exact else partial(np.allclose, rtol=2.0**-10, atol=2.0**-10)
        if not agree(outcome.arrays["c"].astype(np.float64), expected):
            yield f"{turns} turns: other numbers"


@each("case", CASES, 3, programs=3, ids=lambda case: "-".join(map(str, case)))
def test_what_a_check_accepts_is_as_right_as_the_program(case: tuple[str, str, str, int]) -> None:
    name, strategy, target, part = case
    program = threads_of(name, strategy, target)
    for mutation in mutations(program)[part::PARTS]:
        changed = mutated(program, mutation)
        if verdict(changed) not in (None, Verdict.VIOLATION):
            assert what(mutation) in REASONS, mutation
            assert not list(judged(changed, BY_NAME[name])), mutation


@pytest.mark.parametrize("name", ["elementwise", "layer_norm", "reduction", "stencil", "three_loads"])
def test_in_one_agent_no_proxy_fence_could_go(name: str) -> None:
    """In an epilogue nothing is filled again, so nobody fences what was read there."""
    program = threads_of(name, "unspecialize", "sm_90a")
    fences = [mutation for mutation in mutations(program) if what(mutation) == ("fence.proxy", "drop")]
    assert fences
    assert [verdict(mutated(program, fence)) for fence in fences] == [Verdict.VIOLATION] * len(fences)


# Both judges ----------------------------------------------------------------------------------------------------------


def test_both_judges_accept_the_kernels() -> None:
    for strategy, target in zip(STRATEGIES, TARGETS, strict=True):
        program = threads_of("reduction", strategy, target)
        assert verdict(program) is Verdict.SAFE
        assert not list(judged(program, BY_NAME["reduction"]))


@pytest.mark.parametrize(
    ("op", "kind", "number", "found"),
    [
        ("fence.mbarrier.init", "drop", 0, "signals a barrier that no fence has shown"),
        ("fence.proxy", "drop", 0, "llvm.store and nvvm.cp.async.bulk.tensor.global.shared.cta"),
        ("barrier", "drop", 0, "llvm.store and nvvm.cp.async.bulk.tensor.global.shared.cta"),
        ("mbarrier.try_wait.parity", "drop", 0, "stuck"),
        ("mbarrier.try_wait.parity", "drop", 2, "nvvm.cp.async.bulk.tensor.shared.cluster.global and nvvm.wgmma"),
        ("mbarrier.arrive", "drop", 0, "stuck"),
        ("mbarrier.arrive.expect_tx", "fewer bytes", 0, ""),
        (WGMMA_WAIT, "drop", 0, "other numbers"),
        ("cp.async.bulk.wait_group", "drop", 0, "is waited for by nobody"),
    ],
)
def test_both_judges_find_what_is_wrong(op: str, kind: str, number: int, found: str) -> None:
    program = threads_of("gemm_64x64x16", "warp-specialize", "sm_90a")
    alike = [mutation for mutation in mutations(program) if what(mutation) == (op, kind)]
    changed = mutated(program, alike[number])
    assert verdict(changed) is Verdict.VIOLATION
    assert any(found in line for line in judged(changed, BY_NAME["gemm_64x64x16"]))


def test_both_judges_find_that_nothing_publishes_the_barriers() -> None:
    """On `sm_80`, where no warp waits for registers, the second judge sees a wait that does not know of its barrier."""
    changed = without_the_first_barrier("sm_80")
    assert verdict(changed) is Verdict.VIOLATION
    found = "before its first phase does not know of its barrier"
    assert any(found in line for line in judged(changed, BY_NAME["gemm_64x64x16"]))


def test_waiting_for_registers_publishes_no_barriers() -> None:
    """
    On `sm_90a` the products' warps get their registers once all that load have given theirs, so the barriers are there
    in every run. Nothing says that it orders memory (PTX ISA, "setmaxnreg"): a check still finds a race.
    """
    changed = without_the_first_barrier("sm_90a")
    assert not list(judged(changed, BY_NAME["gemm_64x64x16"]))
    assert verdict(changed) is Verdict.VIOLATION


def without_the_first_barrier(target: str) -> ModuleOp:
    program = threads_of("gemm_64x64x16", "warp-specialize", target)
    first, *_ = (mutation for mutation in mutations(program) if what(mutation) == ("barrier0", "drop"))
    return mutated(program, first)


def test_every_op_that_orders_threads_is_changed() -> None:
    """
    What the kernels have of `nvvm` besides these computes, moves numbers, or reads registers. PTX that is changed is
    refused (`tests/machine/test_register_products.py`).
    """
    names = {op.name for k in KERNELS for s in STRATEGIES for op in threads_of(k, s, "sm_90a").walk()}
    others = {name for name in names if name.startswith("nvvm.")} - {kind.name for kind in SYNCHRONISING}
    assert others == {
        *("nvvm.read.ptx.sreg.tid.x", "nvvm.shfl.sync", "nvvm.setmaxregister"),
        *("nvvm.wgmma.mma_async", "nvvm.inline_ptx"),
        *("nvvm.cp.async.shared.global", "nvvm.cp.async.bulk.tensor.global.shared.cta"),
    }
