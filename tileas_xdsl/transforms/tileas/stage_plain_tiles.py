"""
Tiles that a pipeline will bring, and of which nobody says where they lie, get slots in shared memory.

    scf.for %k {                                       scf.for %k {
      %a = tiled_load %x[%k] : -> tensor<64x16xf16>      %s = tiled_load %x[%k] : -> tensor<64x16xf16, #smem>
      %b = arith.addf %a, %a                    ->       %a = convert_layout %s : -> tensor<64x16xf16>
                                                         %b = arith.addf %a, %a

A slot is memory: a copy that runs ahead of its use by some iterations cannot keep its tile in registers. Products read
their operands from the slot; all other ops read them from registers, behind a conversion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, layout_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.materialize_async.plan import plan_function

FACTORS = (0, 1, 3, 4)
"""The factors among the operands of a product, and their scales."""


@dataclass(frozen=True)
class StagePlainTilesPass(ModulePass):
    """
    Let loads that become stages of a pipeline load into shared memory.

    Rewrites
        `nv_tileaa.tiled_load` in a loop, where `tileas-materialize-async` makes a stage of it and the type of its tile
        has no layout: the tile gets one in shared memory, and a conversion to the plain type stands behind it for all
        users but products that take it as a factor or as its scales.

    Requires
        Verified IR, in front of `tileas-materialize-async`, which leaves the loads of agents synchronous (`agents`).

    Refuses
        Nothing. Loads that stay synchronous keep their tiles in registers.
    """

    name = "tileas-stage-plain-tiles"

    DESCRIPTION: ClassVar[str] = "Let loads that become stages of a pipeline load into shared memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan for function in functions_in(op) for plan in plan_function(function, agents=False).loops]
        for load in [site.op for plan in plans for site in plan.staged]:
            if isinstance(load, TiledLoadOp) and _is_plain(load.value.type):
                _put_into_memory(load)


def _is_plain(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and layout_of(cast("TensorType[Attribute]", type_)) is None


def _put_into_memory(load: TiledLoadOp) -> None:
    """Let `load` fill shared memory, and its users but products read a conversion."""
    plain = cast("TensorType[Attribute]", load.value.type)
    slot: TensorType[Attribute] = TensorType(plain.element_type, plain.get_shape(), LayoutAttr.of("smem"))
    staged: SSAValue = Rewriter.replace_value_with_new_type(load.value, slot)
    others = [use for use in staged.uses if not _reads_memory(use)]
    if not others:
        return
    conversion = ConvertLayoutOp(staged, plain)
    conversion.result.name_hint = staged.name_hint
    conversion.location = load.location
    Rewriter.insert_op(conversion, InsertPoint.after(load))
    for use in others:
        use.operation.operands[use.index] = conversion.result


def _reads_memory(use: Use) -> bool:
    """Whether a use is a factor of a product, or its scales, which it takes from shared memory as well."""
    return isinstance(use.operation, DotOp) and use.index in FACTORS
