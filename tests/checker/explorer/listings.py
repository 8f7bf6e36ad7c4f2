"""
Programs of lines: one block, for each warp (or part of one) its lines, and small changes of them.

A line is IR that stands by itself: it uses the values of the head, and what it defines nobody else uses, but for tasks.
So lines may be left out, repeated and exchanged. `{n}` in a line is a number of its own, for the names that it defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.checker.explorer.kernel_programs import KernelSample

WARP = 32


class Line(NamedTuple):
    """One statement, and what a tired programmer writes in its place."""

    text: str
    others: tuple[str, ...] = ()
    is_kept: bool = False
    """Whether it may be altered, but not left out: without it the others would mean nothing."""


@dataclass
class Part:
    """What some threads do: those for which `condition` holds, a value of the head; None for all."""

    condition: str | None
    lines: list[Line]


@dataclass
class Listing:
    """A program."""

    head: str
    """The function up to its first line: signature, numbers, pointers."""
    parts: list[Part] = field(default_factory=list[Part])
    tail: str = "func.return"
    module: str = ""
    """What stands in front of the function."""

    @property
    def text(self) -> str:
        lines = [self.module, self.head]
        number = 0
        for part in self.parts:
            body: list[str] = []
            for line in part.lines:
                number += 1
                body.append(line.text.replace("{n}", str(number)))
            lines += body if part.condition is None else [f"scf.if {part.condition} {{", *body, "}"]
        return "\n".join([*lines, self.tail, "}", ""])


def lines(*parts: str | Line | Iterable[Line]) -> list[Line]:
    found: list[Line] = []
    for part in parts:
        if isinstance(part, str):
            found.append(Line(part))
        elif isinstance(part, Line):
            found.append(part)
        else:
            found += part
    return found


def branch(condition: str, *body: str | Line) -> str:
    """Lines under a condition, as one."""
    texts = [each if isinstance(each, str) else each.text for each in body]
    return "\n".join([f"scf.if {condition} {{", *texts, "}"])


def elected(*body: str) -> str:
    """By one thread of the warp, as one line."""
    return "%e{n} = nvvm.elect.sync -> i1\n" + branch("%e{n}", *body)


def numbers(values: Iterable[int], type_: str = "i32") -> str:
    return "\n".join(f"%c{value} = arith.constant {value} : {type_}" for value in sorted(set(values)))


def of_block(signature: str, warps: int, *, attributes: str = "", also: str = "") -> str:
    """The head of a kernel of one block, with `%is0`, `%is1`, ... for its warps."""
    known = range(max(warps, 8) + 1)
    tests = "\n".join(f"%is{warp} = arith.cmpi eq, %warp, %c{warp} : i32" for warp in range(warps))
    return f"""func.func @main({signature}) attributes {{nvvm.reqntid = array<i32: {warps * WARP}>{attributes}}} {{
{numbers([*known, 16, 32, 64, 96, 128, 256, 512, warps * WARP])}
%ticks = arith.constant 1000000 : i32
%tid = nvvm.read.ptx.sreg.tid.x : i32
%warp = arith.divui %tid, %c32 : i32
{tests}
{also}"""


def change(rng: Random, listing: Listing) -> str:
    """One small change in place, after which names are still defined before they are used; returns what it is."""
    for _ in range(50):
        kept = deepcopy(listing.parts)
        what = _change(rng, listing)
        if _is_well_named(listing):
            return what
        listing.parts = kept
    return "nothing"


def _is_well_named(listing: Listing) -> bool:
    """
    Whether each task `%t0`, `%t1`, ... is defined once, and before it is used; and whether columns are allocated in
    front of who reads their address: what else lies there only the caller knows.
    """
    defined: set[str] = set()
    for line in (line for part in listing.parts for line in part.lines):
        defined.update(re.findall(r"tcgen05.alloc (%slot\d)", line.text))
        if set(re.findall(r"llvm.load (%slot\d)", line.text)) - defined:
            return False
        names = re.findall(r"%t\d+", line.text)
        new = re.findall(r"^(%t\d+) =", line.text, re.MULTILINE)
        if set(names) - set(new) - defined or defined & set(new):
            return False
        defined |= set(new)
    return True


def _change(rng: Random, listing: Listing) -> str:
    places = [(part, place) for part in listing.parts for place in range(len(part.lines))]
    if not places:
        return "nothing"
    part, place = rng.choice(places)
    line = part.lines[place]
    what = rng.choice(("drop", "drop", "other", "other", "other", "swap", "repeat", "move"))
    if what == "other" and not line.others:
        what = "drop"
    if what == "swap" and place + 1 == len(part.lines):
        what = "drop"
    if what in ("drop", "move") and line.is_kept:
        what = "repeat"
    match what:
        case "other":
            part.lines[place] = Line(rng.choice(line.others))
        case "swap":
            part.lines[place : place + 2] = part.lines[place : place + 2][::-1]
        case "repeat":
            part.lines.insert(place, line)
        case "move":
            other = rng.choice(listing.parts)
            del part.lines[place]
            other.lines.insert(rng.randint(0, len(other.lines)), line)
        case _:
            del part.lines[place]
    return f"{what} {line.text.splitlines()[0]}"


def maybe_changed(rng: Random, seed: int, family: str, listing: Listing) -> KernelSample:
    """The program, or one with one or two changes."""
    made = deepcopy(listing)
    changes = tuple(change(rng, made) for _ in range(rng.choice((0, 0, 1, 1, 1, 2))))
    return KernelSample(seed, family, changes, made.text)
