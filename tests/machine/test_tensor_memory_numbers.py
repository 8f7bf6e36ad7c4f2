"""What `tcgen05.ld`, `tcgen05.st` and `tcgen05.cp` move, in numbers, against the pictures of the PTX manual."""

# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.layouts.tensor_pictures import PICTURES, REGISTERS
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import run

WORDS = 8
"""Registers of a thread, in which a warp has 32 lanes of as many columns."""
HALF = WORDS // 2
ACCESSES: dict[str, list[tuple[int, int, int]]] = {
    "32x32b": [(WORDS, 0, 0)],
    **{name: [(HALF, 0, 0), (HALF, 16, 0)] for name in ("16x64b", "16x128b", "16x256b")},
    "16x32bx2": [(HALF, 0, HALF), (HALF, 16, HALF)],
}
"""Shape -> the instructions of a warp: registers, lane, and the distance of the second half."""

PROGRAM = """
llvm.mlir.global internal @slot() {{addr_space = 3 : i32, alignment = 8 : i64}} : i32
llvm.mlir.global internal @tile() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<8192 x i8>
llvm.mlir.global internal @bar() {{addr_space = 3 : i32, alignment = 8 : i64}} : i64
func.func @f(%in: memref<{rows}x8xi32>, %out: memref<{threads}x8xi32>) attributes {{nvvm.reqntid = array<i32: {threads}>}} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c21 = arith.constant 21 : i32
  %n = arith.constant 32 : i32
  %column = arith.constant {column} : i32
  %ticks = arith.constant 1000 : i32
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %t = arith.index_cast %tid : i32 to index
  %warp = arith.shrui %tid, %c5 : i32
  %lanes = arith.shli %warp, %c21 : i32
  %first = arith.cmpi eq, %warp, %c0 : i32
  {indices}
  scf.if %first {{
    nvvm.tcgen05.alloc %slot, %n : !llvm.ptr<3>, i32
  }}
  nvvm.barrier0
  %a = llvm.load %slot : !llvm.ptr<3> -> i32
  %start = arith.addi %a, %column : i32
  %own = arith.addi %start, %lanes : i32
  {body}
  nvvm.tcgen05.fence <before>
  nvvm.barrier0
  scf.if %first {{
    %whole = llvm.inttoptr %a : i32 to !llvm.ptr<6>
    nvvm.tcgen05.dealloc %whole, %n : !llvm.ptr<6>, i32
  }}
  func.return
}}"""


def program(body: list[str], rows: int = 128, threads: int = 128, column: int = 3) -> str:
    indices = "\n  ".join(
        f"%i{i} = arith.constant {i} : index\n  %p{i} = arith.constant {i} : i32" for i in range(WORDS)
    )
    return PROGRAM.format(body="\n  ".join(body), indices=indices, rows=rows, threads=threads, column=column)


def address(name: str, lane: int) -> list[str]:
    return [
        f"%{name}_lane = arith.constant {lane << 16} : i32",
        f"%{name}_at = arith.addi %own, %{name}_lane : i32",
        f"%{name} = llvm.inttoptr %{name}_at : i32 to !llvm.ptr<6>",
    ]


def stores(shape: str) -> list[str]:
    """The threads' rows of %in go to tensor memory."""
    lines: list[str] = []
    taken = 0
    for number, (count, lane, distance) in enumerate(ACCESSES[shape]):
        vector = f"vector<{count}xi32>"
        name = f"%empty{number}"
        lines.append(f"{name} = llvm.mlir.undef : {vector}")
        for i in range(count):
            lines.append(f"%w{number}_{i} = memref.load %in[%t, %i{taken + i}] : memref<128x8xi32>")
            lines.append(f"%v{number}_{i} = llvm.insertelement %w{number}_{i}, {name}[%p{i} : i32] : {vector}")
            name = f"%v{number}_{i}"
        lines += address(f"s{number}", lane)
        lines.append(f"%sd{number} = arith.constant {distance} : i64")
        far = f", %sd{number}" if distance else ""
        lines.append(
            f"nvvm.tcgen05.st %s{number}, {name}{far} {{shape = #nvvm.tcgen05_ldst_shape<shape_{shape}>}} : {vector}"
        )
        taken += count
    return [*lines, "nvvm.tcgen05.wait <store>"]


def loads(shape: str) -> list[str]:
    """Tensor memory goes to the threads' rows of %out."""
    lines: list[str] = []
    for number, (count, lane, distance) in enumerate(ACCESSES[shape]):
        lines += address(f"l{number}", lane)
        lines.append(f"%ld{number} = arith.constant {distance} : i64")
        far = f", %ld{number}" if distance else ""
        lines.append(
            f"%r{number} = nvvm.tcgen05.ld %l{number}{far} {{shape = #nvvm.tcgen05_ldst_shape<shape_{shape}>}} : vector<{count}xi32>"
        )
    lines.append("nvvm.tcgen05.wait <load>")
    taken = 0
    for number, (count, _, _) in enumerate(ACCESSES[shape]):
        for i in range(count):
            lines.append(f"%x{number}_{i} = llvm.extractelement %r{number}[%p{i} : i32] : vector<{count}xi32>")
            lines.append(f"memref.store %x{number}_{i}, %out[%t, %i{taken + i}] : memref<128x8xi32>")
        taken += count
    return lines


def places(shape: str) -> Any:
    """Lane and column of each register of 128 threads, as (2, thread, register)."""
    found = np.zeros((2, 128, WORDS), np.int64)
    for thread in range(128):
        taken = 0
        for count, lane, distance in ACCESSES[shape]:
            for register in range(count):
                row, column = PICTURES[shape](thread % 32, register, distance)
                found[:, thread, taken + register] = thread // 32 * 32 + lane + row, column
            taken += count
    return found


PAIRS = [*((name, "32x32b") for name in PICTURES), *(("32x32b", name) for name in PICTURES), ("16x64b", "16x256b")]


@pytest.mark.parametrize(("into", "out"), PAIRS)
def test_registers_go_where_the_pictures_say(into: str, out: str) -> None:
    given = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, (128, WORDS)).astype(np.int32)
    cells = np.zeros((128, WORDS), np.int32)
    cells[tuple(places(into))] = given
    module = parse(program([*stores(into), *loads(out)]))
    outcome = run(module, "f", {"in": given, "out": np.zeros_like(given)}, order="random", seed=2)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"], cells[tuple(places(out))])
    assert check(module, prove=False).verdict == "safe"


def test_single_registers() -> None:
    """A value of type i32 is one register."""
    body = [
        "%v = memref.load %in[%t, %i0] : memref<128x8xi32>",
        *address("s", 0),
        "nvvm.tcgen05.st %s, %v {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32",
        "nvvm.tcgen05.wait <store>",
        "%r = nvvm.tcgen05.ld %s {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : i32",
        "nvvm.tcgen05.wait <load>",
        "memref.store %r, %out[%t, %i0] : memref<128x8xi32>",
    ]
    given = np.arange(1024, dtype=np.int32).reshape(128, 8)
    outcome = run(parse(program(body)), "f", {"in": given, "out": np.zeros_like(given)})
    thread = np.arange(128)
    row, column = thread // 32 * 32 + thread % 2 * 8 + thread % 32 // 4, thread // 2 % 2
    assert np.array_equal(outcome.arrays["out"][:, 0], np.where(column == 0, given[row, 0], 0))


@pytest.mark.parametrize("shape", REGISTERS)
def test_registers_are_not_there_before_the_wait(shape: str) -> None:
    lines = [line for line in [*stores("32x32b"), *loads(shape)] if line != "nvvm.tcgen05.wait <load>"]
    assert "race" in check(parse(program(lines)), prove=False).kinds


# Copies ---------------------------------------------------------------------------------------------------------------

COPIES: dict[str, tuple[int, int, str, list[tuple[int, ...]]]] = {
    "128x256b": (128, 8, "none", [(0,), (32,), (64,), (96,)]),
    "128x128b": (128, 4, "none", [(0,), (32,), (64,), (96,)]),
    "64x128b, warpx2_02_13": (64, 4, "warpx2_02_13", [(0, 64), (32, 96)]),
    "64x128b, warpx2_01_23": (64, 4, "warpx2_01_23", [(0, 32), (64, 96)]),
    "32x128b": (32, 4, "warpx4", [(0, 32, 64, 96)]),
}
"""Rows and words of a row, how they are spread, and the first lanes to which each 32 rows go."""


def copied(name: str, format: str = "") -> list[str]:
    """%in goes to shared memory, chunks of 16 bytes along K one behind the other, from there to lanes, and to %out."""
    rows, words, spread, _ = COPIES[name]
    shape = name.partition(",")[0]
    lines = [f"%rows = arith.constant {rows} : i32", "%mine = arith.cmpi ult, %tid, %rows : i32", "scf.if %mine {"]
    for word in range(words):
        lines += [
            f"%w{word} = memref.load %in[%t, %i{word}] : memref<{rows}x8xi32>",
            f"%four{word} = arith.constant 4 : i32",
            f"%base{word} = arith.constant {word // 4 * rows * 4 + word % 4} : i32",
            f"%off{word} = arith.muli %tid, %four{word} : i32",
            f"%at{word} = arith.addi %off{word}, %base{word} : i32",
            f"%to{word} = llvm.getelementptr %tile[%at{word}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32",
            f"llvm.store %w{word}, %to{word} : i32, !llvm.ptr<3>",
        ]
    lines += [
        "}",
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
        "nvvm.barrier0",
        "scf.if %first {",
        "  %one = nvvm.elect.sync -> i1",
        "  scf.if %one {",
        "    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32",
        "    nvvm.fence.mbarrier.init",
        "    %z = llvm.mlir.constant(0 : i8) : i8",
        "    %no = llvm.mlir.constant(false) : i1",
        "    %where = llvm.ptrtoint %tile : !llvm.ptr<3> to i32",
        "    %k = arith.constant 4 : i32",
        "    %s = arith.shrui %where, %k : i32",
        f"    %lead = arith.constant {rows} : i32",
        "    %group = arith.constant 8 : i32",
        "    %d = nvvm.tcgen05.mma_smem_desc(%s, %lead, %group, %z, %no, %z) : (i32, i32, i32, i8, i1, i8) -> i64",
        "    %to = llvm.inttoptr %start : i32 to !llvm.ptr<6>",
        f"    nvvm.tcgen05.cp %to, %d {{multicast = #nvvm.tcgen05_cp_multicast<{spread}>, shape = #nvvm.tcgen05_cp_shape<shape_{shape}>{format}}}",
        "    nvvm.tcgen05.commit %bar : !llvm.ptr<3>",
        "    nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32",
        "  }",
        "}",
        "nvvm.barrier0",
        "nvvm.tcgen05.fence <after>",
    ]
    return [*lines, *loads("32x32b")]


@pytest.mark.parametrize("name", COPIES)
def test_copies_go_to_the_lanes_of_their_warps(name: str) -> None:
    rows, words, _, lanes = COPIES[name]
    given = np.arange(rows * 8, dtype=np.int32).reshape(rows, 8) + 1
    module = parse(program(copied(name), rows))
    outcome = run(module, "f", {"in": given, "out": np.zeros((128, 8), np.int32)})
    assert not outcome.violations
    expected = np.zeros((128, 8), np.int32)
    for part, starts in enumerate(lanes):
        for start in starts:
            expected[start : start + 32, :words] = given[32 * part : 32 * (part + 1), :words]
    assert np.array_equal(outcome.arrays["out"], expected)


# Refusals -------------------------------------------------------------------------------------------------------------

PACKED = [line.replace(" {shape", " pack {shape").replace("vector<8xi32>", "vector<8xi32>") for line in loads("32x32b")]


def test_what_is_not_computed_is_refused() -> None:
    given = {"in": np.zeros((128, 8), np.int32), "out": np.zeros((128, 8), np.int32)}
    with pytest.raises(UnsupportedError, match="packs elements of 16 bits"):
        run(parse(program(PACKED)), "f", given)
    unpacking = copied("128x256b", ", srcFormat = #nvvm.tcgen05_cp_src_fmt<b6x16_p32>")
    with pytest.raises(UnsupportedError, match="unpacks elements"):
        run(parse(program(unpacking)), "f", given)


def test_without_a_number_of_threads_nothing_is_moved() -> None:
    text = (
        program(stores("32x32b"))
        .replace("attributes {nvvm.reqntid = array<i32: 128>} ", "")
        .replace("nvvm.read.ptx.sreg.tid.x : i32", "arith.constant 0 : i32")
    )
    with pytest.raises(UndecidedError, match="nothing says how many threads"):
        run(parse(text), "f", {"in": np.zeros((128, 8), np.int32), "out": np.zeros((128, 8), np.int32)})
