"""
Measure all that the folder holds on the GPU of this machine: `python run.py OUT`, at most 5 minutes.

First the numbers of each variant (`numbers/run_all.py`, several at once, since no time is taken), then the times
(`speed.py`, alone). Writes `people.json` and `speed.json` into OUT. Status 0: all numbers are right, and each program
that was timed computes what torch does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 290
FOR_NUMBERS = 110


def main() -> int:
    """The command."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OUT", ".")).resolve()
    out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    status = 0
    if (HERE / "numbers").exists():
        command = [sys.executable, str(HERE / "numbers" / "run_all.py"), "--out", str(out / "people.json")]
        status = ended(command, FOR_NUMBERS)
    left = SECONDS - (time.monotonic() - begun)
    ended([sys.executable, str(HERE / "speed.py"), str(out), "--seconds", f"{left - 15:.0f}"], left)
    rows = json.loads((out / "speed.json").read_text())["rows"]
    wrong = [row["program"] for row in rows if "wrong" in row]
    print(f"{len(wrong)} of {len(rows)} rows of wrong numbers{': ' + ', '.join(wrong) if wrong else ''}")
    return 1 if status or wrong else 0


def ended(command: list[str], seconds: float) -> int:
    """The status of a command that ends in time; 1 for one that does not."""
    try:
        return subprocess.run(command, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"{command[1]}: no end in {seconds:.0f} s", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
