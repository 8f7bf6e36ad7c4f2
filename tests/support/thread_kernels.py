"""The kernels of the field as the code of single threads: through the driver, then the passes that `threads` adds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.queue_kernels import QUEUE_KERNELS
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.machine.running import run
from tileas_xdsl.pipelines import FAMILY, TARGET

BY_DESCRIPTOR = "tileas-single-steps,lower-tma-load-store-to-async,tileas-attach-tma-desc-args"
"""Stages in single steps, and the copies of TMA by descriptors that are arguments, as the passes behind want them."""
TO_BARRIERS = (
    *("convert-nv-tile-func-to-llvm", "tileas-place-accumulators", "tileas-place-tiles", "tileas-order-accesses"),
    "convert-pipeline-to-nvvm",
)
"""From tiles with pipelines to tiles with mbarriers."""
TO_THREADS = (*TO_BARRIERS, "convert-nv-tileas-to-llvm")
"""From there to threads."""
DOWN = "convert-to-llvm{threads=128},convert-nvvm-to-llvm"
"""From threads to LLVM; the function says itself how many threads it has."""
BY_NAME = {kernel.name: kernel for kernel in (*KERNELS, *QUEUE_KERNELS)}


def driver_of(target: str, strategy: str) -> str:
    """The passes from tiles to tiles with layouts, schedules and pipelines."""
    options = f"compute-capability={target} pipeline-strategy={strategy} layouts=true"
    return f"tileas-fold-views,tileas-queue-to-pipeline,tileas-split-agent-groups,tileir{{{options}}}"


def passes(names: Sequence[str], target: str = "sm_80") -> str:
    """Passes one behind the other, with the target for those that take one."""
    takes_target = {member.name for member in FAMILY if TARGET[0] in member.options}
    return ",".join(f"{name}{{compute-capability={target}}}" if name in takes_target else name for name in names)


def to_threads(target: str = "sm_80") -> str:
    """The passes from tiles to threads."""
    return f"{BY_DESCRIPTOR},{passes(TO_THREADS, target)}"


def convert(target: str = "sm_80") -> str:
    """Those behind the descriptors."""
    return passes(TO_THREADS, target)


@cache
def tiles_of(name: str, strategy: str = "unspecialize", target: str = "sm_80") -> ModuleOp:
    """A kernel as the driver leaves it; nobody changes it."""
    return run_passes(parse(BY_NAME[name].text), driver_of(target, strategy))


@cache
def copies_of(name: str, strategy: str, target: str) -> ModuleOp:
    """The tiles of a kernel, with what TMA copies by descriptors; nobody changes it."""
    return run_passes(tiles_of(name, strategy, target).clone(), BY_DESCRIPTOR)


@cache
def barriers_of(name: str, strategy: str = "unspecialize", target: str = "sm_80") -> ModuleOp:
    """A kernel between the passes: tiles, and mbarriers in place of pipelines; nobody changes it."""
    module = run_passes(copies_of(name, strategy, target).clone(), passes(TO_BARRIERS, target))
    module.verify()
    verify_dominance(module)
    return module


def assert_no_code(module: ModuleOp, names: Sequence[str], target: str, match: str) -> None:
    """One of the passes refuses a module, by such words, and leaves untouched what it was given."""
    before, said = _refused(module, names, target)
    assert re.search(match, said), said
    assert str(module) == before


def _refused(module: ModuleOp, names: Sequence[str], target: str) -> tuple[str, str]:
    """What the pass was given that refuses a module, and what it says."""
    for name in names:
        before = str(module)
        try:
            run_passes(module, passes([name], target))
        except RefusedError as error:
            return before, str(error)
    pytest.fail("no pass refuses it")


@cache
def threads_of(name: str, strategy: str = "unspecialize", target: str = "sm_80") -> ModuleOp:
    """The code of its threads; nobody changes it."""
    module = run_passes(barriers_of(name, strategy, target).clone(), passes(TO_THREADS[-1:], target))
    module.verify()
    verify_dominance(module)
    return module


def assert_computes(module: ModuleOp, kernel: Kernel, trips: int, order: str) -> None:
    """The threads compute what the kernel is for."""
    found = run(module, "f", kernel.arguments(trips), order=order, seed=trips).arrays["c"]
    expected = kernel.reference(kernel.arguments(trips))
    if kernel.is_exact:
        assert np.array_equal(found.astype(np.float64), expected)
    else:
        assert np.allclose(found, expected, rtol=2.0**-10, atol=2.0**-10)
