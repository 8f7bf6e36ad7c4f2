"""
The front door: what `import tileas_xdsl as tileas` gives to a script or a notebook.

    module = tileas.parse("ring.mlir")                   # or the text itself
    faster = tileas.transform(module, "tileas-materialize-async,tileir{pipeline-strategy=unspecialize}")
    tileas.check(faster)                                 # a report
    tileas.run(faster, {"n": 4, "src": array})           # an outcome: results, arrays, violations
    tileas.simulate(faster, [None, None, 4])             # cycles
    tileas.timeline(faster, {"n": 4}, target="sm_90")    # a picture
    kernel = tileas.compile("gemm.mlir")                 # code, contract, report, verdict
    tileas.tune("gemm.mlir", {"num_stages": [2, 3]}, {...})    # the fastest of several

All that take a module take a file or a text as well, which they read as `parse` does. All that execute a function take
its arguments in one way: as a mapping from names (or from ids and extents of the grid, `ctaid.x`), or as a sequence by
position, in which None stands for an argument that is left out. Reports, timelines and token graphs show themselves in
a notebook.

All errors are an `Error`. Their messages name the file, line and column: `InputError` for text, `ArgumentError` for
arguments, `PassFailedException` (of which `RefusedError` is one) for passes, `UnsupportedError` for ops without a
meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.checker.verdict import checking
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.diagnostics import Error as Error
from tileas_xdsl.kernels.compiling import Request
from tileas_xdsl.kernels.kernel import Kernel as Kernel
from tileas_xdsl.kernels.kernel import kernel_of, loaded
from tileas_xdsl.kernels.tuning import tuning
from tileas_xdsl.kernels.tuning.result import Tuning as Tuning
from tileas_xdsl.kernels.tuning.space import Make, Space
from tileas_xdsl.kernels.tuning.tuning import Given, HowTuned, TuneOptions
from tileas_xdsl.machine import running
from tileas_xdsl.machine.arguments import Arguments, find_function, fixed_numbers, named_arguments
from tileas_xdsl.machine.running import Outcome
from tileas_xdsl.machine.time.simulation import TimedRun
from tileas_xdsl.pipelines import Strategy
from tileas_xdsl.tools.compile import Options
from tileas_xdsl.tools.errors import InputError as InputError
from tileas_xdsl.tools.errors import MissingFileError
from tileas_xdsl.tools.explain import HowRun, road_of
from tileas_xdsl.tools.inputs import ProgramLike, full_context, parse_module, read_module, read_text
from tileas_xdsl.tools.layout import layout_of
from tileas_xdsl.tools.machine_code import CHECK_SECONDS
from tileas_xdsl.tools.pass_pipelines import apply_passes, passes_named
from tileas_xdsl.tools.passes import PassList, passes_of
from tileas_xdsl.tools.progress import bar, progress
from tileas_xdsl.tools.ptx import LaunchOptions, is_ptx
from tileas_xdsl.tools.ptx.kernels import module_of_ptx
from tileas_xdsl.tools.schedule import TARGET, HowScheduled, schedules_of
from tileas_xdsl.tools.time_limit import TIMEOUT
from tileas_xdsl.tools.timeline import TRIP_COUNT, timed_run_of
from tileas_xdsl.tools.times import stated_target
from tileas_xdsl.views import timeline as pictures
from tileas_xdsl.views.dependences import WaitGraph, dependences
from tileas_xdsl.views.layouts import ShownLayout
from tileas_xdsl.views.schedule import Schedules
from tileas_xdsl.views.stages import Road
from tileas_xdsl.views.timeline.shown import ShownTimeline

__version__ = version("tileas-xdsl")

TEXT = "<text>"
"""The file name in the locations of a program that was given as text."""


def parse(source: str | Path, *, allow_unregistered: bool = False) -> ModuleOp:
    """
    The verified module in a file, or in a text: a `str` is a file if it ends in `.mlir` or `.ptx` and has one line.
    `parse_ptx` takes what a launch says of PTX.

    Every op knows its file, line and column. Raises `InputError` for what does not parse or verify or uses a value
    before its definition, `MissingFileError` and other `OSError`s where a file cannot be read.
    """
    if isinstance(source, Path) or (source.endswith((".mlir", ".ptx")) and "\n" not in source):
        if str(source).endswith(".ptx"):
            return parse_ptx(source)
        try:
            return read_module(str(source), allow_unregistered=allow_unregistered)
        except FileNotFoundError:
            raise MissingFileError([f"{source}: error: no such file or directory"]) from None
    return parse_module(source, TEXT, full_context(allow_unregistered=allow_unregistered))


def parse_ptx(
    source: str | Path,
    *,
    function: str | None = None,
    launch: str | Path | None = None,
    block: Sequence[int] | None = None,
    cluster: Sequence[int] | None = None,
    shared: int | None = None,
    tensor_maps: Mapping[str, str] | None = None,
) -> ModuleOp:
    """
    The kernels in a file of PTX, or in a text, or the one called `function` (a part of its name is enough).

    `launch` is the file that says how they are launched (default: the `.json` beside `source`); the other arguments win
    over it: extents of the block and the cluster, bytes of dynamic shared memory, and the tensor maps by parameter,
    as `{"a_desc": "f16[128x64]:swizzle=128"}`. Raises `InputError`, and `OSError` where a file cannot be read.
    """
    options = LaunchOptions(
        None if launch is None else str(launch),
        None if block is None else tuple(block),
        None if cluster is None else tuple(cluster),
        shared,
        tensor_maps or {},
    )
    return _ptx_module(source, options, function)


def _ptx_module(source: str | Path, options: LaunchOptions, function: str | None) -> ModuleOp:
    is_file = isinstance(source, Path) or "\n" not in source
    try:
        text = read_text(str(source)) if is_file else str(source)
    except FileNotFoundError:
        raise MissingFileError([f"{source}: error: no such file or directory"]) from None
    return module_of_ptx(text, str(source) if is_file else TEXT, options, function)


def _module_of(program: ProgramLike) -> ModuleOp:
    return program if isinstance(program, ModuleOp) else parse(program)


def _asked(program: ProgramLike, args: Arguments, function: str | None) -> tuple[ModuleOp, str | None]:
    """
    A program as a module, and the function in it that is asked for. Of PTX a part of the name is enough, and a number
    among `args` is one of elements, not of tiles.
    """
    if isinstance(program, ModuleOp):
        return program, function
    if is_ptx(str(program), str(program)):
        fixed = frozenset(args) if isinstance(args, Mapping) else frozenset[str]()
        return _ptx_module(program, LaunchOptions(fixed=fixed), function), None
    return parse(program), function


def compile(
    program: ProgramLike,
    *,
    target: str | None = None,
    function: str | None = None,
    strategy: Strategy = "warp-specialize",
    num_stages: int = 4,
    sub_tiles: int = 1,
    dynamic_persistent: bool = False,
    persistent: bool | None = None,
    blocks: int | None = None,
    under_load: bool = False,
    group_programs: int = 0,
    num_warps: int | None = None,
    num_ctas: int = 1,
    threads: int = 1,
    ptxas: str | None = None,
    check: bool = True,
    timeout: float | None = CHECK_SECONDS,
    cache: bool = True,
) -> Kernel:
    """
    The kernel `function` (None: the only one) of a program, compiled for `target`.

    Without a target it is that of the program, else the GPU of this machine,
    else sm_90a. The options are those of `tileas compile`, and None leaves one to it; `check` and `timeout` say whether
    its threads are checked, and for how many seconds of processor time. With `cache` the result is kept on disk, and
    found there next time.
    Raises `InputError` for a program that is wrong or refused, and `UnsafeCodeError` for threads that are wrong.
    """
    options = Options(
        target=target or "",
        strategy=strategy,
        num_stages=num_stages,
        sub_tiles=sub_tiles,
        dynamic_persistent=dynamic_persistent,
        persistent=persistent,
        blocks=blocks,
        under_load=under_load,
        group_programs=group_programs,
        num_warps=num_warps,
        num_ctas=num_ctas,
        threads=threads,
    )
    request = Request(target=target, options=options, ptxas=ptxas, is_checked=check, seconds=timeout)
    return kernel_of(program, request, function=function, is_cached=cache)


def tune(
    make: Make, space: Space, args: Given = (), *, progress: bool = True, **options: Unpack[TuneOptions]
) -> Tuning:
    """
    The fastest way to compile a program, for the arrays and numbers of one launch.

    `make` is a program as for `compile`, or makes one of what `space` varies; what it does not take are options of
    `compile`. `space` has values by name, or is a sequence of points. `args` are the arguments of a launch (arrays of
    the host), or make them of a point, as `grid` may of arguments. All points are estimated from their schedules; of
    the `compiled` best ones code is made, run on the model of a multiprocessor, and (`measure`) timed where there is a
    GPU, if the numbers are right: `expected` by name, else those of the machine. The threads of the winner are checked
    (`check`). With `cache` what is found is kept. Raises `InputError` and `ArgumentError`.
    """
    with bar() as tell:
        return tuning.tune(make, space, args, HowTuned(**options, tell=tell if progress else None))


def load(file: str | Path, *, function: str | None = None) -> Kernel:
    """
    The kernel in a file that `tileas compile` wrote (`.ll`, `.ptx`, `.cubin`), with its launch contract beside it.

    Raises `MissingFileError`, and `InputError` for files that are none of these.
    """
    return loaded(file, function=function)


def transform(module: ProgramLike, passes: str | Sequence[ModulePass]) -> ModuleOp:
    """
    A copy of `module` behind `passes`: a pipeline as `xdsl-opt -p` takes it, or instances of passes. `module` stays.

    The copy is verified, dominance too, behind each pass. Raises `InputError` for a pass or an option that does not
    exist, and for a pass that leaves a module which does not verify; `PassFailedException` where a pass fails.
    """
    steps = passes_named(passes) if isinstance(passes, str) else passes
    changed = _module_of(module).clone()
    apply_passes(steps, changed, full_context())
    return changed


def check(
    module: ProgramLike,
    args: Arguments = (),
    *,
    function: str | None = None,
    trip_counts: Sequence[int] | None = None,
    capture: str = "completion",
    may_alias: Sequence[tuple[str, str]] = (),
    assume: Sequence[str] = (),
    assume_pure: Sequence[str] = (),
    relaxed_proxy: bool = False,
    threads: int | None = None,
    prove: bool | None = None,
    judge_waits: bool = True,
    timeout: float | None = checking.TIMEOUT,
    steps: float | None = None,
) -> Report:
    """
    Races, deadlocks and the like in `function`, or in every public function, or a proof that there are none.

    Numbers among `args` fix arguments; arrays say nothing here, for what is checked holds whatever they contain. The
    options are those of `checker.verdict.checking.check`, which says what is raised. A check that takes its time shows
    on a terminal which call it is at.
    """
    module, function = _asked(module, args, function)
    with progress() as tell:
        return checking.check(
            module,
            function,
            args=fixed_numbers(module, function, args),
            trip_counts=trip_counts,
            capture=capture,
            may_alias=may_alias,
            assume=assume,
            assume_pure=assume_pure,
            relaxed_proxy=relaxed_proxy,
            threads=threads,
            prove=prove,
            judge_waits=judge_waits,
            timeout=timeout,
            steps=steps,
            tell=tell,
        )


def run(
    module: ProgramLike,
    args: Arguments = (),
    *,
    function: str | None = None,
    order: str = "lazy",
    seed: int = 0,
    capture: str = "completion",
    target: str = "generic",
    threads: int | None = None,
    timeout: float | None = None,
) -> Outcome:
    """
    What `function`, or the only one, computes from `args`. Arrays that are left out get small random integers.

    The options are those of `machine.running.run`, which says what is raised.
    """
    module, function = _asked(module, args, function)
    return running.run(
        module,
        function,
        named_arguments(module, function, args),
        order=order,
        seed=seed,
        capture=capture,
        target=target,
        threads=threads,
        timeout=timeout,
    )


def simulate(
    module: ProgramLike,
    args: Arguments = (),
    *,
    function: str | None = None,
    target: str | None = None,
    threads: int | None = None,
    timeout: float | None = TIMEOUT,
) -> TimedRun:
    """
    How many cycles `function` takes on `target` (None: what the IR says that it is compiled for, else `generic`).

    Arrays that are left out are computed only where control flow depends on them. Violations are in the result. Raises
    what `machine.time.simulation.simulate` raises.
    """
    module, function = _asked(module, args, function)
    op, _ = find_function(module, function)
    given = named_arguments(module, function, args)
    chosen = stated_target(op) if target is None else target
    return timed_run_of(module, op, given, chosen, threads=threads, timeout=timeout)


def timeline(
    module: ProgramLike,
    args: Arguments = (),
    *,
    function: str | None = None,
    target: str | None = None,
    threads: int | None = None,
    timeout: float | None = TIMEOUT,
) -> ShownTimeline:
    """The picture of what agents and engines do in that run (see `simulate`); `svg()` is the text of a file."""
    timed = simulate(module, args, function=function, target=target, threads=threads, timeout=timeout)
    return ShownTimeline.of(pictures.timeline(timed))


def schedule(
    module: ProgramLike,
    *,
    target: str = TARGET,
    strategy: str = "cost-based",
    num_stages: int = 4,
    agents: int | str | None = None,
    exact_limit: int = 10,
    passes: str | None = None,
) -> Schedules:
    """
    When each op of the innermost loops runs, why, and what binds; the options are those of `tileas schedule`.

    `passes` run first, on a copy (None: those that make loops schedulable for `target`). Raises `InputError` where
    there is no loop, and for options that do not exist.
    """
    how = HowScheduled(
        target=target,
        strategy=strategy,
        num_stages=num_stages,
        agents=None if agents is None else str(agents),
        exact_limit=exact_limit,
        passes=passes,
    )
    return schedules_of(_module_of(module).clone(), "<module>", how)


def explain(
    module: ProgramLike,
    passes: str = "",
    args: Mapping[str, int] | None = None,
    *,
    function: str | None = None,
    trip_count: int = TRIP_COUNT,
    target: str | None = None,
    threads: int | None = None,
) -> Road:
    """
    What each of `passes` does to a program: its IR, remarks, verdict and timeline after each; `module` stays.

    Numbers in `args` fix arguments; others that bound loops are `trip_count` in the timelines. Where a pass refuses,
    `stopped` says why. Raises `InputError` for passes that do not exist, `ArgumentError` for arguments that do not.
    """
    how = HowRun(
        function=function,
        arg=[f"{name}={value}" for name, value in (args or {}).items()],
        trip_count=trip_count,
        target=target,
        threads=threads,
    )
    return road_of(_module_of(module), passes, how)


def passes(name: str | None = None, *, everything: bool = False) -> PassList:
    """
    The passes of this package, with options, defaults and descriptions; one called `name`; or (`everything`) those of
    xDSL and other packages as well. Raises `InputError` for a name that does not exist.
    """
    return passes_of(name, everything)


def layout(text: str, target: str | None = None, *, tile: str = "64x64xf16") -> ShownLayout:
    """
    Who holds which element of a tile, or where it lies, and (`target`) what leads to another layout.

    Layouts are written as for `tileas layout`: `smem, swizzle<128>`. Raises `InputError` for what is no layout.
    """
    return layout_of(text, target, tile)


def tokens(module: ProgramLike, *, function: str | None = None) -> WaitGraph:
    """Who waits for whom in `function`, or in the only one: the graph of its tokens."""
    return dependences(find_function(_module_of(module), function)[0])
