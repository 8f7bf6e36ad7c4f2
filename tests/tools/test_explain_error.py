"""`tileas explain-error` shows the page of the zoo about a cause."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import HERE, code
from tileas_xdsl.checker.witnesses.causes import CAUSES
from tileas_xdsl.tools.main import main


def test_a_cause_is_shown_with_both_programs_and_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-error", "T005"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("T005, race: a wait leaves the copy in flight")
    for which in ("bad", "good"):
        assert "\n".join(code(HERE / f"nothing-waited.{which}.mlir")).strip() in out
    assert "NVIDIA/cutlass#2502 <https://github.com/NVIDIA/cutlass/issues/2502>" in out
    assert "](" not in out


def test_another_page_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-error", "T005", "commit-after-wait"]) == 0
    assert "# A group that is committed after the wait for it" in capsys.readouterr().out


def test_without_a_number_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-error"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [cause.code for cause in CAUSES]


@pytest.mark.parametrize("given", [["T999"], ["races"], ["T005", "no-such-page"]])
def test_what_there_is_not_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-error", *given]) == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.code)
def test_every_cause_can_be_shown(cause: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-error", getattr(cause, "code", "")]) == 0
    assert getattr(cause, "title", None) in capsys.readouterr().out


def test_programs_are_shown_in_the_ir_of_triton(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the zoo has them; a cause without such is told as ever."""
    assert main(["explain-error", "T005", "--triton"]) == 0
    assert "ttg.async_copy_global_to_local" in capsys.readouterr().out
    assert main(["explain-error", "T005"]) == 0
    assert "ttg.async_copy_global_to_local" not in capsys.readouterr().out
    # The first page about T017 is in another language, and another page is not.
    assert main(["explain-error", "T017", "--triton"]) == 0
    assert "ttg." in capsys.readouterr().out
    without = next(cause.code for cause in CAUSES if cause.code == "T041")
    shown = [main(["explain-error", without, *more]) for more in ([], ["--triton"])]
    assert shown == [0, 0]
    first, second = capsys.readouterr().out.split(f"{without}, ")[1:]
    assert first == second
