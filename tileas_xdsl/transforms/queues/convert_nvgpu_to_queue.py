"""
Device copies by token become groups and exact counts, which MLIR's own lowering of `nvgpu` forgets.

    %t = nvgpu.device_async_copy %src[%i], %dst[%j], 4             async_queue.commit 0 {
    %g = nvgpu.device_async_create_group %t                          async_queue.scope {
                                                                       %v = vector.load %src[%i]
    ...                                                       ->       vector.store %v, %dst[%j]
                                                                     }
                                                                   }
    nvgpu.device_async_wait %g                                     async_queue.wait 0, age of %g

The groups of a thread finish in order, so all of them are one queue; the count is the token's age (`analysis/ages.py`).
MLIR emits `numGroups`, or 0 where it is absent: a loop that rotates its tokens then drains the pipeline each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.ages import Ages, describe_path
from tileas_xdsl.analysis.memory.effects import only_computes
from tileas_xdsl.analysis.value_flow import carried_to, values_in
from tileas_xdsl.diagnostics import refuse, remark
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.dialects.nvgpu import (
    DeviceAsyncCopyOp,
    DeviceAsyncCreateGroupOp,
    DeviceAsyncTokenType,
    DeviceAsyncWaitOp,
)
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.rewriting.structure import CARRIERS, ending, remove_values


@dataclass
class DevicePlan:
    """The conversion of one function."""

    function: Operation
    queue: int
    groups: list[tuple[DeviceAsyncCreateGroupOp, list[DeviceAsyncCopyOp]]] = field(
        default_factory=list[tuple[DeviceAsyncCreateGroupOp, list[DeviceAsyncCopyOp]]]
    )
    waits: list[tuple[DeviceAsyncWaitOp, int]] = field(default_factory=list[tuple[DeviceAsyncWaitOp, int]])
    remarks: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])


def is_device_token(value: SSAValue) -> bool:
    """Whether `value` is a token of `nvgpu`."""
    return isinstance(value.type, DeviceAsyncTokenType)


def plan_device_copies(function: Operation) -> DevicePlan | None:
    """
    The plan for `function`; None where there is nothing to convert. Raises `RefusedError` where counts cannot say what
    the tokens say.
    """
    tokens = [value for value in values_in(function) if is_device_token(value)]
    if not tokens:
        return None
    for token in tokens:
        _must_be_followed(token, function)
    plan = DevicePlan(function, _free_queue(function))
    ages = Ages(function, is_token_value=is_device_token)
    for op in function.walk():
        match op:
            case DeviceAsyncCreateGroupOp():
                plan.groups.append((op, _copies_of(op)))
            case DeviceAsyncWaitOp():
                _plan_wait(op, ages, plan)
            case _:
                pass
    return plan


def _free_queue(function: Operation) -> int:
    """Queue 0, which is the one that CUDA has, or the first behind those in use."""
    used = [op.queue for op in function.walk() if isinstance(op, CommitOp | WaitOp)]
    return 1 + max((queue for queue in used if isinstance(queue, int)), default=-1)


def _must_be_followed(token: SSAValue, function: Operation) -> None:
    """Raises `RefusedError` unless `token` stays in the function, in values, on its way from group to wait."""
    owner = token.owner
    makers = (DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, arith.SelectOp, *CARRIERS)
    if isinstance(owner, Block) and owner.parent_op() is function and owner is function.regions[0].first_block:
        refuse(function, "takes a device token from its caller, which cannot be followed", "inline it")
    if isinstance(owner, Operation) and not isinstance(owner, makers):
        refuse(owner, "makes a device token that cannot be followed to a group", "keep the token in values")
    for use in token.uses:
        user = use.operation
        if carried_to(use) is None and not isinstance(user, DeviceAsyncCreateGroupOp | DeviceAsyncWaitOp):
            refuse(user, "takes a device token to where it cannot be followed", "inline the call, or keep it in values")
        if isinstance(owner, DeviceAsyncCopyOp) and not isinstance(user, DeviceAsyncCreateGroupOp):
            refuse(user, "uses the token of a copy, which is no group", "put the copy into a group, and use its token")
    if isinstance(owner, DeviceAsyncCopyOp) and not token.has_one_use():
        refuse(owner, "is not in exactly one group, so no wait covers it once", "name its token in one create_group")


def _copies_of(group: DeviceAsyncCreateGroupOp) -> list[DeviceAsyncCopyOp]:
    """The copies of a group, in order; they stand right before it, so that they can be issued where it is made."""
    wanted = dict.fromkeys(group.input_tokens)
    found: list[DeviceAsyncCopyOp] = []
    op = group.prev_op
    while op is not None and len(found) < len(wanted):
        if isinstance(op, DeviceAsyncCopyOp) and op.async_token in wanted:
            found.append(op)
        elif isinstance(op, DeviceAsyncCopyOp):
            refuse(op, "is issued among the copies of another group", "make each group right behind its copies")
        elif not only_computes(op):
            refuse(op, "stands between the copies of a group and the group", "make the group right behind its copies")
        op = op.prev_op
    if len(found) < len(wanted):
        refuse(group, "is made of tokens of other blocks", "make the group right behind its copies")
    return found[::-1]


def _plan_wait(wait: DeviceAsyncWaitOp, ages: Ages, plan: DevicePlan) -> None:
    age = ages.age(wait.async_dependencies, wait)
    if age is None:
        plan.waits.append((wait, 0))
        return
    if not age.followed:
        refuse(wait, "waits for a token that cannot be followed to a group", "keep the token in values")
    given = wait.num_groups.value.data if wait.num_groups is not None else None
    if given is None:
        plan.waits.append((wait, age.count))
        return
    if given > age.count:
        refuse(
            wait,
            f"leaves {given} groups unfinished, and its own may be among them: {describe_path(age)}",
            f"leave numGroups out, or write {age.count} at most",
        )
    if given < age.count:
        plan.remarks.append((wait, f"waits for more than its token: {age.count} groups may be unfinished, not {given}"))
    plan.waits.append((wait, given))


# Rewriting ------------------------------------------------------------------------------------------------------------


def emit_device_copies(plan: DevicePlan) -> None:
    """Carry out a plan; cannot fail."""
    done: list[Operation] = []
    for group, copies in plan.groups:
        scopes = [ScopeOp(Region(Block(_moves(copy)))) for copy in copies]
        Rewriter.insert_op(CommitOp(plan.queue, Region(Block(scopes))), InsertPoint.before(group))
        done += [group, *copies]
    for wait, count in plan.waits:
        Rewriter.insert_op(WaitOp(plan.queue, count), InsertPoint.before(wait))
        done.append(wait)
    for op in done:
        op.operands = []
    remove_values(plan.function, is_device_token)
    for op in done:
        Rewriter.erase_op(op)


def _moves(copy: DeviceAsyncCopyOp) -> list[Operation]:
    """Loads and stores that do what `copy` does."""
    kind = cast("MemRefType[Attribute]", copy.dst.type).element_type
    elements = copy.dst_elements.value.data
    if copy.src_elements is not None:
        return _filled_moves(copy, kind, elements)
    if elements == 1:
        load = memref.LoadOp.get(copy.src, copy.src_indices)
        return [load, memref.StoreOp.get(load.res, copy.dst, copy.dst_indices)]
    loads = vector.LoadOp(copy.src, copy.src_indices, VectorType(kind, [elements]))
    return [loads, vector.StoreOp(loads.result, copy.dst, copy.dst_indices)]


def _filled_moves(copy: DeviceAsyncCopyOp, kind: Attribute, elements: int) -> list[Operation]:
    """The loads and stores of a copy that reads fewer elements than it writes: source elements first, then zeros."""
    assert copy.src_elements is not None
    ops: list[Operation] = []
    for number in range(elements):
        offset = arith.ConstantOp(IntegerAttr(number, IndexType()))
        inside = arith.CmpiOp(offset.result, copy.src_elements, "ult")
        source, source_ops = _shifted(copy.src_indices, offset.result, number)
        target, target_ops = _shifted(copy.dst_indices, offset.result, number)
        load = memref.LoadOp.get(copy.src, source)
        zero = _zero(kind)
        loaded = Region(ending([*source_ops, load], load.res))
        branch = scf.IfOp(inside.result, [kind], loaded, Region(ending([zero], zero.result)))
        store = memref.StoreOp.get(branch.results[0], copy.dst, target)
        ops += [offset, inside, branch, *target_ops, store]
    return ops


def _shifted(indices: Sequence[SSAValue], offset: SSAValue, number: int) -> tuple[list[SSAValue], list[Operation]]:
    """The indices of an element `offset` further along the innermost dimension, and the ops that compute them."""
    if number == 0:
        return list(indices), []
    last = arith.AddiOp(indices[-1], offset)
    return [*indices[:-1], last.result], [last]


def _zero(kind: Attribute) -> arith.ConstantOp:
    if isinstance(kind, AnyFloat):
        return arith.ConstantOp(FloatAttr(0.0, kind))
    return arith.ConstantOp(IntegerAttr(0, cast("IntegerType", kind)))


@dataclass(frozen=True)
class ConvertNVGPUToQueuePass(ModulePass):
    """
    Turn device copies with tokens (`nvgpu`) into groups and counts of `async_queue`.

    Rewrites: `nvgpu.device_async_create_group` and its copies to `async_queue.commit` around one `async_queue.scope` a
    copy; `nvgpu.device_async_wait` to `async_queue.wait`, with `numGroups` where it is given and with the age of its
    token where it is not; loops and branches to the same without tokens.

    Requires: each group stands in the block of its copies, with nothing but pure ops and these copies in between.

    Refuses, with the IR untouched: tokens that leave the function or their values, a copy in no group or in several,
    a wait for a copy that is in no group, and a `numGroups` by which the wait would not wait for its own token.

    Choices
        `numGroups` is kept where it waits for the op's own token (waiting for more is what its author may want) and
        refused where it does not. A copy is issued where its group is made; what could tell the difference in between
        is refused.
    """

    name = "convert-nvgpu-to-queue"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan for function in functions_in(op) if (plan := plan_device_copies(function)) is not None]
        for plan in plans:
            for subject, text in plan.remarks:
                remark(subject, text, "leave numGroups out to wait for the token alone")
            emit_device_copies(plan)
