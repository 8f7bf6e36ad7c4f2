"""What the ops of `nv_tileas` do, one family a file."""

from tileas_xdsl.machine.meanings.nv_tileas import (
    compute,
    control,
    memory,
    pipelines,
    slices,
    structure,
    tma,
    tokens,
)

__all__ = ["compute", "control", "memory", "pipelines", "slices", "structure", "tma", "tokens"]
