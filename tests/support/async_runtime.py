"""
Programs of upstream `async` on MLIR's own runtime: lowered by mlir-opt, run by mlir-runner, many in one process.

A function takes tokens, promises, numbers and memrefs of f32, and returns tokens, promises, numbers and memrefs. The
arrays that it is given hold what `contents` says; what it returns is awaited and printed, and so are its arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import Float32Type, IndexType, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from tests.support.ir import parse, print_custom
from tests.support.mlir import mlir_opt, run_main
from tileas_xdsl.dialects.async_ import TokenType, ValueType

LOWERING = (
    "--async-func-to-async-runtime",
    "--async-to-async-runtime",
    "--canonicalize",
    "--async-runtime-ref-counting",
    "--async-runtime-ref-counting-opt",
    "--convert-async-to-llvm",
    "--convert-linalg-to-loops",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--finalize-memref-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-cf-to-llvm",
    "--convert-func-to-llvm",
    "--reconcile-unrealized-casts",
)
"""MLIR's passes from `async` to LLVM; mlir-runner then needs `-O0` or more, which splits the coroutines."""
HELPERS = """
func.func private @printF32(f32)
func.func private @printNewline()
func.func @fill(%array: memref<?xf32>, %seed: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %n = memref.dim %array, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = arith.muli %i, %c5 : index
    %1 = arith.addi %0, %seed : index
    %2 = arith.remui %1, %c9 : index
    %3 = arith.subi %2, %c4 : index
    %4 = arith.index_cast %3 : index to i64
    %5 = arith.sitofp %4 : i64 to f32
    memref.store %5, %array[%i] : memref<?xf32>
  }
  return
}
func.func @show(%array: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %array, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %array[%i] : memref<?xf32>
    func.call @printF32(%x) : (f32) -> ()
    func.call @printNewline() : () -> ()
  }
  return
}
"""


def contents(seed: int, shape: Sequence[int]) -> NDArray[np.float32]:
    """What argument number `seed` holds at first: small whole numbers, so that sums are exact."""
    size = int(np.prod(shape))
    return ((np.arange(size) * 5 + seed) % 9 - 4).astype(np.float32).reshape(shape)


@dataclass(frozen=True)
class Native:
    """A module with the function `name`, and the numbers among its arguments, by position."""

    text: str
    name: str
    numbers: Mapping[int, float] = field(default_factory=dict[int, float])


def arguments_of(program: Native) -> list[Any]:
    """What the program is given, for our machine."""
    given: list[Any] = []
    for place, kind in enumerate(_function(program).function_type.inputs.data):
        payload = kind.value_type if isinstance(kind, ValueType) else kind
        if isinstance(payload, MemRefType):
            given.append(contents(place, payload.get_shape()))
        else:
            given.append(None if isinstance(kind, TokenType) else program.numbers[place])
    return given


def run_natively(programs: Sequence[Native]) -> list[list[float]]:
    """For each program what it returns (tokens left out), then the final contents of its arrays, in order."""
    if not programs:
        return []
    functions, mains = [HELPERS], []
    for number, program in enumerate(programs):
        text = "\n".join(print_custom(op) for op in parse(program.text).ops)
        functions.append(re.sub(r"@(\w+)", rf"@\1_{number}", text))
        mains.append(_caller(number, program))
    calls = "\n".join(f"  func.call @main_{number}() : () -> ()" for number in range(len(programs)))
    main = f"func.func @main() {{\n{calls}\n  return\n}}"
    lowered = mlir_opt("\n".join([*functions, *mains, main]), *LOWERING)
    printed = run_main(lowered, "-O0", libraries=("mlir_runner_utils", "mlir_async_runtime"), timeout=60)
    answers: list[list[float]] = []
    for word in printed.split():
        if word == "1e+20":  # what each caller prints first
            answers.append([])
        else:
            answers[-1].append(float(word))
    assert len(answers) == len(programs)
    return answers


def _function(program: Native) -> FuncOp:
    return next(op for op in parse(program.text).ops if isinstance(op, FuncOp) and op.sym_name.data == program.name)


def _caller(number: int, program: Native) -> str:
    """A function without arguments that makes them, calls, waits and prints."""
    function = _function(program).function_type
    lines = ["%mark = arith.constant 1.0e+20 : f32", *_shown("%mark", Float32Type())]
    names: list[str] = []
    for place, kind in enumerate(function.inputs.data):
        names.append(f"%arg{place}")
        lines += _made(f"%arg{place}", kind, place, program.numbers)
    results = function.outputs.data
    left = f"%r:{len(results)} = " if results else ""
    types = ", ".join(map(str, function.inputs.data)), ", ".join(map(str, results))
    lines.append(f"{left}func.call @{program.name}_{number}({', '.join(names)}) : ({types[0]}) -> ({types[1]})")
    for place, kind in enumerate(results):
        if isinstance(kind, TokenType):
            lines.append(f"async.await %r#{place} : !async.token")
    for place, kind in enumerate(results):
        name = f"%r#{place}"
        if isinstance(kind, ValueType):
            lines.append(f"%p{place} = async.await {name} : {kind}")
            name, kind = f"%p{place}", kind.value_type
        if not isinstance(kind, TokenType):
            lines += _shown(name, kind)
    for place, kind in enumerate(function.inputs.data):
        payload = kind.value_type if isinstance(kind, ValueType) else kind
        if isinstance(payload, MemRefType):
            lines.append(f"func.call @show(%arg{place}_flat) : (memref<?xf32>) -> ()")
    return "\n".join([f"func.func @main_{number}() {{", *(f"  {line}" for line in lines), "  return", "}"])


def _made(name: str, kind: Attribute, place: int, numbers: Mapping[int, float]) -> list[str]:
    if isinstance(kind, TokenType):
        return [f"{name} = async.execute {{", "  async.yield", "}"]
    if isinstance(kind, ValueType):
        inner = f"{name}_payload"
        made = _made(inner, kind.value_type, place, numbers)
        flat = [line.replace(f"{inner}_flat", f"{name}_flat") for line in made]
        opened = f"{name}_token, {name} = async.execute -> {kind} {{"
        return [*flat, opened, f"  async.yield {inner} : {kind.value_type}", "}"]
    if isinstance(kind, MemRefType):
        return [
            f"{name} = memref.alloc() : {kind}",
            *_flattened(name, kind),
            f"{name}_seed = arith.constant {place} : index",
            f"func.call @fill({name}_flat, {name}_seed) : (memref<?xf32>, index) -> ()",
        ]
    value = int(numbers[place]) if isinstance(kind, IndexType) else float(numbers[place])
    return [f"{name} = arith.constant {value} : {kind}"]


def _flattened(name: str, kind: MemRefType[Attribute]) -> list[str]:
    """Lines that define `NAME_flat`, of one dynamic dimension in the default memory."""
    flat = f"{name.replace('#', '_')}_flat"
    lines: list[str] = []
    space = "" if isinstance(kind.memory_space, NoneAttr) else f", {kind.memory_space}"
    shape = "x".join(map(str, kind.get_shape()))
    if space:
        lines.append(f"{flat}0 = memref.memory_space_cast {name} : {kind} to memref<{shape}xf32>")
        name = f"{flat}0"
    size = int(np.prod(kind.get_shape()))
    if len(kind.get_shape()) > 1:
        axes = ", ".join(map(str, range(len(kind.get_shape()))))
        into = f"memref<{shape}xf32> into memref<{size}xf32>"
        lines.append(f"{flat}1 = memref.collapse_shape {name} [[{axes}]] : {into}")
        name = f"{flat}1"
    return [*lines, f"{flat} = memref.cast {name} : memref<{size}xf32> to memref<?xf32>"]


def _shown(name: str, kind: Attribute) -> list[str]:
    if isinstance(kind, MemRefType):
        flat = f"{name.replace('#', '_')}_flat"
        return [*_flattened(name, kind), f"func.call @show({flat}) : (memref<?xf32>) -> ()"]
    return [f"func.call @printF32({name}) : (f32) -> ()", "func.call @printNewline() : () -> ()"]
