"""Debug information of `cuda_tile` as text: it goes round, and each of its rules refuses a program of ours."""

from __future__ import annotations

from io import StringIO

import pytest
from xdsl.printer import Printer

from tileas_xdsl.dialects.cuda_tile.debug import DILexicalBlockAttr, DISubprogramAttr, scope_of
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module

SCOPES = """\
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#own = #cuda_tile.di_subprogram<file = #file, line = 3, name = "k", linkageName = "k", compileUnit = #unit,
  scopeLine = 4>
#other = #cuda_tile.di_subprogram<file = #file, line = 9, name = "h", linkageName = "h", compileUnit = #unit,
  scopeLine = 9, flags = 2>
#block = #cuda_tile.di_lexical_block<scope = #own, file = #file, line = 5, column = 2>
#inner = #cuda_tile.di_lexical_block<scope = #block, file = #file, line = 6, column = 4>
#foreign = #cuda_tile.di_lexical_block<scope = #other, file = #file, line = 9, column = 0>
#plain = loc("k.py":7:1)
#here = #cuda_tile.di_loc<loc("k.py":4:1) in #own>
#deep = #cuda_tile.di_loc<#plain in #inner>
#there = #cuda_tile.di_loc<loc("k.py":9:1) in #foreign>
"""
ENTRY = (
    "cuda_tile.module @m {{\n  entry @k() {{\n    %0 = make_token : token loc({op})\n    return\n  }} loc({entry})\n}}"
)
RIGHT = (
    ("#here", "#here"),
    ("#deep", "#here"),
    ("#plain", "#here"),
    ("#plain", "unknown"),
    ("callsite(#there at #deep)", "#here"),
    ('"op"(#deep)', "fused[#plain, #here]"),
    ("fused[#plain, #deep]", '"entry"(#here)'),
)
WRONG = (
    ("#here", "#deep", "an entry is of a function of the source, not of a block of it"),
    ("#here", "#plain", "'cuda_tile.make_token' has a scope, and the entry is of no function of the source"),
    ("#there", "#here", "'cuda_tile.make_token' has a scope, and the entry is of another function of the source"),
    ("callsite(#here at #there)", "#here", "has a scope, and the entry is of another function"),
    ('"op"(#there)', "#here", "has a scope, and the entry is of another function"),
    ("#plain", "#cuda_tile.di_loc<#plain in #other>", "the entry is of is linked as 'h', not 'k'"),
)


def read(text: str) -> str:
    module = parse_module(f"{SCOPES}{text}", "k.mlir", full_context(allow_unregistered=True))
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize(("op", "entry"), RIGHT)
def test_places_in_scopes_go_round(op: str, entry: str) -> None:
    printed = read(ENTRY.format(op=op, entry=entry))
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=True).print_op(parse_module(printed, "k.mlir", full_context()))
    assert stream.getvalue() == printed


@pytest.mark.parametrize(("op", "entry", "message"), WRONG)
def test_a_scope_that_is_not_the_entry_s_is_refused(op: str, entry: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(ENTRY.format(op=op, entry=entry))


def test_what_stands_beside_entries_has_no_scope() -> None:
    with pytest.raises(InputError, match="what stands beside the entries of a module has no scope"):
        read("cuda_tile.module @m {\n  global @g <i32: [1]> : tile<1xi32> loc(#here)\n}")


FIELDS = {
    "#a = #cuda_tile.di_compile_unit<unit = #file>": "'unit' is no parameter of cuda_tile.di_compile_unit",
    "#a = #cuda_tile.di_lexical_block<scope = #own, file = #file, line = 1>": "di_lexical_block lacks 'column'",
    "#a = #cuda_tile.di_lexical_block<line = 1, line = 2>": "or one twice",
}


@pytest.mark.parametrize("text", FIELDS)
def test_parameters_have_their_names(text: str) -> None:
    with pytest.raises(InputError, match=FIELDS[text]):
        read(f"{text}\ncuda_tile.module @m {{\n}}")


def test_the_caller_of_a_call_site_counts() -> None:
    module = parse_module(
        f"{SCOPES}{ENTRY.format(op='callsite(#there at #deep)', entry='#here')}", "k.mlir", full_context()
    )
    token = next(op for op in module.walk() if op.name.endswith("make_token"))
    assert isinstance(scope_of(token.location), DILexicalBlockAttr)
    entry = next(op for op in module.walk() if op.name.endswith("entry"))
    assert isinstance(scope_of(entry.location), DISubprogramAttr)
