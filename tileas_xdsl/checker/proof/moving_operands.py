"""
Which operands of an op that acts may move on from turn to turn: indices that an address is computed from, stages of a
ring, data that is stored, and whatever is only passed on to a region or a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

GROUPS: dict[str, tuple[str, ...]] = {
    "memref.load": ("indices",),
    "memref.store": ("value", "indices"),
    "memref.subview": ("offsets",),
    "memref.view": ("byte_shift",),
    "llvm.getelementptr": ("ssa_indices",),
    "llvm.store": ("value",),
    "nvgpu.device_async_copy": ("dst_indices", "src_indices"),
    "nv_tileaa.tiled_load": ("indices",),
    "nv_tileaa.tiled_store": ("indices",),
    "nv_tileaa.load": ("indices",),
    "nv_tileaa.store": ("indices",),
    "nv_tileaa.queue.put": ("index",),
    "nv_tileaa.queue.get": ("index",),
    "nv_tileas.tiled_load": ("coords",),
    "nv_tileas.tiled_store": ("coords",),
    "nv_tileas.async.tiled_load": ("coords",),
    "nv_tileas.async.tiled_tma_load": ("coords",),
    "nv_tileas.async.tiled_tma_store": ("coords",),
    "vector.load": ("indices",),
    "vector.store": ("indices",),
    "rocdl.raw.ptr.buffer.load.lds": ("voffset", "soffset", "offset"),
    "rocdl.raw.ptr.buffer.load.async.lds": ("voffset", "soffset", "offset"),
    "scf.for": ("lb", "ub", "iter_args"),
    "scf.while": ("arguments",),
    "cf.br": ("arguments",),
    "cf.cond_br": ("then_arguments", "else_arguments"),
    "async.create_group": ("size",),
    "func.call": ("arguments",),
    "llvm.call": ("args",),
}
"""By name, the groups of operands that may."""

STAGES = "nv_tileas.async.pipeline."
"""The ops of this family take stages as integers."""
COUNTS = frozenset({"async.add_to_group"})
"""Ops that give a number which is part of the state, and moves on as it does: how many members a group has."""
PASSED_ON = frozenset({"nv_tileaa.execute", "nv_tileas.async.pipeline.agent_switch", "async.call", "llvm.br"})
"""Ops that hand all their operands to regions, functions or blocks."""


def positions_that_may_move(op: Operation) -> frozenset[int]:
    """The numbers of the operands of `op` that may differ from turn to turn."""
    if op.name in PASSED_ON or op.name.startswith(STAGES):
        return frozenset(range(len(op.operands)))
    named = Counter(operand for group in GROUPS.get(op.name, ()) for operand in _group(op, group))
    used = Counter(op.operands)
    # A value that the op also uses in another way must stay.
    return frozenset(n for n, operand in enumerate(op.operands) if named[operand] == used[operand])


def _group(op: Operation, name: str) -> Sequence[SSAValue]:
    found: Any = getattr(op, name, None)
    if found is None:
        return ()
    return cast("Sequence[SSAValue]", [found] if isinstance(found, SSAValue) else list(found))
