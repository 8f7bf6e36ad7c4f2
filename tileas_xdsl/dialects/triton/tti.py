"""
The dialect `tti`: what Triton's sanitizers put into a kernel, as far as it synchronises or computes.

    %old = tti.experimental_gsan_atomic_cas acq_rel, gpu, %p, %expected, %v : (!tt.ptr<i32>, i32, i32) -> i32
    %bits = tti.experimental_fpsan_embed %x : (tensor<4xf32>) -> tensor<4xi32>

As Triton 3.9 prints it.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def

from tileas_xdsl.dialects.triton.computing import Row, computing_ops
from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.forms import TritonOp
from tileas_xdsl.dialects.triton.tt import AtomicCASOp, AtomicRMWOp


@irdl_op_definition
class GSanAtomicCASOp(TritonOp):
    """`%old = tti.experimental_gsan_atomic_cas acq_rel, gpu, %p, %expected, %v : (...) -> i32`: `tt.atomic_cas`."""

    name = "tti.experimental_gsan_atomic_cas"

    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = AtomicCASOp.FORM


@irdl_op_definition
class GSanAtomicRMWOp(TritonOp):
    """`%old = tti.experimental_gsan_atomic_rmw add, acq_rel, gpu, %p, %v, %m : (...) -> i32`: `tt.atomic_rmw`."""

    name = "tti.experimental_gsan_atomic_rmw"

    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()
    atomic_rmw_op = prop_def(IntegerAttr)
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = AtomicRMWOp.FORM


COMPUTING = tuple(
    computing_ops(
        "tti",
        [
            Row("experimental_fpsan_embed", "val", "result", "$val {} : signature"),
            Row("experimental_fpsan_unembed", "val", "result", "$val {} : signature"),
            Row("experimental_memdesc_to_i32", "memdesc", "result", "$memdesc {} : type($memdesc)", {"result": i32}),
        ],
    )
)
"""What is computed from tiles, and the address of a view as a number."""

TTI = Dialect("tti", [GSanAtomicCASOp, GSanAtomicRMWOp, *COMPUTING])
