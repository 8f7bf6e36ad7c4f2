"""What assertions order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf

from tileas_xdsl.dialects.upstream_models import accesses
from tileas_xdsl.interfaces import Effect


@accesses(cf.AssertOp)
def _(_op: cf.AssertOp) -> Sequence[Effect]:
    """
    May end the program. What has been written by then may be seen, so no write moves across it, as if it read all that
    there is; reads may. MLIR calls it a write of no memory in particular.
    """
    return (Effect(False, None),)
