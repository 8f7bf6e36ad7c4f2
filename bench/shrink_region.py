"""
The region shrinker on consume regions of 10,000 and 100,000 ops, half of them dead, beside xDSL's verifier on the
same module.
"""

from __future__ import annotations

import gc
from time import perf_counter
from typing import Any

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.test import Test
from xdsl.parser import Parser

SIZES = (10_000, 100_000)


def region(ops: int) -> str:
    """Every second op is dead."""
    lines = []
    for number in range(0, ops, 2):
        before = f"%v{number - 2}" if number else "%x"
        lines.append(f"%v{number} = arith.addf {before}, %x : f32\n%d{number} = arith.mulf {before}, %x : f32")
    body = "\n".join(lines)
    return f"""
func.func @f(%t: !nv_tileas.token, %x: f32) {{
  %r = nv_tileas.async.pipeline.consume_one %t {{
{body}
    nv_tileas.async.pipeline.yield %v{ops - 2} : (f32) -> ()
  }} : (!nv_tileas.token) -> f32
  "test.op"(%r) : (f32) -> ()
  func.return
}}"""


def measure() -> list[dict[str, Any]]:
    """One row a size: seconds to shrink and to verify, their ratio, and the growth from the size before."""
    from tileas_xdsl.dialects.nv_tileas.dialect import NvTileAS
    from tileas_xdsl.transforms.tileas.optimize_pipeline_region import OptimizePipelineRegionPass

    ctx = Context()
    for dialect in (Builtin, Func, Arith, Test, NvTileAS):
        ctx.load_dialect(dialect)
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        module = Parser(ctx, region(size)).parse_module()
        gc.collect()
        gc.disable()
        start = perf_counter()
        module.verify()
        verified = perf_counter()
        OptimizePipelineRegionPass().apply(ctx, module)
        shrunk = perf_counter()
        gc.enable()
        row = {
            "ops": size,
            "shrink s": round(shrunk - verified, 4),
            "verify s": round(verified - start, 4),
            "shrink / verify": round((shrunk - verified) / (verified - start), 3),
        }
        if rows:
            row["growth"] = round(row["shrink s"] / rows[-1]["shrink s"], 2)
        rows.append(row)
    return rows
