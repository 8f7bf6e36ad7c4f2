"""
What the ops of `memref` do. A memref is a `View`: a strided window on the bytes of an object.

Fresh memory is zero. Shared memory that single threads allocate is one buffer of their block, whichever of them
executes the op; it is laid out once, so all turns of a loop get the same bytes, and it ends with the block.

An index must lie inside its dimension and every access inside its object; views may be made freely, as MLIR lets them
be hoisted above their guards. Layouts are strided ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from tileas_xdsl.dialects.extensions.memref import ATOMIC_KINDS
from tileas_xdsl.machine.arguments import memory_space
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.meaning import control, effect, pure, refused, terminators
from tileas_xdsl.machine.core.memory import Cell, MemoryObject, View, row_major_strides
from tileas_xdsl.machine.core.op_facts import TakesPerThread, Tells
from tileas_xdsl.machine.core.standings import Answer, continuation, give_results
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, unsigned, wrap
from tileas_xdsl.machine.core.violations import UnsupportedError, out_of_bounds
from tileas_xdsl.machine.meanings.arith import dense_array
from tileas_xdsl.machine.parts.atomics import update
from tileas_xdsl.machine.parts.globals import global_object
from tileas_xdsl.machine.parts.lifetimes import end_lifetime
from tileas_xdsl.machine.tiles.numerics import element_of, view_of
from tileas_xdsl.machine.tiles.pointers import Addresses, Pointer
from tileas_xdsl.machine.tiles.slices import Numbers, Window, filled, groups_of
from tileas_xdsl.machine.tiles.unknown_places import ADDRESS, places_to_read

# Allocation ---------------------------------------------------------------------------------------------------------


def allocate(agent: Agent, op: Operation, kind: MemRefType[Attribute], sizes: Sequence[Any]) -> View:
    """A fresh object of type `kind`, full of zeros; `sizes` are the run-time values of its dynamic dimensions."""
    extents = [agent.known(size, op, ADDRESS) for size in sizes]
    if any(extent < 0 for extent in extents):
        raise UnsupportedError(op, f"allocates with a negative size ({', '.join(map(str, extents))})")
    shape = tuple(filled(kind.get_shape(), iter(extents)))
    element = element_of(op, kind)
    name = op.results[0].name_hint or "buffer"
    space = memory_space(kind)
    if isinstance(kind.layout, NoneAttr):
        return _made(agent, op, name, shape, element, space).whole()
    strides, offset = kind.get_strides(), kind.get_offset()
    if strides is None or offset is None or any(stride is None for stride in strides):
        raise UnsupportedError(op, f"allocates with layout {kind.layout}; only static strided layouts have addresses")
    steps = [stride for stride in strides if stride is not None]
    last = sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    total = offset + last + 1 if prod(shape) else 0
    base = _made(agent, op, name, (total,), element, space)
    return View(base, offset * element.size, shape, tuple(step * element.size for step in steps), element)


def _made(
    agent: Agent, op: Operation, name: str, shape: tuple[int, ...], element: ElementType, space: str
) -> MemoryObject:
    """The object that `op` allocates: a fresh one, or that of the block."""

    def make() -> MemoryObject:
        return MemoryObject.zeros(name, shape, element, space, with_data=agent.has_data)

    if not _is_of_block(agent, space):
        return make()
    base = global_object(agent, op, make)
    if base.shape != shape:
        raise UnsupportedError(op, f"allocates shared memory of shape {shape} here and {base.shape} elsewhere")
    return base


def _is_of_block(agent: Agent, space: str) -> bool:
    """Whether what `agent` allocates in `space` belongs to its block: it stands for single threads, a warp or fewer."""
    return space == "shared" and agent.hardware is not None and not agent.is_of_several_warps


@effect(memref.AllocOp, memref.AllocaOp)
def _alloc(agent: Agent, op: memref.AllocOp | memref.AllocaOp, *operands: Any) -> View:
    view = allocate(agent, op, op.memref.type, operands[: len(op.dynamic_sizes)])
    if isinstance(op, memref.AllocaOp) and not _is_of_block(agent, view.base.space):
        agent.activation.endings.append(EndOnStack(op, view))
    return view


@dataclass(frozen=True, eq=False)
class EndOnStack:
    """The end of a buffer on the stack, which `op` has made."""

    op: Operation
    view: View

    def __call__(self, agent: Agent) -> None:
        end_lifetime(agent, agent.current_op or self.op, self.view.base, freed=False)


@control(memref.AllocaScopeOp)
def _alloca_scope(agent: Agent, op: memref.AllocaScopeOp) -> Answer:
    return agent.run_region(op.scope).then(_leave_scope, len(agent.activation.endings))


@continuation
def _leave_scope(agent: Agent, op: Operation, values: tuple[Any, ...], older: int) -> Answer:
    endings = agent.activation.endings
    while len(endings) > older:
        endings.pop()(agent)
    return give_results(agent, op, values)


terminators(memref.AllocaScopeReturnOp)


@effect(memref.DeallocOp)
def _dealloc(agent: Agent, op: memref.DeallocOp, buffer: Any) -> None:
    base = view_of(agent, op, buffer).base
    if not _is_of_block(agent, base.space):
        end_lifetime(agent, op, base)


@effect(memref.GetGlobalOp)
def _get_global(agent: Agent, op: memref.GetGlobalOp) -> View:
    definition = SymbolTable.lookup_symbol(op, op.name_)
    if not isinstance(definition, memref.GlobalOp):
        raise UnsupportedError(op, f"names {op.name_}, which is no memref.global here; define it")
    return _global_object(agent, definition).whole()


@per_op
def _initial_value(op: memref.GlobalOp) -> Any:
    value = op.initial_value
    return dense_array(op, value) if isinstance(value, DenseIntOrFPElementsAttr) else None


def _global_object(agent: Agent, op: memref.GlobalOp) -> MemoryObject:
    """The one object of a global, made when it is first named."""
    return global_object(agent, op, lambda: _make_global(agent, op))


def _make_global(agent: Agent, op: memref.GlobalOp) -> MemoryObject:
    kind = op.type
    element, shape, space = element_of(op, kind), kind.get_shape(), memory_space(kind)
    initial = _initial_value(agent, op)
    if not agent.has_data:
        values = () if initial is None else initial.flat
        known = {number * element.size: Cell(element, value.item()) for number, value in enumerate(values)}
        return MemoryObject(op.sym_name.data, shape, element, space, cells=known)
    array = np.zeros(shape, element.dtype) if initial is None else initial.reshape(shape)
    return MemoryObject.from_array(op.sym_name.data, array, element, space)


# Access -------------------------------------------------------------------------------------------------------------


def element_to_read(agent: Agent, op: Operation, value: Any, indices: Sequence[Any]) -> tuple[View, bool]:
    """`element_at` for an op that only reads, and whether the element stands for one whose place is not computed."""
    places, is_guess = places_to_read(agent, op, view_of(agent, op, value).base, indices)
    return element_at(agent, op, value, places), is_guess


def element_at(agent: Agent, op: Operation, value: Any, indices: Sequence[Any]) -> View:
    """The element of a memref at `indices`, each of which must lie inside its dimension."""
    view = view_of(agent, op, value)
    offset = view.offset
    for dimension, (index, extent, stride) in enumerate(zip(indices, view.shape, view.strides, strict=True)):
        place = agent.known(index, op, ADDRESS)
        if not 0 <= place < extent:
            where = f"{agent.in_iteration}: index {place} of dimension {dimension}, which has {extent}"
            raise out_of_bounds(op, view.base, where, place)
        offset += place * stride
    return View(view.base, offset, (), (), view.element, view.origin)


@effect(
    memref.LoadOp,
    may_move=("indices",),
    first_index=1,
    indexes=(("indices", "memref"),),
    per_thread=TakesPerThread.ONE_BY_ONE,
)
def _load(agent: Agent, op: memref.LoadOp, source: Any, *indices: Any) -> Any:
    element, is_guess = element_to_read(agent, op, source, indices)
    contents = agent.load(element, op)
    return UNKNOWN if is_guess else contents


@effect(
    memref.StoreOp,
    may_move=("value", "indices"),
    first_index=2,
    stores_data=True,
    per_thread=TakesPerThread.ONE_BY_ONE,
    indexes=(("indices", "memref"),),
    opaque=("value",),
)
def _store(agent: Agent, op: memref.StoreOp, value: Any, target: Any, *indices: Any) -> None:
    agent.store(element_at(agent, op, target, indices), value, op)


def same_shape(agent: Agent, op: Operation, source: Any, target: Any) -> tuple[View, View]:
    """Two memrefs between which elements are copied one by one."""
    from_view, to_view = view_of(agent, op, source), view_of(agent, op, target)
    if from_view.shape != to_view.shape and (agent.has_data or _are_known(op)):
        raise UnsupportedError(op, f"copies an array of shape {from_view.shape} to one of shape {to_view.shape}")
    return from_view, to_view


def _are_known(op: Operation) -> bool:
    """Whether all extents of what `op` copies are known; of those that types leave open, a check makes up its own."""
    kinds = [cast("MemRefType[Attribute]", operand.type) for operand in op.operands if _is_memref(operand.type)]
    return all(extent >= 0 for kind in kinds for extent in kind.get_shape())


def _is_memref(kind: Attribute) -> bool:
    return isinstance(kind, MemRefType)


@effect(memref.CopyOp)
def _copy(agent: Agent, op: memref.CopyOp, source: Any, target: Any) -> None:
    from_view, to_view = same_shape(agent, op, source, target)
    agent.store(to_view, agent.load(from_view, op), op)


ATOMIC_UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "addf": operator.add,
    "addi": operator.add,
    "andi": int.__and__,
    "assign": lambda _old, given: given,
    "maximumf": np.maximum,
    "maxnumf": np.fmax,
    "maxs": max,
    "maxu": max,
    "minimumf": np.minimum,
    "minnumf": np.fmin,
    "mins": min,
    "minu": min,
    "mulf": operator.mul,
    "muli": operator.mul,
    "ori": int.__or__,
    "xori": int.__xor__,
}
"""On floats, and on integers as the kind takes them: without a sign for `maxu` and `minu`, else with one."""
UNSIGNED_KINDS = ("maxu", "minu")


@effect(memref.AtomicRMWOp, may_move=("value", "indices"), first_index=2, indexes=(("indices", "memref"),))
def _atomic_rmw(agent: Agent, op: memref.AtomicRMWOp, given: Any, buffer: Any, *indices: Any) -> Any:
    """The result is what was there before; MLIR's page says "the latest value", and its lowering gives the old one."""
    kind: Attribute = op.value.type
    word = ATOMIC_KINDS[op.kind.value.data]
    is_integer = isinstance(kind, IntegerType)

    def compute(old: Any) -> Any:
        if not is_integer:
            return ATOMIC_UPDATES[word](old, given)
        numbers = [int(old), int(given)]
        if word in UNSIGNED_KINDS:
            numbers = [unsigned(number, kind) for number in numbers]
        return wrap(ATOMIC_UPDATES[word](*numbers), kind)

    old = update(agent, op, element_at(agent, op, buffer, indices), compute)
    return int(old) if is_integer and old is not UNKNOWN else old


# Views --------------------------------------------------------------------------------------------------------------


@per_op
def _window(op: memref.SubviewOp | memref.ReinterpretCastOp) -> Window:
    return Window.of(op)


@per_op
def _dropped(op: memref.SubviewOp) -> list[int]:
    return Window.of(op).dropped_for(op.result.type.get_shape())


@effect(memref.SubviewOp, may_move=("offsets",), per_thread=TakesPerThread.ONE_BY_ONE)
def _subview(agent: Agent, op: memref.SubviewOp, source: Any, *operands: Any) -> View:
    numbers = [agent.known(operand, op, ADDRESS) for operand in operands]
    offsets, sizes, strides = _window(agent, op).with_operands(numbers)
    window = view_of(agent, op, source).slice(offsets, sizes, strides)
    dropped = _dropped(agent, op)
    return window.dropping(dropped) if dropped else window


@effect(memref.ReinterpretCastOp, per_thread=TakesPerThread.ONE_BY_ONE)
def _reinterpret_cast(agent: Agent, op: memref.ReinterpretCastOp, source: Any, *operands: Any) -> View:
    numbers = [agent.known(operand, op, ADDRESS) for operand in operands]
    offsets, sizes, strides = _window(agent, op).with_operands(numbers)
    view = view_of(agent, op, source)
    size = view.element.size
    start = view.origin + sum(offsets) * size
    return replace(view, offset=start, shape=tuple(sizes), strides=tuple(stride * size for stride in strides))


@effect(memref.ViewOp, may_move=("byte_shift",), per_thread=TakesPerThread.ONE_BY_ONE)
def _view(agent: Agent, op: memref.ViewOp, source: Any, shift: Any, *sizes: Any) -> View:
    view = view_of(agent, op, source)
    kind = op.result.type
    element = element_of(op, kind)
    shape = tuple(filled(kind.get_shape(), iter([agent.known(size, op, ADDRESS) for size in sizes])))
    start = view.offset + agent.known(shift, op, ADDRESS)
    return View(view.base, start, shape, row_major_strides(shape, element.size), element, start)


@pure(memref.CastOp)
def _cast(agent: Agent, op: memref.CastOp, source: Any) -> View:
    view, kind = view_of(agent, op, source), op.dest.type
    if isa(kind, MemRefType[Attribute]) and not _has_type(view, kind):
        raise UnsupportedError(op, f"casts a buffer of shape {view.shape}, strides {view.strides} bytes, to {kind}")
    return view


def _has_type(view: View, kind: MemRefType[Attribute]) -> bool:
    """Whether shape and strides of `view` are what `kind` says, where it says something."""
    shape = kind.get_shape()
    if len(shape) != len(view.shape):
        return False
    strides = kind.get_strides() or [None] * len(shape)
    wanted = zip(shape, strides, view.shape, view.strides, strict=True)
    for extent, stride, actual_extent, actual_stride in wanted:
        if extent not in (DYNAMIC_INDEX, actual_extent):
            return False
        if stride is not None and actual_extent > 1 and stride * view.element.size != actual_stride:
            return False
    return True


@pure(memref.MemorySpaceCastOp, memref.AssumeAlignmentOp)
def _same_bytes(_agent: Agent, _op: Operation, source: View, *_operands: Any) -> View:
    return source


@per_op
def _groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> list[Numbers]:
    return groups_of(op.reassociation)


@effect(memref.CollapseShapeOp)
def _collapse_shape(agent: Agent, op: memref.CollapseShapeOp, source: Any) -> View:
    view = view_of(agent, op, source)
    shape: list[int] = []
    strides: list[int] = []
    for group in _groups(agent, op):
        pairs = [(view.shape[d], view.strides[d]) for d in group if view.shape[d] != 1]
        for (_, outer), (extent, inner) in pairwise(pairs):
            if outer != extent * inner:
                raise UnsupportedError(op, f"collapses dimensions {group}, which are not contiguous in memory")
        shape.append(prod(extent for extent, _ in pairs))
        strides.append(pairs[-1][1] if pairs else view.strides[group[-1]])
    return replace(view, shape=tuple(shape), strides=tuple(strides))


@per_op
def _static_output_shape(op: memref.ExpandShapeOp) -> Numbers:
    return tuple(int(size) for size in op.static_output_shape.get_values())


@effect(memref.ExpandShapeOp)
def _expand_shape(agent: Agent, op: memref.ExpandShapeOp, source: Any, *sizes: Any) -> View:
    view = view_of(agent, op, source)
    dynamic = iter([agent.known(size, op, ADDRESS) for size in sizes])
    shape = filled(_static_output_shape(agent, op), dynamic)
    strides = [view.element.size] * len(shape)
    for dimension, group in enumerate(_groups(agent, op)):
        extents = [shape[d] for d in group]
        if prod(extents) != view.shape[dimension]:
            raise UnsupportedError(op, f"expands a dimension of {view.shape[dimension]} to {extents}")
        for d, stride in zip(group, row_major_strides(extents, view.strides[dimension]), strict=True):
            strides[d] = stride
    return replace(view, shape=tuple(shape), strides=tuple(strides))


# Facts about memrefs ------------------------------------------------------------------------------------------------


@pure(memref.DimOp, tells=Tells.EXTENTS)
def _dim(agent: Agent, op: memref.DimOp, source: Any, index: int) -> int:
    shape = view_of(agent, op, source).shape
    if not 0 <= index < len(shape):
        raise UnsupportedError(op, f"asks for dimension {index} of a memref of rank {len(shape)}")
    return shape[index]


@pure(memref.RankOp, tells=Tells.RANK)
def _rank(agent: Agent, op: memref.RankOp, source: Any) -> int:
    return len(view_of(agent, op, source).shape)


@effect(memref.ExtractStridedMetaDataOp, tells=Tells.EXTENTS)
def _metadata(agent: Agent, op: memref.ExtractStridedMetaDataOp, source: Any) -> tuple[Any, ...]:
    view = view_of(agent, op, source)
    size = view.element.size
    offset, rest = divmod(view.offset - view.origin, size)
    if rest:
        raise UnsupportedError(op, f"takes apart a view that starts {rest} bytes into an element")
    start = replace(view, offset=view.origin, shape=(), strides=())
    return (start, offset, *view.shape, *(stride // size for stride in view.strides))


@effect(memref.ExtractAlignedPointerAsIndexOp, tells=Tells.RANK)
def _aligned_pointer(agent: Agent, op: memref.ExtractAlignedPointerAsIndexOp, source: Any) -> int:
    """Where offset 0 is: `memref.extract_strided_metadata` says how far from there the first element lies."""
    view = view_of(agent, op, source)
    return agent.shared(Addresses).number(Pointer(view.base, view.origin))


refused(
    "is a transfer with a tag, which is not modelled here; use async_queue or gpu.memcpy",
    memref.DmaStartOp,
    memref.DmaWaitOp,
)
