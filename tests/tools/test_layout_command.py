"""`tileas layout`: what it says and draws, and what it says of input that is no layout."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tileas_xdsl.tools import main as command

ACC, A = (f"rmem, mma<m64n64k16, operand = {operand}, warps = 4>" for operand in ("acc", "a"))
NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}


def layout(*options: str | Path) -> int:
    return command.main(["layout", *map(str, options)])


def cells(path: Path) -> list[str]:
    """The texts in the cells, row by row."""
    groups = ElementTree.parse(path).getroot().findall("svg:g", NAMESPACE)
    return [text.text or "" for group in groups for text in group.findall("svg:text", NAMESPACE)]


def test_a_cell_says_who_holds_it(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert layout("rmem, mma<m16n8k16, operand = acc, warps = 1>", "--tile", "16x8xf32", "-o", out) == 0
    found = cells(out)
    assert found[:8] == ["0:0", "0:1", "1:0", "1:1", "2:0", "2:1", "3:0", "3:1"]
    assert found[8 * 9 + 2] == "5:2"


def test_a_cell_says_which_byte(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert layout("#nv_tileas.layout<smem, swizzle<32>>", "--tile", "8x16xf16", "-o", out) == 0
    found = cells(out)
    assert found[:9] == ["0", "2", "4", "6", "8", "10", "12", "14", "16"]
    assert found[16 * 4] == str(4 * 32 + 16)


def test_large_tiles_are_cut(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert layout("smem, swizzle<128>", "--tile", "128x64xf16", "-o", out) == 0
    assert len(cells(out)) == 16 * 32
    assert "the first 16 x 32 of 128 x 64 elements" in out.read_text()


@pytest.mark.parametrize(
    ("tile", "form"),
    [("256xf32", "[8], [32], [1], order = [0]"), ("2x4x8xf32", "[1, 1, 2], [1, 4, 8], [1, 1, 1], order = [2, 1, 0]")],
)
def test_other_ranks(tile: str, form: str, tmp_path: Path) -> None:
    assert layout(f"rmem, blocked<{form}>", "--tile", tile, "-o", tmp_path / "a.svg") == 0
    assert cells(tmp_path / "a.svg")[:2] == ["0:0", "0:1"]


def test_a_conversion_is_two_pictures_and_a_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert layout(ACC, A, "-o", tmp_path / "a.svg") == 0
    assert capsys.readouterr().out.endswith("by renaming registers\n")
    assert len(cells(tmp_path / "a.svg")) == 2 * 16 * 32


@pytest.mark.parametrize(
    ("source", "target", "way"),
    [
        ("smem, swizzle<128>", A, "by 4 ldmatrix.x4, 16 wavefronts a warp, no bank conflicts"),
        (ACC, "smem, swizzle<128>", "by 4 stmatrix.x4, 16 wavefronts a warp, no bank conflicts"),
        ("smem, row_major", A, "by 4 ldmatrix.x4, 128 wavefronts a warp, 112 of them for bank conflicts"),
    ],
)
def test_ways(source: str, target: str, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert layout(source, target) == 0
    assert capsys.readouterr().out.splitlines()[-1] == way


TENSOR = "tmem, row_major"
WIDE = ("--tile", "128x64xf16")


@pytest.mark.parametrize(
    ("source", "target", "way"),
    [
        (
            TENSOR,
            "smem, swizzle<128>",
            "by tcgen05.ld.sync.aligned.16x128b.x8.b32 x 2, "
            "then by 8 stmatrix.x4, 32 wavefronts a warp, no bank conflicts",
        ),
        (
            "smem, swizzle<128>",
            TENSOR,
            "by 8 ldmatrix.x4, 32 wavefronts a warp, no bank conflicts, "
            "then by tcgen05.st.sync.aligned.16x128b.x8.b32 x 2",
        ),
        (
            TENSOR,
            "rmem, blocked<[1, 64], [32, 1], [4, 1], order = [1, 0]>",
            "by tcgen05.ld.sync.aligned.32x32b.x32.b32",
        ),
    ],
)
def test_ways_out_of_tensor_memory_and_into_it(
    source: str, target: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert layout(source, target, *WIDE) == 0
    assert capsys.readouterr().out.splitlines()[-1] == way


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (TENSOR, "gmem, row_major", "both layouts are of memory"),
        (TENSOR, TENSOR, "both layouts are of memory"),
        ("gmem, row_major", "rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>", "is loaded or stored"),
        (TENSOR, "rmem, blocked<[1, 8], [4, 8], [2, 1], order = [1, 0]>", "2 warps do not share 128 lanes"),
    ],
)
def test_what_has_no_way(source: str, target: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert layout(source, target, *WIDE) == 1
    assert reason in capsys.readouterr().out.splitlines()[-1]


def test_a_cell_of_tensor_memory_says_lane_and_column(tmp_path: Path) -> None:
    """Two elements of 16 bits share a column; 64 rows leave the upper half of the lanes of a warp empty."""
    out = tmp_path / "a.svg"
    assert layout("tmem, datapath<64>", "--tile", "64x4xf16", "-o", out) == 0
    found = cells(out)
    assert found[:5] == ["0:0", "0:0", "0:1", "0:1", "1:0"]
    assert found[4 * 15 :] == ["15:0", "15:0", "15:1", "15:1"]


def test_memory_to_memory_has_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert layout("smem, swizzle<128>", "gmem, row_major") == 1
    assert "no plan: both layouts are of memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("smem, swizzel<128>",), "'swizzel' is none of the layouts swizzle, row_major"),
        (("smem, swizzle<24>",), "is no layout of 64x64xf16: a swizzle has 32, 64 or 128 bytes"),
        (("smem",), "does not say which bits"),
        (("smem, swizzle<128>", "--tile", "64x"), "does not parse"),
        (("smem, swizzle<128>", "--tile", "60x64xf16"), "power of two"),
        (("smem, swizzle<128>", "--tile", "?x64xf16"), "is not known, and layouts over bits need a power of two"),
        (("smem, swizzle<128>", "--tile", "64x64xcomplex<f32>"), "the width of an element depends on the target"),
        (("smem, swizzle<128>", "-o", "a.png"), "the file must be called something.svg"),
    ],
)
def test_what_is_no_layout_is_refused(
    options: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert layout(*options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
