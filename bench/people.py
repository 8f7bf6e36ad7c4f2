"""
Kernels as people write them (`tests/kernels/people/`), down to machine code: for each variant the registers and spills
of its cubin, what the check of its threads says within a minute, and its numbers beside those of the tiles.

Each step of each variant is a process of its own with a limit, so that one which takes too long costs no other:

    python -m bench.people                          every variant, every step
    python -m bench.people --step check top_k       one step of one kernel
    python -m bench.people --table FILE...          the table of the tests from rows that were measured before
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.support.ir import ROOT, parse
from tests.support.threads_and_tiles import CLOSE, EXTENT, ORDERS, SECONDS, VARIANTS, lowered
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import run
from tileas_xdsl.tools.machine_code.validation import differences, handed_over, made_up
from tileas_xdsl.tools.main import main as tileas

KERNELS = ROOT / "tests" / "kernels" / "people"
NAMES = sorted(path.stem for path in KERNELS.glob("*.mlir"))
COUNTS = (0, 1, 2, 3, 4, 5)
"""Trips of the numbers."""
LIMIT = 90
"""Seconds of processor time of one step of one variant."""

Row = dict[str, Any]


# The steps ------------------------------------------------------------------------------------------------------------


def compiled(name: str, variant: str) -> Iterator[Row]:
    """Registers and spills, through the command; for what is before sm_90a, of the cubin of that chip."""
    target, strategy = variant.split()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "f.cubin"
        options = ["--target", target, "--strategy", strategy, "--no-check", "-o", str(out)]
        command = ["compile", str(KERNELS / f"{name}.mlir"), *options]
        wrong = StringIO()
        with redirect_stdout(StringIO()), redirect_stderr(wrong):
            status = tileas(command)
        if status:
            yield {"compiled": False, "why": wrong.getvalue().strip()[-300:]}
            return
        (kernel,) = json.loads(out.with_suffix(".json").read_text())["kernels"]
    keys = ("block", "registers", "spill_bytes", "stack_bytes", "serialized_products")
    yield {"compiled": True} | {key: kernel[key] for key in keys}


def judged(name: str, variant: str) -> Iterator[Row]:
    """The verdict on the threads, and the seconds of processor time that it took."""
    module = lowered((KERNELS / f"{name}.mlir").read_text(), variant)
    start = time.process_time()
    report = check(module, judge_waits=False, timeout=SECONDS)
    seconds = time.process_time() - start
    reasons = [*report.undecided, *report.unexplored, *report.bounded, *report.cut_short]
    yield {
        "verdict": report.verdict_line.partition(";")[0],
        "proved": report.is_proved and report.verdict.value == "safe",
        "seconds": round(seconds, 1),
        "findings": [str(finding.violation)[:300] for finding in report.findings[:1]],
        "reasons": [str(reason)[:300] for reason in reasons[:3]],
    }


def numbered(name: str, variant: str) -> Iterator[Row]:
    """A row for each trip count and order: what is wrong with the numbers."""
    text = (KERNELS / f"{name}.mlir").read_text()
    tiles, threads = parse(text), lowered(text, variant)
    (_, source), (_, code) = (find_function(module, "f") for module in (tiles, threads))
    for trips in (3, *(count for count in COUNTS if count != 3)):
        given = made_up(source, trips, extent=EXTENT, first_coordinate=-2)
        expected = run(tiles, "f", handed_over(given, source))
        for order in ORDERS:
            start = time.process_time()
            found = run(threads, "f", handed_over(given, code), order=order, seed=trips)
            wrong = [*map(str, expected.violations), *differences(expected, found, CLOSE)]
            seconds = round(time.process_time() - start, 1)
            yield {"trips": trips, "order": order, "wrong": wrong[:1], "seconds": seconds}


STEPS: dict[str, Callable[[str, str], Iterator[Row]]] = {"compile": compiled, "check": judged, "numbers": numbered}


# Processes ------------------------------------------------------------------------------------------------------------


def work(case: tuple[str, str, str], out: Connection) -> None:
    """What a child does: send each row."""
    step, name, variant = case
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    try:
        for row in STEPS[step](name, variant):
            out.send(row)
    except RefusedError as error:
        out.send({"refused": str(error)[:300]})
    except Exception as error:  # a defect of one variant, which the table shows
        out.send({"ended": f"{type(error).__name__}: {error}"[:300]})


def rows_of(step: str, name: str, variant: str) -> Iterator[Row]:
    """The rows of a child; the last says so if it came to no end."""
    of = {"step": step, "kernel": name, "variant": variant}
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=work, args=((step, name, variant), sender))
    child.start()
    sender.close()
    with suppress(EOFError):
        while True:
            yield of | receiver.recv()
    child.join()
    if child.exitcode:
        yield of | {"ended": f"status {child.exitcode}: no time left"}


def measure(
    names: Iterable[str] = NAMES, steps: Iterable[str] = tuple(STEPS), variants: Sequence[str] = VARIANTS
) -> Iterator[Row]:
    """The rows of all steps, one step of all variants behind the other."""
    names = list(names)
    for step, variant, name in product(steps, variants, names):
        yield from rows_of(step, name, variant)


# The table of the tests -----------------------------------------------------------------------------------------------


def table(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Kernel -> variant -> `proved`, or `compiled`: of the last rows of each."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        if row["step"] == "check" and "verdict" in row:
            found[row["kernel"], row["variant"]] = "proved" if row["proved"] else "compiled"
    return {name: {variant: found.get((name, variant), "compiled") for variant in VARIANTS} for name in NAMES}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--step", action="append", choices=STEPS, help="default: all")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="default: all")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="the table of rows in files")
    arguments = parser.parse_args()
    if arguments.table:
        lines = [line for file in arguments.table for line in file.read_text().splitlines()]
        print(json.dumps(table(map(json.loads, lines)), indent=1))
        return
    for row in measure(arguments.names or NAMES, arguments.step or STEPS, arguments.variant or VARIANTS):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
