"""
What decides by a number that an atomic access finds in memory: a spin on a flag, a branch on a ticket.

    scf.while : () -> () {
      %now = llvm.load %flag atomic acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32
      %more = arith.cmpi ne, %now, %c1 : i32
      scf.condition(%more)
    } do { scf.yield }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import cf, llvm, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.value_flow import condition_of
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.dialects.extensions.llvm_accesses import ordering_of

ATOMIC = frozenset(
    {
        *("llvm.atomicrmw", "llvm.cmpxchg", "memref.atomic_rmw", "memref.generic_atomic_rmw"),
        *("tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load"),
    }
)
IDLE = frozenset({"nvvm.nanosleep", "llvm.fence", "nvvm.memory.barrier", "nvvm.fence.sc.cluster"})
"""What a turn that finds nothing may do besides: that changes nothing for the next one."""
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
    condition = condition_of(op)
    found: list[SSAValue] = [] if condition is None else [condition]
    for value in found:
        owner = value.owner
        if isinstance(owner, Operation):
            if is_atomic(owner):
                return True
            if is_side_effect_free(owner) and len(found) < MOST_OPS:
                found += owner.operands
    return False


@dataclass(frozen=True)
class Spin:
    """A loop that does nothing but ask an atomic access until it finds a number with which the loop ends."""

    computes: tuple[Operation, ...]
    """What is computed from what the access finds, in order."""
    condition: SSAValue
    goes_on_if: bool
    """The value of the condition with which the loop goes on."""


def spin_of(access: Operation) -> Spin | None:
    """
    The loop that spins on `access`: each of its turns is the same as the one before while the number in memory is.
    None if there is none, as where the loop counts its turns or carries a value.
    """
    block = access.parent
    last = block.last_op if block is not None else None
    if block is None or last is None or not all(op in (access, last) or _is_idle(op) for op in block.ops):
        return None
    computing = (op for op in block.ops if op is not last and op_name(op) not in IDLE)
    behind = tuple(op for op in computing if access.is_before_in_block(op))
    loop, asked = block.parent_op(), condition_of(last)
    if isinstance(loop, scf.WhileOp) and asked is not None and block.parent is loop.before_region:
        is_spin = not loop.arguments and _does_nothing(loop.after_region.block)
        return Spin(behind, asked, goes_on_if=True) if is_spin else None
    if isinstance(last, cf.ConditionalBranchOp | llvm.CondBrOp) and not block.args:
        for target, goes_on_if in ((last.then_block, True), (last.else_block, False)):
            if _comes_back(target, block):
                return Spin(behind, last.cond, goes_on_if)
    return None


def may_ask_for_ever(access: Operation) -> bool:
    """
    Whether a loop may go on for ever with nothing but the answers of `access`, though it is none that spins on it: it
    is in a loop without a count, and does not change the number by each turn.
    """
    if spin_of(access) is not None or _counts(access):
        return False
    around: Operation | None = access
    while around is not None and (region := around.parent_region()) is not None:
        if len(region.blocks) > 1 or isinstance(around, scf.WhileOp):
            return True
        around = around.parent_op()
    return False


def _counts(access: Operation) -> bool:
    """Whether each execution of `access` adds a constant that is not 0."""
    given = access.operands[-1].owner if op_name(access) == "llvm.atomicrmw" else None
    value = given.properties.get("value") if isinstance(given, Operation) else None
    adds = getattr(access, "computes", "") in ("add", "sub")
    return adds and isinstance(value, IntegerAttr) and value.value.data != 0


def _is_idle(op: Operation) -> bool:
    return is_side_effect_free(op) or op_name(op) in IDLE


def _does_nothing(block: Block) -> bool:
    """Whether a block changes nothing and hands nothing on."""
    *ops, last = block.ops
    return all(map(_is_idle, ops)) and not last.operands


def _comes_back(target: Block, block: Block) -> bool:
    """Whether a jump to `target` is one to `block`, at once or after nothing has been done."""
    if target is block:
        return True
    last = target.last_op
    leads_back = isinstance(last, cf.BranchOp | llvm.BrOp) and last.successor is block
    return leads_back and not target.args and _does_nothing(target)
