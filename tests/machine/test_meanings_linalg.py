"""Structured ops: on memrefs against mlir-runner, on tensors against numpy, and inside asynchronous scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.machine.native import Call, Function, call_natively
from tests.machine.numbers import bits_of
from tests.machine.support import call, machine_for
from tests.machine.test_meanings_memref import memory
from tests.support.ir import parse
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

Shapes = dict[str, tuple[int, ...]]

# Against mlir-runner --------------------------------------------------------------------------------------------------


def filled(name: str, shape: tuple[int, ...], kind: str, factor: int) -> str:
    """A memref with small numbers, no two neighbours alike."""
    dimensions = "x".join(map(str, shape))
    indices = [f"%{name}_i{d}" for d in range(len(shape))]
    lines = [f"%{name} = memref.alloc() : memref<{dimensions}x{kind}>"]
    lines += [f"%{name}_f = arith.constant {factor} : index", f"%{name}_m = arith.constant 7 : index"]
    for d, extent in enumerate(shape):
        lines.append(f"%{name}_e{d} = arith.constant {extent} : index")
        lines.append(f"scf.for {indices[d]} = %c0 to %{name}_e{d} step %c1 {{")
    lines.append(f"%{name}_s0 = arith.addi %c1, %c0 : index")
    for d, index in enumerate(indices):
        lines.append(f"%{name}_t{d} = arith.muli %{name}_s{d}, %{name}_f : index")
        lines.append(f"%{name}_s{d + 1} = arith.addi %{name}_t{d}, {index} : index")
    lines.append(f"%{name}_r = arith.remui %{name}_s{len(shape)}, %{name}_m : index")
    lines.append(f"%{name}_n = arith.index_cast %{name}_r : index to i32")
    value = f"%{name}_n"
    if kind == "f32":
        value = f"%{name}_x"
        lines.append(f"{value} = arith.sitofp %{name}_n : i32 to f32")
    elif kind == "i8":
        value = f"%{name}_x"
        lines.append(f"{value} = arith.trunci %{name}_n : i32 to i8")
    lines.append(f"memref.store {value}, %{name}[{', '.join(indices)}] : memref<{dimensions}x{kind}>")
    return "\n".join([*lines, *("}" for _ in shape)]) + "\n"


def summed(name: str, shape: tuple[int, ...], kind: str) -> str:
    """`%sum`: every element times a number of its own, so that two exchanged elements show. Exact for small numbers."""
    dimensions = "x".join(map(str, shape))
    indices = [f"%u{d}" for d in range(len(shape))]
    zero = "arith.constant 0.0 : f32" if kind == "f32" else f"arith.constant 0 : {kind}"
    add, multiply = ("arith.addf", "arith.mulf") if kind == "f32" else ("arith.addi", "arith.muli")
    lines = [f"%start = {zero}"]
    carried = "%start"
    for d, extent in enumerate(shape):
        lines.append(f"%ue{d} = arith.constant {extent} : index")
        lines.append(
            f"{'%sum' if d == 0 else f'%q{d}'} = scf.for {indices[d]} = %c0 to %ue{d} step %c1 "
            f"iter_args(%a{d} = {carried}) -> ({kind}) {{"
        )
        carried = f"%a{d}"
    lines.append("%w0 = arith.addi %c1, %c0 : index")
    for d, index in enumerate(indices):
        lines.append(f"%x{d} = arith.muli %w{d}, %ue{d} : index")
        lines.append(f"%w{d + 1} = arith.addi %x{d}, {index} : index")
    lines.append(f"%wi = arith.index_cast %w{len(shape)} : index to i32")
    weight = "%wi"
    if kind == "f32":
        weight = "%wf"
        lines.append("%wf = arith.sitofp %wi : i32 to f32")
    lines.append(f"%e = memref.load %{name}[{', '.join(indices)}] : memref<{dimensions}x{kind}>")
    lines.append(f"%p = {multiply} %e, {weight} : {kind}")
    lines.append(f"%n = {add} {carried}, %p : {kind}")
    result = "%n"
    for d in reversed(range(len(shape))):
        lines += [f"scf.yield {result} : {kind}", "}"]
        result = f"%q{d}"
    return "\n".join(lines) + "\n"


def program(name: str, kind: str, inputs: Shapes, output: tuple[int, ...], op: str) -> Function:
    """Fill memrefs, run `op` on them, return the weighted sum of the last, `%out`."""
    body = "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
    for number, (operand, shape) in enumerate({**inputs, "out": output}.items()):
        body += filled(operand, shape, "i8" if operand.startswith("small") else kind, number + 2)
    return Function(name, (), (kind,), body + op + "\n" + summed("out", output, kind) + f"func.return %sum : {kind}")


def named(op: str, kind: str, inputs: Shapes, output: tuple[int, ...], attributes: str = "") -> str:
    def typed(shape: tuple[int, ...]) -> str:
        return f"memref<{'x'.join(map(str, shape))}x{kind}>"

    names, types = ", ".join(f"%{name}" for name in inputs), ", ".join(map(typed, inputs.values()))
    return f"linalg.{op} {attributes}ins({names} : {types}) outs(%out : {typed(output)})"


CONVOLUTION = "{dilations = dense<[2, 1]> : tensor<2xi64>, strides = dense<[1, 2]> : tensor<2xi64>} "

QUANTIZED = """
%za = arith.constant 3 : i32
%zb = arith.constant -2 : i32
linalg.quantized_matmul ins(%small_a, %small_b, %za, %zb : memref<3x5xi8>, memref<5x4xi8>, i32, i32)
  outs(%out : memref<3x4xi32>)"""

COLUMN_SUMS = """
linalg.generic {
  indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
  iterator_types = ["reduction", "parallel"]
} ins(%a : memref<4x5xKIND>) outs(%out : memref<5xKIND>) {
^bb0(%x: KIND, %y: KIND):
  %s = ADD %x, %y : KIND
  linalg.yield %s : KIND
}"""

WINDOWS = """
%three = arith.constant 3 : KIND
linalg.generic {
  indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
  iterator_types = ["parallel", "reduction"]
} ins(%a, %b : memref<9xKIND>, memref<3xKIND>) outs(%out : memref<4xKIND>) {
^bb0(%x: KIND, %w: KIND, %y: KIND):
  %j = linalg.index 1 : index
  %i = arith.index_cast %j : index to KIND
  %m = arith.muli %x, %w : KIND
  %k = arith.muli %three, %i : KIND
  %n = arith.addi %m, %k : KIND
  %c = arith.cmpi slt, %n, %y : KIND
  %s = arith.select %c, %y, %n : KIND
  %t = arith.addi %s, %n : KIND
  linalg.yield %t : KIND
}"""

CONDITIONAL = """
linalg.generic {
  indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
  iterator_types = ["parallel", "parallel"]
} ins(%a : memref<3x4xKIND>) outs(%out : memref<4x3xKIND>) {
^bb0(%x: KIND, %y: KIND):
  %i = linalg.index 0 : index
  %z = arith.cmpi eq, %i, %c1 : index
  %r = scf.if %z -> (KIND) {
    scf.yield %x : KIND
  } else {
    %s = arith.subi %y, %x : KIND
    scf.yield %s : KIND
  }
  linalg.yield %r : KIND
}"""

REDUCTION = """
"linalg.reduce"(%a, %out) <{dimensions = array<i64: 1>}> ({
^bb0(%x: i32, %y: i32):
  %s = arith.muli %x, %y : i32
  %t = arith.addi %s, %x : i32
  linalg.yield %t : i32
}) : (memref<3x4x2xi32>, memref<3x2xi32>) -> ()"""

FILL = "%v = arith.constant 2.5 : f32\nlinalg.fill ins(%v : f32) outs(%out : memref<3x4xf32>)"


def programs() -> list[Function]:
    found: list[Function] = []
    for kind, add in (("f32", "arith.addf"), ("i32", "arith.addi")):
        pair: Shapes = {"a": (4, 5), "b": (4, 5)}
        for op in ("add", "sub", "mul", "max", "min"):
            found.append(program(f"{op}_{kind}", kind, pair, (4, 5), named(op, kind, pair, (4, 5))))
        product: Shapes = {"a": (3, 5), "b": (5, 4)}
        found.append(program(f"matmul_{kind}", kind, product, (3, 4), named("matmul", kind, product, (3, 4))))
        copied: Shapes = {"a": (3, 5)}
        found.append(program(f"copy_{kind}", kind, copied, (3, 5), named("copy", kind, copied, (3, 5))))
        images: Shapes = {"a": (1, 2, 6, 7), "b": (3, 2, 2, 3)}
        convolution = named("conv_2d_nchw_fchw", kind, images, (1, 3, 4, 3), CONVOLUTION)
        found.append(program(f"convolution_{kind}", kind, images, (1, 3, 4, 3), convolution))
        sums = COLUMN_SUMS.replace("KIND", kind).replace("ADD", add)
        found.append(program(f"column_sums_{kind}", kind, {"a": (4, 5)}, (5,), sums))
    found.append(program("fill", "f32", {}, (3, 4), FILL))
    found.append(program("reduction", "i32", {"a": (3, 4, 2)}, (3, 2), REDUCTION))
    quantized: Shapes = {"small_a": (3, 5), "small_b": (5, 4)}
    found.append(program("quantized", "i32", quantized, (3, 4), QUANTIZED))
    transpose = "linalg.transpose ins(%a : memref<2x3x4xi32>) outs(%out : memref<4x2x3xi32>) permutation = [2, 0, 1]"
    found.append(program("transpose", "i32", {"a": (2, 3, 4)}, (4, 2, 3), transpose))
    broadcast = "linalg.broadcast ins(%a : memref<3xi32>) outs(%out : memref<2x3x4xi32>) dimensions = [0, 2]"
    found.append(program("broadcast", "i32", {"a": (3,)}, (2, 3, 4), broadcast))
    windows: Shapes = {"a": (9,), "b": (3,)}
    found.append(program("windows", "i32", windows, (4,), WINDOWS.replace("KIND", "i32")))
    found.append(program("conditional", "i32", {"a": (3, 4)}, (4, 3), CONDITIONAL.replace("KIND", "i32")))
    return found


def test_structured_ops_agree_with_mlir_runner() -> None:
    functions = programs()
    expected = call_natively([Call(function, ()) for function in functions])
    module = parse("".join(function.text for function in functions))
    for function, (bits,) in zip(functions, expected, strict=True):
        assert bits_of(function.results[0], call(module, function.name)) == bits, function.name


# Against numpy --------------------------------------------------------------------------------------------------------


def on_tensors(op: str, arguments: dict[str, str], result: str) -> str:
    listed = ", ".join(f"%{name}: {kind}" for name, kind in arguments.items())
    return f"func.func @f({listed}) -> ({result}) {{\n{op}\nfunc.return %r : {result}\n}}"


def numbers(*shape: int) -> Any:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - 3).astype(np.float32)


MATMUL = on_tensors(
    "%r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    {"a": "tensor<?x?xf32>", "b": "tensor<?x?xf32>", "c": "tensor<?x?xf32>"},
    "tensor<?x?xf32>",
)


def test_matmul_on_tensors() -> None:
    a, b, c = numbers(3, 4), numbers(4, 5), numbers(3, 5)
    assert np.array_equal(call(MATMUL, "f", a, b, c), c + a @ b)
    assert np.array_equal(c, numbers(3, 5)), "the output operand stays as it was"
    assert call(MATMUL, "f", UNKNOWN, UNKNOWN, UNKNOWN, machine=machine_for(with_data=False)) is UNKNOWN
    assert call(MATMUL, "f", numbers(3, 0), numbers(0, 5), c).tolist() == c.tolist()
    with pytest.raises(UnsupportedError, match="has operands that disagree on loop 2"):
        call(MATMUL, "f", a, numbers(3, 5), c)


@pytest.mark.parametrize("op", ["exp", "log", "sqrt"])
def test_functions_of_one_tensor(op: str) -> None:
    text = on_tensors(
        f"%r = linalg.{op} ins(%a : tensor<6xf32>) outs(%c : tensor<6xf32>) -> tensor<6xf32>",
        {"a": "tensor<6xf32>", "c": "tensor<6xf32>"},
        "tensor<6xf32>",
    )
    array = np.linspace(0.5, 4, 6, dtype=np.float32)
    expected = getattr(np, op)(array.astype(np.float64)).astype(np.float32)
    assert np.array_equal(call(text, "f", array, numbers(6)), expected)


def test_selection() -> None:
    text = on_tensors(
        """%r = linalg.select ins(%p, %a, %b : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>)
          outs(%c : tensor<4xf32>) -> tensor<4xf32>""",
        {"p": "tensor<4xi1>", "a": "tensor<4xf32>", "b": "tensor<4xf32>", "c": "tensor<4xf32>"},
        "tensor<4xf32>",
    )
    mask = np.array([True, False, True, False])
    a, b = numbers(4), -numbers(4) + 9
    assert np.array_equal(call(text, "f", mask, a, b, numbers(4)), np.where(mask, a, b))


def test_reduction_in_the_order_of_the_loops() -> None:
    """The body is neither associative nor commutative."""
    text = on_tensors(
        """%r = "linalg.reduce"(%a, %c) <{dimensions = array<i64: 1>}> ({
        ^bb0(%x: i32, %y: i32):
          %d = arith.constant 3 : i32
          %s = arith.muli %y, %d : i32
          %t = arith.subi %s, %x : i32
          linalg.yield %t : i32
        }) : (tensor<2x4xi32>, tensor<2xi32>) -> tensor<2xi32>""",
        {"a": "tensor<2x4xi32>", "c": "tensor<2xi32>"},
        "tensor<2xi32>",
    )
    rows = [[1, 2, 3, 4], [5, 0, -2, 1]]
    expected = []
    for row, total in zip(rows, [10, -1], strict=True):
        for x in row:
            total = total * 3 - x
        expected.append(total)
    found = call(text, "f", np.array(rows, np.int32), np.array([10, -1], np.int32))
    assert (found.tolist(), found.dtype) == (expected, np.int32)


def test_fma_in_a_body_takes_a_scalar_from_outside() -> None:
    text = on_tensors(
        """%r = linalg.generic {
          indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]
        } ins(%a : tensor<3xf64>) outs(%c : tensor<3x2xf64>) {
        ^bb0(%p: f64, %q: f64):
          %s = math.fma %p, %x, %q : f64
          linalg.yield %s : f64
        } -> tensor<3x2xf64>""",
        {"x": "f64", "a": "tensor<3xf64>", "c": "tensor<3x2xf64>"},
        "tensor<3x2xf64>",
    )
    a, c = numbers(3).astype(np.float64), numbers(3, 2).astype(np.float64)
    assert np.array_equal(call(text, "f", np.float64(2), a, c), a[:, None] * 2 + c)


def test_too_many_points_one_by_one_are_refused() -> None:
    shape = "1024x1024"
    text = on_tensors(
        f"""%r = linalg.generic {{
          indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
        }} outs(%c : tensor<{shape}xf32>) {{
        ^bb0(%p: f32):
          %one = arith.constant true
          %s = scf.if %one -> (f32) {{
            scf.yield %p : f32
          }} else {{
            scf.yield %p : f32
          }}
          linalg.yield %s : f32
        }} -> tensor<{shape}xf32>""",
        {"c": f"tensor<{shape}xf32>"},
        f"tensor<{shape}xf32>",
    )
    with pytest.raises(UnsupportedError, match="at 1048576 points one by one"):
        call(text, "f", numbers(1024, 1024))


# Inside asynchronous scopes -------------------------------------------------------------------------------------------

ADD_LATER = """
func.func @f(%a: memref<4xf32>, %b: memref<4xf32>, %out: memref<4xf32>) {
  async_queue.commit 0 {
    async_queue.scope {
      linalg.add ins(%a, %b : memref<4xf32>, memref<4xf32>) outs(%out : memref<4xf32>)
    }
  }
  BEFORE
  async_queue.wait 0, 0 {
  }
  func.return
}
"""


@pytest.mark.parametrize("order", ["lazy", "eager"])
def test_a_structured_op_in_a_scope_is_performed_later(order: str) -> None:
    outcome = run(parse(ADD_LATER.replace("BEFORE", "")), "f", order=order)
    assert not outcome.violations
    assert np.array_equal(outcome.arrays["out"], outcome.arrays["a"] + outcome.arrays["b"])


def test_a_write_between_issue_and_wait_is_a_race_that_shows() -> None:
    write = """%zero = arith.constant 0 : index
      %x = arith.constant 100.0 : f32
      memref.store %x, %a[%zero] : memref<4xf32>"""
    found = {}
    for order in ("lazy", "eager"):
        outcome = run(parse(ADD_LATER.replace("BEFORE", write)), "f", order=order)
        assert [str(violation.kind) for violation in outcome.violations] == ["race"]
        found[order] = float(outcome.arrays["out"][0] - outcome.arrays["b"][0])
    assert found["lazy"] == 100
    assert found["eager"] != 100


def test_structured_ops_on_one_buffer() -> None:
    text = """
    func.func @f(%m: memref<4xf32>) {
      linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
      func.return
    }"""
    view = memory(range(4))
    call(text, "f", view, machine=machine_for(with_data=False))
    assert view.array().tolist() == [0, 1, 2, 3], "checking computes no data"
    call(text, "f", view)
    assert view.array().tolist() == [0, 2, 4, 6]
