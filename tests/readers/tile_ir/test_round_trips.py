"""Bytecode of cuTile: read and written again it is identical, its text says the same, and its ops verify."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from time import perf_counter

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, DictionaryAttr, StringAttr, UnitAttr
from xdsl.printer import Printer

from tests.cutile.exports import EXPORTED, EXPORTS, cases, exported
from tests.support.ir import parse, print_custom
from tileas_xdsl.diagnostics import place_in
from tileas_xdsl.dialects.cuda_tile.rows import Version
from tileas_xdsl.readers.tile_ir import read, write
from tileas_xdsl.tools.inputs import full_context, parse_module

CASES = list(cases())


@pytest.mark.parametrize(("name", "version"), CASES)
def test_what_is_read_is_written_identically(name: str, version: Version) -> None:
    data = exported(name, version)
    module = read(data)
    module.verify()
    assert write(module) == data


@pytest.mark.parametrize("name", EXPORTS)
def test_the_text_says_the_same(name: str) -> None:
    """Text has no places; what has none is written alike."""
    module = read(exported(name))
    printed = print_custom(module)
    again = parse(printed)
    assert again.is_structurally_equivalent(module)
    assert print_custom(again) == printed
    for op in module.walk():
        op.location = again.location
    assert write(again) == write(module)


@pytest.mark.parametrize("name", EXPORTS)
def test_text_with_places_is_written_as_the_same_bytes(name: str) -> None:
    text = StringIO()
    Printer(stream=text, print_debuginfo=True).print_op(read(exported(name)))
    assert write(parse_module(text.getvalue(), "kernel.mlir", full_context())) == exported(name)


def test_a_module_needs_no_layout_where_cutile_numbers_as_ops_need_it() -> None:
    kept = [case for case in CASES if "cuda_tile.layout" in str(read(exported(*case)))]
    assert {name for name, _ in kept} <= {"controlled"}, "globals are numbered where the first op names them"


def test_ops_know_their_places_in_python() -> None:
    module = read(exported("double", EXPORTED[-1]))
    places = {op.name: place_in(op.location) for op in module.walk()}
    place = places["cuda_tile.store_view_tko"]
    assert place is not None
    assert place.filename.data.endswith("ops.py")
    line = next(number for number, text in enumerate(kernel_lines(), 1) if "ct.store(X" in text)
    assert (place.line.data, place.column.data) == (line, 5)


def kernel_lines() -> list[str]:
    from tests.cutile.written import ops

    with open(ops.__file__) as source:
        return source.readlines()


def test_what_a_helper_computes_is_a_call_site() -> None:
    text = str(next(op for op in read(exported("elementwise")).walk() if op.name == "cuda_tile.exp").location)
    assert "callsite" in text


def test_together_the_kernels_have_most_ops() -> None:
    found = Counter(op.name for name in EXPORTS for op in read(exported(name)).walk())
    assert len(found) > 70


def test_reading_is_quick() -> None:
    data = exported("attention_causal")
    read(data)
    start = perf_counter()
    read(data)
    assert perf_counter() - start < 1


def test_a_file_without_debug_information_is_written_identically() -> None:
    """Another writer leaves the section out, and each function names none."""
    module = read(exported("double"))
    inner = module.body.block.first_op
    assert inner is not None
    for op in module.walk():
        op.location = UNKNOWN_LOC
    order = ArrayAttr(StringAttr(name) for name in ("Func", "Constant", "Type", "String"))
    inner.attributes["cuda_tile.layout"] = DictionaryAttr({"order": order, "without_debug": UnitAttr()})
    data = write(module)
    assert b"ops.py" not in data
    again = read(data)
    assert again.is_structurally_equivalent(module)
    assert write(again) == data
