"""What the ops of `nvvm` do: threads, copies and barriers; matrices of a warp and of a warpgroup; tensor memory."""

from tileas_xdsl.machine.meanings.nvvm import (
    bulk_copies,
    register_products,
    synchronization,
    tcgen05,
    warp_matrix,
    wgmma,
)

__all__ = [
    "bulk_copies",
    "register_products",
    "synchronization",
    "tcgen05",
    "warp_matrix",
    "wgmma",
]
