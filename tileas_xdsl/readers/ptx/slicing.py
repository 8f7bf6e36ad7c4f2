"""
What matters of a kernel: dead code elimination whose roots are what others can see (Cytron et al., 1991, section 7).

    roots        accesses of shared and tensor memory, asynchronous copies, barriers, fences: the steps that `act`
    a value      that matters brings the operands of its step; a phi also what decides which of them it is
    a step       that matters brings the branches on which its block is control dependent
    a branch     that brings nothing goes on where its sides meet

So loops that only compute numbers vanish, and all that is stored to global memory. What is stored to shared memory
matters only where a number that was loaded from there does.

Which bytes an access may reach: of which array, from where to where.

    [s + 96]                    bytes 96 to 99 of s
    [s + 96 + tid.x / 32]       bytes 96 to 127: a block has 1024 threads at most

So a dispatch of warps through a few bytes does not ask for what else is stored to shared memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from tileas_xdsl.analysis.dominance import immediate_dominators
from tileas_xdsl.readers.ptx.arithmetic import is_number
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value

MOST_THREADS = 1024
"""Of a block (CUDA C++ Programming Guide, "Compute Capabilities")."""
MOST_STEPS = 64
"""Longer computations are not followed."""


@dataclass(frozen=True)
class Reach:
    """Bytes `start` to `stop` of the array `name`."""

    name: str
    start: int
    stop: int

    def meets(self, other: Reach | None) -> bool:
        """Whether it may share a byte with `other`; None: who knows where that is."""
        if other is None:
            return True
        return self.name == other.name and self.start < other.stop and other.start < self.stop


def reach_of(step: Step) -> Reach | None:
    """What a load or a store may reach; None where nothing bounds it."""
    bits = sum(each.bits for each in (step.stored or step.results))
    name, least, most = _interval(step.operands[0], MOST_STEPS) or (None, 0, 0)
    return None if name is None else Reach(name, least, most + bits // 8)


_Interval = tuple[str | None, int, int]
"""An array and least and most offset in it, or least and most of a number."""


def _interval(operand: Operand, steps: int) -> _Interval | None:
    if isinstance(operand, Constant):
        return None, operand.value, operand.value
    step = operand.step if isinstance(operand, Value) else None
    if step is None or not steps:
        return None
    if step.kind == "address":
        name, offset = step.detail
        return name, offset, offset
    if step.kind == "special":
        return (None, 0, MOST_THREADS - 1) if step.what.startswith("%tid.") else None
    inner = [_interval(each, steps - 1) for each in step.operands[:2]]
    a, b, *_ = (*inner, None, None)
    return _combined(step, a, b)


def _combined(step: Step, a: _Interval | None, b: _Interval | None) -> _Interval | None:
    """The interval of `step`, whose first operands have the intervals `a` and `b`."""
    by = b[1] if b is not None and b[0] is None and b[1] == b[2] else None
    what, most = step.what, 1 << step.results[0].bits
    if what == "and" and by is not None and by < most // 2:
        return None, 0, min(by, a[2]) if a is not None and a[0] is None else by
    if a is None:
        return None
    name, low, high = a
    if what in ("zext", "trunc", "shfl"):
        return a if what != "trunc" or name is not None or high < most else None
    if what == "add" and b is not None and None in (name, b[0]):
        total = (name or b[0], low + b[1], high + b[2])
        return total if total[2] < most else None
    if name is not None or by is None:
        return None
    if what == "shr.u":
        return None, low >> by, high >> by
    if what in ("mul", "shl"):
        factor = by if what == "mul" else 1 << by
        return (None, low * factor, high * factor) if high * factor < most else None
    return None


LOADS = ("load", "generic load")


@dataclass
class Slice:
    """The steps and branches that matter."""

    steps: set[Step] = field(default_factory=set[Step])
    values: set[Operand] = field(default_factory=set[Operand])
    """Numbers that steps and branches that matter read."""
    branches: set[Block] = field(default_factory=set[Block])
    """Blocks whose branch matters."""
    kept: set[Block] = field(default_factory=set[Block])
    """Blocks that are kept, if only to say which operand of a phi is meant."""
    after: Mapping[Block, Block] = field(default_factory=dict[Block, Block])
    """The immediate post-dominator of each."""
    stores: set[Step] = field(default_factory=set[Step])
    """Steps whose stored numbers matter: they may be loaded where numbers do."""
    dropped_loops: list[Block] = field(default_factory=list[Block])
    """Blocks whose branch back was dropped, and with it a loop that waits for data."""

    def target(self, block: Block) -> Block:
        """Where control goes on that would go to `block`."""
        while block not in self.kept and block in self.after:
            block = self.after[block]
        return block


def slice_of(blocks: list[Block]) -> Slice:
    """What matters of `blocks`, the first of which is entered."""
    found = _Marking(blocks).all()
    found.dropped_loops = [block for block in blocks if _is_dropped_wait(block, found)]
    return found


class _Marking:
    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.home = {step: block for block in blocks for step in (*block.phis, *block.steps)}
        self.after, self.deciding = control_dependence(blocks)
        self.found = Slice(after=self.after)
        self.worklist: list[Step] = []
        self.numbers: dict[Operand, bool] = {}
        self.stores: list[Step] = []
        self.asked: list[Reach | None] = []
        """Where numbers are loaded that matter."""

    def all(self) -> Slice:
        for block in self.blocks:
            for step in block.steps:
                if step.kind == "act":
                    self.mark(step)
                if step.stored:
                    self.stores.append(step)
        self.spread()
        self.found.kept |= {self.blocks[0], *(block for block in self.blocks if not block.successors)}
        return self.found

    def mark(self, step: Step) -> None:
        if step not in self.found.steps:
            self.found.steps.add(step)
            self.worklist.append(step)

    def spread(self) -> None:
        while self.worklist:
            step = self.worklist.pop()
            block = self.home[step]
            self.found.kept.add(block)
            self.needs(block)
            for operand in step.operands:
                self.value(operand)
            if step.kind == "phi":
                for before in block.predecessors:
                    self.found.kept.add(before)
                    self.needs(before)
                    if len(before.successors) > 1:
                        self.branch(before)
            self.stored_by(step)

    def value(self, operand: Operand) -> None:
        if not isinstance(operand, Value) or operand.step is None:
            return
        self.found.values.add(operand)
        step = operand.step
        if step.what in LOADS:
            self.asks_for(reach_of(step))
        self.mark(step)

    def asks_for(self, place: Reach | None) -> None:
        """What is stored at `place` matters."""
        if place in self.asked:
            return
        self.asked.append(place)
        for store in self.stores:
            if store in self.found.steps:
                self.stored_by(store)

    def stored_by(self, step: Step) -> None:
        place = reach_of(step) if step.stored else None
        if not any(asked is None or asked.meets(place) for asked in self.asked):
            return
        self.found.stores.add(step)
        for operand in step.stored:
            if is_number(operand, self.numbers):
                self.value(operand)

    def needs(self, block: Block) -> None:
        """The branches that decide whether `block` is executed matter."""
        for decider in self.deciding.get(block, ()):
            self.branch(decider)

    def branch(self, block: Block) -> None:
        if block in self.found.branches:
            return
        self.found.branches.add(block)
        self.found.kept.add(block)
        self.needs(block)
        if block.condition is not None:
            self.value(block.condition)


def control_dependence(blocks: list[Block]) -> tuple[Mapping[Block, Block], Mapping[Block, list[Block]]]:
    """The immediate post-dominator of each block, and the branches on which each is control dependent."""
    end = Block(-1)
    before: dict[Block, list[Block]] = defaultdict(list)
    for block in blocks:
        for successor in block.successors:
            before[successor].append(block)
        if not block.successors:
            before[end].append(block)
    after = immediate_dominators(end, lambda block: before[block])
    while len(after) < len(blocks):  # a loop without an exit: as if its last block led to the end
        stuck = next(block for block in reversed(blocks) if block not in after)
        before[end].append(stuck)
        after = immediate_dominators(end, lambda block: before[block])
    deciding: dict[Block, dict[Block, None]] = defaultdict(dict)
    for block in blocks:
        if len(block.successors) < 2:
            continue
        for successor in block.successors:
            runner = successor
            while runner is not after[block] and runner is not end:
                deciding[runner][block] = None
                runner = after[runner]
    real = {block: post for block, post in after.items() if post is not end}
    return real, {block: list(those) for block, those in deciding.items()}


def _is_dropped_wait(block: Block, found: Slice) -> bool:
    """Whether the dropped branch of `block` was one on data that closed or left a loop."""
    if len(block.successors) < 2 or block in found.branches:
        return False
    return block.condition is not None and _comes_from_memory(block.condition, set()) and is_in_loop(block)


def _comes_from_memory(operand: Operand, seen: set[Operand]) -> bool:
    if not isinstance(operand, Value) or operand.step is None or operand in seen:
        return False
    seen.add(operand)
    step = operand.step
    if step.kind == "unknown":
        return "global" in step.what or step.what.startswith("atom")
    return any(_comes_from_memory(each, seen) for each in step.operands)


def is_in_loop(block: Block) -> bool:
    """Whether control that leaves `block` can come back to it."""
    seen: set[Block] = set()
    worklist = list(block.successors)
    while worklist:
        each = worklist.pop()
        if each is block:
            return True
        if each not in seen:
            seen.add(each)
            worklist += each.successors
    return False
