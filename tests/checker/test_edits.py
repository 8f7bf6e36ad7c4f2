"""
The edit that repairs a mistake: what is printed makes the program safe, and adds or corrects synchronisation only.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from examples.zoo.exhibits import HERE
from tests.support.corpora import each, nightly
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.edits import MOVABLE, Edit, Side, edited
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.repairing import attempts_in, repair
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.nvvm.barrier import GriddepcontrolOp
from tileas_xdsl.dialects.nvvm.wgmma import WgmmaFenceAlignedOp
from tileas_xdsl.tools.check.edited_source import written
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.rendering import Source

LEAST_FOUND = 80
"""For how many of the wrong programs of the zoo an edit is found at least."""
PROGRAMS = sorted(path for path in HERE.glob("*.bad.*") if path.suffix != ".ptx")
SYNCHRONISES = {*MOVABLE, arith.ConstantOp, arith.XOrIOp, WgmmaFenceAlignedOp, GriddepcontrolOp}
"""What an edit may add; constants are for parities and counts."""
RACE = """
func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    nvvm.cp.async.shared.global %tile, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  }
  nvvm.cp.async.wait.group 0
  func.return
}
"""


def edit_of(text: str, name: str = "p.mlir", **settings: Any) -> SourceEdit | None:
    """What `tileas check` prints as the edit."""
    module = parse_module(text, name, full_context())
    report = check(module, **settings)

    def check_again(other: ModuleOp, **more: Any) -> Any:
        return check(other, **{**settings, **more})

    attempts = attempts_in(module, report, partial(written, Source(name, text)))
    return repair(report, attempts, check_again, settings.get("args", {}))


def applied(text: str, edit: SourceEdit) -> str:
    """The file, after a user has pasted the edit."""
    lines = text.split("\n")
    start = edit.line - 1
    assert tuple(lines[start : start + len(edit.before)]) == edit.before
    return "\n".join([*lines[:start], *edit.after, *lines[start + len(edit.before) :]])


def test_a_count_is_lowered_where_it_stands() -> None:
    edit = edit_of(RACE)
    assert edit is not None
    assert (edit.line, edit.before) == (8, ("    nvvm.cp.async.wait.group 1",))
    assert (edit.after, edit.verdict) == (("    nvvm.cp.async.wait.group 0",), "safe for every trip count")


def test_an_edit_is_for_the_calls_that_were_asked_about() -> None:
    edit = edit_of(RACE, args={"n": 3})
    assert edit is not None
    assert edit.verdict == "safe, with n = 3"


def test_a_mistake_that_no_synchronisation_repairs_has_no_edit() -> None:
    """An access outside of its array."""
    assert edit_of((HERE / "prefetch-behind-the-end.bad.mlir").read_text()) is None


def test_two_mistakes_have_no_edit() -> None:
    """The program would still be wrong."""
    other = RACE.replace("@sum", "@other")
    assert edit_of(RACE + other) is None


def test_a_safe_program_has_no_edit() -> None:
    assert edit_of(RACE.replace("wait.group 1", "wait.group 0")) is None


def test_an_edit_leaves_the_program_as_it_was() -> None:
    module = parse(RACE)
    before = str(module)
    wait = next(op for op in module.walk() if op.name == "nvvm.cp.async.wait.group")
    changed = edited(module, Edit(wait, Side.INSTEAD, lambda _: [wait.clone()]))
    assert str(module) == before == str(changed.module)
    moved = edited(module, Edit(wait, Side.BEFORE, moved=(wait.prev_op,))) if wait.prev_op is not None else None
    assert moved is not None
    assert str(module) == before == str(moved.module)


def hold(path: Path) -> bool:
    """Whether there is an edit for a program of the zoo; what it says is so."""
    text, name = path.read_text(), path.name
    edit = edit_of(text, name)
    if edit is None:
        return False
    right = parse_module(applied(text, edit), name, full_context())
    report = check(right, judge_waits=False)
    assert report.verdict is Verdict.SAFE, f"{name}: {edit}\n{report}"
    before = Counter(type(op) for op in parse_module(text, name, full_context()).walk())
    after = Counter(type(op) for op in right.walk())
    assert {*(before - after)} <= MOVABLE, f"{name}: {edit}"
    assert {*(after - before)} <= SYNCHRONISES, f"{name}: {edit}"
    return True


@each("path", PROGRAMS, 12, programs=2, ids=lambda path: path.name)
def test_what_is_printed_makes_a_program_of_the_zoo_safe(path: Path) -> None:
    hold(path)


@nightly("checks each wrong program of the zoo some hundred times")
def test_most_programs_of_the_zoo_have_an_edit() -> None:
    found = [path.name for path in PROGRAMS if hold(path)]
    assert len(found) >= LEAST_FOUND, found


@pytest.mark.parametrize(
    "name",
    [
        "nothing-waited.bad.mlir",
        "commit-after-wait.bad.mlir",
        "init-not-fenced.bad.mlir",
        "missing-release.bad.mlir",
        "cluster-arrive-relaxed.bad.mlir",
        "barrier-made-anew.bad.mlir",
        "copy-cluster-parity.bad.ttgir",
        "cp-async-then-tma-store.bad.ttgir",
    ],
)
def test_each_way_to_repair_is_found(name: str) -> None:
    """A count, a move, a fence, an arrival, a stronger op, the end of a barrier, a parity, and the same in TTGIR."""
    assert hold(HERE / name)
