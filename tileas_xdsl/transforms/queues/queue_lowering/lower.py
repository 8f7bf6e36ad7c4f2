"""
The lowering as a whole: plan everything, then rewrite.

The rewrite carries out a `LoweringPlan`: copies instead of stores, groups and waits of the target, bodies in place.
Buffers in shared memory become globals: the block has them from start to end.

    %ring = memref.alloc() : memref<3x8xf32, 3>     ->     memref.global "private" @ring : memref<3x8xf32, 3>
    memref.dealloc %ring                                   %ring = memref.get_global @ring
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, NoneAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.windows import called_functions, function_name
from tileas_xdsl.diagnostics import remark
from tileas_xdsl.dialects.async_queue import CommitOp, QueueScope, WaitOp
from tileas_xdsl.interfaces import FunctionOpInterface, end_of, functions_in
from tileas_xdsl.transforms.queues.queue_lowering.addresses import Pointers
from tileas_xdsl.transforms.queues.queue_lowering.barriers import carry_out_barriers, plan_barriers
from tileas_xdsl.transforms.queues.queue_lowering.buffers import BASE_ALIGNMENT, SHARED, memref_type, space_of
from tileas_xdsl.transforms.queues.queue_lowering.copies import Copy, Element
from tileas_xdsl.transforms.queues.queue_lowering.peel import find_peeling, peel
from tileas_xdsl.transforms.queues.queue_lowering.plan import LoweringPlan, Note, plan_lowering
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget
from tileas_xdsl.transforms.rewriting.structure import ending


def make_shared_memory_static(module: ModuleOp) -> None:
    """
    Turn the buffers of `module` in shared memory into globals where one of each is enough: static shape, allocated at
    the top of a function that nobody in the module calls. Others stay.
    """
    called = called_functions(module)
    for function in functions_in(module):
        view = FunctionOpInterface.of(function)
        assert view is not None
        if view.function_body.first_block is None or function_name(function) in called:
            continue
        for op in list(view.function_body.first_block.ops):
            if isinstance(op, memref.AllocOp | memref.AllocaOp) and _is_static(op):
                _make_global(op, function)


def _is_static(op: memref.AllocOp | memref.AllocaOp) -> bool:
    kind = memref_type(op.memref)
    return space_of(op.memref) == SHARED and not op.operands and isinstance(kind.layout, NoneAttr)


def _make_global(op: memref.AllocOp | memref.AllocaOp, function: Operation) -> None:
    name = _fresh_name(op.memref.name_hint or "shared", function)
    definition = memref.GlobalOp.get(
        StringAttr(name),
        memref_type(op.memref),
        UnitAttr(),
        StringAttr("private"),
        alignment=op.alignment.value.data if op.alignment is not None else BASE_ALIGNMENT,
    )
    Rewriter.insert_op(definition, InsertPoint.before(function))
    for use in list(op.memref.uses):
        if isinstance(use.operation, memref.DeallocOp):
            Rewriter.erase_op(use.operation)
    Rewriter.replace_op(op, memref.GetGlobalOp(name, memref_type(op.memref)))


def _fresh_name(wanted: str, function: Operation) -> str:
    """`wanted`, or with a number behind it where the symbol is taken."""
    block = function.parent
    assert isinstance(block, Block)
    taken = _symbols(block)
    name, number = wanted, 0
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _symbols(block: Block) -> frozenset[str]:
    names = (op.properties.get("sym_name") or op.attributes.get("sym_name") for op in block.ops)
    return frozenset(name.data for name in names if isinstance(name, StringAttr))


def carry_out(plan: LoweringPlan, target: QueueTarget) -> None:
    """Rewrite the module for which `plan` was made, and say what there is to say about it."""
    for note in plan.notes:
        remark(note.op, note.message, note.way_out)
    pointers = Pointers()
    for copies in plan.scopes.values():
        for copy in copies.copies:
            if copy.lanes:
                _emit_tile(copy, target, pointers)
                Rewriter.erase_op(copy.store)
            else:
                _free_branch(copy)
                target.emit_copy(copy, pointers)
                _erase_store(copy)
    for op, count in plan.waits.items():
        if isinstance(op, WaitOp):
            if count is not None:
                Rewriter.insert_op(target.wait(count), InsertPoint.before(op))
        elif count is None:
            Rewriter.erase_op(op)
        else:
            Rewriter.replace_op(op, target.wait(count))
    for op in reversed(plan.in_place):
        if isinstance(op, CommitOp):
            Rewriter.insert_op(target.commit(), InsertPoint.after(op))
        _put_body_in_place(op)


def _put_body_in_place(op: QueueScope) -> None:
    block = op.body.first_block
    if block is not None:
        Rewriter.inline_block(block, InsertPoint.before(op))
    Rewriter.erase_op(op)


def _emit_tile(copy: Copy, target: QueueTarget, pointers: Pointers) -> None:
    """Copy a tile piece by piece, in a nest of loops over its rows."""
    shape, anchor = memref_type(copy.target.buffer).get_shape(), copy.store
    indices: list[SSAValue] = []
    for axis, extent in enumerate(shape):
        step = copy.lanes if axis == len(shape) - 1 else 1
        builder = Builder(InsertPoint.before(anchor))
        zero = _index(0, builder)
        if extent == step:
            indices.append(zero)
            continue
        body = ending(arg_types=[IndexType()])
        builder.insert(scf.ForOp(zero, _index(extent, builder), _index(step, builder), (), body))
        indices.append(body.args[0])
        anchor = end_of(body)
    source, to = (Element(whole.buffer, tuple(indices), whole.size) for whole in (copy.source, copy.target))
    target.emit_copy(Copy(anchor, anchor, source, to), pointers)


def _index(number: int, builder: Builder) -> SSAValue:
    return builder.insert(arith.ConstantOp.from_int_and_width(number, IndexType())).result


def _free_branch(copy: Copy) -> None:
    """Compute before the branch what its load takes: nothing that could go wrong where the condition is false."""
    if copy.branch is None:
        return
    for op in list(copy.branch.true_region.block.ops):
        if op is copy.load or op.next_op is None:
            continue
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(copy.branch))


def _erase_store(copy: Copy) -> None:
    """Erase the store of a copy, and what brought it its value."""
    brought: Operation | None = copy.branch
    value = copy.store.operands[0].owner
    Rewriter.erase_op(copy.store)
    if brought is None and value is not copy.load and isinstance(value, Operation):
        brought = value
    if brought is not None:
        Rewriter.erase_op(brought)
    if copy.branch is None:
        Rewriter.erase_op(copy.load)


def lower_queues(
    module: ModuleOp, target: QueueTarget, *, barriers: bool, static_shared: bool, peel_loops: bool = True
) -> None:
    """
    Lower every queue of `module` to `target`; a module without queues stays as it is.

    With `barriers` threads meet after waits and before buffers are overwritten, with `static_shared` buffers in shared
    memory become globals. With `peel_loops` the first turns of loops are run on their own where that makes counts
    constants. Raises `PassFailedException` before anything is rewritten.
    """
    draft, notes = peeled(module) if peel_loops else (module, [])
    plan = plan_lowering(draft, target)
    if plan is None:
        return
    plan.notes[:0] = notes
    meetings = plan_barriers(draft, plan) if barriers else None
    if meetings is not None:
        carry_out_barriers(meetings, target)
    carry_out(plan, target)
    if static_shared:
        make_shared_memory_static(draft)
    if draft is not module:
        _put_in_place(module, draft)


def peeled(module: ModuleOp) -> tuple[ModuleOp, list[Note]]:
    """A copy of `module` in which loops are peeled for the counts of waits; itself where there is nothing to peel."""
    if find_peeling(module) is None:
        return module, []
    draft = module.clone()
    notes: list[Note] = []
    while (peeling := find_peeling(draft)) is not None:
        turns = "turn runs" if peeling.turns == 1 else f"{peeling.turns} turns run"
        text = f"has a wait whose count is computed: its first {turns} in front of it, so that counts are constants"
        notes.append(Note(peeling.loop, text))
        peel(peeling)
    return draft, notes


def _put_in_place(module: ModuleOp, draft: ModuleOp) -> None:
    """Let `module` have the body and the attributes of `draft`."""
    module.attributes.update(draft.attributes)
    for block in list(module.body.blocks):
        module.body.erase_block(block, safe_erase=False)
    draft.body.move_blocks(module.body)
