"""The text of `cuda_tile`: what is written is printed again, with prefixes and without; generic text says the same."""

from __future__ import annotations

import textwrap

import pytest
from xdsl.utils.exceptions import ParseError

from tests.dialects.cuda_tile_samples import AROUND, GENERIC, SAMPLES, program, written
from tests.support.ir import parse, print_custom, print_generic
from tileas_xdsl.dialects.cuda_tile.dialect import CudaTile
from tileas_xdsl.dialects.cuda_tile.enumerations import ENUMERATIONS, WordAttr
from tileas_xdsl.dialects.cuda_tile.table import ROWS

CASES = [(name, sample) for name, samples in SAMPLES.items() for sample in samples]


def last_op(printed: str, sample: str) -> str:
    """The last op of the entry in `printed`, of as many lines as the sample has, without indentation and hints."""
    lines = printed.rstrip().splitlines()
    end = len(lines) - next(place for place, line in enumerate(reversed(lines)) if line.strip() == "return")
    return textwrap.dedent("\n".join(lines[end - 1 - len(sample.splitlines()) : end - 1]))


def test_every_op_has_a_sample() -> None:
    assert {op.name for op in CudaTile.operations} == {*SAMPLES, *GENERIC, *AROUND}
    assert len(ROWS) == 106


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_a_sample_is_printed_as_it_is_written(name: str, sample: str) -> None:
    printed = print_custom(parse(program(sample)))
    assert last_op(printed, sample) == written(sample)
    assert name in print_generic(parse(program(sample)))
    assert print_custom(parse(printed)) == printed


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_generic_text_is_the_same_module(name: str, sample: str) -> None:
    module = parse(program(sample))
    assert parse(print_generic(module)).is_structurally_equivalent(module)


def test_prefixes_may_be_written() -> None:
    short = "%0 = addf %F, %F : $F\n%1:2 = load_view_tko weak %V[%i, %i] token = %t : $PV, $S -> tile<64x32xf16>, token"
    long = short.replace("addf", "cuda_tile.addf").replace("load_view", "cuda_tile.load_view")
    long = long.replace("$F", "!cuda_tile.$F").replace("$PV, $S", "!cuda_tile.$PV, !cuda_tile.$S")
    long = long.replace("-> tile<64x32xf16>, token", "-> !cuda_tile.tile<64x32xf16>, !cuda_tile.token")
    assert parse(program(long)).is_structurally_equivalent(parse(program(short)))


@pytest.mark.parametrize("kind", ENUMERATIONS.values(), ids=lambda kind: kind.name)
def test_words_go_round_and_others_are_refused(kind: type[WordAttr]) -> None:
    for word in kind.WORDS:
        text = f'"test.op"() {{a = #{kind.name}<{word}>}} : () -> ()'
        assert f"#{kind.name}<{word}>" in print_custom(parse(text, allow_unregistered=True))
    with pytest.raises(ParseError, match=f"'nonsense' is not one of {kind.WORDS[0]}"):
        parse(f'"test.op"() {{a = #{kind.name}<nonsense>}} : () -> ()', allow_unregistered=True)


ATTRIBUTES = (
    *("!cuda_tile.tile<4x8xf32>", "!cuda_tile.ptr<f16>", "!cuda_tile.token", "!cuda_tile.fnv8E5M3FNU"),
    "!cuda_tile.tensor_view<?x64xf16, strides=[?,1]>",
    "!cuda_tile.partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>",
    "!cuda_tile.strided_view<tile=(4), traversal_strides=[2], tensor_view<?xf32, strides=[1]>>",
    "!cuda_tile.gather_scatter_view<tile=(4), tensor_view<?xf32, strides=[1]>, sparse_dim=0>",
    *("#cuda_tile.div_by<16, every 4 along 0>", "#cuda_tile.same_elements<[1, 4]>", "#cuda_tile.bounded<?, -7>"),
    "#cuda_tile.optimization_hints<default = {}, sm_90 = {occupancy = 2}>",
    "#cuda_tile.constant_value<<i32: [1, 2]> : tile<2xi32>>",
    '#cuda_tile.di_file<"kernels.py" in "folder">',
    '#cuda_tile.di_compile_unit<file = #cuda_tile.di_file<"kernels.py" in "">>',
    '#cuda_tile.di_subprogram<file = unit, line = 3, name = "f", linkageName = "g", compileUnit = unit, scopeLine = 4>',
    '#cuda_tile.di_subprogram<file = unit, line = 3, name = "f", linkageName = "g", compileUnit = unit, scopeLine = 4, '
    "flags = 2>",
    "#cuda_tile.di_lexical_block<scope = unit, file = unit, line = 3, column = 0>",
    *("#cuda_tile.signedness<signed>", "#cuda_tile.comparison_predicate<equal>", "#cuda_tile.overflow<none>"),
    *("#cuda_tile.comparison_ordering<ordered>", "#cuda_tile.rounding<zero>", "#cuda_tile.memory_scope<sys>"),
    *("#cuda_tile.memory_ordering_semantics<weak>", "#cuda_tile.atomic_rmw_mode<add>"),
    *("#cuda_tile.multimem_reduction<umin>", "#cuda_tile.symbol_visibility<private>"),
    "#cuda_tile.padding_value<neg_zero>",
)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_types_and_attributes_go_round(attribute: str) -> None:
    printed = print_custom(parse(f'"test.op"() {{a = {attribute}}} : () -> ()', allow_unregistered=True))
    assert attribute in printed
    assert print_custom(parse(printed, allow_unregistered=True)) == printed


def test_an_entry_may_leave_out_its_return() -> None:
    module = parse("cuda_tile.module @m {\n  entry @k() {\n  }\n}")
    assert "    return\n" in print_custom(module)


def test_hints_and_globals_are_printed_as_written() -> None:
    text = """\
cuda_tile.module @kernels {
  global @g <f32: [1.000000e+00, 2.000000e+00]> : tile<2xf32>
  global private constant @h alignment = 8 <i64: 7> : tile<1xi64>
  entry @k(%arg0: tile<ptr<f32>>) optimization_hints=<default = {num_cta_in_cga = 2}> {
    return
  }
}
"""
    printed = textwrap.dedent("\n".join(print_custom(parse(text)).splitlines()[1:-1]))
    assert printed == text.rstrip()
