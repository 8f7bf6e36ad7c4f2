"""
Cycles a turn of compiled kernels on a GPU, measured and foretold (`machine/warps/`), and rings under load.

The kernels were compiled by main 2bd54a1 and measured on an NVIDIA H200, one block alone with its arrays in the
second-level cache (`bench/gpu/results/`). Foretold is the code that ran, with what the assembler said of it. The
foretold numbers are kept beside the measured ones: `python -m bench.turns` computes them anew and writes them,
`python -m bench.turns --summary` says how near they are, `--plot OUT.svg` draws them.
"""

from __future__ import annotations

import argparse
import json
import math
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from tileas_xdsl.machine.warps.blocks import turn_cycles
from tileas_xdsl.scheduling.loaded_schedules import Ring, period_under_load
from tileas_xdsl.targets.measured.h200 import H200

RESULTS = Path(__file__).parent / "gpu" / "results"
FORETOLD = RESULTS / "turns_foretold.json"
CODE = RESULTS / "turns_code.tar.xz"
NESTS = frozenset({"rows_of_tiles"})
"""Kernels whose turn is a nest of loops: what was measured is no turn."""


@dataclass(frozen=True)
class Variant:
    """A kernel, compiled for a target by a strategy, and what it took."""

    kernel: str
    target: str
    strategy: str
    measured: float
    """Cycles a turn."""
    held_out: bool
    """Whether no constant was fitted to it."""

    @property
    def name(self) -> str:
        return f"{self.kernel}.{self.target}.{self.strategy}"


def variants() -> list[Variant]:
    """Every variant that was measured, nests left out."""
    held_out = set((RESULTS / "held_out.txt").read_text().split())
    rows = json.loads((RESULTS / "turns_h200.json").read_text())["turns"]
    return [
        Variant(
            kernel=row["kernel"],
            target=row["target"],
            strategy=row["strategy"],
            measured=row["measured_cycles_in_l2"],
            held_out=row["kernel"] in held_out,
        )
        for row in rows
        if row["kernel"] not in NESTS
    ]


@cache
def archive(path: Path) -> dict[str, str]:
    """The files of an archive: PTX, launch contracts, and what the assembler said."""
    with tarfile.open(path) as packed:
        return {
            member.name: file.read().decode()
            for member in packed.getmembers()
            if (file := packed.extractfile(member)) is not None
        }


def foretold(variant: Variant) -> float:
    """Cycles a turn that the model foretells."""
    files = archive(CODE)
    contract = json.loads(files[f"{variant.name}.json"])["kernels"][0]
    said = json.loads(files["assembler.json"])["variants"][variant.name]
    return turn_cycles(files[f"{variant.name}.ptx"], contract, H200, serialized=said["serialized"])


def measure() -> Iterator[dict[str, Any]]:
    """A row for each variant, and one for each ring under load."""
    for variant in variants():
        cycles = foretold(variant)
        yield {
            "kernel": variant.kernel,
            "target": variant.target,
            "strategy": variant.strategy,
            "measured": variant.measured,
            "foretold": round(cycles, 1),
            "error": round(cycles / variant.measured - 1, 3),
            "held out": variant.held_out,
        }
    for name, measured, cycles in rings():
        yield {"kernel": name, "measured": measured, "foretold": cycles, "error": round(cycles / measured - 1, 3)}


# Rings under load -----------------------------------------------------------------------------------------------------


def rings() -> Iterator[tuple[str, float, float]]:
    """(name, measured, foretold) of each product of section J with all multiprocessors busy; cycles a turn."""
    for line in (RESULTS / "micro_h200.json").read_text().splitlines():
        row = json.loads(line)
        ring = _ring(row["name"])
        if ring is not None:
            yield row["name"], round(row["value"], 1), round(period_under_load(ring, H200), 1)


def _ring(name: str) -> Ring | None:
    """The ring of `J.pipe1.bN.wait1.S3.all`: one consumer, `wait_group 1`, 3 slots; None for other measurements."""
    parts = name.split(".")
    if len(parts) != 6 or parts[0] != "J" or not parts[3].startswith("wait") or parts[5] != "all":
        return None
    consumers, slots = int(parts[1].removeprefix("pipe")), int(parts[4].removeprefix("S"))
    return Ring(
        slots=slots,
        slot_bytes=(128 * 64 + 128 * consumers * 64) * 2,
        product=512 * consumers,
        released_late=parts[3] == "wait1",
        consumers=consumers,
    )


# How near they are ----------------------------------------------------------------------------------------------------


def kept() -> dict[str, float]:
    """Name of a variant -> the cycles that were foretold when the file was written."""
    return json.loads(FORETOLD.read_text())


def summary() -> Iterator[str]:
    """How near the foretold cycles are, in sentences."""
    cycles = kept()
    everything = variants()
    for heading, chosen in (
        ("all", everything),
        ("sm_90a", [one for one in everything if one.target == "sm_90a"]),
        ("sm_80", [one for one in everything if one.target == "sm_80"]),
        ("held out", [one for one in everything if one.held_out]),
    ):
        errors = [abs(cycles[one.name] / one.measured - 1) for one in chosen]
        near = sum(error <= 0.1 for error in errors)
        yield (
            f"{heading}: {len(errors)} variants, median error {median(errors):.1%}, largest {max(errors):.1%}, "
            f"{near} within 10 %"
        )
    errors = [abs(cycles / measured - 1) for _, measured, cycles in rings()]
    near = sum(error <= 0.15 for error in errors)
    yield (
        f"rings under load: {len(errors)}, of which three calibrate the latency, median error {median(errors):.1%}, "
        f"largest {max(errors):.1%}, {near} within 15 %"
    )


# The picture ----------------------------------------------------------------------------------------------------------

SIDE, MARGIN = 400, 48
LEAST, MOST = 100.0, 5000.0
TICKS = (100, 200, 500, 1000, 2000, 5000)
STYLE = (
    "<style>:root{--paper:#ffffff;--ink:#17212b;--line:#dfe4ea;--one:#2f6fb0;--two:#b36b00}"
    "@media (prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#edf2f7;--line:#2a333d;--one:#8fbcea;"
    "--two:#f0b36a}}text{font:11px system-ui,sans-serif;fill:var(--ink)}.paper{fill:var(--paper)}"
    ".line{stroke:var(--line)}.same{stroke:var(--ink)}.near{fill:var(--line);opacity:.5}.sm_90a{fill:var(--one)}"
    ".sm_80{fill:var(--two)}.out{fill:none;stroke-width:2}.out.sm_90a{stroke:var(--one)}.out.sm_80{stroke:var(--two)}"
    "</style>"
)


def plot() -> str:
    """The scatter plot of measured against foretold cycles, as SVG; rings are kernels that were held out."""
    size = SIDE + 2 * MARGIN
    cycles = kept()
    label = "Cycles a turn of compiled kernels, measured on an H200 and foretold."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        f'role="img" aria-label="{label}">',
        STYLE,
        f'<rect class="paper" width="{size}" height="{size}"/>',
        _band(),
    ]
    for tick in TICKS:
        at, level = _x(tick), _y(tick)
        parts.append(f'<path class="line" d="M{at} {MARGIN}V{MARGIN + SIDE}M{MARGIN} {level}H{MARGIN + SIDE}"/>')
        parts.append(f'<text x="{at}" y="{MARGIN + SIDE + 16}" text-anchor="middle">{tick:,}</text>')
        parts.append(f'<text x="{MARGIN - 6}" y="{level + 4}" text-anchor="end">{tick:,}</text>')
    parts.append(f'<path class="same" d="M{_x(LEAST)} {_y(LEAST)}L{_x(MOST)} {_y(MOST)}"/>')
    for variant in variants():
        style = f"{'out ' if variant.held_out else ''}{variant.target}"
        x, y = _x(variant.measured), _y(cycles[variant.name])
        title = f"{variant.name}: {variant.measured:,.0f} measured, {cycles[variant.name]:,.0f} foretold"
        parts.append(f'<circle class="{style}" cx="{x}" cy="{y}" r="4"><title>{title}</title></circle>')
    middle = MARGIN + SIDE / 2
    parts.append(f'<text x="{middle}" y="{size - 8}" text-anchor="middle">measured on an H200, cycles a turn</text>')
    parts.append(
        f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">foretold, cycles a turn '
        "(band: 10 %)</text>"
    )
    for place, (target, note) in enumerate((("sm_90a", "sm_90a"), ("sm_80", "sm_80"))):
        parts.append(f'<circle class="{target}" cx="{MARGIN + 14}" cy="{MARGIN + 14 + 18 * place}" r="4"/>')
        parts.append(f'<text x="{MARGIN + 24}" y="{MARGIN + 18 + 18 * place}">{note}</text>')
    parts.append(f'<circle class="out sm_90a" cx="{MARGIN + 14}" cy="{MARGIN + 50}" r="4"/>')
    parts.append(f'<text x="{MARGIN + 24}" y="{MARGIN + 54}">held out of the fit</text>')
    return "\n".join([*parts, "</svg>", ""])


def _x(cycles: float) -> float:
    return round(MARGIN + SIDE * math.log(cycles / LEAST) / math.log(MOST / LEAST), 1)


def _y(cycles: float) -> float:
    return round(2 * MARGIN + SIDE - _x(cycles), 1)


def _band() -> str:
    """The part of the picture within 10 %."""
    corners = ((LEAST, LEAST * 1.1), (MOST / 1.1, MOST), (MOST, MOST), (MOST, MOST * 0.9), (LEAST / 0.9, LEAST))
    points = " ".join(f"{_x(x)},{_y(y)}" for x, y in ((LEAST, LEAST), *corners))
    return f'<polygon class="near" points="{points}"/>'


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Cycles a turn, measured and foretold.")
    parser.add_argument("--summary", action="store_true", help="say how near the kept numbers are")
    parser.add_argument("--plot", metavar="OUT.svg", help="draw the kept numbers")
    options = parser.parse_args(arguments)
    if options.plot is not None:
        Path(options.plot).write_text(plot())
    elif not options.summary:
        cycles = {variant.name: round(foretold(variant), 1) for variant in variants()}
        FORETOLD.write_text(json.dumps(cycles, indent=1) + "\n")
    for sentence in summary() if options.plot is None else ():
        print(sentence)


if __name__ == "__main__":
    main()
