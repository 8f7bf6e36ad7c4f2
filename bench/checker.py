"""
The checker on the warp-specialised GEMM with rings of four slots, at 8, 64 and 512 iterations: milliseconds, operations
per second, and how the cost grows. A linear checker takes eight times as long for eight times the iterations. Then the
proof for every trip count, with rings of one to eight slots, and with one to four consumers of a ring of four: the goal
is below 100 ms with four slots.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

EXAMPLE = Path(__file__).parents[1] / "examples" / "gemm_queue.mlir"
ITERATIONS = (8, 64, 512)
REPETITIONS = 3


def gemm(passes: str, slots: int = 4) -> ModuleOp:
    """The example with rings of so many slots, after `passes`."""
    universe = Universe.get_multiverse()
    ctx = Context()
    for name, factory in universe.all_dialects.items():
        ctx.register_dialect(name, factory)
    text = EXAMPLE.read_text().replace("depth = 3", f"depth = {slots}")
    module = Parser(ctx, text, str(EXAMPLE)).parse_module()
    PassPipeline.parse_spec(universe.all_passes, passes).apply(ctx, module)
    module.verify()
    return module


def seconds_to_check(module: ModuleOp, iterations: int) -> float:
    """Seconds of one check at one trip count."""
    from tileas_xdsl.checker.verdict.checking import check

    start = perf_counter()
    report = check(module, trip_counts=[iterations])
    elapsed = perf_counter() - start
    if report.verdict != "safe":
        raise RuntimeError(f"the example is not safe: {report}")
    return elapsed


def seconds_to_prove(module: ModuleOp) -> tuple[float, int]:
    """Seconds of one check for every trip count, and the largest trip count that was executed for it."""
    from tileas_xdsl.checker.verdict.checking import check

    start = perf_counter()
    report = check(module)
    elapsed = perf_counter() - start
    if not report.holds_for_every_trip_count:
        raise RuntimeError(f"there is no proof of the example: {report}")
    return elapsed, next(iter(report.proofs.values())).executed


def with_consumers(module: ModuleOp, consumers: int) -> ModuleOp:
    """The pipelines with several agents as consumers, which keep their products: they would all store to one place."""
    from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp

    changed = module.clone()
    for op in list(changed.walk()):
        if op.name == "nv_tileaa.tiled_store":
            op.detach()
            op.erase()
        elif isinstance(op, AgentSwitchOp):
            op.properties["num_agents_per_group"] = DenseArrayBase.from_list(i32, [1, consumers])
    return changed


def proofs() -> list[dict[str, Any]]:
    """One row for each number of slots and of consumers."""
    cases = [(f"every trip count, {slots} slots", gemm("tileas-queue-to-pipeline", slots)) for slots in (1, 2, 4, 8)]
    cases.insert(0, ("every trip count, 4 slots, queues", gemm("")))
    four = gemm("tileas-queue-to-pipeline")
    cases += [(f"every trip count, {n} consumers", with_consumers(four, n)) for n in (2, 4)]
    rows: list[dict[str, Any]] = []
    for label, module in cases:
        seconds, executed = min(seconds_to_prove(module) for _ in range(2))
        rows.append({"form": label, "iterations": executed, "ms": round(seconds * 1000, 2)})
    return rows


def operations(module: ModuleOp, iterations: int) -> int:
    """How many operations such a check executes."""
    from tileas_xdsl.machine.arguments import find_function, symbolic_arguments
    from tileas_xdsl.machine.core.calling import execute
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.orders import Lazy

    function, body = find_function(module, None)
    machine = Machine(Lazy(), with_data=False)
    execute(machine, function, symbolic_arguments(body, {"n": iterations}))
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
    return [*rows, *proofs()]
