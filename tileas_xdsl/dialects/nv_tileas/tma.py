"""
The tensor memory accelerator: descriptors, and transfers of boxes (PTX ISA, "Tensors").

    %desc = nv_tileas.make_tiled_tma_desc %array attributes {atom = #nv_tileas<atom tma_load>, box = array<i64: 64, 64>}
    : (memref<512x512xf16>) -> !nv_tileas.tma_desc
    %t = nv_tileas.async.tiled_tma_load %desc[%i, %j], %buffer barrier(%b) attributes {atom = #nv_tileas<atom tma_load>}
    : (!nv_tileas.tma_desc, tensor<64x64xf16, #smem>, index, index, !nv_tileas.mbarrier) -> !nv_tileas.token

Coordinates and extents are written outermost first; the conversion to NVVM reverses them. The box, in elements, comes
from the op that makes the descriptor or from the atom of the transfer, and the two agree.

`in_bounds` left out means in bounds. `leading_offset` is a unit property. The barrier of a TMA op is optional: the
pipeline has one. A pointer to an mbarrier may stand in its place (`convert-pipeline-to-nvvm`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IndexType, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.types import PointerType
from tileas_xdsl.dialects.nv_tileas.attributes import (
    AtomAttr,
    AtomFamily,
    OutOfBoundsModeAttr,
    PaddingValueAttr,
    SwizzleModeAttr,
)
from tileas_xdsl.dialects.nv_tileas.memory import PADDING, verify_atom
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType, TmaDescriptorType
from tileas_xdsl.dialects.nv_tileas.verification import (
    I32,
    I64_ARRAY,
    TENSOR,
    TENSOR_OR_VIEW,
    element_bits,
    expect_count,
    integers_of,
    space_of,
)
from tileas_xdsl.dialects.tiles.access import verify_optional_operands
from tileas_xdsl.dialects.tiles.policies import PaddingValue
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Accesses, LeadsToOperand, MemoryConsistency
from tileas_xdsl.dialects.tiles.types import element_type_of, extents, shape_of

MAXIMUM_RANK = 5
"""The most axes that a descriptor has."""

LOAD_MODES = ("tile", "im2col", "multicast")
"""Modes of a tiled TMA load, where the atom names one."""

LINE_BITS = 128
"""The innermost extent of a box is a multiple of 16 bytes."""

COORDINATE = BaseAttr(IndexType) | BaseAttr(IntegerType)


@irdl_op_definition
class MakeTiledTmaDescOp(TileOp):
    """
    Describe an array in global memory, and the boxes that transfers take from it.

    The box is an attribute, or one `index` operand for each axis. Elements are taken without gaps.
    """

    name = "nv_tileas.make_tiled_tma_desc"

    view = operand_def()
    box_dims = var_operand_def(IndexType)
    descriptor = result_def(TmaDescriptorType)
    atom = opt_prop_def()
    box = opt_prop_def(I64_ARRAY)
    element_strides = opt_prop_def(I64_ARRAY)
    swizzle_mode = opt_prop_def(SwizzleModeAttr)
    oob_mode = opt_prop_def(OutOfBoundsModeAttr)
    tma_idx = opt_prop_def(I32, prop_name="tmaIdx")

    traits = traits_def(NoMemoryEffect(), MemoryConsistency(), LeadsToOperand())

    def __init__(
        self,
        view: SSAValue,
        atom: Attribute,
        *,
        box: Sequence[int] | None = None,
        box_dims: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        given: dict[str, Attribute | None] = {
            "atom": atom,
            "box": None if box is None else DenseArrayBase.from_list(i64, list(box)),
        }
        super().__init__(
            operands=[view, box_dims],
            result_types=[TmaDescriptorType()],
            properties={**given, **(properties or {})},
        )

    def verify_contract(self) -> None:
        if isinstance(self.atom, AtomAttr) or self.atom is None:
            families = (AtomFamily.TMA_LOAD, AtomFamily.TMA_STORE, AtomFamily.TMA_REDG)
            verify_atom(self.atom, families, "invalid TMA atom type", required=True)
        if space_of(self.view.type) not in (None, "gmem"):
            raise VerifyException(f"expects a view of global memory, but got {self.view.type}")
        if self.box is not None and self.box_dims:
            raise VerifyException("expects the box as an attribute or as operands, not both")
        if self.element_strides is not None and any(stride != 1 for stride in self.element_strides.get_values()):
            raise VerifyException("only support element_stride = 1 tma desc")
        self._verify_box()

    def _verify_box(self) -> None:
        atom_box = self.atom.box if isinstance(self.atom, AtomAttr) else None
        box = integers_of(self.box)
        rank = len(box) if box is not None else len(self.box_dims)
        if atom_box is not None and rank and rank != len(atom_box):
            raise VerifyException("tmaBoxDim and atomBoxDim length mismatch")
        if atom_box is not None and box is not None and box != atom_box:
            raise VerifyException("tmaBoxDim and atomBoxDim mismatch")
        bits = element_bits(self.view.type)
        if box and bits is not None and box[-1] * bits % LINE_BITS:
            raise VerifyException("tma leading box-dim bit-width is not 16 bytes aligned")


class TransferOp(TileOp, ABC):
    """A transfer between global memory, behind a descriptor, and a tile in shared memory."""

    SUBSCRIPTS: ClassVar[str | None] = "coords"
    SUBSCRIPTED: ClassVar[str | None] = "descriptor"
    FAMILY: ClassVar[AtomFamily]

    atom = opt_prop_def()
    tma_idx = opt_prop_def(I32, prop_name="tmaIdx")
    tx_count = opt_prop_def(I32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_transfer(self, descriptor: SSAValue, tile: Attribute, coords: Sequence[SSAValue]) -> None:
        """Atom, coordinates, memory and box of the transfer; in this order."""
        verify_atom(self.atom, (self.FAMILY,), f"expect a {self.FAMILY.value} atom type", required=True)
        maker = descriptor.owner
        view_shape = shape_of(maker.view.type) if isinstance(maker, MakeTiledTmaDescOp) else None
        if view_shape is not None and len(coords) != len(view_shape):
            raise VerifyException(f"expects {len(view_shape)} coordinates, but got {len(coords)}")
        expect_count("coordinate", len(coords), 1, MAXIMUM_RANK)
        if space_of(tile) not in (None, "smem"):
            raise VerifyException("smem layout is not TMA compatible")
        self._verify_box(integers_of(maker.box) if isinstance(maker, MakeTiledTmaDescOp) else None, tile)

    def _verify_box(self, described: tuple[int, ...] | None, tile: Attribute) -> None:
        atom_box = self.atom.box if isinstance(self.atom, AtomAttr) else None
        if described is not None and atom_box is not None and described != atom_box:
            raise VerifyException("tma box-dim and copy atom box-dim mismatch")
        box, bits = atom_box or described, element_bits(tile)
        if box and bits is not None and box[-1] * bits % LINE_BITS:
            raise VerifyException("tma boxDims[0] * elemTypeBitWidth is not a multiple of 16 bytes")


def is_zero(padding: Attribute | None) -> bool:
    """Whether `padding` is absent or reads as zero."""
    match padding:
        case None:
            return True
        case PaddingValueAttr():
            return padding.data is PaddingValue.ZERO
        case IntegerAttr() | FloatAttr():
            return padding.value.data == 0
        case _:
            return False


@irdl_op_definition
class TiledTmaLoadOp(TransferOp):
    """`%t = nv_tileas.async.tiled_tma_load %desc[%i, %j], %buffer barrier(%b) : (...) -> !nv_tileas.token`"""

    name = "nv_tileas.async.tiled_tma_load"

    FAMILY: ClassVar = AtomFamily.TMA_LOAD

    descriptor = operand_def(TmaDescriptorType)
    destination = operand_def(TENSOR_OR_VIEW)
    coords = var_operand_def(COORDINATE)
    barrier = var_operand_def()
    done = result_def(AsyncTokenType)
    padding_value = opt_prop_def(PADDING)

    traits = traits_def(Accesses(reads=(0,), writes=(1,)), MemoryConsistency())

    def __init__(
        self,
        descriptor: SSAValue,
        destination: SSAValue,
        coords: Sequence[SSAValue],
        atom: Attribute,
        *,
        barrier: SSAValue | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[descriptor, destination, coords, [] if barrier is None else [barrier]],
            result_types=[AsyncTokenType()],
            properties={"atom": atom, **(properties or {})},
        )

    def verify_contract(self) -> None:
        verify_optional_operands(2 + len(self.coords), self.barrier)
        self.verify_transfer(self.descriptor, self.destination.type, self.coords)
        mode = self.atom.mode if isinstance(self.atom, AtomAttr) else None
        if mode is not None and mode not in LOAD_MODES:
            raise VerifyException(f"unsupported tma load mode '{mode}'")
        if not is_zero(self.padding_value):
            raise VerifyException("TmaLoad only support zero padding now")


@irdl_op_definition
class TiledTmaStoreOp(TransferOp):
    """
    `%t = nv_tileas.async.tiled_tma_store %desc[%i, %j], %tile : (...) -> !nv_tileas.token`

    With `warpgroups = n` the tile is stored in n equal parts of its rows, each by the warpgroup that has written it.
    """

    name = "nv_tileas.async.tiled_tma_store"

    FAMILY: ClassVar = AtomFamily.TMA_STORE

    descriptor = operand_def(TmaDescriptorType)
    source = operand_def(TENSOR_OR_VIEW)
    coords = var_operand_def(COORDINATE)
    warpgroups = opt_prop_def(I32)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(1,), writes=(0,)), MemoryConsistency())

    def __init__(
        self,
        descriptor: SSAValue,
        source: SSAValue,
        coords: Sequence[SSAValue],
        atom: Attribute,
        *,
        properties: Mapping[str, Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[descriptor, source, coords],
            result_types=[AsyncTokenType()],
            properties={"atom": atom, **(properties or {})},
        )

    @property
    def parts(self) -> int:
        """In how many parts of its rows the tile is stored."""
        return 1 if self.warpgroups is None else self.warpgroups.value.data

    def verify_contract(self) -> None:
        self.verify_transfer(self.descriptor, self.source.type, self.coords)
        rows = sum(extents(self.source.type)[-2:-1])
        if self.parts < 1 or (self.parts > 1 and (rows == 0 or rows % self.parts)):
            raise VerifyException(f"expects {self.parts} warpgroups to have as many rows each, of {rows}")


# Gather and scatter -------------------------------------------------------------------------------


def verify_lanes(lanes: Attribute) -> None:
    """The lanes of a gather or scatter are coordinates or addresses."""
    element = element_type_of(lanes)
    if not isinstance(element, IntegerType | IndexType | PointerType):
        raise VerifyException(f"expects a tile of coordinates or addresses, but got {lanes}")


@irdl_op_definition
class GatherTmaLoadOp(TransferOp):
    """`%t = nv_tileas.async.gather_tma_load %desc[%i], %buffer, %rows barrier(%b) : (...) -> !nv_tileas.token`"""

    name = "nv_tileas.async.gather_tma_load"

    FAMILY: ClassVar = AtomFamily.TMA_LOAD

    descriptor = operand_def(TmaDescriptorType)
    destination = operand_def(TENSOR_OR_VIEW)
    coords = var_operand_def(COORDINATE)
    lanes = operand_def(TENSOR)
    barrier = var_operand_def()
    done = result_def(AsyncTokenType)
    padding_value = opt_prop_def(PADDING)

    traits = traits_def(Accesses(reads=(0,), writes=(1,)), MemoryConsistency())

    def verify_contract(self) -> None:
        verify_optional_operands(3 + len(self.coords), self.barrier)
        self.verify_transfer(self.descriptor, self.destination.type, self.coords)
        verify_lanes(self.lanes.type)
        if not is_zero(self.padding_value):
            raise VerifyException("GatherTmaLoad only support zero padding now")


@irdl_op_definition
class ScatterTmaStoreOp(TransferOp):
    """`%t = nv_tileas.async.scatter_tma_store %desc[%i], %tile, %rows : (...) -> !nv_tileas.token`"""

    name = "nv_tileas.async.scatter_tma_store"

    FAMILY: ClassVar = AtomFamily.TMA_STORE

    descriptor = operand_def(TmaDescriptorType)
    source = operand_def(TENSOR_OR_VIEW)
    coords = var_operand_def(COORDINATE)
    lanes = operand_def(TENSOR)
    done = result_def(AsyncTokenType)

    traits = traits_def(Accesses(reads=(1,), writes=(0,)), MemoryConsistency())

    def verify_contract(self) -> None:
        self.verify_transfer(self.descriptor, self.source.type, self.coords)
        verify_lanes(self.lanes.type)
        if "padding_value" in self.attributes:
            raise VerifyException("expects no padding_value on a scatter")


TMA_OPS = (MakeTiledTmaDescOp, TiledTmaLoadOp, TiledTmaStoreOp, GatherTmaLoadOp, ScatterTmaStoreOp)
