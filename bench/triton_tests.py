"""
Triton's own tests: `python -m bench.triton_tests FOLDER [--only TEXT] [--timeout S] [--json FILE] [--rows FILE]`.

FOLDER is a copy of the folder `test` of Triton's repository, or a part of it. Its files hold modules for Triton's
passes, before and after each. A file is cut at `// -----`, as `triton-opt -split-input-file` cuts it, or at
`//--- name`, as `split-file` does. Every function with a body is judged alone, with what it calls, within a time limit.
Ops of the tests alone (`"use"(%x)`) count as functions of their operands. The table says what became of the functions,
and why.

    safe          for every trip count
    some          safe for the trip counts that were tried
    undecided     with the reason
    reported      a race, a deadlock, ..
    refused       it is read, and something in it has no meaning here
    not read      the text does not parse or verify
    expected      not read or refused, and the test says itself that it is an error

No text of Triton's is kept: what is written is counts and reasons.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Operation

from bench.public_tests import add_output, counted, outcomes_of, parts_of, write_output
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import machine_errors
from tileas_xdsl.tools.rendering import Source

FOLDERS = ("Analysis", "TritonGPU", "TritonNvidiaGPU")
"""What is judged: the tests of passes on TTGIR. The others are about TTIR, or about what becomes of it in LLVM."""
SPLIT = re.compile(r"^[ \t]*//[ \t]?---+.*$", re.MULTILINE)
FUNCTION = re.compile(r"^[ \t]*tt\.func (?:public |private )?@(\"[^\"]*\"|[\w.$-]+)", re.MULTILINE)
EXPECTED = "expected-error"
PLACE = re.compile(r"^(?:[^\s:]*:\d+:\d+: )?error: ")
NAMES = re.compile(r"%[\w#]+|@[\w.$]+|\b\d+\b")
"""Matches what differs between two messages of one reason."""
FILE = re.compile(r"^(?:[^\s:]+\.mlir(?::\d+:\d+)?: )?(?:error: )?")
"""Matches the place in front of a reason."""
BEYOND = re.compile(r"cluster|two_ctas|multicast|several blocks|CTA|other block")
"""Matches the reasons that are about blocks that meet."""


@dataclass(frozen=True)
class Row:
    """What became of one function."""

    file: str
    function: str
    outcome: str
    reason: str
    seconds: float = 0.0


class TooLongError(Exception):
    """The time for one function was up, outside of what the checker itself watches."""


@contextmanager
def at_most(seconds: float) -> Generator[None]:
    """Raise `TooLongError` in what takes longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def chunks_of(path: Path) -> Iterator[str]:
    """The modules of a file, each with as many lines before it as in the file."""
    for before, chunk in parts_of(path.read_text(), SPLIT):
        if FUNCTION.search(chunk):
            yield "\n" * before + chunk


def judged(path: str, text: str, timeout: float) -> Iterator[Row]:
    """A row for each function of one chunk."""
    names = [match[1].strip('"') for match in FUNCTION.finditer(text)]
    refused = "expected" if EXPECTED in text else "refused"
    try:
        with at_most(10 * timeout):
            module = parse_module(text, path, full_context(allow_unregistered=True))
    except InputError as error:
        outcome = "expected" if EXPECTED in text else "not read"
        yield from (Row(path, name, outcome, reason_of(error)) for name in names)
        return
    except TooLongError:
        yield from (Row(path, name, "not read", "takes too long to read") for name in names)
        return
    except Exception as error:
        yield from (Row(path, name, "crashed", f"{type(error).__name__}: {error}") for name in names)
        return
    foreign = sorted({op.op_name.data for op in module.walk() if isinstance(op, UnregisteredOp)})
    for function in functions_in(module):
        name = function.properties["sym_name"]
        assert isinstance(name, StringAttr)
        began = time.process_time()
        try:
            with at_most(6 * timeout), machine_errors(Source(path, text)):
                around = function.parent_op()
                assert around is not None
                report = check(around, name.data, assume_pure=foreign, timeout=timeout, judge_waits=False)
                outcome, reason = outcome_of(report)
        except InputError as error:
            outcome, reason = refused, reason_of(error)
        except TooLongError:
            outcome, reason = "undecided", "takes too long"
        except Exception as error:
            outcome, reason = "crashed", f"{type(error).__name__}: {error}"
        yield Row(path, name.data, outcome, reason, round(time.process_time() - began, 2))


def functions_in(module: ModuleOp) -> Iterator[Operation]:
    """Every function of Triton's with a body."""
    for op in module.walk():
        if op.name == "tt.func" and op.regions[0].blocks:
            yield op


def outcome_of(report: Report) -> tuple[str, str]:
    """The outcome of a check that came to an end, and why it is no more."""
    if report.findings:
        violation = report.findings[0].violation
        return "reported", f"{violation.kind}: {violation.message}"
    if report.undecided:
        return "undecided", report.undecided[0]
    if report.is_proved and not report.only_tried:
        return "safe", ""
    return "some", "; ".join(report.bounds_that_matter) or report.last_line


def reason_of(error: InputError) -> str:
    """The message, without the place."""
    return PLACE.sub("", str(error).splitlines()[0])


def alike(reason: str) -> str:
    """`reason` with what differs from program to program taken out."""
    return NAMES.sub("..", FILE.sub("", reason))


def table_of(rows: list[Row]) -> dict[str, Any]:
    """What is kept: outcomes with their counts, and the reasons of each with theirs."""
    reasons = {
        outcome: counted(alike(row.reason) for row in rows if row.outcome == outcome and row.reason)
        for outcome in dict.fromkeys(row.outcome for row in rows)
    }
    return {
        "functions": len(rows),
        "outcomes": outcomes_of(rows),
        "refused for blocks that meet": sum(
            row.outcome == "refused" and BEYOND.search(row.reason) is not None for row in rows
        ),
        "reasons": reasons,
    }


OUTCOMES = {
    "safe": "safe for every trip count",
    "some": "safe for the trip counts that were tried",
    "undecided": "undecided",
    "reported": "a mistake is reported",
    "refused": "refused",
    "not read": "not read",
    "expected": "refused or not read, and the test says itself that it is an error",
    "crashed": "ended by a defect",
}
"""The outcomes, in the words of a page."""


def page_of(data: dict[str, Any]) -> str:
    """The table of a page: outcomes, how many functions have each, and the reason that most of them have."""
    lines = ["| outcome | functions | most often because |", "|---|---:|---|"]
    for outcome, words in OUTCOMES.items():
        reasons = data["reasons"].get(outcome, {})
        said = next(iter(reasons), "") if outcome in ("undecided", "reported", "refused", "not read") else ""
        shown = f"`{said}` ({reasons[said]})" if said else ""
        lines.append(f"| {words} | {data['outcomes'].get(outcome, 0):,} | {shown} |")
    return "\n".join(lines)


def files_in(folder: Path, only: str) -> list[Path]:
    """The files to judge: those of `FOLDERS`, or all where there are none of these."""
    roots = [folder / name for name in FOLDERS if (folder / name).is_dir()] or [folder]
    return [path for root in roots for path in sorted(root.rglob("*.mlir")) if only in str(path)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the functions of Triton's own tests.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="files with this in their path")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds of processor time for each function")
    add_output(parser)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for path in files_in(arguments.folder, arguments.only):
        for text in chunks_of(path):
            for row in judged(str(path.relative_to(arguments.folder)), text, arguments.timeout):
                rows.append(row)
                print(f"{row.outcome:9} {row.file} @{row.function} {row.seconds}s: {row.reason[:300]}", flush=True)
    table = table_of(rows)
    write_output(arguments, rows, table)
    print(page_of(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
