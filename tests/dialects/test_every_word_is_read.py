"""
Nothing is in a dialect that no test reads: each op is named in the input of a test, each word of an enumeration goes
round, and a word that it does not have is refused. What LLVM 22 registers, mlir-opt reads and writes as we do.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation
from xdsl.universe import Universe
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.ir import ROOT, parse, print_custom
from tests.support.mlir import mlir_opt, mlir_opt_rejects
from tileas_xdsl.machine.running import run
from tileas_xdsl.names import DIALECTS

EXTENDED = ("arith", "cf", "func", "gpu", "llvm", "memref", "scf")
"""Dialects of xDSL in which there are ops of ours."""
PROGRAMS = ("*.py", "*.mlir")
WRITTEN_BY_NUMBER = re.compile(r"nvvm\.read\.ptx\.sreg\.")
"""Special registers, of which one test makes the names (`test_nvvm.py`)."""


def ours() -> list[type[Operation | Attribute]]:
    dialects = [Universe.get_multiverse().all_dialects[name]() for name in sorted({*DIALECTS, *EXTENDED})]
    words = [word for dialect in dialects for word in (*dialect.operations, *dialect.attributes)]
    return [word for word in words if word.__module__.startswith("tileas_xdsl.")]


OPS = [word for word in ours() if issubclass(word, Operation)]
ENUMERATIONS = [word for word in ours() if issubclass(word, EnumAttribute)]


@cache
def names_in_tests() -> frozenset[str]:
    files = [file for kind in PROGRAMS for folder in ("tests", "examples") for file in (ROOT / folder).rglob(kind)]
    return frozenset(name for file in files for name in re.findall(r"[\w.]+", file.read_text()))


def test_every_op_is_named_in_a_test() -> None:
    names = names_in_tests()
    assert len(OPS) > 400
    missing = [op.name for op in OPS if not (op.name in names or WRITTEN_BY_NUMBER.match(op.name))]
    assert missing == []


def holding(attribute: str) -> str:
    return f'"builtin.module"() ({{\n  "test.op"() {{word = {attribute}}} : () -> ()\n}}) : () -> ()'


@pytest.mark.parametrize("enumeration", ENUMERATIONS, ids=lambda enumeration: enumeration.name)
def test_every_word_of_an_enumeration_goes_round(enumeration: type[EnumAttribute]) -> None:
    words = list(enumeration.enum_type)
    assert words
    for word in words:
        attribute = enumeration(word)
        read = parse(holding(str(attribute))).body.ops.first
        assert read is not None
        assert read.attributes["word"] == attribute
        assert str(attribute) in print_custom(read)
    with pytest.raises(ParseError):
        parse(holding(re.sub(r"\w+>?$", "no_such_word>", str(enumeration(words[0])))))


@pytest.mark.parametrize(
    "enumeration", [e for e in ENUMERATIONS if e.name.startswith("nvvm.")], ids=lambda enumeration: enumeration.name
)
def test_mlir_has_the_same_words(enumeration: type[EnumAttribute]) -> None:
    for word in enumeration.enum_type:
        attribute = str(enumeration(word))
        assert attribute in mlir_opt(holding(attribute), "--allow-unregistered-dialect")
    spoilt = re.sub(r"\w+>?$", "no_such_word>", attribute)
    assert mlir_opt_rejects(holding(spoilt), "--allow-unregistered-dialect")


EXTREMES = """
func.func @f(%x: memref<6xf32>, %y: memref<6xf32>, %most: memref<6xf32>, %least: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  scf.for %i = %c0 to %c6 step %c1 {
    %a = memref.load %x[%i] : memref<6xf32>
    %b = memref.load %y[%i] : memref<6xf32>
    %m = llvm.intr.maximum(%a, %b) : (f32, f32) -> f32
    %n = llvm.intr.minimum(%a, %b) : (f32, f32) -> f32
    memref.store %m, %most[%i] : memref<6xf32>
    memref.store %n, %least[%i] : memref<6xf32>
  }
  func.return
}
"""


def test_extremes_of_llvm_pass_on_what_is_no_number() -> None:
    module = parse(EXTREMES)
    assert mlir_opt(print_custom(module)).count("llvm.intr.m") == 2
    x = np.array([1, 2, np.nan, 3, -np.inf, 5], np.float32)
    y = np.array([2, 1, 0, np.nan, np.inf, 5], np.float32)
    outcome = run(module, "f", {"x": x, "y": y, "most": np.zeros_like(x), "least": np.zeros_like(x)})
    np.testing.assert_array_equal(outcome.arrays["most"], np.maximum(x, y))
    np.testing.assert_array_equal(outcome.arrays["least"], np.minimum(x, y))


def test_extremes_of_llvm_take_two_numbers_of_one_type() -> None:
    with pytest.raises((ParseError, VerifyException)):
        parse(EXTREMES.replace("llvm.intr.maximum(%a, %b) : (f32, f32)", "llvm.intr.maximum(%a, %i) : (f32, index)"))
