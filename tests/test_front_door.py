"""`import tileas_xdsl as tileas`: lazy, one way to pass arguments, results that show themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import tileas_xdsl as tileas
from tests.support.ir import ROOT
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.transforms.tileas.materialize_async import MaterializeAsyncPass

GEMM = ROOT / "examples" / "gemm_loop.mlir"
RACE = ROOT / "examples" / "double_buffer_race.mlir"
TASKS = ROOT / "examples" / "async_tasks.mlir"
ADDRESS = re.compile(r"0x[0-9a-f]{6,}|object at")

ADD = """
func.func @add(%a: memref<4xf32>, %n: index) -> index {
  %c1 = arith.constant 1 : index
  %x = memref.load %a[%n] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %a[%n] : memref<4xf32>
  %m = arith.addi %n, %c1 : index
  func.return %m : index
}
func.func @other(%p: i1) {
  func.return
}
"""


@pytest.fixture(scope="module")
def gemm() -> ModuleOp:
    return tileas.parse(GEMM)


# Laziness -------------------------------------------------------------------------------------------------------------


def printed_by(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def test_the_import_loads_nothing() -> None:
    """Not a module of ours, nor of xDSL, nor numpy; and the version costs as little as it can."""
    script = (
        "import sys\nbefore = set(sys.modules)\nimport tileas_xdsl as tileas\n"
        "print(sorted(name for name in set(sys.modules) - before if name.split('.')[0] in {heavy}))"
    ).format(heavy="{'tileas_xdsl', 'xdsl', 'numpy', 'rich', 'ml_dtypes'}")
    assert printed_by(script) == "['tileas_xdsl']\n"


def test_every_name_is_there_and_no_other() -> None:
    script = (
        "import tileas_xdsl as t\n"
        "print(all(getattr(t, name) is not None for name in t.__all__), set(t.__all__) == set(dir(t)))"
    )
    assert printed_by(script) == "True True\n"
    with pytest.raises(AttributeError, match="module 'tileas_xdsl' has no attribute 'chek'"):
        _ = tileas.chek  # pyright: ignore


def test_submodules_are_still_imported_by_name() -> None:
    script = "import tileas_xdsl\nfrom tileas_xdsl import universe, names\nprint(universe.__name__)"
    assert printed_by(script) == "tileas_xdsl.universe\n"


def test_the_package_imports_the_front_door_late_only() -> None:
    """At its top it imports nothing that costs: what stands in `if TYPE_CHECKING` is for tools."""
    tree = ast.parse((ROOT / "tileas_xdsl" / "__init__.py").read_text())
    tops = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert tops == ["__future__", "typing"]


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert tileas.__version__ == version("tileas-xdsl")


# Reading and transforming ---------------------------------------------------------------------------------------------


def test_a_file_is_a_path_or_a_name_and_all_else_is_text() -> None:
    assert str(tileas.parse(GEMM)) == str(tileas.parse(str(GEMM))) == str(tileas.parse(GEMM.read_text()))
    with pytest.raises(InputError, match=r"^<text>:1:1: error"):
        tileas.parse("nothing")
    with pytest.raises(FileNotFoundError):
        tileas.parse("missing.mlir")
    with pytest.raises(InputError, match=r"<text>:1:1: error: some\.op: there is no such operation"):
        tileas.parse('"some.op"() : () -> ()')
    assert "some.op" in str(tileas.parse('"some.op"() : () -> ()', allow_unregistered=True))


def test_a_transformation_leaves_its_module_alone(gemm: ModuleOp) -> None:
    before = str(gemm)
    by_name = tileas.transform(gemm, "tileas-materialize-async")
    by_pass = tileas.transform(gemm, [MaterializeAsyncPass()])
    assert str(gemm) == before
    assert str(by_name) == str(by_pass) != before
    assert str(tileas.transform(gemm, "")) == before


@pytest.mark.parametrize(
    ("pipeline", "text"),
    [
        ("tileas-materialise-async", "there is no pass 'tileas-materialise-async'\n  help: did you mean tileas-mat"),
        ("tileir{pipeline-strategy=foo}", "tileir has no pipeline-strategy 'foo'; choose one of none, unspecialize"),
        ("tileir{colour=red}", "tileir has no option 'colour'"),
        ("tileir{num-warps=many}", "tileir: Incompatible types"),
        ("tileir{", "error: -p tileir{: "),
        ("canonicalize;cse", "error: -p canonicalize;cse: "),
    ],
)
def test_pipelines_that_do_not_exist_are_input_errors(gemm: ModuleOp, pipeline: str, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        tileas.transform(gemm, pipeline)


def test_a_pass_that_leaves_a_broken_module_is_named(gemm: ModuleOp) -> None:
    class Breaks(MaterializeAsyncPass):
        name = "breaks"

        def apply(self, ctx: Any, op: ModuleOp) -> None:
            function = next(iter(op.body.block.ops))
            last = function.regions[0].block.last_op
            assert last is not None
            last.detach()

    with pytest.raises(InputError, match="this is what breaks left, and a defect of that pass"):
        tileas.transform(gemm, [Breaks()])


# One way to pass arguments --------------------------------------------------------------------------------------------

WAYS: list[Any] = [{"n": 2}, [None, None, None, 2], (None, None, None, 2)]


@pytest.mark.parametrize("args", WAYS)
def test_all_take_numbers_alike(gemm: ModuleOp, args: Any) -> None:
    assert tileas.check(gemm, args).last_line.startswith("safe, with n = 2")
    assert tileas.simulate(gemm, args, target="sm_90").cycles == tileas.simulate(gemm, WAYS[0], target="sm_90").cycles
    assert tileas.timeline(gemm, args, target="sm_90").function == "gemm"


def test_arrays_are_taken_by_all_and_computed_by_run(gemm: ModuleOp) -> None:
    a, b, c = np.ones((128, 128), np.float16), np.full((128, 128), 3, np.float16), np.zeros((128, 128), np.float32)
    named = {"a": a, "b": b, "c": c, "n": 2}
    for args in (named, [a, b, c, 2]):
        outcome = tileas.run(gemm, args)
        assert outcome.finished
        assert np.array_equal(outcome.arrays["c"], a.astype(np.float32) @ b.astype(np.float32))
        assert tileas.check(gemm, args).verdict is Verdict.SAFE
        assert tileas.simulate(gemm, args, target="sm_90").cycles > 0


def test_a_function_is_said_where_there_are_several() -> None:
    module = tileas.parse(ADD)
    outcome = tileas.run(module, [np.arange(4, dtype=np.float32), 3], function="add")
    assert outcome.results == (4,)
    assert outcome.arrays["a"].tolist() == [0, 1, 2, 6]
    for call in (tileas.run, tileas.simulate, tileas.timeline, tileas.check):
        with pytest.raises(ArgumentError, match="say which function"):
            call(module, [None, 3])
    with pytest.raises(ArgumentError, match="3 values are given, and there are 2 arguments: a, n"):
        tileas.run(module, [None, 3, 4], function="add")
    with pytest.raises(ArgumentError, match="there is no argument 'm'; there are: a, n"):
        tileas.check(module, {"m": 3}, function="add")


# What shows itself ----------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Whether each tag of a text is closed, and in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def results(gemm: ModuleOp) -> list[Any]:
    race, tasks = tileas.parse(RACE), tileas.parse(TASKS)
    return [
        tileas.check(gemm),
        tileas.check(race),
        tileas.run(race, {"n": 3, "src": np.ones((3, 4), np.float32), "dst": np.zeros((3, 4), np.float32)}),
        tileas.simulate(race, {"n": 3}),
        tileas.timeline(race, {"n": 3}),
        tileas.tokens(tasks),
    ]


def test_what_shows_itself_says_no_address(gemm: ModuleOp) -> None:
    for shown in results(gemm):
        forms = [repr(shown)]
        forms += [getattr(shown, form)() for form in ("_repr_html_", "_repr_svg_") if hasattr(shown, form)]
        for form in forms:
            assert not ADDRESS.search(form), form[:200]
            assert form


def test_two_looks_at_one_program_are_equal() -> None:
    """Nothing that is shown depends on where things lie in memory."""
    script = (
        f"import tileas_xdsl as t\nm = t.parse({str(RACE)!r})\n"
        f"x = [t.check(m), t.simulate(m, dict(n=3)), t.timeline(m, dict(n=3)), t.tokens(t.parse({str(TASKS)!r}))]\n"
        "print(x, [y._repr_html_() for y in x if hasattr(y, '_repr_html_')])"
    )
    assert printed_by(script) == printed_by(script)


def test_pictures_are_svg_and_html_is_closed(gemm: ModuleOp) -> None:
    report, raced, _, _, picture, graph = results(gemm)
    assert repr(report).startswith("Report(safe for every trip count; assumed: n >= 0; ")
    assert repr(raced) == "Report(unsafe: race)"
    assert re.fullmatch(r"Timeline\(@double_buffer on generic: [\d,]+ cycles.*; \d+ lanes, \d+ bars\)", repr(picture))
    assert re.fullmatch(r"WaitGraph\(@\w+: \d+ nodes, \d+ edges\)", repr(graph))
    for shown in (picture, graph):
        assert ElementTree.fromstring(shown._repr_svg_()).tag.endswith("svg")
    for shown in (report, raced, picture, graph):
        assert Tags(shown._repr_html_()).open == []
    assert [tag for tag, _ in Tags(raced._repr_html_()).seen].count("details") == len(raced.findings) > 0
    assert "assumed: n &gt;= 0" in report._repr_html_()
    ((_, frame),) = Tags(picture._repr_html_()).seen
    assert (frame["srcdoc"] or "").startswith("<!DOCTYPE html>")
    ((_, image),) = Tags(graph._repr_html_()).seen
    assert b64decode((image["src"] or "").partition(",")[2]).decode() == graph._repr_svg_()


def test_a_finding_cannot_write_html() -> None:
    """Names of a program are text, whatever they hold."""
    text = RACE.read_text().replace("@double_buffer", '@"<b>&"')
    page = tileas.check(tileas.parse(text))._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page


TAKE_A_PROGRAM: dict[str, Callable[[ModuleOp | str | Path], object]] = {
    "transform": lambda it: str(tileas.transform(it, "canonicalize")),
    "check": lambda it: tileas.check(it, function="add").verdict_line,
    "run": lambda it: tileas.run(it, [None, 3], function="add").results,
    "simulate": lambda it: tileas.simulate(it, [None, 3], function="add").cycles,
    "timeline": lambda it: tileas.timeline(it, [None, 3], function="add").svg().count("<rect"),
    "explain": lambda it: len(tileas.explain(it, "canonicalize", {"n": 3}, function="add").stages),
    "tokens": lambda it: tileas.tokens(it, function="add").to_dict(),
}


@pytest.mark.parametrize("name", TAKE_A_PROGRAM)
def test_a_program_is_a_module_or_a_file_or_a_text(name: str, tmp_path: Path) -> None:
    file, asked = tmp_path / "add.mlir", TAKE_A_PROGRAM[name]
    file.write_text(ADD)
    assert asked(ADD) == asked(file) == asked(str(file)) == asked(tileas.parse(ADD))
    with pytest.raises(tileas.Error, match=r"nix.mlir: error: no such file or directory"):
        asked("nix.mlir")


def test_a_schedule_of_a_file() -> None:
    assert tileas.schedule(GEMM).to_dict() == tileas.schedule(tileas.parse(GEMM)).to_dict()


def test_check_async_raises_with_the_report() -> None:
    said = r"double_buffer_race.mlir:15:7: numbers that differ from run to run: race: (.|\n)*unsafe: race$"
    with pytest.raises(PassFailedException, match=said):
        tileas.transform(tileas.parse(RACE), "check-async")


def test_the_page_lists_what_there_is() -> None:
    rows = re.findall(r"^\| `tileas\.(\w+)", Path(ROOT / "docs" / "python.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(tileas.__all__)


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block that imports us; the other one is a part of a kernel in Gluon."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (block,) = (each for each in blocks if "import tileas_xdsl" in each)
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["tileas"].check(names["pipelined"]).verdict is Verdict.SAFE
