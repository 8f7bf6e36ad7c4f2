"""
A schedule, shown: the bounds and what binds, a line for each op, rings with their copies, and the reservation table
modulo II as a picture. Rows are cycles, columns are slots, colours are stages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.scheduling.loop_problem import LoopProblem
from tileas_xdsl.scheduling.modulo.schedule import ModuloSchedule
from tileas_xdsl.tabular import Tabular
from tileas_xdsl.views.drawing import SCHEMES
from tileas_xdsl.views.notebook import picture_tag

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
"""One for each stage, in turn (Tol's bright scheme, which the colour-blind can tell apart)."""

STYLE = (
    f"{SCHEMES}"
    ".schedule rect{fill:var(--paper)}.schedule .slot{fill:var(--ink);fill-opacity:.05}"
    ".schedule .use{stroke:var(--paper);stroke-width:.5}"
    ".schedule text{fill:var(--ink)}.schedule .name{fill:#fff}"
)
PAGE = (
    f"{SCHEMES}body{{background:var(--paper);color:var(--ink)}}div{{overflow-x:auto}}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
)
COLUMN, HEAD, LEFT, HEIGHT, MARGIN, LETTER = 150, 46, 56, 460, 12, 6
"""
Pixels: the width of a slot's column, the room for headings and cycles, the height of II cycles, the width of a letter.
"""


@dataclass(frozen=True)
class ShownSchedule:
    """One loop with its schedule."""

    problem: LoopProblem
    schedule: ModuloSchedule
    """Of this problem, or of one in which several agents share the ops."""
    agents: Sequence[int | None] = ()
    """For each op of the loop the agent that runs it, None where several do; empty where there is one agent."""

    @property
    def place(self) -> str:
        return location_of(self.problem.loop) or "scf.for"


@dataclass(frozen=True, repr=False)
class Schedules(Tabular):
    """The schedules of the innermost loops of a module, in the order of the loops."""

    loops: tuple[ShownSchedule, ...]

    def __repr__(self) -> str:
        said = (f"{loop.place}: II {loop.schedule.ii}, {loop.schedule.peeled_stages} stages" for loop in self.loops)
        return f"Schedules({'; '.join(said)})"

    def __str__(self) -> str:
        return "\n".join(line for loop in self.loops for line in schedule_text(loop))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each op of each loop, in the order of the kernel."""
        return [
            {
                "loop": loop.place,
                "op": loop.schedule.problem.ops[op].name,
                "stage": loop.schedule.stage(op),
                "cycle": loop.schedule.row(op),
                "agent": loop.agents[op] if loop.agents else None,
                "why": _reason(loop, op).removeprefix(": "),
            }
            for loop in self.loops
            for op in _in_kernel_order(loop)
        ]

    def summary(self) -> list[dict[str, Any]]:
        """
        A row for each loop: its strategy, the interval in cycles, the bound that binds and its cycles, the stages, and
        the bytes of its rings.
        """
        return [
            {
                "loop": loop.place,
                "strategy": loop.schedule.strategy_name,
                "interval": loop.schedule.ii,
                "binds": loop.schedule.bounds.binding.name,
                "bound": loop.schedule.bounds.binding.value,
                "stages": loop.schedule.peeled_stages,
                "ring_bytes": _bytes_of_rings(loop),
            }
            for loop in self.loops
        ]

    def to_dict(self) -> dict[str, Any]:
        """What `tileas schedule -o OUT.json` writes."""
        return schedule_data(self.loops)

    def svg(self) -> str:
        """The reservation tables as the text of an SVG file."""
        return schedule_svg(self.loops)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f"{picture_tag(self.svg(), repr(self))}<pre>{escape(str(self))}</pre>"


def _bytes_of_rings(shown: ShownSchedule) -> int:
    result = shown.schedule
    return sum(copies * ring.bytes for ring, copies in zip(result.problem.rings, result.copies, strict=True))


def schedule_text(shown: ShownSchedule) -> list[str]:
    """The report of one loop."""
    result = shown.schedule
    bounds = ", ".join(f"{bound.name} {bound.value}" for bound in result.bounds.all)
    lines = [
        f"{shown.place}: II = {result.ii} ({result.strategy_name}), {result.peeled_stages} stages",
        f"  bounds: {bounds}",
        f"  binds: {result.bounds.binding.name}, {result.bounds.binding.reason}",
    ]
    if result.budget:
        lines.append(f"  budget: {result.budget}")
    if result.proof is not None:
        lines.append(f"  exact: {result.proof.comparison(result.ii)}; {result.proof.text}")
    if result.is_truncated:
        lines.append("  the rounds of the refinement ran out")
    lines += [f"  {remark_on(shown, number)}" for number in _in_kernel_order(shown)]
    rings = zip(result.problem.rings, result.copies, strict=True)
    lines += [f"  ring {r.name}: {n} x {r.bytes} = {n * r.bytes} bytes of {r.space} memory" for r, n in rings]
    return lines


def _in_kernel_order(shown: ShownSchedule) -> list[int]:
    return sorted(range(len(shown.schedule.problem.ops)), key=lambda op: shown.schedule.order[op])


def remark_on(shown: ShownSchedule, op: int) -> str:
    """`dot %sum: stage 2, cycle 14: waits for slot agent`; beside a proof, with the heuristic's place."""
    result = shown.schedule
    place = f"stage {result.stage(op)}, cycle {result.row(op)}"
    if shown.agents and op < len(shown.agents):
        agent = shown.agents[op]
        place = f"{'every agent' if agent is None else f'agent {agent}'}, {place}"
    if result.proof is not None:
        before = result.proof.heuristic
        place += f" (heuristic: stage {before.stage(op)}, cycle {before.row(op)})"
    return f"{result.problem.ops[op].name}: {place}{_reason(shown, op)}"


def _reason(shown: ShownSchedule, op: int) -> str:
    """Why the op does not start earlier: a dependence without slack, else a slot that was taken; nothing at cycle 0."""
    result, problem = shown.schedule, shown.schedule.problem
    start = result.starts[op]
    tight = [e for e in problem.incoming[op] if e.slack(result.start_of, result.ii) == 0 and e.latency > 0]
    if tight:
        return f": after {problem.ops[tight[0].source].name}"
    if start == 0 or not problem.ops[op].uses:
        return ""
    for use in problem.ops[op].uses:
        for other, spec in enumerate(problem.ops):
            ends = [result.starts[other] + theirs.rows for theirs in spec.uses if theirs.slot == use.slot]
            if other != op and any((end - start) % result.ii == 0 for end in ends):
                return f": waits for slot {use.slot}"
    return ""


# Pictures -------------------------------------------------------------------------------------------------------------


def schedule_svg(shown: Sequence[ShownSchedule]) -> str:
    """The reservation tables of the loops, one below the other."""
    bodies: list[str] = []
    top, width = MARGIN, 320
    for loop in shown:
        slots = _slots(loop)
        width = max(width, LEFT + COLUMN * len(slots) + MARGIN)
        bodies += _table(loop, slots, top)
        top += HEAD + HEIGHT + 3 * MARGIN
    size = f'width="{width}" height="{top}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" class="schedule">'
    paper = f"<style>{STYLE}</style><rect {size}/>"
    return "\n".join([head, paper, *bodies, "</svg>", ""])


def _slots(loop: ShownSchedule) -> list[str]:
    return list(dict.fromkeys(use.slot for op in loop.schedule.problem.ops for use in op.uses if use.rows))


def _table(loop: ShownSchedule, slots: Sequence[str], top: int) -> list[str]:
    result, scale = loop.schedule, HEIGHT / loop.schedule.ii
    title = f"{loop.place}: II = {result.ii}, {result.peeled_stages} stages ({result.bounds.binding.name} binds)"
    lines = [f'<text x="{MARGIN}" y="{top + 14}" font-size="13">{escape(title)}</text>']
    base = top + HEAD
    for index, slot in enumerate(slots):
        x = LEFT + COLUMN * index
        lines.append(f'<text x="{x + 4}" y="{base - 8}" font-size="12">{escape(slot)}</text>')
        lines.append(f'<rect x="{x}" y="{base}" width="{COLUMN - 8}" height="{HEIGHT}" class="slot"/>')
    for row in (0, result.ii // 4, result.ii // 2, 3 * result.ii // 4, result.ii):
        lines.append(f'<text x="{MARGIN}" y="{base + row * scale + 4:.1f}" font-size="10">{row}</text>')
    for number, op in enumerate(loop.schedule.problem.ops):
        colour = COLOURS[result.stage(number) % len(COLOURS)]
        for use in op.uses:
            x = LEFT + COLUMN * slots.index(use.slot) if use.rows else 0
            for begin, rows in _folded(result.row(number), min(use.rows, result.ii), result.ii):
                tip = escape(f"{remark_on(loop, number)} ({use.rows} cycles)")
                height = max(rows * scale, 1.0)
                lines.append(
                    f'<rect x="{x}" y="{base + begin * scale:.1f}" width="{COLUMN - 8}" height="{height:.1f}" '
                    f'style="fill:{colour}" class="use"><title>{tip}</title></rect>'
                )
                if height > 11:
                    lines.append(
                        f'<text x="{x + 4}" y="{base + begin * scale + 10:.1f}" font-size="10" class="name">'
                        f"{escape(_shortened(op.name))}</text>"
                    )
    return lines + _legend(result.peeled_stages, base + HEIGHT + MARGIN)


def _shortened(name: str) -> str:
    """The part of a name for which a column has room."""
    most = (COLUMN - 16) // LETTER
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _legend(stages: int, top: int) -> list[str]:
    """Which colour is which stage."""
    return [
        f'<rect x="{x}" y="{top}" width="10" height="10" style="fill:{COLOURS[stage % len(COLOURS)]}"/>'
        f'<text x="{x + 14}" y="{top + 9}" font-size="10">stage {stage}</text>'
        for stage, x in enumerate(range(LEFT, LEFT + 64 * stages, 64))
    ]


def _folded(row: int, rows: int, ii: int) -> list[tuple[int, int]]:
    """A footprint on II rows: one piece, or two where it goes round the end."""
    first = min(rows, ii - row)
    return [(row, first)] if rows == first else [(row, first), (0, rows - first)]


def schedule_html(shown: Sequence[ShownSchedule]) -> str:
    """The pictures and the reports on one page."""
    texts = "\n\n".join("\n".join(schedule_text(loop)) for loop in shown)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Schedules</title>'
        f'<meta name="viewport" content="width=device-width"><style>{PAGE}</style></head><body>\n'
        f"<div>{schedule_svg(shown)}</div><pre>{escape(texts)}</pre>\n</body></html>\n"
    )


def schedule_json(shown: Sequence[ShownSchedule]) -> str:
    """The numbers, as the text of a JSON file."""
    return json.dumps(schedule_data(shown), indent=1) + "\n"


def schedule_data(shown: Sequence[ShownSchedule]) -> dict[str, Any]:
    """The numbers as plain data."""
    loops = [
        {
            "place": loop.place,
            "ii": loop.schedule.ii,
            "stages": loop.schedule.peeled_stages,
            "strategy": loop.schedule.strategy_name,
            "bounds": {
                bound.name: {"value": bound.value, "reason": bound.reason} for bound in loop.schedule.bounds.all
            },
            "ops": [
                {
                    "name": op.name,
                    "stage": loop.schedule.stage(number),
                    "cycle": loop.schedule.row(number),
                    "order": loop.schedule.order[number],
                    "slots": {use.slot: use.rows for use in op.uses},
                }
                for number, op in enumerate(loop.schedule.problem.ops)
            ],
            "rings": [
                {"name": ring.name, "space": ring.space, "bytes": ring.bytes, "copies": copies}
                for ring, copies in zip(loop.schedule.problem.rings, loop.schedule.copies, strict=True)
            ],
        }
        for loop in shown
    ]
    return {"loops": loops}
