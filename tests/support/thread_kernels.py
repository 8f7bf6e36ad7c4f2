"""The kernels of the field as the code of single threads: through the driver, then the passes that `threads` adds."""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import parse, run_passes
from tests.support.scheduled_kernels import KERNELS, Kernel
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.machine.running import run

CONVERT = "convert-nv-tileas-to-llvm"
BY_DESCRIPTOR = "lower-tma-load-store-to-async,tileas-attach-tma-desc-args"
"""The copies of TMA by descriptors that are arguments, as `CONVERT` wants them."""
PASS = f"{BY_DESCRIPTOR},{CONVERT}"
"""From tiles to threads; options behind it are those of `CONVERT`."""
DOWN = "convert-to-llvm{threads=128},convert-nvvm-to-llvm"
"""From threads to LLVM; the function says itself how many threads it has."""
BY_NAME = {kernel.name: kernel for kernel in KERNELS}


def driver_of(target: str, strategy: str) -> str:
    """The passes from tiles to tiles with layouts, schedules and pipelines."""
    return f"tileir{{compute-capability={target} pipeline-strategy={strategy} layouts=true}}"


@cache
def tiles_of(name: str, strategy: str = "unspecialize", target: str = "sm_80") -> ModuleOp:
    """A kernel as the driver leaves it; nobody changes it."""
    return run_passes(parse(BY_NAME[name].text), driver_of(target, strategy))


@cache
def copies_of(name: str, strategy: str, target: str) -> ModuleOp:
    """The tiles of a kernel, with what TMA copies by descriptors; nobody changes it."""
    return run_passes(tiles_of(name, strategy, target).clone(), BY_DESCRIPTOR)


@cache
def threads_of(name: str, strategy: str = "unspecialize", target: str = "sm_80") -> ModuleOp:
    """The code of its threads; nobody changes it."""
    module = run_passes(tiles_of(name, strategy, target).clone(), f"{PASS}{{compute-capability={target}}}")
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
