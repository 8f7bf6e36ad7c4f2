"""How much the threads of the tests' kernels wait for each other: the ops of their code, which PTX has one by one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import astuple, dataclass

from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import each
from tests.support.ir import ROOT
from tests.support.thread_kernels import threads_of
from tileas_xdsl.diagnostics import op_name

TABLE = ROOT / "tests" / "threads" / "synchronisation.json"
"""Kernel, target and strategy -> the numbers of `Synchronisation`."""


ARRIVALS = ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "cp.async.mbarrier.arrive")


@dataclass(frozen=True)
class Synchronisation:
    """How many ops of each kind the code of a kernel has."""

    barriers: int
    """Of the block, and of agents."""
    fences: int
    """Between the two proxies."""
    products: int
    """Waits for groups of wgmma."""
    waits: int
    """At mbarriers."""
    arrivals: int

    @staticmethod
    def of(module: ModuleOp) -> Synchronisation:
        count = Counter(op_name(op).removeprefix("nvvm.") for op in module.walk())
        return Synchronisation(
            barriers=count["barrier0"] + count["barrier"],
            fences=count["fence.proxy"],
            products=count["wgmma.wait.group.sync.aligned"],
            waits=count["mbarrier.try_wait.parity"] + count["mbarrier.test.wait"],
            arrivals=sum(count[name] for name in ARRIVALS),
        )


EXPECTED = {key: Synchronisation(*numbers) for key, numbers in json.loads(TABLE.read_text()).items()}


@each("case", sorted(EXPECTED), 10)
def test_kernels_wait_no_more_than_they_have_to(case: str) -> None:
    name, target, strategy = case.split()
    assert astuple(Synchronisation.of(threads_of(name, strategy, target))) == astuple(EXPECTED[case])


MOST = Synchronisation(barriers=147, fences=58, products=80, waits=606, arrivals=606)
"""In all kernels together; a change of the table may lower the numbers."""


def test_no_kernel_has_come_to_wait_more() -> None:
    sums = [sum(numbers) for numbers in zip(*map(astuple, EXPECTED.values()), strict=True)]
    assert all(found <= most for found, most in zip(sums, astuple(MOST), strict=True))
