"""
`make demo`: carry the GEMM from queues, and from a synchronous loop, to agents, and show after each pass what it did,
that the program is still right, and how many cycles it takes.

Writes the IR after each pass to `build/demo/`.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.printer import Printer
from xdsl.universe import Universe

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import simulate

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "demo"

K_TILES = 3
"""Tiles along K that the demonstration multiplies."""

TARGET = "sm_90"
TIMED_TILES = 12
"""The target and the tiles along K for which cycles are simulated."""


@dataclass(frozen=True)
class Road:
    """One example and the passes that it goes through."""

    name: str
    example: str
    passes: tuple[str, ...]


ON = f"compute-capability={TARGET}"

ROADS = (
    Road(
        "queues",
        "gemm_queue",
        (
            "tileas-queue-to-pipeline",
            "tileas-materialize-async",
            "tileas-optimize-pipeline-region",
            "tileas-remove-dead-work",
        ),
    ),
    Road(
        "one-agent",
        "gemm_loop",
        (
            "tileas-materialize-async",
            "tileas-unspecialized-pipeline{num-stages=2}",
            "tileas-optimize-pipeline-region",
            "tileas-remove-dead-work",
        ),
    ),
    Road(
        "agents",
        "gemm_loop",
        (
            "tileas-materialize-async",
            f"tileas-prepare-for-scheduling{{{ON} sub-tiles=2}}",
            f"tileas-generate-schedule{{{ON}}}",
            f"tileas-assign-buffers{{{ON}}}",
            f"tileas-materialize-schedule{{{ON}}}",
            "tileas-optimize-pipeline-region",
            "tileas-remove-dead-work",
            "propagate-execution-unit",
            "optimize-execution-unit-mapping",
        ),
    ),
)


def counted(module: ModuleOp) -> Counter[str]:
    """How many ops of each name there are."""
    return Counter(op.name for op in module.walk())


def changes(before: Counter[str], after: Counter[str]) -> str:
    """The ops that came and went, the most numerous first."""
    difference = {name: after[name] - before[name] for name in before | after if after[name] != before[name]}
    ordered = sorted(difference.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [f"{count:+d} {name.rpartition('.')[2]}" for name, count in ordered]
    return ", ".join(shown[:5]) + (f", {len(shown) - 5} more" if len(shown) > 5 else "") or "no op comes or goes"


def cycles(module: ModuleOp) -> str:
    """The simulated cycles of a product of `TIMED_TILES` tiles along K."""
    return f"{simulate(module, None, {'n': TIMED_TILES}, TARGET).cycles:,}"


def is_right(module: ModuleOp) -> str:
    """Whether the module multiplies, and what the checker says of it."""
    generator = np.random.default_rng(0)
    a = generator.integers(-4, 4, (128, 64 * K_TILES)).astype(np.float16)
    b = generator.integers(-4, 4, (64 * K_TILES, 128)).astype(np.float16)
    outcome = run(module, None, [a, b, np.zeros((128, 128), np.float32), K_TILES])
    product = next(array for array in outcome.arrays.values() if array.dtype == np.float32)
    right = bool((product == a.astype(np.float32) @ b.astype(np.float32)).all()) and not outcome.violations
    return f"{'multiplies' if right else 'WRONG'}, {check(module).verdict_line}"


def write_stage(module: ModuleOp, name: str) -> None:
    """Write `module` where it can be looked at, and read again."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / name).open("w") as stream:
        Printer(stream).print_op(module)
        stream.write("\n")


def walk(road: Road, universe: Universe, console: Console) -> bool:
    """Run `road`, print its table; whether every stage was right."""
    ctx = Context()
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    source = HERE / f"{road.example}.mlir"
    module = Parser(ctx, source.read_text(), str(source)).parse_module()
    module.verify()

    table = Table(title=f"{road.example}.mlir: {road.name}", title_justify="left")
    table.add_column("pass")
    for heading in ("ops before", "after", "ms", "cycles"):
        table.add_column(heading, justify="right")
    table.add_column("what changed")
    table.add_column("is it still right?")
    verdict = is_right(module)
    table.add_row("(as written)", "", str(counted(module).total()), "", cycles(module), "", verdict)
    verdicts = [verdict]
    write_stage(module, f"{road.name}-00.mlir")
    for number, spec in enumerate(road.passes, 1):
        before = counted(module)
        start = perf_counter()
        PassPipeline.parse_spec(universe.all_passes, spec).apply(ctx, module)
        elapsed = (perf_counter() - start) * 1000
        module.verify()
        after = counted(module)
        name = spec.partition("{")[0]
        write_stage(module, f"{road.name}-{number:02}-{name}.mlir")
        verdicts.append(verdict := is_right(module))
        numbers = (str(before.total()), str(after.total()), f"{elapsed:.1f}", cycles(module))
        table.add_row(spec, *numbers, changes(before, after), verdict)
    console.print(table)
    return all(verdict.startswith("multiplies, safe") for verdict in verdicts)


def main() -> int:
    console = Console(width=None if sys.stdout.isatty() else 170)
    universe = Universe.get_multiverse()
    results = [walk(road, universe, console) for road in ROADS]
    console.print(f"Each stage was written to {BUILD.relative_to(HERE.parent)}/.")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
