"""
What a check takes here and in another checkout: `python -m bench.check_time --against PATH [FOLDER]...`.

The programs are those of FOLDER (default: the examples, the zoo, and the kernels of Triton's tests), `.mlir` and
`.ttgir`; `python -m bench.others DIRECTORY --texts FOLDER` writes kernels of other people. Each checkout checks all of
them in a process of its own, with its own environment if it has one (`.venv`), in turns with the other: in seconds of
processor time without the start. The least of some rounds counts. The table has the programs that have changed most,
those with another verdict, and for each folder the sums and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]
FOLDERS = ("examples", "examples/zoo", "tests/triton/ttgir")
SUFFIXES = (".mlir", ".ttgir")
ROUNDS = 3
MOST_SHOWN = 10

WORKER = """
import json, sys
from pathlib import Path
from time import process_time
from tileas_xdsl.front_door import check, parse

timeout, *files = sys.argv[1:]
for file in ["warm", *files]:
    began = process_time()
    try:
        report = check(parse(Path(files[0] if file == "warm" else file)), timeout=float(timeout))
        verdict = report.verdict_line
    except Exception as error:
        verdict = f"{type(error).__name__}: {error}"
    if file != "warm":
        print(json.dumps([file, process_time() - began, verdict]), flush=True)
"""


@dataclass(frozen=True)
class Time:
    """What the check of one program took, in seconds of processor time, and its last line."""

    seconds: float
    verdict: str


def programs(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]


def times(checkout: Path, files: Sequence[str], timeout: float) -> dict[str, Time]:
    """File -> what its check takes in `checkout`."""
    own = checkout / ".venv" / "bin" / "python"
    command = [str(own) if own.exists() else sys.executable, "-c", WORKER, str(timeout), *files]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    rows = map(json.loads, done.stdout.splitlines())
    return {file: Time(seconds, verdict) for file, seconds, verdict in rows}


def least(one: Mapping[str, Time], other: Mapping[str, Time]) -> dict[str, Time]:
    return {file: min(one.get(file, time), time, key=lambda each: each.seconds) for file, time in other.items()}


def compared(folder: Path, against: Path, rounds: int, timeout: float) -> tuple[dict[str, Time], dict[str, Time]]:
    """The times here and there. Who begins changes from round to round."""
    files = programs(folder)
    here: dict[str, Time] = {}
    there: dict[str, Time] = {}
    for number in range(rounds):
        for is_here in (number % 2 == 0, number % 2 == 1):
            if is_here:
                here = least(here, times(HERE, files, timeout))
            else:
                there = least(there, times(against, files, timeout))
    return here, there


def show(folder: Path, here: Mapping[str, Time], there: Mapping[str, Time]) -> None:
    sums = [sum(time.seconds for time in side.values()) for side in (here, there)]
    print(f"{folder}: {len(here)} programs, {sums[0]:.2f} s here, {sums[1]:.2f} s there, ratio {sums[0] / sums[1]:.3f}")
    changed = sorted(here, key=lambda file: abs(here[file].seconds - there[file].seconds), reverse=True)
    for file in changed[:MOST_SHOWN]:
        print(f"  {Path(file).name:48s} {here[file].seconds:8.3f} {there[file].seconds:8.3f}")
    for file in here:
        if here[file].verdict != there[file].verdict:
            print(f"  {Path(file).name}: {here[file].verdict}\n    there: {there[file].verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE / folder for folder in FOLDERS])
    parser.add_argument("--against", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--timeout", type=float, default=15.0, help="of one check, in seconds of processor time")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        against = arguments.against.resolve()
        show(folder, *compared(folder.resolve(), against, arguments.rounds, arguments.timeout))


if __name__ == "__main__":
    main()
