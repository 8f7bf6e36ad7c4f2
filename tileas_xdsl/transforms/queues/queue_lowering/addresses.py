"""
Pointers to elements of memrefs, as the instructions that copy want them.

    %base = memref.extract_aligned_pointer_as_index %buffer      once, where %buffer is defined
    %number = arith.index_cast %base : index to i64
    %start = llvm.inttoptr %number : i64 to !llvm.ptr<3>
    ...
    %place = arith.addi (arith.muli %row, %c8), %column          where the element is needed
    %offset = arith.index_cast %place : index to i64
    %pointer = llvm.getelementptr %start[%offset] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith, llvm, memref
from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IndexType, IntAttr, IntegerType, i64
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.transforms.queues.queue_lowering.buffers import memref_type, strides_and_offset
from tileas_xdsl.transforms.queues.queue_lowering.copies import Element

Number = int | SSAValue


class Pointers:
    """Makes pointers to elements; the start of each buffer is computed once, where the buffer is defined."""

    def __init__(self) -> None:
        self._starts: dict[tuple[SSAValue, int], SSAValue] = {}
        self._metadata: dict[SSAValue, memref.ExtractStridedMetaDataOp] = {}

    def to(self, element: Element, space: int, before: Operation) -> SSAValue:
        """The address of `element` in address space `space`, computed before the op `before`."""
        builder = Builder(InsertPoint.before(before))
        place = self._place(element, builder)
        start = self._start(element.buffer, space)
        if place == 0:
            return start
        indices, computed = ([place], []) if isinstance(place, int) else ([GEP_USE_SSA_VAL], [_as_i64(place, builder)])
        kind = _element_type(memref_type(element.buffer).element_type)
        return builder.insert(llvm.GEPOp(start, indices, kind, computed, _pointer_type(space))).result

    def _start(self, buffer: SSAValue, space: int) -> SSAValue:
        if (buffer, space) not in self._starts:
            builder = Builder(_behind(buffer))
            base = builder.insert(memref.ExtractAlignedPointerAsIndexOp.get(buffer)).aligned_pointer
            number = builder.insert(arith.IndexCastOp(base, i64)).result
            to_pointer = llvm.IntToPtrOp.create(operands=[number], result_types=[_pointer_type(space)])
            start = builder.insert(to_pointer).output
            start.name_hint = buffer.name_hint
            self._starts[buffer, space] = start
        return self._starts[buffer, space]

    def _place(self, element: Element, builder: Builder) -> Number:
        """How many elements after the start `element` lies."""
        layout = strides_and_offset(element.buffer)
        strides, offset = layout if layout is not None else ([None] * len(element.indices), None)
        total: Number = offset if offset is not None else self._described(element.buffer).offset
        for axis, (index, stride) in enumerate(zip(element.indices, strides, strict=True)):
            step: Number = stride if stride is not None else self._described(element.buffer).strides[axis]
            number = constant_integer(index)
            total = _sum(total, _product(index if number is None else number, step, builder), builder)
        return total

    def _described(self, buffer: SSAValue) -> memref.ExtractStridedMetaDataOp:
        if buffer not in self._metadata:
            self._metadata[buffer] = Builder(_behind(buffer)).insert(memref.ExtractStridedMetaDataOp(buffer))
        return self._metadata[buffer]


def _behind(value: SSAValue) -> InsertPoint:
    """The place right behind the definition of `value`."""
    owner = value.owner
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)


def _product(a: Number, b: Number, builder: Builder) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1 or b == 1:
        return b if a == 1 else a
    return builder.insert(arith.MuliOp(_value(a, builder), _value(b, builder))).result


def _sum(a: Number, b: Number, builder: Builder) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0 or b == 0:
        return b if a == 0 else a
    return builder.insert(arith.AddiOp(_value(a, builder), _value(b, builder))).result


def _value(number: Number, builder: Builder) -> SSAValue:
    if isinstance(number, SSAValue):
        return number
    return builder.insert(arith.ConstantOp.from_int_and_width(number, IndexType())).result


def _as_i64(value: SSAValue, builder: Builder) -> SSAValue:
    return builder.insert(arith.IndexCastOp(value, i64)).result


def _pointer_type(space: int) -> LLVMPointerType:
    return LLVMPointerType(IntAttr(space))


def _element_type(element: Attribute) -> Attribute:
    """A type of the size of an element that LLVM knows: what `getelementptr` steps by."""
    assert isinstance(element, FixedBitwidthType)
    return element if isinstance(element, AnyFloat) and element.bitwidth in (32, 64) else IntegerType(element.bitwidth)
