"""
Kernels in cuTile Python from Python: checked, run and compiled, without a GPU, and launched on one.

    import tileas_xdsl as tileas

    print(tileas.cutile.check(gemm, "f16:?x?", "f16:?x?", "f16:?x?", 128, 128, 64))
    tileas.cutile.run(gemm, (2, 2), a, b, d, 128, 128, 64)                  # on the machine, arrays of numpy
    kernel = tileas.cutile.compile(gemm, a, b, d, 128, 128, 64, target="sm_90a")
    kernel[2, 2](a, b, d)                                                    # on a GPU
    tileas.cutile.launch(stream, (2, 2), gemm, (a, b, d, 128, 128, 64))      # as `cuda.tile.launch` does

Arguments are those of a launch, in the order of the parameters: arrays (or words for them, `"f16:?x?"`), numbers and
constants. What the annotations of a kernel say may be left out at the end. A number counts for any number of its type,
an array for any of its type and rank; `docs/python-to-ptx.md` has the words.

The package `cuda-tile` comes with the extra `cutile`. All errors are an `Error` of `tileas`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from tileas_xdsl import front_door
from tileas_xdsl.checker.verdict.checking import CheckOptions
from tileas_xdsl.checker.verdict.checking import check as checked
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.checker.verdict.tile_ir import judge_tile_ir
from tileas_xdsl.diagnostics import Error
from tileas_xdsl.kernels.binding import names_of
from tileas_xdsl.kernels.kernel import Kernel
from tileas_xdsl.kernels.tuning.tuning import HowTuned, tune
from tileas_xdsl.machine import running
from tileas_xdsl.machine.arguments import argument_names, find_function
from tileas_xdsl.machine.running import Outcome
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.python.cutile import ELEMENTS, exported_call, words_of_call
from tileas_xdsl.tools.python.cutile_launches import kernel_for

if TYPE_CHECKING:
    from cuda.tile.tune import Measurement, TuningResult  # pyright: ignore
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["check", "compile", "exhaustive_search", "launch", "module", "run"]

ConfigT = TypeVar("ConfigT")
Grid = Sequence[int]


def module(kernel: Any, *arguments: Any) -> ModuleOp:
    """
    The tile function that a kernel becomes, or its Tile IR where that has no counterpart below.

    Raises `InputError` for arguments that do not fit, and for what cuTile does not compile.
    """
    return _parsed(kernel, exported_call(kernel, words_of_call(kernel, arguments)).text)


def _parsed(kernel: Any, text: str) -> ModuleOp:
    return parse_module(text, inspect.getsourcefile(kernel._pyfunc) or "<kernel>", full_context())


def check(kernel: Any, *arguments: Any, **options: Unpack[CheckOptions]) -> Report:
    """
    Races and the like in a kernel, by the lines of Python, or a proof that there are none. `options` are those of
    `tileas.check`. Raises as `module` does.
    """
    exported = exported_call(kernel, words_of_call(kernel, arguments))
    report = checked(_parsed(kernel, exported.text), None, **options)
    judge_tile_ir(exported.tile_ir, report)
    return report


def run(kernel: Any, grid: Grid, *arguments: Any, order: str = "lazy", seed: int = 0) -> Outcome:
    """
    Run all blocks of a grid on the machine. Arrays are numpy's, and stay as they are: the outcome has those that the
    kernel wrote. Raises as `module` does, and `ArgumentError`.
    """
    made = module(kernel, *arguments)
    there = argument_names(find_function(made, None)[1])
    given = {name: value for name, value in _by_name(kernel, arguments).items() if name in there}
    return running.run(made, None, given, programs=tuple(grid), order=order, seed=seed)


def compile(kernel: Any, *arguments: Any, **options: Any) -> Kernel:
    """
    The kernel compiled, with its launch contract. `options` are those of `tileas.compile`, `target` among them.

    `compile(..)[grid](a, b, d)` launches it on arrays and numbers, without the constants. Raises as `module` and
    `tileas.compile` do.
    """
    return _compiled(kernel, words_of_call(kernel, arguments), tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _compiled(kernel: Any, words: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Kernel:
    return front_door.compile(exported_call(kernel, words).text, **dict(options))


def launch(stream: Any, grid: Grid, kernel: Any, arguments: Sequence[Any], **options: Any) -> None:
    """
    Launch a kernel as `cuda.tile.launch` does; it is compiled once for each combination of types and constants.

    `stream` is None (the current one of the library that the arrays are of), a number, or what torch or cupy have.
    Raises as `compile` does, and `GPUError` where there is no GPU.
    """
    made = compile(kernel, *arguments, **options)
    named = _by_name(kernel, arguments)
    made.launch(tuple(grid), (), {name: named[name] for name in names_of(made.contract)}, stream)


def _by_name(kernel: Any, arguments: Sequence[Any]) -> Mapping[str, Any]:
    return dict(zip(inspect.signature(kernel._pyfunc).parameters, arguments, strict=False))


def exhaustive_search(
    search_space: Sequence[ConfigT],
    stream: Any,
    grid_fn: Callable[[ConfigT], Grid],
    kernel: Any,
    args_fn: Callable[[ConfigT], Sequence[Any]],
    hints_fn: Callable[[ConfigT], Mapping[str, Any]] | None = None,
    **options: Any,
) -> TuningResult[ConfigT]:
    """
    What `cuda.tile.tune.exhaustive_search` does, by `tileas.tune`: each configuration is compiled, foretold on the
    model of a multiprocessor, and measured where there is a GPU.

    `options` are those of `tileas.tune` (`target`, `measure`, `check`); arrays are those of the host. `mean_us` is what
    was measured, else what was foretold, and `num_samples` 0 then. Raises `InputError` where no configuration is left.
    """
    from cuda.tile.tune import TuningResult  # pyright: ignore

    successes: list[Measurement[ConfigT]] = []
    failures: list[tuple[ConfigT, type[BaseException], str]] = []
    for config in search_space:
        try:
            chosen = kernel_for(config, kernel, hints_fn)
            successes.append(_timed(config, chosen, grid_fn(config), args_fn(config), options))
        except Error as error:
            failures.append((config, type(error), str(error)))
    if not successes:
        config, _, reason = failures[0] if failures else (None, None, "the space is empty")
        raise front_door.InputError([f"error: no configuration is left; the first, {config}: {reason}"])
    best = min(successes, key=lambda each: each.mean_us)
    return TuningResult(best=best, successes=successes, failures=failures)


def _timed(
    config: ConfigT, kernel: Any, grid: Grid, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Measurement[ConfigT]:
    """How long a launch takes."""
    from cuda.tile.tune import Measurement  # pyright: ignore

    words = words_of_call(kernel, arguments)
    constant = {name for name, word in _by_name(kernel, words).items() if word.partition(":")[0] not in ELEMENTS}
    given = {name: value for name, value in _by_name(kernel, arguments).items() if name not in constant}
    found = tune(exported_call(kernel, words).text, [{}], given, HowTuned(grid=tuple(grid), **options)).candidates[0]
    seconds = found.measured if found.measured is not None else found.predicted
    if found.problem is not None or seconds is None:
        raise front_door.InputError([f"error: {found.problem or 'nothing is known of its time'}"])
    samples = int(found.measured is not None)
    return Measurement(config=config, mean_us=seconds * 1e6, num_samples=samples, error_margin_us=0.0)
