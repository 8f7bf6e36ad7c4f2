"""
The processor time of each test, in seconds: `make durations` measures it and writes `tests/durations.json`.

The numbers depend little on what else runs. They count the processes that a test starts. The file names the tests that
take at least `LEAST`, and what a member takes of a test whose members take at least `LEAST_FAMILY` together; all others
are short. `make test` chooses by it (`tests/support/families.py`).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
ASKED = "TILEAS_DURATIONS" in os.environ
LEAST = 1.0
LEAST_FAMILY = 0.25
BEGAN = pytest.StashKey[float]()


def processor_time() -> float:
    """Seconds of this process, of the processes that it has waited for, and of those that it has started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + of_children()


def of_children() -> float:
    """Seconds of living children, such as a server of commands, and of what those have waited for. Linux only."""
    with suppress(OSError):
        children = Path("/proc/thread-self/children").read_text().split()
        return sum(map(of_process, children)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def of_process(number: str) -> int:
    """Ticks of a process and of its children that have ended; 0 if it has ended itself."""
    with suppress(OSError):
        after_name = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, after_name[11:15]))
    return 0


def function_of(test: str) -> str:
    """The name of a test without its parameters."""
    return test.partition("[")[0]


def read() -> dict[str, dict[str, float]]:
    """`tests`: test -> seconds, for the long ones. `members`: test function -> seconds of one of its members."""
    return json.loads(FILE.read_text()) if FILE.exists() else {"tests": {}, "members": {}}


def write(taken: Mapping[str, float]) -> None:
    """Keep the long tests, and the sums of files and test functions."""
    files, functions = Counter[str](), Counter[str]()
    members = Counter(map(function_of, taken))
    for test, seconds in taken.items():
        files[test.partition("::")[0]] += seconds
        functions[function_of(test)] += seconds
    content = {
        "seconds in all": round(sum(taken.values())),
        "files": {file: round(seconds, 1) for file, seconds in files.most_common() if seconds >= LEAST},
        "members": {
            name: round(functions[name] / members[name], 3)
            for name in sorted(functions)
            if functions[name] >= LEAST_FAMILY
        },
        "tests": {
            test: round(seconds, 1)
            for test, seconds in sorted(taken.items(), key=lambda item: (-item[1], item[0]))
            if seconds >= LEAST
        },
    }
    Path(os.environ["TILEAS_DURATIONS"]).write_text(json.dumps(content, indent=1) + "\n")
