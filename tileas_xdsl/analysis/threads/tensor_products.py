"""Products of `tcgen05`: which kinds of elements there are, and which chips have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import Float8E8M0FNUType, Float32Type, FloatTF32Type, IntegerType, f32, i8, i32
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.attributes import Signedness, SignednessAttr
from tileas_xdsl.dialects.nv_tileas.block_scaled import BlockScaledInputs, Configuration, configuration_of
from tileas_xdsl.dialects.nvvm.instruction_descriptor import (
    A_ALONG_M,
    B_ALONG_N,
    COLUMNS,
    ELEMENTS,
    ELEMENTS_OF_SCALED,
    F32_SUM,
    I32_SUM,
    POWERS_OF_TWO,
    ROWS_OF_SCALED,
    SCALES_OF_A,
    SCALES_OF_B,
    SUM,
    A,
    B,
)
from tileas_xdsl.dialects.nvvm.instruction_descriptor import ROWS as ROWS_FIELD
from tileas_xdsl.dialects.nvvm.matrix_attributes import BlockScaleKind, Tcgen05BlockScale, Tcgen05MMAKind
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
        elements = SUM.put(sum_) | A.put(a) | B.put(b)
        return (
            elements | A_ALONG_M.put(a_along_m) | B_ALONG_N.put(b_along_n) | COLUMNS.put(columns) | ROWS_FIELD.put(rows)
        )


@dataclass(frozen=True)
class ScaledKind:
    """The elements that a product with scale factors multiplies, and how these are read."""

    kind: BlockScaleKind
    scale: Tcgen05BlockScale
    codes: tuple[int, int]
    """Of the elements of A and B."""
    powers_of_two: bool
    """Whether the factors are: E8M0, not E4M3."""
    factors: int
    """Of a row, for one instruction."""

    @property
    def feature(self) -> Feature:
        """What a chip needs for it."""
        return Feature.TCGEN05

    def descriptor(self, columns: int, first: int, *, a_along_m: bool, b_along_n: bool) -> int:
        """The instruction descriptor of a product of 128 rows, whose factors begin at byte `first` of their words."""
        elements = A.put(self.codes[0]) | B.put(self.codes[1]) | POWERS_OF_TWO.put(self.powers_of_two)
        elements |= A_ALONG_M.put(a_along_m) | B_ALONG_N.put(b_along_n)
        return (
            elements | SCALES_OF_A.put(first) | SCALES_OF_B.put(first) | COLUMNS.put(columns) | ROWS_OF_SCALED.put(ROWS)
        )


ROWS = 128
"""Of a product with scale factors."""
KINDS: dict[tuple[int, int], tuple[BlockScaleKind, Tcgen05BlockScale]] = {
    (32, 32): (BlockScaleKind.MXF8F6F4, Tcgen05BlockScale.DEFAULT),
    (64, 32): (BlockScaleKind.MXF4, Tcgen05BlockScale.DEFAULT),
    (64, 16): (BlockScaleKind.MXF4NVF4, Tcgen05BlockScale.BLOCK16),
}
"""K of an instruction, elements of a factor -> the kind (PTX ISA, "tcgen05.mma", ".scale_vectorsize")."""


def _kind_of_scaled(a: Attribute, b: Attribute, c: Attribute, extras: Sequence[Attribute]) -> ScaledKind | None:
    """The kind of a product with scale factors; None for what PTX has none of, such as FP4 of the form E0M3."""
    if len(extras) != 2:
        return None
    found = configuration_of(BlockScaledInputs(a, b, c, extras[0], extras[1]))
    if not isinstance(found, Configuration):
        return None
    kind, scale = KINDS[found.atom_k, found.vec_size]
    elements = [element_type_of(each) for each in (a, b)]
    codes = [None if each is None else ELEMENTS_OF_SCALED[kind].get(each) for each in elements]
    if codes[0] is None or codes[1] is None:
        return None
    is_power = isinstance(element_type_of(extras[0]), Float8E8M0FNUType)
    return ScaledKind(kind, scale, (codes[0], codes[1]), is_power, found.atom_k // found.vec_size)


def kind_of_product(
    a: Attribute | None, b: Attribute | None, sum_: Attribute | None, signs: Sequence[Attribute | None]
) -> ProductKind | None:
    """
    The kind of a product of elements `a` and `b` into `sum_`; None where tensor memory has none. `signs` are what the
    op says of integers.
    """
    if isinstance(sum_, Float32Type) and a == b and a in ELEMENTS[Tcgen05MMAKind.F16]:
        return _product(Tcgen05MMAKind.F16, (a, b), F32_SUM)
    if isinstance(sum_, Float32Type) and a == b == f32:
        return _product(Tcgen05MMAKind.TF32, (FloatTF32Type(), FloatTF32Type()), F32_SUM)
    if isinstance(sum_, Float32Type):
        return _product(Tcgen05MMAKind.F8F6F4, (a, b), F32_SUM)
    if (a, b, sum_) == (i8, i8, i32):
        return _product(Tcgen05MMAKind.I8, [INTEGERS.get(sign) for sign in signs], I32_SUM)
    return None


INTEGERS: dict[Attribute | None, Attribute] = {
    SignednessAttr(Signedness.UNSIGNED): IntegerType[Any, Any](8, builtin.Signedness.UNSIGNED),
    SignednessAttr(Signedness.SIGNED): IntegerType[Any, Any](8, builtin.Signedness.SIGNED),
}


def _product(kind: Tcgen05MMAKind, factors: Sequence[Attribute | None], sum_: int) -> ProductKind | None:
    """The product of elements `factors`; None if the kind has not both of them."""
    a, b = (None if each is None else ELEMENTS[kind].get(each) for each in factors)
    return None if a is None or b is None else ProductKind(kind, (a, b, sum_))


def kind_of(op: Operation) -> ProductKind | ScaledKind | None:
    """The kind of a product of tiles; None where tensor memory has none."""
    a, b, c, *extras = op.operands
    if extras:
        return _kind_of_scaled(a.type, b.type, c.type, [extra.type for extra in extras])
    signs = [op.properties.get(name) or op.attributes.get(name) for name in ("signedness_a", "signedness_b")]
    return kind_of_product(element_type_of(a.type), element_type_of(b.type), element_type_of(c.type), signs)
