"""
How long the check of thread code takes, and what it says, for each variant of the kernels in `tests/kernels/`.

    python -m bench.thread_checks             the table, of what was measured
    python -m bench.thread_checks VARIANT     measure one of them

Each has a process of its own. Seconds are of its processor, and those of `check` alone; advice on waits is left out, as
`tileas compile` leaves it out. A check ends after `LIMIT` seconds, three times what `tileas compile` gives it.
In the table `15+ -> 2.6` says that the commit `BEFORE` had no proof in the seconds that it gave a check; some variants
were measured there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.ir import ROOT
from tests.support.thread_kernels import threads_of
from tests.threads.test_synchronisation import TABLE
from tileas_xdsl.checker.verdict.checking import check

VARIANTS = tuple(json.loads(TABLE.read_text()))
"""Kernel, target and strategy."""
LIMIT = 60.0
"""Seconds of processor time for the check of one variant."""
BEFORE = "2bd54a1"
"""The commit from which on the checks became faster."""
GIVEN_BEFORE = 15
"""Seconds of processor time that it gave a check."""
MEASURED = ROOT / "tests" / "threads" / "check_seconds.json"
"""Variant -> seconds `after`, and for some those `before`; None where there was no proof."""
ROWS = ("sm_80 unspecialize", "sm_80 warp-specialize", "sm_90a unspecialize", "sm_90a warp-specialize")


def checked(variant: str, limit: float = LIMIT) -> dict[str, Any]:
    """Seconds of one check, and the verdict without what it assumes."""
    name, target, strategy = variant.split()
    module = threads_of(name, strategy, target)
    start = time.process_time()
    report = check(module, judge_waits=False, timeout=limit)
    seconds = time.process_time() - start
    return {"variant": variant, "seconds": round(seconds, 1), "verdict": report.verdict_line.partition(";")[0]}


def measure(variants: Sequence[str] = VARIANTS) -> Iterator[dict[str, Any]]:
    """A row for each variant, each measured in a process of its own."""
    for variant in variants:
        command = [sys.executable, "-m", "bench.thread_checks", variant]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
        yield json.loads(done.stdout)


def lines() -> Iterator[str]:
    """The table: a line for each kernel, a cell for each target and strategy."""
    found: dict[str, dict[str, float | None]] = json.loads(MEASURED.read_text())
    yield f"{'seconds':25}" + "".join(f"{row:24}" for row in ROWS).rstrip()
    for name in dict.fromkeys(variant.split()[0] for variant in found):
        yield f"{name:25}" + "".join(f"{_cell(found.get(f'{name} {row}', {})):24}" for row in ROWS).rstrip()


def _cell(seconds: dict[str, float | None]) -> str:
    if "before" not in seconds:
        return str(seconds.get("after", ""))
    before = seconds["before"]
    return f"{f'{GIVEN_BEFORE}+' if before is None else before} -> {seconds['after']}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the threads of one kernel, or show what was measured.")
    variant = "kernel, target and strategy; default: the table"
    parser.add_argument("variant", nargs="?", help=variant, choices=VARIANTS, metavar="VARIANT")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of processor time")
    arguments = parser.parse_args()
    if arguments.variant is None:
        print("\n".join(lines()))
    else:
        print(json.dumps(checked(arguments.variant, arguments.limit)))


if __name__ == "__main__":
    main()
