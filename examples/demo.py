"""
`make demo`: carry the GEMM from queues, and from a synchronous loop, to agents, and the GEMM and attention to layouts;
show after each pass what it did, that the program is still right, and how many cycles it takes.

Writes the IR after each pass to `build/demo/`.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
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

LAYOUTS = (
    f"tileas-assign-layouts{{{ON}}}",
    "tileas-remove-layout-conversions",
    f"tileas-materialize-convert-layout{{{ON}}}",
)
"""Every tile gets a layout, and the conversions that are left become what threads do."""

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
    Road("layouts", "gemm_loop", ("tileas-materialize-async", *LAYOUTS)),
    Road("layouts-of-attention", "attention_queue", ("tileas-queue-to-pipeline", "tileas-materialize-async", *LAYOUTS)),
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
    """The simulated cycles for `TIMED_TILES` tiles along K, or tiles of keys."""
    return f"{simulate(module, None, {'n': TIMED_TILES}, TARGET).cycles:,}"


def product(generator: np.random.Generator) -> tuple[list[Any], NDArray[np.float64]]:
    """Arguments of the GEMM, and what it has to give."""
    a = generator.integers(-4, 4, (128, 64 * K_TILES)).astype(np.float16)
    b = generator.integers(-4, 4, (64 * K_TILES, 128)).astype(np.float16)
    return [a, b, np.zeros((128, 128), np.float32), K_TILES], a.astype(np.float64) @ b.astype(np.float64)


def attention(generator: np.random.Generator) -> tuple[list[Any], NDArray[np.float64]]:
    """Arguments of attention, and what it has to give: softmax(Q * K^T / 8) * V."""
    q, k, v = (generator.normal(size=(rows, 64)).astype(np.float16) for rows in (64, 64 * K_TILES, 64 * K_TILES))
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    return [q, np.ascontiguousarray(k.T), v, np.zeros((64, 64), np.float32), K_TILES], expected


CASES = {"gemm_queue": product, "gemm_loop": product, "attention_queue": attention}
"""Example -> what it is given, and what it has to give."""

ROUNDING = 1e-3
"""The weights of attention go through f16."""


def is_right(module: ModuleOp, example: str) -> str:
    """Whether the module multiplies, and what the checker says of it."""
    arguments, expected = CASES[example](np.random.default_rng(0))
    outcome = run(module, None, arguments)
    (found,) = (array for array in outcome.arrays.values() if array.dtype == np.float32)
    right = np.allclose(found, expected, rtol=0, atol=ROUNDING) and not outcome.violations
    return f"{'multiplies' if right else 'WRONG'}, {check(module, judge_waits=False).verdict_line}"


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
    verdict = is_right(module, road.example)
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
        verdicts.append(verdict := is_right(module, road.example))
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
