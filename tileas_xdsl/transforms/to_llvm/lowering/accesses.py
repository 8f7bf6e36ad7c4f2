"""Buffers: `memref`, and loads and stores of vectors. Addresses are computed in elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import llvm, memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, VectorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.transforms.to_llvm.lowering.state import Buffer, Lowering, Number, refusal, rule
from tileas_xdsl.transforms.to_llvm.lowering.types import buffer_type, element_bytes, number_type

LARGEST_CONSTANT = 1 << 31
"""Constant indices of `getelementptr` have 32 bits."""

# Loads and stores -----------------------------------------------------------------------------------------------------


def _element(low: Lowering, buffer: Buffer, indices: Sequence[SSAValue]) -> SSAValue:
    """The pointer to an element."""
    place = buffer.offset
    for index, stride in zip(indices, buffer.strides, strict=True):
        place = low.add(place, low.multiply(low.number(index), stride))
    return _shifted(low, buffer.pointer, place, buffer.type.element)


def _shifted(low: Lowering, pointer: SSAValue, place: Number, element: Attribute) -> SSAValue:
    if place == 0:
        return pointer
    type_ = cast(llvm.LLVMPointerType, pointer.type)
    if isinstance(place, int) and abs(place) < LARGEST_CONSTANT:
        return low.result(llvm.GEPOp(pointer, [place], element, result_type=type_))
    value = low.as_value(place)
    return low.result(llvm.GEPOp(pointer, [llvm.GEP_USE_SSA_VAL], element, [value], result_type=type_))


@rule(memref.LoadOp)
def _load(op: memref.LoadOp, low: Lowering) -> None:
    buffer = low.buffer(op.memref)
    _give_loaded(low, op.res, buffer, _element(low, buffer, op.indices))


@rule(vector.LoadOp)
def _load_vector(op: vector.LoadOp, low: Lowering) -> None:
    buffer = low.buffer(op.base)
    _give_loaded(low, op.result, buffer, _element(low, buffer, op.indices))


def _give_loaded(low: Lowering, result: SSAValue, buffer: Buffer, pointer: SSAValue) -> None:
    type_ = number_type(result.type)
    assert type_ is not None
    low.give(result, low.result(llvm.LoadOp(pointer, type_, alignment=element_bytes(buffer.type.element))))


@rule(memref.StoreOp)
def _store(op: memref.StoreOp, low: Lowering) -> None:
    buffer = low.buffer(op.memref)
    _put(low, low.of(op.value), buffer, _element(low, buffer, op.indices))


@rule(vector.StoreOp)
def _store_vector(op: vector.StoreOp, low: Lowering) -> None:
    buffer = low.buffer(op.base)
    _put(low, low.of(op.vector), buffer, _element(low, buffer, op.indices))


def _put(low: Lowering, value: SSAValue, buffer: Buffer, pointer: SSAValue) -> None:
    low.insert(llvm.StoreOp(value, pointer, alignment=element_bytes(buffer.type.element)))


@refusal(memref.LoadOp, memref.StoreOp, vector.LoadOp, vector.StoreOp)
def _access_of_a_kind(op: Operation) -> tuple[str, str] | None:
    buffers = [kind for value in op.operands if (kind := buffer_type(value.type)) is not None]
    is_vector = any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results))
    if any(kind.strides is not None and kind.strides[-1:] not in ((), (1,)) for kind in buffers) and is_vector:
        return "accesses a vector whose elements do not lie side by side", "access its elements one by one"
    if any(str(kind.element) == "i1" for kind in buffers):
        return "accesses elements of one bit, which LLVM keeps in bytes of its own", "keep them as i8"
    return None


# Buffers from elsewhere -----------------------------------------------------------------------------------------------


@rule(memref.GetGlobalOp)
def _get_global(op: memref.GetGlobalOp, low: Lowering) -> None:
    kind = buffer_type(op.memref.type)
    assert kind is not None
    low.give(op.memref, low.result(llvm.AddressOfOp(op.name_.root_reference.data, pointer_type(kind.space))))


@rule(memref.AllocaOp)
def _alloca(op: memref.AllocaOp, low: Lowering) -> None:
    kind = buffer_type(op.memref.type)
    assert kind is not None
    count = 1
    for size in kind.sizes:
        count *= size or 0
    alloca = llvm.AllocaOp(low.integer(count), kind.element, 16)
    low.give(op.memref, low.result(alloca))


@refusal(memref.AllocaOp)
def _alloca_of_unknown_size(op: memref.AllocaOp) -> tuple[str, str] | None:
    kind = buffer_type(op.memref.type)
    if kind is None or (None not in kind.sizes and kind.strides is None and kind.space == 0):
        return None
    return f"makes a '{op.memref.type}'", "make buffers of one thread of constant size, in its own memory"


# Views ----------------------------------------------------------------------------------------------------------------


@rule(memref.SubviewOp)
def _subview(op: memref.SubviewOp, low: Lowering) -> None:
    source = low.buffer(op.source)
    offsets = _numbers(low, op.static_offsets, op.offsets)
    sizes = _numbers(low, op.static_sizes, op.sizes)
    steps = _numbers(low, op.static_strides, op.strides)
    place = source.offset
    for offset, stride in zip(offsets, source.strides, strict=True):
        place = low.add(place, low.multiply(offset, stride))
    strides = [low.multiply(step, stride) for step, stride in zip(steps, source.strides, strict=True)]
    kept = kept_dimensions(op)
    low.give_buffer(op.result, source.pointer, place, [sizes[k] for k in kept], [strides[k] for k in kept])


def _numbers(low: Lowering, static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[Number]:
    given = iter(dynamic)
    return [low.number(next(given)) if number == DYNAMIC_INDEX else int(number) for number in static.iter_values()]


def kept_dimensions(op: memref.SubviewOp) -> list[int]:
    """The dimensions of the source that the result has too: those of size 1 may have been dropped."""
    result = list(cast("Any", op.result.type).get_shape())
    kept: list[int] = []
    for dimension, size in enumerate(op.static_sizes.iter_values()):
        if len(kept) < len(result) and int(size) == result[len(kept)]:
            kept.append(dimension)
    return kept


@refusal(memref.SubviewOp)
def _subview_whose_numbers_its_type_lacks(op: memref.SubviewOp) -> tuple[str, str] | None:
    kind = buffer_type(op.result.type)
    if kind is None or kind.strides is not None:
        return None
    strides = cast("Any", op.source.type).get_strides()
    trivial = all(int(number) in (0, DYNAMIC_INDEX) for number in op.static_offsets.iter_values())
    if trivial and strides is not None and not op.offsets:
        return None
    return f"has the type '{op.result.type}', which does not say where it begins", "give it a strided layout"


@rule(memref.CastOp)
def _cast(op: memref.CastOp, low: Lowering) -> None:
    source = low.buffer(op.source)
    low.give_buffer(op.dest, source.pointer, source.offset, source.sizes, source.strides)


@rule(memref.MemorySpaceCastOp)
def _cast_space(op: memref.MemorySpaceCastOp, low: Lowering) -> None:
    source, kind = low.buffer(op.source), buffer_type(op.dest.type)
    assert kind is not None
    pointer = source.pointer
    if kind.space != source.type.space:
        pointer = low.result(AddrSpaceCastOp(operands=[pointer], result_types=[pointer_type(kind.space)]))
    low.give_buffer(op.dest, pointer, source.offset, source.sizes, source.strides)


# What is asked of a buffer --------------------------------------------------------------------------------------------


@rule(memref.ExtractAlignedPointerAsIndexOp)
def _pointer(op: memref.ExtractAlignedPointerAsIndexOp, low: Lowering) -> None:
    pointer = low.buffer(op.source).pointer
    low.give(op.aligned_pointer, low.result(llvm.PtrToIntOp(pointer, i64)))


@rule(memref.ExtractStridedMetaDataOp)
def _metadata(op: memref.ExtractStridedMetaDataOp, low: Lowering) -> None:
    source = low.buffer(op.source)
    low.give(op.base_buffer, source.pointer)
    numbers = (source.offset, *source.sizes, *source.strides)
    for result, number in zip((op.offset, *op.sizes, *op.strides), numbers, strict=True):
        low.give(result, low.as_value(number))


@rule(memref.DimOp)
def _dimension(op: memref.DimOp, low: Lowering) -> None:
    number = constant_integer(op.index)
    assert number is not None
    low.give(op.result, low.as_value(low.buffer(op.source).sizes[number]))


@refusal(memref.DimOp)
def _dimension_that_is_computed(op: memref.DimOp) -> tuple[str, str] | None:
    kind, number = buffer_type(op.source.type), constant_integer(op.index)
    if kind is None or (number is not None and 0 <= number < len(kind.sizes)):
        return None
    return "asks for a dimension that is not a constant of the buffer's", "ask by a constant"
