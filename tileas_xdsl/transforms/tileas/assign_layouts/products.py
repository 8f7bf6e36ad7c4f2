"""
Products on the tensor core: the fragments that they need, and conversions around them.

Where threads multiply floats of 8 bits, these become products of f16, which has all of these numbers.

    %s = dot %a, %b, %acc       ->       %held = convert_layout %a : (tensor<64x32xf8E4M3FN, smem>) -> registers
                                         %wide = arith.extf %held : .. to tensor<64x32xf16>
                                         %s = dot %wide, .., %acc

`wgmma` takes bytes only where both operands lie along K, which B does not as loads leave it, and `mma.sync` takes them
from sm_89 on (PTX ISA, "wgmma.mma_async" and "mma"). Products of two f16 are exact in f32: the sums are the same.
`tcgen05` multiplies them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float4E2M1FNType, TensorType, f16
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.threads.tensor_products import ScaledKind, kind_of
from tileas_xdsl.analysis.threads.tiles import SMALL_FLOATS
from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileaa import compute as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.structure import PermuteOp
from tileas_xdsl.dialects.nv_tileas import compute as nv_tileas
from tileas_xdsl.dialects.nv_tileas.compute import BlockScaledMmaOp
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, element_bits, form_of, has_six_bit_floats, layout_of
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp
from tileas_xdsl.dialects.nv_tileas.verification import space_of
from tileas_xdsl.dialects.nvvm.matrix_attributes import BlockScaleKind, Tcgen05MMAKind
from tileas_xdsl.dialects.scalars import Float4E0M3Type
from tileas_xdsl.layouts.defaults import Instructions, ProductForms, in_shared_memory, of_product, widest_swizzle
from tileas_xdsl.layouts.forms import LayoutForm, Mma, ScaleFactors, Swizzled
from tileas_xdsl.targets.chips import Feature, can
from tileas_xdsl.transforms.tileas.assign_layouts.reads import is_plain_in_memory

AXES_OF_SCALES = (0, 1)
"""The dimension of the rows of A in their scale factors, and that of the columns of B in theirs."""
Product = nv_tileaa.DotOp | nv_tileas.DotOp


def layouts_in_memory(function: Operation, warps: int, capability: int) -> dict[Attribute, Attribute]:
    """
    What the types of tiles become that lie in shared memory for products with sums in tensor memory alone: scale
    factors, and an A with fewer rows than an instruction.
    """
    found: dict[Attribute, Attribute] = {}
    others: set[Attribute] = set()
    for op in [each for each in function.walk() if isinstance(each, DotOp)]:
        wanted = dict(_forms_in_memory(op, warps, capability))
        for number, value in enumerate(op.operands):
            tile = cast("TensorType[Attribute]", value.type)
            if number not in wanted or not is_plain_in_memory(value) or form_of(tile) is not None:
                others.add(tile)
                continue
            layout = LayoutAttr.of("smem", form=wanted[number])
            new = TensorType(tile.element_type, tile.get_shape(), layout)
            others |= {tile} if found.setdefault(tile, new) != new else set()
    return {tile: wanted for tile, wanted in found.items() if tile not in others}


def _forms_in_memory(op: DotOp, warps: int, capability: int) -> Iterator[tuple[int, LayoutForm]]:
    """The operands of a product, by number, that lie in shared memory in a form of their own."""
    forms = _best_forms(op, warps, capability)
    if forms is None or not forms.acc.shape.is_tcgen05:
        return
    if (times := _rows_again(op.a, forms)) > 1:
        yield 0, _again(op.a.type, times)
    for number, axis in enumerate(AXES_OF_SCALES[: len(op.operands) - 3], 3):
        yield number, ScaleFactors(axis)


def widen_factors(function: Operation, warps: int, capability: int) -> None:
    """Let products multiply f16 where their factors are smaller floats without scale factors, but for `tcgen05`."""
    for op in [each for each in function.walk() if isinstance(each, DotOp)]:
        is_small = op.sfa is None and _is_small(op.a) and _is_small(op.b)
        if is_small and not _is_of_tensor_memory(op, warps, capability):
            op.operands[0], op.operands[1] = _widened(op, op.a), _widened(op, op.b)


def takes_turned(op: PermuteOp, warps: int, capability: int) -> bool:
    """Whether only products with sums in tensor memory read what is turned: they take rows along any dimension."""
    if not is_plain_in_memory(op.source) or [int(axis) for axis in op.permutation.get_values()] != [1, 0]:
        return False
    readers = [use.operation for use in op.result.uses]
    return bool(readers) and all(
        isinstance(reader, Product) and _is_of_tensor_memory(reader, warps, capability) for reader in readers
    )


def _is_of_tensor_memory(op: Product, warps: int, capability: int) -> bool:
    """Whether the sum of a product will lie in tensor memory."""
    forms = _best_forms(op, warps, capability)
    return forms is not None and forms.acc.shape.is_tcgen05


def _is_small(value: SSAValue) -> bool:
    return isinstance(cast("TensorType[Attribute]", value.type).element_type, SMALL_FLOATS)


def _widened(point: Operation, value: SSAValue) -> SSAValue:
    """The factor as f16 in registers; what is only permuted is widened before."""
    shape = cast("TensorType[Attribute]", value.type).get_shape()
    if isinstance(value.owner, PermuteOp):
        source = _widened(value.owner, value.owner.source)
        return _built(
            point,
            PermuteOp.create(
                operands=[source], result_types=[TensorType(f16, shape)], properties=dict(value.owner.properties)
            ),
        )
    if space_of(value.type) == "smem":
        small = cast("TensorType[Attribute]", value.type).element_type
        value = _built(point, ConvertLayoutOp(value, TensorType(small, shape)))
    return _built(point, arith.ExtFOp(value, TensorType(f16, shape)))


def _built(point: Operation, op: Operation) -> SSAValue:
    op.location = point.location
    Rewriter.insert_op(op, InsertPoint.before(point))
    return op.results[0]


def anchor_products(function: Operation, warps: int, capability: int) -> None:
    """Give the products of a function the fragments that a target has for them."""
    for op in [op for op in function.walk() if isinstance(op, Product | BlockScaledMmaOp)]:
        _refuse_nameless(op)
    for op in [op for op in function.walk() if isinstance(op, Product)]:
        forms = _forms_of(op, warps, capability)
        if forms is not None:
            _anchor(op, forms)


def _refuse_nameless(op: Product | BlockScaledMmaOp) -> None:
    """Raises `RefusedError` for elements that TileAS multiplies and PTX has no name for, or that share bytes."""
    for value in (op.a, op.b):
        match cast("TensorType[Attribute]", value.type).element_type:
            case Float4E0M3Type() as element:
                refuse(op, f"multiplies {element}, FP4 of the form E0M3, which PTX does not have", "use f4E2M1FN")
            case Float4E2M1FNType() as element:
                words = f"multiplies {element}, two of which share a byte, and threads do not move these yet"
                refuse(op, words, "use floats of 8 bits")
            case _:
                pass


def _forms_of(op: Product, warps: int, capability: int) -> ProductForms | None:
    """
    The fragments, None for a product that has them, or that is not one of `mma.sync` or `wgmma`. Floats of 6 bits are
    not: only what is behind sm_100 multiplies them.
    """
    tiles = [value.type for value in (op.a, op.b, op.c)]
    if any(form_of(tile) is None for tile in tiles) or isinstance(form_of(op.c.type), Mma):
        return None
    return _best_forms(op, warps, capability)


def _best_forms(op: Product, warps: int, capability: int) -> ProductForms | None:
    """The fragments that suit the elements and the extents of a product."""
    tiles = [value.type for value in (op.a, op.b, op.c)]
    shapes = [cast(TensorType[Attribute], tile).get_shape() for tile in tiles]
    bits, other = element_bits(op.a.type), element_bits(op.b.type)
    if bits is None or bits != other or any(len(shape) != 2 for shape in shapes):
        return None
    if any(has_six_bit_floats(tile) for tile in tiles):
        return None
    (m, k), (_, n), _ = shapes
    fills_rows = isinstance(kind_of(op), ScaledKind)
    return of_product(m, n, k, bits, warps, _instructions(capability, op), fills_rows=fills_rows)


def _instructions(capability: int, op: Product) -> Instructions:
    """
    The instructions of the target for the elements of a product. Where B has rows along N, as loads leave them, wgmma
    takes elements of 16 bits alone, tcgen05 also of 8, and of 32 only with a swizzle that no load makes (PTX ISA,
    "wgmma.mma_async"; "tcgen05.mma", "Major-ness"). Rows of 16 bytes have no swizzle, by which it finds them.
    """
    if can(capability, Feature.WGMMA):
        return Instructions.WGMMA if element_bits(op.a.type) == 16 else Instructions.MMA_SYNC
    kind = kind_of(op)
    if kind is None or not can(capability, kind.feature):
        return Instructions.MMA_SYNC
    if _lies_along_k(op) or (kind.kind not in ALONG_K and _has_swizzle(op.b)):
        return Instructions.TCGEN05
    return Instructions.MMA_SYNC


def _has_swizzle(factor: SSAValue) -> bool:
    """Whether the rows of a factor are wide enough for one in shared memory."""
    tile, bits = cast("TensorType[Attribute]", factor.type), element_bits(factor.type)
    return bits is not None and widest_swizzle(tile.get_shape(), bits) > 0


ALONG_K = (Tcgen05MMAKind.TF32, BlockScaleKind.MXF4, BlockScaleKind.MXF4NVF4)
"""The kinds of products whose factors have rows along K as loads and swizzles leave them."""


def _lies_along_k(op: Product) -> bool:
    """Whether the rows of A, and of what B is permuted from, lie along K in shared memory."""
    return not isinstance(op.a.owner, PermuteOp) and isinstance(op.b.owner, PermuteOp)


def _anchor(op: Product, forms: ProductForms) -> None:
    """Conversions before and behind the product; operands that the instruction reads from shared memory stay there."""
    before = op.d.type
    for index, form in enumerate((forms.a, forms.b)):
        factor, is_shared = op.operands[index], _space(op.operands[index]) == "smem"
        if form is None and index == 0 and (rows := _rows_again(factor, forms)) > 1:
            _replace(op, index, _converted(op, factor, "smem", _again(factor.type, rows)))
        elif form is None and not is_shared:
            _replace(op, index, _in_shared_memory(op, factor))
        elif form is not None and not (forms.b is None and is_shared):
            _replace(op, index, _converted(op, factor, "rmem", form))
    if forms.acc.shape.is_tcgen05:
        for index, axis in enumerate(AXES_OF_SCALES[: len(op.operands) - 3], 3):
            _replace(op, index, _converted(op, op.operands[index], "smem", ScaleFactors(axis)))
    _replace(op, 2, _converted(op, op.c, "rmem", forms.acc))
    result = Rewriter.replace_value_with_new_type(op.d, op.c.type)
    back = ConvertLayoutOp(result, before)
    back.location = op.location
    Rewriter.insert_op(back, InsertPoint.after(op))
    result.replace_uses_with_if(back.result, lambda use: use.operation is not back)


def _rows_again(a: SSAValue, forms: ProductForms) -> int:
    """How many times the rows of A fill those of an instruction that reads it from shared memory."""
    rows = cast("TensorType[Attribute]", a.type).get_shape()[0]
    return max(1, forms.acc.shape.m // rows) if forms.acc.shape.is_tcgen05 else 1


def _again(type_: Attribute, times: int) -> LayoutForm:
    """The layout of A in shared memory, with its rows that many times."""
    tile, bits = cast("TensorType[Attribute]", type_), element_bits(type_)
    assert bits is not None
    return Swizzled(widest_swizzle(tile.get_shape(), bits), times=times)


def _in_shared_memory(op: Product, factor: SSAValue) -> SSAValue:
    tile, bits = cast(TensorType[Attribute], factor.type), element_bits(factor.type)
    assert bits is not None
    return _converted(op, factor, "smem", in_shared_memory(tile.get_shape(), bits))


def _replace(op: Product, index: int, value: SSAValue) -> None:
    op.operands[index] = value


def _space(value: SSAValue) -> str | None:
    layout = layout_of(value.type)
    return None if layout is None else layout.space.data


def _converted(op: Product, value: SSAValue, space: str, form: LayoutForm) -> SSAValue:
    tile = cast(TensorType[Attribute], value.type)
    wanted = TensorType(tile.element_type, tile.get_shape(), LayoutAttr.of(space, form=form))
    if wanted == tile:
        return value
    conversion = ConvertLayoutOp(value, wanted)
    conversion.location = op.location
    Rewriter.insert_op(conversion, InsertPoint.before(op))
    return conversion.result
