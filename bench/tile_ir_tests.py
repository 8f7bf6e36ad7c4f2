"""
The public tests of the dialect `cuda_tile`: `python -m bench.tile_ir_tests FOLDER [--rows FILE] [--json FILE]`.

FOLDER is a copy of the folder `test` of NVIDIA/cuda-tile. Its files are cut at `// -----`, as `mlir-opt` does with
`-split-input-file`. A part that expects an error has to be refused, and another one to be read, printed and read
again. The functions with arguments of any type that only these tests have (`testing$func`) are read as entries whose
arguments an unknown op makes.

    read        and printed, and that reads as the same
    refused     it expects an error, at the line where we see one too, or anywhere where it names no line
    elsewhere   it expects an error, and we see one at another line
    accepted    it expects an error, and we see none
    not read    it expects none, and we see one
    changed     it is printed as something else

No text of theirs is kept: what is written is counts, and our own messages.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.printer import Printer

from bench.public_tests import add_output, counted, outcomes_of, parts_of, write_output
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import full_context, parse_module

FOLDERS = ("Dialect/CudaTile", "Bytecode")
SPLIT = re.compile(r"^[ \t]*// -----.*$", re.MULTILINE)
FUNCTION = re.compile(r"(?:cuda_tile\.)?testing\$func\s+(@[\w$.]+)\s*\(([^{]*?)\)\s*(?:->\s*[^{]*?)?\{", re.DOTALL)
RETURN = re.compile(r"\breturn %[^\n]*")
ARGUMENT = re.compile(r"(%\w+)\s*:\s*((?:[^,<>()]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+)")
EXPECTED = re.compile(r"expected-error(?:-re)?\s*(?:@(below|above|([+-]\d+)))?")
CHECKED = re.compile(r"^// CHECK: (invalid|expected|struct is missing|Global variables must not)", re.MULTILINE)
"""Matches an error that a test expects without saying where."""
PLACE = re.compile(r":(\d+):\d+: error: (.*)")
NAMES = re.compile(r"'[^']*'|%[\w#]+|@[\w.$]+|-?\b\d+\b|\[[^\]]*\]|![\w.<>,= \[\]?-]+")
"""Matches what differs between two messages of one reason."""


@dataclass(frozen=True)
class Row:
    """What became of one part of a file."""

    file: str
    line: int
    outcome: str
    reason: str


def rows(folder: Path) -> Iterator[Row]:
    """A row for each part of each file."""
    for file in sorted(each for name in FOLDERS for each in (folder / name).rglob("*.mlir")):
        for before, part in parts_of(file.read_text(), SPLIT):
            if re.search(r"^\s*[^/\s]", part, re.MULTILINE):
                outcome, reason = judged(part)
                yield Row(str(file.relative_to(folder)), before + 1, outcome, reason)


def judged(part: str) -> tuple[str, str]:
    """What became of one part, and our message."""
    expected = [_line_of(part, found) for found in EXPECTED.finditer(part)]
    is_invalid = not expected and CHECKED.search(part) is not None
    try:
        printed = _printed(_as_entries(part))
        again = _printed(printed) if not expected else printed
    except InputError as error:
        found = PLACE.search(str(error.messages[0]))
        line, reason = (int(found[1]), found[2]) if found else (0, str(error.messages[0]))
        if not expected and not is_invalid:
            return "not read", NAMES.sub("..", reason)
        return "refused" if is_invalid or line in expected else "elsewhere", NAMES.sub("..", reason)
    if expected or is_invalid:
        return "accepted", ""
    return ("read" if again == printed else "changed"), ""


def _line_of(part: str, found: re.Match[str]) -> int:
    """The line of the part at which an error is expected."""
    line = part.count("\n", 0, found.start()) + 1
    if found[2]:
        return line + int(found[2])
    if found[1] == "above":
        return line - 1
    if found[1] == "below":
        rest = part.splitlines()[line:]
        return line + 1 + next((k for k, text in enumerate(rest) if text.strip() and not _is_comment(text)), 0)
    return line


def _is_comment(text: str) -> bool:
    return text.lstrip().startswith("//")


def _as_entries(part: str) -> str:
    """The text with entries in the place of functions that only tests have; each line stays where it is."""

    def entry(found: re.Match[str]) -> str:
        made = "".join(f' {name} = "tests.make"() : () -> ({kind.strip()})' for name, kind in _arguments(found[2]))
        return f"cuda_tile.entry {found[1]}() {{{made}" + "\n" * found[0].count("\n")

    entries = FUNCTION.sub(entry, part)
    return entries if entries == part else RETURN.sub("return", entries)


def _arguments(text: str) -> list[tuple[str, str]]:
    without = re.sub(r"//[^\n]*", "", text)
    return [(name, kind if kind.startswith("!") else f"!cuda_tile.{kind}") for name, kind in ARGUMENT.findall(without)]


def _printed(text: str) -> str:
    module = parse_module(text, "part.mlir", full_context(allow_unregistered=True))
    stream = StringIO()
    Printer(stream=stream).print_op(module)
    return stream.getvalue()


def table_of(found: list[Row]) -> dict[str, Any]:
    """The counts, by file and in all, and our reasons where something is otherwise than the tests expect."""
    by_file: dict[str, Counter[str]] = {}
    for row in found:
        by_file.setdefault(row.file, Counter())[row.outcome] += 1
    reasons = {
        outcome: counted(row.reason for row in found if row.outcome == outcome) for outcome in ("elsewhere", "not read")
    }
    return {"parts": len(found), "outcomes": outcomes_of(found), "files": by_file, "reasons": reasons}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("folder", type=Path)
    add_output(parser)
    arguments = parser.parse_args()
    found = list(rows(arguments.folder))
    table = table_of(found)
    write_output(arguments, found, table)
    print(json.dumps(table["outcomes"]))


if __name__ == "__main__":
    main()
