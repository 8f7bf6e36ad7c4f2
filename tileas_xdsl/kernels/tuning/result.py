"""
What a tuning found: its candidates from the fastest on, and the kernel of the first.

A candidate is estimated from its schedule, foretold from its code, and measured: each is done for fewer of them than
the one before. The order is that of the surest number that there is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileas_xdsl.kernels.kernel import Kernel
from tileas_xdsl.tabular import Tabular, table_html


@dataclass(kw_only=True)
class Candidate:
    """A point of the space, and what is known of it. Times are seconds of a launch."""

    point: Mapping[str, Any]
    estimated: float | None = None
    """From the schedule."""
    foretold: float | None = None
    """From the code."""
    measured: float | None = None
    blocks: int | None = None
    """On a multiprocessor at a time."""
    bound: str | None = None
    """What binds a turn: `block` or `memory`."""
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    problem: str | None = None
    """Why it is out."""

    @property
    def predicted(self) -> float | None:
        """What the model says, from the code if there is any."""
        return self.foretold if self.foretold is not None else self.estimated

    @property
    def place(self) -> tuple[bool, int, float]:
        """By which candidates are put in order: those that are out come last."""
        known = (self.measured, self.foretold, self.estimated)
        level = next((number for number, seconds in enumerate(known) if seconds is not None), len(known))
        return self.problem is not None, level, next((seconds for seconds in known if seconds is not None), math.inf)

    @property
    def name(self) -> str:
        """The point in a few words."""
        return " ".join(f"{name}={value}" for name, value in self.point.items())


@dataclass(frozen=True, kw_only=True)
class Tuning(Tabular):
    """The result of `tileas.tune`."""

    candidates: tuple[Candidate, ...]
    """From the fastest on."""
    kernel: Kernel
    """Of the first."""
    target: str
    device: str
    """Whose figures the model has, or on which was measured."""

    @property
    def best(self) -> Mapping[str, Any]:
        """The point that was chosen."""
        return self.candidates[0].point

    @property
    def correlation(self) -> float | None:
        """Spearman's rank correlation of what was foretold and measured; None for fewer than three that were."""
        both = self._both()
        return spearman(*zip(*both, strict=True)) if len(both) > 2 else None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each candidate; times are microseconds."""
        return [
            {
                "rank": number,
                **candidate.point,
                "estimated us": _micro(candidate.estimated),
                "foretold us": _micro(candidate.foretold),
                "measured us": _micro(candidate.measured),
                "together": candidate.blocks,
                "registers": candidate.registers,
                "spilled": candidate.spill_bytes,
                "problem": candidate.problem,
            }
            for number, candidate in enumerate(self._in_columns(), start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """All candidates as plain data."""
        candidates = [asdict(candidate) for candidate in self.candidates]
        return {
            "target": self.target,
            "device": self.device,
            "best": dict(self.best),
            "correlation": self.correlation,
            "candidates": candidates,
        }

    def plot(self) -> str:
        """What was foretold against what was measured, as SVG; what was estimated where nothing was measured."""
        both = self._both()
        if both:
            return scatter(both, "foretold, microseconds", "measured, microseconds")
        pairs = [(one.estimated, one.foretold) for one in self.candidates]
        known = [(first, second) for first, second in pairs if first is not None and second is not None]
        return scatter(known, "estimated from the schedule, microseconds", "foretold from the code, microseconds")

    def _both(self) -> list[tuple[float, float]]:
        pairs = [(one.predicted, one.measured) for one in self.candidates]
        return [(first, second) for first, second in pairs if first is not None and second is not None]

    def _in_columns(self) -> list[Candidate]:
        """The candidates with the same names in the same order: points of a list may have different ones."""
        names = dict.fromkeys(name for one in self.candidates for name in one.point)
        return [replace(one, point={name: one.point.get(name) for name in names}) for one in self.candidates]

    def __repr__(self) -> str:
        first = self.candidates[0]
        seconds = first.measured if first.measured is not None else first.predicted
        how = "measured" if first.measured is not None else "foretold"
        known = f", {seconds * 1e6:,.1f} us {how}" if seconds is not None else ""
        return f"Tuning({len(self.candidates):,} candidates for {self.device}; best: {first.name}{known})"

    def __str__(self) -> str:
        rows = [{name: _short(value) for name, value in row.items()} for row in self.rows()]
        shown = [name for name in rows[0] if any(row[name] for row in rows)]
        widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in shown}
        lines = ["  ".join(name.ljust(widths[name]) for name in shown)]
        lines += ["  ".join(row[name].ljust(widths[name]) for name in shown) for row in rows]
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return f"<b>{escape(repr(self))}</b>{self.plot()}{table_html(self.rows())}"


def _micro(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 1)


def _short(value: Any) -> str:
    return "" if value is None else f"{value:,.1f}" if isinstance(value, float) else str(value)


# Order ----------------------------------------------------------------------------------------------------------------


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """
    Spearman's rank correlation: 1 for the same order, -1 for the opposite one; equal numbers share a rank. 0 for fewer
    than two numbers, and where all are equal.
    """
    one, other = _ranks(first), _ranks(second)
    if len(one) < 2 or not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(numbers: Sequence[float]) -> NDArray[np.float64]:
    """The place of each number in their order, from 0; the mean of the places of equal ones."""
    values = np.asarray(numbers, dtype=np.float64)
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return below + (equal - 1) / 2


# The picture ----------------------------------------------------------------------------------------------------------

SIDE, MARGIN = 300, 56
STYLE = (
    "<style>:root{--paper:#ffffff;--ink:#17212b;--line:#dfe4ea;--one:#2f6fb0}"
    "@media (prefers-color-scheme:dark){:root{--paper:#11161c;--ink:#edf2f7;--line:#2a333d;--one:#8fbcea}}"
    "text{font:11px system-ui,sans-serif;fill:var(--ink)}.paper{fill:var(--paper)}.line{stroke:var(--line)}"
    ".one{fill:var(--one)}</style>"
)


def scatter(pairs: Sequence[tuple[float, float]], across: str, up: str) -> str:
    """Pairs of seconds as points, on the same scale in both directions, with the line on which they are equal."""
    size = SIDE + 2 * MARGIN
    most = max([0.0, *(number for pair in pairs for number in pair)]) * 1.05 or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        f'role="img" aria-label="{across}; {up}">',
        STYLE,
        f'<rect class="paper" width="{size}" height="{size}"/>',
        f'<path class="line" d="M{MARGIN} {MARGIN}V{MARGIN + SIDE}H{MARGIN + SIDE}L{MARGIN + SIDE} {MARGIN}'
        f'M{MARGIN} {MARGIN + SIDE}L{MARGIN + SIDE} {MARGIN}" fill="none"/>',
    ]
    for first, second in pairs:
        x, y = MARGIN + SIDE * first / most, MARGIN + SIDE - SIDE * second / most
        title = f"{first * 1e6:,.1f}, {second * 1e6:,.1f}"
        parts.append(f'<circle class="one" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{title}</title></circle>')
    middle, end = MARGIN + SIDE // 2, f"{most * 1e6:,.0f}"
    parts += [
        f'<text x="{MARGIN}" y="{MARGIN + SIDE + 16}">0</text>',
        f'<text x="{MARGIN + SIDE}" y="{MARGIN + SIDE + 16}" text-anchor="middle">{end}</text>',
        f'<text x="{MARGIN - 6}" y="{MARGIN + 4}" text-anchor="end">{end}</text>',
        f'<text x="{middle}" y="{size - 12}" text-anchor="middle">{across}</text>',
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{up}</text>',
        "</svg>",
    ]
    return "\n".join(parts)
