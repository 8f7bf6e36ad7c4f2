"""
Ops that the checker cannot follow, replaced by something that it can and that does no less.

What stands in for an op touches, on the spot, all memory that the op may touch, and returns values of which nothing is
known:

    scf.while ... { ... memref.store %v, %ring[%k] ... }     ->     func.call @unseen(%ring)

A call of a function without a body is to the checker an access to all that it is given. Memory that is only read is
copied. An op of which nothing is known may touch all that is in sight but what never left the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, StringAttr, UnitAttr
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from tileas_xdsl.analysis.buffer_touches import touches_of
from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.memory.effects import stated_effects
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, enclosing_function

AnyMemRef = MemRefType


STAND_IN = "stand_in"
"""The attribute of a call that is a stand-in: it touches what it is given, and nothing else."""


def is_unknown(op: Operation) -> bool:
    """Whether nothing is known of what `op` itself does: it may touch any memory, commit groups and wait."""
    if isinstance(op, QueueScope | LinalgStructuredOperation) or STAND_IN in op.attributes:
        return False
    return stated_effects(op) is None


def may_commit(op: Operation) -> bool:
    """Whether `op`, or what it runs, may commit groups."""
    return any(isinstance(inner, CommitOp) or is_unknown(inner) for inner in op.walk())


def holds_queue_ops(op: Operation) -> bool:
    """Whether a commit or a wait stands in `op`, or may be run by it."""
    return any(isinstance(inner, CommitOp | WaitOp) or is_unknown(inner) for inner in op.walk())


def stand_in_for(op: Operation, number: int) -> Operation | None:
    """
    Replace `op` by a call of an unseen function; returns the call.

    Leaves all as it is, and returns None, where that cannot be: for a terminator, or where memory comes out of the op.
    """
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return None
    if any(isa(result.type, AnyMemRef) for result in op.results):
        return None
    unknown = any(is_unknown(inner) for inner in op.walk())
    memory = _in_sight(op) if unknown else _used_in(op)
    if memory is None:
        return None
    point = InsertPoint.before(op)
    for value, written in memory.items():
        if not written:
            _copy(value, point)
    written = [value for value, is_written in memory.items() if is_written]
    if unknown or any(isinstance(inner, memref.GetGlobalOp) for inner in op.walk()):
        written += _globals(op, point)
    call = _call(op, written, number)
    for old, new in zip(op.results, call.results, strict=True):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
    return call


def run_both_branches(op: scf.IfOp | scf.IndexSwitchOp, number: int) -> Operation | None:
    """
    Let what a branch may do be done, whatever the condition: the branches one after the other.

    For a branch that commits nothing and waits for nothing. What is stored is not known then, since nobody knows which
    side stored last. Leaves all as it is, and returns None, where memory comes out of the branch, or it writes in other
    ways than by stores.
    """
    inside = [inner for inner in op.walk() if inner is not op]
    stores = [inner for inner in inside if isinstance(inner, memref.StoreOp)]
    if any(isa(result.type, AnyMemRef) for result in op.results) or not all(map(_only_reads_or_stores, inside)):
        return None
    call = _call(op, [], number, [*op.result_types, *(store.value.type for store in stores)])
    for old, new in zip(op.results, call.results[: len(op.results)], strict=True):
        old.replace_all_uses_with(new)
    for store, unknown in zip(stores, call.results[len(op.results) :], strict=True):
        store.operands = [unknown, *store.operands[1:]]
    for region in op.regions:
        for inner in list(region.block.ops) if region.blocks else ():
            if hands_on(inner):
                Rewriter.erase_op(inner)
                continue
            inner.detach()
            Rewriter.insert_op(inner, InsertPoint.before(op))
    Rewriter.erase_op(op)
    return call


def _only_reads_or_stores(op: Operation) -> bool:
    if isinstance(op, memref.StoreOp | QueueScope):
        return True
    effects = stated_effects(op)
    return effects is not None and not any(effect.writes for effect in effects)


# What is touched ------------------------------------------------------------------------------------------------------


def _used_in(op: Operation) -> dict[SSAValue, bool]:
    """The memory from outside that `op` and what it runs use, and whether it may be written."""
    outside = dict.fromkeys([*op.operands, *captured_values(op.regions)])
    used = {value: False for value in outside if isa(value.type, AnyMemRef)}
    for inner in op.walk():
        for value in inner.operands:
            if value in used:
                used[value] |= _may_write(inner, value)
    return used


def _may_write(op: Operation, value: SSAValue) -> bool:
    """Whether `op` writes the memory `value`, or makes another name of it."""
    effects = stated_effects(op)
    if effects is None or any(isa(result.type, AnyMemRef) for result in op.results):
        return True
    mine = [effect for effect in effects if effect.target is value]
    return any(effect.writes for effect in mine) if mine else not isinstance(op, memref.DimOp)


def _in_sight(op: Operation) -> dict[SSAValue, bool] | None:
    """
    All memory that an op that replaces `op` may reach, which may all be written; None where some of it cannot be
    named there, as in a function that others call.
    """
    if _is_called(enclosing_function(op)):
        return None
    visible = {value: True for value in _visible(op) if isa(value.type, AnyMemRef) and not _is_kept(value)}
    for other in op.get_toplevel_object().walk():
        for value in other.results if not op.is_ancestor(other) else ():
            is_reached = isa(value.type, AnyMemRef) and not _is_kept(value)
            if is_reached and value not in visible and not _shows_visible(value, visible):
                return None
    return visible


def _is_called(function: Operation | None) -> bool:
    name = FunctionOpInterface.of(function)
    assert function is not None
    assert name is not None
    calls = (op for op in function.get_toplevel_object().walk() if isinstance(op, func.CallOp))
    return any(call.callee.string_value() == name.function_name for call in calls)


def _shows_visible(value: SSAValue, visible: dict[SSAValue, bool]) -> bool:
    """Whether `value` is a view of memory that is visible, or a global."""
    owner = value.owner
    if isinstance(owner, memref.GetGlobalOp):
        return True
    if isinstance(owner, memref.AllocOp | memref.AllocaOp) or not isinstance(owner, Operation):
        return False
    sources = [operand for operand in owner.operands if isa(operand.type, AnyMemRef)]
    return bool(sources) and all(source in visible or _shows_visible(source, visible) for source in sources)


def _is_kept(value: SSAValue) -> bool:
    """Whether `value`, or what it shows, is memory that never gets into other hands."""
    owner = value.owner
    if isinstance(owner, memref.SubviewOp | memref.CastOp):
        return isa(owner.source.type, AnyMemRef) and _is_kept(owner.source)
    if not isinstance(owner, memref.AllocOp | memref.AllocaOp):
        return False
    block = owner.parent_block()
    return block is not None and touches_of(value, block) is not None


def _visible(op: Operation) -> Iterator[SSAValue]:
    """The values that an op that replaces `op` can use, in program order within each block."""
    node: Operation | None = op
    while node is not None and (block := node.parent_block()) is not None:
        yield from block.args
        for before in block.ops:
            if before is node:
                break
            yield from before.results
        node = block.parent_op()
        if isinstance(node, func.FuncOp):
            entry = node.body.first_block
            yield from entry.args if entry is not None and entry is not block else ()
            return


# What is put there ----------------------------------------------------------------------------------------------------


def _globals(op: Operation, point: InsertPoint) -> list[SSAValue]:
    found: list[SSAValue] = []
    for other in op.get_toplevel_object().walk():
        if isinstance(other, memref.GlobalOp):
            named = memref.GetGlobalOp(other.sym_name.data, other.type)
            Rewriter.insert_op(named, point)
            found.append(named.memref)
    return found


def _copy(value: SSAValue, point: InsertPoint) -> None:
    """Insert ops that read all of the memory `value`."""
    kind = value.type
    assert isa(kind, AnyMemRef)
    sizes: list[SSAValue] = []
    for axis, extent in enumerate(kind.get_shape()):
        if extent == DYNAMIC_INDEX:
            number = arith.ConstantOp(IntegerAttr(axis, IndexType()))
            size = memref.DimOp(value, number.result)
            Rewriter.insert_op([number, size], point)
            sizes.append(size.result)
    room = memref.AllocOp.get(kind.element_type, shape=kind.get_shape(), dynamic_sizes=sizes)
    Rewriter.insert_op([room, memref.CopyOp(value, room.memref)], point)


def _call(
    op: Operation, memory: list[SSAValue], number: int, results: Sequence[Attribute] | None = None
) -> func.CallOp:
    """
    Put a call of a function without a body in front of `op`, under the name and the place of `op`. Its results have the
    types of those of `op`, or of `results`.
    """
    types = list(op.result_types if results is None else results)
    function = enclosing_function(op)
    assert function is not None
    name = f"unseen_{number}"
    unseen = func.FuncOp.external(name, [value.type for value in memory], types)
    Rewriter.insert_op(unseen, InsertPoint.before(function))
    call = func.CallOp(name, memory, types)
    call.attributes["op_name__"] = StringAttr(op_name(op))
    call.attributes[STAND_IN] = UnitAttr()
    call.location = op.location
    Rewriter.insert_op(call, InsertPoint.before(op))
    return call
