"""A pass that removes waits which an earlier wait implies. TODO: everything."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class DropImpliedWaits(ModulePass):
    """Remove waits that an earlier one implies."""

    name = "drop-implied-waits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
