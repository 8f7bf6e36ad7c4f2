"""
The block-scaled matrix multiplications that exist.

Block scaling multiplies tiles of four- or eight-bit floats whose rows share scale factors, one for each `vec_size`
elements along K. The hardware has three pairs of (K of one instruction, `vec_size`):

    atom_k  vec_size  A and B            scales            packed
    32      32        E5M2 or E4M3FN     E8M0              0x2000000020
    64      16        either FP4 type    E8M0 or E4M3FN    0x4000000010
    64      32        E2M1FN             E8M0              0x4000000020   one CTA only

These are the kinds `mxf8f6f4`, `mxf4nvf4` and `mxf4` of PTX ISA, `tcgen05.mma` with `.block_scale`. The error texts are
those of TileAS. `configuration_of` runs five phases in fixed order; the first that fails gives the diagnostic. A sixth,
in words of our own, asks whether instructions of that configuration tile the shapes.
`packed_configuration` gives what lowering needs, `(atom_k << 32) | vec_size`, or 0. `kind_word_refusal` is the back
end's check of the instruction word.

A block-scaled op with an atom is judged in the atom-level words (`expects sfa/sfb element types to be the same`), one
without in the op-level ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from xdsl.dialects.builtin import Float4E2M1FNType, Float8E4M3FNType, Float8E8M0FNUType, Float32Type
from xdsl.ir import Attribute

from tileas_xdsl.dialects.nv_tileas.verification import static_shape
from tileas_xdsl.dialects.scalars import is_fp4, is_fp8
from tileas_xdsl.dialects.tiles.types import element_type_of
from tileas_xdsl.targets.chips import Feature, can

UNSUPPORTED = "unsupported block-scaled mma configuration"
MULTIPLES = {False: (16, 8), True: (128, 16)}
"""
What M and N are multiples of, by whether two CTAs share the multiplication; M is that of one CTA. The smallest
instruction of one CTA is `mma.sync.m16n8k32` (`m16n8k64` for FP4) with `.block_scale` (PTX ISA, mma; LLVM's
`NVVMOps.td`, "Block scale MMA operations"). Of two it is `tcgen05.mma.cta_group::2`: M = 256, of which each CTA has
128 rows, and N from 16 to 256 in steps of 16 (CUTLASS, `mma_sm100_umma.hpp`, `SM100_MMA_MXF8F6F4_2x1SM_SS`).
"""
SAME_SCALES_OF_ATOM = "expects sfa/sfb element types to be the same"
"""The text of phase 2 for an op with an atom."""
CAPABILITY_REFUSAL = "mma block scale is not supported by compute capability < sm100"


@dataclass(frozen=True)
class BlockScaledInputs:
    """The inputs of the verifier: five tile types, the K of the atom where it is given, and the CTA pairing."""

    a: Attribute
    b: Attribute
    c: Attribute
    sfa: Attribute | None
    sfb: Attribute | None
    atom_k: int | None = None
    two_cta: bool = False


@dataclass(frozen=True)
class Configuration:
    """An accepted pair of `atom_k` and `vec_size`, both in elements along K."""

    atom_k: int
    vec_size: int

    @property
    def packed(self) -> int:
        """`(atom_k << 32) | vec_size`, the form that lowering reads."""
        return self.atom_k << 32 | self.vec_size


def packed_configuration(
    a: Attribute,
    b: Attribute,
    c: Attribute,
    sfa: Attribute | None,
    sfb: Attribute | None,
    *,
    atom_k: int | None = None,
    two_cta: bool = False,
) -> int:
    """`(atom_k << 32) | vec_size` of a block-scaled multiplication of tiles of these types; 0 when there is none."""
    outcome = configuration_of(BlockScaledInputs(a, b, c, sfa, sfb, atom_k, two_cta))
    return outcome.packed if isinstance(outcome, Configuration) else 0


def configuration_of(inputs: BlockScaledInputs) -> Configuration | str:
    """The configuration that the inputs select, or the diagnostic of the first phase that fails."""
    found = _catalogued(inputs)
    return (_shape_refusal(inputs, found) or found) if isinstance(found, Configuration) else found


def _catalogued(inputs: BlockScaledInputs) -> Configuration | str:
    """Phases 1 to 5: element types, the accumulator, and the extents along K."""
    scales = (element_type_of(inputs.sfa) if inputs.sfa else None, element_type_of(inputs.sfb) if inputs.sfb else None)
    fp4 = _is_fp4(inputs.a) or _is_fp4(inputs.b)
    if fp4 and None in scales:
        return "fp4 mma should expect scaling factors"
    if None in scales:
        return UNSUPPORTED
    if scales[0] != scales[1]:
        return "sfa and sfb element type mismatch" if inputs.atom_k is None else SAME_SCALES_OF_ATOM
    if not isinstance(element_type_of(inputs.c), Float32Type):
        return "expects c type to be Float32"
    extents = _k_extents(inputs)
    if extents is None:
        vec_size = 16 if isinstance(scales[0], Float8E4M3FNType) else 32
    else:
        k, k_a, k_b = extents
        if k_a != k_b or k_a < 1 or k % k_a:
            return f"Scale factor vector size mismatch: {k_a}, {k_b}"
        vec_size = k // k_a
    atom_k = inputs.atom_k if inputs.atom_k is not None else (64 if fp4 else 32)
    return _look_up(inputs, scales[0], Configuration(atom_k, vec_size))


def _is_fp4(type_: Attribute) -> bool:
    element = element_type_of(type_)
    return element is not None and is_fp4(element)


def _k_extents(inputs: BlockScaledInputs) -> tuple[int, int, int] | None:
    """
    The extents along K of A, sfa and sfb, or None where only element types are known.

    A is MxK and sfa MxK'. B is KxN; sfb is K'xN, or NxK' where its last extent is not N.
    """
    if inputs.sfa is None or inputs.sfb is None:
        return None
    a, b, sfa, sfb = (static_shape(type_) for type_ in (inputs.a, inputs.b, inputs.sfa, inputs.sfb))
    if not a or not b or not sfa or not sfb or min(len(shape) for shape in (a, b, sfa, sfb)) < 2:
        return None
    k_b = sfb[-2] if sfb[-1] == b[-1] else sfb[-1]
    return a[-1], sfa[-1], k_b


def _look_up(inputs: BlockScaledInputs, scale: Attribute | None, pair: Configuration) -> Configuration | str:
    """Phase 5: the pair determines the operand types; only (64, 32) distinguishes the two FP4 types."""
    elements = (element_type_of(inputs.a), element_type_of(inputs.b))
    e8m0 = isinstance(scale, Float8E8M0FNUType)
    match pair.atom_k, pair.vec_size:
        case 32, 32:
            if not e8m0 or not all(element is not None and is_fp8(element) for element in elements):
                return UNSUPPORTED
        case 64, 16:
            if not all(element is not None and is_fp4(element) for element in elements):
                return (
                    "expects A and B element types are valid 4bit types, such asFloat4E2M1FNType or "
                    "FloatNV4E0M3FType , when (atom_K=64 && vecSize=16)"
                )
            if not e8m0 and not isinstance(scale, Float8E4M3FNType):
                return (
                    "expects sfa/sfb element types to be Float8E8M0FNUType or Float8E4M3FNType when "
                    "(atom_K=64 && vecSize=16)"
                )
        case 64, 32:
            if not e8m0 or not all(isinstance(element, Float4E2M1FNType) for element in elements):
                return (
                    "expects A/B element types to be Float4E2M1FNType and sfa/sfb element types to be "
                    "Float8E8M0FNUType when (atom_K=64 && vecSize=32)"
                )
            if inputs.two_cta:
                return UNSUPPORTED
        case _:
            return UNSUPPORTED
    return pair


def _shape_refusal(inputs: BlockScaledInputs, pair: Configuration) -> str | None:
    """Phase 6: what no instruction of the configuration multiplies, and rows without a scale; None where all fits."""
    shapes = [static_shape(type_) for type_ in (inputs.a, inputs.b, inputs.sfa, inputs.sfb) if type_ is not None]
    if any(not shape or len(shape) < 2 for shape in shapes):
        return None
    a, b, sfa, sfb = (shape for shape in shapes if shape is not None)
    (m, k), n = a[-2:], b[-1]
    columns = sfb[-1] if sfb[-1] == n else sfb[-2]
    least_m, least_n = MULTIPLES[inputs.two_cta]
    if sfa[-2] != m:
        return f"expects scale factors for each of the {m} rows of A, but got {sfa[-2]} rows of them"
    if columns != n:
        return f"expects scale factors for each of the {n} columns of B, but got {columns} columns of them"
    if k % pair.atom_k:
        return f"expects K to be a multiple of {pair.atom_k}, which one instruction multiplies, but got {k}"
    if m % least_m or n % least_n:
        ctas = "two CTAs multiply" if inputs.two_cta else "one CTA multiplies"
        return f"expects M and N to be multiples of {least_m} and {least_n}, as {ctas}, but got {m} and {n}"
    return None


def capability_refusal(compute_capability: int) -> str | None:
    """The diagnostic for a device (major * 10 + minor) without block-scaled multiplication, or None. Refuses 90 too."""
    return None if can(compute_capability, Feature.BLOCK_SCALING) else CAPABILITY_REFUSAL


# The instruction word ----------------------------------------------------------------------------


class Kind(IntEnum):
    """Bits 6 to 8 of the word."""

    MXF4NVF4 = 0
    I8 = 1
    MXF8F6F4 = 2
    F16 = 3
    TF32 = 4
    F8F6F4 = 5
    MXF4 = 7


class ScaleVectorSize(IntEnum):
    """Bits 2 and 3 of the word."""

    X1 = 0
    X2 = 1
    X4 = 2


@dataclass(frozen=True)
class Modifiers:
    """What the kind word is checked against: abilities of the target, and the instruction's other modifiers."""

    arch_conditional: bool = True
    """The target is an architecture-conditional variant, such as sm_100a."""
    scale_input_supported: bool = True
    """The architecture can scale the input accumulator."""
    sparse: bool = False
    ashift: bool = False
    weight_stationary: bool = False
    collector_a_use_or_fill: bool = False


def kind_word_refusal(word: int, modifiers: Modifiers | None = None) -> str | None:
    """
    The text of the first rule that the 9-bit kind word of `tcgen05.mma` breaks, in TileAS's order of rules; None
    without one.

    Bits 0-1 are the CTA group (1 or 2), 2-3 the scale vector size, 4 the scaled input accumulator, 5 block scale, 6-8
    the kind. Raises `ValueError` for a number that is no such word.
    """
    if not 0 <= word < 512 or (word >> 2 & 3) == 3 or (word >> 6) == 6:
        raise ValueError(f"{word:#x} is not a tcgen05 kind word")
    given = modifiers if modifiers is not None else Modifiers()
    cta_group, size, kind = word & 3, ScaleVectorSize(word >> 2 & 3), Kind(word >> 6)
    scale_input, block_scale = bool(word >> 4 & 1), bool(word >> 5 & 1)
    fp4 = kind in (Kind.MXF4, Kind.MXF4NVF4)
    plain = kind in (Kind.F16, Kind.TF32, Kind.F8F6F4, Kind.I8)
    rules = (
        (kind is Kind.I8 and not given.arch_conditional, "INT8 type is supported only on arch-conditional variants."),
        (
            fp4 and given.sparse and not given.arch_conditional,
            "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.",
        ),
        (
            size is not ScaleVectorSize.X1 and not given.arch_conditional,
            "Explicit scale vector size is supported only on arch-conditional variants.",
        ),
        (
            scale_input and not given.scale_input_supported,
            "Scale input accumulator is not supported on this architecture.",
        ),
        (
            scale_input and kind not in (Kind.F16, Kind.TF32),
            "Scale input accumulator can only be used with f16 and tf32 types",
        ),
        (block_scale and plain, "Block scale is not supported for f16, tf32, f8f6f4, and i8 types"),
        (given.ashift and block_scale, "ashift is not supported with tcgen05.mma.block_scale variants"),
        (cta_group == 2 and given.weight_stationary, "cta_group::2 is not supported with weight stationary"),
        (
            given.weight_stationary and (fp4 or kind is Kind.MXF8F6F4),
            "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        ),
        (
            given.collector_a_use_or_fill and given.ashift,
            "Cannot use collector::a::use or colletor::a::fill with ashift",
        ),
        (
            kind is Kind.MXF8F6F4 and size is not ScaleVectorSize.X1,
            "Cannot use 2X or 4X as scale vector size for mxf8f6f4 type",
        ),
        (
            kind is Kind.MXF4NVF4 and size is ScaleVectorSize.X1,
            "Cannot use 1X as scale vector size for mxf4nvf4 type",
        ),
        (
            kind is Kind.MXF4 and size is not ScaleVectorSize.X2,
            "Cannot use 1X or 4X as scale vector size for mxf4 type",
        ),
    )
    return next((text for broken, text in rules if broken), None)
