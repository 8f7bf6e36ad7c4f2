"""What we add to dialects of xDSL: read and written as mlir-opt does, and refused where it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.ir import parse, print_custom, print_generic
from tests.support.mlir import mlir_opt, mlir_opt_rejects

HEAD = """func.func @k(%p: !llvm.ptr<1>, %g: !llvm.ptr, %s: !llvm.ptr<3>, %x: i32, %f: f32, %i: index, %n: index,
                %m: memref<4xf32>, %q: memref<4xf32>, %w: memref<4x8xi32>) {
  %c0 = arith.constant 0 : index
"""

RIGHT = {
    "atomicrmw": "%o = llvm.atomicrmw add %p, %x acq_rel : !llvm.ptr<1>, i32",
    "atomicrmw, all that it may say": '%o = llvm.atomicrmw volatile fadd %g, %f syncscope("agent") monotonic '
    "{alignment = 4 : i64} : !llvm.ptr, f32",
    "atomicrmw of a pointer": "%o = llvm.atomicrmw xchg %p, %g seq_cst : !llvm.ptr<1>, !llvm.ptr",
    "cmpxchg": "%o = llvm.cmpxchg %p, %x, %x acq_rel monotonic : !llvm.ptr<1>, i32",
    "cmpxchg, all that it may say": '%o = llvm.cmpxchg weak volatile %g, %x, %x syncscope("x") seq_cst acquire '
    "{alignment = 8 : i64} : !llvm.ptr, i32",
    "addrspacecast": "%o = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr",
    "addrspacecast to the cluster": "%o = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr<7>",
    "atomic_rmw": "%o = memref.atomic_rmw addf %f, %m[%i] : (f32, memref<4xf32>) -> f32",
    "atomic_rmw in two dimensions": "%o = memref.atomic_rmw xori %x, %w[%i, %n] : (i32, memref<4x8xi32>) -> i32",
    "copy": "memref.copy %m, %q : memref<4xf32> to memref<4xf32>",
    "copy with an attribute": "memref.copy %m, %q {tag} : memref<4xf32> to memref<4xf32>",
    "forall": "scf.forall (%a) in (4) { memref.store %f, %m[%a] : memref<4xf32> }",
    "forall from, to, step": "scf.forall (%a, %b) = (0, %i) to (%n, 4) step (1, 2) { }",
    "forall with results": """%e = tensor.empty() : tensor<4xf32>
      %r = scf.forall (%a) in (%n) shared_outs(%o = %e) -> (tensor<4xf32>) { scf.forall.in_parallel { } }""",
    "forall from below zero": "scf.forall (%a) = (-2) to (4) step (1) { }",
    "parallel": "scf.parallel (%a) = (%c0) to (%n) step (%i) { memref.store %f, %m[%a] : memref<4xf32> }",
    "parallel that reduces": """%r = scf.parallel (%a, %b) = (%c0, %c0) to (%n, %i) step (%i, %i) init (%f) -> f32 {
      scf.reduce(%f : f32) { ^bb0(%l: f32, %t: f32): %u = arith.addf %l, %t : f32 scf.reduce.return %u : f32 } }""",
    "while without arguments": "scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do { scf.yield }",
    "assume": "%t = arith.constant true llvm.intr.assume %t : i1",
    "assume with bundles": """%t = arith.constant true %l = arith.constant 16 : i64
      llvm.intr.assume %t ["align"(%s, %l : !llvm.ptr<3>, i64), "cold"()] : i1 {tag}""",
    "remainder": "%o = arith.remf %f, %f fastmath<nnan> : f32",
    "while with results only": """%z = scf.while : () -> i32 { %t = arith.constant true scf.condition(%t) %x : i32 }
      do { ^bb0(%k: i32): scf.yield }""",
}

WRONG = {
    "llvm.atomicrmw add %p, %x unordered : !llvm.ptr<1>, i32": "expected at least 'monotonic' ordering",
    "llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr<1>, i32": "expected LLVM IR floating point type",
    "llvm.atomicrmw add %p, %f monotonic : !llvm.ptr<1>, f32": "expected LLVM IR integer type",
    "llvm.cmpxchg %p, %x, %x acq_rel release : !llvm.ptr<1>, i32": "failure ordering cannot be 'release' or 'acq_rel'",
    "llvm.cmpxchg %p, %x, %x unordered monotonic : !llvm.ptr<1>, i32": "ordering must be at least 'monotonic'",
    "llvm.addrspacecast %x : i32 to !llvm.ptr": "must be LLVM pointer type",
    "memref.atomic_rmw nothing %f, %m[%i] : (f32, memref<4xf32>) -> f32": None,
    "memref.atomic_rmw addf %x, %m[%i] : (i32, memref<4xf32>) -> i32": None,
    "memref.copy %m, %w : memref<4xf32> to memref<4x8xi32>": None,
    "scf.forall (%a, %b) in (4) { }": "expected 2 upper bound values, got 1",
    "scf.forall (%a) = (0) to (4) step (1, 1) { }": "step values, got 2",
    "scf.forall.in_parallel { }": None,
    "scf.parallel (%a) = (%c0, %c0) to (%n) step (%i) { }": None,
    "scf.parallel (%a) = (%c0) to (%n) step (%i) init (%f) { }": None,
    "scf.while : (i32) -> () { scf.condition(%x) } do { scf.yield }": None,
}
"""Text that nobody accepts, and words that stand in both messages where ours is MLIR's."""


def program(line: str) -> str:
    return f"{HEAD}  {line}\n  func.return\n}}"


@pytest.mark.parametrize("line", RIGHT.values(), ids=RIGHT)
def test_text_is_that_of_mlir(line: str) -> None:
    text = program(line)
    ours = parse(text)
    expected = mlir_opt(text)
    assert mlir_opt(print_custom(ours)) == expected
    assert mlir_opt(print_generic(ours)) == expected
    again = parse(expected)
    assert print_custom(parse(print_custom(again))) == print_custom(again)
    assert unnamed(print_custom(again)) == unnamed(expected)


DEVICE_CODE = {
    "a kernel": "gpu.func @k(%a: memref<4xf32, #gpu.address_space<workgroup>>, %n: index) kernel attributes "
    "{gpu.known_block_size = array<i32: 64, 1, 1>} { gpu.barrier gpu.return }",
    "a function": "gpu.func @h(%n: index) -> index { gpu.return %n : index }",
    "two results": "gpu.func @h(%n: index) -> (index, index) { gpu.return %n, %n : index, index }",
    "memory": "gpu.func @h(%a: memref<4xf32, #gpu.address_space<private>>, "
    "%b: memref<4xf32, #gpu.address_space<global>>) { gpu.return }",
    "threads": """gpu.func @k() kernel { %t = gpu.thread_id x %b = gpu.block_id y %d = gpu.block_dim z
      %g = gpu.grid_dim x %l = gpu.lane_id %i = gpu.global_id y gpu.return }""",
    "subgroups": """gpu.func @k() kernel { %s = gpu.subgroup_id : index %n = gpu.num_subgroups : index
      %z = gpu.subgroup_size : index gpu.return }""",
}


@pytest.mark.parametrize("text", DEVICE_CODE.values(), ids=DEVICE_CODE)
def test_device_code_is_that_of_mlir(text: str) -> None:
    module = f"gpu.module @m {{\n{text}\n}}"
    expected = mlir_opt(module)
    assert mlir_opt(print_custom(parse(module))) == expected
    assert mlir_opt(print_generic(parse(module))) == expected
    assert unnamed(print_custom(parse(expected))) == unnamed(expected)


@pytest.mark.parametrize(
    "text",
    [
        "gpu.func @k() { %t = gpu.thread_id w gpu.return }",
        "gpu.func @h(%n: index) -> index { gpu.return %n : index, index }",
        "gpu.func @h(%a: memref<4xf32, #gpu.address_space<shared>>) { gpu.return }",
        "gpu.func { gpu.return }",
    ],
)
def test_wrong_device_code_is_refused_by_both(text: str) -> None:
    module = f"gpu.module @m {{\n{text}\n}}"
    with pytest.raises((ParseError, VerifyException)):
        parse(module)
    mlir_opt_rejects(module)


def unnamed(text: str) -> list[str]:
    """The lines of a module without what is no part of its meaning: names of values, and who may be left out."""
    lines = [line.strip().replace("func.return", "return") for line in text.splitlines()]
    kept = [line for line in lines if line and line not in ("module {", "builtin.module {")]
    names: dict[str, str] = {}

    def rename(word: str) -> str:
        return names.setdefault(word, f"%{len(names)}")

    return [re.sub(r"%[\w$.-]+", lambda match: rename(match.group()), " ".join(line.split())) for line in kept]


@pytest.mark.parametrize(("line", "words"), WRONG.items())
def test_what_mlir_refuses_is_refused(line: str, words: str | None) -> None:
    with pytest.raises((ParseError, VerifyException)) as refusal:
        parse(program(line))
    said = mlir_opt_rejects(program(line))
    if words is not None:
        assert words in str(refusal.value)
        assert words in said


BITS = {
    "dense<0xFC00> : tensor<4xf16>": [-np.inf] * 4,
    "dense<0xFF80> : tensor<1xbf16>": [-np.inf],
    "dense<[0xFF800000, 1.5]> : tensor<2xf32>": [-np.inf, 1.5],
    "dense<0x4CEB79A3> : tensor<1xf32>": [123456792.0],
    "dense<0x7FF0000000000000> : tensor<1xf64>": [np.inf],
    "dense<0x38> : tensor<1xf8E4M3FN>": [1.0],
    "dense<0x10> : tensor<1xi32>": [16],
}


@pytest.mark.parametrize("text", BITS)
def test_bits_of_a_float_are_a_float_in_a_tile_too(text: str) -> None:
    (op,) = [each for each in parse(f"%0 = arith.constant {text}").walk() if isinstance(each, arith.ConstantOp)]
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    assert [*op.value.iter_values()] == BITS[text]
    assert print_custom(parse(print_custom(op))) == print_custom(parse(f"%0 = arith.constant {text}"))


def test_too_many_bits_for_a_float_are_refused() -> None:
    with pytest.raises(ParseError, match="at most 16 bits for a number of type f16"):
        parse("%0 = arith.constant dense<0xFC001> : tensor<4xf16>")
