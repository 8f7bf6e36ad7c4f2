"""The bug zoo: every wrong program is rejected for the reason in its header, every right one accepted."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from examples.zoo import __main__ as command
from examples.zoo.exhibits import FIELDS, IR, PTX, TTGIR, Exhibit, all_exhibits, code, read_exhibit
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.violations import ViolationKind

EXHIBITS = all_exhibits()
MOST_LINES = 8
"""Lines taken away and lines added, from one twin to the other."""

PUBLISHED = {
    "which barrier is stuck": ["NVIDIA/cutlass#2404", "NVIDIA/cutlass#2879"],
    "edge trip counts": ["tile-ai/tilelang#2566", "tile-ai/tilelang#2674", "triton-lang/triton#2716"],
    "phase skew and parity": ["triton-lang/triton#10035", "tile-ai/tilelang#3087"],
    "slots against live ranges": ["triton-lang/triton#8139", "triton-lang/triton#9720"],
    "the missing proxy fence": ["flashinfer-ai/flashinfer#3361"],
    "exact wait counts": [
        "triton-lang/triton#6426",
        "triton-lang/triton#8575",
        "triton-lang/triton#9883",
        "tile-ai/tilelang#2505",
    ],
    "warps and elections": ["NVIDIA/Fuser#3428", "flashinfer-ai/flashinfer#2996", "NVIDIA/cccl#6231"],
    "one maker of a barrier": ["NVIDIA/Fuser#1990"],
    "counts of named barriers": ["deepseek-ai/FlashMLA#41"],
    "tensor maps and their tensors": ["facebookexperimental/triton#680", "triton-lang/triton#10415"],
    "a barrier that orders no memory": ["GPUOpen-Drivers/llpc#1886"],
    "a read, then an asynchronous write": ["triton-lang/triton#7262"],
    "blocks of a cluster": [
        "facebookexperimental/triton#1105",
        "facebookexperimental/triton#1723",
        "facebookexperimental/triton#3472",
        "NVIDIA/cutlass#3647",
        "NVIDIA/cutlass#3658",
    ],
    "tensor memory": ["facebookexperimental/triton#1993", "triton-lang/triton#7994", "NVIDIA/cutlass#2835"],
    "release and scope": ["flashinfer-ai/flashinfer#5335", "tile-ai/tilelang#2613", "NVIDIA/cutlass#3643"],
}
"""What users of other tools asked for, and the reports that show it: each has an exhibit."""

each = pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)


@each
def test_wrong_program_is_rejected_for_the_right_reason(exhibit: Exhibit) -> None:
    report = exhibit.report_on_bad
    assert report.verdict is Verdict.VIOLATION, str(report)
    assert exhibit.kind_found == exhibit.kind, str(report)
    assert exhibit.finding is not None
    violation = exhibit.finding.violation
    assert tuple(party.op.name for party in violation.parties[:2]) == exhibit.between
    said = [violation.message, violation.missing, *(party.role for party in violation.parties)]
    assert any(exhibit.says in sentence for sentence in said), said


@each
def test_every_party_has_a_place_in_the_program(exhibit: Exhibit) -> None:
    assert exhibit.finding is not None
    for party in exhibit.finding.violation.parties:
        assert party.place is not None
        assert party.place.startswith(f"examples/zoo/{exhibit.bad.name}:")


@each
def test_witness_leads_to_the_parties(exhibit: Exhibit) -> None:
    """The witness has steps, and at its end collide ops that are parties of the violation."""
    assert exhibit.finding is not None
    violation = exhibit.finding.violation
    assert violation.witness is not None
    assert violation.witness.steps
    assert violation.witness.collision
    assert {step.op for step in violation.witness.collision} <= {party.op for party in violation.parties}


@each
def test_right_program_is_accepted(exhibit: Exhibit) -> None:
    """It is proved for every trip count."""
    report = exhibit.report_on_good
    assert report.verdict is Verdict.SAFE, str(report)
    assert report.holds_for_every_trip_count, str(report)


@each
def test_twins_differ_by_little(exhibit: Exhibit) -> None:
    lines = list(difflib.unified_diff(code(exhibit.bad), code(exhibit.good), n=0, lineterm=""))[2:]
    changed = [line for line in lines if not line.startswith("@@")]
    assert 0 < len(changed) <= MOST_LINES, changed


def test_every_right_program_has_its_wrong_twin() -> None:
    folder = Path(command.__file__).parent
    files = {path.name for suffix in (IR, PTX, TTGIR) for path in folder.glob(f"*{suffix}")}
    shown = {path.name for exhibit in EXHIBITS for path in (exhibit.bad, exhibit.good)}
    beside = {Path(name).with_suffix(TTGIR).name for name in shown}
    assert shown <= files <= shown | beside


def test_every_kind_is_on_show() -> None:
    assert {exhibit.kind for exhibit in EXHIBITS} == {str(kind) for kind in ViolationKind}


def test_relaxed_proxy_is_told_where_it_makes_a_warning() -> None:
    """It is about reads before asynchronous writes; an ordinary write before an asynchronous read needs its fence."""
    told = {exhibit.name for exhibit in EXHIBITS if exhibit.report_under_relaxed_proxy is not None}
    assert {"read-then-refilled", "refill-without-fence"} <= told
    assert "quantize-then-tma" not in told
    for exhibit in EXHIBITS:
        report = exhibit.report_under_relaxed_proxy
        assert report is None or report.verdict is Verdict.SAFE, exhibit.name


@pytest.mark.parametrize("level", ["tokens", "queue", "marks", "nv_tileas pipelines", "nvvm mbarriers"])
def test_every_level_is_on_show(level: str) -> None:
    assert any(level in exhibit.level for exhibit in EXHIBITS)


@pytest.mark.parametrize("ask", PUBLISHED)
def test_every_published_failure_is_on_show(ask: str) -> None:
    mirrored = ", ".join(exhibit.mirrors for exhibit in EXHIBITS).split(", ")
    assert [issue for issue in PUBLISHED[ask] if issue not in mirrored] == []


def test_stuck_programs_are_called_stuck() -> None:
    """Deadlocks, and mistakes in a phase that show as one."""
    for exhibit in EXHIBITS:
        assert exhibit.finding is not None
        violation = exhibit.finding.violation
        shows_as = violation.symptom or violation.kind
        # What the manual leaves undefined ends an execution as well, and so does a barrier whose block has ended.
        ends = (ViolationKind.DEADLOCK, ViolationKind.MALFORMED)
        is_gone = shows_as is ViolationKind.ABSENT and violation.message.startswith("mbarrier")
        assert violation.stuck == (shows_as in ends or is_gone), exhibit.name


# The command ----------------------------------------------------------------------------------------------------------


def test_command_prints_a_row_a_pair(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = [exhibit for exhibit in EXHIBITS if exhibit.name in ("commit-after-wait", "init-not-fenced")]
    monkeypatch.setattr(command, "all_exhibits", lambda: found)
    monkeypatch.setattr("sys.argv", ["zoo"])
    assert command.main() == 0
    printed = capsys.readouterr().out
    lines = found[0].bad.read_text().splitlines()
    load = next(number for number, line in enumerate(lines, 1) if "= llvm.load" in line)
    for text in ("commit-after-wait", "race", f"{load} llvm.load", "missing-fence", "2 pairs, 2 as expected"):
        assert text in printed


def test_command_fails_on_another_kind_than_expected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = next(exhibit for exhibit in EXHIBITS if exhibit.name == "commit-after-wait")
    changed = tmp_path / source.bad.name
    changed.write_text(source.bad.read_text().replace("// kind: race", "// kind: slot"))
    monkeypatch.setattr(command, "all_exhibits", lambda: [read_exhibit(changed)])
    monkeypatch.setattr("sys.argv", ["zoo"])
    assert command.main() == 1
    assert "race (expected slot)" in capsys.readouterr().out


@pytest.mark.parametrize("field", FIELDS)
def test_header_without_a_field_is_refused(field: str, tmp_path: Path) -> None:
    text = EXHIBITS[0].bad.read_text().replace(f"// {field}: ", "// ")
    path = tmp_path / f"short.bad{IR}"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"says nothing of {field}"):
        read_exhibit(path)
