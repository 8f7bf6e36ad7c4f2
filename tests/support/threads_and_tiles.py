"""
Programs of tiles, and the threads that they become: do the two compute the same?

The files are in `tests/threads/programs/`; each has a function `@f`; its argument `%n`, if any, counts trips.
The machine runs the tiles, which say what is meant, and the threads in several orders. A finding of the machine on
threads counts only where the tiles have none: the programs are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Attribute

from tests.support.ir import ROOT, parse, run_passes
from tests.support.thread_kernels import passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.pipelines import FAMILY

PROGRAMS = ROOT / "tests" / "threads" / "programs"

AGENTS, ONE_AGENT, BEFORE_TMA = "sm_90a warp-specialize", "sm_90a unspecialize", "sm_80 unspecialize"
VARIANTS = (AGENTS, ONE_AGENT, BEFORE_TMA)
"""Target and strategy."""

TO_KERNELS = "convert-nv-tile-func-to-llvm"
"""From here on the family takes programs that have pipelines and agents already."""
ORDERS = ("eager", "lazy", "random", "timed")
TRIPS = (0, 1, 2, 3)
EXTENT = 160
"""Of each axis of an array whose type leaves it open: no tile of the programs reaches outside."""
NUMBERS: dict[str, Any] = {
    **{"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i8": np.int8, "i32": np.int32},
    **{"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2},
}
"""Elements of arrays in the programs."""
MAP = re.compile(r"_map(#\d+)?$")
"""What the name of an array has behind it where the argument is a map of it."""
CLOSE = 2e-3
"""How far numbers may be apart, relatively and absolutely: sums of f16 are rounded in another order."""
SECONDS = 60
"""Within which a check has to be done."""

RIGHT, WRONG, REFUSED = "right", "wrong numbers", "refused"


def text_of(name: str) -> str:
    """The program of tiles."""
    return (PROGRAMS / f"{name}.mlir").read_text()


@cache
def threads_of(name: str, variant: str) -> ModuleOp | None:
    """The threads that a program becomes; None where a pass refuses it. Nobody changes them."""
    try:
        return lowered(text_of(name), variant)
    except RefusedError:
        return None


def lowered(text: str, variant: str, warps: int = 4) -> ModuleOp:
    """The threads that a program becomes, whose agents that compute have so many warps. Raises `RefusedError`."""
    module = parse(text)
    with recorded_diagnostics():
        return run_passes(module, _road(module, variant, warps))


def _road(module: ModuleOp, variant: str, warps: int) -> str:
    target, strategy = variant.split()
    if any(isinstance(op, CreatePipelineOp) for op in module.walk()):
        names = [member.name for member in FAMILY]
        return passes(names[names.index(TO_KERNELS) :], target)
    options = f"compute-capability={target} pipeline-strategy={strategy} num-warps={warps}"
    return f"tileir{{{options} layouts=true threads=true}}"


# Numbers --------------------------------------------------------------------------------------------------------------


def numbers(name: str, variant: str) -> str:
    """Whether the threads compute what the tiles do: `RIGHT`, `WRONG`, `REFUSED`, or what the machine finds."""
    threads = threads_of(name, variant)
    if threads is None:
        return REFUSED
    return compared(text_of(name), threads)


def compared(text: str, threads: ModuleOp, counts: Sequence[int] = TRIPS, extent: int = EXTENT) -> str:
    """The same for a program and the threads that it has become; its arrays have `extent` elements an axis."""
    tiles = parse(text)
    found = set(_differences(tiles, threads, counts, extent))
    return next((each for each in (WRONG, *sorted(found)) if each in found), RIGHT)


def _differences(tiles: ModuleOp, threads: ModuleOp, counts: Sequence[int], extent: int) -> Iterator[str]:
    """What is wrong with the threads, for each trip count and order."""
    arguments = _arguments(tiles)
    for trips in counts if any(isinstance(kind, IndexType) for kind in arguments.values()) else counts[:1]:
        draw = np.random.default_rng(1)
        given = {name: _given(kind, trips, draw, extent) for name, kind in arguments.items()}
        expected = run(tiles, "f", _copies(given, tiles))
        for order in ORDERS:
            found = run(threads, "f", _copies(given, threads), order=order, seed=trips)
            if not all(_is_close(found.arrays[name], array) for name, array in expected.arrays.items()):
                yield WRONG
            if found.violations and not expected.violations:
                yield f"finding: {found.violations[0].kind.value}"


def _arguments(module: ModuleOp) -> dict[str, Attribute]:
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return {argument.name_hint or "": argument.type for argument in function.args}


def _given(kind: Attribute, trips: int, draw: np.random.Generator, extent: int) -> Any:
    """Small integers, whose sums and products are exact."""
    if isinstance(kind, IndexType):
        return trips
    element, shape = "f32", [extent, extent]
    if isinstance(kind, MemRefType):
        array = cast("MemRefType[Attribute]", kind)
        element = str(array.element_type)
        shape = [extent if each < 0 else each for each in array.get_shape()]
    return draw.integers(-2, 3, shape).astype(NUMBERS[element])


def _copies(given: dict[str, Any], module: ModuleOp) -> dict[str, Any]:
    """Arguments for a module: an array that TMA copies and threads access is handed over again, as one."""
    own: dict[str, Any] = {name: copy(value) for name, value in given.items()}
    return {name: own[name if name in own else MAP.sub("", name)] for name in _arguments(module)}


def _is_close(found: Any, expected: Any) -> bool:
    return bool(np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=CLOSE, atol=CLOSE))


# Checks ---------------------------------------------------------------------------------------------------------------


def judged(name: str, variant: str) -> str:
    """What the check says of the threads: `RIGHT` where they are safe, `REFUSED`, or the kinds of its findings."""
    threads = threads_of(name, variant)
    return REFUSED if threads is None else judged_threads(threads, SECONDS)


def judged_threads(threads: ModuleOp, seconds: float) -> str:
    """The same for threads, within so many seconds."""
    report = check(threads, judge_waits=False, timeout=seconds)
    kinds = sorted({finding.violation.kind.value for finding in report.findings})
    return ", ".join(kinds) or (RIGHT if report.verdict.value == "safe" else f"{report.verdict_line}")


def cases(names: Sequence[str]) -> list[tuple[str, str]]:
    """Each program in each variant."""
    return [(name, variant) for name in names for variant in VARIANTS]
