"""
The processor time of each test, in seconds: `make durations` measures it and writes `tests/durations.json`.

A second of a quiet computer is a second of a busy one, so the numbers do not depend on what else runs. They count the
processes that a test starts. The file names the tests that take at least `LEAST`; all others are short.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
ASKED = "TILEAS_DURATIONS" in os.environ
LEAST = 1.0
BEGAN = pytest.StashKey[float]()


def processor_time() -> float:
    """Seconds of this process and of the processes that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def read() -> dict[str, float]:
    """Test -> seconds, for the tests that are not short."""
    return json.loads(FILE.read_text())["tests"] if FILE.exists() else {}


def write(taken: Mapping[str, float]) -> None:
    """Keep the long tests, and the sum of each file."""
    files = Counter[str]()
    for test, seconds in taken.items():
        files[test.partition("::")[0]] += seconds
    content = {
        "seconds in all": round(sum(taken.values())),
        "files": {file: round(seconds, 1) for file, seconds in files.most_common() if seconds >= LEAST},
        "tests": {
            test: round(seconds, 1)
            for test, seconds in sorted(taken.items(), key=lambda item: (-item[1], item[0]))
            if seconds >= LEAST
        },
    }
    Path(os.environ["TILEAS_DURATIONS"]).write_text(json.dumps(content, indent=1) + "\n")
