"""
How many warps compute a product, and whether its blocks stay for many programs, where nobody says it.

    tensor<128x256xf32> of sums     256 registers a thread of 4 warps: more than there are
                                    128 of 8 warps: two warpgroups, each with half of the rows

Such a block is alone on its multiprocessor, so nothing hides what stands before and behind its turns but its own loads:
it computes one program after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from tileas_xdsl.analysis.memory.program_axes import program_axes
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, functions_in
from tileas_xdsl.scheduling.op_times import tile_bytes
from tileas_xdsl.targets.chips import Feature, can, capability_of
from tileas_xdsl.targets.warps import WARP

WARPGROUP, ROWS_OF_GROUP = 4, 64
"""Warps of a warpgroup, and the least rows of sums that it has (PTX ISA, "wgmma.mma_async")."""
MOST_SUMS = 200
"""Registers of a thread that sums may take: of 232, for addresses and counters take some."""
REGISTER = 4


@dataclass(frozen=True)
class Structure:
    """What is chosen for a block."""

    num_warps: int
    persistent: bool

    def __str__(self) -> str:
        many = ", and each block computes many programs" if self.persistent else ""
        return f"{self.num_warps} warps compute, since its sums are too many for {WARPGROUP}{many}"


def structure_of(module: Operation, target: str) -> tuple[str, Structure] | None:
    """
    What is chosen for the only kernel of `module`, and its name: one loop around one product, whose sums do not fit the
    registers of one warpgroup and do those of two. None for all other programs, and for targets without warpgroups.
    """
    functions = list(functions_in(module))
    if len(functions) != 1 or not _has_warpgroups(target):
        return None
    (function,) = functions
    loops = [op for op in function.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]
    products = list(_products(function))
    if len(loops) != 1 or len(products) != 1 or any(AgentLikeOpInterface.of(op) is not None for op in function.walk()):
        return None
    (product,) = products
    if not isinstance(product.c.type, TensorType) or not loops[0].is_ancestor(product):
        return None
    sums = cast("TensorType[Attribute]", product.c.type)
    registers, rows = tile_bytes(sums) // (REGISTER * WARPGROUP * WARP), sums.get_shape()[0]
    if not MOST_SUMS < registers <= 2 * MOST_SUMS or rows % (2 * ROWS_OF_GROUP):
        return None
    name = function.properties.get("sym_name") or function.attributes.get("sym_name")
    return getattr(name, "data", ""), Structure(2 * WARPGROUP, program_axes(function) is not None)


def _has_warpgroups(target: str) -> bool:
    return target.endswith("a") and can(capability_of(target) or 0, Feature.WGMMA)


def _products(function: Operation) -> Iterator[DotOp]:
    yield from (op for op in function.walk() if isinstance(op, DotOp))
