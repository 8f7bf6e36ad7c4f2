"""
The exhibits, read from the headers of the programs that are wrong, and what the checker says of each pair.

    // The title
    //
    // kind: race
    // level: nvvm mbarriers
    // between: nvvm.cp.async.shared.global, llvm.load
    // mirrors: NVIDIA/cutlass#2502
    // happened: ... in as many lines as it takes,
    //   indented from the second on
    // wrong: ...
    // says: a part of the checker's message
    // fix: ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.checker.verdict.blocks import PROGRAMS
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Finding, Report, Verdict
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.machine.core.violations import ViolationKind
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.tools.inputs import full_context, parse_module
from tileas_xdsl.tools.ptx import LaunchOptions
from tileas_xdsl.tools.ptx.kernels import module_of_ptx
from tileas_xdsl.views.timeline import Timeline, timeline

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IR, PTX, TTGIR = ".mlir", ".ptx", ".ttgir"
FIELDS = ("kind", "level", "between", "mirrors", "happened", "wrong", "says", "fix")
TARGET = "generic"
"""The target whose cycles the pictures count."""
SMALL_TRIP_COUNTS = range(5)
"""
Trip counts that show what is wrong with a wrong program. They are few, because all interleavings of a program that is
not phase-determinate are tried.
"""
FIELD = re.compile(rf"({'|'.join(FIELDS)}): (.*)")
ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


@dataclass(frozen=True)
class Exhibit:
    """A pair of programs and what the header of the wrong one says."""

    name: str
    title: str
    kind: str
    """The kind of the violation that explains most."""
    level: str
    between: tuple[str, ...]
    """Names of the ops that are the first two parties of that violation, or of its only one."""
    mirrors: str
    """Issues of public trackers, or tools."""
    happened: str
    wrong: str
    says: str
    """A part of the checker's message, or of what it says is missing."""
    fix: str
    suffix: str = IR
    """Of both files: PTX and TTGIR are for what no other level shows."""

    @property
    def bad(self) -> Path:
        return HERE / f"{self.name}.bad{self.suffix}"

    @property
    def good(self) -> Path:
        return HERE / f"{self.name}.good{self.suffix}"

    @cached_property
    def report_on_bad(self) -> Report:
        return checked(self.bad, SMALL_TRIP_COUNTS)

    @cached_property
    def report_on_good(self) -> Report:
        return checked(self.good)

    @property
    def finding(self) -> Finding | None:
        """The violation that explains most of what is wrong: `tileas check` shows it first."""
        mistakes = self.report_on_bad.mistakes
        return mistakes[0].first if mistakes else None

    @cached_property
    def report_under_relaxed_proxy(self) -> Report | None:
        """What `--relaxed-proxy` says of the wrong program, where that makes a warning of its first violation."""
        if self.kind_found != str(ViolationKind.MISSING_FENCE):
            return None
        report = check(parsed(self.bad), relaxed_proxy=True)
        return report if report.tolerated else None

    @cached_property
    def timeline(self) -> Timeline:
        """The picture of the call in which the violation first shows, run once in simulated time."""
        assert self.finding is not None
        module = parsed(self.bad)
        run = simulate(module, self.finding.function, self.arguments, TARGET, observer=Investigator())
        return timeline(run)

    @property
    def arguments(self) -> dict[str, int]:
        """Those of the call in which the violation first shows. How many programs a grid has is none of them."""
        assert self.finding is not None
        return {name: number for name, number in self.finding.arguments.items() if name != PROGRAMS}

    @property
    def is_as_expected(self) -> bool:
        """Whether the checker rejects the one program for the right reason and accepts the other."""
        return self.kind_found == self.kind and self.report_on_good.verdict is Verdict.SAFE

    @property
    def kind_found(self) -> str:
        return str(self.finding.violation.kind) if self.finding is not None else "none"


def checked(path: Path, trip_counts: Sequence[int] | None = None) -> Report:
    """What the checker says of a program for `trip_counts` (0 to 8); places are relative to the checkout."""
    return check(parsed(path), trip_counts=trip_counts)


def parsed(path: Path) -> ModuleOp:
    text, name = path.read_text(), str(path.relative_to(ROOT))
    if path.suffix == PTX:
        return module_of_ptx(text, name, LaunchOptions(), None)
    return parse_module(text, name, full_context())


def exhibits(suffix: str = IR) -> list[Exhibit]:
    """The pairs in IR, or in PTX, by name. Raises `ValueError` for a header that lacks a field."""
    return [read_exhibit(path) for path in sorted(HERE.glob(f"*.bad{suffix}"))]


def all_exhibits() -> list[Exhibit]:
    """Every pair, by name. TTGIR that stands beside another text of the same pair is no pair of its own."""
    found = [*exhibits(IR), *exhibits(PTX)]
    names = {exhibit.name for exhibit in found}
    alone = (path for path in sorted(HERE.glob(f"*.bad{TTGIR}")) if path.name.removesuffix(f".bad{TTGIR}") not in names)
    return sorted([*found, *map(read_exhibit, alone)], key=lambda exhibit: exhibit.name)


def read_exhibit(path: Path) -> Exhibit:
    """The exhibit whose wrong program is `path`."""
    title, *lines = header(path)
    found: dict[str, str] = {}
    current = ""
    for line in lines:
        match = FIELD.fullmatch(line)
        if match is not None:
            current = match[1]
            found[current] = match[2]
        elif line and current:
            found[current] += f" {line.strip()}"
    missing = [field for field in FIELDS if field not in found]
    if missing:
        raise ValueError(f"{path.name}: its header says nothing of {', '.join(missing)}")
    between = tuple(found.pop("between").split(", "))
    return Exhibit(path.name.removesuffix(f".bad{path.suffix}"), title, between=between, suffix=path.suffix, **found)


def header(path: Path) -> list[str]:
    """The comment lines at the top of a program, without their slashes."""
    lines: list[str] = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return lines


def code(path: Path) -> list[str]:
    """A program without the comment at its top."""
    return path.read_text().splitlines()[len(header(path)) + 1 :]
