"""The edit that repairs a kernel of a Python file: what is proposed, what is shown, and that the file stays."""

from __future__ import annotations

import json
import linecache
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tileas_xdsl.dialects.triton import ttng
from tileas_xdsl.machine.core.violations import Violation, ViolationKind
from tileas_xdsl.tools import main as command
from tileas_xdsl.triton.python_edits import Party, edits

COPIES = Path(__file__).parent / "files" / "copies.py"
HEAD = "from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma\n"
LOOP = (
    HEAD
    + """@gluon.jit
def k(desc, bar, tile, n):
    phase = 0
    for i in range(n):
        mbarrier.expect(bar, 64)
        tma.async_load(desc, [i], bar, tile)
        mbarrier.wait(bar, phase)
        tile.load()
"""
)


def proposed(text: str, kind: ViolationKind, *lines: int) -> list[str]:
    """What `text` becomes by each edit for a violation between copies by TMA on these lines."""
    parties = [Party(line, ttng.AsyncTMACopyGlobalToLocalOp) for line in lines]
    found: list[str] = []
    for line, before, after in edits(text, Violation(kind, "", (), ""), parties, ()):
        old = text.split("\n")
        assert tuple(old[line - 1 : line - 1 + len(before)]) == before
        found.append("\n".join([*old[: line - 1], *after, *old[line - 1 + len(before) :]]))
    assert len(set(found)) == len(found)
    return found


def test_a_phase_that_stays_gets_its_change_behind_the_wait() -> None:
    right = LOOP.replace("(bar, phase)\n", "(bar, phase)\n        phase ^= 1\n")
    found = proposed(LOOP, ViolationKind.PHASE, 8)
    assert right in found[:3]
    assert LOOP.replace("64", "desc.block_type.nbytes") in found[:3]
    # Where it changes already, it is not changed twice.
    assert not [each for each in proposed(right, ViolationKind.PHASE, 8) if each.count("^= 1") > 1]


def test_a_missing_wait_names_the_barrier_of_the_copy_and_a_phase_that_is_known() -> None:
    wrong = LOOP.replace("        mbarrier.wait(bar, phase)\n", "")
    assert LOOP in proposed(wrong, ViolationKind.RACE, 7, 8)


def test_a_phase_that_begins_anew_is_set_before_the_loop() -> None:
    wrong = LOOP.replace("    phase = 0\n", "").replace("range(n):\n", "range(n):\n        phase = 0\n")
    assert LOOP in proposed(wrong, ViolationKind.PHASE, 8)


@pytest.mark.parametrize(
    ("count", "fewer"),
    [
        ("STAGES - 1", "STAGES - 2"),
        ("2", "1"),
        ("a + 1", "a"),
        ("depth", "depth - 1"),
        ("a if b else c", "(a if b else c) - 1"),
    ],
)
def test_a_count_is_one_fewer(count: str, fewer: str) -> None:
    text = f"@gluon.jit\ndef k(a, b, c):\n    cp.wait_group({count})\n"
    found = proposed(text, ViolationKind.RACE, 3)
    assert found[0] == text.replace(count, fewer)
    assert text.replace(count, "0") in found


def test_a_file_that_does_not_parse_has_no_edits() -> None:
    assert proposed("def k(:\n", ViolationKind.RACE, 1) == []


# Whole files ----------------------------------------------------------------------------------------------------------

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None and os.environ.get("TILEAS_REQUIRE_ORACLES") != "1",
    reason="needs Triton 3.9: pip install '.[triton]'",
)
Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """`check(text, *options)`: status, standard output and error of `tileas check k.py`, whose text stays."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *options: str) -> tuple[int, str, str]:
        Path("k.py").write_text(text)
        status = command.main(["check", "k.py", "--target", "sm_80", *options])
        captured = capfd.readouterr()
        assert Path("k.py").read_text() == text
        return status, captured.out, captured.err

    return run


def launches(*pending: int) -> str:
    """A file that launches its kernel with each of these numbers of copies that may stay in flight."""
    text = COPIES.read_text().partition("@pytest.mark")[0]
    calls = [f"doubled[(1,)](x, torch.empty_like(x), 9, STAGES=4, PENDING={each})" for each in pending]
    return "\n".join([text, "x = torch.rand(9, 512, device='cuda')", *calls, ""])


@needs_triton
def test_a_mistake_of_two_forms_is_shown_once_and_its_edit_repairs_all(check: Check) -> None:
    status, out, err = check(launches(3, 2, 4))
    assert (status, err) == (1, "")
    assert out.count("witness") == 1
    assert out.count("edit: with it in k.py the program is safe for every trip count") == 1
    first, again = out.split("doubled for sm_80 (PENDING = 4):")
    assert "+         async_copy.wait_group(0)" in first
    _, headline, *lines = again.splitlines()
    assert headline.startswith("k.py:16:9: numbers that differ from run to run: race: ")
    assert lines == ["  shown in full for doubled for sm_80 (PENDING = 3)", "unsafe: race"]

    data = json.loads(check(launches(3, 2, 4), "--format", "json")[1])
    assert [each.get("same_as") for each in data] == [None, None, "doubled for sm_80 (PENDING = 3)"]
    edit = data[0]["mistakes"][0]["edit"]
    assert edit == data[2]["mistakes"][0]["edit"]
    assert edit["file"] == "k.py"
    assert "wait_group(PENDING)" in edit["before"]
    assert check(launches(3, 2, 4).replace(edit["before"], edit["after"]), "--no-advice")[0] == 0


@needs_triton
def test_an_edit_of_a_file_with_another_mistake_is_not_shown(check: Check) -> None:
    """With it the program would still be wrong, as two functions of a module would."""
    other = launches(2).partition("@gluon.jit")[2].partition("\nx = ")[0]
    other = "@gluon.jit" + other.replace("doubled", "other").replace("wait_group(PENDING)", "wait_group(9)")
    launch = "other[(1,)](x, torch.empty_like(x), 9, STAGES=4, PENDING=3)\n"
    status, out, _ = check(launches(3).replace("\nx = ", f"\n{other}\nx = ") + launch)
    assert (status, out.count("witness")) == (1, 2)
    assert "edit:" not in out


@needs_triton
def test_without_edits_the_kernel_is_compiled_once(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileas_xdsl.triton import python_files
    from tileas_xdsl.triton.compiling import text_of_stages

    compiled: list[str] = []

    def noting(function: Any, *given: Any) -> str:
        compiled.append(function.__name__)
        return text_of_stages(function, *given)

    monkeypatch.setattr(python_files, "text_of_stages", noting)
    assert "edit:" not in check(launches(3), "--no-edit")[1]
    assert compiled == ["doubled"]


@needs_triton
def test_who_asks_for_the_source_of_the_file_later_gets_the_file(check: Check) -> None:
    check(launches(3))
    assert linecache.getline("k.py", 19).strip() == "async_copy.wait_group(PENDING)"


# From Python ----------------------------------------------------------------------------------------------------------

READER = """

@gluon.jit
def first_of(tiles, k, layout: gl.constexpr, PENDING: gl.constexpr):
    async_copy.wait_group(PENDING)
    return tiles.index(k).load(layout)

"""
"""A kernel that another one calls."""
TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}


def defined(text: str, file: str) -> Any:
    """The kernel `doubled` of a program that is read as if `file` held it, as a cell of a notebook is."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "cell"}
    exec(compile(text, file, "exec"), names)
    return names["doubled"]


def kernels_only(text: str) -> str:
    return text.replace("import pytest\nimport torch\n", "").partition("@pytest.mark")[0]


@needs_triton
@pytest.mark.parametrize("calls_another", [False, True])
def test_a_kernel_that_python_hands_over_gets_its_edit(calls_another: bool) -> None:
    import tileas_xdsl.triton as tx

    text = kernels_only(COPIES.read_text())
    if calls_another:
        text = text.replace("        async_copy.wait_group(PENDING)\n", "").replace("\n\n@gluon", READER + "\n@gluon")
        text = text.replace("tiles.index(k % STAGES).load(layout)", "first_of(tiles, k % STAGES, layout, PENDING)")
    given: Any = {"signature": TYPES, "constexprs": {"STAGES": 4, "PENDING": 3}, "target": "sm_80"}
    kernel = defined(text, "<cell 7>")
    report = tx.check(kernel, **given)
    (edit,) = [line for line in report.text.splitlines() if line.startswith("  edit: ")]
    assert edit == "  edit: with it in <cell 7> the program is safe for every trip count"
    found = report.report.edit
    assert found is not None
    assert (found.before[0].strip(), found.after[0].strip()) == (
        "async_copy.wait_group(PENDING)",
        "async_copy.wait_group(PENDING - 1)",
    )
    assert tx.check(defined(text.replace(found.before[0], found.after[0]), "<cell 8>"), **given).safe
    assert tx.check(kernel, edit=False, **given).report.edit is None

    rows = tx.tensor("fp32", 9, 512)
    with pytest.raises(tx.NotSafeError, match="edit: with it in <cell 7>"), tx.checking("sm_80"):
        kernel[(1,)](rows, rows, 9, STAGES=4, PENDING=3)
