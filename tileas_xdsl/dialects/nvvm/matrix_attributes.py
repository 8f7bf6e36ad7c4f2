"""
The attributes of the ops of `nvvm` that multiply matrices: shapes, element types, and how the tensor core takes its
operands.

All in MLIR's newer spelling, `#nvvm.wgmma_type<f16>`, and `<f16>` in a fixed position.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tileas_xdsl.dialects.upstream import BracketedKeyword

# Of warp-level and warpgroup-level products ---------------------------------------------------------------------------


def _parse_extents(parser: AttrParser, names: str) -> list[Attribute]:
    """`<m = 16, n = 8>`, each extent under its name."""
    extents: list[Attribute] = []
    with parser.in_angle_brackets():
        for number, name in enumerate(names):
            if number:
                parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            extents.append(IntAttr(parser.parse_integer(allow_boolean=False)))
    return extents


@irdl_attr_definition
class MMAShapeAttr(ParametrizedAttribute):
    """`#nvvm.shape<m = 64, n = 64, k = 16>`: D is m x n, and k is summed over."""

    name = "nvvm.shape"

    m: IntAttr
    n: IntAttr
    k: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return _parse_extents(parser, "mnk")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"m = {self.m.data}, n = {self.n.data}, k = {self.k.data}")


@irdl_attr_definition
class LdStMatrixShapeAttr(ParametrizedAttribute):
    """`#nvvm.ld_st_matrix_shape<m = 8, n = 8>`: rows and columns of one of the matrices that are moved."""

    name = "nvvm.ld_st_matrix_shape"

    m: IntAttr
    n: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return _parse_extents(parser, "mn")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"m = {self.m.data}, n = {self.n.data}")


class LdStMatrixElement(StrEnum):
    """The elements of the matrices that are moved, by their bits."""

    B16 = "b16"
    B8 = "b8"
    B8X16_B6X16_P32 = "b8x16.b6x16_p32"
    B8X16_B4X16_P64 = "b8x16.b4x16_p64"


@irdl_attr_definition
class LdStMatrixElementAttr(BracketedKeyword[LdStMatrixElement]):
    """`#nvvm.ld_st_matrix_elt_type<b16>`"""

    name = "nvvm.ld_st_matrix_elt_type"
    KINDS = LdStMatrixElement


class MMAType(StrEnum):
    """The element types of `mma.sync`."""

    F16 = "f16"
    F32 = "f32"
    TF32 = "tf32"
    BF16 = "bf16"
    S8 = "s8"
    U8 = "u8"
    S32 = "s32"
    S4 = "s4"
    U4 = "u4"
    B1 = "b1"
    F64 = "f64"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E3M2 = "e3m2"
    E2M3 = "e2m3"
    E2M1 = "e2m1"


@irdl_attr_definition
class MMATypeAttr(BracketedKeyword[MMAType]):
    """`#nvvm.mma_type<bf16>`"""

    name = "nvvm.mma_type"
    KINDS = MMAType


class MMALayout(StrEnum):
    """Along which dimension a matrix is contiguous."""

    ROW = "row"
    COL = "col"


@irdl_attr_definition
class MMALayoutAttr(BracketedKeyword[MMALayout]):
    """`#nvvm.mma_layout<row>`"""

    name = "nvvm.mma_layout"
    KINDS = MMALayout


class MMAIntOverflow(StrEnum):
    """What becomes of integer sums that are too large."""

    WRAPPED = "wrapped"
    SATFINITE = "satfinite"


@irdl_attr_definition
class MMAIntOverflowAttr(BracketedKeyword[MMAIntOverflow]):
    """`#nvvm.mma_int_overflow<satfinite>`"""

    name = "nvvm.mma_int_overflow"
    KINDS = MMAIntOverflow


class WGMMAType(StrEnum):
    """The element types of `wgmma`."""

    F16 = "f16"
    TF32 = "tf32"
    U8 = "u8"
    S8 = "s8"
    B1 = "b1"
    BF16 = "bf16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    F32 = "f32"
    S32 = "s32"


@irdl_attr_definition
class WGMMATypeAttr(BracketedKeyword[WGMMAType]):
    """`#nvvm.wgmma_type<f16>`"""

    name = "nvvm.wgmma_type"
    KINDS = WGMMAType


class WGMMAScaleIn(StrEnum):
    """Whether an input is negated."""

    ONE = "one"
    NEG = "neg"


@irdl_attr_definition
class WGMMAScaleInAttr(BracketedKeyword[WGMMAScaleIn]):
    """`#nvvm.wgmma_scale_in<one>`"""

    name = "nvvm.wgmma_scale_in"
    KINDS = WGMMAScaleIn


class WGMMAScaleOut(StrEnum):
    """Whether the accumulator is added to (`one`), or only written (`zero`)."""

    ZERO = "zero"
    ONE = "one"


@irdl_attr_definition
class WGMMAScaleOutAttr(BracketedKeyword[WGMMAScaleOut]):
    """`#nvvm.wgmma_scale_out<one>`"""

    name = "nvvm.wgmma_scale_out"
    KINDS = WGMMAScaleOut


# Of the tensor core with its own memory (tcgen05) ---------------------------------------------------------------------


class Tcgen05Fence(StrEnum):
    """On which side of a synchronisation between threads a fence stands."""

    BEFORE = "before"
    AFTER = "after"


@irdl_attr_definition
class Tcgen05FenceAttr(BracketedKeyword[Tcgen05Fence]):
    """`#nvvm.tcgen05_fence<before>`"""

    name = "nvvm.tcgen05_fence"
    KINDS = Tcgen05Fence


class Tcgen05Wait(StrEnum):
    """Which transfers between registers and tensor memory are waited for."""

    LOAD = "load"
    STORE = "store"


@irdl_attr_definition
class Tcgen05WaitAttr(BracketedKeyword[Tcgen05Wait]):
    """`#nvvm.tcgen05_wait<load>`"""

    name = "nvvm.tcgen05_wait"
    KINDS = Tcgen05Wait


class Tcgen05CpShape(StrEnum):
    """Rows, and bits of a row, of a copy into tensor memory."""

    SHAPE_128X256B = "shape_128x256b"
    SHAPE_4X256B = "shape_4x256b"
    SHAPE_128X128B = "shape_128x128b"
    SHAPE_64X128B = "shape_64x128b"
    SHAPE_32X128B = "shape_32x128b"


@irdl_attr_definition
class Tcgen05CpShapeAttr(BracketedKeyword[Tcgen05CpShape]):
    """`#nvvm.tcgen05_cp_shape<shape_128x256b>`"""

    name = "nvvm.tcgen05_cp_shape"
    KINDS = Tcgen05CpShape


class Tcgen05CpMulticast(StrEnum):
    """Into the lanes of which warps a copy goes, beside those of the first."""

    NONE = "none"
    WARPX2_02_13 = "warpx2_02_13"
    WARPX2_01_23 = "warpx2_01_23"
    WARPX4 = "warpx4"


@irdl_attr_definition
class Tcgen05CpMulticastAttr(BracketedKeyword[Tcgen05CpMulticast]):
    """`#nvvm.tcgen05_cp_multicast<warpx4>`"""

    name = "nvvm.tcgen05_cp_multicast"
    KINDS = Tcgen05CpMulticast


class Tcgen05CpSourceFormat(StrEnum):
    """How 4-bit and 6-bit elements are packed that a copy unpacks."""

    B6X16_P32 = "b6x16_p32"
    B4X16_P64 = "b4x16_p64"


@irdl_attr_definition
class Tcgen05CpSourceFormatAttr(BracketedKeyword[Tcgen05CpSourceFormat]):
    """`#nvvm.tcgen05_cp_src_fmt<b6x16_p32>`"""

    name = "nvvm.tcgen05_cp_src_fmt"
    KINDS = Tcgen05CpSourceFormat


class Tcgen05LdStShape(StrEnum):
    """Lanes, and bits of a lane, of one step of a transfer between registers and tensor memory."""

    SHAPE_16X64B = "shape_16x64b"
    SHAPE_16X128B = "shape_16x128b"
    SHAPE_16X256B = "shape_16x256b"
    SHAPE_32X32B = "shape_32x32b"
    SHAPE_16X32BX2 = "shape_16x32bx2"


@irdl_attr_definition
class Tcgen05LdStShapeAttr(BracketedKeyword[Tcgen05LdStShape]):
    """`#nvvm.tcgen05_ldst_shape<shape_32x32b>`"""

    name = "nvvm.tcgen05_ldst_shape"
    KINDS = Tcgen05LdStShape


class Tcgen05MMAKind(StrEnum):
    """The element types of a product."""

    F16 = "f16"
    TF32 = "tf32"
    F8F6F4 = "f8f6f4"
    I8 = "i8"


@irdl_attr_definition
class Tcgen05MMAKindAttr(BracketedKeyword[Tcgen05MMAKind]):
    """`#nvvm.tcgen05_mma_kind<f16>`"""

    name = "nvvm.tcgen05_mma_kind"
    KINDS = Tcgen05MMAKind


class BlockScaleKind(StrEnum):
    """The element types of a product with scale factors."""

    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"


@irdl_attr_definition
class BlockScaleKindAttr(BracketedKeyword[BlockScaleKind]):
    """`#nvvm.block_scale_kind<mxf4>`"""

    name = "nvvm.block_scale_kind"
    KINDS = BlockScaleKind


class Tcgen05BlockScale(StrEnum):
    """How many elements along K share a scale factor."""

    DEFAULT = "default"
    BLOCK16 = "block16"
    BLOCK32 = "block32"


@irdl_attr_definition
class Tcgen05BlockScaleAttr(BracketedKeyword[Tcgen05BlockScale]):
    """`#nvvm.tcgen05_mma_block_scale<block16>`"""

    name = "nvvm.tcgen05_mma_block_scale"
    KINDS = Tcgen05BlockScale


class Tcgen05CollectorOp(StrEnum):
    """What is done with the buffer that keeps an input for the next product."""

    DISCARD = "discard"
    LASTUSE = "lastuse"
    FILL = "fill"
    USE = "use"


@irdl_attr_definition
class Tcgen05CollectorOpAttr(BracketedKeyword[Tcgen05CollectorOp]):
    """`#nvvm.tcgen05_mma_collectorop<discard>`"""

    name = "nvvm.tcgen05_mma_collectorop"
    KINDS = Tcgen05CollectorOp


class Tcgen05CollectorB(StrEnum):
    """Which of the buffers for the matrix B."""

    B0 = "b0"
    B1 = "b1"
    B2 = "b2"
    B3 = "b3"


@irdl_attr_definition
class Tcgen05CollectorBAttr(BracketedKeyword[Tcgen05CollectorB]):
    """`#nvvm.tcgen05_mma_collectorb<b0>`"""

    name = "nvvm.tcgen05_mma_collectorb"
    KINDS = Tcgen05CollectorB


MATRIX_ATTRIBUTES: tuple[type[Attribute], ...] = (
    MMAShapeAttr,
    LdStMatrixShapeAttr,
    LdStMatrixElementAttr,
    MMATypeAttr,
    MMALayoutAttr,
    MMAIntOverflowAttr,
    WGMMATypeAttr,
    WGMMAScaleInAttr,
    WGMMAScaleOutAttr,
    Tcgen05FenceAttr,
    Tcgen05WaitAttr,
    Tcgen05CpShapeAttr,
    Tcgen05CpMulticastAttr,
    Tcgen05CpSourceFormatAttr,
    Tcgen05LdStShapeAttr,
    Tcgen05MMAKindAttr,
    BlockScaleKindAttr,
    Tcgen05BlockScaleAttr,
    Tcgen05CollectorOpAttr,
    Tcgen05CollectorBAttr,
)
