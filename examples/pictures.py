"""
`make pictures`: draw the timelines that the documentation shows, into `docs/pictures/`.

The GEMM is pipelined to four stages by hand: its loads are stage 0, what waits for them and computes is stage 3. A test
compares the files with what is drawn today.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.views.timeline import timeline
from tileas_xdsl.views.timeline.svg import timeline_svg

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
TARGET = "sm_90"
WIDTH = 1000


def example(name: str, context: Context) -> ModuleOp:
    """The module of an example. Locations name the file relative to the root of the checkout."""
    return parse_module((ROOT / name).read_text(), name, context)


def pipelined_gemm(stages: int) -> ModuleOp:
    """The GEMM with its copies asynchronous, and issued `stages - 1` iterations ahead of the product."""
    context, passes = full_context(), Universe.get_multiverse().all_passes
    module = example("examples/gemm_loop.mlir", context)
    PassPipeline.parse_spec(passes, "tileas-materialize-async").apply(context, module)
    if stages == 1:
        return module
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    for op in loop.body.block.ops:
        side = op.attributes.get("pipeline_stage")
        if isinstance(side, IntegerAttr):
            stage = (stages - 1) * side.value.data
            op.attributes |= {"stage": IntegerAttr(stage, i32), "iter_offset": IntegerAttr(-stage, i32)}
    spec = f"tileas-unspecialized-pipeline{{num-stages={stages}}}"
    PassPipeline.parse_spec(passes, spec).apply(context, module)
    return module


def drawn(module: ModuleOp, trips: int) -> str:
    return timeline_svg(timeline(simulate(module, None, {"n": trips}, TARGET, observer=Investigator())), WIDTH)


def raced() -> str:
    return drawn(example("examples/zoo/release-before-load.bad.mlir", full_context()), 4)


DRAWINGS: dict[str, Callable[[], str]] = {
    "gemm-1-stage.svg": lambda: drawn(pipelined_gemm(1), 5),
    "gemm-4-stages.svg": lambda: drawn(pipelined_gemm(4), 5),
    "release-before-load.svg": raced,
}
"""File name -> the function that draws its contents."""


def main() -> int:
    for name, draw in DRAWINGS.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
        print(PICTURES / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
