"""
Products of `tcgen05`: which kinds of elements there are, how their instruction descriptor says it, and which chips have
them.

| bits of the descriptor | what they say |
|---|---|
| 4-5 | the sum: 1 f32, 2 i32 |
| 7-9, 10-12 | the elements of A, and of B: a number of the kind |
| 15, 16 | whether neighbours of A, and of B, are so along M, and along N |
| 17-22 | N / 8 |
| 24-28 | M / 16 |

(PTX ISA, "TensorCore 5th Generation Instructions", "Instruction descriptor".)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.attributes import Signedness, SignednessAttr
from tileas_xdsl.dialects.nvvm.matrix_attributes import Tcgen05MMAKind
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.targets.chips import Feature


@dataclass(frozen=True)
class ProductKind:
    """The elements that a product multiplies, and what it adds them to."""

    kind: Tcgen05MMAKind
    codes: tuple[int, int, int]
    """Of the elements of A and B, and of the sum."""

    @property
    def feature(self) -> Feature:
        """What a chip needs for it."""
        return Feature.TCGEN05_INTEGERS if self.kind is Tcgen05MMAKind.I8 else Feature.TCGEN05

    def descriptor(self, rows: int, columns: int, *, a_along_m: bool, b_along_n: bool) -> int:
        """The instruction descriptor of a product of `rows` x `columns`, by how A and B lie in memory."""
        a, b, sum_ = self.codes
        word = sum_ << 4 | a << 7 | b << 10 | int(a_along_m) << 15 | int(b_along_n) << 16
        return word | columns >> 3 << 17 | rows >> 4 << 24


F32_SUM, I32_SUM = 1, 2
HALVES: dict[type[Attribute], int] = {Float16Type: 0, BFloat16Type: 1}
SMALL_FLOATS: dict[type[Attribute], int] = {Float8E4M3FNType: 0, Float8E5M2Type: 1}
INTEGERS = {Signedness.UNSIGNED: 0, Signedness.SIGNED: 1}


def kind_of_product(
    a: Attribute | None, b: Attribute | None, sum_: Attribute | None, signs: Sequence[Attribute | None]
) -> ProductKind | None:
    """
    The kind of a product of elements `a` and `b` into `sum_`; None where tensor memory has none. `signs` are what the
    op says of integers.
    """
    if isinstance(sum_, Float32Type) and a is not None and b is not None:
        if a == b and type(a) in HALVES:
            return ProductKind(Tcgen05MMAKind.F16, (HALVES[type(a)], HALVES[type(a)], F32_SUM))
        if type(a) in SMALL_FLOATS and type(b) in SMALL_FLOATS:
            return ProductKind(Tcgen05MMAKind.F8F6F4, (SMALL_FLOATS[type(a)], SMALL_FLOATS[type(b)], F32_SUM))
    if (a, b, sum_) == (i8, i8, i32):
        left, right = (INTEGERS[sign.data] if isinstance(sign, SignednessAttr) else None for sign in signs)
        if left is not None and right is not None:
            return ProductKind(Tcgen05MMAKind.I8, (left, right, I32_SUM))
    return None


def kind_of(op: Operation) -> ProductKind | None:
    """The kind of a product of tiles; None where tensor memory has none, or where it has scale factors."""
    a, b, c, *extras = op.operands
    if extras:
        return None
    signs = [op.properties.get(name) or op.attributes.get(name) for name in ("signedness_a", "signedness_b")]
    return kind_of_product(element_type_of(a.type), element_type_of(b.type), element_type_of(c.type), signs)
