"""
The checker on the warp-specialised GEMM with rings of four slots, at 8, 64 and 512 iterations: milliseconds, operations
per second, and how the cost grows. A linear checker takes eight times as long for eight times the iterations.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

EXAMPLE = Path(__file__).parents[1] / "examples" / "gemm_queue.mlir"
ITERATIONS = (8, 64, 512)
REPETITIONS = 3


def gemm(passes: str) -> ModuleOp:
    """The example with rings of four slots, after `passes`."""
    universe = Universe.get_multiverse()
    ctx = Context()
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    text = EXAMPLE.read_text().replace("depth = 3", "depth = 4")
    module = Parser(ctx, text, str(EXAMPLE)).parse_module()
    PassPipeline.parse_spec(universe.all_passes, passes).apply(ctx, module)
    module.verify()
    return module


def seconds_to_check(module: ModuleOp, iterations: int) -> float:
    """Seconds of one check at one trip count."""
    from tileas_xdsl.machine.checking import check

    start = perf_counter()
    report = check(module, trip_counts=[iterations])
    elapsed = perf_counter() - start
    if report.verdict != "safe":
        raise RuntimeError(f"the example is not safe: {report}")
    return elapsed


def operations(module: ModuleOp, iterations: int) -> int:
    """How many operations such a check executes."""
    from tileas_xdsl.machine.arguments import find_function
    from tileas_xdsl.machine.checking import Assumptions, symbolic_arguments
    from tileas_xdsl.machine.execution import Machine
    from tileas_xdsl.machine.orders import Lazy
    from tileas_xdsl.machine.running import execute

    function, body = find_function(module, None)
    machine = Machine(Lazy(), with_data=False)
    execute(machine, function, symbolic_arguments(body, {"n": iterations}, Assumptions()))
    return machine.step_number


def measure() -> list[dict[str, Any]]:
    """One row for each form of the program and number of iterations."""
    rows: list[dict[str, Any]] = []
    for label, passes in (("queues", ""), ("pipelines", "tileas-queue-to-pipeline")):
        module = gemm(passes)
        before: float | None = None
        for iterations in ITERATIONS:
            seconds = min(seconds_to_check(module, iterations) for _ in range(REPETITIONS))
            steps = operations(module, iterations)
            row = {
                "form": label,
                "iterations": iterations,
                "ms": round(seconds * 1000, 2),
                "operations": steps,
                "operations/s": round(steps / seconds),
            }
            if before is not None:
                row["growth"] = round(seconds / before, 2)
            rows.append(row)
            before = seconds
    return rows
