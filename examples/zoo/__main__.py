"""
`make zoo`, or `python -m examples.zoo`: check every pair and print the table.

Status 1 when a wrong program is not rejected for the reason that its header gives, or a right one is not accepted.
With `--write-docs` the pages in `docs/zoo/` are written anew, too, if all is as expected.
"""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import FileLineColLoc

from examples.zoo.exhibits import Exhibit, all_exhibits
from examples.zoo.pages import write_pages
from tileas_xdsl.machine.core.violations import Party

WIDTH_IN_A_PIPE = 160


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.zoo", description="Check every pair of the bug zoo.")
    parser.add_argument("--write-docs", action="store_true", help="write docs/zoo/ anew")
    arguments = parser.parse_args()
    found = all_exhibits()
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_IN_A_PIPE)
    console.print(table(found))
    wrong = [exhibit.name for exhibit in found if not exhibit.is_as_expected]
    console.print(f"{len(found)} pairs, {len(found) - len(wrong)} as expected" + (f"; not: {wrong}" if wrong else ""))
    if wrong:
        return 1
    if arguments.write_docs:
        write_pages(found)
    return 0


def table(found: list[Exhibit]) -> Table:
    """One row a pair: what the checker finds in the wrong program, between which ops, and what it says of the other."""
    result = Table(header_style="bold")
    for column in ("pair", "level", "bad", "between", "good"):
        result.add_column(column)
    for exhibit in found:
        finding = exhibit.finding
        parties = finding.violation.parties[:2] if finding is not None else ()
        agrees = exhibit.kind_found == exhibit.kind
        kind = exhibit.kind if agrees else f"{exhibit.kind_found} (expected {exhibit.kind})"
        safe = exhibit.report_on_good.verdict_line
        result.add_row(
            exhibit.name,
            exhibit.level,
            f"[{'green' if agrees else 'bold red'}]{kind}",
            "\n".join(map(place_and_name, parties)),
            f"[{'green' if safe.startswith('safe') else 'bold red'}]{safe}",
        )
    return result


def place_and_name(party: Party) -> str:
    """`33 nvvm.mbarrier.init`: the line and the op."""
    location = party.op.location
    line = location.line.data if isinstance(location, FileLineColLoc) else "?"
    return f"{line:>3} {party.op.name}"


if __name__ == "__main__":
    sys.exit(main())
