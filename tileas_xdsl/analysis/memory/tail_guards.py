"""
Comparisons that only leave out what lies outside of an array.

    %size = memref.dim %x, %c0 : memref<?x16xf32>         an extent that the type leaves open
    %inside = arith.cmpi slt, %row, %size : index
    scf.if %inside { memref.store %v, %x[%row, %c] }      no barrier, no copy that somebody waits for, no other arm

A check takes an array of open extent to be as large as the indices that reach into it, so such a comparison is true
there: every access takes place. What runs otherwise is the same, since nothing else depends on it.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, ShapedType, VectorType
from xdsl.ir import Operation, OpResult, SSAValue, Use
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.interfaces import end_of

LESS = frozenset({"slt", "ult"})


def is_tail_guard(op: arith.CmpiOp) -> bool:
    """Whether `op` asks if an index lies inside of an array of open extent, and only accesses depend on the answer."""
    word = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    return word in LESS and _is_open_extent(op.rhs) and _only_guards(op.result)


def _is_open_extent(value: SSAValue) -> bool:
    if not isinstance(value, OpResult):
        return False
    match value.op:
        case memref.DimOp() | tensor.DimOp():
            array = value.op.operands[0]
        case memref.ExtractStridedMetaDataOp() if value in value.op.sizes:
            array = value.op.operands[0]
        case _:
            return False
    return isinstance(array.type, ShapedType) and DYNAMIC_INDEX in array.type.get_shape()


def _only_guards(answer: SSAValue) -> bool:
    return all(_guards(use) for use in answer.uses)


def _guards(use: Use) -> bool:
    match use.operation:
        case arith.AndIOp() as both:
            return _only_guards(both.result)
        case arith.SelectOp() as choice:
            return use.index == 0 and _is_a_size(choice)
        case scf.IfOp() as branch:
            return _only_accesses(branch)
        case _:
            return False


def _is_a_size(choice: arith.SelectOp) -> bool:
    """Whether a number of bytes to read is chosen, or another guard."""
    return all(use.operation.name == "nvvm.cp.async.shared.global" or _is_choice(use) for use in choice.result.uses)


def _is_choice(use: Use) -> bool:
    return isinstance(use.operation, arith.SelectOp) and use.index > 0 and _is_a_size(use.operation)


def _only_accesses(branch: scf.IfOp) -> bool:
    """Whether a branch does nothing but access memory, and gives nothing but data."""
    if branch.results and not all(map(_is_data, end_of(branch.true_region.block).operands)):
        return False
    return all(_is_access(op) for region in branch.regions for block in region.blocks for op in block.ops)


def _is_data(value: SSAValue) -> bool:
    """Whether a branch that is taken gives no number that a check knows: floats, vectors, and what was read as such."""
    if isinstance(value.type, AnyFloat | VectorType):
        return True
    match value.owner:
        case Operation(name="llvm.extractelement" | "llvm.bitcast") as op:
            return _is_read(op.operands[0])
        case scf.IfOp() as inner:
            return _only_accesses(inner)
        case _:
            return False


def _is_read(value: SSAValue) -> bool:
    """Whether a float or a vector comes out of memory."""
    op = value.owner
    return isinstance(op, Operation) and op.name in READS and isinstance(value.type, AnyFloat | VectorType)


READS = frozenset({"llvm.load", "memref.load", "vector.load"})
UPDATES = frozenset({"llvm.atomicrmw", "memref.atomic_rmw"})
"""Accesses as long as nobody asks what they found. A loop that does, elsewhere, is no wait (`atomic_reads`)."""
ACCESSES = READS | {"llvm.store", "memref.store", "vector.store"}


def _is_access(op: Operation) -> bool:
    if hands_on(op) or op.name in ACCESSES:
        return True
    if op.name in UPDATES:
        return not any(result.uses for result in op.results)
    if isinstance(op, scf.IfOp):
        return _only_accesses(op)
    return not op.regions and is_side_effect_free(op)
