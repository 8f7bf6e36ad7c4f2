"""
Programs of tiles, and the threads that they become: do the two compute the same?

The files are in `tests/threads/programs/`; each has a function `@f`; its argument `%n`, if any, counts trips.
The machine runs the tiles, which say what is meant, and the threads in several orders. A finding of the machine on
threads counts only where the tiles have none: the programs are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, parse, run_passes
from tests.support.thread_kernels import passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run
from tileas_xdsl.pipelines import FAMILY
from tileas_xdsl.tools.machine_code.validation import differences, handed_over, has_trips, made_up

PROGRAMS = ROOT / "tests" / "threads" / "programs"

AGENTS, ONE_AGENT, BEFORE_TMA = "sm_90a warp-specialize", "sm_90a unspecialize", "sm_80 unspecialize"
AGENTS_BEFORE_TMA = "sm_80 warp-specialize"
VARIANTS = (AGENTS, ONE_AGENT, BEFORE_TMA)
"""Target and strategy."""

TO_KERNELS = "convert-nv-tile-func-to-llvm"
"""From here on the family takes programs that have pipelines and agents already."""
ORDERS = ("eager", "lazy", "random", "timed")
TRIPS = (0, 1, 2, 3)
EXTENT = 160
"""Of each axis of an array whose type leaves it open: no tile of the programs reaches outside."""
CLOSE = 2e-3
"""How far numbers may be apart, relatively and absolutely: sums of f16 are rounded in another order."""
SECONDS = 60
"""Within which a check has to be done."""

RIGHT, REFUSED = "right", "refused"


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
    """Whether the threads compute what the tiles do: `RIGHT`, `REFUSED`, or what is wrong with them."""
    threads = threads_of(name, variant)
    if threads is None:
        return REFUSED
    return compared(text_of(name), threads)


def compared(
    text: str,
    threads: ModuleOp,
    counts: Sequence[int] = TRIPS,
    extent: int = EXTENT,
    orders: Sequence[str] = ORDERS,
) -> str:
    """The same for a program and the threads that it has become; its arrays have `extent` elements an axis."""
    tiles = parse(text)
    found = sorted({*_differences(tiles, threads, counts, extent, orders)})
    return found[0] if found else RIGHT


def _differences(
    tiles: ModuleOp, threads: ModuleOp, counts: Sequence[int], extent: int, orders: Sequence[str]
) -> Iterator[str]:
    """What is wrong with the threads, for each trip count and order."""
    (_, source), (_, code) = (find_function(module, "f") for module in (tiles, threads))
    for trips in counts if has_trips(source) else counts[:1]:
        given = made_up(source, trips, extent=extent, first_coordinate=-2)
        expected = run(tiles, "f", handed_over(given, source))
        assert not expected.violations
        for order in orders:
            found = run(threads, "f", handed_over(given, code), order=order, seed=trips)
            yield from differences(expected, found, CLOSE)


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
