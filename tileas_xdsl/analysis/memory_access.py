"""
What the ops of a loop body read and write, and where.

Enters one op of the body; leaves its `Access`es, those of the ops nested in it included. An access names the memory
objects that it may touch, found by walking back from its memref through casts, views and loop-carried arguments, and,
where the subscripts are linear (`analysis/induction.py`), which part of the object.

    memref.store %v, %B[%i, %c3] : memref<8x16xf32>   ->   writes B, axis 0 at [j], axis 1 at [3]

How an op is understood, first match wins:

1. a *model* registered for its name (`access_model`), which also lets dialects that come later plug in;
2. its memory effect traits. An effect on a value goes anywhere in that value's object, one on a resource other than the
   default touches that resource and no memory, one on nothing in particular touches any memory;
3. without either it is *opaque*: it may do anything, and is ordered with everything that has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from math import prod
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType, NoneAttr, VectorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import (
    DefaultResource,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    get_effects,
    is_side_effect_free,
)

from tileas_xdsl.analysis.induction import AffineIndex, LoopIndices
from tileas_xdsl.interfaces import AllocationOpInterface, FunctionOpInterface, LoopLikeOpInterface

# What an op says of itself ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Resource:
    """
    What ops take turns at, and is no memory: one side of a pipeline, say.

    Two are the same when their names and their owners are; the owner is the op that makes the resource, or anything
    else that tells it from others of its name. People only see the name.
    """

    name: str
    owner: Hashable = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Effect:
    """
    One read or write, as an op states it.

    `target` is the memory, or a resource that is no memory; None means any memory. `indices` are the subscripts, None
    for the whole target; `extents` says how many elements are touched from there, one where absent.
    """

    writes: bool
    target: SSAValue | Resource | None
    indices: Sequence[SSAValue] | None = None
    extents: Sequence[int] | None = None


AccessModel = Callable[[Operation], Sequence[Effect]]

_MODELS: dict[str, AccessModel] = {}
_MODEL_MAKERS: dict[str, Callable[[], AccessModel]] = {}
_VIEW_OPERANDS: dict[str, int] = {
    "memref.cast": 0,
    "memref.memory_space_cast": 0,
    "memref.reinterpret_cast": 0,
    "memref.expand_shape": 0,
    "memref.collapse_shape": 0,
    "memref.assume_alignment": 0,
    "memref.subview": 0,
    "memref.view": 0,
    "nv_tileaa.addptr": 0,
    "nv_tileaa.block_tile": 0,
    "nv_tileaa.conv_tile": 0,
    "nv_tileaa.expand_dims": 0,
    "nv_tileaa.extract_slice": 0,
    "nv_tileaa.make_memref": 0,
    "nv_tileaa.view": 0,
    "nv_tileas.async.extract_slice": 0,
    "nv_tileas.async.to_async": 0,
    "nv_tileas.expand_dims": 0,
    "nv_tileas.extract_slice": 0,
    "nv_tileas.reinterpret": 0,
    "nv_tileas.view": 0,
}


OwnsStorage = Callable[[Operation], bool]

_OWN_STORAGE: dict[str, Callable[[], OwnsStorage]] = {
    name: lambda: lambda op: True
    for name in ("nv_tileaa.load", "nv_tileaa.tiled_load", "nv_tileas.load", "nv_tileas.tiled_load")
}
"""Ops whose results lie in storage of their own, which nothing else names, if anywhere."""


def access_model(*names: str) -> Callable[[AccessModel], AccessModel]:
    """
    Decorator: the function tells the effects of the ops of these names, in place of their effect traits.

    It speaks for the op alone: the ops in its regions are asked by themselves.
    """

    def register(model: AccessModel) -> AccessModel:
        for name in names:
            _MODELS[name] = model
        return model

    return register


def access_model_for_loop(*names: str) -> Callable[[Callable[[], AccessModel]], Callable[[], AccessModel]]:
    """
    Decorator: the function makes a model for the ops of these names, once for each loop that is looked at.

    So the model can remember what it found out about one op when it is asked about the next.
    """

    def register(make: Callable[[], AccessModel]) -> Callable[[], AccessModel]:
        for name in names:
            _MODEL_MAKERS[name] = make
        return make

    return register


def register_view(name: str, operand: int = 0) -> None:
    """The results of the ops of this name show the memory of their operand number `operand`."""
    _VIEW_OPERANDS[name] = operand


def own_storage_for_loop(*names: str) -> Callable[[Callable[[], OwnsStorage]], Callable[[], OwnsStorage]]:
    """
    Decorator: the function makes what tells whether the results of an op of these names lie in storage that is theirs
    alone; once for each loop that is looked at, as `access_model_for_loop` does.
    """

    def register(make: Callable[[], OwnsStorage]) -> Callable[[], OwnsStorage]:
        for name in names:
            _OWN_STORAGE[name] = make
        return make

    return register


@access_model("memref.load")
def _load(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, memref.LoadOp)
    return (Effect(False, op.memref, op.indices),)


@access_model("memref.store")
def _store(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, memref.StoreOp)
    return (Effect(True, op.memref, op.indices),)


@access_model("memref.atomic_rmw")
def _atomic(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, memref.AtomicRMWOp)
    return (Effect(False, op.memref, op.indices), Effect(True, op.memref, op.indices))


@access_model("memref.copy")
def _copy(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, memref.CopyOp)
    return (Effect(False, op.source), Effect(True, op.destination))


@access_model("memref.dealloc")
def _dealloc(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, memref.DeallocOp)
    return (Effect(True, op.memref),)


_ELEMENTWISE = ("add", "sub", "mul", "max", "min", "exp", "log", "sqrt", "select")


@access_model(*(f"linalg.{name}" for name in ("generic", "matmul", "fill", "copy", "transpose", *_ELEMENTWISE)))
def _structured(op: Operation) -> Sequence[Effect]:
    """Inputs are read; outputs are written, and read first where something is added to them, or may be."""
    from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation

    assert isinstance(op, LinalgStructuredOperation)
    only_written = op.name in ("linalg.fill", "linalg.copy")
    read = op.inputs if only_written else (*op.inputs, *op.outputs)
    effects = [(False, value) for value in read] + [(True, value) for value in op.outputs]
    return [Effect(writes, value) for writes, value in effects if isinstance(value.type, MemRefType)]


@access_model("arith.remui", "arith.extsi", "linalg.index")
def _arithmetic(op: Operation) -> Sequence[Effect]:
    """Ops that xDSL gives no effect traits."""
    return ()


@access_model("vector.load")
def _vector_load(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, vector.LoadOp)
    return (Effect(False, op.base, op.indices, _vector_extents(op.result.type, len(op.indices))),)


@access_model("vector.store")
def _vector_store(op: Operation) -> Sequence[Effect]:
    assert isinstance(op, vector.StoreOp)
    return (Effect(True, op.base, op.indices, _vector_extents(op.vector.type, len(op.indices))),)


@access_model("vector.transfer_read", "vector.transfer_write")
def _transfer(op: Operation) -> Sequence[Effect]:
    """Neighbouring elements; any of the buffer where a mask or a permutation says which."""
    assert isinstance(op, vector.TransferReadOp | vector.TransferWriteOp)
    writes = isinstance(op, vector.TransferWriteOp)
    if not isinstance(op.source.type, MemRefType):
        return ()
    if op.mask is not None or not op.permutation_map.data.is_minor_identity():
        return (Effect(writes, op.source),)
    vector_type = op.vector.type if isinstance(op, vector.TransferWriteOp) else op.result.type
    return (Effect(writes, op.source, op.indices, _vector_extents(vector_type, len(op.indices))),)


def _vector_extents(vector_type: Attribute, rank: int) -> Sequence[int]:
    assert isinstance(vector_type, VectorType)
    shape = vector_type.get_shape()
    return (*(1 for _ in range(rank - len(shape))), *shape)


# Where it goes ------------------------------------------------------------------------------------------------------


class ObjectKind(Enum):
    """What a memory object is, which decides with what it may share bytes."""

    ALLOCATION = auto()
    ARGUMENT = auto()
    GLOBAL = auto()
    RESOURCE = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class MemoryObject:
    """A stretch of memory with an identity: an allocation, a function argument, a global by its name; or a resource."""

    kind: ObjectKind
    key: SSAValue | Resource | str | None = None
    fresh: bool = False
    """Allocated in the loop body: every iteration has its own."""

    def __str__(self) -> str:
        if isinstance(self.key, SSAValue):
            return f"%{self.key.name_hint}" if self.key.name_hint else "an unnamed buffer"
        return str(self.key) if self.key is not None else "memory"


UNKNOWN = MemoryObject(ObjectKind.UNKNOWN)


def may_alias(first: MemoryObject, second: MemoryObject, *, arguments_alias: bool) -> bool:
    """Whether the two may share bytes. Different arguments do not, nor an argument and a global, unless told."""
    if first == second:
        return True
    kinds = {first.kind, second.kind}
    if ObjectKind.RESOURCE in kinds or ObjectKind.ALLOCATION in kinds:
        return ObjectKind.UNKNOWN in kinds and ObjectKind.RESOURCE not in kinds
    return ObjectKind.UNKNOWN in kinds or (arguments_alias and kinds != {ObjectKind.GLOBAL})


@dataclass(frozen=True)
class Span:
    """The elements `index .. index + extent - 1` of one axis."""

    index: AffineIndex
    extent: int = 1


@dataclass(frozen=True)
class Frame:
    """The index space that spans are counted in: a memref type, laid over its object at a byte offset."""

    type: MemRefType[Attribute]
    byte_shift: AffineIndex = field(default_factory=AffineIndex)


@dataclass(frozen=True)
class Place:
    """
    Where an access goes.

    `spans` has one entry for each axis of `frame`, None for an axis that is not known; `frame` is None where nothing is
    known but the objects.
    """

    objects: tuple[MemoryObject, ...]
    frame: Frame | None = None
    spans: tuple[Span | None, ...] = ()


@dataclass(frozen=True)
class Access:
    """One read or write of `op` (an op of the loop body; the access may sit in its regions)."""

    op: Operation
    writes: bool
    place: Place
    opaque: bool = False
    """By an op of which nothing is known: ordered with every effect, also on resources."""


def byte_span(place: Place) -> Span | None:
    """The bytes of a place from the start of its object, where the layout is static and every axis known."""
    if place.frame is None:
        return None
    frame_type, spans = place.frame.type, place.spans
    element, shape = frame_type.element_type, frame_type.get_shape()
    if not isinstance(frame_type.layout, NoneAttr) or not isinstance(element, FixedBitwidthType):
        return None
    if element.bitwidth % 8 or DYNAMIC_INDEX in shape[1:]:
        return None
    start = place.frame.byte_shift
    for axis, span in enumerate(spans):
        if span is None:
            return None
        stride = element.size * prod(shape[axis + 1 :])
        start = start.plus(span.index.plus(AffineIndex(0, span.extent - 1)).times(stride))
    return Span(start, element.size)


# Walking back to the object -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """Where a view's index on its axis `source` leads on one axis of the frame: to `offset + stride * index`."""

    offset: AffineIndex | None
    source: int | None
    stride: int
    size: int | None


@dataclass(frozen=True)
class _View:
    """What a memref value shows. `axes` is None where only the objects are known."""

    objects: tuple[MemoryObject, ...]
    frame: Frame | None = None
    axes: tuple[_Axis, ...] | None = None


class AccessReader:
    """Reads accesses off the ops of one loop body; keeps what it found out about memrefs and subscripts."""

    def __init__(self, indices: LoopIndices) -> None:
        self.indices = indices
        self._views: dict[SSAValue, _View] = {}
        self._made: dict[Callable[[], AccessModel], AccessModel] = {}
        self._owners: dict[Callable[[], OwnsStorage], OwnsStorage] = {}

    def accesses_of(self, op: Operation) -> Iterator[Access]:
        """The accesses of `op`, an op of the body, in program order. Linear in the ops nested in it."""
        stack = [op]
        while stack:
            current = stack.pop()
            effects = self._effects_of(current)
            if effects is None:
                yield Access(op, True, Place((UNKNOWN,)), opaque=True)
                continue
            for effect in effects:
                yield Access(op, effect.writes, self._place(effect))
            if _speaks_for_itself_only(current):
                nested = (inner for region in current.regions for block in region.blocks for inner in block.ops)
                stack.extend(reversed(list(nested)))

    def _effects_of(self, op: Operation) -> Sequence[Effect] | None:
        """What `op` itself does, or None when nothing is known of it."""
        make = _MODEL_MAKERS.get(op.name)
        if make is None:
            return stated_effects(op)
        if make not in self._made:
            self._made[make] = make()
        return self._made[make](op)

    def _has_own_storage(self, op: Operation) -> bool:
        make = _OWN_STORAGE.get(op.name)
        if make is None:
            return False
        if make not in self._owners:
            self._owners[make] = make()
        return self._owners[make](op)

    def _place(self, effect: Effect) -> Place:
        if effect.target is None:
            return Place((UNKNOWN,))
        if isinstance(effect.target, Resource):
            return Place((MemoryObject(ObjectKind.RESOURCE, effect.target),))
        view = self._view(effect.target)
        if view.frame is None or view.axes is None:
            return Place(view.objects)
        spans = tuple(self._span(axis, effect) for axis in view.axes)
        return Place(view.objects, view.frame, spans)

    def _span(self, axis: _Axis, effect: Effect) -> Span | None:
        if axis.offset is None:
            return None
        if axis.source is None:
            return Span(axis.offset)
        if effect.indices is None:
            return None if axis.size is None else Span(axis.offset, (axis.size - 1) * axis.stride + 1)
        if (index := self.indices.index_of(effect.indices[axis.source])) is None:
            return None
        extent = 1 if effect.extents is None else effect.extents[axis.source]
        return Span(axis.offset.plus(index.times(axis.stride)), (extent - 1) * axis.stride + 1)

    def _view(self, value: SSAValue) -> _View:
        if value not in self._views:
            self._views[value] = self._find_view(value)
        return self._views[value]

    def _find_view(self, value: SSAValue) -> _View:
        match value.owner:
            case memref.CastOp(source=source) | memref.MemorySpaceCastOp(source=source):
                view = self._view(source)
                return view if isinstance(source.type, MemRefType) else _View(view.objects)
            case memref.SubviewOp() as op:
                return self._subview(op)
            case memref.ViewOp() as op:
                return self._typed_view(op)
            case _:
                objects = self._objects(value, {})
        value_type = _memref_type(value)
        if value_type is None or not _is_origin(value, objects):
            return _View(objects)
        return _View(objects, Frame(value_type), _whole_axes(value_type))

    def _subview(self, op: memref.SubviewOp) -> _View:
        source = self._view(op.source)
        if source.axes is None or (kept := kept_axes(op)) is None:
            return _View(source.objects)
        offsets = self._static_or_dynamic(op.static_offsets.get_values(), op.offsets)
        strides = self._static_or_dynamic(op.static_strides.get_values(), op.strides)
        sizes = op.static_sizes.get_values()
        axes: list[_Axis] = []
        for axis in source.axes:
            if axis.source is None:
                axes.append(axis)
                continue
            offset, stride = offsets[axis.source], strides[axis.source]
            factor = stride.as_constant if stride is not None else None
            if axis.offset is None or offset is None or factor is None or factor <= 0:
                axes.append(_Axis(None, None, 1, None))
                continue
            size = int(sizes[axis.source])
            position = axis.offset.plus(offset.times(axis.stride))
            known = None if size == DYNAMIC_INDEX else size
            axes.append(_Axis(position, kept[axis.source], axis.stride * factor, known))
        return _View(source.objects, source.frame, tuple(axes))

    def _static_or_dynamic(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[AffineIndex | None]:
        """The forms of a mixed list, in which the dynamic values fill the gaps of the static ones."""
        rest = iter(dynamic)
        return [
            self.indices.index_of(next(rest)) if number == DYNAMIC_INDEX else AffineIndex.constant(int(number))
            for number in static
        ]

    def _typed_view(self, op: memref.ViewOp) -> _View:
        objects = self._objects(op.source, {})
        shift, result_type = self.indices.index_of(op.byte_shift), _memref_type(op.result)
        if shift is None or result_type is None or not _is_origin(op.source, objects):
            return _View(objects)
        return _View(objects, Frame(result_type, shift), _whole_axes(result_type))

    def _objects(self, value: SSAValue, seen: dict[SSAValue, None]) -> tuple[MemoryObject, ...]:
        """The objects that `value` may show, each once; `seen` breaks the cycles of loop-carried memrefs."""
        if value in seen:
            return ()
        seen[value] = None
        sources = _memory_sources(value)
        if sources is None:
            return (self._object(value),)
        found = dict.fromkeys(item for source in sources for item in self._objects(source, seen))
        if isinstance(value, BlockArgument) and value.block is self.indices.loop.body.block:
            # A buffer of an earlier iteration is not the one that this iteration allocates.
            found = dict.fromkeys(UNKNOWN if item.fresh else item for item in found)
        return tuple(found)

    def _object(self, value: SSAValue) -> MemoryObject:
        owner = value.owner
        inside = self.indices.defined_inside(value)
        unknown = UNKNOWN if inside else MemoryObject(ObjectKind.UNKNOWN, value)
        if isinstance(owner, Block):
            is_argument = FunctionOpInterface.of(owner.parent_op()) is not None
            return MemoryObject(ObjectKind.ARGUMENT, value) if is_argument else unknown
        if isinstance(owner, memref.GetGlobalOp):
            return MemoryObject(ObjectKind.GLOBAL, f"@{owner.name_.string_value()}")
        allocation = AllocationOpInterface.of(owner)
        known = isinstance(owner, memref.AllocOp | memref.AllocaOp) or self._has_own_storage(owner)
        if known or (allocation is not None and value in allocation.allocated_values):
            return MemoryObject(ObjectKind.ALLOCATION, value, fresh=inside)
        return unknown


def _memory_sources(value: SSAValue) -> Sequence[SSAValue] | None:
    """The values of which `value` shows the memory of one, or None where the walk back ends."""
    if isinstance(value, BlockArgument):
        loop = LoopLikeOpInterface.of(value.block.parent_op())
        for index, argument in enumerate(loop.carried_arguments if loop is not None else ()):
            if argument is value and loop is not None:
                return (loop.init_values[index], loop.yielded_values[index])
        return None
    assert isinstance(value, OpResult)
    match value.op:
        case arith.SelectOp() as op:
            return (op.lhs, op.rhs)
        case scf.IfOp() as op:
            last_ops = [region.block.last_op for region in op.regions if region.blocks]
            return [last.operands[value.index] for last in last_ops if last is not None]
        case scf.ForOp() as op:
            last = op.body.block.last_op
            assert last is not None
            return (op.iter_args[value.index], last.operands[value.index])
        case op:
            return (op.operands[_VIEW_OPERANDS[op.name]],) if op.name in _VIEW_OPERANDS else None


def _is_origin(value: SSAValue, objects: Sequence[MemoryObject]) -> bool:
    """Whether `value` is an object itself, and the same one in every iteration or fresh in each."""
    return _memory_sources(value) is None and list(objects) != [UNKNOWN]


def _memref_type(value: SSAValue) -> MemRefType[Attribute] | None:
    value_type = value.type
    return cast(MemRefType[Attribute], value_type) if isinstance(value_type, MemRefType) else None


def _whole_axes(memref_type: MemRefType[Attribute]) -> tuple[_Axis, ...]:
    return tuple(
        _Axis(AffineIndex(), axis, 1, None if size == DYNAMIC_INDEX else size)
        for axis, size in enumerate(memref_type.get_shape())
    )


def kept_axes(op: memref.SubviewOp) -> list[int | None] | None:
    """For each axis of the source the axis of the result, None where dropped; None where that cannot be told."""
    sizes = op.static_sizes.get_values()
    result_type = _memref_type(op.result)
    assert result_type is not None
    dropped = len(sizes) - result_type.get_num_dims()
    unit = [size == 1 for size in sizes]
    if dropped and sum(unit) != dropped:
        return None
    kept: list[int | None] = []
    for is_unit in unit:
        kept.append(None if dropped and is_unit else sum(axis is not None for axis in kept))
    return kept


# What traits tell ---------------------------------------------------------------------------------------------------


def only_computes(op: Operation) -> bool:
    """Whether `op`, which has no regions, touches no memory and makes none."""
    if op.regions:
        return False
    return not _MODELS[op.name](op) if op.name in _MODELS else is_side_effect_free(op)


def _speaks_for_itself_only(op: Operation) -> bool:
    """Whether the ops in the regions of `op` are still to be asked."""
    if op.name in _MODELS or op.name in _MODEL_MAKERS:
        return True
    return all(isinstance(t, RecursiveMemoryEffect) for t in op.get_traits_of_type(MemoryEffect))


def has_no_effects(op: Operation) -> bool:
    """Whether `op`, and what it runs, reads and writes nothing: it may be done anew wherever its operands are known."""
    return all(stated_effects(inner) == () for inner in op.walk())


def stated_effects(op: Operation) -> Sequence[Effect] | None:
    """What `op` itself does, or None when nothing is known of it; what the ops in its regions do is theirs to say."""
    if op.name in _MODELS:
        return _MODELS[op.name](op)
    if op.name in _MODEL_MAKERS:
        return _MODEL_MAKERS[op.name]()(op)
    traits = op.get_traits_of_type(MemoryEffect)
    if not traits:
        return () if op.has_trait(IsTerminator, value_if_unregistered=False) else None
    if all(isinstance(trait, RecursiveMemoryEffect) for trait in traits):
        return ()
    if (effects := get_effects(op)) is None:
        return None
    operands = {operand: index for index, operand in enumerate(op.operands)}

    def program_order(effect: EffectInstance) -> tuple[int, str, str]:
        position = operands.get(effect.value, -1) if isinstance(effect.value, SSAValue) else -1
        return position, effect.resource.name(), effect.kind.name

    ordered = sorted((e for e in effects if e.kind != MemoryEffectKind.ALLOC), key=program_order)
    return tuple(Effect(effect.kind != MemoryEffectKind.READ, _target_of(effect)) for effect in ordered)


def _target_of(effect: EffectInstance) -> SSAValue | Resource | None:
    if not isinstance(effect.resource, DefaultResource):
        return Resource(effect.resource.name())
    return effect.value if isinstance(effect.value, SSAValue) else None
