"""
Scheduling by size: modules of many loops of 50 ops, one large body, and one loop of many pairs of loads and products.

Seconds for each pass, with the collector off. `us/op` is all passes together for each op of the module that goes into
the schedule; `exponent` that of the growth of their time with those ops, since the row before. `x source` is their
ratio to what xDSL takes to parse, verify and print what goes in, `x result` to what it takes for what comes out.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from math import log
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from bench.throughput import context
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.names import PASSES, loaders

TYPES = """#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!d = tensor<64x64xf32, #smem>
!c = tensor<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>, %o: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
"""

LOOPS = (20, 60, 200, 600, 2000)

ADDITIONS = 20
"""With so many additions, the body of a loop has 50 ops when it is scheduled."""

Steps = Sequence[tuple[str, Mapping[str, Any]]]
"""Passes, each with its options."""

PREPARED: Steps = (
    ("tileas-materialize-async", {}),
    ("tileas-prepare-for-scheduling", {"compute_capability": "sm_90"}),
    ("tileas-generate-schedule", {"compute_capability": "sm_90"}),
    ("tileas-assign-buffers", {"compute_capability": "sm_90"}),
    ("tileas-unspecialized-pipeline", {"num_stages": 4}),
)


def unscheduled(stages: int) -> Steps:
    return (("tileas-materialize-async", {}), ("tileas-unspecialized-pipeline", {"num_stages": stages}))


def many_loops(loops: int, additions: int = ADDITIONS) -> str:
    """A function of so many loops, one after the other, each with three loads, a product and additions."""
    return f"{TYPES}{''.join(_loop(number, additions) for number in range(loops))}  func.return\n}}\n"


def _loop(number: int, additions: int) -> str:
    chain = "".join(f"    %e{k + 1} = arith.addf %e{k}, %dv : !c\n" for k in range(additions))
    return f"""  %r{number} = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {{
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %dt = nv_tileaa.tiled_load %d[%k, %c0] : (memref<?x?xf32>, index, index) -> !d
    %dv = nv_tileas.convert_layout %dt : (!d) -> !c
    %e0 = arith.addf %dv, %dv : !c
{chain}    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    %out = arith.addf %sum, %e{additions} : !c
    scf.yield %out : !c
  }}
  nv_tileaa.tiled_store %o[%c0, %c0], %r{number} : (memref<?x?xf32>, !c, index, index) -> ()
"""


def many_pairs(pairs: int) -> str:
    """One loop of so many pairs of loads with a product each."""
    body = "".join(
        f"""    %a{k} = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %b{k} = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %s{k + 1} = nv_tileaa.dot %a{k}, %b{k}, %s{k} : (!a, !b, !c) -> !c
"""
        for k in range(pairs)
    )
    return f"""{TYPES}  %r = scf.for %k = %c0 to %n step %c1 iter_args(%s0 = %zero) -> (!c) {{
{body}    scf.yield %s{pairs} : !c
  }}
  nv_tileaa.tiled_store %o[%c0, %c0], %r : (memref<?x?xf32>, !c, index, index) -> ()
  func.return
}}
"""


def seconds(action: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        gc.enable()


def measured(text: str, steps: Steps, *, result: bool = False) -> dict[str, Any]:
    """The columns of one module; `result` asks for the time that xDSL takes for what comes out, too."""
    module, source = _read_and_written(text)
    size, taken = 0, dict[str, float]()
    for name, options in steps:
        if name in ("tileas-generate-schedule", "tileas-unspecialized-pipeline") and not size:
            size = sum(1 for _ in module.walk())
        taken[name.removeprefix("tileas-")] = seconds(partial(_apply, _pass(name, options), module))
    total = sum(taken.values())
    row = {"ops": size, **taken, "total": total, "us/op": 1e6 * total / size, "x source": total / source}
    if not result:
        return row
    written = StringIO()
    Printer(written).print_op(module)
    out = sum(1 for _ in module.walk())
    return {**row, "ops out": out, "x result": total / _read_and_written(written.getvalue())[1]}


def _read_and_written(text: str) -> tuple[ModuleOp, float]:
    """The module, and the seconds to parse, verify and print it."""
    ctx = context()
    modules: list[ModuleOp] = []

    def action() -> None:
        modules.append(Parser(ctx, text).parse_module())
        modules[-1].verify()
        Printer(StringIO()).print_op(modules[-1])

    taken = seconds(action)
    return modules[-1], taken


def with_exponents(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, each but the first with the exponent of the growth since the one before."""
    before: dict[str, Any] | None = None
    for row in rows:
        if before is not None:
            row["exponent"] = log(row["total"] / before["total"]) / log(row["ops"] / before["ops"])
        yield row
        before = row


def _pass(name: str, options: Mapping[str, Any]) -> ModulePass:
    return loaders("transforms", PASSES)[name]()(**options)


def _apply(one: ModulePass, module: ModuleOp) -> None:
    with recorded_diagnostics():
        one.apply(Context(), module)


def measure() -> Iterator[dict[str, Any]]:
    """One row for each module."""
    measured(many_loops(1), PREPARED)  # what is loaded and cached at the first use
    yield from with_exponents({"module": f"{loops} loops", **measured(many_loops(loops), PREPARED)} for loops in LOOPS)
    yield {"module": "a body of 300 ops", **measured(many_loops(1, 270), PREPARED)}
    for pairs, stages in ((100, 2), (1000, 2), (1000, 4)):
        row = measured(many_pairs(pairs), unscheduled(stages), result=True)
        yield {"module": f"{pairs} pairs, {stages} stages", **row}
