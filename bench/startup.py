"""
What the plug-in costs `xdsl-opt --version`, over 20 runs each.

xDSL finds plug-ins through `importlib.metadata.entry_points`, and imports all of them at every start. Both variants are
the same process: the same interpreter with the same `-c` program that replaces `entry_points` by a filter and then
calls `xdsl-opt`'s main. *With* lets every plug-in through; *without* leaves ours out (xDSL's own universe is an entry
point as well and stays). So the ratio holds the price of importing `tileas_xdsl.universe` and registering our names,
and nothing else. The variants alternate, so that a slow phase of the machine hits both: the ratio is that of the
medians, the added milliseconds are the median of the differences within a pair of runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

RUNS = 20

PROGRAM = """
import importlib.metadata as metadata
import sys
found = metadata.entry_points
metadata.entry_points = lambda **wanted: [plugin for plugin in found(**wanted) if {keep}]
sys.argv = ["xdsl-opt", "--version"]
from xdsl.tools.xdsl_opt import main
main()
"""

VARIANTS = {
    "without the plug-in": PROGRAM.format(keep="plugin.name != 'tileas_xdsl'"),
    "with the plug-in": PROGRAM.format(keep="True"),
}


def seconds(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure() -> list[dict[str, Any]]:
    """One row a variant: median and least time, the ratio to the start without us, and what we add, in milliseconds."""
    for program in VARIANTS.values():
        seconds(program)  # fills the caches of bytecode and of the file system
    times: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(RUNS):
        for variant, program in VARIANTS.items():
            times[variant].append(seconds(program))
    base = statistics.median(times["without the plug-in"])
    pairs = zip(times["with the plug-in"], times["without the plug-in"], strict=True)
    added = statistics.median(slower - faster for slower, faster in pairs)
    return [
        {
            "start": variant,
            "runs": RUNS,
            "median ms": 1000 * statistics.median(taken),
            "least ms": 1000 * min(taken),
            "ratio": statistics.median(taken) / base,
            "added ms": 1000 * added if variant == "with the plug-in" else None,
        }
        for variant, taken in times.items()
    ]
