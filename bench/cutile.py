"""
Kernels in cuTile Python (`tests/cutile/written/`), stage by stage: read, written back byte for byte, run as Tile IR and
as tile programs against numpy, checked, compiled for two chips, and run as the threads of these.

Each kernel is a process of its own with a limit, so that one which takes too long costs no other:

    python -m bench cutile                     all kernels
    python -m bench.cutile softmax attention   some; --step compile: one step
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.cutile.launches import CASES, Case
from tests.cutile.running import converted, names_of, path_of, ran, tile_ir, wrong, wrong_threads
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.readers.tile_ir import read, write
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.main import main as tileas
from tileas_xdsl.tools.python.cutile import bytecode_of_kernel

TARGETS = ("sm_90a", "sm_80")
LIMIT = 60
"""Seconds of processor time of one step of a kernel."""
CHECKED = 10
"""Seconds of processor time of a check."""

Row = dict[str, Any]


def read_back(case: Case) -> Row:
    """Whether the bytecode is read, and written back identically."""
    data = bytecode_of_kernel(path_of(case))
    return {"read": "same" if write(read(data)) == data else "read, and differs"}


def _numbers(case: Case, make: Callable[[str], Any], orders: Sequence[str]) -> str:
    module, names = make(path_of(case, aligned=False)), names_of(case)
    for size in case.sizes:
        launch = case.launch(size)
        for order in orders:
            found = wrong(ran(module, launch, names, order=order), launch, names)
            if found:
                return f"{size} {order}: {found[0]}"[:300]
    return "right"


def as_tile_ir(case: Case) -> Row:
    """Whether Tile IR gives numpy's numbers, with its blocks in order and shuffled."""
    return {"tile ir": _numbers(case, tile_ir, ("lazy", "random"))}


def as_tiles(case: Case) -> Row:
    """Whether the tile program gives numpy's numbers, with its blocks in order and shuffled."""
    return {"tiles": _numbers(case, converted, ("lazy", "random"))}


def _as_threads(case: Case, target: str) -> Row:
    """Whether threads give numpy's numbers: sizes that launches promise to be aligned, and others."""
    start, said = time.process_time(), "right"
    for size in case.sizes:
        found = wrong_threads(case, size, target)
        if found:
            said = f"{size}: {found[0]}"[:300]
            break
    return {f"threads {target}": said, f"threads {target} s": round(time.process_time() - start, 1)}


def as_threads_of_hopper(case: Case) -> Row:
    return _as_threads(case, "sm_90a")


def as_threads_of_ampere(case: Case) -> Row:
    return _as_threads(case, "sm_80")


def judged(case: Case) -> Row:
    """The verdict on the tile program."""
    start = time.process_time()
    report = check(converted(path_of(case)), judge_waits=False, timeout=LIMIT)
    reasons = [*report.findings, *report.undecided, *report.unexplored, *report.bounded, *report.cut_short]
    said = report.verdict_line.partition(";")[0]
    verdict = said if report.verdict.value == "safe" else f"{said}: {reasons[0] if reasons else ''}"[:300]
    return {"verdict": verdict, "check s": round(time.process_time() - start, 1)}


def _short(text: str) -> str:
    """What is said, without the folder of the place."""
    return re.sub(r"^\S*?(\w+\.py:\d+)", r"\1", text)[:300]


def compiled(case: Case, target: str) -> Row:
    """Registers and spills, through the command."""
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "f.cubin"
        said = StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            status = tileas(["compile", path_of(case), "--target", target, "--no-check", "-o", str(out)])
        seconds = round(time.process_time() - start, 1)
        if status:
            lines = [line for line in said.getvalue().splitlines() if "error" in line] or [said.getvalue()]
            return {target: _short(lines[0]), f"{target} s": seconds}
        (kernel,) = json.loads(out.with_suffix(".json").read_text())["kernels"]
    spilled = f", {kernel['spill_bytes']} bytes spilled" if kernel["spill_bytes"] else ""
    return {target: f"{kernel['registers']} registers{spilled}", f"{target} s": seconds}


def compiled_for_hopper(case: Case) -> Row:
    return compiled(case, "sm_90a")


def compiled_for_ampere(case: Case) -> Row:
    return compiled(case, "sm_80")


STEPS: dict[str, Callable[[Case], Row]] = {
    "read": read_back,
    "tile-ir": as_tile_ir,
    "tiles": as_tiles,
    "check": judged,
    "sm_90a": compiled_for_hopper,
    "sm_80": compiled_for_ampere,
    "threads-sm_90a": as_threads_of_hopper,
    "threads-sm_80": as_threads_of_ampere,
}
COLUMNS = {
    "read": "read",
    "tile-ir": "tile ir",
    "tiles": "tiles",
    "check": "verdict",
    "threads-sm_90a": "threads sm_90a",
    "threads-sm_80": "threads sm_80",
}
"""Step -> the column that says why it came to no end; others are columns themselves."""


def _work(step: str, case: Case, out: Connection) -> None:
    """What a child does: send a row."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    column = COLUMNS.get(step, step)
    try:
        out.send(STEPS[step](case))
    except RefusedError as error:
        out.send({column: f"refused: {_short(str(error))}"})
    except InputError as error:
        out.send({column: f"input: {error.messages[0]}"[:300]})
    except BaseException as error:
        out.send({column: f"ended: {type(error).__name__}: {error}"[:300]})


def row_of(case: Case, steps: Iterable[str] = tuple(STEPS)) -> Row:
    """What the steps say of a kernel."""
    row: Row = {"kernel": case.name}
    context = get_context("fork")
    for step in steps:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(step, case, sender))
        child.start()
        sender.close()
        found: Row = {COLUMNS.get(step, step): "no time left"}
        with suppress(EOFError):
            found = receiver.recv()
        child.join()
        row |= found
    return row


def measure(names: Iterable[str] = (), steps: Iterable[str] = tuple(STEPS)) -> Iterator[Row]:
    """A row for each kernel."""
    steps = list(steps)
    for name in list(names) or list(CASES):
        yield row_of(CASES[name], steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="KERNEL", help="default: all")
    parser.add_argument("--step", action="append", choices=STEPS, help="default: all")
    arguments = parser.parse_args()
    for row in measure(arguments.names, arguments.step or STEPS):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
