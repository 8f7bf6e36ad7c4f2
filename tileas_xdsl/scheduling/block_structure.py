"""
How many warps compute products, how many blocks share a multiprocessor, and whether they stay for many programs, where
nobody says it.

    tensor<128x256xf32> of sums     256 registers a thread of 4 warps: more than there are
                                    128 of 8 warps: two warpgroups, each with half of the rows
    attention, 128 x 128 x 128      128 for scores, 64 for weights, 128 for sums: the same
    attention, 64 x 128 x 64        64, 32 and 32: they fit, and nothing uses the tensor core during softmax
    delta rule, 32 x 64 a turn      88 for sums, 152 for factors, which `mma.sync` has in registers: too many again

A block of two warpgroups is alone on its multiprocessor, so nothing hides what stands before and behind its turns but
its own loads: it computes one program after the other. Where the sums of two blocks fit, two share a multiprocessor, if
their tiles have room: one multiplies while the other waits, computes or stores. On an H200 a product in tiles of
128 x 128 has 0.98 of cuBLAS so, and 0.79 with one block (`docs/performance.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.backward_slice import backward_slice
from tileas_xdsl.analysis.memory.program_axes import program_axes
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.control import GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp, TiledStoreOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, functions_in
from tileas_xdsl.layouts.distributed import WARPGROUP
from tileas_xdsl.scheduling.op_times import tile_bytes
from tileas_xdsl.targets.chips import Feature, can, capability_of
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.targets.warps import WARP

ROWS_OF_WARP = 16
"""The rows of sums of one `mma.sync` (PTX ISA, "mma")."""
ROWS_OF_GROUP = 64
"""The least rows of sums that a warpgroup has (PTX ISA, "wgmma.mma_async")."""
MOST_SUMS = 200
"""Registers of a thread that sums may take: of 232, for addresses and counters take some."""
LEAST_SHARED, MOST_SHARED = 64, 144
"""Registers that sums take where two blocks share: fewer are too little work, more leave too few of 216."""
SLOTS, SLOTS_UNDER_LOAD = 2, 3
"""That each loaded tile has at least; where all multiprocessors load, and nothing is computed between products."""
REGISTER = 4


@dataclass(frozen=True)
class Structure:
    """What is chosen for a block."""

    num_warps: int
    persistent: bool
    blocks: int = 1

    @property
    def asked(self) -> str:
        """What is asked for, in words."""
        many = f" and {self.blocks} blocks share a multiprocessor" if self.blocks > 1 else ""
        return f"{self.num_warps} warps compute{many}"

    def __str__(self) -> str:
        if self.blocks > 1:
            return f"{self.blocks} blocks share a multiprocessor: one multiplies while the other does not"
        many = ", and each block computes many programs" if self.persistent else ""
        return f"{self.num_warps} warps compute, since its sums are too many for {WARPGROUP}{many}"


def structure_of(module: Operation, target: str) -> tuple[str, Structure] | None:
    """
    What is chosen for the only kernel of `module`, and its name: one loop around products, whose sums do not fit the
    registers of one warpgroup and do those of two, or leave room for a second block. None for all other programs, and
    for targets without warpgroups.
    """
    functions = list(functions_in(module))
    if len(functions) != 1 or not _has_warpgroups(target):
        return None
    (function,) = functions
    loops = [op for op in function.walk() if isinstance(op, scf.ForOp | scf.WhileOp)]
    products = list(_products(function))
    if len(loops) != 1 or any(AgentLikeOpInterface.of(op) is not None for op in function.walk()):
        return None
    if not products or not all(_is_of_tiles(it) and loops[0].is_ancestor(it) for it in products):
        return None
    found = _structure(function, products)
    name = function.properties.get("sym_name") or function.attributes.get("sym_name")
    return None if found is None else (getattr(name, "data", ""), found)


def _structure(function: Operation, products: Sequence[DotOp]) -> Structure | None:
    behind = [it for it in products if _is_behind_a_product(it)]
    registers = sum(_registers(it.c) for it in products) + sum(_registers(it.a) for it in behind)
    rows = {_shape(it.c)[0] for it in products}
    factors = sum(_factors(it) for it in products if _shape(it.c)[0] < ROWS_OF_GROUP)
    if factors and MOST_SUMS < registers + factors <= 2 * MOST_SUMS:
        return Structure(2 * WARPGROUP, persistent=False)
    if MOST_SUMS < registers <= 2 * MOST_SUMS and not any(each % (2 * ROWS_OF_GROUP) for each in rows):
        slots = SLOTS if behind else SLOTS_UNDER_LOAD
        return Structure(2 * WARPGROUP, program_axes(function) is not None and _stays(function, slots))
    if LEAST_SHARED < registers <= MOST_SHARED and _two_share(function, rows, is_chained=bool(behind)):
        return Structure(WARPGROUP, persistent=False, blocks=2)
    return None


def _two_share(function: Operation, rows: Collection[int], *, is_chained: bool) -> bool:
    """Whether one warpgroup has the rows of each sum, and two blocks have room for all tiles that they load."""
    if is_chained:
        has_rows, slots = rows == {ROWS_OF_GROUP}, SLOTS
    else:
        has_rows, slots = not any(each % ROWS_OF_GROUP for each in rows), SLOTS_UNDER_LOAD
    return has_rows and _loaded(function, slots) <= machine_model("sm_90a").shared_among(2).shared_bytes


def _stays(function: Operation, slots: int) -> bool:
    """Whether a block that loads for its next program has room for what it still stores of this one."""
    stored = sum(tile_bytes(op.value.type) for op in function.walk() if isinstance(op, TiledStoreOp))
    return _loaded(function, slots) + stored <= machine_model("sm_90a").shared_bytes


def _loaded(function: Operation, slots: int) -> int:
    """The bytes of all tiles that are loaded, those of the loop in so many slots."""
    loads = [op for op in function.walk() if isinstance(op, TiledLoadOp)]
    return sum(tile_bytes(op.value.type) * (slots if isinstance(op.parent_op(), scf.ForOp) else 1) for op in loads)


def _is_of_tiles(product: DotOp) -> bool:
    return all(isinstance(value.type, TensorType) for value in (product.a, product.c))


def _is_behind_a_product(product: DotOp) -> bool:
    """Whether its A is computed of what another product of the turn gives, and so lies in registers."""
    region = product.parent_region()
    needed = set[Operation]() if region is None else backward_slice(region, [product.a], [], GetProgramIdOp)
    return any(isinstance(op, DotOp) for op in needed)


def _registers(tile: SSAValue) -> int:
    """Of each thread of a warpgroup."""
    return tile_bytes(tile.type) // (REGISTER * WARPGROUP * WARP)


def _factors(product: DotOp) -> int:
    """Of each thread of a warpgroup, for what `mma.sync` multiplies: warps share the rows first, then the columns."""
    down = max(1, min(WARPGROUP, _shape(product.c)[0] // ROWS_OF_WARP))
    return _registers(product.a) * (WARPGROUP // down) + _registers(product.b) * down


def _shape(tile: SSAValue) -> tuple[int, ...]:
    return cast("TensorType[Attribute]", tile.type).get_shape()


def _has_warpgroups(target: str) -> bool:
    return target.endswith("a") and can(capability_of(target) or 0, Feature.WGMMA)


def _products(function: Operation) -> Iterator[DotOp]:
    yield from (op for op in function.walk() if isinstance(op, DotOp))
