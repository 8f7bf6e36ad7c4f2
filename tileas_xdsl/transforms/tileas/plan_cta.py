"""
TileASPlanCTA: blocks that run next to each other form a cluster, and share the tiles that all of them load.

    %row = get_program_id {axis = 0}                  func .. attributes {nvvm.cluster_dim = array<i32: 1, 2, 1>}
    %col = get_program_id {axis = 1}             ->
    scf.for %k { produce_one {producer_kind = "tma"} {
      %a = tiled_load %x[%row, %k] } }                  %a = tiled_load %x[%row, %k] {nv_tileas.multicast = 2}

The blocks of a cluster differ in one coordinate of their program alone. A tile whose coordinates do not depend on it is
the same for all of them: each loads a part of it, and lets TMA write that into the slots of all (PTX ISA,
"cp.async.bulk.tensor", `.multicast::cluster`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.threads.filling import MULTICAST, is_by_tma
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.analysis.value_flow import behind_captures, handed_by
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileaa.control import GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.layout import form_of
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.layouts.descriptors import ROWS
from tileas_xdsl.layouts.forms import Swizzled

CLUSTER = "nvvm.cluster_dim"
MOST = 8
"""Blocks that every GPU with clusters takes together (CUDA C++ Programming Guide, "Thread Block Clusters")."""


@dataclass(frozen=True)
class PlanCtaPass(ModulePass):
    """
    Let blocks form clusters that share what they load.

    Rewrites: functions whose pipelines load by TMA what does not depend on the coordinate of the program along some
    axis: the blocks of a cluster follow each other along the axis of which that are the most bytes. The function says
    its cluster, and each such load by `nv_tileas.multicast` how many blocks share it.

    Requires: pipelines whose producers say by which engine they load.
    Refuses: functions with nothing to share; a number of blocks that is no power of two up to 8.

    Choices: clusters lie along one axis. What decides how often loops turn, and which branches are taken, has to be the
    same in all blocks of a cluster: slots are filled together. A part of a tile is a multiple of 8 rows, at which the
    pattern of its swizzle begins anew.
    """

    name = "tileas-plan-cta"

    DESCRIPTION: ClassVar[str] = "Let neighbouring blocks form clusters, and load together what all of them need"

    num_ctas: int = field(default=1, metadata={"help": "blocks of a cluster"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.num_ctas < 1 or self.num_ctas > MOST or self.num_ctas & (self.num_ctas - 1):
            raise PassFailedException(f"{self.name}: num-ctas={self.num_ctas}: a power of two up to {MOST} is needed")
        if self.num_ctas == 1:
            return
        functions = [each for each in op.ops if isinstance(each, KernelFunction) and each.body.blocks]
        plans = [_planned(function, self.num_ctas) for function in functions]
        for function, (axis, loads) in zip(functions, plans, strict=True):
            extents = [self.num_ctas if number == axis else 1 for number in range(3)]
            function.attributes[CLUSTER] = DenseArrayBase.from_list(i32, extents)
            for load in loads:
                load.attributes[MULTICAST] = IntegerAttr(self.num_ctas, i32)


def _planned(function: KernelFunction, blocks: int) -> tuple[int, list[TiledLoadOp]]:
    """The axis of the clusters, and what the blocks share. Raises `RefusedError` where that is nothing."""
    loads = [load for load in _loads(function) if _parts(load, blocks)]
    programs = [op for op in function.body.walk() if isinstance(op, GetProgramIdOp)]
    shared = {
        axis: [load for load in loads if not _depends(load, axis)]
        for axis in sorted({op.axis.value.data for op in programs})
        if not any(_depends_on_axis(value, axis, set()) for value in _deciding(function))
    }
    axis = max(shared, key=lambda number: (sum(map(_bytes, shared[number])), -number), default=0)
    if not shared.get(axis):
        words = f"has nothing that {blocks} blocks of a cluster would load together"
        refuse(function, words, "leave num-ctas out, or let a tile of a pipeline depend on one coordinate alone")
    return axis, shared[axis]


def _loads(function: KernelFunction) -> Iterator[TiledLoadOp]:
    for op in function.body.walk():
        if isinstance(op, ProduceOp) and is_by_tma(op):
            yield from (inner for inner in op.body.walk() if isinstance(inner, TiledLoadOp))


def _parts(load: TiledLoadOp, blocks: int) -> bool:
    """Whether a tile falls into as many parts that TMA copies."""
    tile, form = tile_of(load.value.type), form_of(load.value.type)
    if tile is None or not isinstance(form, Swizzled) or form.times > 1 or len(tile.layout.shape) != 2:
        return False
    return tile.layout.shape[0] % (blocks * ROWS) == 0


def _bytes(load: TiledLoadOp) -> int:
    tile = tile_of(load.value.type)
    return 0 if tile is None else tile.bytes


def _depends(load: TiledLoadOp, axis: int) -> bool:
    return any(_depends_on_axis(index, axis, set()) for index in load.indices)


def _deciding(function: KernelFunction) -> Iterator[SSAValue]:
    """The values that decide what runs, and how often."""
    for op in function.body.walk():
        match op:
            case scf.ForOp():
                yield from (op.lb, op.ub, op.step)
            case scf.IfOp():
                yield op.cond
            case scf.WhileOp():
                yield from op.arguments
            case scf.ConditionOp():
                yield op.condition
            case _:
                pass


def _depends_on_axis(value: SSAValue, axis: int, seen: set[SSAValue]) -> bool:
    """Whether a number may differ between blocks that follow each other along an axis; what is not followed may."""
    value = behind_captures(value)
    if value in seen:
        return False
    seen.add(value)
    handed = handed_by(value)
    if handed is not None:
        return any(_depends_on_axis(each, axis, seen) for each, _ in handed)
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        bounds = (around.lb, around.step) if isinstance(around, scf.ForOp) else None
        of_kernel = isinstance(around, KernelFunction)
        return not of_kernel and (bounds is None or any(_depends_on_axis(each, axis, seen) for each in bounds))
    if isinstance(owner, GetProgramIdOp):
        return owner.program is not None or owner.axis.value.data == axis
    is_number = type(owner).__module__ == arith.__name__
    return not is_number or any(_depends_on_axis(operand, axis, seen) for operand in owner.operands)
