"""
Which strategy a loop gets. The first line that fits decides:

| loop | strategy |
|---|---|
| `force_serial_execution` on it or on an op in it | SERIAL |
| fewer than 8 ops | SERIAL |
| no ring, no TMA transfer and no asynchronous product in it | SERIAL |
| any other | the one that is asked for, COST_BASED by default |

DEFAULT asks the target: SERIAL before sm_90, COST_BASED from there on.
"""

from __future__ import annotations

from xdsl.dialects import scf

from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.tma import TransferOp
from tileas_xdsl.scheduling.loop_problem import is_forced_serial
from tileas_xdsl.scheduling.modulo.schedule import Strategy
from tileas_xdsl.targets.machine_model import MachineModel

SERIAL_THRESHOLD = 8
"""A loop of fewer ops is serial."""

LARGEST = 400
"""A loop of more ops is serial: the search would take longer than it is worth."""


def strategy_of(loop: scf.ForOp, asked: Strategy, model: MachineModel) -> Strategy:
    """The strategy for `loop` when `asked` is what the options say."""
    if asked is Strategy.NONE:
        return Strategy.NONE
    ops = list(loop.body.block.ops)[:-1]
    if is_forced_serial(loop) or any(map(is_forced_serial, ops)):
        return Strategy.SERIAL
    if len(ops) < SERIAL_THRESHOLD:
        return Strategy.SERIAL
    if not any(isinstance(op, ClassifiedOp | AsyncDotOp | TransferOp) for op in ops):
        return Strategy.SERIAL
    if asked is Strategy.DEFAULT:
        return Strategy.COST_BASED if model.has_tma else Strategy.SERIAL
    return asked
