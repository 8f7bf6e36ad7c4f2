"""
Buffers in shared memory as globals: the block has them from start to end.

    %ring = memref.alloc() : memref<3x8xf32, 3>     ->     memref.global "private" @ring : memref<3x8xf32, 3>
    memref.dealloc %ring                                   %ring = memref.get_global @ring
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.windows import called_functions, function_name
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.transforms.queues.queue_lowering.buffers import BASE_ALIGNMENT, SHARED, memref_type, space_of


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
