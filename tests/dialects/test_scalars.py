"""What types say of the size of their numbers is what the machine takes for them."""

from __future__ import annotations

import pytest
from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    Float128Type,
    IntegerType,
    MemRefType,
    NoneType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    f80,
    i1,
    i32,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from tileas_xdsl.dialects.scalars import SMALL_FLOATS, Float4E0M3Type, is_number, packed_bits, scalar_bytes, small_float
from tileas_xdsl.machine.core.values import element_type

SMALL: list[Attribute] = [
    kind()
    for name, kind in sorted(vars(builtin).items())
    if name.startswith(("Float4", "Float6", "Float8")) and name.endswith("Type")
]
TYPES: list[Attribute] = [
    *(IntegerType(width) for width in (1, 3, 8, 13, 16, 24, 32, 48, 64, 65, 128)),
    *(IntegerType(width, Signedness.UNSIGNED) for width in (8, 64)),
    *(builtin.IndexType(), f16, f32, f64, bf16, f80, Float128Type(), NoneType(), LLVMPointerType(), Float4E0M3Type()),
    *SMALL,
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_number_takes_as_many_bytes_as_on_the_machine(kind: Attribute) -> None:
    element = element_type(kind)
    assert scalar_bytes(kind) == (None if element is None else element.size)


def test_small_floats_are_all_known_by_xdsl_or_by_name_alone() -> None:
    """The machine has a type of numpy for each, also for those that xDSL does not have (yet)."""
    assert {small_float(kind) for kind in SMALL} - {None} <= set(SMALL_FLOATS.values())
    assert SMALL


@pytest.mark.parametrize(
    ("kind", "bits", "number"),
    [
        (i1, 1, True),
        (TensorType(i32, [4]), 32, True),
        (MemRefType(f16, [4]), 16, True),
        (builtin.IndexType(), 64, True),
        (IntegerType(4), 4, True),
        (Float4E0M3Type(), 4, False),
        (NoneType(), 32, False),
    ],
    ids=str,
)
def test_hardware_packs_what_is_narrower_than_a_byte(kind: Attribute, bits: int, number: bool) -> None:
    assert (packed_bits(kind), is_number(kind)) == (bits, number)
