"""
Whether the copies of a scope can be performed in any order among each other, and after everything else in it.

A scope is one piece of sequential code; as copies its stores are on their own. That makes no difference where nothing
else in the scope touches what they write or writes what they read, and where no two of them go to one place. The places
are listed: the loops of a scope have constant bounds, and what else an index depends on stays the same while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from xdsl.dialects import arith, memref, scf, vector
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.analysis.induction import constant_integer, static_trip_count
from tileas_xdsl.analysis.value_flow import hands_on
from tileas_xdsl.dialects.async_queue import ScopeOp
from tileas_xdsl.transforms.queues.queue_lowering.buffers import element_bytes, extent, may_overlap, strides_and_offset
from tileas_xdsl.transforms.queues.queue_lowering.copies import Copy, Element, element_of, touches_nothing

MOST_PLACES = 1 << 14
"""The number of places, written by the copies of one scope, up to which they are enumerated."""


def order_matters(scope: ScopeOp, copies: Sequence[Copy]) -> str | None:
    """Why the copies of a scope cannot be performed in any order, after everything else in it; None where they can."""
    copied = {op for copy in copies for op in (copy.load, copy.store)}
    for op in scope.body.walk():
        if op in copied or isinstance(op, scf.ForOp | scf.IfOp) or hands_on(op) or touches_nothing(op):
            continue
        touched = element_of(op)
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
        size = extent(copy.target.buffer) if copy.lanes else copy.target.size
        if size is None:
            return [(0, 0)] if not loops and len(copies) == 1 else None
        for numbers in product(*(values for values in ranges if values is not None)):
            form = _position(copy.target, layout[0] if layout else None, dict(zip(variables, numbers, strict=True)))
            if form is None:
                return [(0, size)] if not loops and len(copies) == 1 else None
            common = form if common is None else common
            if form.terms != common.terms or len(found) > MOST_PLACES:
                return None
            found.append((form.constant * each, size))
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
    """The values of the induction variable of a loop of constant bounds; None where there are too many to list."""
    trips, lower, step = static_trip_count(loop), constant_integer(loop.lb), constant_integer(loop.step)
    if trips is None or lower is None or step is None or trips > MOST_PLACES:
        return None
    return range(lower, lower + trips * step, step)


@dataclass(frozen=True)
class _Form:
    """An affine form: a constant, and multiples of values that do not change while the scope runs."""

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
    for index, stride in zip(target.indices, strides, strict=bool(target.indices)):
        form = _form(index, where)
        if form is None or stride is None:
            return None
        total = total.plus(form.times(stride))
    return total


def _form(value: SSAValue, where: dict[SSAValue, int]) -> _Form | None:
    """`value` as an affine form; None where it changes with the loops of the scope in another way."""
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
