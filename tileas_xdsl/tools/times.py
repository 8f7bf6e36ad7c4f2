"""
The target of simulated time on the command line, and its numbers as tables for people.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xdsl.ir import Operation

from tileas_xdsl.machine.time.simulation import TimedRun
from tileas_xdsl.targets.cycles import TARGETS, timing_table
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.rendering import FAINT, LABEL, Line

MOST_STALLS = 12
"""The number of stalls that the text shows, longest first; JSON has all of them."""


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        metavar="T",
        help=f"whose cycles count: {', '.join(TARGETS)} (default: what the IR says it is compiled for, else generic)",
    )


def chosen_target(arguments: argparse.Namespace) -> str | None:
    """What `--target` says. Raises `InputError` for a target of which no cycles are known."""
    if arguments.target is None:
        return None
    try:
        timing_table(arguments.target)
    except ValueError as error:
        raise InputError([f"error: --target: {error}"]) from None
    return arguments.target


def stated_target(function: Operation) -> str:
    """The target that the IR around `function` says it is compiled for; `generic` where nothing says, or older ones."""
    from tileas_xdsl.dialects.nv_tileaa.attributes import compute_capability_of

    capability = compute_capability_of(function)
    target = f"sm_{capability}"
    try:
        timing_table(target)
    except ValueError:
        return "generic"
    return target


def timing_lines(run: TimedRun) -> list[Line]:
    """Cycles in all and per iteration, then a table each of engines, agents and stalls."""
    lines: list[Line] = [[(f"{run.cycles:,} cycles", "bold"), (f" on {run.target}", "")]]
    lines += _table(
        ["loop", "agent", "iterations", "cycles", "cycles per iteration"],
        [[t.place, t.agent, f"{t.iterations:,}", f"{t.cycles:,}", f"{t.steady:,.0f}"] for t in run.loops],
    )
    lines += _table(
        ["engine", "turns", "bytes", "busy cycles", "utilisation"],
        [[e.name, f"{e.turns:,}", f"{e.size:,}", f"{e.busy:,}", f"{e.share(run.cycles):.0%}"] for e in run.engines],
    )
    lines += _table(
        ["agent", "working", "being served", "stalled"],
        [[use.name, *_shares((use.working, use.served, use.stalled), run.cycles)] for use in run.agents],
    )
    lines += _table(
        ["stalls at", "agent", "for", "times", "cycles"],
        [[s.place, s.agent, s.on, f"{s.times:,}", f"{s.cycles:,}"] for s in run.stalls[:MOST_STALLS]],
    )
    rest = run.stalls[MOST_STALLS:]
    if rest:
        lines.append([(f"{len(rest)} more stalls, {sum(s.cycles for s in rest):,} cycles", FAINT)])
    return lines


def _shares(cycles: Sequence[int], whole: int) -> list[str]:
    return [f"{part:,} ({part / whole:.0%})" if whole else "0" for part in cycles]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """An empty line, headings and rows in columns, numbers to the right; nothing without rows."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    numeric = [all(row[i][:1].isdigit() for row in rows) for i in range(len(headings))]

    def line(cells: Sequence[str], style: str) -> Line:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ]
        return [("  ".join(padded).rstrip(), style)]

    return [[], line(headings, LABEL), *(line(row, "") for row in rows)]
