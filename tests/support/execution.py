"""
Running functions on numbers, many functions and many trip counts, with mlir-runner in one process, or on our machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.mlir import mlir_opt, run_main
from tileas_xdsl.machine.running import run as run_on_machine

LOWERING = (
    "--convert-scf-to-cf",
    "--convert-arith-to-llvm",
    "--convert-cf-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--reconcile-unrealized-casts",
)


@dataclass(frozen=True)
class Case:
    """
    A function of two arrays of `size` elements and loop bounds, to be run for each of `trips`.

    It is given the bounds `lower`, `lower + trips * step - slack` (without the slack for 0 trips) and `step`.
    """

    function: str
    element: str
    size: int
    results: int
    lower: int
    step: int
    slack: int
    trips: range


def run_cases(functions: str, cases: list[Case]) -> list[list[tuple[int, ...]]]:
    """For each case and trip count the hashes of both arrays and the bits of the results; arrays start the same."""
    kinds = sorted({(case.element, case.size) for case in cases})
    drivers = [_driver(index, case) for index, case in enumerate(cases)]
    calls = "\n".join(f"  func.call @case_{index}() : () -> ()" for index in range(len(cases)))
    helpers = "\n".join(_helpers(element, size) for element, size in kinds)
    text = "\n".join([PREAMBLE, helpers, functions, *drivers, f"func.func @main() {{\n{calls}\n  return\n}}"])
    lowered = mlir_opt(text, *LOWERING)
    printed = run_main(lowered).splitlines()
    lines = iter(tuple(int(number) for number in line.split(",")[:-1]) for line in printed)
    return [[next(lines) for _ in case.trips] for case in cases]


def run_case_on_machine(module: ModuleOp, case: Case) -> list[tuple[int, ...]]:
    """What `run_cases` gives for `case`, computed by our machine."""
    lines: list[tuple[int, ...]] = []
    dtype = np.float32 if case.element == "f32" else np.int64
    for trips in case.trips:
        arrays = [(np.arange(case.size) * seed).astype(dtype) for seed in (3, 7)]
        upper = case.lower + trips * case.step - (case.slack if trips else 0)
        outcome = run_on_machine(module, case.function, [*arrays, case.lower, upper, case.step])
        assert not outcome.violations
        hashes = [_hash(outcome.arrays[name]) for name in ("A", "B")]
        lines.append((*hashes, *(_bits_of(np.asarray(result, dtype)) for result in outcome.results)))
    return lines


def _hash(array: np.ndarray) -> int:
    total = 0
    for element in array:
        total = (total * 1000003 + _bits_of(element)) % 2**64
    return total - 2**64 if total >= 2**63 else total


def _bits_of(value: np.ndarray) -> int:
    return int(value.view(np.int32 if value.dtype == np.float32 else np.int64))


PREAMBLE = """
func.func private @printI64(i64)
func.func private @printComma()
func.func private @printNewline()
func.func @show(%value: i64) {
  func.call @printI64(%value) : (i64) -> ()
  func.call @printComma() : () -> ()
  return
}
"""


def _helpers(element: str, size: int) -> str:
    """`fill` gives an array a content that depends on a seed, `hash` folds its bits into one number."""
    array, suffix = f"memref<{size}x{element}>", f"{element}_{size}"
    to_element = "%e = arith.sitofp %v : i64 to f32" if element == "f32" else "%e = arith.addi %v, %zero : i64"
    return f"""
func.func @fill_{suffix}(%array: {array}, %seed: i64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {size} : index
  %zero = arith.constant 0 : i64
  scf.for %i = %c0 to %n step %c1 {{
    %k = arith.index_cast %i : index to i64
    %v = arith.muli %k, %seed : i64
    {to_element}
    memref.store %e, %array[%i] : {array}
  }}
  return
}}
func.func @hash_{suffix}(%array: {array}) -> i64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {size} : index
  %zero = arith.constant 0 : i64
  %base = arith.constant 1000003 : i64
  %hash = scf.for %i = %c0 to %n step %c1 iter_args(%h = %zero) -> (i64) {{
    %e = memref.load %array[%i] : {array}
    {chr(10).join(_bits("%e", "%bits", element))}
    %scaled = arith.muli %h, %base : i64
    %next = arith.addi %scaled, %bits : i64
    scf.yield %next : i64
  }}
  return %hash : i64
}}
"""


def _driver(index: int, case: Case) -> str:
    """A function that makes fresh arrays, calls the function, and prints a line, for each trip count."""
    array = f"memref<{case.size}x{case.element}>"
    suffix = f"{case.element}_{case.size}"
    signature = f"({array}, {array}, index, index, index) -> ({', '.join([case.element] * case.results)})"
    bind = f"%r:{case.results} = " if case.results else ""
    shown: list[str] = []
    for k in range(case.results):
        shown += [*_bits(f"%r#{k}", f"%bits{k}", case.element), f"func.call @show(%bits{k}) : (i64) -> ()"]
    return f"""
func.func @case_{index}() {{
  %from = arith.constant {case.trips.start} : index
  %to = arith.constant {case.trips.stop} : index
  %lb = arith.constant {case.lower} : index
  %st = arith.constant {case.step} : index
  %slack = arith.constant {case.slack} : index
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : i64
  %seven = arith.constant 7 : i64
  scf.for %n = %from to %to step %one {{
    %A = memref.alloc() : {array}
    %B = memref.alloc() : {array}
    func.call @fill_{suffix}(%A, %three) : ({array}, i64) -> ()
    func.call @fill_{suffix}(%B, %seven) : ({array}, i64) -> ()
    %length = arith.muli %n, %st : index
    %empty = arith.cmpi eq, %n, %none : index
    %short = arith.select %empty, %none, %slack : index
    %end = arith.addi %lb, %length : index
    %ub = arith.subi %end, %short : index
    {bind}func.call @{case.function}(%A, %B, %lb, %ub, %st) : {signature}
    %hashA = func.call @hash_{suffix}(%A) : ({array}) -> i64
    %hashB = func.call @hash_{suffix}(%B) : ({array}) -> i64
    func.call @show(%hashA) : (i64) -> ()
    func.call @show(%hashB) : (i64) -> ()
    {chr(10).join(shown)}
    func.call @printNewline() : () -> ()
    memref.dealloc %A : {array}
    memref.dealloc %B : {array}
  }}
  return
}}
"""


def _bits(value: str, name: str, element: str) -> list[str]:
    """The bits of a value as an i64."""
    if element == "i64":
        return [f"  %zero{name[1:]} = arith.constant 0 : i64", f"  {name} = arith.addi {value}, %zero{name[1:]} : i64"]
    return [f"  {name}w = arith.bitcast {value} : f32 to i32", f"  {name} = arith.extsi {name}w : i32 to i64"]
