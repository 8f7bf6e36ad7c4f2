"""
`tune`: the fastest of many ways to compile a program, for the arrays and numbers of one launch.

    every point     the passes up to the agents; estimated from the schedule        0.1 s each
    the best ten    code; foretold by running it on the model of a multiprocessor   1 s each
    with a GPU      the same ten, measured, after their numbers are found right
    the winner      its threads are checked, as by `tileas compile`; else the next one wins

The first two are done on all cores (`workers.py`).

What is found is kept in the cache, so an interrupted tuning goes on where it was.

On the GPU of this machine, a candidate's numbers are looked at first, then its time. The first block of each
computes what the machine of this package computes of the same program, and a whole launch what the first candidate
computed, or what the caller expects. Then launches go through sets of arrays that are together larger than the
second-level cache; the time is the median of some batches, by events.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from tileas_xdsl.backend.code_generation import MissingLLVMError
from tileas_xdsl.backend.contract import ProgramAxis
from tileas_xdsl.backend.present_gpu import present_capability
from tileas_xdsl.diagnostics import Error
from tileas_xdsl.dialects.array_numbers import numbers_of
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.kernels.arrays import array_of
from tileas_xdsl.kernels.binding import AskedGrid, Grid, bound, extents_in, grid_of
from tileas_xdsl.kernels.cache import Cache
from tileas_xdsl.kernels.compiling import Program, Request, compiled, key_of
from tileas_xdsl.kernels.gpu import described_device
from tileas_xdsl.kernels.kernel import Device, Kernel, program_of
from tileas_xdsl.kernels.on_machine import host_arrays
from tileas_xdsl.kernels.tuning.forecast import Problem, gpu_of
from tileas_xdsl.kernels.tuning.result import Candidate, Tuning
from tileas_xdsl.kernels.tuning.space import Make, Point, Space, made, options_of, points_of, taken
from tileas_xdsl.kernels.tuning.steps import Step, Task, first_line
from tileas_xdsl.kernels.tuning.workers import Workers
from tileas_xdsl.machine.arguments import (
    ArgumentError,
    Arguments,
    find_function,
    is_integer_scalar,
    is_shaped,
    name_of,
    named_arguments,
)
from tileas_xdsl.targets.chips import runs_on
from tileas_xdsl.tools.compile import Options
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_code import CHECK_SECONDS, programs_of
from tileas_xdsl.tools.machine_code.default_target import chosen_target

TOLERANCES = {1: 0.1, 2: 1e-2, 4: 1e-3, 8: 1e-9}
"""Bytes of a float -> how far two results may be apart, relatively, whose sums went in another order."""


class MissingArguments(ArgumentError):
    """Arguments without which a launch cannot be foretold; the message names all of them."""

    def __init__(self, function: str, arguments: Sequence[BlockArgument]) -> None:
        self.arguments = tuple(arguments)
        names = ", ".join(f"'{name_of(each)}'" for each in arguments)
        super().__init__(
            f"@{function} lacks {names}: the grid follows from the sizes of arrays, and the turns of loops from numbers"
        )


class WrongNumbersError(Error):
    """A kernel computes other numbers than it should; the message says in which array."""


class Measuring:
    """The GPU, and what its kernels have to compute."""

    def __init__(self, expected: Mapping[str, Any] | None) -> None:
        self.device = described_device(0)
        self._expected = {name: np.asarray(value) for name, value in (expected or {}).items()}

    def seconds(self, kernel: Kernel, values: Mapping[str, Any], grid: Any) -> float:
        """
        The median time of a launch. Raises `WrongNumbersError` for other numbers than those expected, `ArgumentError`
        for arguments that do not fit, and `GPUError`.
        """
        passed = bound(kernel.contract, (), values)
        own = host_arrays(passed)
        self._require_first_block(kernel, own, values)
        computed = {name: array.copy() for name, array in own.items()}
        arguments: dict[str, Any] = {**values, **computed}
        kernel.run(grid=grid, device="gpu", **arguments)
        if not self._expected:
            self._expected = {name: array for name, array in computed.items() if not _same(array, own[name])}
        _require_near(self._expected, computed, "")
        return kernel.seconds_on_gpu(passed, own, grid_of(kernel.contract, grid, passed))

    def _require_first_block(self, kernel: Kernel, own: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        grid = kernel.contract.cluster or (1, 1, 1)
        ran: dict[str, Mapping[str, NDArray[Any]]] = {}
        devices: tuple[Device, Device] = ("machine", "gpu")
        for device in devices:
            arrays = {name: array.copy() for name, array in own.items()}
            arguments: dict[str, Any] = {**values, **arrays}
            ran[device] = kernel.run(grid=grid, device=device, **arguments).arrays
        _require_near(ran["machine"], ran["gpu"], " of the first block")


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one.view(np.uint8), other.view(np.uint8))


def _require_near(expected: Mapping[str, NDArray[Any]], found: Mapping[str, NDArray[Any]], where: str) -> None:
    for name, want in expected.items():
        if name not in found:
            raise WrongNumbersError(f"there is no array '{name}' among the arguments")
        most = 0.0 if want.dtype.kind in "iub" else TOLERANCES.get(found[name].dtype.itemsize, 1e-2)
        one, other = want.astype(np.float64), found[name].astype(np.float64)
        apart, size = float(np.linalg.norm(one - other)), float(np.linalg.norm(one))
        if not apart <= most * size:
            raise WrongNumbersError(f"wrong numbers in '{name}'{where}: {apart / size if size else apart:.2g} apart")


COMPILED = 10
"""Candidates of which code is made, unless the caller says another number."""
Given = Arguments | Callable[..., Arguments]
Tell = Callable[[int, int, str], None]
"""Told what is done: how many steps, of how many, and the present one."""


@dataclass(frozen=True, kw_only=True)
class HowTuned:
    """What a caller asks for beside the program, the space and the arguments."""

    target: str | None = None
    function: str | None = None
    grid: AskedGrid = None
    compiled: int = COMPILED
    """Of how many code is made."""
    check: bool = True
    """The threads of the winner."""
    measure: bool = True
    """Where there is a GPU."""
    expected: Mapping[str, Any] | None = None
    """What arrays hold after a launch, by name."""
    options: Options = field(default_factory=lambda: Options(target=""))
    """Of all candidates, where their points say nothing else."""
    cache: bool = True
    """Whether what is found is kept, and found there next time."""
    tell: Tell | None = None


class TuneOptions(TypedDict, total=False):
    """The fields of `HowTuned` that a script gives."""

    target: str | None
    function: str | None
    grid: AskedGrid
    compiled: int
    check: bool
    measure: bool
    expected: Mapping[str, Any] | None
    cache: bool


@dataclass(kw_only=True)
class _Try:
    """A candidate with its program."""

    candidate: Candidate
    program: Program
    request: Request
    values: Mapping[str, Any]
    """The arguments of the launch, by name."""
    problem: Problem | None
    """The launch; None where none can be foretold."""


def tune(make: Make, space: Space, arguments: Given, how: HowTuned) -> Tuning:
    """
    The candidates of `space` in their order, and the kernel of the fastest.

    Raises `InputError` for a space, a program or arguments that are wrong, where no candidate is left, and for a target
    of which no figures are known while there is no GPU to measure on; `MissingArguments`, which names all that are
    missing; `MissingLLVMError`, before anything is estimated, if there is no LLVM.
    """
    return _Search(make, space, arguments, how).run()


class _Search:
    """One tuning."""

    def __init__(self, make: Make, space: Space, arguments: Given, how: HowTuned) -> None:
        if find_spec("llvmlite") is None:
            raise MissingLLVMError
        self.how = how
        self.tries = [self._try(make, point, arguments) for point in points_of(space)]
        self.target = self.tries[0].request.target or ""
        self.gpu = gpu_of(self.target)
        capability = present_capability() if how.measure else None
        self.measuring = None
        if capability is not None and any(runs_on(self.target, capability)):
            self.measuring = Measuring(how.expected)
        if self.gpu is None and self.measuring is None:
            raise InputError(
                [f"error: no launches on {self.target} can be foretold: choose sm_90a, or measure on a GPU"]
            )
        self.cache = Cache.default() if how.cache else None
        self.key = self._key()

    def run(self) -> Tuning:
        """Estimate, foretell, measure, check."""
        self._recall()
        workers = Workers(len(self.tries))
        try:
            if self.gpu is not None:
                self._find("estimate", self.tries, workers)
            self._find("compile", self._first(self.how.compiled if self.gpu is not None else len(self.tries)), workers)
            if self.measuring is not None:
                chosen = self._first(self.how.compiled)
                for number, one in enumerate(chosen):
                    self._tell(number, len(chosen), f"measure {one.candidate.name}")
                    self._measure(one, self.measuring)
            kernel = self._winner()
        except KeyboardInterrupt:
            print(f"interrupted: {self._said()}; the next tuning goes on from there", file=sys.stderr)
            raise
        finally:
            workers.close()
            self._keep()
        device = self.measuring.device if self.measuring is not None else self.gpu.device if self.gpu else ""
        return Tuning(
            candidates=tuple(one.candidate for one in self._ordered()), kernel=kernel, target=self.target, device=device
        )

    # Candidates -------------------------------------------------------------------------------------------------------

    def _try(self, make: Make, point: Point, arguments: Given) -> _Try:
        program = program_of(made(make, point))
        module = parse_module(program.text, program.name, full_context())
        target = chosen_target(self.how.target, module, is_machine_code=True).name
        options, _ = options_of(point, replace(self.how.options, target=target)).for_module(module)
        given = arguments(**taken(arguments, point)) if callable(arguments) else arguments
        values = named_arguments(module, self.how.function, given)
        request = Request(target=target, options=options, is_checked=False)
        problem = self._problem(module, values) if gpu_of(target) is not None else None
        return _Try(
            candidate=Candidate(point=dict(point)), program=program, request=request, values=values, problem=problem
        )

    def _ordered(self) -> list[_Try]:
        return sorted(self.tries, key=lambda one: one.candidate.place)

    def _first(self, count: int) -> list[_Try]:
        return [one for one in self._ordered() if one.candidate.problem is None][:count]

    def _said(self) -> str:
        known = [one.candidate for one in self.tries]
        estimated_, foretold, measured = (
            sum(getattr(one, what) is not None for one in known) for what in ("estimated", "foretold", "measured")
        )
        return f"{len(known)} candidates, {estimated_} estimated, {foretold} foretold, {measured} measured"

    # Steps ------------------------------------------------------------------------------------------------------------

    def _find(self, step: Step, tries: Sequence[_Try], workers: Workers) -> None:
        """Do a step for the candidates that need it, on all cores."""
        known = "estimated" if step == "estimate" else "foretold"
        open_ = [one for one in tries if getattr(one.candidate, known) is None and one.candidate.problem is None]
        tasks = [self._task(step, one) for one in open_]
        self._tell(0, len(tries), step)
        with closing(workers.found(tasks)) as results:
            for done, (number, found) in enumerate(results, start=len(tries) - len(open_) + 1):
                one = open_[number]
                one.candidate = replace(one.candidate, **found)
                self._tell(done, len(tries), f"{step} {one.candidate.name}")

    def _task(self, step: Step, one: _Try) -> Task:
        return Task(
            step=step,
            program=one.program,
            request=one.request,
            function=self.how.function,
            problem=one.problem,
            cache=self.cache,
        )

    def _tell(self, done: int, total: int, what: str) -> None:
        if self.how.tell is not None:
            self.how.tell(done, total, what)

    def _measure(self, one: _Try, measuring: Measuring) -> None:
        candidate = one.candidate
        if candidate.measured is not None:
            return
        try:
            candidate.measured = measuring.seconds(self._kernel(one), one.values, self.how.grid)
        except Error as error:
            candidate.problem = first_line(error)

    def _winner(self) -> Kernel:
        """The kernel of the first candidate whose threads are not found wrong."""
        for one in self._first(len(self.tries)):
            self._tell(0, 1, f"check {one.candidate.name}")
            request = replace(one.request, is_checked=self.how.check, seconds=CHECK_SECONDS)
            try:
                return Kernel(compiled(one.program, request, self.cache), self.how.function)
            except InputError as error:
                one.candidate.problem = first_line(error)
        first = next((one.candidate.problem for one in self.tries if one.candidate.problem), "")
        raise InputError([f"error: no candidate is left of {len(self.tries)}; the first one: {first}"])

    def _kernel(self, one: _Try) -> Kernel:
        return Kernel(compiled(one.program, one.request, self.cache), self.how.function)

    def _problem(self, module: ModuleOp, values: Mapping[str, Any]) -> Problem:
        numbers: dict[str, int] = {}
        sizes: dict[str, tuple[int, ...]] = {}
        for name, value in values.items():
            array = array_of(value) if np.ndim(value) else None
            if array is not None:
                sizes[name] = array.shape
            elif array is None and not isinstance(value, float):
                numbers[name] = int(value)
        self._require_all(module, values)
        programs = programs_of(module)
        axes = programs[self.how.function or next(iter(programs))] if programs else None
        return Problem(numbers=numbers, sizes=sizes, grid=_grid(self.how.grid, axes, sizes, values))

    def _require_all(self, module: ModuleOp, values: Mapping[str, Any]) -> None:
        """
        Raises `MissingArguments` if a number is missing that a launch does not compute of an array, or an array of
        which it computes one, or which says the grid as nothing else does.
        """
        op, body = find_function(module, self.how.function)
        function = FunctionOpInterface.of(op)
        assert function is not None
        computed = numbers_of(op)
        counted = {array for array, _ in computed.values()}
        missing = [
            argument
            for place, argument in enumerate(body.blocks[0].args)
            if name_of(argument) not in values
            and (
                (is_integer_scalar(argument.type) and place not in computed)
                or (is_shaped(argument.type) and (self.how.grid is None or name_of(argument) in counted))
            )
        ]
        if missing:
            raise MissingArguments(function.function_name, missing)

    # What is kept -----------------------------------------------------------------------------------------------------

    def _key(self) -> str:
        """Of all that decides what is found."""
        shapes = [{name: str(np.shape(value) or value) for name, value in one.values.items()} for one in self.tries]
        keys = [key_of(one.program, one.request) for one in self.tries]
        grids = [extents_in(self.how.grid, one.values) for one in self.tries]
        words = [keys, shapes, [dict(one.candidate.point) for one in self.tries], grids, self.how.compiled]
        device = self.measuring.device if self.measuring is not None else None
        expected = {name: np.asarray(value).tobytes() for name, value in (self.how.expected or {}).items()}
        words += [{name: hashlib.sha256(data).hexdigest() for name, data in expected.items()}]
        return hashlib.sha256(json.dumps([words, device], default=str).encode()).hexdigest()

    def _recall(self) -> None:
        """What an earlier tuning has found."""
        found = self.cache.get(self.key) if self.cache is not None else None
        kept: list[dict[str, Any]] = json.loads(found) if found is not None else []
        for one, known in zip(self.tries, kept, strict=False):
            one.candidate = replace(one.candidate, **{**known, "point": one.candidate.point})

    def _keep(self) -> None:
        if self.cache is not None:
            self.cache.put(self.key, json.dumps([asdict(one.candidate) for one in self.tries], default=str).encode())


def _grid(
    asked: AskedGrid,
    axes: Sequence[ProgramAxis | None] | None,
    sizes: Mapping[str, Sequence[int]],
    values: Mapping[str, Any],
) -> Grid:
    """The blocks of the launch. Raises `ArgumentError` where they do not follow from the arrays."""
    extents = extents_in(asked, values)
    if extents is None:
        if axes is None:
            raise ArgumentError("the grid does not follow from the arrays: say it, as in grid=(4, 8)")
        absent = next((axis.array for axis in axes if axis is not None and axis.array not in sizes), None)
        if absent is not None:
            raise ArgumentError(f"'{absent}' is missing: the grid follows from its sizes")
        extents = [1 if axis is None else -(-sizes[axis.array][axis.dimension] // axis.extent) for axis in axes]
    x, y, z = [*extents, 1, 1][:3]
    if min(x, y, z) < 1:
        raise ArgumentError(f"a grid has 1 block or more along each axis, not {min(x, y, z)}")
    return x, y, z
