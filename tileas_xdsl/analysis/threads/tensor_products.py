"""Products of `tcgen05`: which kinds of elements there are, and which chips have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import Float32Type, FloatTF32Type, IntegerType, f32, i8, i32
from xdsl.ir import Attribute, Operation

from tileas_xdsl.dialects.nv_tileaa.attributes import Signedness, SignednessAttr
from tileas_xdsl.dialects.nvvm.instruction_descriptor import (
    A_ALONG_M,
    B_ALONG_N,
    COLUMNS,
    ELEMENTS,
    F32_SUM,
    I32_SUM,
    ROWS,
    SUM,
    A,
    B,
)
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
        elements = SUM.put(sum_) | A.put(a) | B.put(b)
        return elements | A_ALONG_M.put(a_along_m) | B_ALONG_N.put(b_along_n) | COLUMNS.put(columns) | ROWS.put(rows)


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


def kind_of(op: Operation) -> ProductKind | None:
    """The kind of a product of tiles; None where tensor memory has none, or where it has scale factors."""
    a, b, c, *extras = op.operands
    if extras:
        return None
    signs = [op.properties.get(name) or op.attributes.get(name) for name in ("signedness_a", "signedness_b")]
    return kind_of_product(element_type_of(a.type), element_type_of(b.type), element_type_of(c.type), signs)
