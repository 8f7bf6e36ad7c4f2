"""The edit that repairs a kernel in PTX: what is proposed, what is shown, and that the program is safe with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.readers.ptx.programs import KERNELS, text_of
from tests.support.corpora import each
from tileas_xdsl.checker.verdict.repairing import Lines
from tileas_xdsl.machine.core.violations import Violation, ViolationKind
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.tools.check.edited_python import with_lines
from tileas_xdsl.tools.check.ptx_edits import Case, Span, edits
from tileas_xdsl.tools.main import main

FIRST = 5
"""The line of the first line of a body."""
RING = """mbarrier.init.shared.b64 [s], 1;
mov.u32 %r1, 2;
mbarrier.init.shared.b64 [s+8], %r1;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [s], %r9;
@!%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared.b64 _, [s], 64;
@%p2 mbarrier.arrive.shared.b64 _, [s+8];
ld.shared.b32 %r2, [s+16];
"""


def proposed(body: str, kind: ViolationKind, *parties: Span) -> list[str]:
    """The lines that change in `body` by each edit for a violation there, lines counted from 1, as `old -> new`."""
    text = text_of(body)
    (kernel,) = parse(text).kernels
    spans = [(first + FIRST - 1, last + FIRST - 1) for first, last in parties]
    found = list(edits(Case(text, kernel.body, Violation(kind, "", (), ""), spans, [])))
    assert len(set(found)) == len(found)
    for line, before, _ in found:
        assert tuple(text.split("\n")[line - 1 : line - 1 + len(before)]) == before
    return [_in_short(each) for each in found]


def _in_short(lines: Lines) -> str:
    line, before, after = lines
    return f"{line - FIRST + 1}: {' '.join(before)} -> {' '.join(after)}"


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        (ViolationKind.PHASE, "5: {} -> {{ .reg .b32 %other; xor.b32 %other, %r9, 1; {} }}"),
        (ViolationKind.DEADLOCK, "1: mbarrier.init.shared.b64 [s], 1; -> mbarrier.init.shared.b64 [s], 2;"),
        (ViolationKind.DEADLOCK, "3: mbarrier.init.shared.b64 [s+8], %r1; -> mbarrier.init.shared.b64 [s+8], 1;"),
        (ViolationKind.DEADLOCK, "7: {expect}64; -> {expect}128;"),
        (ViolationKind.DEADLOCK, "9:  -> @%p2 mbarrier.arrive.shared.b64 _, [s+8];"),
        (ViolationKind.RACE, "9:  -> bar.sync 0;"),
        (ViolationKind.RACE, "9:  -> { .reg .pred %done; AGAIN: {done} @!%done bra AGAIN; }"),
        (ViolationKind.MISSING_FENCE, "9:  -> fence.proxy.async.shared::cta;"),
        (
            ViolationKind.PHASE,
            "8: @%p2 mbarrier.arrive.shared.b64 _, [s+8]; ld.shared.b32 %r2, [s+16]; -> "
            "ld.shared.b32 %r2, [s+16]; @%p2 mbarrier.arrive.shared.b64 _, [s+8];",
        ),
    ],
)
def test_what_is_proposed(kind: ViolationKind, edit: str) -> None:
    wait = "mbarrier.try_wait.parity.shared.b64 %p1, [s], %r9;"
    other = wait.replace("%r9", "%other")
    expected = edit.replace("{expect}", "mbarrier.arrive.expect_tx.shared.b64 _, [s], ")
    expected = expected.replace("{done}", wait.replace("%p1", "%done"))
    if "{}" in expected:
        expected = f"5: {wait} -> {{ .reg .b32 %other; xor.b32 %other, %r9, 1; {other} }}"
    assert expected in proposed(RING, kind, (9, 9))


def test_a_count_that_is_an_immediate_is_one_fewer_or_none() -> None:
    found = proposed("cp.async.wait_group 2;\nld.shared.b32 %r2, [s];\n", ViolationKind.RACE, (2, 2))
    assert found[:2] == [f"1: cp.async.wait_group 2; -> cp.async.wait_group {count};" for count in (1, 0)]


def test_what_became_of_one_line_of_a_source_stays_together() -> None:
    copies = "cp.async.ca.shared.global [s], [%d1], 4;\ncp.async.ca.shared.global [s+4], [%d1], 4;\nret;\n"
    found = proposed(copies, ViolationKind.UNDRAINED, (1, 2))
    assert "3:  -> cp.async.commit_group;" in found


# Whole files ----------------------------------------------------------------------------------------------------------

MISTAKES = {
    "a count": ("copy_ring.sm_80", r"(wait_group\s+)2;", r"\g<1>3;"),
    "a count of stores": ("store_ring.sm_90a", r"(wait_group.read\s+)2;", r"\g<1>3;"),
    "a fence": ("wgmma_ring.sm_90a", r"wgmma.fence.sync.aligned;", ""),
    "a barrier": ("summed.sm_80", r"bar.sync\s+0;", ""),
}


def checked(file: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    file.write_text(text)
    status = main(["check", str(file), "--no-advice", "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


@each("mistake", list(MISTAKES), 1)
def test_a_program_is_safe_with_the_edit_that_is_shown(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, right, wrong = MISTAKES[mistake]
    file = tmp_path / "k.ptx"
    file.with_suffix(".json").write_text((KERNELS / f"{kernel}.json").read_text())
    text = re.sub(right, wrong, (KERNELS / f"{kernel}.ptx").read_text(), count=1)
    status, data = checked(file, text, capsys)
    (found,) = data["mistakes"]
    assert status == 1
    # Its findings name lines of Python, or of CUDA.
    assert found["edit"]["file"] == str(file)
    assert file.read_text() == text
    before, after = (
        tuple(found["edit"][part].split("\n")) if found["edit"][part] else () for part in ("before", "after")
    )
    assert checked(file, with_lines(text, (found["edit"]["line"], before, after)), capsys)[0] == 0


def test_an_edit_is_shown_where_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One thread writes what another warp reads."""
    body = "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READ;\nst.shared.b32 [s], %r1;\nREAD:\n"
    (tmp_path / "k.ptx").write_text(text_of(body + "ld.shared.b32 %r2, [s];\n"))
    assert main(["check", str(tmp_path / "k.ptx")]) == 1
    out = capsys.readouterr().out
    assert "edit: with it the program is safe for every trip count\n      + bar.sync 0;\n    9 | ld.shared.b32" in out
    assert main(["check", str(tmp_path / "k.ptx"), "--no-edit"]) == 1
    assert "edit:" not in capsys.readouterr().out
