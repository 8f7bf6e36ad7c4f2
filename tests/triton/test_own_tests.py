"""The command that judges the functions of Triton's own tests, and the table that a page shows of it."""

from __future__ import annotations

import json
from pathlib import Path

from bench.triton_tests import BEYOND, chunks_of, files_in, judged, page_of, table_of
from tests.support.ir import ROOT

DATA = ROOT / "bench" / "triton_tests.json"

HEAD = """// RUN: triton-opt %s -split-input-file
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
"""
VIEW = "!ttg.memdesc<128xf16, #shared, #smem, mutable>"
COPY = f"""%t = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f16>> -> {VIEW}
%g = ttg.async_commit_group tokens %t"""
LOAD = f'%x = ttg.local_load %a : {VIEW} -> tensor<128xf16>\n"use"(%x) : (tensor<128xf16>) -> ()'
ARGUMENTS = f"%a: {VIEW}, %p: tensor<128x!tt.ptr<f16>>"
FILE = f"""{HEAD}
tt.func private @called(%a: i32) -> i32 {{ tt.return %a : i32 }}
tt.func @right({ARGUMENTS}) {{ {COPY} %w = ttg.async_wait {{num = 0 : i32}} {LOAD} tt.return }}
tt.func @wrong({ARGUMENTS}) {{ {COPY} {LOAD} tt.return }}
}}
// -----
{HEAD}
tt.func @unread() {{ ttg.no_such_op }}
}}
// -----
{HEAD}
// expected-error @+1 {{{{no such op}}}}
tt.func @as_expected() {{ ttg.no_such_op }}
}}
// -----
{HEAD}
tt.func @meets() {{ ttng.cluster_barrier tt.return }}
}}
"""


def test_every_function_is_judged_alone(tmp_path: Path) -> None:
    folder = tmp_path / "TritonGPU"
    folder.mkdir()
    folder.joinpath("copies.mlir").write_text(FILE)
    tmp_path.joinpath("other.mlir").write_text(FILE)
    (path,) = files_in(tmp_path, "")
    rows = [row for text in chunks_of(path) for row in judged("copies.mlir", text, 5)]
    assert {row.function: row.outcome for row in rows} == {
        "called": "safe",
        "right": "safe",
        "wrong": "reported",
        "unread": "not read",
        "as_expected": "expected",
        "meets": "refused",
    }
    table = table_of(rows)
    assert table["functions"] == len(rows)
    assert table["refused for blocks that meet"] == 1
    assert list(table["reasons"]["reported"]) == [
        "race: read after write on shared 'a' with nothing that orders the two"
    ]


def test_the_page_shows_the_data() -> None:
    assert page_of(json.loads(DATA.read_text())) in (ROOT / "docs" / "triton.md").read_text()


def test_most_functions_of_blocks_that_meet_have_a_verdict() -> None:
    """Those that were refused when all were counted, judged anew; the page says the same."""
    data = json.loads(DATA.read_text())
    since, refused = data["of these since"], data["refused for blocks that meet"]
    assert sum(since.values()) == refused
    assert since["safe"] + since["reported"] >= refused * 3 / 4
    words = "Judged since: {reported} have mistakes, {safe} are safe, {undecided} undecided, {refused} refused."
    assert words.format(**since) in (ROOT / "docs" / "triton.md").read_text()


def test_few_are_not_read_or_refused_for_other_reasons_than_clusters() -> None:
    data = json.loads(DATA.read_text())
    refused = sum(number for reason, number in data["reasons"]["refused"].items() if not BEYOND.search(reason))
    assert refused <= 100
    assert data["outcomes"].get("not read", 0) <= 100
    assert "crashed" not in data["outcomes"]
    assert all(reason for reasons in data["reasons"].values() for reason in reasons)
