"""The kernels of `launches.py` on the machine: as Tile IR, as tiles and as threads, against numpy."""

from __future__ import annotations

import re
from copy import copy
from functools import cache

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import tileas_xdsl as tileas
from tests.cutile.launches import Array, Case, Launch
from tests.support.ir import ROOT
from tileas_xdsl.kernels.binding import names_of as names_in
from tileas_xdsl.kernels.on_machine import KernelRun
from tileas_xdsl.machine.arguments import argument_names, find_function
from tileas_xdsl.machine.running import Outcome, run
from tileas_xdsl.tools.python.cutile import ALIGNED, exported_kernel, module_of_kernel
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa import ConvertCudaTileToNvTileAAPass

WRITTEN = ROOT / "tests" / "cutile" / "written"


def path_of(case: Case, *, aligned: bool = True) -> str:
    """The kernel as `tileas` takes it; not aligned, arrays may have any extents."""
    words = case.words if aligned else re.sub(r"(\w+:[\dx?]+)", r"\1:unaligned", case.words)
    return f"{WRITTEN / case.file}:{case.kernel}({words})"


@cache
def tile_ir(path: str) -> ModuleOp:
    """The Tile IR of a kernel. Nobody changes it."""
    return module_of_kernel(path)


def converted(path: str) -> ModuleOp:
    """The functions of tiles that a kernel becomes. Raises `RefusedError`."""
    module = tile_ir(path).clone()
    ConvertCudaTileToNvTileAAPass().apply(Context(), module)
    return module


def ran(module: ModuleOp, launch: Launch, names: list[str], *, order: str = "lazy", seed: int = 0) -> Outcome:
    """The outcome of all programs of a launch; `names` are those of its arguments."""
    there = argument_names(find_function(module, None)[1])
    given = {name: value for name, value in zip(names, launch.arguments, strict=True) if name in there}
    return run(module, None, given, programs=launch.programs, order=order, seed=seed)


def is_aligned(launch: Launch) -> bool:
    """Whether a launch keeps what arrays of aligned kernels promise."""
    arrays = [each for each in launch.arguments if isinstance(each, np.ndarray)]
    return not any(extent % ALIGNED for array in arrays for extent in array.shape)


def wrong_threads(case: Case, size: tuple[int, ...], target: str) -> list[str]:
    """What the threads of a launch give that numpy has not: compiled for arrays like its own, block by block."""
    launch, names = case.launch(size), names_of(case)
    text = exported_kernel(path_of(case, aligned=is_aligned(launch))).text
    kernel = tileas.compile(text, target=target, check=False, cache=False)
    given = dict(zip(names, map(copy, launch.arguments), strict=True))
    passed = [given[name] for name in names_in(kernel.contract)]  # a name may be one of an option
    found = kernel.run(*passed, grid=launch.programs, device="machine", level="threads", order="random")
    return wrong(found, launch, names)


def names_of(case: Case) -> list[str]:
    """What the arguments of a launch are called: parameters of the kernel that are no constants."""
    entry = find_function(tile_ir(path_of(case, aligned=False)), None)[1]
    return [name for name in argument_names(entry) if not re.search(r"_(size|stride)\d+$", name)]


def wrong(outcome: Outcome | KernelRun, launch: Launch, names: list[str]) -> list[str]:
    """What an outcome has that numpy has not."""
    found = [str(violation) for violation in outcome.violations]
    if found:
        return found
    for place, expected in launch.expected.items():
        array, given = outcome.arrays[names[place]], launch.arguments[place]
        if isinstance(given, np.ndarray) and array.dtype.kind == "i" and given.dtype.kind == "u":
            array = array.view(given.dtype)  # MLIR's integers have no sign
        if not _close(array, expected, launch.close):
            apart = np.abs(array.astype(np.float64) - expected)
            found.append(f"{names[place]}: {np.nanmax(apart):.3g} apart, {np.isnan(apart).sum()} NaN")
    return found


def _close(array: Array, expected: Array, close: float) -> bool:
    if array.dtype.kind in "iub":
        return np.array_equal(array, expected)
    return np.allclose(array.astype(np.float64), expected, rtol=close, atol=close)
