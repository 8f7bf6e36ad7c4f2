"""
Matrices of a warp on the machine, against the PTX manual's formulas written out here: `mma.sync` for every type,
`ldmatrix` and `stmatrix` of 1, 2 and 4 matrices both ways, and `shfl.sync`.
"""

# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import run

LANES = np.arange(32)
GROUP, IN_GROUP = LANES // 4, LANES % 4

# Products -------------------------------------------------------------------------------------------------------------

TYPES: dict[str, tuple[Any, int]] = {
    "f16": (np.float16, 8),
    "bf16": (ml_dtypes.bfloat16, 8),
    "tf32": (np.float32, 4),
    "s8": (np.int8, 16),
    "u8": (np.uint8, 16),
}
"""Element type -> its numpy type, and how many columns of A a row of 16 bytes has."""


def places_of_a(lane: int, element: int, width: int) -> tuple[int, int]:
    """Row and column of an element of A, `width` of which share a register (PTX ISA, fragments of m16n8k*)."""
    register, within = divmod(element, width)
    return lane // 4 + 8 * (register % 2), lane % 4 * width + within + 4 * width * (register // 2)


def places_of_b(lane: int, element: int, width: int) -> tuple[int, int]:
    register, within = divmod(element, width)
    return lane % 4 * width + within + 4 * width * register, lane // 4


def places_of_c(lane: int, element: int) -> tuple[int, int]:
    return lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2


def registers_of(matrix: Any, place: Any, count: int, width: int) -> Any:
    """The registers of all lanes as i32."""
    elements = np.array([[matrix[place(lane, e, width)] for e in range(count * width)] for lane in LANES], matrix.dtype)
    return np.ascontiguousarray(elements).view(np.int32)


def program(a: str, b: str, k: int, depth: int, overflow: str = "") -> str:
    rows, kinds = 2 * (k // depth), k // depth
    is_half, is_integer = a == "f16", a in ("s8", "u8")
    sums = "i32" if is_integer else "f32"
    register = "vector<2xf16>" if is_half else "i32"
    lines: list[str] = []
    for name, count in (("a", rows), ("b", kinds)):
        for number in range(count):
            lines.append(f"%{name}{number}_at = arith.constant {number} : index")
            lines.append(f"%{name}{number}_word = memref.load %{name}[%t, %{name}{number}_at] : memref<32x{count}xi32>")
            cast = f"llvm.bitcast %{name}{number}_word : i32 to {register}"
            lines.append(f"%{name}{number} = {cast}")
    for number in range(4):
        lines.append(f"%at{number} = arith.constant {number} : index")
        lines.append(f"%c{number} = memref.load %c[%t, %at{number}] : memref<32x4x{sums}>")
    names = {
        part: ", ".join(f"%{part}{i}" for i in range(count)) for part, count in (("a", rows), ("b", kinds), ("c", 4))
    }
    result = f"!llvm.struct<({', '.join([sums] * 4)})>"
    lines.append(
        f"%d = nvvm.mma.sync A[{names['a']}] B[{names['b']}] C[{names['c']}] {{{overflow}layoutA = #nvvm.mma_layout<row>, "
        f"layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<{a}>, multiplicandBPtxType = "
        f"#nvvm.mma_type<{b}>, shape = #nvvm.shape<m = 16, n = 8, k = {k}>}} : ({register}, {register}, {sums}) -> {result}"
    )
    for number in range(4):
        lines.append(f"%d{number} = llvm.extractvalue %d[{number}] : {result}")
        lines.append(f"memref.store %d{number}, %c[%t, %at{number}] : memref<32x4x{sums}>")
    body = "\n  ".join(lines)
    arguments = f"%a: memref<32x{rows}xi32>, %b: memref<32x{kinds}xi32>, %c: memref<32x4x{sums}>"
    return f"""func.func @f({arguments}) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %tid = nvvm.read.ptx.sreg.laneid : i32
  %t = arith.index_cast %tid : i32 to index
  {body}
  func.return
}}"""


def drawn(rng: np.random.Generator, kind: Any, extents: tuple[int, int]) -> Any:
    low = 0 if kind is np.uint8 else -8
    return rng.integers(low, 9, extents).astype(kind)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(("a", "b"), [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("s8", "u8"), ("u8", "s8")])
def test_products(a: str, b: str, steps: int) -> None:
    (kind, depth), (other, _) = TYPES[a], TYPES[b]
    k, width = steps * depth, depth // 4
    rng = np.random.default_rng(steps)
    left, right = drawn(rng, kind, (16, k)), drawn(rng, other, (k, 8))
    is_integer = a in ("s8", "u8")
    before = rng.integers(-50, 50, (16, 8)).astype(np.int32 if is_integer else np.float32)
    held = np.array([[before[places_of_c(lane, e)] for e in range(4)] for lane in LANES])
    overflow = "intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, " if is_integer else ""
    arguments = {
        "a": registers_of(left, places_of_a, 2 * steps, width),
        "b": registers_of(right, places_of_b, steps, width),
        "c": held,
    }
    text = program(a, b, k, depth, overflow)
    found = run(parse(text), "f", arguments).arrays["c"]
    expected = before.astype(np.float64) + left.astype(np.float64) @ right.astype(np.float64)
    for lane in LANES:
        for element in range(4):
            assert found[lane, element] == expected[places_of_c(lane, element)]
    assert check(parse(text)).verdict_line == "safe for every trip count"


PRODUCT_OF_F64 = """func.func @f(%a: memref<8x4xf64>, %b: memref<4x8xf64>, %c: memref<8x8xf64>) attributes {nvvm.reqntid = array<i32: 32>} {
  %lane = nvvm.read.ptx.sreg.laneid : i32
  %t = arith.index_cast %lane : i32 to index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %row = arith.divui %t, %four : index
  %within = arith.remui %t, %four : index
  %left = arith.muli %within, %two : index
  %right = arith.addi %left, %one : index
  %a0 = memref.load %a[%row, %within] : memref<8x4xf64>
  %b0 = memref.load %b[%within, %row] : memref<4x8xf64>
  %c0 = memref.load %c[%row, %left] : memref<8x8xf64>
  %c1 = memref.load %c[%row, %right] : memref<8x8xf64>
  %d = nvvm.mma.sync A[%a0] B[%b0] C[%c0, %c1] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (f64, f64, f64) -> !llvm.struct<(f64, f64)>
  %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f64, f64)>
  %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f64, f64)>
  memref.store %d0, %c[%row, %left] : memref<8x8xf64>
  memref.store %d1, %c[%row, %right] : memref<8x8xf64>
  func.return
}"""


def test_products_of_f64() -> None:
    rng = np.random.default_rng(4)
    a, b, c = (rng.standard_normal(shape) for shape in ((8, 4), (4, 8), (8, 8)))
    found = run(parse(PRODUCT_OF_F64), "f", {"a": a, "b": b, "c": c}).arrays["c"]
    assert np.allclose(found, c + a @ b, rtol=1e-14, atol=1e-14)
    assert check(parse(PRODUCT_OF_F64)).verdict_line == "safe for every trip count"


@pytest.mark.parametrize(("word", "expected"), [("satfinite", 2**31 - 1), ("wrapped", -(2**31) + 32 * 127 * 127 - 1)])
def test_sums_that_are_too_large(word: str, expected: int) -> None:
    overflow = f"intOverflowBehavior = #nvvm.mma_int_overflow<{word}>, "
    full = np.full((32, 4), 0x7F7F7F7F, np.int32)
    arguments = {"a": full, "b": full[:, :2].copy(), "c": np.full((32, 4), 2**31 - 1, np.int32)}
    found = run(parse(program("s8", "s8", 32, 16, overflow)), "f", arguments).arrays["c"]
    assert (found == expected).all()


# Moving ---------------------------------------------------------------------------------------------------------------


def moving(count: int, layout: str, *, stores: bool, threads: int = 32, shift: int = 0) -> str:
    """Each lane moves `count` words between its row of %words and the matrices in shared memory."""
    kind = "i32" if count == 1 else f"!llvm.struct<({', '.join(['i32'] * count)})>"
    attributes = f"eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<{layout}>"
    shape = "shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>"
    numbers = range(count)
    if stores:
        loads = "\n  ".join(f"%w{n} = memref.load %words[%t, %n{n}] : memref<32x4xi32>" for n in numbers)
        names, kinds = ", ".join(f"%w{n}" for n in numbers), ", ".join(["i32"] * count)
        move = f"{loads}\n  nvvm.stmatrix %row, {names} {{{attributes}, {shape}}} : !llvm.ptr<3>, {kinds}"
    else:
        move = f"%m = nvvm.ldmatrix %row {{{attributes}, num = {count} : i32, {shape}}} : (!llvm.ptr<3>) -> {kind}"
        for n in numbers:
            part = "%m" if count == 1 else f"%w{n}"
            move += "" if count == 1 else f"\n  %w{n} = llvm.extractvalue %m[{n}] : {kind}"
            move += f"\n  memref.store {part}, %words[%t, %n{n}] : memref<32x4xi32>"
    constants = "\n  ".join(f"%n{n} = arith.constant {n} : index" for n in range(4))
    return f"""llvm.mlir.global internal @shared() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<1024 x i8>
func.func @f(%rows: memref<32x8xi16>, %words: memref<32x4xi32>) attributes {{nvvm.reqntid = array<i32: {threads}>}} {{
  %tid = nvvm.read.ptx.sreg.laneid : i32
  %t = arith.index_cast %tid : i32 to index
  {constants}
  %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %c16 = arith.constant 16 : i32
  %shift = arith.constant {shift} : i32
  %offset = arith.muli %tid, %c16 : i32
  %place = arith.addi %offset, %shift : i32
  %row = llvm.getelementptr %shared[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %v = vector.load %rows[%t, %n0] : memref<32x8xi16>, vector<8xi16>
  llvm.store %v, %row : vector<8xi16>, !llvm.ptr<3>
  nvvm.barrier0
  {move}
  nvvm.barrier0
  %back = llvm.load %row : !llvm.ptr<3> -> vector<8xi16>
  vector.store %back, %rows[%t, %n0] : memref<32x8xi16>, vector<8xi16>
  func.return
}}"""


def word_of(matrix: Any, lane: int, layout: str) -> tuple[int, int]:
    """The two elements of a lane (PTX ISA, ldmatrix): of row lane / 4, or with .trans of column lane / 4."""
    along, across = lane // 4, lane % 4 * 2
    places = [(along, across), (along, across + 1)]
    if layout == "col":
        places = [(column, row) for row, column in places]
    return matrix[places[0]], matrix[places[1]]


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count: int, layout: str) -> None:
    rows = np.arange(256, dtype=np.int16).reshape(32, 8)
    text = moving(count, layout, stores=False)
    found = run(parse(text), "f", {"rows": rows, "words": np.zeros((32, 4), np.int32)}).arrays["words"]
    for number in range(count):
        matrix = rows[8 * number : 8 * number + 8]
        for lane in LANES:
            assert tuple(found[lane, number : number + 1].view(np.int16)) == word_of(matrix, lane, layout)
    assert check(parse(text)).verdict_line == "safe for every trip count"


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix(count: int, layout: str) -> None:
    words = np.arange(256, dtype=np.int16).reshape(32, 8).view(np.int32)
    before = np.full((32, 8), -1, np.int16)
    text = moving(count, layout, stores=True)
    found = run(parse(text), "f", {"rows": before, "words": words}).arrays["rows"]
    for number in range(count):
        matrix = found[8 * number : 8 * number + 8]
        for lane in LANES:
            assert word_of(matrix, lane, layout) == tuple(words[lane, number : number + 1].view(np.int16))
    assert (found[8 * count :] == -1).all()


def test_a_load_that_does_not_wait_for_other_warps_is_a_race() -> None:
    """Two warps: the second loads the matrix that the first stores."""
    text = moving(4, "row", stores=False, threads=64).replace("  nvvm.barrier0\n  %m", "  %m")
    assert check(parse(text)).verdict_line == "unsafe: race"


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (moving(1, "row", stores=False, shift=8), UnsupportedError, "rows begin at multiples of 16 bytes"),
        (moving(1, "row", stores=False, threads=16), UnsupportedError, "takes a warp of 32 threads"),
        (
            moving(1, "row", stores=False).replace(" attributes {nvvm.reqntid = array<i32: 32>}", ""),
            UndecidedError,
            "reqntid",
        ),
    ],
    ids=["misaligned", "half a warp", "nobody says"],
)
def test_what_no_warp_can_do(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        run(parse(text), "f", {"rows": np.zeros((32, 8), np.int16), "words": np.zeros((32, 4), np.int32)})


# Exchange -------------------------------------------------------------------------------------------------------------

SHUFFLES = {
    ("idx", 5, 0x1F): lambda lane: 5,
    ("bfly", 3, 0x1F): lambda lane: lane ^ 3,
    ("down", 4, 0x1F): lambda lane: lane + 4 if lane + 4 < 32 else lane,
    ("up", 4, 0): lambda lane: lane - 4 if lane >= 4 else lane,
    ("idx", 2, 0x181F): lambda lane: lane & 24 | 2,
    ("bfly", 16, 0x100F): lambda lane: lane if lane < 16 else lane - 16,
}
"""Kind, offset, clamp and segment -> the lane that is read (PTX ISA, shfl.sync)."""


@pytest.mark.parametrize("case", SHUFFLES)
def test_shuffles(case: tuple[str, int, int]) -> None:
    kind, offset, clamp = case
    text = f"""func.func @f(%x: memref<32xi32>, %y: memref<32xi32>) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %tid = nvvm.read.ptx.sreg.laneid : i32
  %t = arith.index_cast %tid : i32 to index
  %mask = arith.constant -1 : i32
  %offset = arith.constant {offset} : i32
  %clamp = arith.constant {clamp} : i32
  %v = memref.load %x[%t] : memref<32xi32>
  %w = nvvm.shfl.sync {kind} %mask, %v, %offset, %clamp : i32 -> i32
  memref.store %w, %y[%t] : memref<32xi32>
  func.return
}}"""
    given = np.arange(100, 132, dtype=np.int32)
    found = run(parse(text), "f", {"x": given, "y": np.zeros(32, np.int32)}).arrays["y"]
    assert list(found) == [given[SHUFFLES[case](lane)] for lane in LANES]
    some = parse(text.replace("arith.constant -1", "arith.constant 255"))
    with pytest.raises(UnsupportedError, match="exchanges between some lanes"):
        run(some, "f", {"x": given, "y": np.zeros(32, np.int32)})
