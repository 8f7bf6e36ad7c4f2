"""
How long the check of thread code takes, and what it says, for each variant of the kernels in `tests/kernels/`.

Each has a process of its own. Seconds are of its processor, and those of `check` alone; advice on waits is left out, as
`tileas compile` leaves it out. A check ends after `LIMIT` seconds, three times what `tileas compile` gives it.
`python -m bench.thread_checks VARIANT` measures one of them.
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

from tests.support.thread_kernels import threads_of
from tests.threads.test_synchronisation import TABLE
from tileas_xdsl.checker.verdict.checking import check

VARIANTS = tuple(json.loads(TABLE.read_text()))
"""Kernel, target and strategy."""
LIMIT = 60.0
"""Seconds of processor time for the check of one variant."""


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Check the threads of one kernel.")
    parser.add_argument("variant", help="kernel, target and strategy", choices=VARIANTS, metavar="VARIANT")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of processor time")
    arguments = parser.parse_args()
    print(json.dumps(checked(arguments.variant, arguments.limit)))


if __name__ == "__main__":
    main()
