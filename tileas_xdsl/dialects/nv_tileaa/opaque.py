"""
Ops that are carried along without an interpretation: any operands, results, regions and attributes.

    "nv_tileaa.plugin"(%x) ({ ... }) {anything = "at all"} : (f32) -> f32

They are ops of TileAS of which only the name and the generic form are kept. Their effects are unknown, so nothing
removes, merges or moves them.
"""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def, var_region_def, var_result_def
from xdsl.traits import NoTerminator


class OpaqueOp(IRDLOperation, ABC):
    """Base of the ops of which only the name is known."""

    inputs = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()

    traits = traits_def(NoTerminator())


@irdl_op_definition
class PluginOp(OpaqueOp):
    """A kernel fragment written elsewhere."""

    name = "nv_tileaa.plugin"


@irdl_op_definition
class InjectIROp(OpaqueOp):
    """IR of a later stage, injected as text or region."""

    name = "nv_tileaa.inject_ir"


@irdl_op_definition
class MessageOp(OpaqueOp):
    """A message to the user of the compiler."""

    name = "nv_tileaa.message"


@irdl_op_definition
class LaunchFuncOp(OpaqueOp):
    """The launch of a kernel."""

    name = "nv_tileaa.launch_func"


@irdl_op_definition
class ElementwiseInlineAsmOp(OpaqueOp):
    """Assembly for each lane."""

    name = "nv_tileaa.elementwise_inline_asm"


@irdl_op_definition
class ExternElementwiseOp(OpaqueOp):
    """A library function for each lane."""

    name = "nv_tileaa.extern_elementwise"
