"""
What a kernel's machine code is worth: before a file is written, its threads are compared with its tiles, and checked.

    numbers    both are run on small integers, with the trip counts 0, 1 and 3, under random orders. A tile that is lost
               by program order alone is no race, so threads that are safe may still compute something else
    check      the threads are checked as `tileas check` does, with what is left of `--check-timeout`

Where the program has no tiles, or its arguments are none that can be made up (pointers), there is no second level to
compare with, and the threads are only checked. (Translation validation: Pnueli, Siegel and Singerman 1998.)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation, Region

from tileas_xdsl.analysis.memory.program_axes import program_axes
from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.backend.launch import PERSISTENT
from tileas_xdsl.checker.verdict.cases import tell_none
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.arguments import ArgumentError, argument_names, find_function, public_functions
from tileas_xdsl.machine.core.threads.cluster_calls import stated_cluster_shape
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import Outcome, run
from tileas_xdsl.tools.progress import Tell

TRIPS = (0, 1, 3)
"""What integer arguments are."""
EXTENT, EXTENT_OF_MANY = 512, 256
"""Of each axis of an array whose type leaves it open; and where all programs that write it are run."""
CLOSE = 2.0**-9
"""How far floats may be apart, relatively and absolutely: threads add in another order than tiles."""
COORDINATE_BYTES = 4
"""Of the least integers that arrays hold as coordinates."""
MAP = re.compile(r"_map(#\d+)?$")
"""Behind the name of an array that TMA copies and threads access: it is handed over twice."""


@dataclass
class Worth:
    """What is known of the threads of one kernel."""

    kernel: str
    seconds: float = 0.0
    compared: tuple[int, ...] = ()
    """The trip counts at which the threads computed what the tiles do."""
    problem: str = ""
    """Why no file may be written."""
    reason: str = ""
    """Why it is not decided, or not proved for every trip count."""
    report: Report | None = field(default=None, repr=False)
    limit: float = inf
    """Seconds of processor time after which the check ends."""

    @property
    def line(self) -> str:
        """What stands on the line of the kernel."""
        if self.report is None or self.report.verdict is not Verdict.SAFE:
            return f"threads: not decided: {self.reason}"
        is_over = not self.report.is_proved and self.seconds >= self.limit
        end = ", as long as --check-timeout allows" if is_over else ""
        return f"threads: {self.report.verdict_line.partition(';')[0]} ({self.seconds:.1f} s{end})"

    def as_data(self) -> dict[str, Any]:
        """The same for the launch contract."""
        report = self.report
        return {
            "verdict": report.verdict.value if report is not None else Verdict.UNDECIDED.value,
            "every_trip_count": report is not None and report.is_proved,
            "trip_counts": list(report.trip_counts) if report is not None else [],
            "assumed": [str(each) for each in report.assumed] if report is not None else [],
            "compared_with_tiles": list(self.compared),
            "seconds": round(self.seconds, 1),
            "reason": self.reason,
        }


def worth_of(
    tiles: ModuleOp | None, threads: ModuleOp, given: int | None, seconds: float | None, tell: Tell | None = None
) -> dict[str, Worth]:
    """
    What the kernels of `threads` are worth, by name: `tiles` are what they were made of (None: there are none), `given`
    the threads of a block for functions that do not say it, `seconds` the processor time for each (None: no limit).
    `tell` is called with each step.
    """
    limit = inf if seconds is None else seconds
    return {name: _worth(tiles, threads, name, given, limit, tell or tell_none) for name in public_functions(threads)}


def _worth(
    tiles: ModuleOp | None, threads: ModuleOp, name: str, given: int | None, seconds: float, tell: Tell
) -> Worth:
    found, start = Worth(name, limit=seconds), time.process_time()
    within = "" if seconds == inf else f", for at most {seconds:g} s"
    tell(f"the threads of @{name} compute what its tiles compute{within}")
    if tiles is not None:
        # What has no numbers here, or no meaning, is only checked.
        with suppress(ArgumentError, UndecidedError, UnsupportedError):
            _compare(tiles, threads, found, seconds / 2)
    try:
        if not found.problem:
            tell(f"the threads of @{name} are checked{within}")
            _check(tiles, threads, found, given, max(seconds - (time.process_time() - start), 1.0))
    except (ArgumentError, UndecidedError, UnsupportedError) as error:
        found.reason = str(error)
    found.seconds = time.process_time() - start
    return found


# The check ------------------------------------------------------------------------------------------------------------


def _check(tiles: ModuleOp | None, threads: ModuleOp, found: Worth, given: int | None, seconds: float) -> None:
    op, _ = find_function(threads, found.kernel)
    count = None if block_shape_of(op) is not None else given
    found.report = report = check(threads, found.kernel, threads=count, judge_waits=False, timeout=seconds)
    reasons = (*report.undecided, *report.unexplored, *report.bounded, *report.cut_short)
    found.reason = reasons[0] if reasons and not report.is_proved else ""
    if report.verdict is Verdict.VIOLATION:
        found.problem = f"{_whose_fault(tiles, found.kernel, seconds)}\n{report}"


def _whose_fault(tiles: ModuleOp | None, kernel: str, seconds: float) -> str:
    """Whether the mistake that was found in the threads is the user's or ours."""
    if tiles is None:
        return f"@{kernel} is unsafe"
    try:
        report = check(tiles, kernel, judge_waits=False, timeout=seconds)
    except (ArgumentError, UnsupportedError):
        return f"the threads of @{kernel} are unsafe"
    if report.verdict is Verdict.VIOLATION:
        return f"@{kernel} is unsafe, as 'tileas check' says of the program itself"
    return f"the threads of @{kernel} are unsafe, and the program is not: {_DEFECT}"


_DEFECT = "this is a defect of tileas; please report it with the file"


# Numbers --------------------------------------------------------------------------------------------------------------


def _compare(tiles: ModuleOp, threads: ModuleOp, found: Worth, seconds: float) -> None:
    """Run both levels at each of the trip counts, for as long as there is time."""
    function, body = find_function(tiles, found.kernel)
    kernel, _ = find_function(threads, found.kernel)
    is_persistent = PERSISTENT in kernel.attributes
    end = time.process_time() + seconds
    for trips in TRIPS if has_trips(body) else TRIPS[:1]:
        given = made_up(body, trips, extent=EXTENT_OF_MANY if is_persistent else EXTENT)
        programs = _programs(function, body, given) if is_persistent else _of_cluster(kernel)
        outcomes: list[Outcome] = []
        for level in (tiles, threads):
            left = end - time.process_time()
            if left <= 0:
                return
            handed, grid = (
                handed_over(given, find_function(level, found.kernel)[1]),
                programs if level is tiles else None,
            )
            outcomes.append(run(level, found.kernel, handed, order="random", seed=trips, timeout=left, programs=grid))
        expected, computed = outcomes
        if expected.violations or not expected.finished:
            return
        what = next(differences(expected, computed), None)
        if what is not None:
            found.problem = f"the threads of @{found.kernel} {what}, with {trips} for each integer argument: {_DEFECT}"
            return
        if not computed.finished:
            return
        found.compared += (trips,)


def _of_cluster(kernel: Operation) -> list[int] | None:
    """How many programs the blocks of a cluster compute, which the machine runs together; None for a single block."""
    shape = stated_cluster_shape(kernel)
    return list(shape) if shape is not None and prod(shape) > 1 else None


def _programs(function: Operation, body: Region, given: Mapping[str, Any]) -> list[int]:
    """How many programs write the arrays that are given: one block of a persistent kernel computes all of them."""
    names, axes = argument_names(body), program_axes(function) or ()
    return [-(-given[names[axis.argument]].shape[axis.dimension] // axis.extent) if axis else 1 for axis in axes]


def _kinds(body: Region) -> Sequence[Attribute]:
    assert body.first_block is not None
    return [argument.type for argument in body.first_block.args]


def _is_integer(kind: Attribute) -> bool:
    return isinstance(kind, IndexType | IntegerType)


def has_trips(body: Region) -> bool:
    """Whether a function has an argument that may count trips."""
    return any(_is_integer(kind) for kind in _kinds(body))


def made_up(body: Region, trips: int, *, extent: int = EXTENT, first_coordinate: int = 0) -> dict[str, Any]:
    """
    Arguments of a function by name: `trips` for each integer, and arrays of small integers, whose sums and products are
    exact; those of 32 bits and more may be coordinates, and begin with the first. Axes that types leave open have
    `extent`.

    Raises `UnsupportedError` for an argument that cannot be made up.
    """
    draw = np.random.default_rng(1)
    return {
        name: trips if _is_integer(kind) else _array(body, name, kind, (extent, first_coordinate), draw)
        for name, kind in zip(argument_names(body), _kinds(body), strict=True)
    }


def _array(body: Region, name: str, kind: Attribute, sizes: tuple[int, int], draw: np.random.Generator) -> Any:
    extent, first_coordinate = sizes
    array = cast("MemRefType[Attribute]", kind) if isinstance(kind, MemRefType) else None
    element = element_type(array.element_type) if array is not None else None
    if array is None or element is None:
        assert isinstance(body.parent, Operation)
        raise UnsupportedError(body.parent, f"has the argument '{name}' : {kind}, for which no numbers are made up")
    shape = [extent if each < 0 else each for each in array.get_shape()]
    may_be_coordinates = not element.is_float and element.size >= COORDINATE_BYTES
    return draw.integers(first_coordinate if may_be_coordinates else -2, 3, shape).astype(element.dtype)


def handed_over(given: Mapping[str, Any], body: Region) -> dict[str, Any]:
    """Copies of arguments for one level: an array that TMA copies and threads access is handed over twice, as one."""
    own = {name: copy(value) for name, value in given.items()}
    names = [(name, name if name in own else MAP.sub("", name)) for name in argument_names(body)]
    return {name: own[stem] for name, stem in names if stem in own}  # others the machine computes of arrays


def differences(expected: Outcome, computed: Outcome, close: float | None = None) -> Iterator[str]:
    """
    What is wrong with the threads, whose tiles left `expected`: the first mistake, and arrays with other numbers.
    These may be `close` apart, relatively and absolutely; by default as far as the element type tells them apart.
    """
    if computed.violations:
        yield f"make a mistake that its tiles do not make ({computed.violations[0]})"
    for name in arrays_that_differ(expected, computed, close):
        yield f"compute other numbers than its tiles in '{name}'"


def arrays_that_differ(expected: Outcome, computed: Outcome, close: float | None = None) -> Iterator[str]:
    """The arrays in which two runs leave numbers that are not so `close`; none where the second was not finished."""
    for name, array in expected.arrays.items() if computed.finished else ():
        if not are_close(array, computed.arrays[name], close):
            yield name


def are_close(expected: np.ndarray[Any, Any], computed: np.ndarray[Any, Any], close: float | None = None) -> bool:
    """Whether all numbers are so `close`; by default as far as the element type tells them apart."""
    within = close if close is not None else max(CLOSE, 4 * _epsilon(expected.dtype))
    ours, theirs = (each.astype(np.float64) for each in (expected, computed))
    return ours.shape == theirs.shape and np.allclose(theirs, ours, rtol=within, atol=within, equal_nan=True)


def _epsilon(kind: np.dtype[Any]) -> float:
    """The distance of 1 to the next number of `kind`; 0 for integers and truth values."""
    import ml_dtypes

    return 0.0 if kind == np.bool_ or np.issubdtype(kind, np.integer) else float(cast("Any", ml_dtypes.finfo(kind)).eps)
