"""
Random nests: a ring of 1 to 5 slots, tiles around k-steps, with bounds of many kinds, comparisons with bounds, numbers
that come round, and stores per tile; and ten ways to put a fault into each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from tests.checker.nest_programs import PARTS, nest

Parts = dict[str, str]
Fault = Callable[[Parts], Parts]

STEPS: Mapping[str, tuple[str, str]] = {
    "m": ("", "%c0 to %m step %c1"),
    "m and one more": ("%m1 = arith.addi %m, %c1 : i32", "%c0 to %m1 step %c1"),
    "from the second on": ("", "%c1 to %m step %c1"),
    "every second": ("", "%c0 to %m step %c2"),
    "as the tile says": ("", "%c0 to %t step %c1"),
    "three": ("", "%c0 to %c3 step %c1"),
    "many": ("", "%c0 to %c300 step %c1"),
}
"""What there is before the loop over k-steps, and its bounds, alike in both agents."""

LOOK = "%seen = llvm.load %src : !llvm.ptr<1> -> f32"


def where(name: str, condition: str) -> str:
    """A look at the source, if `condition` holds."""
    return f"{condition.replace('%is', '%' + name)}\nscf.if %{name} {{\n{LOOK}\n}}\n"


COMPARISONS: Mapping[str, str] = {
    "none": "",
    "two steps ahead": "%later = arith.addi %j, %c2 : i32\n" + where("ahead", "%is = arith.cmpi slt, %later, %m : i32"),
    "the last step": "%next = arith.addi %j, %c1 : i32\n" + where("last", "%is = arith.cmpi eq, %next, %m : i32"),
    "many tiles": where("many", "%is = arith.cmpi sgt, %n, %c3 : i32"),
}


def stored_at(place: str, number: str = "%one") -> str:
    return (
        f"%o{place[1:]} = llvm.getelementptr %out[{place}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
        f"llvm.store {number}, %o{place[1:]} : f32, !llvm.ptr<1>"
    )


READS: Mapping[str, str] = {
    "every element": PARTS["read"],
    "three elements in turn": "%v = llvm.load %slot : !llvm.ptr<3> -> f32\n%third = arith.remui %k, %c3 : i32\n"
    + stored_at("%third", "%v"),
}
AFTER_TILES = ("", stored_at("%t"), where("some", "%is = arith.cmpi sge, %m, %c2 : i32"))


def parts_of(seed: int) -> tuple[int, Parts, str]:
    """The depth of the ring, the parts of the right program, and in words what they are."""
    pick = random.Random(seed)
    slots, steps = pick.randint(1, 5), pick.choice(list(STEPS))
    before, bounds = STEPS[steps]
    bounded_by = before + bounds
    comparison = pick.choice([name for name, text in COMPARISONS.items() if "%m" not in text or "%m" in bounded_by])
    read = pick.choice(list(READS))
    after = pick.choice([text for text in AFTER_TILES if "%m" not in text or "%m" in bounded_by])
    parts = {
        "steps": bounds,
        "consumer_steps": bounds,
        "before": before,
        "consumer_before": before,
        "read": COMPARISONS[comparison] + READS[read],
        "consumer_after_tile": after,
    }
    return slots, parts, f"{slots} slots; steps: {steps}; comparison: {comparison}; {read}; after a tile: {after!r}"


def program(seed: int) -> str:
    slots, parts, _ = parts_of(seed)
    return nest(slots, **parts)


def _with(**changed: str) -> Fault:
    return lambda parts: {**parts, **changed}


FAULTS: Mapping[str, Fault] = {
    "no wait": _with(wait=""),
    "no fence": _with(fence=""),
    "no release": _with(release=""),
    "the other parity": _with(parity="%bit"),
    "the other parity in the consumer": _with(consumer_parity="%turn"),
    "counted anew in each tile": _with(first="%c0", consumer_first="%c0"),
    "counted anew by the consumer": _with(consumer_first="%c0"),
    "the consumer leaves out the first tile": _with(consumer_tiles="%c1 to %n step %c1"),
    "n and m taken for each other": lambda parts: {
        **parts,
        "consumer_tiles": "%c0 to %m step %c1",
        "consumer_steps": parts["steps"].replace("%m", "%n"),
    },
    "the consumer leaves out the first step": lambda parts: {
        **parts,
        "consumer_steps": parts["steps"].replace("%c1 to", "%c2 to").replace("%c0 to", "%c1 to"),
    },
}


def faulty(seed: int, fault: str) -> str:
    slots, parts, _ = parts_of(seed)
    return nest(slots, **FAULTS[fault](parts))


def pairs_for(seed: int, number: int = 25) -> list[tuple[int, int]]:
    """Calls (n, m): corners around the depth of the ring, and a few far ones."""
    slots, parts, _ = parts_of(seed)
    corners = sorted({0, 1, slots - 1, slots, slots + 1, 2 * slots, 2 * slots + 1})
    pick = random.Random(seed)
    near = [(n, m) for n in corners for m in corners]
    pairs = [*pick.sample(near, min(number - 3, len(near))), (2, 97), (97, 2), (3, 130)]
    return [(n, m) for n, m in pairs if n < 5 or "%c300" not in parts["steps"]]
