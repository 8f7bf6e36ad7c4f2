"""
An oracle for scalar code: functions compiled by mlir-opt and run by mlir-runner.

Arguments and results are bit patterns, so that nothing is lost in printing: an `i8` of -1 is 255, an `f32` of 1.0 is
0x3F800000. All calls of a batch go into one module and one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.mlir import mlir_opt, run_main

Bits = tuple[int, ...]

WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
LOWERING = (
    "--arith-expand=include-bf16=true",
    "--convert-linalg-to-loops",
    "--convert-math-to-funcs",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--lower-affine",
    "--finalize-memref-to-llvm",
    "--convert-math-to-llvm=approximate-log1p=false",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)


@dataclass(frozen=True)
class Function:
    """A function of scalars `%a`, `%b`, `%c`, whose body ends with `func.return`."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    body: str

    @property
    def text(self) -> str:
        arguments = ", ".join(f"%{letter}: {kind}" for letter, kind in zip("abc", self.arguments, strict=False))
        return f"func.func @{self.name}({arguments}) -> ({', '.join(self.results)}) {{\n{self.body}\n}}\n"


@dataclass(frozen=True)
class Call:
    """One call of a function on bit patterns."""

    function: Function
    arguments: Bits


def op_function(name: str, op: str, arguments: Sequence[str], results: Sequence[str]) -> Function:
    """The function that is one op; `op` is its text, with results `%r` or `%r:N` left to this function."""
    many = len(results) > 1
    values = ", ".join(f"%r#{number}" for number in range(len(results))) if many else "%r"
    left = f"%r:{len(results)}" if many else "%r"
    body = f"  {left} = {op}\n  func.return {values} : {', '.join(results)}"
    return Function(name, tuple(arguments), tuple(results), body)


def call_natively(calls: Sequence[Call]) -> list[Bits]:
    """The results of `calls`, in order, as mlir-runner computes them. Skips the test where there is no LLVM."""
    functions = dict.fromkeys(call.function for call in calls)
    lines = ["func.func private @printI64(i64)", "func.func private @printNewline()"]
    lines += [function.text for function in functions]
    lines += ["func.func @main() {", "  %zero = arith.constant 0 : i64"]
    for number, call in enumerate(calls):
        lines += _call_lines(number, call)
    lines += ["  func.return", "}"]
    lowered = mlir_opt("\n".join(lines), *LOWERING)
    numbers = iter(run_main(lowered, libraries=("mlir_runner_utils",)).split())
    found = [tuple(int(next(numbers)) % (1 << WIDTHS[kind]) for kind in call.function.results) for call in calls]
    assert next(numbers, None) is None
    return found


def _call_lines(number: int, call: Call) -> list[str]:
    """Make the arguments, call, and print each result as a signed 64-bit number."""
    function = call.function
    lines: list[str] = []
    names = [f"%v{number}_{position}" for position in range(len(function.arguments))]
    for name, kind, bits in zip(names, function.arguments, call.arguments, strict=True):
        lines.append(f"  {name} = arith.constant {_literal(kind, bits)}")
    result = f"%r{number}"
    count = len(function.results)
    many = f":{count}" if count > 1 else ""
    signature = f"({', '.join(function.arguments)}) -> ({', '.join(function.results)})"
    lines.append(f"  {result}{many} = func.call @{function.name}({', '.join(names)}) : {signature}")
    for position, kind in enumerate(function.results):
        value = f"{result}#{position}" if many else result
        wide = f"%w{number}_{position}"
        lines += _widening(value, kind, wide)
        lines.append(f"  func.call @printI64({wide}) : (i64) -> ()")
        lines.append("  func.call @printNewline() : () -> ()")
    return lines


def _literal(kind: str, bits: int) -> str:
    if kind == "i1":
        return "true" if bits else "false"
    if kind in ("f16", "bf16", "f32", "f64"):
        return f"0x{bits:0{WIDTHS[kind] // 4}X} : {kind}"
    width = WIDTHS[kind]
    return f"{bits - (1 << width) if bits >> (width - 1) else bits} : {kind}"


def _widening(value: str, kind: str, wide: str) -> list[str]:
    """Lines that define `wide`, an i64, as the bits of `value`."""
    width = WIDTHS[kind]
    lines: list[str] = []
    if "f" in kind:
        lines.append(f"  {wide}_bits = arith.bitcast {value} : {kind} to i{width}")
        value, kind = f"{wide}_bits", f"i{width}"
    if kind == "index":
        return [*lines, f"  {wide} = arith.index_cast {value} : index to i64"]
    if width == 64:
        return [*lines, f"  {wide} = arith.addi {value}, %zero : i64"]
    return [*lines, f"  {wide} = arith.extui {value} : {kind} to i64"]
