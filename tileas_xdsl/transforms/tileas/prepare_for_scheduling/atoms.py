"""
Which instructions fill a stage on a target: TMA from sm_90 on, else asynchronous copies by the threads (`cp.async`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.targets.machine_model import MachineModel

TMA, ASYNC_COPY = "tma", "async_copy"


def choose_instructions(function: Operation, model: MachineModel) -> None:
    """Producers of `function` that are to use TMA use asynchronous copies where `model` has no TMA."""
    if model.has_tma:
        return
    for op in function.walk():
        if isinstance(op, ProduceOp) and op.producer_kind is not None and op.producer_kind.data == TMA:
            op.producer_kind = StringAttr(ASYNC_COPY)
