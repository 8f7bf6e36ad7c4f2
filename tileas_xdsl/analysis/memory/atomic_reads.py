"""
What decides by a number that an atomic access finds in memory: a spin on a flag, a branch on a ticket.

    scf.while : () -> () {
      %now = llvm.load %flag atomic acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32
      %more = arith.cmpi ne, %now, %c1 : i32
      scf.condition(%more)
    } do { scf.yield }
"""

from __future__ import annotations

from xdsl.dialects import cf, llvm, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.extensions.llvm_accesses import ordering_of

ATOMIC = frozenset(
    {
        *("llvm.atomicrmw", "llvm.cmpxchg", "memref.atomic_rmw", "memref.generic_atomic_rmw"),
        *("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load"),
    }
)
MOST_OPS = 16
"""How many ops are looked at between the access and what it decides."""


def is_atomic(op: Operation) -> bool:
    """
    Whether `op` accesses memory atomically (LLVM LangRef, "Atomic Memory Ordering Constraints"). A volatile access is a
    relaxed one (PTX ISA, "ld": `ld.volatile` has the semantics of `ld.relaxed` with system scope).
    """
    if isinstance(op, llvm.LoadOp | llvm.StoreOp):
        return ordering_of(op) != 0 or "volatile_" in op.properties
    return op_name(op) in ATOMIC


def decides_by_atomic(op: Operation) -> bool:
    """Whether the condition of `op`, a loop or a branch, is computed from what an atomic access has found."""
    condition = _condition_of(op)
    found: list[SSAValue] = [] if condition is None else [condition]
    for value in found:
        owner = value.owner
        if isinstance(owner, Operation):
            if is_atomic(owner):
                return True
            if is_side_effect_free(owner) and len(found) < MOST_OPS:
                found += owner.operands
    return False


def _condition_of(op: Operation) -> SSAValue | None:
    match op:
        case scf.WhileOp():
            last = op.before_region.blocks[-1].last_op
            return last.condition if isinstance(last, scf.ConditionOp) else None
        case scf.ConditionOp():
            return op.condition
        case scf.IfOp() | cf.ConditionalBranchOp() | llvm.CondBrOp():
            return op.cond
        case _:
            return None
