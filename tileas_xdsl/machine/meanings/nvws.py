"""What is refused of `nvws`: rings and partitions that Triton has not built yet."""

from __future__ import annotations

from tileas_xdsl.dialects.triton import nvws
from tileas_xdsl.machine.core.meaning import refused

refused(
    "is between two steps of Triton's warp specialisation, which makes barriers and partitions of it; dump the module "
    "behind nvws-lower-warp-group",
    *nvws.OPS,
)
