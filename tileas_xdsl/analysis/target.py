"""
What the target allows: its compute capability, and the ops that it lacks.

Block-scaled matrix multiplication exists from sm_100 on (PTX ISA, `tcgen05.mma` with `.block_scale`). The check is made
where nv_tileaa is converted to nv_tileas: before that, a program may be read and run without a target.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tileas_xdsl.diagnostics import Diagnostic, ErrorCollector, Severity, refuse
from tileas_xdsl.dialects.nv_tileaa.attributes import compute_capability_of
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.block_scaled import capability_refusal
from tileas_xdsl.dialects.nv_tileas.compute import AbstractDotOp, BlockScaledMmaOp
from tileas_xdsl.targets.chips import capability_of
from tileas_xdsl.targets.machine_model import MachineModel
from tileas_xdsl.targets.machine_models import machine_model


def capability_for(op: Operation, target: str) -> int:
    """
    The compute capability for `op`: the one that the IR around it states, else that of `target`.

    Raises `RefusedError` on `op` where there is none.
    """
    stated = compute_capability_of(op)
    capability = stated if stated is not None else capability_of(target)
    if capability is None:
        refuse(op, f"failed to get compute capability: '{target}' is no target", "say one such as sm_90")
    return capability


def model_of_target(op: Operation, target: str) -> MachineModel:
    """
    The machine model for `op`: of the compute capability that the IR around it states, else of `target`.

    Raises `RefusedError` on `op`, naming those that there are, where there is none.
    """
    stated = compute_capability_of(op)
    name = target if stated is None else f"sm_{stated}"
    try:
        return machine_model(name)
    except ValueError as error:
        refuse(op, f"failed to get compute capability: {error}", "say another compute-capability")


def is_block_scaled(op: Operation) -> bool:
    """Whether `op` is a matrix multiplication with scale factors."""
    match op:
        case BlockScaledMmaOp():
            return True
        case DotOp():
            return op.sfa is not None
        case AbstractDotOp():
            return bool(op.scales)
        case _:
            return False


def refuse_block_scaling(module: ModuleOp, target: str) -> None:
    """
    Check the block-scaled ops of `module` against the target that the IR around an op states, else against `target`.

    Raises `RefusedError` with every op that the target lacks, or for which no target is known.
    """
    errors = ErrorCollector()
    for op in filter(is_block_scaled, module.walk()):
        stated = compute_capability_of(op)
        capability = stated if stated is not None else capability_of(target)
        refusal = "failed to get the target spec" if capability is None else capability_refusal(capability)
        if refusal is not None:
            way_out = "say what it is compiled for: compute-capability=sm_100 or later"
            errors.add(Diagnostic(Severity.ERROR, op, refusal, way_out, verbatim=True))
    errors.raise_if_any()
