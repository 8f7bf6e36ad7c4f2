"""Block-scaled multiplication: accepted configurations, order of the phases, capability check, instruction word."""

from __future__ import annotations

import itertools

import pytest
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    TensorType,
    f16,
    f32,
)
from xdsl.ir import Attribute

from tests.dialects.nv_tileas_samples import SAMPLES, program
from tests.support.ir import parse
from tileas_xdsl.dialects.nv_tileas.block_scaled import (
    BlockScaledInputs,
    Configuration,
    Kind,
    Modifiers,
    ScaleVectorSize,
    capability_refusal,
    configuration_of,
    kind_word_refusal,
    packed_configuration,
)
from tileas_xdsl.dialects.nv_tileas.compute import BlockScaledMmaOp
from tileas_xdsl.dialects.scalars import Float4E0M3Type

E2M1, E0M3 = Float4E2M1FNType(), Float4E0M3Type()
E5M2, E4M3, E8M0 = Float8E5M2Type(), Float8E4M3FNType(), Float8E8M0FNUType()


def tiles(a: Attribute, b: Attribute, scale: Attribute, vec_size: int, k: int = 128) -> tuple[Attribute, ...]:
    """A 128xK, B Kx16, C, and scales with one entry for each `vec_size` elements along K."""
    return (
        TensorType(a, [128, k]),
        TensorType(b, [k, 16]),
        TensorType(f32, [128, 16]),
        TensorType(scale, [128, k // vec_size]),
        TensorType(scale, [k // vec_size, 16]),
    )


ACCEPTED = [
    *((a, b, E8M0, 32, 0x2000000020, True) for a in (E5M2, E4M3) for b in (E5M2, E4M3)),
    *((a, b, s, 16, 0x4000000010, True) for a in (E2M1, E0M3) for b in (E2M1, E0M3) for s in (E8M0, E4M3)),
    (E2M1, E2M1, E8M0, 32, 0x4000000020, False),
]


@pytest.mark.parametrize(("a", "b", "scale", "vec_size", "packed", "pairs"), ACCEPTED)
def test_accepted_configurations(
    a: Attribute, b: Attribute, scale: Attribute, vec_size: int, packed: int, pairs: bool
) -> None:
    types = tiles(a, b, scale, vec_size)
    assert packed_configuration(*types) == packed
    assert packed_configuration(*types, two_cta=True) == (packed if pairs else 0)


def test_every_other_configuration_is_refused() -> None:
    """All combinations of element types, scales and vector sizes: exactly the rows above pass."""
    elements = (E2M1, E0M3, E5M2, E4M3, Float6E2M3FNType(), f16)
    accepted = {(row[0], row[1], row[2], row[3]) for row in ACCEPTED}
    for a in elements:
        for b in elements:
            for scale in (E8M0, E4M3, E5M2):
                for vec_size in (8, 16, 32, 64):
                    packed = packed_configuration(*tiles(a, b, scale, vec_size))
                    assert (packed != 0) == ((a, b, scale, vec_size) in accepted)


def test_packed_numbers_are_those_of_the_sources() -> None:
    assert Configuration(32, 32).packed == 0x2000000020
    assert Configuration(64, 16).packed == 0x4000000010
    assert Configuration(64, 32).packed == 0x4000000020


def test_a_rejection_packs_to_zero() -> None:
    a, b, c, sfa, _ = tiles(E2M1, E2M1, E8M0, 32)
    assert packed_configuration(a, b, c, None, None) == 0
    assert packed_configuration(a, b, c, sfa, None) == 0


def test_phases_run_in_their_order() -> None:
    """Each input breaks one phase and all later ones; the first one broken speaks."""
    a, b, _, sfa, sfb = tiles(E2M1, E2M1, E8M0, 32)
    half = TensorType(f16, [128, 16])
    other = TensorType(E4M3, [2, 16])
    three = TensorType(E8M0, [3, 16])

    def text(sfa: Attribute | None, sfb: Attribute | None, c: Attribute) -> Configuration | str:
        return configuration_of(BlockScaledInputs(a, b, c, sfa, sfb))

    full = TensorType(f32, [128, 16])
    assert text(None, other, half) == "fp4 mma should expect scaling factors"
    assert text(sfa, other, half) == "sfa and sfb element type mismatch"
    assert text(sfa, three, half) == "expects c type to be Float32"
    assert text(sfa, three, full) == "Scale factor vector size mismatch: 4, 3"
    assert text(sfa, sfb, full) == Configuration(64, 32)


def test_with_an_atom_the_scales_are_compared_in_its_words() -> None:
    a, b, c, sfa, _ = tiles(E2M1, E2M1, E8M0, 32)
    inputs = BlockScaledInputs(a, b, c, sfa, TensorType(E4M3, [2, 8]), atom_k=64)
    assert configuration_of(inputs) == "expects sfa/sfb element types to be the same"


def test_scales_of_b_may_be_written_either_way_round() -> None:
    a, b, c, sfa, _ = tiles(E4M3, E4M3, E8M0, 32)
    assert packed_configuration(a, b, c, sfa, TensorType(E8M0, [4, 16])) == 0x2000000020
    assert packed_configuration(a, b, c, sfa, TensorType(E8M0, [16, 4])) == 0x2000000020


def test_without_shapes_the_scale_type_decides() -> None:
    """E4M3FN scales stand for blocks of 16, E8M0 for blocks of 32."""
    flat = TensorType(f32, [1])
    assert packed_configuration(TensorType(E2M1, [1]), TensorType(E2M1, [1]), flat, *[TensorType(E4M3, [1])] * 2) == (
        0x4000000010
    )
    assert packed_configuration(TensorType(E2M1, [1]), TensorType(E2M1, [1]), flat, *[TensorType(E8M0, [1])] * 2) == (
        0x4000000020
    )


def test_op_hands_its_types_to_the_verifier() -> None:
    module = parse(program(*SAMPLES["block_scaled_mma"]))
    (op,) = (op for op in module.walk() if isinstance(op, BlockScaledMmaOp))
    assert op.two_cta
    assert configuration_of(op.inputs) == Configuration(32, 32)


@pytest.mark.parametrize(("capability", "refused"), [(80, True), (90, True), (99, True), (100, False), (120, False)])
def test_capability_gate(capability: int, refused: bool) -> None:
    text = "mma block scale is not supported by compute capability < sm100"
    assert capability_refusal(capability) == (text if refused else None)


@pytest.mark.parametrize("pair", [False, True])
def test_shapes_are_what_instructions_tile(pair: bool) -> None:
    """Every M, N and K around the smallest instruction: accepted exactly where all are its multiples."""
    for m, n, k in itertools.product((8, 16, 64, 128, 192, 256), (4, 8, 16, 24), (32, 64, 96, 128)):
        types = (
            TensorType(E2M1, [m, k]),
            TensorType(E2M1, [k, n]),
            TensorType(f32, [m, n]),
            TensorType(E8M0, [m, k // 16]),
            TensorType(E8M0, [k // 16, n]),
        )
        least_m, least_n = (128, 16) if pair else (16, 8)
        fits = m % least_m == 0 and n % least_n == 0 and k % 64 == 0
        assert (packed_configuration(*types, two_cta=pair) != 0) == fits, (m, n, k)


# The instruction word ----------------------------------------------------------------------------


def word(
    kind: Kind,
    size: ScaleVectorSize = ScaleVectorSize.X1,
    *,
    cta_group: int = 1,
    scale_input: bool = False,
    block_scale: bool = False,
) -> int:
    return cta_group | size << 2 | scale_input << 4 | block_scale << 5 | kind << 6


PORTABLE = Modifiers(arch_conditional=False)
X1, X2, X4 = ScaleVectorSize

RULES = [
    (word(Kind.I8), PORTABLE, "INT8 type is supported only on arch-conditional variants."),
    (
        word(Kind.MXF4, X2),
        Modifiers(arch_conditional=False, sparse=True),
        "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.",
    ),
    (
        word(Kind.MXF4NVF4, X4),
        PORTABLE,
        "Explicit scale vector size is supported only on arch-conditional variants.",
    ),
    (
        word(Kind.F16, scale_input=True),
        Modifiers(scale_input_supported=False),
        "Scale input accumulator is not supported on this architecture.",
    ),
    (
        word(Kind.F8F6F4, scale_input=True),
        None,
        "Scale input accumulator can only be used with f16 and tf32 types",
    ),
    *(
        (word(kind, block_scale=True), None, "Block scale is not supported for f16, tf32, f8f6f4, and i8 types")
        for kind in (Kind.F16, Kind.TF32, Kind.F8F6F4, Kind.I8)
    ),
    (
        word(Kind.MXF8F6F4, block_scale=True),
        Modifiers(ashift=True),
        "ashift is not supported with tcgen05.mma.block_scale variants",
    ),
    (
        word(Kind.F16, cta_group=2),
        Modifiers(weight_stationary=True),
        "cta_group::2 is not supported with weight stationary",
    ),
    *(
        (
            word(kind, X2),
            Modifiers(weight_stationary=True),
            "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        )
        for kind in (Kind.MXF8F6F4, Kind.MXF4, Kind.MXF4NVF4)
    ),
    (
        word(Kind.F16),
        Modifiers(ashift=True, collector_a_use_or_fill=True),
        "Cannot use collector::a::use or colletor::a::fill with ashift",
    ),
    *(
        (word(Kind.MXF8F6F4, size), None, "Cannot use 2X or 4X as scale vector size for mxf8f6f4 type")
        for size in (X2, X4)
    ),
    (word(Kind.MXF4NVF4), None, "Cannot use 1X as scale vector size for mxf4nvf4 type"),
    *((word(Kind.MXF4, size), None, "Cannot use 1X or 4X as scale vector size for mxf4 type") for size in (X1, X4)),
]


@pytest.mark.parametrize(("number", "modifiers", "text"), RULES)
def test_kind_word_rule(number: int, modifiers: Modifiers | None, text: str) -> None:
    assert kind_word_refusal(number, modifiers) == text


@pytest.mark.parametrize(
    ("number", "modifiers"),
    [
        (word(Kind.F16, scale_input=True), None),
        (word(Kind.I8), None),
        (word(Kind.F16, cta_group=2), PORTABLE),
        (word(Kind.MXF8F6F4, block_scale=True), PORTABLE),
        (word(Kind.MXF4, X2, block_scale=True), None),
        (word(Kind.MXF4NVF4, X4, block_scale=True), None),
        (word(Kind.F16), Modifiers(ashift=True)),
        (word(Kind.F16), Modifiers(weight_stationary=True)),
    ],
)
def test_kind_word_accepted(number: int, modifiers: Modifiers | None) -> None:
    assert kind_word_refusal(number, modifiers) is None


def test_an_earlier_rule_speaks_first() -> None:
    """INT8, an explicit scale vector size and block scale each break a rule; the text is that of the first rule."""
    number = word(Kind.I8, X2, block_scale=True)
    assert kind_word_refusal(number, PORTABLE) == "INT8 type is supported only on arch-conditional variants."


@pytest.mark.parametrize("number", [-1, 512, 3 << 2, 6 << 6])
def test_numbers_that_are_no_words(number: int) -> None:
    with pytest.raises(ValueError, match="is not a tcgen05 kind word"):
        kind_word_refusal(number)
