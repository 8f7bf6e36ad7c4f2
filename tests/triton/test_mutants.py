"""Every change that makes a right kernel wrong is found, and no other is reported; see `mutants`."""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import VerifyException

from tests.support.corpora import each
from tests.triton.mutants import Mutant, goes_wrong, kernels, mutants
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError

ALL = list(mutants())
SOME = 16


def test_there_are_enough() -> None:
    assert len(list(kernels())) >= 20
    assert len(ALL) > 500
    assert {word for mutant in ALL for word in mutant.what.split() if word.startswith("'")} >= {
        *("'ttng.arrive_barrier'", "'ttng.wait_barrier'", "'ttng.fence_async_shared'", "'ttng.tc_gen5_commit'"),
        *("'ttg.memdesc_index'", "'ttg.async_wait'", "'ttng.warp_group_dot_wait'", "'ttng.async_tma_store_wait'"),
    }


def accepts(mutant: Mutant) -> bool:
    """Whether the checker finds nothing in any of the calls. It may refuse a kernel, or leave it undecided."""
    try:
        reports = [check(mutant.module, args=call, prove=False, timeout=None) for call in mutant.calls]
    except UnsupportedError:
        return False
    return all(report.verdict is Verdict.SAFE for report in reports)


@each("mutant", ALL, SOME, ids=lambda mutant: f"{mutant.kernel} {mutant.what}")
def test_a_mutant_is_reported_if_and_only_if_it_goes_wrong(mutant: Mutant) -> None:
    try:
        module = mutant.module
    except (VerifyException, UnsupportedError):
        pytest.skip("is no program")
    wrong = goes_wrong(module, mutant.calls)
    assert accepts(mutant) == (not wrong), f"{mutant.what}: {wrong or 'nothing goes wrong'}"
