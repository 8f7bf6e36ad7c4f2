"""What the ops of `nvvm` do: threads, copies and barriers; products of a warpgroup; tensor memory."""

from tileas_xdsl.machine.meanings.nvvm import synchronization, tcgen05, wgmma

__all__ = ["synchronization", "tcgen05", "wgmma"]
