"""`tileas try`: a pass on programs keeps verdicts and numbers, or the line says what it lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnregisteredOp, i32
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse
from tileas_xdsl.dialects.async_queue import CommitOp, WaitOp
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tools.main import main
from tileas_xdsl.tools.trying import Tried, other_numbers, tried_on

COURSE = ROOT / "tileas_xdsl" / "course" / "12-your-pass"
TWICE = (COURSE / "twice.mlir").read_text()
SECONDS = 30.0


def made(change: Callable[[ModuleOp], None]) -> ModulePass:
    """A pass that makes a change."""

    class Change(ModulePass):
        name = "change"

        def apply(self, ctx: object, op: ModuleOp) -> None:
            change(op)

    return Change()


def erase(kind: type[WaitOp | CommitOp], most: int) -> Callable[[ModuleOp], None]:
    def change(module: ModuleOp) -> None:
        for op in [op for op in module.walk() if isinstance(op, kind)][:most]:
            Rewriter.erase_op(op)

    return change


def refuse(module: ModuleOp) -> None:
    raise PassFailedException("loops with two copies are not its business\nmore")


def tried(change: Callable[[ModuleOp], None], text: str = TWICE) -> Tried:
    return tried_on(parse(text), [made(change)], SECONDS)


def test_a_wait_that_does_nothing_goes() -> None:
    found = tried(erase(WaitOp, 1))
    assert not found.is_lost
    assert found.compared == [0, 1, 3, 8]
    assert found.line.startswith("safe for every trip count as far as arrays reach")
    assert found.line.endswith("; same numbers with the trip counts 0, 1, 3, 8")


def test_a_wait_that_is_needed_goes() -> None:
    found = tried(erase(WaitOp, 2))
    assert found.is_lost
    assert found.is_unsafe
    assert "-> unsafe: race" in found.line


def test_without_copies_the_numbers_are_others() -> None:
    """And there is no race: the verdict alone would not tell."""
    found = tried(erase(CommitOp, 1))
    assert found.is_lost
    assert not found.is_unsafe
    assert found.line.endswith("other numbers in out: trip count 3, order eager")


def test_what_is_returned_counts() -> None:
    def change(module: ModuleOp) -> None:
        one = next(op for op in module.walk() if isinstance(op, arith.ConstantOp))
        Rewriter.replace_op(one, arith.ConstantOp(IntegerAttr(2, i32)))

    text = """
func.func @f(%a: memref<4xi1>) -> (i32, i1) {
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  func.return %c1, %true : i32, i1
}
"""
    assert tried(lambda module: None, text).compared == [0]
    assert tried(change, text).line.endswith("other numbers in result 0: trip count 0, order eager")


def test_a_run_that_goes_wrong_has_no_numbers() -> None:
    """Of a run that stops halfway the arrays are not those that are left."""
    before, behind = parse(TWICE), parse(TWICE.replace("    async_queue.wait 0, 0\n", ""))
    assert next(other_numbers(before, behind, "double", 3)).startswith("a mistake, ")
    with pytest.raises(ArgumentError, match="makes a mistake as it is"):
        next(other_numbers(behind, before, "double", 3))


def raises(module: ModuleOp) -> None:
    raise KeyError("no such wait")


def breaks(module: ModuleOp) -> None:
    next(op for op in module.walk() if isinstance(op, func.ReturnOp)).detach()


def takes_away(module: ModuleOp) -> None:
    Rewriter.erase_op(next(op for op in module.walk() if isinstance(op, func.FuncOp)))


def without_meaning(module: ModuleOp) -> None:
    wait = next(op for op in module.walk() if isinstance(op, WaitOp))
    Rewriter.replace_op(wait, UnregisteredOp.with_name("their.wait").create())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (raises, "; the passes raise KeyError: 'no such wait'"),
        (breaks, "; the passes leave what does not verify: "),
        (takes_away, "; the passes take @double away"),
        (without_meaning, "; behind the passes it has no verdict: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_pass_leaves_cannot_be_judged(change: Callable[[ModuleOp], None], said: str) -> None:
    found = tried(change)
    assert found.is_lost
    assert said in found.line


def test_what_is_refused_is_kept() -> None:
    found = tried(refuse)
    assert (found.is_lost, found.line) == (False, "refused: loops with two copies are not its business")


def test_a_program_that_is_unsafe_already_can_lose_nothing() -> None:
    bad = TWICE.replace("    async_queue.wait 0, 0\n", "")
    found = tried(lambda module: None, bad)
    assert (found.is_lost, found.compared) == (False, [])
    assert found.line.startswith("unsafe: race")


POINTER = """
func.func @f(%p: !llvm.ptr) {
  "llvm.load"(%p) <{ordering = 0 : i64}> : (!llvm.ptr) -> f32
  func.return
}
"""


def test_what_has_no_numbers_is_told() -> None:
    assert "numbers not compared: " in tried(lambda module: None, POINTER).line


def test_a_program_that_cannot_be_judged_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mlir").write_text('func.func @f() {\n  "their.op"() : () -> ()\n  func.return\n}')
    (tmp_path / "b.mlir").write_text("func.func private @f()")
    (tmp_path / "c.mlir").write_text(TWICE)
    assert main(["try", "-p", "canonicalize", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "1 of 1 programs are kept"
    assert "a.mlir:2:3: error: " in err
    assert "b.mlir: error: there is no public function with a body to check" in err
    assert "defect" not in err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "-p", "canonicalize", str(COURSE / "twice.mlir"), str(COURSE / "weaker.mlir")]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(COURSE / name) for name in ("twice.mlir", "weaker.mlir")]
    assert last == "2 of 2 programs are kept"
    assert main(["try", "-p", "nothing-such", str(COURSE / "twice.mlir")]) == 2
    assert "there is no pass 'nothing-such'" in capsys.readouterr().err
    assert main(["try", "-p", "canonicalize", str(tmp_path)]) == 2
    assert "there is no program in this folder" in capsys.readouterr().err
