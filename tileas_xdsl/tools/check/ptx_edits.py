"""
Edits of a text of PTX that may repair a mistake in one of its kernels: each adds, moves or corrects one piece of
synchronisation near the instructions of the mistake.

    cp.async.wait_group 2;              ->   cp.async.wait_group 1;               a count too many
    ld.shared.f32 %f1, [%r2];           ->   bar.sync 0;                          a barrier that is missing
                                             ld.shared.f32 %f1, [%r2];
    mbarrier.try_wait.parity.shared     ->   { .reg .b32 %other; xor.b32 %other, %r9, 1;
        .b64 %p1, [s], %r9;                  mbarrier.try_wait.parity.shared.b64 %p1, [s], %other; }

They are guesses, as those for IR (`checker.verdict.edits`): `checker.verdict.repairing` tries them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from typing import TypeAlias

from tileas_xdsl.checker.verdict.repairing import Lines
from tileas_xdsl.machine.core.violations import Violation, ViolationKind
from tileas_xdsl.readers.ptx.syntax import Instruction, Label

Span: TypeAlias = tuple[int, int]
"""The first and the last line, counted from 1, of the instructions that became one op."""

COUNTED = ("cp.async.wait_group", "cp.async.bulk.wait_group", "wgmma.wait_group")
"""Waits whose operand says how many groups may stay unfinished."""
WAITS_FOR_PHASES = ("mbarrier.try_wait.parity", "mbarrier.test_wait.parity")
ARRIVALS = ("mbarrier.arrive", "cp.async.mbarrier.arrive", "tcgen05.commit", "bar.arrive", "barrier.arrive")
COMMITS = ("cp.async.commit_group", "cp.async.bulk.commit_group", "wgmma.commit_group")
FENCES = ("fence.", "wgmma.fence", "tcgen05.fence")
MOVABLE = (*COUNTED, *ARRIVALS, *COMMITS, *FENCES, "cp.async.wait_all", "bar.sync", "barrier.sync", "tcgen05.wait")
"""Beginnings of the names of instructions that are there for the sake of order."""
MEMORY = ("ld.shared", "st.shared", "cp.", "wgmma.", "tcgen05.", "mbarrier.", "ldmatrix", "stmatrix", "atom.shared")
BRANCHES = ("bra", "brx", "ret", "exit", "trap")
NUMBER = re.compile(r"\d+")
FAR = 3
"""How many instructions that matter a piece of synchronisation is moved past."""
NEIGHBOURS = 2
"""How many labels and branches before and behind a party have places for an edit: threads meet there again."""
MOST_LINES = 12
"""How many lines an edit may span: an instruction that is moved further is hard to follow."""


@dataclass(frozen=True)
class Case:
    """A violation in a kernel, with the lines of its parties and of its witness."""

    text: str
    body: Sequence[Instruction | Label]
    violation: Violation
    parties: Sequence[Span]
    about: Sequence[Span]

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def instructions(self) -> list[Instruction]:
        """Those of the kernel, in order."""
        return [each for each in self.body if isinstance(each, Instruction)]

    def named(self, names: tuple[str, ...]) -> list[Instruction]:
        """The instructions whose names begin so, the nearest to the lines of the mistake first."""
        near = {line: number for number, (line, _) in enumerate([*self.parties, *self.about])}
        found = [each for each in self.instructions if each.name.startswith(names)]
        return sorted(found, key=lambda each: (near.get(each.line, len(near)), self._far(each.line)))

    def _far(self, line: int) -> int:
        return min((abs(line - party) for party, _ in self.parties), default=0)

    def uses(self, *names: str) -> bool:
        """Whether the kernel has an instruction whose name begins so."""
        return any(each.name.startswith(names) for each in self.instructions)

    def number(self, operand: str) -> int | None:
        """The number that an operand is, or that its register is set to where nothing else sets it."""
        if NUMBER.fullmatch(operand):
            return int(operand)
        sets = [operands_of(each) for each in self.instructions if operands_of(each)[:1] == [operand]]
        if len(sets) != 1 or len(sets[0]) != 2 or not NUMBER.fullmatch(sets[0][1]):
            return None
        return int(sets[0][1])

    @cached_property
    def stops(self) -> list[int]:
        """The lines of labels and branches."""
        return [each.line for each in self.body if isinstance(each, Label) or each.words[0] in BRANCHES]

    def block_of(self, line: int) -> tuple[int, int]:
        """The first line of the straight code around `line`, and the line of the branch or label that ends it."""
        start = max((stop + 1 for stop in self.stops if stop < line), default=self.body[0].line)
        end = min((stop for stop in self.stops if stop >= line), default=self.body[-1].line + 1)
        return start, end

    def after(self, line: int) -> int:
        """The line in front of which something stands behind the instruction that begins on `line`."""
        number = line
        while ";" not in self.lines[number - 1] and number < len(self.lines):
            number += 1
        return number + 1


def edits(case: Case) -> Iterator[Lines]:
    """What may repair the violation, the likeliest first, each edit once."""
    known: set[Lines] = set()
    first, *others = (generator(case) for generator in GENERATORS[case.violation.kind])
    for edit in chain(first, _in_turn(others)):
        if edit not in known and edit[1] != edit[2]:
            known.add(edit)
            yield edit


def _in_turn(sources: Sequence[Iterator[Lines]]) -> Iterator[Lines]:
    """One edit of each source, and so on, for a long one shall not hide the others."""
    return (edit for row in zip_longest(*sources) for edit in row if edit is not None)


# Places and texts -----------------------------------------------------------------------------------------------------


def gaps(case: Case) -> Iterator[int]:
    """
    Lines in front of which something may stand: about the parties, the last one first; about the labels and branches
    near them; about other waits.
    """
    near = list(dict.fromkeys([*case.parties[::-1], *case.about]))
    for first, last in near:
        yield first
        yield case.after(last)
    for first, last in near:
        before = [stop for stop in case.stops if stop < first][-NEIGHBOURS:]
        behind = [stop for stop in case.stops if stop > last][:NEIGHBOURS]
        for stop in (*before[::-1], *behind):
            yield from (stop, stop + 1)
    for each in case.named(("bar.", "barrier.", *WAITS_FOR_PHASES, *COUNTED)):
        yield each.line
        yield case.after(each.line)


def _inserted(case: Case, statements: Iterable[Sequence[str]], places: Iterable[int] | None = None) -> Iterator[Lines]:
    """Each of the `statements`, of one line or more, at each of the places."""
    known = list(dict.fromkeys(gaps(case) if places is None else places))
    for statement in statements:
        for line in known:
            like = case.lines[line - 1] if line <= len(case.lines) else ""
            margin = like[: len(like) - len(like.lstrip())]
            yield line, (), tuple(f"{margin}{each}" for each in statement)


def _replaced(case: Case, instruction: Instruction, new: str) -> Iterator[Lines]:
    """The instruction, which stands on one line and is the only one there of its name, with other operands."""
    old = case.lines[instruction.line - 1]
    start = old.find(instruction.name)
    end = old.find(";", start)
    if end >= 0 and old.count(instruction.name) == 1:
        yield instruction.line, (old,), (old[:start] + new + old[end + 1 :],)


def operands_of(instruction: Instruction) -> list[str]:
    """Its operands, of which an address in brackets is one."""
    return [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|\{[^}]*\}|[^,\[{])+", instruction.text)]


# What may be corrected ------------------------------------------------------------------------------------------------


def weaker_counts(case: Case) -> Iterator[Lines]:
    """A wait that leaves fewer groups unfinished: one fewer, or none."""
    for each in case.named(COUNTED):
        (count,) = operands_of(each)[:1] or [""]
        if NUMBER.fullmatch(count) and int(count):
            for fewer in dict.fromkeys((int(count) - 1, 0)):
                yield from _replaced(case, each, f"{each.name} {fewer};")


def other_parities(case: Case) -> Iterator[Lines]:
    """A wait for the other phase."""
    for each in case.named(WAITS_FOR_PHASES):
        done, barrier, parity, *more = operands_of(each)
        rest = "".join(f", {operand}" for operand in more)
        if parity in ("0", "1"):
            instead = f"{each.name} {done}, {barrier}, {1 - int(parity)}{rest};"
        else:
            waits = f"{each.name} {done}, {barrier}, %other{rest};"
            instead = f"{{ .reg .b32 %other; xor.b32 %other, {parity}, 1; {waits} }}"
        if each.guard is None:
            yield from _replaced(case, each, instead)


def arrival_counts(case: Case) -> Iterator[Lines]:
    """An mbarrier that is made for another number of arrivals."""
    wanted = case.violation.instead
    for each in case.named(("mbarrier.init",)):
        barrier, count = operands_of(each)
        others = [wanted] if wanted is not None else []
        if (known := case.number(count)) is not None:
            others += [known + 1, known - 1]
        for other in dict.fromkeys(number for number in others if number > 0):
            text = f"{each.name} {barrier}, {other};"
            yield from _replaced(case, each, text)


def other_bytes(case: Case) -> Iterator[Lines]:
    """An mbarrier that expects twice the bytes, or half of them."""
    for each in case.named(("mbarrier.arrive.expect_tx", "mbarrier.expect_tx")):
        *rest, count = operands_of(each)
        if (known := case.number(count)) is not None:
            for other in (2 * known, known // 2):
                text = f"{each.name} {', '.join([*rest, str(other)])};"
                yield from _replaced(case, each, text)


# What may be inserted -------------------------------------------------------------------------------------------------


def barriers(case: Case) -> Iterator[Lines]:
    """A barrier of the block, or of the warp."""
    yield from _inserted(case, [["bar.sync 0;"], ["bar.warp.sync -1;"]])


def waits(case: Case) -> Iterator[Lines]:
    """A wait for all of what the kernel issues: each kind of wait that it has a use for."""
    statements: list[list[str]] = []
    if case.uses("cp.async.c"):
        statements += [["cp.async.wait_all;"], ["cp.async.wait_all;", "bar.sync 0;"]]
    if case.uses("cp.async.bulk.commit_group", "cp.async.bulk.tensor"):
        statements += [["cp.async.bulk.wait_group.read 0;"], ["cp.async.bulk.wait_group 0;"]]
    if case.uses("wgmma.mma_async"):
        statements += [["wgmma.wait_group.sync.aligned 0;"]]
    if case.uses("tcgen05.ld", "tcgen05.st"):
        statements += [[f"tcgen05.wait::{kind}.sync.aligned;"] for kind in ("ld", "st")]
    yield from _inserted(case, statements)


def waits_for_phases(case: Case) -> Iterator[Lines]:
    """A wait of the kernel for a phase, again."""
    for each in case.named(WAITS_FOR_PHASES):
        _, *operands = operands_of(each)
        wait = f"{each.name} %done, {', '.join(operands)};"
        loop = ["{ .reg .pred %done;", f"AGAIN: {wait}", "@!%done bra AGAIN; }"]
        yield from _inserted(case, [loop])


def waits_at_ends(case: Case) -> Iterator[Lines]:
    """A wait for everything before the kernel ends."""
    ends = [each.line for each in case.named(("ret", "exit"))]
    statements = [["cp.async.bulk.wait_group 0;"], ["cp.async.wait_all;"], ["wgmma.wait_group.sync.aligned 0;"]]
    yield from _inserted(case, statements, ends)


def commits(case: Case) -> Iterator[Lines]:
    """A group that is closed."""
    kinds = (("cp.async.c", "cp.async.commit_group"), ("cp.async.bulk.tensor", "cp.async.bulk.commit_group"))
    statements = [[f"{commit};"] for copy, commit in kinds if case.uses(copy)]
    if case.uses("wgmma.mma_async"):
        statements.append(["wgmma.commit_group.sync.aligned;"])
    yield from _inserted(case, statements)


def fences(case: Case) -> Iterator[Lines]:
    """A fence: between proxies, of registers that a product reads, of new mbarriers, of tensor memory."""
    statements = [["fence.proxy.async.shared::cta;"]]
    if case.uses("wgmma."):
        statements.insert(0, ["wgmma.fence.sync.aligned;"])
    if case.uses("mbarrier.init"):
        statements.append(["fence.mbarrier_init.release.cluster;"])
    if case.uses("tcgen05."):
        statements += [[f"tcgen05.fence::{side}_thread_sync;"] for side in ("before", "after")]
    yield from _inserted(case, statements)


def arrivals(case: Case) -> Iterator[Lines]:
    """An arrival of the kernel, again."""
    for each in case.named(ARRIVALS):
        yield from _inserted(case, [[f"{_guard_of(each)}{each.name} {each.text.strip()};"]])


def _guard_of(instruction: Instruction) -> str:
    return "" if instruction.guard is None else f"@{instruction.guard} "


def moves(case: Case) -> Iterator[Lines]:
    """A piece of synchronisation, past up to `FAR` instructions that matter, in its straight code."""
    for each in case.named(MOVABLE):
        start, end = case.block_of(each.line)
        others = [
            other.line
            for other in case.instructions
            if start <= other.line < end and other is not each and other.name.startswith((*MOVABLE, *MEMORY))
        ]
        for line in [*[line for line in others if line < each.line][: -FAR - 1 : -1]]:
            yield from _moved(case, each.line, line)
        for line in [line for line in others if line > each.line][:FAR]:
            yield from _moved(case, each.line, case.after(line))


def _moved(case: Case, line: int, before: int) -> Iterator[Lines]:
    """The line `line` in front of the line `before`."""
    own = case.lines[line - 1]
    if own.count(";") != 1 or abs(before - line) > MOST_LINES:
        return
    if before < line:
        between = case.lines[before - 1 : line - 1]
        yield before, (*between, own), (own, *between)
    else:
        between = case.lines[line : before - 1]
        yield line, (own, *between), (*between, own)


Generator: TypeAlias = Callable[[Case], Iterator[Lines]]
GENERATORS: dict[ViolationKind, Sequence[Generator]] = {
    ViolationKind.RACE: (
        *(weaker_counts, commits, waits, barriers, waits_for_phases, other_parities, fences, arrival_counts),
        *(other_bytes, moves),
    ),
    ViolationKind.MISSING_FENCE: (fences, moves, barriers),
    ViolationKind.PHASE: (other_parities, arrival_counts, other_bytes, arrivals, waits_for_phases, barriers, moves),
    ViolationKind.DEADLOCK: (arrival_counts, other_bytes, other_parities, arrivals, barriers, moves),
    ViolationKind.UNDRAINED: (waits_at_ends, commits, weaker_counts, waits, moves),
    ViolationKind.ABSENT: (moves,),
    ViolationKind.SLOT: (moves,),
    ViolationKind.MALFORMED: (fences, moves),
}
"""Kind of a violation -> what to try: all that the first one proposes, then one edit of each other in turn."""
