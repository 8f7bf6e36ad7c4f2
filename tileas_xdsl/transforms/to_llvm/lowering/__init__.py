"""
Lower functions of loops, buffers and numbers to `llvm`.

    func.func @add(%a: memref<?xf32>, %n: index) {         llvm.func @add(%a: !llvm.ptr, %size: i64, %n: i64) {
      scf.for %i = %c0 to %n step %c1 {                      llvm.br ^test(%c0 : i64)
        %x = memref.load %a[%i] : memref<?xf32>     ->     ^test(%i: i64):
        ...                                                  ...
      }                                                      %p = llvm.getelementptr %a[%i] : ... -> !llvm.ptr, f32
      func.return                                            %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> f32
    }

Sources: the pages of MLIR's dialects `arith`, `memref`, `scf` and `llvm`.

The rules stand one file a family. A value of `llvm` stands for each value; for a buffer a pointer, and a number for
whatever of its offset, sizes and strides the type leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.transforms.to_llvm.lowering import accesses, control, numbers, threads
from tileas_xdsl.transforms.to_llvm.lowering.functions import lowered_function, lowered_global, refuse_function
from tileas_xdsl.transforms.to_llvm.lowering.state import REFUSALS, RULES
from tileas_xdsl.transforms.to_llvm.lowering.types import buffer_type, types_for

FAMILIES = (accesses, control, numbers, threads)
"""The modules whose rules are registered when they are imported."""


KEPT = ("llvm.", "nvvm.")
"""The dialects whose ops stay as they are."""
TILES = "tiles are not lowered to threads yet: programs of loops, buffers and queues become machine code"


@dataclass(frozen=True)
class ConvertToLLVMPass(ModulePass):
    """
    Lower `func`, `scf`, `cf`, `arith`, `math`, `memref`, the ids of `gpu`, and accesses of vectors to `llvm`.

    Rewrites:

    - A buffer becomes a pointer to its base and, of offset, sizes and strides, those that its type leaves open, in this
      order, as i64. Such are the arguments of the function too.
    - An index becomes an i64. Loops and branches become blocks.
    - With `threads` other than 0, functions that nobody calls become kernels of so many threads a block. Attributes of
      their arguments (`tileas.name`, `tileas.type`, `tileas.number`) tell the host what they are.
    - Ops of `nvvm` and `llvm` stay.

    Requires: globals in shared memory have no initial value.
    Refuses: ops of other dialects; buffers that are allocated at run time; layouts that are no strides; functions that
    return more than one number.
    """

    name = "convert-to-llvm"

    threads: int = field(default=0, metadata={"help": "threads a block of the kernels; 0: there are no kernels"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp)]
        kernels = _uncalled(op, functions) if self.threads else set[str]()
        for each in op.ops:
            _refuse(each, kernels)
        for each in list(op.ops):
            lowered = self._lowered(each, kernels)
            if lowered is not None:
                lowered.location = each.location
                Rewriter.replace_op(each, lowered)

    def _lowered(self, op: Operation, kernels: set[str]) -> Operation | None:
        match op:
            case func.FuncOp():
                return lowered_function(op, self.threads if op.sym_name.data in kernels else 0)
            case memref.GlobalOp():
                return lowered_global(op)
            case _:
                return None


def _uncalled(module: ModuleOp, functions: list[func.FuncOp]) -> set[str]:
    called = {op.callee.root_reference.data for op in module.walk() if isinstance(op, func.CallOp)}
    return {op.sym_name.data for op in functions if op.body.blocks} - called


# Refusals -------------------------------------------------------------------------------------------------------------


def _refuse(op: Operation, kernels: set[str]) -> None:
    match op:
        case func.FuncOp():
            refuse_function(op, is_kernel=op.sym_name.data in kernels)
            for inner in op.body.walk():
                _refuse_inside(inner)
        case memref.GlobalOp():
            _refuse_global(op)
        case llvm.FuncOp() | llvm.GlobalOp():
            pass
        case _:
            refuse(op, "has no meaning in LLVM at the top of a module", "keep functions and globals there")


def _refuse_global(op: memref.GlobalOp) -> None:
    kind = buffer_type(op.type)
    if kind is None or None in kind.sizes or kind.strides is not None:
        refuse(op, f"has the type '{op.type}', which no global of LLVM has", "give it a constant shape and no layout")
    if kind.space == 3 and isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        refuse(op, "has an initial value in shared memory", "write it there in the kernel")


def _way_out(op: Operation) -> str:
    if op_name(op).startswith("nv_tile"):
        return TILES
    return "lower it first, or write it in scf, arith, memref, nvvm and llvm"


def _refuse_inside(op: Operation) -> None:
    if type(op) not in RULES and (op.regions or not op_name(op).startswith(KEPT)):
        refuse(op, "has no meaning in LLVM here", _way_out(op))
    for value in (*op.operands, *op.results):
        if types_for(value.type) is None:
            kind = str(value.type)
            way_out = TILES if kind.startswith(("tensor", "!nv_tile")) else "use numbers and strided buffers"
            refuse(op, f"has a '{kind}', which nothing in LLVM stands for", way_out)
    judge = REFUSALS.get(type(op))
    problem = judge(op) if judge is not None else None
    if problem is not None:
        refuse(op, *problem)
