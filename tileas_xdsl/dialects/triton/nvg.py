"""
The dialect `nvg`: instructions that Triton writes between TTGIR and LLVM's IR. The one that is read here loads a flag.

    %v = nvg.ld_acquire acquire, gpu, %p : (!llvm.ptr<1>) -> i32
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def

from tileas_xdsl.dialects.triton.effects import TouchesMemory
from tileas_xdsl.dialects.triton.forms import TritonOp


@irdl_op_definition
class LoadAcquireOp(TritonOp):
    """`%v = nvg.ld_acquire acquire, gpu, %p : (!llvm.ptr<1>) -> i32` (PTX ISA, `ld.acquire`)."""

    name = "nvg.ld_acquire"

    addr = operand_def()
    mask = opt_operand_def()
    result = result_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    traits = traits_def(TouchesMemory())
    FORM: ClassVar = "$sem<semantic>, $scope<scope>, $addr(, $mask)? {} : signature"


NVG = Dialect("nvg", [LoadAcquireOp])
