"""
Which stores of an asynchronous scope are copies that the hardware can make by itself.

A copy is a store to shared memory of what was just loaded from global memory, and of nothing else:

    %v = memref.load %src[%i]              or        %v = scf.if %inside -> f32 { load; yield } else { yield 0.0 }
    memref.store %v, %slot[%j]                       memref.store %v, %slot[%j]

The second form fills with zeros where the condition is false. Everything else in a scope runs at once, in order, as
ordinary code: that is one of the moments at which the scope may be performed. Copies are performed later and in no
order among each other, so where that could be noticed (two copies to one place, a load of what was copied) none of the
scope's stores becomes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import prod

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free, is_speculatable

from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.dialects.async_queue import ScopeOp
from tileas_xdsl.transforms.queue_lowering.buffers import (
    GENERIC,
    GLOBAL,
    SHARED,
    aligned_at,
    element_bytes,
    may_overlap,
    space_of,
    strides_and_offset,
)

MOST_PLACES = 1 << 14
"""So many places that copies of a scope go to are told apart."""


@dataclass(frozen=True)
class Element:
    """Some neighbouring elements of a memref: those from `indices` on, `size` bytes in all."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...]
    size: int


@dataclass(frozen=True)
class Copy:
    """A store that becomes a copy."""

    store: Operation
    load: Operation
    source: Element
    target: Element
    condition: SSAValue | None = None
    """Where this is false, nothing is read and zeros are written."""
    branch: scf.IfOp | None = None
    """The branch that holds the load, if one does."""


@dataclass
class ScopeCopies:
    """What becomes of the stores of a scope: copies, and ordinary stores with the reason why."""

    copies: list[Copy] = field(default_factory=list[Copy])
    ordinary: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])


def copies_in(scope: ScopeOp, refuses: Callable[[Copy], str | None]) -> ScopeCopies:
    """Sort the stores of `scope`. `refuses` says why the target cannot make a copy, None where it can."""
    found = ScopeCopies()
    for store in _stores_in(scope):
        copy = _as_copy(store)
        reason = copy if isinstance(copy, str) else refuses(copy) or _misaligned(copy)
        if isinstance(copy, Copy) and reason is None:
            found.copies.append(copy)
        else:
            found.ordinary.append((store, str(reason)))
    if found.copies and (reason := _order_matters(scope, found.copies)) is not None:
        found.ordinary += [(copy.store, reason) for copy in found.copies]
        found.copies = []
    return found


def _stores_in(scope: ScopeOp) -> Iterator[Operation]:
    return (op for op in scope.body.walk() if isinstance(op, memref.StoreOp | vector.StoreOp))


# One store ------------------------------------------------------------------------------------------------------------


def _as_copy(store: Operation) -> Copy | str:
    """The copy that `store` is, or why it is none."""
    value, target = store.operands[0], _element_of(store)
    if target is None:
        return "its element is no whole number of bytes"
    if space_of(target.buffer) != SHARED:
        return "it does not write shared memory (address space 3)"
    found = _loaded(value)
    if found is None:
        return "it stores no plain load, and no load that is zero where a condition is false"
    load, condition, outer = found
    source = _element_of(load)
    if source is None or space_of(source.buffer) not in (GENERIC, GLOBAL):
        return "what it stores is not loaded from global memory"
    if not (value.has_one_use() and load.results[0].has_one_use()):
        return "what it stores is used elsewhere as well"
    if outer.parent is not store.parent or not _quiet_between(outer, store):
        return "something may be written between the load and the store"
    return Copy(store, load, source, target, condition, outer if isinstance(outer, scf.IfOp) else None)


def _element_of(op: Operation) -> Element | None:
    """What a load or store of `memref` or `vector` touches."""
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
    others = [op for op in (*then.ops, *otherwise.ops) if op is not loaded.owner and not isinstance(op, scf.YieldOp)]
    if loaded.owner.parent is not then or not all(map(_may_run_anyway, others)):
        return None
    return loaded.owner, branch.cond, branch


def touches_nothing(op: Operation) -> bool:
    """Whether `op` neither reads nor writes memory."""
    # xDSL says nothing of these two.
    return isinstance(op, arith.RemUIOp | arith.ExtSIOp) or is_side_effect_free(op)


def _may_run_anyway(op: Operation) -> bool:
    """Whether `op` does no harm where it would not have run."""
    if isinstance(op, arith.DivUIOp | arith.DivSIOp | arith.RemUIOp | arith.RemSIOp):
        return bool(constant_integer(op.rhs)) and constant_integer(op.rhs) != -1
    return isinstance(op, arith.ExtSIOp) or (is_speculatable(op) and is_side_effect_free(op))


def _yielded(block: Block) -> SSAValue:
    last = block.last_op
    assert last is not None
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


# All stores of a scope ------------------------------------------------------------------------------------------------


def _order_matters(scope: ScopeOp, copies: Sequence[Copy]) -> str | None:
    """Why the copies of a scope cannot be performed in any order, after everything else in it; None where they can."""
    copied = {op for copy in copies for op in (copy.load, copy.store)}
    for op in scope.body.walk():
        if op in copied or isinstance(op, scf.ForOp | scf.IfOp | scf.YieldOp) or touches_nothing(op):
            continue
        touched = _element_of(op)
        if touched is None:
            return f"its scope holds '{op.name}', of which it is not known what it touches"
        writes = isinstance(op, memref.StoreOp | vector.StoreOp)
        if any(may_overlap(touched.buffer, copy.target.buffer) for copy in copies):
            return f"its scope also has a '{op.name}' where a copy writes"
        if writes and any(may_overlap(touched.buffer, copy.source.buffer) for copy in copies):
            return f"its scope also has a '{op.name}' where a copy reads"
    return _targets_collide(scope, copies)


def _targets_collide(scope: ScopeOp, copies: Sequence[Copy]) -> str | None:
    """Why two copies of a scope might write the same bytes."""
    for first, second in ((a, b) for a in copies for b in copies if a is not b):
        if first.target.buffer is not second.target.buffer and may_overlap(first.target.buffer, second.target.buffer):
            return "its scope has copies to two views that may overlap"
    by_buffer: dict[SSAValue, list[Copy]] = {}
    for copy in copies:
        by_buffer.setdefault(copy.target.buffer, []).append(copy)
    for group in by_buffer.values():
        places = _places(scope, group)
        if places is None:
            return "it is not known that the copies of its scope go to different places"
        if any(start + size > following for (start, size), (following, _) in pairwise(sorted(places))):
            return "its scope copies to one place twice"
    return None


def _places(scope: ScopeOp, copies: Sequence[Copy]) -> list[tuple[int, int]] | None:
    """`(first byte, bytes)` of every copy to one buffer, from a common origin; None where they cannot be listed."""
    found: list[tuple[int, int]] = []
    common: _Form | None = None
    for copy in copies:
        loops = _loops_around(copy.store, scope)
        ranges = [_values_of(loop) for loop in loops]
        if any(values is None for values in ranges) or prod(map(len, filter(None, ranges))) > MOST_PLACES:
            return None
        variables = [loop.body.block.args[0] for loop in loops]
        layout, each = strides_and_offset(copy.target.buffer), element_bytes(copy.target.buffer)
        assert each is not None
        for numbers in product(*(values for values in ranges if values is not None)):
            form = _position(copy.target, layout[0] if layout else None, dict(zip(variables, numbers, strict=True)))
            if form is None:
                return [(0, copy.target.size)] if not loops and len(copies) == 1 else None
            common = form if common is None else common
            if form.terms != common.terms or len(found) > MOST_PLACES:
                return None
            found.append((form.constant * each, copy.target.size))
    return found


def _loops_around(op: Operation, scope: ScopeOp) -> list[scf.ForOp]:
    loops: list[scf.ForOp] = []
    node = op.parent_op()
    while node is not None and node is not scope:
        if isinstance(node, scf.ForOp):
            loops.append(node)
        node = node.parent_op()
    return loops


def _values_of(loop: scf.ForOp) -> range | None:
    """What the induction variable of a loop of constant bounds runs through."""
    trips, lower, step = static_trip_count(loop), constant_integer(loop.lb), constant_integer(loop.step)
    if trips is None or lower is None or step is None:
        return None
    return range(lower, lower + trips * step, step)


@dataclass(frozen=True)
class _Form:
    """A constant and multiples of values that do not change while the scope runs."""

    constant: int
    terms: frozenset[tuple[SSAValue, int]] = frozenset()

    def plus(self, other: _Form) -> _Form:
        terms = dict(self.terms)
        for value, factor in other.terms:
            terms[value] = terms.get(value, 0) + factor
        return _Form(self.constant + other.constant, frozenset((v, f) for v, f in terms.items() if f))

    def times(self, factor: int) -> _Form:
        return _Form(self.constant * factor, frozenset((v, f * factor) for v, f in self.terms if factor))


def _position(target: Element, strides: Sequence[int | None] | None, where: dict[SSAValue, int]) -> _Form | None:
    """How many elements from the start of its buffer `target` lies, with loop variables as in `where`."""
    if strides is None or None in strides:
        return None
    total = _Form(0)
    for index, stride in zip(target.indices, strides, strict=True):
        form = _form(index, where)
        if form is None or stride is None:
            return None
        total = total.plus(form.times(stride))
    return total


def _form(value: SSAValue, where: dict[SSAValue, int]) -> _Form | None:
    """`value` as a form; None where it may change with the loops of the scope in a way that is not followed."""
    if value in where:
        return _Form(where[value])
    if (number := constant_integer(value)) is not None:
        return _Form(number)
    owner = value.owner
    if isinstance(owner, Operation) and not owner.regions and (forms := _operand_forms(owner, where)) is not None:
        if (combined := _combined(owner, forms)) is not None:
            return combined
    return None if _changes(value, where) else _Form(0, frozenset([(value, 1)]))


def _operand_forms(op: Operation, where: dict[SSAValue, int]) -> list[_Form] | None:
    forms = [_form(operand, where) for operand in op.operands]
    return None if None in forms else [form for form in forms if form is not None]


def _combined(op: Operation, forms: Sequence[_Form]) -> _Form | None:
    match op, forms:
        case arith.AddiOp(), [a, b]:
            return a.plus(b)
        case arith.SubiOp(), [a, b]:
            return a.plus(b.times(-1))
        case arith.MuliOp(), [a, b] if not a.terms:
            return b.times(a.constant)
        case arith.MuliOp(), [a, b] if not b.terms:
            return a.times(b.constant)
        case ((arith.RemUIOp() | arith.RemSIOp()), [_Form(a, terms), _Form(b, others)]) if not terms and not others:
            return _Form(a % b) if a >= 0 and b > 0 else None
        case ((arith.DivUIOp() | arith.DivSIOp()), [_Form(a, terms), _Form(b, others)]) if not terms and not others:
            return _Form(a // b) if a >= 0 and b > 0 else None
        case arith.IndexCastOp(), [a]:
            return a
        case _:
            return None


def _changes(value: SSAValue, where: dict[SSAValue, int]) -> bool:
    """Whether `value` is made inside one of the loops whose variables `where` lists."""
    owner = value.owner
    block = owner.parent if isinstance(owner, Operation) else owner
    while block is not None:
        if any(argument in where for argument in block.args):
            return True
        parent = block.parent_op()
        block = parent.parent if parent is not None else None
    return False
