"""
Launches of Triton's kernels are caught instead of being made.

What a launch gives back has the numbers of a compiled kernel that a program may ask for. Whatever would measure time
runs once, and takes a millisecond.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.triton.host.anything import thing_named
from tileas_xdsl.triton.host.driver import driver_for

MILLISECONDS = 1.0
"""How long everything takes that is measured."""
REGISTERS = 64


@dataclass(frozen=True)
class Launch:
    """A kernel with the types, constants and options that it was launched with."""

    function: Any
    """Triton's function, without tuners."""
    source: Any
    """Triton's description of it."""
    constants: Mapping[str, Any]
    """Name -> number, of the arguments that are constants of the compiler."""
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.function.__name__


def function_of(kernel: Any) -> Any:
    """The function under `kernel`, which may be wrapped in tuners and heuristics. Raises `InputError` for another."""
    from triton.runtime.jit import JITFunction  # pyright: ignore

    function = kernel
    while not isinstance(function, JITFunction):
        inner = getattr(function, "fn", None)
        if inner is None:
            raise InputError([f"error: {kernel!r} is no kernel: decorate it with @triton.jit or @gluon.jit"])
        function = inner
    return function  # pyright: ignore


def source_of(function: Any) -> Any:
    """The class of Triton that describes `function`: kernels in Gluon have one of their own."""
    from triton.compiler import ASTSource  # pyright: ignore
    from triton.experimental.gluon._runtime import GluonASTSource  # pyright: ignore

    return GluonASTSource if function.is_gluon() else ASTSource  # pyright: ignore


@contextmanager
def caught(device: Any, target: str, seen: Callable[[Launch], None]) -> Generator[None]:
    """
    Inside, each launch for `device`, Triton's description of `target`, is handed to `seen`, and not made.

    For a tuned kernel this is a launch for each configuration that the tuner would try.
    """
    from triton import profiler, testing  # pyright: ignore
    from triton._C import libtriton  # pyright: ignore
    from triton.runtime.autotuner import Autotuner  # pyright: ignore
    from triton.runtime.jit import JITFunction  # pyright: ignore

    function_type = cast("Any", JITFunction)
    run = function_type.run

    def compiled(
        function: Any,
        _key: Any,
        signature: Any,
        _device: Any,
        constants: Any,
        options: Any,
        *attributes: Any,
    ) -> None:
        """Instead of `JITFunction._do_compile`: that it gives no kernel ends the launch."""
        source = source_of(function)(function, signature, constants, attributes[0])
        names = {function.arg_names[place[0]]: value for place, value in constants.items() if len(place) == 1}
        seen(Launch(function, source, names, vars(cast("object", options))))

    def launched(function: Any, *args: Any, **options: Any) -> Any:
        run(function, *args, **options)
        return _Compiled()

    with ExitStack() as stack:
        stack.enter_context(driver_for(device, target))
        for owner, name, instead in (
            (function_type, "_do_compile", compiled),
            (function_type, "run", launched),
            (Autotuner, "run", _run_every_configuration),
            (testing, "do_bench", _measure),
            (testing, "do_bench_cudagraph", _measure),
            (cast("Any", testing).Mark, "_run", _run_once),
            (profiler, "start", _measure_nothing),
            (profiler, "finalize", _measure_nothing),
            (cast("Any", libtriton).nvidia.cublas, "CublasLt", thing_named("CublasLt")),
        ):
            stack.enter_context(patch.object(owner, name, instead))
        yield


class _Compiled:
    """What a program may ask a compiled kernel."""

    n_regs = REGISTERS
    n_spills = 0
    n_max_threads = 1024
    metadata = SimpleNamespace(shared=16 * 1024, num_warps=4, num_ctas=1, num_stages=1, cluster_dims=(1, 1, 1))

    def _init_handles(self) -> None: ...

    def __getitem__(self, _grid: object) -> Callable[..., None]:
        """A launch of what was launched before."""
        return lambda *_args, **_options: None  # pyright: ignore

    @property
    def asm(self) -> Mapping[str, str]:
        """No text of any stage."""
        return defaultdict(str)


def _run_every_configuration(tuner: Any, *args: Any, **options: Any) -> Any:
    """Instead of `Autotuner.run`, which measures all configurations and launches the best one."""
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    result: Any = None
    for configuration in tuner.prune_configs(options):
        given = {**options, **configuration.all_kwargs()}
        if configuration.pre_hook is not None:
            configuration.pre_hook({**tuner.nargs, **given})
        result = tuner.fn.run(*args, **given)
        tuner.best_config = configuration
    return result


def _measure(fn: Callable[[], Any], *_args: Any, quantiles: Sequence[float] | None = None, **_options: Any) -> Any:
    """Instead of `triton.testing.do_bench`."""
    fn()
    return [MILLISECONDS] * len(quantiles) if quantiles else MILLISECONDS


def _measure_nothing(*_args: Any, **_options: Any) -> None:
    """Instead of Triton's profiler."""


def _run_once(mark: Any, bench: Any, *_args: Any, **_options: Any) -> None:
    """Instead of `triton.testing.Mark._run`: each line of a plot at its first point."""
    first = bench.x_vals[0]
    values = list(cast("Any", first)) if isinstance(first, list | tuple) else [first] * len(bench.x_names)
    for line in bench.line_vals:
        mark.fn(**dict(zip(bench.x_names, values, strict=True)), **{bench.line_arg: line}, **bench.args)
