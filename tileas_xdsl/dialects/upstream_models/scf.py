"""Loops of `scf`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Region, SSAValue

from tileas_xdsl.dialects.upstream_models import accesses, touches_nothing
from tileas_xdsl.interfaces import LoopLikeOpInterface, end_of

accesses(scf.ExecuteRegionOp)(touches_nothing)


@LoopLikeOpInterface.model_for(scf.ForOp)
class _ForLoop(LoopLikeOpInterface):
    def __init__(self, op: scf.ForOp) -> None:
        self.op = op

    @property
    def loop_body(self) -> Region:
        return self.op.body

    @property
    def init_values(self) -> Sequence[SSAValue]:
        return self.op.iter_args

    @property
    def carried_arguments(self) -> Sequence[BlockArgument]:
        return self.op.body.block.args[1:]

    @property
    def yielded_values(self) -> Sequence[SSAValue]:
        last = end_of(self.op.body.block)
        return last.operands
