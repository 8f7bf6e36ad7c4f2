"""
Tensor copies on the machine, against numpy and the programming guide's formula of the swizzle: loads of boxes inside
of arrays, at their edges and outside of them, stores and reductions, and what no tensor map can be.
"""

# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import Outcome, run

TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "i32": np.int32,
    "i8": np.int8,
}


@dataclass(frozen=True)
class Case:
    """A tensor map, and where the box begins in shared memory."""

    kind: str = "f16"
    box: tuple[int, ...] = (8, 64)
    swizzle: int = 128
    start: int = 0

    @property
    def size(self) -> int:
        """Bytes of the box."""
        return int(np.prod(self.box)) * np.dtype(TYPES[self.kind]).itemsize

    def argument(self, name: str) -> str:
        array = "x".join("?" * len(self.box))
        box = ", ".join(map(str, self.box))
        return (
            f"%{name}: !llvm.ptr {{"
            f"tileas.tensor_map = {{array = memref<{array}x{self.kind}>, box = array<i64: {box}>, swizzle = {self.swizzle} : i64}}}}"
        )


def program(case: Case, body: str, *, arguments: str = "", shared: int = 16384) -> str:
    """One warp loads a box of %x at the coordinates to shared memory, and does `body` with it."""
    rank = len(case.box)
    coordinates = ", ".join(f"%c{k}" for k in range(rank))
    numbers = ", ".join(f"%c{k}: i32" for k in range(rank))
    return f"""
llvm.mlir.global internal @box() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<{shared} x i8>
llvm.mlir.global internal @bar() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<1 x i64>
func.func @f({case.argument("x")}, {numbers}{arguments}) attributes {{nvvm.reqntid = array<i32: 32>}} {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant {case.size} : i32
  %ticks = arith.constant 1000 : i32
  %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
  %base = llvm.mlir.addressof @box : !llvm.ptr<3>
  %box = llvm.getelementptr %base[{case.start}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %to = llvm.addrspacecast %box : !llvm.ptr<3> to !llvm.ptr<7>
  %elected = nvvm.elect.sync -> i1
  scf.if %elected {{
    nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %size : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %x, %bar, box[{coordinates}] : !llvm.ptr<7>, !llvm.ptr
    nvvm.mbarrier.try_wait.parity %bar, %zero, %ticks : !llvm.ptr<3>, i32, i32
    {body}
  }}
  func.return
}}"""


def bytes_out(case: Case) -> str:
    """A bulk copy of the bytes of shared memory to %y."""
    return """nvvm.cp.async.bulk.global.shared.cta %y, %box, %size : !llvm.ptr<1>, <3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0"""


def box_out(op: str = "nvvm.cp.async.bulk.tensor.global.shared.cta", kind: str = "") -> str:
    """A tensor store of the box to %y, at the coordinates %d."""
    return f"""{op} %y, %box, box[{{places}}]{kind} : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0"""


def loaded(case: Case, array: Any, coordinates: tuple[int, ...]) -> Any:
    """The bytes of shared memory behind a load at `coordinates`, the outermost first."""
    text = program(case, bytes_out(case), arguments=", %y: !llvm.ptr<1>")
    numbers = {f"c{k}": coordinate for k, coordinate in enumerate(reversed(coordinates))}
    outcome = run(parse(text), "f", {"x": array, "y": np.zeros(case.size, np.int8), **numbers})
    assert not outcome.violations
    return outcome.arrays["y"].view(np.uint8)


def cut(array: Any, box: tuple[int, ...], coordinates: tuple[int, ...]) -> Any:
    """The box, element by element: zero where it sticks out."""
    found = np.zeros(box, array.dtype)
    for place in np.ndindex(*box):
        there = tuple(start + step for start, step in zip(coordinates, place, strict=True))
        if all(0 <= index < size for index, size in zip(there, array.shape, strict=True)):
            found[place] = array[there]
    return found


def in_shared_memory(box: Any, swizzle: int, start: int) -> Any:
    """
    The bytes of a box of rows: chunk x of row y of 128 bytes lies at chunk x ^ (y + start) % 8, and with narrower
    swizzles every second or fourth row turns (CUDA C++ Programming Guide, "TMA Swizzle"; rows of 128 bytes here, which
    hold one or several rows of the box).
    """
    lines = np.ascontiguousarray(box).reshape(-1).view(np.uint8).reshape(-1, 8, 16)
    found = np.empty_like(lines)
    turning = {0: 1, 32: 2, 64: 4, 128: 8}[swizzle]
    for y in range(len(lines)):
        for x in range(8):
            found[y, x ^ (y + start // 128) % turning] = lines[y, x]
    return found.reshape(-1)


def drawn(kind: str, extents: tuple[int, ...]) -> Any:
    return np.random.default_rng(0).integers(-100, 100, extents).astype(TYPES[kind])


CASES = [
    Case(),
    Case(swizzle=0),
    Case(box=(16, 32), swizzle=64),
    Case(box=(16, 16), swizzle=32),
    Case(start=384),
    Case(box=(16, 32), swizzle=64, start=128),
    Case(kind="f32", box=(8, 32)),
    Case(kind="bf16", box=(2, 8, 64)),
    Case(kind="i8", box=(3, 128), swizzle=0),
    Case(kind="f32", box=(256,), swizzle=0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("shift", [0, 5, -3])
def test_loads(case: Case, shift: int) -> None:
    """Inside, over the far edge, and over the near one."""
    shape = tuple(extent + (16 if axis == len(case.box) - 1 else 2) for axis, extent in enumerate(case.box))
    array = drawn(case.kind, shape)
    coordinates = tuple(shift for _ in case.box)
    expected = in_shared_memory(cut(array, case.box, coordinates), case.swizzle, case.start)
    assert np.array_equal(loaded(case, array, coordinates), expected)


@settings(max_examples=25, deadline=None)
@given(
    swizzle=st.sampled_from([0, 32, 64, 128]),
    rows=st.integers(1, 12),
    row_at=st.integers(-20, 40),
    column_at=st.integers(-80, 80),
    start=st.integers(0, 8),
)
def test_loads_anywhere(swizzle: int, rows: int, row_at: int, column_at: int, start: int) -> None:
    width = (swizzle or 128) // 2
    case = Case(box=(rows * (128 // (2 * width)), width), swizzle=swizzle, start=128 * start)
    array = drawn("f16", (24, 48))
    expected = in_shared_memory(cut(array, case.box, (row_at, column_at)), swizzle, case.start)
    assert np.array_equal(loaded(case, array, (row_at, column_at)), expected)


def stored(case: Case, array: Any, into: Any, where: tuple[int, int], **options: str) -> Outcome:
    """Loads the box at the beginning of `array`, and stores it to `into` at `where`."""
    made = [f"%d{k} = arith.constant {number} : i32" for k, number in enumerate(reversed(where))]
    body = "\n    ".join([*made, box_out(**options).replace("{places}", "%d0, %d1")])
    text = program(case, body, arguments=f", {case.argument('y')}")
    given = {"x": array, "y": into, "c0": 0, "c1": 0}
    assert check(parse(text)).verdict_line == "safe for every trip count"
    outcome = run(parse(text), "f", given)
    assert not outcome.violations
    return outcome


@pytest.mark.parametrize(
    "case", [Case(), Case(swizzle=0), Case(start=640), Case(kind="f32", box=(16, 8), swizzle=32)], ids=str
)
@pytest.mark.parametrize("where", [(0, 0), (3, 9), (-2, -5), (30, 100), (-8, 0)])
def test_stores(case: Case, where: tuple[int, int]) -> None:
    """What sticks out is not written."""
    array, into = drawn(case.kind, case.box), np.zeros((20, 72), TYPES[case.kind])
    expected = into.copy()
    for place in np.ndindex(*case.box):
        there = (where[0] + place[0], where[1] + place[1])
        if 0 <= there[0] < 20 and 0 <= there[1] < 72:
            expected[there] = array[place]
    assert np.array_equal(stored(case, array, into, where).arrays["y"], expected)


@pytest.mark.parametrize(
    ("word", "kind"), [("add", "f32"), ("min", "i32"), ("max", "f32"), ("and", "i32"), ("or", "i32"), ("xor", "i32")]
)
def test_reductions(word: str, kind: str) -> None:
    ufunc: Any = {"add": np.add, "min": np.minimum, "max": np.maximum}.get(word) or getattr(np, f"bitwise_{word}")
    case = Case(kind=kind, box=(8, 32))
    array, into = drawn(kind, case.box), drawn(kind, (20, 40))[::-1].copy()
    reduced = stored(
        case,
        array,
        into,
        (2, 4),
        op="nvvm.cp.async.bulk.tensor.reduce",
        kind=f" {{redKind = #nvvm.tma_redux_kind<{word}>}}",
    )
    expected = into.copy()
    expected[2:10, 4:36] = ufunc(into[2:10, 4:36], array)
    assert np.array_equal(reduced.arrays["y"], expected)


def test_counting_has_no_numbers() -> None:
    case = Case(kind="i32", box=(8, 32))
    with pytest.raises(UnsupportedError, match="computes inc, which has no numbers here"):
        stored(
            case,
            drawn("i32", case.box),
            drawn("i32", (8, 32)),
            (0, 0),
            op="nvvm.cp.async.bulk.tensor.reduce",
            kind=" {redKind = #nvvm.tma_redux_kind<inc>}",
        )


# What counts, and what a check makes of it ----------------------------------------------------------------------------


def test_a_load_reports_all_bytes_of_its_box() -> None:
    """Those outside of the array too: a barrier that expects others does not complete."""
    text = program(Case(), "").replace("%size = arith.constant 1024", "%size = arith.constant 1008")
    outcome = run(parse(text), "f", {"x": drawn("f16", (4, 64)), "c0": 0, "c1": 0})
    assert any(violation.stuck for violation in outcome.violations)
    assert check(parse(text)).verdict_line.startswith("unsafe")


def test_a_check_assumes_nothing_of_the_box() -> None:
    report = check(parse(program(Case(), "")))
    assert report.verdict_line == "safe for every trip count"
    assert not any("box" in str(each) or "fills" in str(each) for each in report.assumed)


TWO_STORES = """nvvm.cp.async.bulk.tensor.global.shared.cta %y, %box, box[%zero, %zero] : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.tensor.global.shared.cta %y, %box, box[%zero, %apart] : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0"""


@pytest.mark.parametrize(("apart", "verdict"), [(7, "unsafe: race"), (8, "safe")])
def test_boxes_that_overlap(apart: int, verdict: str) -> None:
    """The map says how large boxes are, so a check knows which of them meet."""
    text = program(Case(), TWO_STORES, arguments=f", {Case().argument('y')}")
    text = text.replace("%zero = arith", f"%apart = arith.constant {apart} : i32\n  %zero = arith", 1)
    assert check(parse(text)).verdict_line.startswith(verdict)


# What is no tensor map ------------------------------------------------------------------------------------------------

WRONG = {
    "has boxes with rows of 24 bytes, which is no multiple of 16": Case(box=(8, 12)),
    "has boxes with rows of 256 bytes, and a swizzle takes rows of up to 128": Case(box=(8, 128)),
    "has a swizzle of 48 bytes; there are 0, 32, 64, 128": Case(swizzle=48),
    "has a box that is not 2 numbers from 1 to 256": Case(box=(8, 512), swizzle=0),
    "has elements of type i1, which are no whole bytes": Case(),
    "has rows of 18 bytes, which is no multiple of 16": Case(),
    "has a tileas.tensor_map that is not {array =": Case(),
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_is_no_tensor_map(reason: str) -> None:
    text = program(replace(WRONG[reason]), "")
    if "i1" in reason:
        text = text.replace("memref<?x?xf16>", "memref<?x?xi1>")
    if "18 bytes" in reason:
        text = text.replace("memref<?x?xf16>", "memref<?x9xf16>")
    if "not {array" in reason:
        text = text.replace("swizzle = 128 : i64", "swizzle = 128 : i64, rows = 3 : i64")
    for attempt in (
        lambda: run(parse(text), "f", {"x": drawn("f16", (8, 64)), "c0": 0, "c1": 0}),
        lambda: check(parse(text)),
    ):
        with pytest.raises(ArgumentError) as raised:
            attempt()
        assert f"argument 'x' {reason}" in str(raised.value)


ARRAYS = {
    "maps a memref<?x?xf16>, and the array given has shape (8,)": (8,),
    "has rows of 18 bytes; a tensor map takes multiples of 16": (8, 9),
    "is an array without elements, of which there is no tensor map": (0, 8),
}


@pytest.mark.parametrize("reason", ARRAYS)
def test_arrays_that_are_not_mapped(reason: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        run(parse(program(Case(), "")), "f", {"x": np.zeros(ARRAYS[reason], np.float16), "c0": 0, "c1": 0})
    assert reason in str(raised.value)


def test_an_array_has_to_be_given() -> None:
    with pytest.raises(ArgumentError, match="give its dynamic sizes"):
        run(parse(program(Case(), "")), "f", {"c0": 0, "c1": 0})


def refused(text: str) -> str:
    with pytest.raises(UnsupportedError) as raised:
        run(parse(text), "f", {"x": drawn("f16", (8, 64)), "c0": 0, "c1": 0})
    return str(raised.value)


def test_coordinates_of_another_rank() -> None:
    text = program(Case(), "").replace("box[%c0, %c1]", "box[%c0, %c1, %c1]")
    assert "has 3 coordinates, and its tensor map is of 2 dimensions" in refused(text)


def test_boxes_begin_at_multiples_of_128_bytes() -> None:
    assert "has a box at byte 1088 of shared memory" in refused(program(Case(start=64), ""))


def test_a_box_that_its_swizzle_leaves() -> None:
    assert "moves a box of 96 bytes, whose swizzle reaches beyond it" in refused(
        program(Case(box=(3, 16), swizzle=32), "")
    )


def test_rows_that_lie_apart() -> None:
    assert (
        "copies boxes with rows of 32 bytes, which lie 128 bytes apart in shared memory, as far as their swizzle is wide; "
        "take the swizzle that is as wide as a row, or none"
    ) in refused(program(Case(box=(16, 16), swizzle=128), ""))


def test_a_size_that_contradicts_the_map() -> None:
    text = program(Case(), "").replace("box[%c0, %c1]", "box[%c0, %c1] {tileas.box_bytes = 512 : i64}")
    assert "says that its box has 512 bytes, and its tensor map 1024" in refused(text)


def test_a_map_of_which_nothing_is_said() -> None:
    start = program(Case(), "")
    text = start[: start.index(" {tileas.tensor_map")] + start[start.index("}}, %c0") + 2 :]
    assert "say by tileas.tensor_map what the argument maps" in refused(text)
