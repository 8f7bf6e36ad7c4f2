"""What the ops of `nvvm` do: threads, copies and barriers; matrices of a warp and of a warpgroup; tensor memory."""

from tileas_xdsl.machine.meanings.nvvm import bulk_copies as bulk_copies
from tileas_xdsl.machine.meanings.nvvm import cluster_launch as cluster_launch
from tileas_xdsl.machine.meanings.nvvm import register_products as register_products
from tileas_xdsl.machine.meanings.nvvm import synchronization as synchronization
from tileas_xdsl.machine.meanings.nvvm import tcgen05 as tcgen05
from tileas_xdsl.machine.meanings.nvvm import warp_matrix as warp_matrix
from tileas_xdsl.machine.meanings.nvvm import wgmma as wgmma
