"""The `tileas` command: what it lists, and that everything wrong becomes `file:line:col: error: text` with status 2."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Literal

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT
from tileas_xdsl.diagnostics import location_of, refuse
from tileas_xdsl.names import DRIVERS, PASSES
from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.errors import InputError, explain, reporting_errors
from tileas_xdsl.tools.inputs import full_context, parse_module, read_module
from tileas_xdsl.tools.passes import describe


def locations(text: str) -> list[tuple[str, str | None]]:
    module = parse_module(text, "a.mlir", full_context())
    return [(op.name, location_of(op)) for op in module.walk()]


# Locations ------------------------------------------------------------------------------------------------------------


def test_every_op_knows_its_line_and_the_column_of_its_name():
    text = """
func.func @f(%n: index) -> index {
  %c0, %c1 = "test.op"() : () -> (index, index)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
    // a comment
    %s
      = arith.addi %a, %i : index
    scf.yield %s : index
  }
  func.return %r : index
}
"""
    assert locations(text) == [
        ("builtin.module", "a.mlir:2:1"),
        ("func.func", "a.mlir:2:1"),
        ("test.op", "a.mlir:3:14"),
        ("scf.for", "a.mlir:4:8"),
        ("arith.addi", "a.mlir:7:9"),
        ("scf.yield", "a.mlir:8:5"),
        ("func.return", "a.mlir:10:3"),
    ]


def test_columns_agree_with_those_of_mlir():
    """MLIR points at the op's name too, and not at its first result."""
    from tests.support.mlir import mlir_opt

    text = "func.func @f(%n: index) -> index {\n    %a = arith.addi %n, %n : index\n  func.return %a : index\n}\n"
    printed = mlir_opt(text, "--mlir-print-debuginfo", "--mlir-pretty-debuginfo")
    for name, place in locations(text):
        if name in ("arith.addi", "func.return"):
            assert place is not None
            line, column = place.split(":")[1:]
            assert f":{line}:{column}" in printed


def test_a_terminator_that_is_left_out_stands_where_its_loop_does():
    text = '%n = "test.op"() : () -> index\nscf.for %i = %n to %n step %n {\n}\n'
    assert locations(text)[-1] == ("scf.yield", "a.mlir:2:1")


def test_a_written_location_is_kept():
    module = parse_module('"test.op"() : () -> () loc("elsewhere.py":7:9)\n', "a.mlir", full_context())
    assert [location_of(op) for op in module.ops] == ["elsewhere.py:7:9"]


BODY_NOT_WRITTEN = ("linalg.matmul",)
"""Ops of which xDSL makes up the body when it parses them."""


def test_no_op_of_the_examples_is_without_location():
    for path in sorted(ROOT.glob("examples/*.mlir")):
        module = read_module(str(path))
        written = [op for op in module.walk() if getattr(op.parent_op(), "name", None) not in BODY_NOT_WRITTEN]
        assert [op.name for op in written if op.location == UNKNOWN_LOC] == []


# Errors ---------------------------------------------------------------------------------------------------------------

BAD = {
    "syntax": (
        'func.func @f() {\n\t"test.op"( : () -> ()\n  func.return\n}\n',
        ":2:13: error: operand expected",
    ),
    "unknown op": (
        "func.func @f() {\n  %0, %1 = foo.bar\n  func.return\n}\n",
        ":2:12: error: foo.bar: there is no such operation in any dialect that is installed here",
    ),
    "misspelt op": (
        "func.func @f(%a: memref<4xf32>) {\n  memref.deallok %a : memref<4xf32>\n  func.return\n}\n",
        ":2:3: error: memref.deallok: there is no such operation in any dialect that is installed here; did you mean "
        "memref.dealloc?",
    ),
    "misspelt dialect": (
        "func.func @f() {\n  %t = asinc.create_group : !async.group\n  func.return\n}\n",
        ":2:8: error: asinc.create_group: there is no such operation in any dialect that is installed here; "
        "did you mean async.create_group?",
    ),
    "unknown type": (
        "func.func @f(%a: !foo.bar) {\n  func.return\n}\n",
        ":1:26: error: 'foo.bar': there is no such type or attribute in any dialect that is installed here",
    ),
    "op without a custom form": (
        "func.func @f(%a: memref<4xf32>) {\n  %b = memref.cast %a : memref<4xf32> to memref<?xf32>\n  func.return\n}\n",
        ":2:8: error: xDSL reads 'memref.cast' in generic form only: write \"memref.cast\"(...), or let mlir-opt",
    ),
    "undefined value": (
        'func.func @f() {\n  "test.op"(%x) : (index) -> ()\n  func.return\n}\n',
        ":2:13: error: %x is used and never defined",
    ),
    "undefined value after a resolved forward reference": (
        '"test.op"(%a) : (index) -> ()\n%a = "test.op"() : () -> index\n"test.op"(%b) : (index) -> ()\n',
        ":3:11: error: %b is used and never defined",
    ),
    "use before definition": (
        'func.func @f() {\n  "test.op"(%x) : (index) -> ()\n  %x = "test.op"() : () -> index\n  func.return\n}\n',
        ":2:3: error: 'test.op' op %x is used where its definition does not reach",
    ),
    "redefinition": ('%a = "test.op"() : () -> i1\n%a = "test.op"() : () -> i1\n', ":2:1: error: "),
    "type": ('"test.op"() : () -> vector<-1xf32>\n', ":1:28: error: expected vector element type"),
    "alias that does not parse": ("!t = vector<-1xf32>\n", ":1:13: error: expected vector element type"),
    "attribute that does not verify": (
        '"test.op"() : () -> ()\n"test.op"() {a = 300 : i8} : () -> ()\n',
        ":2:1: error: integer value 300 is out of range for type i8",
    ),
    "alias that does not verify": ("#a = 300 : i8\n", ":2:1: error: integer value 300 is out of range for type i8"),
    "verifier": (
        "func.func @f() {\n  async_queue.wait 0, 0 {\n      async_queue.scope\n  }\n  func.return\n}\n",
        ":3:7: error: 'async_queue.scope' op stands outside any async_queue.commit",
    ),
    "operand type": (
        '%q = "test.op"() : () -> i32\n"async_queue.commit"(%q) ({}) : (i32) -> ()\n',
        ":2:1: error: 'async_queue.commit' op operand 'computed' at position 0 does not verify:\n  i32 should be",
    ),
    "missing terminator": (
        "func.func @f(%a: index) {\n}\n",
        ":1:1: error: Operation func.func contains empty block",
    ),
    "verifier of xDSL that raises ValueError": (
        "func.func @f(%a: index) {\n  %0, %1 = arith.addui_extended %a, %a : index, i1\n  func.return\n}\n",
        ":2:12: error: 'arith.addui_extended' op Unsupported input type",
    ),
    "a name that is no name": ("func.func @f(%é: index)\n", ":1:14: error: expected suffix identifier after '%'\n"),
    "end of file": ("func.func @f() {\n", ":2:1: error: unexpected end of file in block definition"),
    "number out of range": ("async_queue.commit 99999999999999999999\n", ":1:1: error: integer value"),
    "empty file": ("", ":1:1: error: there is no operation in this file"),
    "comment only": ("// nothing\n", ":2:1: error: there is no operation in this file"),
    "nesting": (
        '%a = "test.op"() : () -> index\n'
        + "".join(f"scf.for %i{i} = %a to %a step %a {{\n" for i in range(400))
        + "}\n" * 400,
        ": error: operations or calls nest too deeply",
    ),
}


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subcommand `read FILE` that only reads, so that the whole way from command line to exit status is walked."""
    module = ModuleType("tileas_xdsl.tools.read_for_test")

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file")

    def run(arguments: argparse.Namespace) -> int:
        read_module(arguments.file)
        return 0

    module.__dict__.update(add_arguments=add_arguments, run=run)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(command.SUBCOMMANDS, "read", ("read_for_test", "read a file"))


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("case", BAD)
def test_bad_text_gives_one_located_message_and_status_2(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text, expected = BAD[case]
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    assert command.main(["read", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{path}{expected}"), captured.err
    assert captured.err.count("error:") == 1
    assert "Traceback" not in captured.err


@pytest.mark.usefixtures("reading")
def test_good_text_gives_status_0_and_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "good.mlir"
    path.write_text("async_queue.wait 0, 0\n")
    assert command.main(["read", str(path)]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("reading")
def test_a_syntax_error_shows_the_line_and_the_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.mlir"
    path.write_text('\t"test.op"(%x) : (index) -> ()\n')
    command.main(["read", str(path)])
    assert capsys.readouterr().err.splitlines()[1:] == ['\t"test.op"(%x) : (index) -> ()', "\t          ^"]


@pytest.mark.usefixtures("reading")
def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    absent = tmp_path / "absent.mlir"
    assert command.main(["read", str(absent)]) == 2
    assert capsys.readouterr().err == f"{absent}: error: no such file or directory\n"

    assert command.main(["read", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: error: is a directory\n"

    binary = tmp_path / "binary.mlir"
    binary.write_bytes(b"// fine\n// \xff\n")
    assert command.main(["read", str(binary)]) == 2
    assert capsys.readouterr().err == f"{binary}:2:4: error: byte 0xff is not UTF-8 text\n"


def test_the_innermost_op_is_blamed_even_where_the_outer_one_is_wrong_as_well():
    text = "async_queue.wait 0, -1 {\n  async_queue.wait -1, 0\n}\n"
    with pytest.raises(InputError, match=r"a:2:3: error: 'async_queue\.wait' op queue must not be negative") as raised:
        parse_module(text, "a", full_context())
    assert len(raised.value.messages) == 1


def test_a_refusal_carries_the_place_of_the_op_around_and_the_way_out():
    module = parse_module("async_queue.commit 0 {\n  async_queue.scope\n}\n", "a.mlir", full_context())
    scope = next(op for op in module.walk() if op.name == "async_queue.scope")
    scope.location = UNKNOWN_LOC
    assert reporting_errors(lambda: refuse(scope, "is not wanted", "remove it")) == 2
    with pytest.raises(PassFailedException) as refusal:
        refuse(scope, "is not wanted", "remove it")
    assert explain(refusal.value) == ("a.mlir:1:1: error: 'async_queue.scope' op is not wanted\n  help: remove it")


def test_a_defect_of_ours_is_called_one_and_shows_itself_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def run() -> int:
        raise KeyError("slot")

    assert reporting_errors(run) == 2
    assert "error: KeyError: 'slot'\n  help: this is a defect of tileas" in capsys.readouterr().err
    monkeypatch.setenv("TILEAS_TRACEBACK", "1")
    with pytest.raises(KeyError):
        reporting_errors(run)


def test_interruption_has_the_status_of_shells():
    def run() -> int:
        raise KeyboardInterrupt

    assert reporting_errors(run) == 130


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """A script of bash in which `tileas` is this command."""
    script = f"set -o pipefail; tileas() {{ '{sys.executable}' -m tileas_xdsl.tools.main \"$@\"; }}; {script}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)


def test_a_reader_that_goes_away_is_no_error():
    """No traceback and no complaint at exit."""
    result = shell("tileas passes --all | head -1")
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


RACE, GOOD = "examples/double_buffer_race.mlir", "examples/double_buffer.mlir"


@pytest.mark.parametrize(("file", "status"), [(RACE, 1), (GOOD, 0)])
def test_nobody_reads_and_the_status_is_the_verdict_all_the_same(file: str, status: int):
    """A race that nobody wants to read about is one."""
    gone = shell(f"tileas check {file} | true")
    assert (gone.returncode, gone.stderr) in {(status, ""), (141, "")}
    assert gone.returncode != 0 or status == 0
    closed = shell(f"tileas check {file} >&-")
    assert (closed.returncode, closed.stderr) == (status, "")
    silent = shell(f"tileas check {file} 2>&-")
    assert silent.returncode == status


def test_a_verdict_that_was_not_reached_is_not_made_up(monkeypatch: pytest.MonkeyPatch):
    def run() -> int:
        raise BrokenPipeError

    monkeypatch.setattr("os.dup2", lambda *descriptors: None)
    assert reporting_errors(run) == 141


def test_closed_and_full_streams():
    empty = shell("tileas check - <&-")
    assert (empty.returncode, empty.stderr) == (2, "<stdin>:1:1: error: there is no operation in this file\n")
    full = shell(f"tileas check {GOOD} >/dev/full")
    assert (full.returncode, full.stderr.splitlines()[0]) == (2, "error: no space left on device")
    for script in ("--version", "--help", "check --help"):
        for sink in (">&-", "| true", ">/dev/full"):
            assert "Traceback" not in shell(f"tileas {script} {sink}").stderr


# The command line -----------------------------------------------------------------------------------------------------


def test_help_and_usage_errors_load_nothing_of_xdsl():
    script = (
        "import sys\nfrom tileas_xdsl.tools.main import main\n"
        "try:\n  main(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('xdsl', 'numpy', 'rich'))])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_version(capsys: pytest.CaptureFixture[str]):
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tileas-xdsl ")


def test_no_subcommand_is_an_error_with_help(capsys: pytest.CaptureFixture[str]):
    assert command.main([]) == 2
    assert "subcommands:" in capsys.readouterr().err


def test_an_unknown_subcommand_and_an_unknown_option_are_usage_errors(capsys: pytest.CaptureFixture[str]):
    for arguments in (["walk"], ["passes", "--no-such-option"], ["passes", "--format", "xml"]):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 2
        assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "guess"),
    [
        (["chek", "x.mlir"], "there is no subcommand 'chek'; did you mean 'check'?"),
        (["check", "x.mlir", "--asume", "n >= 1"], "--asume n >= 1; did you mean '--assume'?"),
        (["check", "x.mlir", "--trip-count=4"], "--trip-count=4; did you mean '--trip-counts'?"),
    ],
)
def test_what_is_misspelt_gets_a_guess(arguments: list[str], guess: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert guess in capsys.readouterr().err


def test_every_subcommand_has_its_module():
    others = {"tune": ["x", "--space", "num-stages=2"], "new": ["op", "x"], "try": ["x", "-p", "cse"]}
    for name in command.SUBCOMMANDS:
        words = others.get(name, ["x"])
        assert command.build_parser(name).parse_known_args([name, *words])[0].run is not None


# tileas passes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample(ModulePass):
    """
    First paragraph, which is
    the description.

    Second paragraph.
    """

    name = "sample"

    num_stages: int = 2
    mode: Literal["eager", "lazy"] = "eager"
    dims: tuple[int, ...] = (1, 2)
    maybe: Literal["a", "b"] | None = None
    verbose: bool = True
    ratio: int | float = 0.5

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class Quoted(ModulePass):
    """Not this."""

    name = "quoted"
    DESCRIPTION: ClassVar[str] = "This  one, byte for byte"

    arch: str

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@dataclass(frozen=True)
class Silent(ModulePass):
    name = "silent"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


def test_a_pass_is_described_by_its_class():
    row = describe("sample", lambda: Sample)
    assert row.description == "First paragraph, which is the description."
    assert [(o.name, o.type, o.choices, o.required, o.default) for o in row.options] == [
        ("num-stages", "int", (), False, 2),
        ("mode", "string", ("eager", "lazy"), False, "eager"),
        ("dims", "list of int", (), False, (1, 2)),
        ("maybe", "string", ("a", "b"), False, None),
        ("verbose", "bool", (), False, True),
        ("ratio", "int or float", (), False, 0.5),
    ]
    assert [o.allowed + o.ending for o in row.options] == [
        "int = 2",
        "eager|lazy = eager",
        "list of int = 1,2",
        "a|b = unset",
        "bool = true",
        "int or float = 0.5",
    ]


def test_a_quoted_description_wins_and_an_option_without_default_is_required():
    row = describe("quoted", lambda: Quoted)
    assert row.description == "This  one, byte for byte"
    assert [(o.name, o.required, o.allowed + o.ending) for o in row.options] == [("arch", True, "string, required")]


def test_a_pass_without_docstring_has_no_description():
    assert describe("silent", lambda: Silent).description == ""


def test_passes_lists_ours(capsys: pytest.CaptureFixture[str]):
    assert command.main(["passes"]) == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if line and not line.startswith(" ")]
    assert listed == sorted({**PASSES, **DRIVERS})


def test_every_pass_of_ours_says_what_it_does(capsys: pytest.CaptureFixture[str]):
    command.main(["passes", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["passes"]
    assert [row["name"] for row in rows if not row["description"]] == []
    assert [row["name"] for row in rows] == sorted({**PASSES, **DRIVERS})


def test_all_passes_hold_ours_and_those_of_xdsl(capsys: pytest.CaptureFixture[str]):
    command.main(["passes", "--all", "--format", "json"])
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["passes"]]
    assert {"canonicalize", "cse", *PASSES} <= set(names)


def test_one_pass_by_name_whoever_wrote_it(capsys: pytest.CaptureFixture[str]):
    assert command.main(["passes", "convert-scf-to-openmp"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "convert-scf-to-openmp"


def test_an_unknown_pass_gets_a_guess(capsys: pytest.CaptureFixture[str]):
    assert command.main(["passes", "canonicalise"]) == 2
    assert capsys.readouterr().err == (
        "error: there is no pass 'canonicalise'\n  help: did you mean canonicalize? `tileas passes --all` lists them\n"
    )
