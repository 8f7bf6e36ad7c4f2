"""
Memrefs: whole programs against mlir-runner, chains of subviews against numpy, the ends of buffers.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, f32

from tests.machine.native import Call, Function, call_natively
from tests.machine.numbers import bits_of
from tests.machine.support import call, machine_for
from tests.support.ir import parse
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.checker.witnesses.witness import witness_of
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError


def element(attribute: Any) -> ElementType:
    found = element_type(attribute)
    assert found is not None
    return found


F32 = element(f32)


def memory(array: Any) -> View:
    """A fresh f32 object with the numbers of `array`."""
    return MemoryObject.from_array("m", np.asarray(array, np.float32), F32).whole()


# Programs against mlir-runner -----------------------------------------------------------------------------------------

FILL = """
  %zero_i = arith.constant 0 : index
  %one_i = arith.constant 1 : index
  %rows = arith.constant 6 : index
  %columns = arith.constant 8 : index
  %m = memref.alloc() : memref<6x8xi32>
  scf.for %i = %zero_i to %rows step %one_i {
    scf.for %j = %zero_i to %columns step %one_i {
      %row = arith.muli %i, %columns : index
      %number = arith.addi %row, %j : index
      %value = arith.index_cast %number : index to i32
      memref.store %value, %m[%i, %j] : memref<6x8xi32>
    }
  }
"""
"""A matrix whose elements are their own places in memory."""

PROGRAMS: dict[str, tuple[tuple[str, ...], str]] = {
    "strided_subview": (
        ("i32", "i32", "i32"),
        FILL
        + """
  %two = arith.constant 2 : index
  %s = memref.subview %m[1, %two] [2, 3] [2, 2] : memref<6x8xi32> to memref<2x3xi32, strided<[16, 2], offset: ?>>
  %x = memref.load %s[%one_i, %two] : memref<2x3xi32, strided<[16, 2], offset: ?>>
  %new = arith.constant -5 : i32
  memref.store %new, %s[%zero_i, %one_i] : memref<2x3xi32, strided<[16, 2], offset: ?>>
  %four = arith.constant 4 : index
  %y = memref.load %m[%one_i, %four] : memref<6x8xi32>
  %d = memref.dim %s, %one_i : memref<2x3xi32, strided<[16, 2], offset: ?>>
  %z = arith.index_cast %d : index to i32
  memref.dealloc %m : memref<6x8xi32>
  func.return %x, %y, %z : i32, i32, i32""",
    ),
    "rank_reducing_subview": (
        ("i32", "i32"),
        FILL
        + """
  %three = arith.constant 3 : index
  %s = memref.subview %m[%three, 0] [1, 8] [1, 1] : memref<6x8xi32> to memref<8xi32, strided<[1], offset: ?>>
  %x = memref.load %s[%three] : memref<8xi32, strided<[1], offset: ?>>
  %t = memref.subview %m[0, %three] [6, 1] [1, 1] : memref<6x8xi32> to memref<6xi32, strided<[8], offset: ?>>
  %y = memref.load %t[%three] : memref<6xi32, strided<[8], offset: ?>>
  func.return %x, %y : i32, i32""",
    ),
    "reinterpreted_subview": (
        ("i32", "i32"),
        FILL
        + """
  %s = memref.subview %m[2, 2] [2, 2] [1, 1] : memref<6x8xi32> to memref<2x2xi32, strided<[8, 1], offset: 18>>
  %r = memref.reinterpret_cast %s to offset: [3], sizes: [4], strides: [5]
    : memref<2x2xi32, strided<[8, 1], offset: 18>> to memref<4xi32, strided<[5], offset: 3>>
  %two = arith.constant 2 : index
  %x = memref.load %r[%two] : memref<4xi32, strided<[5], offset: 3>>
  %q = memref.reinterpret_cast %m to offset: [%two], sizes: [%rows], strides: [%columns]
    : memref<6x8xi32> to memref<?xi32, strided<[?], offset: ?>>
  %y = memref.load %q[%two] : memref<?xi32, strided<[?], offset: ?>>
  func.return %x, %y : i32, i32""",
    ),
    "views_of_bytes": (
        ("i32", "i32", "i32"),
        """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %eight = arith.constant 8 : index
  %b = memref.alloc() : memref<64xi8>
  %f = memref.view %b[%eight][] : memref<64xi8> to memref<2x3xf32>
  %i = memref.view %b[%four][%four] : memref<64xi8> to memref<?xi32>
  %x = arith.constant 1.5 : f32
  memref.store %x, %f[%zero, %one] : memref<2x3xf32>
  %r = memref.load %i[%two] : memref<?xi32>
  %sixteen = arith.constant 16 : index
  %byte = arith.constant 64 : i8
  memref.store %byte, %b[%sixteen] : memref<64xi8>
  %y = memref.load %f[%zero, %two] : memref<2x3xf32>
  %ybits = arith.bitcast %y : f32 to i32
  %low = arith.constant 255 : i32
  %ylow = arith.andi %ybits, %low : i32
  %g = memref.reinterpret_cast %f to offset: [1], sizes: [1], strides: [1]
    : memref<2x3xf32> to memref<1xf32, strided<[1], offset: 1>>
  %z = memref.load %g[%zero] : memref<1xf32, strided<[1], offset: 1>>
  %zbits = arith.bitcast %z : f32 to i32
  func.return %r, %ylow, %zbits : i32, i32, i32""",
    ),
    "collapse_and_expand": (
        ("i32", "i32", "i32"),
        FILL
        + """
  %c = memref.collapse_shape %m [[0, 1]] : memref<6x8xi32> into memref<48xi32>
  %five = arith.constant 5 : index
  %two = arith.constant 2 : index
  %place = arith.constant 29 : index
  %x = memref.load %c[%place] : memref<48xi32>
  %e = memref.expand_shape %m [[0, 1], [2, 3]] output_shape [2, 3, 4, 2] : memref<6x8xi32> into memref<2x3x4x2xi32>
  %y = memref.load %e[%one_i, %two, %one_i, %one_i] : memref<2x3x4x2xi32>
  %s = memref.subview %m[0, 0] [6, 4] [1, 2] : memref<6x8xi32> to memref<6x4xi32, strided<[8, 2]>>
  %k = memref.collapse_shape %s [[0, 1]] : memref<6x4xi32, strided<[8, 2]>> into memref<24xi32, strided<[2]>>
  %z = memref.load %k[%five] : memref<24xi32, strided<[2]>>
  func.return %x, %y, %z : i32, i32, i32""",
    ),
    "metadata": (
        ("index", "index", "index", "index", "i32"),
        FILL
        + """
  %s = memref.subview %m[2, 3] [2, 2] [2, 1] : memref<6x8xi32> to memref<2x2xi32, strided<[16, 1], offset: 19>>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %s
    : memref<2x2xi32, strided<[16, 1], offset: 19>> -> memref<i32>, index, index, index, index, index
  %r = memref.reinterpret_cast %base to offset: [%offset], sizes: [2], strides: [1]
    : memref<i32> to memref<2xi32, strided<[1], offset: ?>>
  %x = memref.load %r[%one_i] : memref<2xi32, strided<[1], offset: ?>>
  func.return %offset, %sizes#1, %strides#0, %strides#1, %x : index, index, index, index, i32""",
    ),
    "copy_of_rows": (
        ("i32", "i32"),
        FILL
        + """
  %s = memref.subview %m[0, 0] [1, 8] [1, 1] : memref<6x8xi32> to memref<8xi32, strided<[1]>>
  %t = memref.subview %m[4, 0] [1, 8] [1, 1] : memref<6x8xi32> to memref<8xi32, strided<[1], offset: 32>>
  "memref.copy"(%s, %t) : (memref<8xi32, strided<[1]>>, memref<8xi32, strided<[1], offset: 32>>) -> ()
  %four = arith.constant 4 : index
  %x = memref.load %m[%four, %four] : memref<6x8xi32>
  %y = memref.load %m[%one_i, %one_i] : memref<6x8xi32>
  func.return %x, %y : i32, i32""",
    ),
    "casts": (
        ("index", "i32"),
        FILL
        + """
  %c = "memref.cast"(%m) : (memref<6x8xi32>) -> memref<?x?xi32>
  %d = memref.dim %c, %one_i : memref<?x?xi32>
  %b = "memref.cast"(%c) : (memref<?x?xi32>) -> memref<6x?xi32>
  %x = memref.load %b[%one_i, %one_i] : memref<6x?xi32>
  func.return %d, %x : index, i32""",
    ),
    "dynamic_alloca": (
        ("i64",),
        """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  %a = memref.alloca(%ten) : memref<?xi64>
  scf.for %i = %zero to %ten step %one {
    %v = arith.index_cast %i : index to i64
    memref.store %v, %a[%i] : memref<?xi64>
  }
  %start = arith.constant 0 : i64
  %sum = scf.for %i = %zero to %ten step %one iter_args(%s = %start) -> (i64) {
    %v = memref.load %a[%i] : memref<?xi64>
    %t = arith.addi %s, %v : i64
    scf.yield %t : i64
  }
  func.return %sum : i64""",
    ),
    "branches": (
        ("i32", "i32"),
        """
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %limit = arith.constant 7 : i32
  cf.br ^head(%zero, %zero : i32, i32)
^head(%i: i32, %s: i32):
  %more = arith.cmpi slt, %i, %limit : i32
  cf.cond_br %more, ^body, ^leave(%s : i32)
^body:
  %t = arith.addi %s, %i : i32
  %j = arith.addi %i, %one : i32
  cf.br ^head(%j, %t : i32, i32)
^leave(%total: i32):
  cf.switch %total : i32, [
    default: ^end(%zero : i32),
    21: ^end(%total : i32),
    22: ^end(%one : i32)
  ]
^end(%chosen: i32):
  func.return %total, %chosen : i32, i32""",
    ),
}


def program(name: str) -> Function:
    results, body = PROGRAMS[name]
    return Function(name, (), results, body)


def test_programs_agree_with_mlir_runner() -> None:
    functions = [program(name) for name in PROGRAMS]
    expected = call_natively([Call(function, ()) for function in functions])
    module = parse("".join(function.text for function in functions))
    for function, bits in zip(functions, expected, strict=True):
        outcome = call(module, function.name)
        outcomes = outcome if len(function.results) > 1 else (outcome,)
        assert tuple(map(bits_of, function.results, outcomes)) == bits, function.name


def test_globals() -> None:
    text = """
    "memref.global"() <{constant, initial_value = dense<[3, 1, 4, 1]> : tensor<4xi32>, sym_name = "table",
      sym_visibility = "private", type = memref<4xi32>}> : () -> ()
    "memref.global"() <{initial_value, sym_name = "state", sym_visibility = "private", type = memref<2xf32>}>
      : () -> ()
    func.func @f(%i: index) -> (i32, f32) {
      %t = memref.get_global @table : memref<4xi32>
      %x = memref.load %t[%i] : memref<4xi32>
      %one = arith.constant 1 : index
      %s = memref.get_global @state : memref<2xf32>
      %again = memref.get_global @state : memref<2xf32>
      %v = arith.constant 2.5 : f32
      memref.store %v, %s[%one] : memref<2xf32>
      %y = memref.load %again[%one] : memref<2xf32>
      func.return %x, %y : i32, f32
    }"""
    assert call(text, "f", 2) == (4, 2.5)
    assert call(text, "f", 0, machine=machine_for(with_data=False))[0] == 3
    assert call(text, "f", 2) == (4, 2.5), "each execution has globals of its own"


# Subviews against numpy -----------------------------------------------------------------------------------------------


def random_chain(generator: random.Random, shape: tuple[int, ...]) -> tuple[str, list[int], Any]:
    """
    A function that makes a chain of subviews with dynamic numbers and fills the last with -1.

    Returns its text, the dynamic numbers, and the index that does the same to a numpy array of addresses.
    """
    numbers: list[int] = []
    lines: list[str] = []
    addresses = np.arange(np.prod(shape)).reshape(shape)
    sizes = list(shape)
    kind = f"memref<{'x'.join(map(str, shape))}xf32>"
    name = "%m"
    for step in range(generator.randint(1, 3)):
        offsets, extents, strides = [], [], []
        for extent in sizes:
            stride = generator.choice([1, 1, 2])
            offset = generator.randrange(extent)
            offsets.append(offset)
            extents.append(generator.randint(1, (extent - offset + stride - 1) // stride))
            strides.append(stride)
        addresses = addresses[
            np.ix_(*(o + s * np.arange(n) for o, n, s in zip(offsets, extents, strides, strict=True)))
        ]
        drop = [d for d, n in enumerate(extents) if n == 1 and len(extents) > 1 and generator.random() < 0.5][:1]
        kept = [n for d, n in enumerate(extents) if d not in drop]
        addresses = addresses.reshape(kept)
        result = f"memref<{'x'.join(map(str, kept))}xf32, strided<[{', '.join('?' * len(kept))}], offset: ?>>"
        spelled = [spell(generator, part, numbers) for part in (offsets, strides)]
        window = f"[{spelled[0]}] [{', '.join(map(str, extents))}] [{spelled[1]}]"
        lines.append(f"  %s{step} = memref.subview {name}{window} : {kind} to {result}")
        name, kind, sizes = f"%s{step}", result, kept
    zeros = ", ".join(f"%z{d}" for d in range(len(sizes)))
    lines += [f"  %n = memref.alloc() : memref<{'x'.join(map(str, sizes))}xf32>"]
    lines += [f'  "memref.copy"(%n, {name}) : (memref<{"x".join(map(str, sizes))}xf32>, {kind}) -> ()']
    lines += [f"  %z{d} = arith.constant 0 : index" for d in range(len(sizes))]
    lines += ["  %one = arith.constant 1.0 : f32", f"  memref.store %one, {name}[{zeros}] : {kind}"]
    arguments = "".join(f", %p{number}: index" for number in range(len(numbers)))
    head = f"func.func @f(%m: memref<{'x'.join(map(str, shape))}xf32>{arguments}) {{"
    return "\n".join([head, *lines, "  func.return", "}"]), numbers, addresses


def spell(generator: random.Random, values: list[int], numbers: list[int]) -> str:
    """Each value as a literal, or as an argument that is appended to `numbers`."""
    spelled = []
    for value in values:
        if generator.random() < 0.5:
            spelled.append(f"%p{len(numbers)}")
            numbers.append(value)
        else:
            spelled.append(str(value))
    return ", ".join(spelled)


def test_chains_of_subviews_touch_what_numpy_does() -> None:
    generator = random.Random(8)
    for _ in range(200):
        shape = tuple(generator.randint(1, 6) for _ in range(generator.randint(1, 3)))
        text, numbers, addresses = random_chain(generator, shape)
        view = memory(np.full(shape, 9))
        call(text, "f", view, *numbers)
        expected = np.full(np.prod(shape), 9.0)
        expected[addresses.reshape(-1)] = 0
        expected[addresses.flat[0]] = 1
        assert np.array_equal(view.array().reshape(-1), expected), text


# Bounds ---------------------------------------------------------------------------------------------------------------

LOAD = """
func.func @f(%m: memref<?x4xf32>, %i: index, %j: index) -> (f32) {
  %r = memref.load %m[%i, %j] : memref<?x4xf32>
  func.return %r : f32
}"""


def test_an_index_must_lie_inside_its_dimension() -> None:
    view = memory(np.arange(12).reshape(3, 4))
    assert call(LOAD, "f", view, 2, 3) == 11
    with pytest.raises(UnsupportedError, match=r"reaches outside 'm'.*index 4 of dimension 1, which has 4"):
        call(LOAD, "f", view, 1, 4)
    with pytest.raises(UnsupportedError, match="index -1 of dimension 0"):
        call(LOAD, "f", view, -1, 0)


def test_a_view_may_reach_outside_until_it_is_used() -> None:
    text = """
    func.func @f(%m: memref<8xf32>, %o: index, %c: i1) -> (f32) {
      %s = memref.subview %m[%o] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
      %zero = arith.constant 0.0 : f32
      %r = scf.if %c -> (f32) {
        %three = arith.constant 3 : index
        %x = memref.load %s[%three] : memref<4xf32, strided<[1], offset: ?>>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      func.return %r : f32
    }"""
    assert call(text, "f", memory(range(8)), 6, 0) == 0
    assert call(text, "f", memory(range(8)), 4, 1) == 7
    with pytest.raises(UnsupportedError, match=r"memref.load.*reaches outside 'm'"):
        call(text, "f", memory(range(8)), 6, 1)


REFUSED: list[tuple[str, str, str]] = [
    ('%r = "memref.cast"(%m) : (memref<?xf32>) -> memref<5xf32>', "memref<5xf32>", "casts a buffer of shape"),
    ("%c = arith.constant -2 : index\n%r = memref.alloc(%c) : memref<?xf32>", "memref<?xf32>", "negative size"),
    (
        "%c = arith.constant 2 : index\n%r = memref.dim %m, %c : memref<?xf32>",
        "index",
        "asks for dimension 2 of a memref of rank 1",
    ),
    (
        "%r = memref.expand_shape %m [[0, 1]] output_shape [3, 3] : memref<?xf32> into memref<3x3xf32>",
        "memref<3x3xf32>",
        "expands a dimension of 8 to",
    ),
    (
        "%r = memref.alloc() : memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>",
        "memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>",
        "only static strided layouts",
    ),
    ("%r = memref.get_global @nowhere : memref<4xf32>", "memref<4xf32>", "is no memref.global here"),
]


@pytest.mark.parametrize(("op", "kind", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_refusals(op: str, kind: str, message: str) -> None:
    text = f"func.func @f(%m: memref<?xf32>) -> ({kind}) {{\n{op}\nfunc.return %r : {kind}\n}}"
    with pytest.raises(UnsupportedError, match=message):
        call(text, "f", memory(range(8)))


def test_copies_need_equal_shapes() -> None:
    text = """
    func.func @f(%m: memref<?xf32>, %n: memref<?xf32>) {
      "memref.copy"(%m, %n) : (memref<?xf32>, memref<?xf32>) -> ()
      func.return
    }"""
    with pytest.raises(UnsupportedError, match=r"copies an array of shape \(3,\) to one of shape \(4,\)"):
        call(text, "f", memory(range(3)), memory(range(4)))
    call(text, "f", memory([]), memory([]))


def test_collapsing_what_is_not_contiguous() -> None:
    text = """
    func.func @f(%m: memref<4x4xf32>) -> (f32) {
      %s = memref.subview %m[0, 0] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
      %c = memref.collapse_shape %s [[0, 1]] : memref<4x2xf32, strided<[4, 1]>> into memref<8xf32>
      %i = arith.constant 3 : index
      %r = memref.load %c[%i] : memref<8xf32>
      func.return %r : f32
    }"""
    with pytest.raises(UnsupportedError, match=r"collapses dimensions \(0, 1\), which are not contiguous"):
        call(text, "f", memory(np.arange(16).reshape(4, 4)))


def test_allocation_with_a_strided_layout() -> None:
    text = """
    func.func @f() -> (memref<2x3xf32, strided<[8, 2], offset: 4>>) {
      %r = memref.alloc() : memref<2x3xf32, strided<[8, 2], offset: 4>>
      func.return %r : memref<2x3xf32, strided<[8, 2], offset: 4>>
    }"""
    view = call(text, "f")
    assert (view.offset, view.strides, view.base.size) == (16, (32, 8), 4 * (4 + 8 + 4 + 1))
    assert view.in_bounds()


@pytest.mark.parametrize(
    ("space", "name"),
    [
        ("", "global"),
        (", 0", "global"),
        (", 1", "global"),
        (", 3", "shared"),
        (", 5", "private"),
        (", 6", "tensor"),
        (", #gpu.address_space<workgroup>", "shared"),
    ],
)
def test_memory_spaces(space: str, name: str) -> None:
    kind = f"memref<4xf32{space}>"
    text = f"func.func @f() -> ({kind}) {{\n%buffer = memref.alloc() : {kind}\nfunc.return %buffer : {kind}\n}}"
    view = call(parse(text, allow_unregistered=True), "f")
    assert (view.base.space, view.base.name, view.shape) == (name, "buffer", (4,))


# Checking: scalars without data ---------------------------------------------------------------------------------------

CELLS = """
func.func @f(%m: memref<4xindex>, %n: memref<4xindex>, %i: index) -> (index) {
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : index
  memref.store %seven, %m[%zero] : memref<4xindex>
  %r = memref.load %m[%i] : memref<4xindex>
  "memref.copy"(%n, %m) : (memref<4xindex>, memref<4xindex>) -> ()
  %s = memref.load %m[%i] : memref<4xindex>
  %first = arith.constant 1 : index
  %t = memref.load %m[%s] : memref<4xindex>
  func.return %r : index
}"""


def cells() -> View:
    return MemoryObject("m", (4,), element(IndexType()), "global").whole()


def test_scalars_that_the_program_stored_are_known_when_checking() -> None:
    with pytest.raises(
        UndecidedError,
        match=r"memref.load.*computes an address in 'm', which is written, from data that is not computed",
    ):
        call(CELLS, "f", cells(), cells(), 0, machine=machine_for(with_data=False))
    text = CELLS.replace("%m[%s]", "%m[%first]")
    assert call(text, "f", cells(), cells(), 0, machine=machine_for(with_data=False)) == 7
    assert call(text, "f", cells(), cells(), 1, machine=machine_for(with_data=False)) is UNKNOWN


GATHERED = """
func.func @f(%m: memref<4xf32>, %ix: memref<4xindex>, %out: memref<4xf32>, %i: index) -> (f32) {
  %k = memref.load %ix[%i] : memref<4xindex>
  %x = memref.load %m[%k] : memref<4xf32>
  %v = vector.load %m[%k] : memref<4xf32>, vector<1xf32>
  memref.store %x, %out[%i] : memref<4xf32>
  func.return %x : f32
}"""


def test_where_a_read_lies_does_not_matter_in_memory_that_nobody_writes() -> None:
    """But it does before a write and behind one, to whatever place; and where a store lies always does."""
    index, number = element(IndexType()), F32

    def checked(text: str) -> object:
        views = [MemoryObject("m", (4,), number).whole(), MemoryObject("ix", (4,), index).whole()]
        out = MemoryObject("out", (4,), number).whole()
        return call(text, "f", *views, out, 1, machine=machine_for(with_data=False))

    assert checked(GATHERED) is UNKNOWN
    written = "memref.store %x, %m[%i] : memref<4xf32>"
    first = "%x = memref.load %m[%k]"
    for text in (
        GATHERED.replace("func.return", f"{written}\n  func.return"),
        GATHERED.replace(first, f"%zero = arith.constant 0.0 : f32\n  {written.replace('%x', '%zero')}\n  {first}"),
    ):
        assert text != GATHERED
        with pytest.raises(UndecidedError, match="computes an address in 'm', which is written"):
            checked(text)
    with pytest.raises(UndecidedError, match=r"memref.store.*computes an address from data"):
        checked(GATHERED.replace("%out[%i]", "%out[%k]"))


def test_addresses_must_be_known() -> None:
    text = """
    func.func @f(%m: memref<8xf32>, %o: index) {
      %s = memref.subview %m[%o] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
      func.return
    }"""
    view = MemoryObject("m", (8,), F32).whole()
    with pytest.raises(UndecidedError, match=r"memref.subview.*computes an address from data"):
        call(text, "f", view, UNKNOWN, machine=machine_for(with_data=False))


# The ends of buffers --------------------------------------------------------------------------------------------------


def kinds(machine: Machine) -> list[str]:
    return [str(violation.kind) for violation in machine.violations.values()]


def outcome(text: str, **options: Any) -> list[str]:
    """The kinds of violations of @f on two arrays, with data and without, which must be the same."""
    module = parse(text)
    found = []
    for with_data in (True, False):
        machine = machine_for(with_data=with_data, **options)
        call(module, "f", memory(range(4)), memory(range(4)), machine=machine)
        found.append(kinds(machine))
    assert found[0] == found[1]
    return found[0]


def freeing(before: str, after: str = "") -> str:
    """A buffer that an asynchronous copy fills; what comes before its dealloc and after."""
    return f"""
    func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {{
      %zero = arith.constant 0 : index
      %b = memref.alloc() : memref<4xf32>
      %none = "gpu.wait"() : () -> !gpu.async.token
      %t = "gpu.memcpy"(%none, %b, %m)
        {{operandSegmentSizes = array<i32: 1, 1, 1>}}
        : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
      {before}
      memref.dealloc %b : memref<4xf32>
      {after}
      func.return
    }}"""


WAIT = '"gpu.wait"(%t) : (!gpu.async.token) -> ()'


def test_freeing_what_asynchronous_work_still_writes() -> None:
    assert outcome(freeing(WAIT)) == []
    assert outcome(freeing("")) == ["undrained"]
    assert outcome(freeing(""), order="eager") == ["undrained"]
    assert outcome(freeing(WAIT), order="eager") == []


def test_an_undrained_work_is_reported_with_both_parties_and_once() -> None:
    machine = machine_for(with_data=False, observer=Investigator())
    call(parse(freeing("")), "f", memory(range(4)), memory(range(4)), machine=machine)
    (violation,) = machine.violations.values()
    assert "may still touch 'b' when that ends" in violation.message
    assert [party.op.name for party in violation.parties] == ["gpu.memcpy", "memref.dealloc"]
    assert "a wait for 'gpu.memcpy' before 'memref.dealloc'" in violation.missing
    witness = witness_of(violation)
    assert witness is not None
    assert any("issues gpu.memcpy" in str(step) for step in witness.steps)
    assert machine.agents[0].mind.knows_work(machine.works[0]), "counts as waited for once it has been reported"


def test_touching_a_buffer_after_its_end() -> None:
    load = "%x = memref.load %b[%zero] : memref<4xf32>"
    with pytest.raises(UnsupportedError, match=r"memref.load.*touches 'b' after its end"):
        outcome(freeing(WAIT, load))
    with pytest.raises(UnsupportedError, match=r"memref.dealloc.*ends 'b' a second time"):
        outcome(freeing(WAIT, "memref.dealloc %b : memref<4xf32>"))


def test_freeing_while_another_thread_reads_is_a_race() -> None:
    def text(wait: str, late: str = "") -> str:
        return f"""
        func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {{
          %zero = arith.constant 0 : index
          %b = memref.alloc() : memref<4xf32>
          %t = async.execute {{
            %x = memref.load %b[%zero] : memref<4xf32>
            async.yield
          }}
          {wait}
          memref.dealloc %b : memref<4xf32>
          {late}
          func.return
        }}"""

    wait = "async.await %t : !async.token"
    assert outcome(text(wait)) == []
    assert outcome(text("", wait)) == ["race"]
    assert outcome(text("", wait), order="eager") == ["race"]


STACK = """
func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {
  func.call @g(%m) : (memref<4xf32>) -> ()
  func.return
}
func.func private @g(%m: memref<4xf32>) {
  %b = memref.alloca() : memref<4xf32>
  %none = "gpu.wait"() : () -> !gpu.async.token
  %t = "gpu.memcpy"(%none, %b, %m)
    {operandSegmentSizes = array<i32: 1, 1, 1>}
    : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
  WAIT
  func.return
}
"""


def test_stack_buffers_end_with_their_function() -> None:
    assert outcome(STACK.replace("WAIT", WAIT)) == []
    assert outcome(STACK.replace("WAIT", "")) == ["undrained"]


def test_stack_buffers_end_with_their_scope() -> None:
    text = """
    func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {
      %zero = arith.constant 0 : index
      %none = "gpu.wait"() : () -> !gpu.async.token
      %t = "memref.alloca_scope"() ({
        %b = memref.alloca() : memref<4xf32>
        %s = "gpu.memcpy"(%none, %b, %m)
          {operandSegmentSizes = array<i32: 1, 1, 1>}
          : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
        INSIDE
        "memref.alloca_scope.return"(%s) : (!gpu.async.token) -> ()
      }) : () -> !gpu.async.token
      "gpu.wait"(%t) : (!gpu.async.token) -> ()
      func.return
    }"""
    assert outcome(text.replace("INSIDE", "")) == ["undrained"]
    assert outcome(text.replace("INSIDE", '"gpu.wait"(%s) : (!gpu.async.token) -> ()')) == []


def test_buffers_do_not_end_inside_asynchronous_scopes() -> None:
    text = """
    func.func @f(%m: memref<4xf32>, %n: memref<4xf32>) {
      async_queue.commit 0 {
        async_queue.scope {
          memref.dealloc %m : memref<4xf32>
        }
      }
      func.return
    }"""
    with pytest.raises(UnsupportedError, match="inside an asynchronous scope"):
        outcome(text)
