"""
Which values travel between the slots of an expanded loop, and how far.

Enters a loop body and its placement; leaves *streams*. The stream of a result is the sequence of its values, one an
iteration; before its first come the initial values of the arguments that carry it:

    scf.for ... iter_args(%a = %0, %b = %1) {         the stream of %c at iterations -2, -1, 0, 1 ...
      %c = f(%a, %b)                                  %1, %0, %c of iteration 0, %c of iteration 1 ...
      scf.yield %c, %a                                %a reads it 1 iteration back, %b 2 iterations back
    }

Where two arguments carry the same value and start differently, there is a stream for each. An argument that no op makes
(two buffers that change places) is a stream of its own.

A use that runs `age` slots after the definition reads the stream at that age. The kernel carries ages `1 .. depth` as
arguments and shifts them by one each trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.analysis.dependence import Placement
from tileas_xdsl.analysis.loop_values import LoopValues, OriginKind


@dataclass(frozen=True, eq=False)
class Stream:
    """
    The values of `root`, an op result of the body, over the iterations; or those of `argument`, which no op makes.

    `stage` is that of the op; an argument counts as made at the start of stage 0. `initial[k]` stands for iteration
    `-1 - k` of a result; an argument has one, for iteration 0. `depth` is the greatest age in slots at which the stream
    is read, or -1.
    """

    root: OpResult | None
    argument: BlockArgument | None
    stage: int
    initial: tuple[SSAValue, ...]
    depth: int

    @property
    def ages(self) -> range:
        """The ages that the kernel carries, oldest first. An argument is carried at age 0 too: no op makes it anew."""
        return range(self.depth, 0 if self.argument is None else -1, -1)

    @property
    def source(self) -> SSAValue:
        """The result or the argument."""
        source = self.root if self.root is not None else self.argument
        assert source is not None
        return source


@dataclass(frozen=True)
class Read:
    """An op reads `value`: that is `stream` at `age` slots, or `constant`, or else the induction variable."""

    value: SSAValue
    stream: Stream | None = None
    age: int = 0
    constant: SSAValue | None = None


@dataclass(frozen=True, eq=False)
class PlannedOp:
    """An op of the body. Stages count from 0, `rank` is the place in kernel order; `makes` has streams per result."""

    op: Operation
    stage: int
    rank: int
    reads: tuple[Read, ...]
    makes: tuple[tuple[Stream, ...], ...]


@dataclass(frozen=True)
class LoopResult:
    """
    Where the final value of a carried argument is found.

    In `stream` at `slot`, counted from the first slot behind the kernel; or it is `constant` all along.
    """

    stream: Stream | None
    slot: int
    constant: SSAValue | None = None


@dataclass
class _Draft:
    """A stream in the making. `first_argument` is the lowest index of the arguments that it carries."""

    root: OpResult | None
    argument: BlockArgument | None
    stage: int
    first_argument: int | None = None
    initial: list[SSAValue] = field(default_factory=list[SSAValue])
    depth: int = -1

    def carry(self, argument: BlockArgument, first_value: SSAValue) -> None:
        self.initial.append(first_value)
        if self.first_argument is None or argument.index < self.first_argument:
            self.first_argument = argument.index

    def deepen(self, age: int) -> None:
        self.depth = max(self.depth, age)


class StreamPlanner:
    """Finds the streams of a loop body, and who reads them at which age. Linear in the uses of the body."""

    def __init__(self, values: LoopValues, placements: Mapping[Operation, Placement], *, drains_itself: bool) -> None:
        """`drains_itself` says that the kernel runs until the last stage is done, and not until the first is."""
        self.values = values
        self.kernel_order = sorted(values.ops, key=lambda op: placements[op].order)
        stages = [placements[op].stage for op in values.ops]
        self.first_stage = min(stages, default=0)
        self.stage_count = max(stages, default=0) - self.first_stage + 1
        self.stage = {op: placements[op].stage - self.first_stage for op in values.ops}
        self.constants: dict[SSAValue, SSAValue] = {}
        # The first slot behind the kernel is N; where it drains by itself, N + M.
        self._slots_past_the_end = self.stage_count - 1 if drains_itself else 0
        self._drafts: list[_Draft] = []
        self._draft_of: dict[SSAValue, tuple[_Draft, int]] = {}
        self._drafts_of_root: dict[SSAValue, list[_Draft]] = {}
        self._draft_streams()
        self._measure_depths()
        self._streams = {id(draft): _finished(draft) for draft in self._in_order()}

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that are read, in the order of the carried arguments, then in program order."""
        return tuple(stream for stream in self._streams.values() if stream.depth >= 0)

    def plan_ops(self) -> tuple[PlannedOp, ...]:
        """The ops in kernel order, with what they read and make."""
        planned: list[PlannedOp] = []
        for rank, op in enumerate(self.kernel_order):
            makes = tuple(
                tuple(self._streams[id(d)] for d in self._drafts_of_root[result] if d.depth >= 0)
                for result in op.results
            )
            planned.append(PlannedOp(op, self.stage[op], rank, tuple(self._reads(op)), makes))
        return tuple(planned)

    def plan_results(self) -> tuple[LoopResult | None, ...]:
        """For each result of the loop where it is found, None where it is not used."""
        results: list[LoopResult | None] = []
        for argument, result in zip(self.values.carried, self.values.loop.res, strict=True):
            if result.first_use is None:
                results.append(None)
            elif argument in self.constants:
                results.append(LoopResult(None, 0, self.constants[argument]))
            else:
                draft, distance = self._draft_of[argument]
                slot = draft.stage - distance - self._slots_past_the_end
                results.append(LoopResult(self._streams[id(draft)], slot))
        return tuple(results)

    def plan_arguments(self) -> tuple[tuple[Stream, int] | None, ...]:
        """For each carried argument its stream and how far back there it reads; None where it never changes."""
        found: list[tuple[Stream, int] | None] = []
        for argument in self.values.carried:
            draft = self._draft_of.get(argument)
            found.append(None if draft is None else (self._streams[id(draft[0])], draft[1]))
        return tuple(found)

    def _reads(self, op: Operation) -> list[Read]:
        reads: list[Read] = []
        for value in self.values.read_by(op):
            if value not in self._draft_of:
                reads.append(Read(value, constant=self.constants.get(value)))
                continue
            draft, distance = self._draft_of[value]
            reads.append(Read(value, self._streams[id(draft)], self._age(op, draft, distance)))
        return reads

    def _age(self, op: Operation, draft: _Draft, distance: int) -> int:
        return distance + self.stage[op] - draft.stage

    def _draft_streams(self) -> None:
        """One stream for each result and the arguments that carry it, more where two of these start differently."""
        carriers: dict[SSAValue, list[BlockArgument]] = {}
        for argument in self.values.carried:
            first_value = self.values.first_value(argument)
            kind = self.values.origin_of(argument).kind
            if kind is OriginKind.CONSTANT:
                self.constants[argument] = first_value
            elif kind is OriginKind.ROTATING:
                draft = self._new_draft(None, argument, 0)
                draft.carry(argument, first_value)
                self._draft_of[argument] = (draft, 0)
            else:
                carriers.setdefault(self.values.next_value(argument), []).append(argument)
        for op in self.values.ops:
            for result in op.results:
                draft = self._new_draft(result, None, self.stage[op])
                self._draft_of[result] = (draft, 0)
                self._follow(draft, result, carriers)

    def _follow(self, draft: _Draft, root: OpResult, carriers: Mapping[SSAValue, list[BlockArgument]]) -> None:
        """Give each argument in the chains behind `root` its place: the first of each fork stays in the stream."""
        stack: list[tuple[SSAValue, _Draft, int]] = [(root, draft, 0)]
        while stack:
            value, stream, distance = stack.pop()
            shared = tuple(stream.initial)
            for index, argument in enumerate(carriers.get(value, ())):
                target = stream
                if index > 0:
                    target = self._new_draft(root, None, stream.stage)
                    target.initial.extend(shared)
                target.carry(argument, self.values.first_value(argument))
                self._draft_of[argument] = (target, distance + 1)
                stack.append((argument, target, distance + 1))

    def _new_draft(self, root: OpResult | None, argument: BlockArgument | None, stage: int) -> _Draft:
        draft = _Draft(root, argument, stage)
        self._drafts.append(draft)
        if root is not None:
            self._drafts_of_root.setdefault(root, []).append(draft)
        return draft

    def _measure_depths(self) -> None:
        for op in self.values.ops:
            for value in self.values.read_by(op):
                if value in self._draft_of:
                    draft, distance = self._draft_of[value]
                    draft.deepen(self._age(op, draft, distance))
        for argument, result in zip(self.values.carried, self.values.loop.res, strict=True):
            if result.first_use is not None and argument in self._draft_of:
                draft, distance = self._draft_of[argument]
                draft.deepen(max(0, distance + self._slots_past_the_end - draft.stage))
        self._keep_sources_of_rotation()

    def _keep_sources_of_rotation(self) -> None:
        """An argument that rotates needs the one that it takes its next value from, and so on round."""
        needed = [draft for draft in self._drafts if draft.argument is not None and draft.depth >= 0]
        while needed:
            draft = needed.pop()
            assert draft.argument is not None
            source = self.values.next_value(draft.argument)
            if source not in self._draft_of:
                continue
            other, _ = self._draft_of[source]
            if other.depth < 0:
                other.deepen(0)
                needed.append(other)

    def _in_order(self) -> list[_Draft]:
        last = len(self.values.block.args)
        return sorted(self._drafts, key=lambda draft: last if draft.first_argument is None else draft.first_argument)


def _finished(draft: _Draft) -> Stream:
    return Stream(draft.root, draft.argument, draft.stage, tuple(draft.initial), draft.depth)
