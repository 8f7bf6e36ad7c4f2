"""
All verdicts, one a line: `python -m bench.verdicts [FOLDER ...] [--beside N]`.

FOLDERs are those of the examples, the zoo and the kernels, unless others are named. A line has the program, the last
line of its report, what was found and where, what is undecided and how many warnings there are. Nothing in it depends
on the computer or on what else runs there, which `--beside` shows: N processes keep it busy meanwhile.

    python -m bench.verdicts > alone
    python -m bench.verdicts --beside 2 | diff alone -
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.machine_input import machine_errors
from tileas_xdsl.tools.rendering import Source

ROOT = Path(__file__).parent.parent
FOLDERS = ("examples", "examples/gluon", "examples/zoo", "tests/kernels", "tests/kernels/queues", "tests/triton/ttgir")
ENDINGS = (".mlir", ".ttgir")


def line_of(report: Report) -> str:
    """What the report of a program says, without numbers of executions or steps."""
    found = [f"{each.violation.kind} at {each.violation.parties[0].place} {each.call}" for each in report.findings]
    return " | ".join([report.last_line, *found, *report.undecided, f"{len(report.warnings)} warnings"])


def verdict_on(path: Path) -> str:
    """The line of one program; of one that is refused, the message."""
    name, text = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path), path.read_text()
    try:
        module = parse_module(text, name, full_context())
        with machine_errors(Source(name, text)):
            return f"{name}: {line_of(check(module))}"
    except (InputError, ArgumentError) as error:
        return f"{name}: refused: {str(error).splitlines()[0]}"


def programs_in(folders: Sequence[Path]) -> Iterator[Path]:
    """The programs that lie in `folders`, in the order of their names."""
    for folder in folders:
        yield from sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(processes: int) -> Generator[None]:
    """So many processes compute something else meanwhile."""
    others = [get_context("spawn").Process(target=_spin, daemon=True) for _ in range(processes)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the verdicts of all programs.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="keep N processes busy meanwhile")
    arguments = parser.parse_args()
    with busy(arguments.beside):
        for path in programs_in(arguments.folders or [ROOT / folder for folder in FOLDERS]):
            print(verdict_on(path), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
