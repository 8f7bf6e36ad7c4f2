"""
Elements in registers: two of 16 bits share one, four of 8 bits.

    elements 4, 5 of f16     vector<2xf16> number 2
    element 7 of f32         f32 number 7
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.analysis.threads.tiles import Tile
from tileas_xdsl.dialects.extensions.llvm_values import ExtractElementOp
from tileas_xdsl.layouts.distributed import representatives
from tileas_xdsl.transforms.to_llvm.building import constant
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.tiles.values import Registers


def elements(threads: Threads, held: Registers) -> list[SSAValue]:
    """The elements of a thread, one by one, in the order of their registers."""
    if held.tile.packed == 1:
        return list(held.values)
    found: list[SSAValue] = []
    for register in held.values:
        for position in range(held.tile.packed):
            found.append(threads.result(ExtractElementOp(register, threads.number(position))))
    return found


def packed(threads: Threads, tile: Tile, values: Sequence[SSAValue]) -> Registers:
    """A tile in registers, of which a thread has these elements."""
    width = tile.packed
    if width == 1:
        return Registers(tile, tuple(values))
    groups = [values[start : start + width] for start in range(0, len(values), width)]
    return Registers(tile, tuple(vector_of(threads, group) for group in groups))


def vector_of(threads: Threads, values: Sequence[SSAValue]) -> SSAValue:
    """A vector of these elements."""
    zeros = _zeros(values[0].type, len(values))
    found = threads.result(constant(arith.ConstantOp, zeros, zeros.type))
    for position, value in enumerate(values):
        found = threads.result(llvm.InsertElementOp(found, value, threads.number(position)))
    return found


@cache
def _zeros(element: Attribute, count: int) -> DenseIntOrFPElementsAttr[Any]:
    kind: VectorType[Any] = VectorType(element, [count])
    return DenseIntOrFPElementsAttr.from_list(kind, [0 if isinstance(element, IntegerType) else 0.0] * count)


def cast_bits(threads: Threads, value: SSAValue, type_: Attribute) -> SSAValue:
    """The same bits as another type."""
    return value if value.type == type_ else threads.result(llvm.BitcastOp(value, type_))


@dataclass
class Words:
    """Words of memory on their way into the registers of a tile, or out of them."""

    threads: Threads
    tile: Tile
    _words: dict[tuple[int, ...], SSAValue] = field(default_factory=dict[tuple[int, ...], SSAValue])
    """The element numbers in a word, and the word in the type of a register."""

    def put(self, numbers: Sequence[int], word: SSAValue) -> None:
        """A word of 32 bits, or one element, that holds these elements, lowest bits first."""
        kind = self.tile.number if len(numbers) == 1 else VectorType(self.tile.number, [len(numbers)])
        self._words[tuple(numbers)] = cast_bits(self.threads, word, kind)

    def registers(self, spanned: Sequence[int]) -> Registers:
        """The tile, when all words are there; `spanned`: the register numbers whose combinations have been put."""
        width = self.tile.packed
        whole = [self._words.get(tuple(range(first, first + width))) for first in range(0, self.tile.count, width)]
        if all(word is not None for word in whole):
            return Registers(self.tile, tuple(word for word in whole if word is not None))
        known: dict[int, SSAValue] = {}
        for numbers, word in self._words.items():
            for position, number in enumerate(numbers):
                known[number] = word if len(numbers) == 1 else self._element(word, position)
        same = representatives(self.tile.layout, spanned)
        return packed(self.threads, self.tile, [known[same[number]] for number in range(self.tile.count)])

    def _element(self, word: SSAValue, position: int) -> SSAValue:
        return self.threads.result(ExtractElementOp(word, self.threads.number(position)))


class Elements:
    """The elements of a tile on their way out of registers; taken apart at most once."""

    def __init__(self, threads: Threads, held: Registers) -> None:
        self._threads, self._held = threads, held
        self._single: list[SSAValue] | None = None

    def word(self, numbers: Sequence[int]) -> SSAValue:
        """These elements, lowest bits first: one as it is, several as an integer of their bits."""
        width = self._held.tile.packed
        if (
            len(numbers) == width
            and list(numbers) == list(range(numbers[0], numbers[0] + width))
            and not numbers[0] % width
        ):
            found = self._held.values[numbers[0] // width]
            return found if width == 1 else cast_bits(self._threads, found, word_type(self._held.tile, width))
        if self._single is None:
            self._single = elements(self._threads, self._held)
        return word_of(self._threads, [self._single[number] for number in numbers])


def word_of(threads: Threads, elements: Sequence[SSAValue]) -> SSAValue:
    """These elements, lowest bits first: one as it is, several as an integer of their bits."""
    if len(elements) == 1:
        return elements[0]
    bits = len(elements) * getattr(elements[0].type, "bitwidth", 0)
    return cast_bits(threads, vector_of(threads, elements), IntegerType(bits))


def word_elements(bits: int, count: int) -> int:
    """How many elements of `bits` bits a word has, of an access of `count` of them."""
    return max(1, min(count, 32 // bits))


def word_type(tile: Tile, per_word: int) -> Attribute:
    """The type of a word in memory: an element, or the bits of several."""
    return tile.number if per_word == 1 else IntegerType(per_word * tile.bits)
