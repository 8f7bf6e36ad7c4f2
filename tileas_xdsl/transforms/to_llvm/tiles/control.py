"""Loops and branches, and ops that are the same for tiles and for threads."""

from __future__ import annotations

from xdsl.dialects import func, gpu, memref, scf, ub
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType, UndefOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateNullTokenOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaGroupSyncAlignedOp, WgmmaWaitGroupSyncOp
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import lowered_as, types_for

AXES = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)


@rule(scf.ForOp)
def _for(op: scf.ForOp, threads: Threads) -> None:
    threads.rebuild(op, {name: value for name, value in op.attributes.items() if not name.startswith("nv_tile")})


@rule(scf.WhileOp, scf.ConditionOp, scf.YieldOp, func.ReturnOp)
def _structure(op: Operation, threads: Threads) -> None:
    threads.rebuild(op, {})


@rule(scf.IfOp)
def _if(op: scf.IfOp, threads: Threads) -> None:
    then, otherwise = (threads.region_for(region) for region in op.regions)
    if not otherwise.blocks:
        for wait in _waits_for_earlier_products(then.block):
            wait.detach()
            threads.insert(wait)
    threads.rebuild(op, {}, [then, otherwise])


def _waits_for_earlier_products(arm: Block) -> list[WgmmaWaitGroupSyncOp]:
    """
    The waits of the only arm of a branch that are for products in front of it: they go there, too. Behind a loop that
    may have no turns, the wait for its last product has its condition, and so has the product. Nobody who translates
    the branch sees that the two go together: LLVM could use the sums in front of the wait, and ptxas waits for each
    product by itself. Where the branch is not taken, there is nothing to wait for.
    """
    found: list[WgmmaWaitGroupSyncOp] = []
    for op in arm.ops:
        if any(isinstance(inner, WgmmaGroupSyncAlignedOp) for inner in op.walk()):
            break
        if isinstance(op, WgmmaWaitGroupSyncOp):
            found.append(op)
    return found


@refusal(func.ReturnOp)
def _returns_values(op: func.ReturnOp) -> tuple[str, str] | None:
    return ("returns values, and nobody waits for those of a kernel", "store them") if op.operands else None


@rule(GetProgramIdOp)
def _program(op: GetProgramIdOp, threads: Threads) -> None:
    axis = AXES[op.axis.value.data]
    threads.give(op.result, threads.result(gpu.BlockIdOp(gpu.DimensionAttr(axis))))


@refusal(GetProgramIdOp)
def _of_another_program(op: GetProgramIdOp) -> tuple[str, str] | None:
    if op.program is None and not isinstance(op.result.type, ProgramIdType):
        return None
    return "is of a persistent loop, and threads take over no programs", "compile without dynamic-persistent"


@rule(GetNumProgramsOp)
def _programs(op: GetNumProgramsOp, threads: Threads) -> None:
    axis = AXES[op.axis.value.data]
    threads.give(op.result, threads.result(gpu.GridDimOp(gpu.DimensionAttr(axis))))


@rule(CreateNoneOp, CreateNullTokenOp)
def _none(op: CreateNoneOp | CreateNullTokenOp, threads: Threads) -> None:
    """A value that nobody looks at; a pointer leads somewhere all the same."""
    result = op.results[0]
    kinds = types_for(result.type) or ()
    threads.forms[result] = lowered_as(result.type, [_anything(threads, kind) for kind in kinds])


def _anything(threads: Threads, kind: Attribute) -> SSAValue:
    match kind:
        case LLVMPointerType():
            return threads.shared
        case LLVMStructType():
            return threads.result(UndefOp(kind))
        case _:
            return threads.result(ub.PoisonOp(kind))


SAME: tuple[type[Operation], ...] = (memref.DimOp, ub.PoisonOp)
"""Ops on numbers and arrays that stay what they are."""


@rule(*SAME)
def same(op: Operation, threads: Threads) -> None:
    """The same op, on what stands for its operands."""
    mapped: dict[SSAValue, SSAValue] = {value: threads.of(value) for value in op.operands}
    copy = threads.insert(op.clone(mapped))
    for result, found in zip(op.results, copy.results, strict=True):
        threads.give(result, found)
