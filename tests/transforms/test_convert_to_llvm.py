"""
Functions lowered to `llvm` by meaning: what the machine computes before, this computer's processor computes behind, and
mlir-opt and mlir-translate read the result.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.ir import ROOT, parse, run_passes
from tests.support.llvm_ir import assert_prints_as_mlir_translates
from tests.support.native_code import NativeCode
from tests.support.ptx import assembled, ptx_of, require_ptxas
from tests.transforms.test_annotated_loops_to_hardware import CASES, PIPELINE, Case
from tileas_xdsl.backend.ptxas import assemble
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncWaitGroupOp
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.to_llvm.lowering import RULES

PASS = "convert-to-llvm"
DOWN = f"{PASS},convert-nvvm-to-llvm"


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def computed_before(text: str, function: str, arrays: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    """The arrays behind a run on the machine."""
    given = {name: array.copy() for name, array in arrays.items()}
    outcome = run(parse(text), function, given | numbers)
    assert not outcome.violations
    return outcome.arrays


def assert_computes_the_same(
    text: str,
    arrays: dict[str, Any],
    numbers: dict[str, int] | None = None,
    *,
    passes: str = DOWN,
    function: str = "f",
    sizes: bool = False,
    translated: bool = True,
) -> None:
    """
    Before on the machine, behind natively; `sizes`: the first dimension of each array is an argument too; `translated`:
    MLIR's translation of the result is ours after optimisation.
    """
    numbers = numbers or {}
    module = run_passes(parse(text), passes)
    if translated:
        assert_prints_as_mlir_translates(module, "default<O2>")
    expected = computed_before(text, function, arrays, numbers)
    given = {name: np.ascontiguousarray(array.copy()) for name, array in arrays.items()}
    flat = [part for array in given.values() for part in ([array, array.shape[0]] if sizes else [array])]
    NativeCode(module).call(function, *flat, *numbers.values())
    for name, array in given.items():
        assert array.tobytes() == np.asarray(expected[name]).tobytes(), name


# Programs of queues ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_annotated_loops_compute_what_they_did(case: Case) -> None:
    arrays = {name: rng().standard_normal((32, 8)).astype(np.float32) for name in ("a", "b", "out")}
    with recorded_diagnostics():
        for n in (0, 1, 2, 3, 32) if "%c0 to %n" in case.text else (4,):
            passes = f"{PIPELINE},convert-queue-to-nvvm,{DOWN}"
            assert_computes_the_same(case.text, arrays, {"n": n}, passes=passes)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_annotated_loops_become_kernels_without_spills(case: Case) -> None:
    """The whole way without MLIR's tools, and what the pipeline needs stands in the waits."""
    with recorded_diagnostics():
        module = run_passes(parse(case.text), f"{PIPELINE},convert-queue-to-nvvm")
        counts = [op.n.value.data for op in module.walk() if isinstance(op, CpAsyncWaitGroupOp)]
        ptx = ptx_of(module, "sm_80", f"{PASS}{{threads=32}},convert-nvvm-to-llvm")
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == [str(count) for count in counts]
    assert ".reqntid 32" in ptx
    assert assembled(ptx, "sm_80").shared > 0


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_a_ring_of_dynamic_size(n: int) -> None:
    text = (ROOT / "examples/cp_async_ring.mlir").read_text()
    arrays = {name: rng().standard_normal((7, 8)).astype(np.float32) for name in ("src", "out")}
    passes = f"convert-queue-to-nvvm,{DOWN}"
    with recorded_diagnostics():
        assert_computes_the_same(text, arrays, {"n": n}, passes=passes, function="scale", sizes=True)


@pytest.mark.parametrize("name", ["cp_async_ring", "annotated_copy", "nvgpu_ring"])
def test_examples_become_kernels_without_spills(name: str) -> None:
    before = {"annotated_copy": f"{PIPELINE},", "nvgpu_ring": "convert-nvgpu-to-queue,"}.get(name, "")
    passes = f"{before}convert-queue-to-nvvm,{PASS}{{threads=1}},convert-nvvm-to-llvm"
    with recorded_diagnostics():
        ptx = ptx_of(parse((ROOT / f"examples/{name}.mlir").read_text()), "sm_80", passes)
    kernels = assemble(ptx, "sm_80", require_ptxas()).kernels
    assert kernels
    assert {kernel.spills for kernel in kernels} == {0}


# Numbers --------------------------------------------------------------------------------------------------------------

INTEGER_TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOAT_TYPES = {"f32": np.float32, "f64": np.float64}
EDGES = [0, 1, 2, 3, 7, 12, -1, -2, -3, -7, 100, -128, 127]
DIVISIONS = ("divsi", "divui", "remsi", "remui", "ceildivui", "ceildivsi", "floordivsi")
INTEGER_OPS = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui", *DIVISIONS)
SHIFTS = ("shli", "shrui", "shrsi")
FLOAT_OPS = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
FLOATS = [0.0, -0.0, 1.0, -1.5, 3.25, 1e30, -1e-30, float("inf"), float("-inf"), float("nan")]


def elementwise(type_: str, result: str, *lines: str) -> str:
    return f"""func.func @f(%a: memref<?x{type_}>, %b: memref<?x{type_}>, %out: memref<?x{result}>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {{
        %x = memref.load %a[%i] : memref<?x{type_}>
        %y = memref.load %b[%i] : memref<?x{type_}>
        {" ".join(lines)}
        memref.store %r, %out[%i] : memref<?x{result}>
      }}
      func.return
    }}"""


def assert_elementwise(type_: str, result: str, a: Any, b: Any, out: Any, *lines: str) -> None:
    text = elementwise(type_, result, *lines)
    assert_computes_the_same(text, {"a": a, "b": b, "out": out}, {"n": len(a)}, sizes=True, translated=False)


def integer_pairs(type_: str, divides: bool) -> tuple[Any, Any]:
    """Every pair of edges that no division traps at."""
    kind = INTEGER_TYPES[type_]
    least = np.iinfo(kind).min
    edges = [*EDGES, int(least), int(np.iinfo(kind).max)]
    pairs = [(x, y) for x in edges for y in edges if not divides or (y != 0 and (x, y) != (least, -1))]
    return np.array([x for x, _ in pairs], kind), np.array([y for _, y in pairs], kind)


@pytest.mark.parametrize("type_", INTEGER_TYPES)
@pytest.mark.parametrize("op", [*INTEGER_OPS, *SHIFTS])
def test_integers(op: str, type_: str) -> None:
    a, b = integer_pairs(type_, op in DIVISIONS)
    if op in SHIFTS:
        keep = (b >= 0) & (b < 8 * a.itemsize)
        a, b = a[keep], b[keep]
    assert_elementwise(type_, type_, a, b, np.zeros_like(a), f"%r = arith.{op} %x, %y : {type_}")


@pytest.mark.parametrize("type_", ["i8", "i64"])
@pytest.mark.parametrize("word", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons_of_integers(word: str, type_: str) -> None:
    a, b = integer_pairs(type_, False)
    lines = (f"%t = arith.cmpi {word}, %x, %y : {type_}", f"%r = arith.select %t, %x, %y : {type_}")
    assert_elementwise(type_, type_, a, b, np.zeros_like(a), *lines)


def float_pairs(type_: str) -> tuple[Any, Any]:
    pairs = [(x, y) for x in FLOATS for y in FLOATS]
    kind = FLOAT_TYPES[type_]
    return np.array([x for x, _ in pairs], kind), np.array([y for _, y in pairs], kind)


def numbers_only(op: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Without pairs whose result is NaN, which may have other bits; without zeros of both signs where LLVM is free."""
    keep = ~np.isnan(a) & ~np.isnan(b)
    if op in ("maxnumf", "minnumf"):
        keep &= (a != 0) | (b != 0)
    if op in ("addf", "subf"):
        keep &= ~(np.isinf(a) & np.isinf(b))
    if op == "mulf":
        keep &= ~(np.isinf(a) & (b == 0)) & ~(np.isinf(b) & (a == 0))
    if op == "divf":
        keep &= ~(np.isinf(a) & np.isinf(b)) & ~((a == 0) & (b == 0))
    return a[keep], b[keep]


@pytest.mark.parametrize("type_", FLOAT_TYPES)
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_floats(op: str, type_: str) -> None:
    a, b = numbers_only(op, *float_pairs(type_))
    assert_elementwise(type_, type_, a, b, np.zeros_like(a), f"%r = arith.{op} %x, %y : {type_}")


@pytest.mark.parametrize("word", ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "ult", "une", "uno"])
def test_comparisons_of_floats(word: str) -> None:
    a, b = float_pairs("f32")
    lines = (f"%t = arith.cmpf {word}, %x, %y : f32", "%r = arith.extui %t : i1 to i32")
    assert_elementwise("f32", "i32", a, b, np.zeros(len(a), np.int32), *lines)


CONVERSIONS = {
    "extsi": ("i8", "i32", EDGES),
    "extui": ("i8", "i64", EDGES),
    "trunci": ("i32", "i8", [*EDGES, 300, 70000]),
    "sitofp": ("i32", "f32", [*EDGES, 2**24 + 1]),
    "uitofp": ("i32", "f64", EDGES),
    "fptosi": ("f32", "i32", [0.0, 1.9, -1.9, 1e6, -1e6]),
    "fptoui": ("f32", "i32", [0.0, 1.9, 3e9]),
    "extf": ("f32", "f64", FLOATS[:8]),
    "truncf": ("f64", "f32", [0.1, 1e300, -1e-300, 1.0]),
    "bitcast": ("f32", "i32", FLOATS[:8]),
}
KINDS: dict[str, Any] = {**INTEGER_TYPES, **FLOAT_TYPES, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("op", CONVERSIONS)
def test_conversions(op: str) -> None:
    source, target, values = CONVERSIONS[op]
    a = np.array(values).astype(KINDS[source])
    line = f"%r = arith.{op} %x : {source} to {target}"
    assert_elementwise(source, target, a, a, np.zeros(len(a), KINDS[target]), line)


def test_indices_are_integers_of_64_bits() -> None:
    a = np.array([-1, 5, 2**31 - 1, -(2**31)], np.int32)
    lines = (
        "%j = arith.index_cast %x : i32 to index",
        "%k = arith.addi %j, %i : index",
        "%r = arith.index_cast %k : index to i64",
    )
    assert_elementwise("i32", "i64", a, a, np.zeros(4, np.int64), *lines)


@pytest.mark.parametrize(
    "line", ["math.sqrt %s", "math.absf %x", "math.floor %x", "math.ceil %x", "math.fma %x, %y, %s"]
)
def test_functions_of_floats(line: str) -> None:
    a = np.array([0.3, 2.5, -7.75, 1e10], np.float32)
    lines = ("%s = arith.mulf %x, %x : f32", f"%r = {line} : f32")
    assert_elementwise("f32", "f32", a, a[::-1], np.zeros(4, np.float32), *lines)


# Buffers and control --------------------------------------------------------------------------------------------------

PROGRAMS = {
    "a loop carries buffers and swaps them": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %one = arith.constant 1.0 : f32
      %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %a, %q = %b) -> (memref<8xf32>, memref<8xf32>) {
        %x = memref.load %p[%i] : memref<8xf32>
        %y = arith.addf %x, %one : f32
        memref.store %y, %q[%i] : memref<8xf32>
        scf.yield %q, %p : memref<8xf32>, memref<8xf32>
      }
      memref.store %one, %r#0[%c5] : memref<8xf32>
      func.return
    }""",
    "a branch gives a view of unknown place": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %odd = arith.remui %i, %c4 : index
        %t = arith.cmpi ult, %odd, %c1 : index
        %view = scf.if %t -> (memref<4xf32, strided<[1], offset: ?>>) {
          %v = memref.subview %a[%c4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
          scf.yield %v : memref<4xf32, strided<[1], offset: ?>>
        } else {
          %w = memref.subview %a[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
          scf.yield %w : memref<4xf32, strided<[1], offset: ?>>
        }
        %x = memref.load %view[%c1] : memref<4xf32, strided<[1], offset: ?>>
        memref.store %x, %b[%i] : memref<8xf32>
      }
      func.return
    }""",
    "while": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %end = scf.while (%i = %c0) : (index) -> index {
        %t = arith.cmpi slt, %i, %c7 : index
        scf.condition(%t) %i : index
      } do {
      ^bb0(%j: index):
        %x = memref.load %a[%j] : memref<8xf32>
        memref.store %x, %b[%j] : memref<8xf32>
        %k = arith.addi %j, %c1 : index
        scf.yield %k : index
      }
      %y = memref.load %a[%c0] : memref<8xf32>
      memref.store %y, %b[%end] : memref<8xf32>
      func.return
    }""",
    "blocks": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      cf.br ^test(%c0, %a : index, memref<8xf32>)
    ^end:
      func.return
    ^test(%i: index, %from: memref<8xf32>):
      %t = arith.cmpi slt, %i, %c8 : index
      cf.cond_br %t, ^body, ^end
    ^body:
      %x = memref.load %from[%i] : memref<8xf32>
      scf.for %j = %c0 to %i step %c1 {
        memref.store %x, %b[%j] : memref<8xf32>
      }
      %next = arith.addi %i, %c1 : index
      cf.br ^test(%next, %from : index, memref<8xf32>)
    }""",
    "a callee takes buffers and gives a number": """
    func.func private @at(%p: memref<?xf32, strided<[?], offset: ?>>, %i: index) -> f32 {
      %x = memref.load %p[%i] : memref<?xf32, strided<[?], offset: ?>>
      func.return %x : f32
    }
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %v = memref.subview %a[%c1] [%c3] [%c2] : memref<8xf32> to memref<?xf32, strided<[?], offset: ?>>
      %x = func.call @at(%v, %c2) : (memref<?xf32, strided<[?], offset: ?>>, index) -> f32
      memref.store %x, %b[%c1] : memref<8xf32>
      func.return
    }""",
    "a row of a matrix, vectors, and what a buffer says of itself": """
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.alloca() : memref<2x4xf32>
      %row = memref.subview %m[1, 0] [1, 4] [1, 1] : memref<2x4xf32> to memref<4xf32, strided<[1], offset: 4>>
      %x = vector.load %a[%c1] : memref<8xf32>, vector<4xf32>
      %y = arith.addf %x, %x : vector<4xf32>
      vector.store %y, %row[%c0] : memref<4xf32, strided<[1], offset: 4>>, vector<4xf32>
      %z = memref.load %m[%c1, %c1] : memref<2x4xf32>
      %base, %offset, %size, %stride = memref.extract_strided_metadata %row : memref<4xf32, strided<[1], offset: 4>>
          -> memref<f32>, index, index, index
      memref.store %z, %b[%offset] : memref<8xf32>
      memref.store %z, %b[%stride] : memref<8xf32>
      func.return
    }""",
    "a global": """
    "memref.global"() <{sym_name = "g", type = memref<2x2xf32>, sym_visibility = "private", constant,
        initial_value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}> : () -> ()
    func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
      %c1 = arith.constant 1 : index
      %g = memref.get_global @g : memref<2x2xf32>
      %x = memref.load %g[%c1, %c1] : memref<2x2xf32>
      memref.store %x, %b[%c1] : memref<8xf32>
      func.return
    }""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_buffers_and_control(name: str) -> None:
    arrays = {key: rng().standard_normal(8).astype(np.float32) for key in ("a", "b")}
    assert_computes_the_same(PROGRAMS[name], arrays)


def test_ids_of_threads_become_registers() -> None:
    text = """func.func @f(%out: memref<?xindex>) {
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %t = gpu.thread_id x
      %z = gpu.thread_id z
      gpu.barrier
      %p = arith.muli %b, %d : index
      %q = arith.addi %p, %t : index
      memref.store %z, %out[%q] : memref<?xindex>
      func.return
    }"""
    ptx = ptx_of(parse(text), "sm_80", f"{PASS}{{threads=64}},convert-nvvm-to-llvm")
    for word in ("%ctaid.x", "%ntid.x", "%tid.x", "%tid.z", "bar.sync"):
        assert word in ptx or (word == "%ntid.x" and "64" in ptx)
    assembled(ptx, "sm_80")


# What is refused ------------------------------------------------------------------------------------------------------

REFUSED = {
    "func.func @f() { %0 = memref.alloc() : memref<4xf32> func.return }": "'memref.alloc' op has no meaning in LLVM",
    "func.func @f() { async_queue.wait 0, 0 func.return }": "'async_queue.wait' op has no meaning in LLVM here",
    "func.func @f(%a: tensor<4xf32>) { func.return }": "'func.func' op hands over a 'tensor<4xf32>'",
    "func.func @f(%a: memref<4xf32, affine_map<(i) -> (2 * i)>>) { func.return }": "hands over a 'memref<4xf32, affine",
    "func.func @f(%a: i32) -> i32 { func.return %a : i32 }": "'func.func' op returns values, and nobody waits",
    "func.func @f(%n: index) { %0 = memref.alloca(%n) : memref<?xf32> func.return }": "'memref.alloca' op makes a",
    "func.func @f(%a: memref<4xi1>, %i: index) { %0 = memref.load %a[%i] : memref<4xi1> func.return }": "of one bit",
    '"memref.global"() <{sym_name = "g", type = memref<1xf32, 3>, initial_value = dense<1.0> : tensor<1xf32>, '
    'sym_visibility = "private"}> : () -> ()': "has an initial value in shared memory",
    "func.func @f(%a: f80) { func.return }": "hands over a 'f80'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_llvm_has_nothing_for_is_refused_before_anything_is_touched(text: str) -> None:
    module = parse(f"func.func @first() {{ func.return }}\n{text}")
    before = str(module)
    with pytest.raises(RefusedError, match=re.escape(REFUSED[text])):
        run_passes(module, f"{PASS}{{threads=32}}")
    assert str(module) == before


def test_every_rule_is_for_an_op_of_another_dialect() -> None:
    assert {op.name.split(".")[0] for op in RULES} == {
        "arith",
        "cf",
        "func",
        "gpu",
        "math",
        "memref",
        "scf",
        "ub",
        "vector",
    }
