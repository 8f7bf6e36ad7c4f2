"""Layouts to the bit, as encodings of tiles: what is read and printed, and what the verifiers refuse."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f16
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.ir import assert_round_trips, parse, print_custom, print_generic
from tests.support.mlir import mlir_opt, require
from tileas_xdsl.dialects.nv_tileas.layout import LayoutAttr, form_of, linear_layout
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.forms import Blocked, LinearBases, Mma, Slice, Swizzled
from tileas_xdsl.layouts.fragments import MmaShape

ACC = "rmem, mma<m64n128k16, operand = acc, warps = 4>"

SPELLINGS = {
    ACC: (64, 128),
    "rmem, mma<m16n8k16, operand = b, warps = [2, 2]>": (64, 64),
    "rmem, slice<1, mma<m64n128k16, operand = acc, warps = 4>>": (64,),
    "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>": (64, 64),
    "rmem, linear<register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>": (32, 2),
    "smem, linear<offset = [[0, 1], [1, 0]]>": (2, 2),
    "smem, swizzle<128>, order = [1, 0]": (64, 64),
    "smem, swizzle<32>": (64, 64),
    "gmem, row_major, order = [0, 1]": (8, 8),
    'smem, cute<"Sw<3,3,3> o (8,64):(64,1)">': (8, 64),
    "tmem, datapath<64>": (64, 32),
    "tmem, datapath<128>": (128, 32),
    "smem": (3, 5),
    'smem, "swizzled"': (3, 5),
}


def program(layout: str, shape: tuple[int, ...]) -> str:
    tile = f"tensor<{'x'.join(map(str, shape))}xf16, #nv_tileas.layout<{layout}>>"
    return f"""
    func.func @f(%a: {tile}) {{
      %b = nv_tileas.convert_layout %a : ({tile}) -> {tile}
      func.return
    }}"""


@pytest.mark.parametrize(("layout", "shape"), SPELLINGS.items())
def test_spellings_are_printed_as_they_are_read(layout: str, shape: tuple[int, ...]):
    module = parse(program(layout, shape))
    assert f"#nv_tileas.layout<{layout}>" in print_custom(module)
    assert_round_trips(program(layout, shape))


def test_mlir_reads_them():
    require("mlir-opt")
    text = "".join(
        program(layout, shape).replace("@f", f"@f{i}") for i, (layout, shape) in enumerate(SPELLINGS.items())
    )
    printed = mlir_opt(print_generic(parse(text)), "--allow-unregistered-dialect")
    assert all(f"#nv_tileas.layout<{layout}>" in printed for layout in SPELLINGS)


def test_other_orders_of_saying_it_are_read():
    one = program("smem, swizzle<128, order = [1, 0]>", (64, 64))
    assert "swizzle<128>, order = [1, 0]" in print_custom(parse(one))
    assert "#nv_tileas.layout<smem>" in print_custom(parse(program('"smem", ""', (8,))))


def test_the_bits_of_a_tile():
    tile = TensorType(f16, [64, 128], LayoutAttr.of("rmem", form=Mma(MmaShape(64, 128, 16), "acc", (4, 1))))
    layout = linear_layout(tile)
    assert layout is not None
    assert layout.at(register=2, lane=1, warp=3) == (56, 2)
    assert linear_layout(TensorType(f16, [64, 128], LayoutAttr.of("rmem", "wgmma_a"))) is None
    assert linear_layout(TensorType(f16, [64, 128])) is None
    assert form_of(tile) == Mma(MmaShape(64, 128, 16), "acc", (4, 1))


@pytest.mark.parametrize(
    ("layout", "shape", "message"),
    [
        (ACC, (32, 96), "the extent of dim1 is 96, and layouts over bits need a power of two"),
        (ACC, (64,), "is a layout of matrices, not of tiles with 1 dimensions"),
        ("rmem, mma<m64n12k16, operand = acc, warps = 4>", (64, 64), "WGMMA N must be a multiple of 8"),
        ("smem, swizzle<48>", (64, 64), "a swizzle has 32, 64 or 128 bytes"),
        ("smem, linear<offset = [[0, 1]]>", (2, 2), "some elements lie nowhere"),
        ("smem, linear<offset = [[0, 1], [0, 1]]>", (1, 2), "some elements lie at two offsets"),
        ("rmem, linear<lane = [[1], [2], [4], [8], [16]]>", (64,), "some elements are held by nobody"),
        ("rmem, linear<lane = [[1]]>", (2,), "a warp has 32 lanes, not 2"),
        ("rmem, swizzle<128>", (64, 64), "swizzle<128> is a layout of memory, not of rmem"),
        ("smem, mma<m16n8k16, operand = a, warps = 4>", (64, 64), "is a layout of registers, not of smem"),
        ("smem, datapath<64>", (64, 8), "datapath<64> is a layout of tensor memory, not of smem"),
        ("rmem, datapath<64>", (64, 8), "datapath<64> is a layout of memory, not of rmem"),
        ("tmem, datapath<64>", (128, 8), "datapath<64> is a layout of 64 rows, not of 128x8"),
        ("tmem, datapath<128>", (128, 48), "the extent of offset is 48, and layouts over bits need a power of two"),
        ('smem, cute<"8:1">', (16,), "8:1 has 8 coordinates, and the tile 16 elements"),
    ],
)
def test_a_layout_that_does_not_fit_its_tile_is_refused(layout: str, shape: tuple[int, ...], message: str):
    with pytest.raises(VerifyException, match=message):
        parse(program(layout, shape)).verify()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("rmem, mna<m16n8k16>", "'mna' is none of the layouts swizzle, row_major, cute"),
        ("rmem, mma<m16n8, operand = a, warps = 1>", "'m16n8' is no shape of an instruction"),
        ("rmem, mma<m16n8k16, operand = a>", "mma needs 'warps = ...'"),
        ("rmem, mma<m16n8k16, operand = 3, warps = 1>", "operand is a word, not 3"),
        ("rmem, mma<m16n8k16, operand = a, warps = [1, 2, 3]>", "warps are a number, or two"),
        ("rmem, mma<operand = a, warps = 1>", "mma needs the shape of an instruction"),
        ("rmem, blocked<[1], [32], order = [0]>", "blocked needs warps"),
        ("rmem, blocked<[1], 32, [1], order = [0]>", "lanes is a list of numbers"),
        ("smem, swizzle<128, banks = 3>", "swizzle does not know what 'banks' is"),
        ("smem, swizzle<128, 3>", "swizzle does not know what '3' is"),
        ("smem, swizzle<wide>", "the width of a swizzle is a number, not wide"),
        ("rmem, slice<0, swizzle<128>>", "lies in memory, and threads hold what is sliced"),
        ("rmem, slice<0>", "slice needs the layout that is sliced"),
        ("rmem, linear<register = [0]>", "a basis of register is a list of numbers"),
        ("rmem, linear<thread = [[0]]>", "linear does not know what 'thread' is"),
        ("tmem, datapath<32>", "accumulates 64 or 128 rows in a form of its own, not 32"),
        ("tmem, datapath", "datapath needs how many rows a product has"),
        ('smem, cute<"8">', "':' is missing"),
        ("smem, cute<8>", "cute needs shape and strides, in quotes"),
    ],
)
def test_what_is_no_layout_does_not_parse(layout: str, message: str):
    with pytest.raises(ParseError, match=message.replace("[", r"\[")):
        parse(program(layout, (64, 64)))


def test_a_layout_is_said_in_words_or_to_the_bit():
    with pytest.raises(VerifyException, match="not both"):
        LayoutAttr.of("smem", "swizzled", Swizzled(128))


def test_forms_print_what_they_are():
    parent = Blocked((1, 2), (8, 4), (2, 1), (1, 0))
    assert str(Slice(0, parent)) == "slice<0, blocked<[1, 2], [8, 4], [2, 1], order = [1, 0]>>"
    bits = parent.linear((16, 8), 16)
    assert LinearBases.of(bits).linear((16, 8), 16) == bits
    with pytest.raises(LayoutError, match="has no axis 3"):
        Slice(3, parent).linear((16,), 16)


# Plans ----------------------------------------------------------------------------------------------------------------


def conversion(source: str, target: str, plan: str) -> str:
    first, second = (f"tensor<64x64xf16, #nv_tileas.layout<{layout}>>" for layout in (source, target))
    return f"""
    func.func @f(%a: {first}) {{
      %b = nv_tileas.convert_layout %a attributes {{atom_plan = #nv_tileas.atom_plan<{plan}>}} : ({first}) -> {second}
      func.return
    }}"""


ROWS = "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>"
OTHER_ROWS = "rmem, blocked<[1, 4], [2, 16], [4, 1], order = [1, 0]>"
WITHIN_WARPS = "rmem, blocked<[1, 4], [4, 8], [4, 1], order = [1, 0]>"


def test_a_plan_of_tag_0_stays_within_its_warps():
    parse(conversion(ROWS, WITHIN_WARPS, "tag = 0")).verify()
    with pytest.raises(
        VerifyException, match="tag 0 to stay in registers, but elements would have to go to another warp"
    ):
        parse(conversion(ROWS, OTHER_ROWS, "tag = 0")).verify()


def test_a_plan_of_tag_1_reads_what_it_names():
    swizzle = "smem, swizzle<128>"
    parse(conversion(swizzle, ROWS, f"tag = 1, smem = #nv_tileas.layout<{swizzle}>")).verify()
    with pytest.raises(VerifyException, match="to name the operand's layout as smem"):
        parse(conversion(swizzle, ROWS, "tag = 1, smem = #nv_tileas.layout<smem, swizzle<64>>")).verify()


@pytest.mark.parametrize(
    ("element", "width", "fits"), [("f16", 2, True), ("f4E2M1FN", 4, True), ("f4E2M1FN", 2, False)]
)
def test_packing_fixes_the_width_of_a_plan(element: str, width: int, fits: bool):
    plan = f'tag = 0, atom_descriptor = #cute<atom "selp {width} bytes">'
    text = conversion(ROWS, WITHIN_WARPS, plan).replace("f16", element)
    if fits:
        parse(text).verify()
        return
    with pytest.raises(VerifyException, match="copies elements of 4 bits by 2 bytes, and packing fixes the width"):
        parse(text).verify()
