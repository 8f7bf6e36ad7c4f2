"""
Expanding a loop, by ops in its body and by stages, beside xDSL's verification of the module that comes out.

The body is a chain of load, two arithmetic ops and store, repeated; its four ops lie in evenly spread stages. Times are
in milliseconds, the collector is off; best of three rounds, but one for the largest body. `us/op` is plan and expansion
for each op of the module that comes out, `x verify` their ratio to its verification.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from xdsl.context import Context
from xdsl.dialects import get_all_dialects, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tileas_xdsl.analysis.dependence import dependence_graph
from tileas_xdsl.transforms.loops.loop_expander import expand_loop
from tileas_xdsl.transforms.loops.loop_expander.plan import late_stages_first, plan_expansion

ROUNDS = {100: 3, 1_000: 3, 10_000: 1}
"""Number of ops in the body -> rounds of measurement."""
STAGES = (2, 4, 8)

CHAIN = """
    %a{n} = memref.load %A[%i] : memref<64xf32>
    %b{n} = arith.addf %a{n}, %a{n} : f32
    %d{n} = arith.mulf %b{n}, %a{n} : f32
    memref.store %d{n}, %B[%i] : memref<64xf32>"""


def loop_text(ops: int, upper: str) -> str:
    """A function with one loop of about `ops` ops, up to `upper`."""
    body = "".join(CHAIN.format(n=n) for n in range(ops // 4))
    return f"""
func.func @f(%A: memref<64xf32>, %B: memref<64xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to {upper} step %c1 {{{body}
  }}
  func.return
}}"""


def parsed(text: str) -> tuple[ModuleOp, scf.ForOp]:
    ctx = Context()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    return module, next(op for op in module.walk() if isinstance(op, scf.ForOp))


def seconds(action: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start
    finally:
        gc.enable()


def one_round(text: str, stages: int) -> tuple[dict[str, float], int]:
    """Seconds for each step on a fresh module, and the number of ops made."""
    module, loop = parsed(text)
    *body, _ = loop.body.block.ops
    spread = {op: index % 4 * (stages - 1) // 3 for index, op in enumerate(body)}
    placements = late_stages_first(loop, spread)
    graph = dependence_graph(loop)
    plan = plan_expansion(loop, placements, dependences=graph)
    taken = {
        "dependences": seconds(lambda: dependence_graph(loop)),
        "plan": seconds(lambda: plan_expansion(loop, placements, dependences=graph)),
        "expand": seconds(lambda: expand_loop(plan)),
    }
    taken["verify"] = seconds(module.verify)
    return taken, sum(1 for _ in module.walk())


def measure() -> list[dict[str, Any]]:
    """One row for each body, number of stages and kind of bounds."""
    rows: list[dict[str, Any]] = []
    for bounds, upper in (("constant", "%c64"), ("unknown", "%n")):
        for ops, count in ROUNDS.items():
            for stages in STAGES:
                rounds = [one_round(loop_text(ops, upper), stages) for _ in range(count)]
                rows.append({"bounds": bounds, "ops": ops, "stages": stages, **_summary(rounds)})
    return rows


def _summary(rounds: list[tuple[dict[str, float], int]]) -> dict[str, Any]:
    best = {step: min(taken[step] for taken, _ in rounds) for step in rounds[0][0]}
    made, ours = rounds[0][1], best["plan"] + best["expand"]
    columns = {step: 1e3 * taken for step, taken in best.items()}
    return {"made": made, **columns, "us/op": 1e6 * ours / made, "x verify": ours / best["verify"]}
