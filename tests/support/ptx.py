"""LLVM's code generator in llvmlite, and ptxas: skipped where they are absent, unless oracles are required."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import run_passes
from tileas_xdsl.backend.ptx_target import ptx_of_module
from tileas_xdsl.backend.ptxas import AssemblerError, KernelReport, assemble, find_ptxas


def _absent(what: str) -> None:
    if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
        pytest.fail(f"{what} is required here and was not found")
    pytest.skip(f"needs {what}")


def require_llvmlite() -> None:
    """Skips the calling test without llvmlite, or fails where oracles are mandatory."""
    if find_spec("llvmlite") is None:
        _absent("llvmlite")


def require_ptxas() -> str:
    """The path of ptxas; skips the calling test without it, or fails where oracles are mandatory."""
    try:
        return find_ptxas()
    except AssemblerError:
        _absent("ptxas")
        raise


def ptx_of(module: ModuleOp, arch: str, passes: str = "convert-nvvm-to-llvm") -> str:
    """The PTX of a module after `passes`."""
    require_llvmlite()
    return ptx_of_module(run_passes(module, passes), arch)


def assembled(ptx: str, arch: str, *, one_by_one: bool = False) -> KernelReport:
    """
    What ptxas says of the only kernel in a text; it takes the text, spills nothing, and lets products overlap, unless
    they are known to go on one by one.
    """
    (report,) = assemble(ptx, arch, require_ptxas()).kernels
    assert report.spills == 0
    assert bool(report.serialized) is one_by_one, report.serialized
    return report
