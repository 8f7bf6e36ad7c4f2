"""A type that is written as one before it is not read again; what is read is what xDSL reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.parser import Parser

from tests.support.ir import ROOT
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.located_parser import LocatedParser

PROGRAMS = [
    *sorted((ROOT / "tests" / "kernels").glob("*.mlir")),
    *sorted((ROOT / "examples").rglob("*.mlir")),
    *(file for file in sorted((ROOT / "tests" / "reported").rglob("*.mlir")) if "-invalid" not in file.name),
]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_programs_are_those_that_xdsl_reads(file: Path) -> None:
    text = file.read_text()
    assert str(LocatedParser(full_context(), text, file.name).parse_module()) == str(
        Parser(full_context(), text, file.name).parse_module()
    )


TYPES = """
!alias = memref<4xf32>
"test.op"() : () -> (f32, f32, f16, f32)
"test.op"() : () -> (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>)
"test.op"() : () -> (memref<4xf32, strided<[1], offset: ?>>, memref<4xf32>, memref<4xf32, strided<[1], offset: ?>>)
"test.op"() : () -> (memref<4xf32, affine_map<(i) -> (i)>>, memref<4xf32, affine_map<(i) -> (i + 1)>>)
"test.op"() : () -> (!alias, memref<4xf32> // of four
  , !alias, memref < 4xf32 >, memref<4xf32>)
"test.op"() : () -> (tuple<f32, memref<4xf32>>, tuple<f32>, vector<4xf32>, vector<[4]xf32>, tensor<?x4xf32>)
"test.op"() : () -> ((f32) -> f32, (f32) -> (f32, f32), () -> f32)
"""


def test_types_that_begin_alike_are_told_apart() -> None:
    read = LocatedParser(full_context(), TYPES, "types.mlir").parse_module()
    assert str(read) == str(Parser(full_context(), TYPES, "types.mlir").parse_module())
    results = [result.type for op in read.ops for result in op.results]
    assert results[0] is results[1] is results[3]
    assert results[4] is results[6] is not results[5]


def test_same_type_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = Parser._parse_memref_attrs  # pyright: ignore[reportPrivateUsage]

    def counting(parser: Parser) -> object:
        read.append(parser.pos)
        return original(parser)

    monkeypatch.setattr(Parser, "_parse_memref_attrs", counting)
    loads = "\n".join(f"%{n} = memref.load %m[%i] : memref<8xf32>" for n in range(20))
    parse_module(
        f"func.func @f(%m: memref<8xf32>, %i: index) {{\n{loads}\nfunc.return\n}}", "loads.mlir", full_context()
    )
    assert len(read) == 1


def test_type_that_is_wrong_is_wrong_wherever_it_stands() -> None:
    wrong = "func.func @f(%a: vector<4xf32>, %b: vector<-1xf32>) {\n  func.return\n}"
    with pytest.raises(InputError, match=r"w.mlir:1:\d+"):
        parse_module(wrong, "w.mlir", full_context())
