"""
From a kernel to its TTGIR: the stages of Triton's compiler are run as far as that.

No GPU is needed. Files below the working directory are named from there in the text, and so in reports.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tileas_xdsl.checker.verdict.preconditions import stated_in
from tileas_xdsl.diagnostics import how_to_install
from tileas_xdsl.targets.machine_models import CAPABILITIES
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.triton.host.driver import driver_for

VERSION = "3.9"
"""The release of Triton whose TTGIR is read."""
NVIDIA = re.compile(r"sm_(\d+)a?")
AMD = re.compile(r"gfx\w+")
THREADS_OF_WAVES = {"gfx9": 64}
"""Family of AMD's targets -> threads of a wave; all others have 32."""


def need_triton() -> Any:
    """The package `triton`. Raises `InputError` where it is absent, or of another release."""
    try:
        import triton  # pyright: ignore
    except ImportError:
        raise InputError([f"error: Triton is not installed: {how_to_install('triton')}"]) from None
    library: Any = triton
    found = str(library.__version__)
    if not found.startswith(f"{VERSION}."):
        raise InputError(
            [
                f"error: Triton {found} is installed, and the TTGIR of {VERSION} is what is read here: "
                f"{how_to_install('triton')}, or run 'tileas check' on the text that yours prints"
            ]
        )
    return library


def target_named(name: str) -> Any:
    """Triton's target for `sm_90` or `gfx950`. Raises `InputError` for another name."""
    need_triton()
    from triton.backends.compiler import GPUTarget  # pyright: ignore

    make: Any = GPUTarget
    if (match := NVIDIA.fullmatch(name)) and int(match[1]) in CAPABILITIES:
        return make("cuda", int(match[1]), 32)
    if AMD.fullmatch(name):
        threads = next((number for family, number in THREADS_OF_WAVES.items() if name.startswith(family)), 32)
        return make("hip", name, threads)
    known = ", ".join(f"sm_{number}" for number in CAPABILITIES)
    raise InputError([f"error: '{name}' is no target; write one of {known}, or gfx950"])


def place_of_kernel(function: Any) -> str:
    """`kernel.py:12` of the Python function of a kernel."""
    return f"{path_from_here(file_of_kernel(function))}:{function.fn.__code__.co_firstlineno}"


def file_of_kernel(function: Any) -> str:
    """The file that the Python function of a kernel stands in."""
    return function.fn.__code__.co_filename


def preconditions_of(function: Any) -> list[str]:
    """The preconditions that the source of the kernel `function` states."""
    try:
        return stated_in(inspect.getsource(function.fn))
    except (OSError, TypeError):
        return []


@dataclass(frozen=True)
class Compiled:
    """What Triton makes of a kernel."""

    ttgir: str
    ptx: str | None = None
    """None: it was not asked for."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What Triton's cache has beside the PTX: warps, shared memory, boxes of descriptors."""


def text_of_stages(function: Any, source: Any, target: Any, name: str, options: Mapping[str, Any]) -> str:
    """The TTGIR of `source`. See `compiled`."""
    return compiled(function, source, target, name, options).ttgir


def compiled(
    function: Any, source: Any, target: Any, name: str, options: Mapping[str, Any], *, ptx: bool = False
) -> Compiled:
    """
    The TTGIR, and with `ptx` the PTX, of `source`, which is Triton's description of `function` with its signature and
    constants, for `target`.

    Raises `InputError` with what Triton says where it does not compile.
    """
    with driver_for(target, name):
        try:
            stages = _Stages(source, target, options)
            ttgir = _with_short_names(str(stages.run_to("ttgir")))
            if not ptx:
                return Compiled(ttgir)
            return Compiled(ttgir, _from_here_in(str(stages.run_to("ptx"))), stages.metadata)
        except Exception as error:
            said = str(error).strip() or type(error).__name__
            cause = error.__cause__
            said = f"{said}\n{cause}" if cause is not None and str(cause) not in said else said
            about = f"'{function.__name__}' does not compile for {name}"
            indented = said.replace("\n", "\n  ")
            raise InputError([f"{place_of_kernel(function)}: error: {about}: {indented}"]) from None


def module_of_stages(source: Any, target: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """The TTGIR of `source` as Triton's module, and the context that it lives in."""
    stages = _Stages(source, target, options)
    return stages.run_to("ttgir"), stages.context


class _Stages:
    """The stages of Triton's compiler on the way from one kernel to machine code."""

    def __init__(self, source: Any, target: Any, options: Mapping[str, Any]) -> None:
        from triton._C import libtriton  # pyright: ignore
        from triton.compiler import make_backend  # pyright: ignore

        library = cast("Any", libtriton).ir
        backend: Any = make_backend(target)
        parsed = backend.parse_options({**options, **source.parse_options()})
        self.context = library.context()
        library.load_dialects(self.context)
        backend.load_dialects(self.context)
        stages: dict[str, Any] = {}
        backend.add_stages(stages, parsed, source.language)
        functions = backend.get_codegen_implementation(parsed)
        self.module = source.make_ir(target, parsed, functions, backend.get_module_map(), self.context)
        self.metadata: dict[str, Any] = dict(vars(cast("object", parsed)))
        self.target = target
        self._left = list(stages.items())

    def run_to(self, last: str) -> Any:
        """What the stage `last` gives."""
        while self._left:
            stage, run = self._left.pop(0)
            self.module = run(self.module, self.metadata)
            if stage == last:
                return self.module
        raise ValueError(f"Triton has no stage '{last}' for {self.target}")


def _from_here_in(ptx: str) -> str:
    return ptx.replace(f'"{os.getcwd()}{os.sep}', '"')


def _with_short_names(text: str) -> str:
    return text.replace(f'loc("{os.getcwd()}{os.sep}', 'loc("')


def path_from_here(path: str) -> str:
    """`path` from the working directory, if it lies there."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)
