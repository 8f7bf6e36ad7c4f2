"""What tables of other people's tests have in common: parts of files, counts of outcomes and reasons, and output."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol


class Row(Protocol):
    """What became of a part of a file."""

    @property
    def outcome(self) -> str:
        """A word."""
        ...

    @property
    def reason(self) -> str:
        """Why; empty where there is nothing to be said."""
        ...


def parts_of(text: str, split: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The parts of a file between lines that `split` matches: the number of lines in front, and the text."""
    begin = 0
    for found in [*split.finditer(text), None]:
        end = len(text) if found is None else found.start()
        yield text.count("\n", 0, begin), text[begin:end]
        begin = end if found is None else found.end()


def counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word is there, the most frequent first."""
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))


def outcomes_of(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each outcome."""
    return counted(row.outcome for row in rows)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where rows and table go."""
    parser.add_argument("--json", type=Path, help="write outcomes and reasons to this file")
    parser.add_argument("--rows", type=Path, help="write what became of each part to this file, a line each")


def write_output(arguments: argparse.Namespace, rows: Sequence[Any], table: dict[str, Any]) -> None:
    """Write what was asked for: the table, and the rows, which are dataclasses."""
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(table, indent=1) + "\n")
    if arguments.rows is not None:
        arguments.rows.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows))
