"""
How many hardware threads a function has, how many make a warp, and whether code is written for single threads.

    func.func @k(...) attributes {nvvm.reqntid = array<i32: 128, 1, 1>}

Sources: MLIR's `nvvm` dialect (`reqntid`), `rocdl` (`reqd_work_group_size`, `flat_work_group_size`), `gpu`
(`known_block_size`). Warps have 32 threads; on gfx9 targets 64 (LLVM, "User Guide for AMDGPU Backend", wavefront size).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto

from xdsl.dialects.builtin import DenseArrayBase, StringAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.traits import SymbolTable

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import AgentLikeOpInterface

Shape = tuple[int, int, int]
"""Extents of a block of threads in x, y and z."""

BLOCK_SHAPES = ("nvvm.reqntid", "rocdl.reqd_work_group_size", "gpu.known_block_size", "known_block_size")
"""Attributes of a function that say the extents of its blocks."""
FLAT_SIZE = "rocdl.flat_work_group_size"
"""The least and the most threads of a block, as text."""

WARP, WAVE = 32, 64
GFX9_OPS = frozenset({"rocdl.s.waitcnt", "rocdl.load.to.lds", "rocdl.global.load.lds", "rocdl.raw.ptr.buffer.load.lds"})
"""Ops that only gfx9 targets have, whose waves have 64 threads."""
CHIP_MARK = "gfx9"

THREAD_DIALECTS = frozenset({"nvvm", "rocdl", "nvgpu", "gpu"})
"""What their ops do, each thread does."""
PLAIN_DIALECTS = frozenset({"arith", "builtin", "cf", "func", "index", "llvm", "math", "memref", "scf", "ub", "vector"})
"""Their ops may stand in code for threads and in code for tiles."""
BESIDE_TILES = frozenset(
    {
        *(f"nvvm.mbarrier.{step}" for step in ("init", "arrive", "arrive.expect_tx", "test.wait", "try_wait.parity")),
        *("nvvm.cp.async.mbarrier.arrive", "nvvm.fence.mbarrier.init", "nvvm.fence.proxy"),
        *("nvvm.cluster.arrive", "nvvm.cluster.wait", "nvvm.mapa"),
        *("nvvm.barrier0", "nvvm.barrier", "nvvm.bar.warp.sync", "nvvm.read.ptx.sreg.tid.x", "nvvm.setmaxregister"),
    }
)
"""
Ops of single threads that may stand in code for tiles: each of the threads that do the tiles together does them for
itself. So an agent of 128 threads arrives 128 times, behind all that it has done to tiles before.
"""
OF_ONE_THREAD = frozenset({"nv_tileas.async.tiled_tma_load", "nv_tileas.view"})
"""Ops on tiles that one thread of an agent may do for all: it starts a copy."""
ENDS = frozenset({"nv_tileas.async.pipeline.yield", "nv_tileaa.yield"})
"""Terminators of agent regions, of whatever level."""


class Level(Enum):
    """For whom code is written."""

    PLAIN = auto()
    """Nothing tells: it only computes and touches memory."""
    THREADS = auto()
    TILES = auto()
    """For all threads of an agent together; a compiler shares the work out, and adds the barriers that this takes."""
    BOTH = auto()
    """For tiles, and for single threads, of which nobody says which ones do what is done to tiles."""


def block_shape_of(function: Operation) -> Shape | None:
    """The extents of a block of threads that runs `function`; None where it does not say so."""
    for name in BLOCK_SHAPES:
        shape = _shape(function.properties.get(name) or function.attributes.get(name))
        if shape is not None:
            return shape
    flat = function.attributes.get(FLAT_SIZE)
    least, _, most = flat.data.partition(",") if isinstance(flat, StringAttr) else ("", "", "")
    return (int(most), 1, 1) if most.strip().isdigit() and int(least) == int(most) else None


def _shape(attribute: Attribute | None) -> Shape | None:
    if not isinstance(attribute, DenseArrayBase):
        return None
    extents = [int(extent) for extent in attribute.get_values()]
    if not 1 <= len(extents) <= 3 or any(extent < 1 for extent in extents):
        return None
    x, y, z = [*extents, 1, 1][:3]
    return x, y, z


def warp_size_of(op: Operation) -> int:
    """Threads of a warp of the code around `op`: a target that is named there tells, or ops that one target has."""
    node: Operation | None = op
    top = op
    while node is not None:
        if any(CHIP_MARK in str(value) for value in (*node.attributes.values(), *node.properties.values())):
            return WAVE
        top, node = node, node.parent_op()
    return WAVE if any(op_name(each) in GFX9_OPS for each in top.walk()) else WARP


def level_of(regions: Iterable[Region]) -> tuple[Level, Operation | None]:
    """For whom the code in `regions` is written, and an op for all threads together if there is one."""
    for_threads = apart = False
    for_tiles: Operation | None = None
    for op in _ops_in(regions, set()):
        dialect = op_name(op).partition(".")[0]
        for_threads |= dialect in THREAD_DIALECTS
        apart |= dialect in THREAD_DIALECTS and op_name(op) not in BESIDE_TILES
        if is_for_tiles(op):
            for_tiles = for_tiles or op
    if for_tiles is None:
        return (Level.THREADS if for_threads else Level.PLAIN), None
    return (Level.BOTH if apart else Level.TILES), for_tiles


def is_for_tiles(op: Operation) -> bool:
    """Whether all threads of an agent do an op together."""
    name = op_name(op)
    return name.partition(".")[0] not in THREAD_DIALECTS | PLAIN_DIALECTS and name not in ENDS


def _ops_in(regions: Iterable[Region], seen: set[Operation]) -> Iterator[Operation]:
    """The ops in `regions` and in the functions called there, but not those of agents that are forked there."""
    for region in regions:
        for block in region.blocks:
            for op in block.ops:
                yield op
                if AgentLikeOpInterface.of(op) is None:
                    yield from _ops_in(op.regions, seen)
                symbol = getattr(op, "callee", None)
                callee = None if symbol is None else SymbolTable.lookup_symbol(op, symbol)
                if callee is not None and callee not in seen:
                    seen.add(callee)
                    yield from _ops_in(callee.regions, seen)
