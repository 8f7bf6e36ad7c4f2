"""
The instruction descriptor of `tcgen05.mma`: a word that says the elements and the extents of a product.

| bits | what they say |
|---|---|
| 4-5 | the sum: 1 f32, 2 i32 |
| 7-9, 10-12 | the elements of A, and of B: a number of the kind |
| 15, 16 | whether neighbours of A, and of B, are so along M, and along N |
| 17-22 | N / 8 |
| 24-28 | M / 16 |

Of a product with scale factors bits 4-5 and 29-30 say at which byte of a word the factors of B, and of A, begin, bit 23
that they are powers of two, and 27-28 M / 128.

(PTX ISA, "TensorCore 5th Generation Instructions", "Instruction descriptor".)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    FloatTF32Type,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nvvm.matrix_attributes import BlockScaleKind, Tcgen05MMAKind


class Field(NamedTuple):
    """Some bits of the word; the number in them counts in units."""

    start: int
    bits: int
    unit: int = 1

    def of(self, word: int) -> int:
        """What the word says."""
        return (word >> self.start & (1 << self.bits) - 1) * self.unit

    def put(self, number: int) -> int:
        """A word that says `number`, a multiple of the unit that fits, and nothing else."""
        return number // self.unit << self.start


SUM, A, B = Field(4, 2), Field(7, 3), Field(10, 3)
A_ALONG_M, B_ALONG_N = Field(15, 1), Field(16, 1)
COLUMNS, ROWS = Field(17, 6, 8), Field(24, 5, 16)
ROWS_OF_SCALED = Field(27, 2, 128)
SCALES_OF_A, SCALES_OF_B, POWERS_OF_TWO = Field(29, 2), Field(4, 2), Field(23, 1)

F32_SUM, I32_SUM = 1, 2
ELEMENTS: Mapping[Tcgen05MMAKind, Mapping[Attribute, int]] = {
    Tcgen05MMAKind.F16: {Float16Type(): 0, BFloat16Type(): 1},
    Tcgen05MMAKind.TF32: {FloatTF32Type(): 2},
    Tcgen05MMAKind.F8F6F4: {Float8E4M3FNType(): 0, Float8E5M2Type(): 1},
    Tcgen05MMAKind.I8: {
        IntegerType[Any, Any](8, Signedness.UNSIGNED): 0,
        IntegerType[Any, Any](8, Signedness.SIGNED): 1,
    },
}
"""Kind -> elements of 8 bits and more, and the numbers that stand for them. (There are floats of 4 and 6 bits, too.)"""
ELEMENTS_OF_SCALED: Mapping[BlockScaleKind, Mapping[Attribute, int]] = {
    BlockScaleKind.MXF8F6F4: ELEMENTS[Tcgen05MMAKind.F8F6F4],
    BlockScaleKind.MXF4: {Float4E2M1FNType(): 1},
    BlockScaleKind.MXF4NVF4: {Float4E2M1FNType(): 1},
}
"""The same of products with scale factors."""
