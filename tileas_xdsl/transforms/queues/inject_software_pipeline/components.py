"""
The statements of a loop that is to be pipelined.

Enters an annotated loop of a draft; leaves a body that holds one `async_queue.block` for each component and nothing
else, and a `LoopBody` that says what was found:

    scf.for %i ... {                              %t = memref.alloc()
      %t = memref.alloc()                         scf.for %i ... {
      %j = arith.addi %i, %c1                       async_queue.block {
      async_queue.block { ... %j ... }     ->         %j = arith.addi %i, %c1
      async_queue.block { ... }                       ... %j ...
    }                                               }
                                                    async_queue.block { ... }
                                                  }

* A block that holds only blocks is flattened one level, also where it is the whole body; a nested pipelined loop is
  such a block by now, of three.
* Constants, index arithmetic and views of buffers go to where they are used, allocations in front of the loop,
  deallocations behind it. So do views in front of the loop of what is used in the loop only.
* Anything else directly in the body is refused.

TVM's annotations have one entry for each statement of the loop body (RFC 0077); a component is such a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from tileas_xdsl.analysis.dependence import Placement
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.static_views import as_view, buffer_behind, uses_by_any_name, views_behind
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.diagnostics import location_of, op_name, refuse
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, WaitOp
from tileas_xdsl.dialects.async_queue_annotations import Annotations


@dataclass(frozen=True)
class DoubleBuffer:
    """The `double_buffer_scope` of a block, and the components that the block is or was made of."""

    block: BlockOp
    index: int
    components: tuple[int, ...]


@dataclass(frozen=True)
class LoopBody:
    """The contents of a loop body that was brought into shape."""

    loop: scf.ForOp
    components: tuple[BlockOp, ...]
    """The components of the loop in program order."""
    allocations: tuple[SSAValue, ...]
    """Buffers that each iteration has its own of; they stand in front of the loop now."""
    nests: tuple[tuple[int, ...], ...]
    """For each nested pipeline with asynchronous stages: the components that are its parts and commit or wait."""
    double_buffers: tuple[DoubleBuffer, ...]

    @property
    def names(self) -> list[str]:
        """The names of the components in diagnostics."""
        return [_name(component) for component in self.components]


def _name(component: BlockOp) -> str:
    location = location_of(component)
    return op_name(component) if location is None else f"{op_name(component)} at {location}"


def placements_of(annotations: Annotations) -> tuple[Placement, ...]:
    """The stage and order of each component, from the annotations."""
    return tuple(map(Placement, annotations.stages, annotations.order))


def bring_into_shape(loop: scf.ForOp, queued: Mapping[Operation, bool]) -> LoopBody:
    """
    Rewrite the body of `loop` as the docstring of the module shows.

    `queued` tells of the blocks that stand for nested pipelines whether those have asynchronous stages. Raises
    `RefusedError` for an op that is no component.
    """
    body = loop.body.block
    _bring_views(loop)
    _check_statements(body)
    _put_in_a_block(body)
    members: dict[BlockOp, list[BlockOp]] = {}
    for _ in range(2 if len(_blocks_in(body)) == 1 else 1):
        for block in _blocks_in(body):
            if _is_sequence(block):
                members[block] = _splice(block)
    components = _blocks_in(body)
    for component in components:
        _bring_scalars(component, body)
    allocations = _move_allocations(loop)
    for op in reversed(list(body.ops)):
        if _is_brought(op):
            Rewriter.erase_op(op)
    number = {component: index for index, component in enumerate(components)}
    parts = {block: tuple(_flat(block, members, number)) for block in [*members, *components]}
    return LoopBody(
        loop=loop,
        components=tuple(components),
        allocations=tuple(allocations),
        nests=tuple(tuple(_counting(parts[block], components)) for block in members if queued.get(block)),
        double_buffers=tuple(
            DoubleBuffer(block, block.double_buffer_scope.value.data, inside)
            for block, inside in parts.items()
            if block.double_buffer_scope is not None
        ),
    )


def _flat(block: BlockOp, members: Mapping[BlockOp, Sequence[BlockOp]], number: Mapping[BlockOp, int]) -> Iterator[int]:
    """The numbers of the components that `block` is, or was flattened to."""
    if block in number:
        yield number[block]
    for inner in members.get(block, ()):
        yield from _flat(inner, members, number)


def _counting(parts: Sequence[int], components: Sequence[BlockOp]) -> Iterator[int]:
    """Those of `parts` that commit or wait; the others may go where they like."""
    for part in parts:
        if any(isinstance(op, CommitOp | WaitOp) for op in components[part].walk()):
            yield part


# What may stand in a body ---------------------------------------------------------------------------------------------


def _is_scalar(op: Operation) -> bool:
    """Constants and index arithmetic: without effects, and cheap enough to be done wherever they are used."""
    if op.has_trait(ConstantLike, value_if_unregistered=False):
        return True
    if op.regions or not op.results or not has_no_effects(op):
        return False
    return all(isinstance(result.type, IndexType | IntegerType) for result in op.results)


def _is_brought(op: Operation) -> bool:
    """Whether `op` is copied to each place that uses it: a scalar, or a view of a buffer."""
    return _is_scalar(op) or as_view(op) is not None


def _is_own_deallocation(op: Operation) -> bool:
    if not isinstance(op, memref.DeallocOp) or not isinstance(op.memref, OpResult):
        return False
    return isinstance(op.memref.op, memref.AllocOp) and op.memref.op.parent is op.parent


def _is_plumbing(op: Operation) -> bool:
    """
    Whether `op` may stand between components: a scalar, a view, an allocation, its deallocation, or the `scf.yield`.
    """
    return isinstance(op, memref.AllocOp) or hands_on(op) or _is_brought(op) or _is_own_deallocation(op)


def _check_statements(body: Block) -> None:
    for op in body.ops:
        if isinstance(op, BlockOp) or _is_plumbing(op):
            continue
        refuse(
            op,
            "stands directly in the body of a loop that is to be pipelined, and is no component",
            "put it into an async_queue.block; between components only memref.alloc, memref.cast, memref.subview, "
            "constants and index arithmetic may stand",
        )


def _blocks_in(block: Block) -> list[BlockOp]:
    return [op for op in block.ops if isinstance(op, BlockOp)]


def _put_in_a_block(body: Block) -> None:
    """Give every component a block of its own, empty or not."""
    for component in _blocks_in(body):
        if component.body.first_block is None:
            component.body.add_block(Block())


def _is_sequence(block: BlockOp) -> bool:
    """Whether `block` holds components and nothing else."""
    inside = block.body.first_block
    return (
        inside is not None
        and bool(_blocks_in(inside))
        and all(isinstance(op, BlockOp) or _is_plumbing(op) for op in inside.ops)
    )


def _splice(block: BlockOp) -> list[BlockOp]:
    """Put the ops of a sequence in its place. Returns its blocks. The op itself stays as a name without a place."""
    inside = block.body.block
    members = _blocks_in(inside)
    _put_in_a_block(inside)
    for op in list(inside.ops):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(block))
    block.detach()
    return members


# Scalars and buffers --------------------------------------------------------------------------------------------------


def _bring_scalars(component: BlockOp, body: Block) -> None:
    """Copy the scalars and views of `body` that `component` uses into it, in program order."""
    needed = _scalars_behind([operand for op in component.walk() for operand in op.operands], body)
    copies: dict[SSAValue, SSAValue] = {}
    inside = component.body.block
    first = inside.first_op
    for scalar in needed:
        copy = scalar.clone(copies)
        Rewriter.insert_op(copy, InsertPoint.at_end(inside) if first is None else InsertPoint.before(first))
    for op in component.walk():
        if any(operand in copies for operand in op.operands):
            op.operands = [copies.get(operand, operand) for operand in op.operands]


def _scalars_behind(values: Sequence[SSAValue], body: Block) -> list[Operation]:
    """The scalars and views of `body` behind `values`, in program order."""
    found: dict[Operation, None] = {}
    stack = list(values)
    while stack:
        owner = stack.pop().owner
        if isinstance(owner, Operation) and owner.parent is body and _is_brought(owner) and owner not in found:
            found[owner] = None
            stack.extend(owner.operands)
    return [op for op in body.ops if op in found] if found else []


def _bring_views(loop: scf.ForOp) -> None:
    """Copy into the body the views in front of `loop` of buffers that are used in the loop only."""
    views: dict[Operation, None] = {}
    for op in loop.walk():
        views.update((view, None) for view in views_behind(op) if not loop.is_ancestor(view))
    inside = loop.body.block
    first = inside.first_op
    assert first is not None
    copies: dict[SSAValue, SSAValue] = {}
    brought = [view for view in views if _is_used_by(buffer_behind(view.results[0]), loop)]
    for view in brought:
        Rewriter.insert_op(view.clone(copies), InsertPoint.before(first))
    for op in loop.walk():
        if any(operand in copies for operand in op.operands):
            op.operands = [copies.get(operand, operand) for operand in op.operands]
    for view in reversed(brought):
        if view.results[0].first_use is None:
            Rewriter.erase_op(view)


def _is_used_by(buffer: SSAValue, loop: scf.ForOp) -> bool:
    """Whether `buffer` is an allocation that, by whatever name, is used in `loop` only, but for its deallocation."""
    return isinstance(buffer.owner, memref.AllocOp) and all(
        isinstance(use.operation, memref.DeallocOp)
        or as_view(use.operation) is not None
        or loop.is_ancestor(use.operation)
        for use in uses_by_any_name(buffer)
    )


def _move_allocations(loop: scf.ForOp) -> list[SSAValue]:
    """Move allocations in front of the loop, with what computes their sizes, and deallocations behind it."""
    body = loop.body.block
    moved: list[SSAValue] = []
    for op in list(body.ops):
        if isinstance(op, memref.AllocOp):
            _move_allocation(op, loop)
            moved.append(op.memref)
    for op in [op for op in body.ops if isinstance(op, memref.DeallocOp)]:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.after(loop))
    return moved


def _move_allocation(alloc: memref.AllocOp, loop: scf.ForOp) -> None:
    body = loop.body.block
    sizes = _scalars_behind(list(alloc.operands), body)
    for value in (operand for op in (*sizes, alloc) for operand in op.operands):
        if value.owner is body:
            refuse(
                alloc,
                "has a size that changes from iteration to iteration, so it can't have versions",
                "allocate the largest size that an iteration needs",
            )
    copies: dict[SSAValue, SSAValue] = {}
    for op in sizes:
        Rewriter.insert_op(op.clone(copies), InsertPoint.before(loop))
    alloc.operands = [copies.get(operand, operand) for operand in alloc.operands]
    alloc.detach()
    Rewriter.insert_op(alloc, InsertPoint.before(loop))
