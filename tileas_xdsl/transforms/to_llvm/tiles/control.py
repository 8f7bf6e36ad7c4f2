"""Loops and branches, and ops that are the same for tiles and for threads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, gpu, memref, scf, ub
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType, UndefOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateNullTokenOp
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaGroupSyncAlignedOp, WgmmaWaitGroupSyncOp
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads, all_types, lower, refusal, rule
from tileas_xdsl.transforms.to_llvm.tiles.values import lowered_as, types_for

AXES = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)


def _all_of(threads: Threads, values: Sequence[SSAValue]) -> list[SSAValue]:
    return [found for value in values for found in threads.parts(value)]


def lower_body(block: Block, threads: Threads) -> None:
    """Build what stands for the ops of a block; its arguments are bound already."""
    for op in block.ops:
        lower(op, threads)


@rule(scf.ForOp)
def _for(op: scf.ForOp, threads: Threads) -> None:
    body = Block(arg_types=[op.body.block.args[0].type, *all_types(op.iter_args)])
    inside = op.body.block
    with threads.inside(body):
        threads.bind(inside.args, body.args)
        lower_body(inside, threads)
    lower_bound, upper_bound, step = (threads.of(value) for value in (op.lb, op.ub, op.step))
    loop = scf.ForOp(lower_bound, upper_bound, step, _all_of(threads, op.iter_args), Region(body))
    loop.attributes |= {name: value for name, value in op.attributes.items() if not name.startswith("nv_tile")}
    threads.bind(op.results, threads.insert(loop).results)


@rule(scf.WhileOp)
def _while(op: scf.WhileOp, threads: Threads) -> None:
    regions: list[Region] = []
    for inside in (op.before_region.block, op.after_region.block):
        block = Block(arg_types=all_types(inside.args))
        with threads.inside(block):
            threads.bind(inside.args, block.args)
            lower_body(inside, threads)
        regions.append(Region(block))
    loop = scf.WhileOp(_all_of(threads, op.arguments), all_types(op.results), *regions)
    threads.bind(op.results, threads.insert(loop).results)


@rule(scf.ConditionOp)
def _condition(op: scf.ConditionOp, threads: Threads) -> None:
    threads.insert(scf.ConditionOp(threads.of(op.condition), *_all_of(threads, op.args)))


@rule(scf.IfOp)
def _if(op: scf.IfOp, threads: Threads) -> None:
    then, otherwise = _arm(op.true_region, threads), _arm(op.false_region, threads)
    if not otherwise.blocks:
        for wait in _waits_for_earlier_products(then.block):
            wait.detach()
            threads.insert(wait)
    branch = scf.IfOp(threads.of(op.cond), all_types(op.results), then, otherwise)
    threads.bind(op.results, threads.insert(branch).results)


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


def _arm(region: Region, threads: Threads) -> Region:
    if not region.blocks:
        return Region()
    block = Block()
    with threads.inside(block):
        lower_body(region.block, threads)
    return Region(block)


@rule(scf.YieldOp)
def _yield(op: scf.YieldOp, threads: Threads) -> None:
    threads.insert(scf.YieldOp(*_all_of(threads, op.operands)))


@rule(func.ReturnOp)
def _return(op: func.ReturnOp, threads: Threads) -> None:
    threads.insert(func.ReturnOp(*_all_of(threads, op.operands)))


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
    threads.lowered[result] = lowered_as(result.type, [_anything(threads, kind) for kind in kinds])


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
