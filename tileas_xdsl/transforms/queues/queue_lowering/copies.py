"""
Which stores of an asynchronous scope are copies that the hardware can make by itself.

A copy is a store to shared memory of what was just loaded from global memory, and of nothing else, or a `memref.copy`
of a tile between the two:

    %v = memref.load %src[%i]              or        %v = scf.if %inside -> f32 { load; yield } else { yield 0.0 }
    memref.store %v, %slot[%j]                       memref.store %v, %slot[%j]

The second form fills with zeros where the condition is false. Everything else in a scope runs at once, in order, as
ordinary code: that is one of the moments at which the scope may be performed. Here each store is judged for itself;
`order` judges those of a scope together.

Vectors become wide copies only where their address is known to be a multiple of their size; buffers are taken to begin
at multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import gcd

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free, is_speculatable

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.async_queue import ScopeOp
from tileas_xdsl.dialects.upstream_models.integers import Function, computes
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.queue_lowering.buffers import (
    GENERIC,
    GLOBAL,
    SHARED,
    aligned_at,
    element_bytes,
    memref_type,
    row_alignment,
    space_of,
    strides_and_offset,
)


@dataclass(frozen=True)
class Element:
    """Some neighbouring elements of a memref: those from `indices` on, `size` bytes in all."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...]
    size: int


@dataclass(frozen=True)
class Copy:
    """A store, or a `memref.copy`, that becomes a copy."""

    store: Operation
    load: Operation
    source: Element
    target: Element
    condition: SSAValue | None = None
    """An `i1`; where it is false, nothing is read and zeros are written. None where the copy always reads."""
    branch: scf.IfOp | None = None
    """The branch that holds the load, if one does."""
    lanes: int = 0
    """For a whole tile, piece by piece: the elements of a piece. `source` and `target` are then one piece anywhere."""


@dataclass
class ScopeCopies:
    """The stores of a scope, sorted: those that become copies, and those that stay ordinary, with the reason."""

    copies: list[Copy] = field(default_factory=list[Copy])
    ordinary: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])


Refuses = Callable[[Copy], "str | None"]
"""Asks a target about a copy: the reason why it cannot make it, or None where it can."""


def candidates_in(scope: ScopeOp, refuses: Refuses) -> ScopeCopies:
    """Sort the stores of `scope`, each for itself."""
    found = ScopeCopies()
    for op in scope.body.walk():
        match op:
            case memref.StoreOp() | vector.StoreOp():
                copy = _of_store(op)
                reason = copy if isinstance(copy, str) else refuses(copy) or _misaligned(copy)
            case memref.CopyOp():
                copy = reason = _of_tile(op, refuses)
            case _:
                continue
        if isinstance(copy, Copy) and not isinstance(reason, str):
            found.copies.append(copy)
        else:
            found.ordinary.append((op, str(reason)))
    return found


# One store ------------------------------------------------------------------------------------------------------------


def _of_store(store: Operation) -> Copy | str:
    """The copy that `store` can become, or the reason why it stays an ordinary store."""
    value, target = store.operands[0], element_of(store)
    if target is None:
        return "its element is no whole number of bytes"
    if space_of(target.buffer) != SHARED:
        return "it does not write shared memory (address space 3)"
    found = _loaded(value)
    if found is None:
        return "it stores no plain load, and no load that is zero where a condition is false"
    load, condition, outer = found
    source = element_of(load)
    if source is None or space_of(source.buffer) not in (GENERIC, GLOBAL):
        return "what it stores is not loaded from global memory"
    if not (value.has_one_use() and load.results[0].has_one_use()):
        return "what it stores is used elsewhere as well"
    if outer.parent is not store.parent or not _quiet_between(outer, store):
        return "something may be written between the load and the store"
    return Copy(store, load, source, target, condition, outer if isinstance(outer, scf.IfOp) else None)


def element_of(op: Operation) -> Element | None:
    """The elements that a load or store of `memref` or `vector` touches."""
    match op:
        case memref.LoadOp():
            buffer, indices, kind = op.memref, op.indices, None
        case memref.StoreOp():
            buffer, indices, kind = op.memref, op.indices, None
        case vector.LoadOp():
            buffer, indices, kind = op.base, op.indices, op.result.type
        case vector.StoreOp():
            buffer, indices, kind = op.base, op.indices, op.vector.type
        case _:
            return None
    each = element_bytes(buffer)
    lanes = _lanes(buffer, kind) if kind is not None else 1
    return None if each is None or lanes is None else Element(buffer, tuple(indices), each * lanes)


def _lanes(buffer: SSAValue, kind: Attribute) -> int | None:
    """How many elements a vector access moves; None unless they are neighbours in memory."""
    assert isinstance(kind, VectorType)
    layout, shape = strides_and_offset(buffer), kind.get_shape()
    if layout is None or len(shape) != 1 or any(kind.get_scalable_dims()):
        return None
    return shape[0] if layout[0][-1] == 1 else None


def _loaded(value: SSAValue) -> tuple[Operation, SSAValue | None, Operation] | None:
    """`(load, condition, op that brings the value)` where `value` is loaded, under a condition or always."""
    owner = value.owner
    match owner:
        case memref.LoadOp() | vector.LoadOp():
            return owner, None, owner
        case arith.SelectOp() if _is_zero(owner.rhs) and isinstance(owner.lhs.owner, memref.LoadOp | vector.LoadOp):
            load = owner.lhs.owner
            return (load, owner.cond, load) if load.parent is owner.parent else None
        case scf.IfOp():
            return _loaded_in_branch(owner)
        case _:
            return None


def _loaded_in_branch(branch: scf.IfOp) -> tuple[Operation, SSAValue, Operation] | None:
    """The load of a branch that does nothing else, and else gives zero."""
    if len(branch.results) != 1 or not branch.false_region.blocks:
        return None
    then, otherwise = branch.true_region.block, branch.false_region.block
    loaded, zero = _yielded(then), _yielded(otherwise)
    if not isinstance(loaded.owner, memref.LoadOp | vector.LoadOp) or not _is_zero(zero):
        return None
    others = [op for op in (*then.ops, *otherwise.ops) if op is not loaded.owner and not hands_on(op)]
    if loaded.owner.parent is not then or not all(map(_may_run_anyway, others)):
        return None
    return loaded.owner, branch.cond, branch


def touches_nothing(op: Operation) -> bool:
    """Whether `op` neither reads nor writes memory."""
    # xDSL says nothing of these two.
    return isinstance(op, arith.RemUIOp | arith.ExtSIOp) or is_side_effect_free(op)


def _may_run_anyway(op: Operation) -> bool:
    """Whether `op` does no harm where it would not have run."""
    if computes(op, Function.QUOTIENT, Function.REMAINDER):
        return constant_integer(op.operands[1]) not in (None, 0, -1)
    return isinstance(op, arith.ExtSIOp) or (is_speculatable(op) and is_side_effect_free(op))


def _yielded(block: Block) -> SSAValue:
    last = end_of(block)
    return last.operands[0]


def _is_zero(value: SSAValue) -> bool:
    """Whether every bit of a constant is zero; -0.0 is not."""
    if not isinstance(value.owner, arith.ConstantOp):
        return False
    match value.owner.value:
        case IntegerAttr() as number:
            return number.value.data == 0
        case FloatAttr() as number:
            return str(number.value.data) == "0.0"
        case DenseIntOrFPElementsAttr() as numbers:
            return not any(numbers.data.data)
        case _:
            return False


def _quiet_between(first: Operation, last: Operation) -> bool:
    """Whether nothing is written by the ops between two ops of one block."""
    op = first.next_op
    while op is not None and op is not last:
        if not _only_reads(op):
            return False
        op = op.next_op
    return op is last


def _only_reads(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp | vector.LoadOp) or touches_nothing(op)


def _misaligned(copy: Copy) -> str | None:
    """
    Why a vector access would make a misaligned copy. Elements lie where their size divides the address; that of several
    must be seen to.
    """
    for element in (copy.source, copy.target):
        if element_bytes(element.buffer) == element.size:
            continue
        if (known := aligned_at(element.buffer, element.indices)) % element.size:
            what = "source" if element is copy.source else "destination"
            return f"its {what} is only known to be aligned to {known} of {element.size} bytes"
    return None


# One tile -------------------------------------------------------------------------------------------------------------


def _of_tile(op: memref.CopyOp, refuses: Refuses) -> Copy | str:
    """The copy that a `memref.copy` is, in pieces as wide as can be, or the reason why it stays an ordinary copy."""
    source, target = op.source, op.destination
    if not (isinstance(source.type, MemRefType) and isinstance(target.type, MemRefType)):
        return "its rank is only known at run time"
    if space_of(target) != SHARED:
        return "it does not write shared memory (address space 3)"
    if space_of(source) not in (GENERIC, GLOBAL):
        return "it does not read global memory"
    shape, each = memref_type(target).get_shape(), element_bytes(target)
    if DYNAMIC_INDEX in shape:
        return "its shape is only known at run time"
    if each is None:
        return "its element is no whole number of bytes"
    reason: str | None = None
    for lanes in _widths(source, target, each):
        size = lanes * each
        copy = Copy(op, op, Element(source, (), size), Element(target, (), size), lanes=lanes if shape else 0)
        if (reason := refuses(copy)) is None:
            return copy
    return str(reason)


def _widths(source: SSAValue, target: SSAValue, each: int) -> Iterator[int]:
    """How many elements a piece of a row may have, the most first and a single one last."""
    shape = memref_type(target).get_shape()
    layouts = [strides_and_offset(buffer) for buffer in (source, target)]
    if shape and all(layout is not None and layout[0][-1] == 1 for layout in layouts):
        aligned = gcd(row_alignment(source), row_alignment(target))
        for lanes in (16, 8, 4, 2):
            if shape[-1] % lanes == 0 and aligned % (lanes * each) == 0:
                yield lanes
    yield 1
