"""
A steered execution: at each head of an open loop a guide looks at the state and decides whether the loop goes on.

A bound that agents know already may still bound a loop of another agent, or be compared there: these agents are
*ahead*.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.checker.decisions.cells import differs_between_programs, lies_in_its_cell
from tileas_xdsl.checker.decisions.derived_counts import DerivedCount
from tileas_xdsl.checker.proof.recorded_run import RecordedRun
from tileas_xdsl.checker.proof.separation import Contest
from tileas_xdsl.checker.snapshot.agents import activations
from tileas_xdsl.checker.snapshot.machine import take_snapshot
from tileas_xdsl.checker.snapshot.settled import Reach
from tileas_xdsl.checker.snapshot.snapshot import Demand, Snapshot
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
from tileas_xdsl.machine.core.loops.open_counts import OpenBound, OpenComparison, OpenCounts, OpenLoop, place_of
from tileas_xdsl.machine.core.moving_numbers import IrregularError
from tileas_xdsl.machine.core.opaque_numbers import SumOfIds
from tileas_xdsl.machine.core.synchronization import EndOfAgents
from tileas_xdsl.machine.twins import NoTwinError, Twins

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine


NO_COMPARISONS: Mapping[Operation, OpenComparison] = {}
OpsWith = Callable[[OpenBound], Sequence[Operation]]
"""The ops that may ask for a bound."""


class Ahead:
    """Looks for open loops ahead of agents, by where these stand in the code."""

    def __init__(
        self, loops: Mapping[Operation, OpenLoop], comparisons: Mapping[Operation, OpenComparison] = NO_COMPARISONS
    ) -> None:
        self.loops = loops
        self.comparisons = comparisons
        self._loops: dict[tuple[Hashable, int], list[Operation]] = {}
        self._comparisons: dict[tuple[Hashable, int], list[Operation]] = {}
        self._places: dict[Block, dict[Operation, int]] = {}

    def may_begin(self, agent: Agent, bound: OpenBound) -> bool:
        """Whether `agent` may still begin a loop with `bound`. May say yes where it cannot."""
        return self._comes_to(self._loops_with, agent, bound)

    def may_compare(self, agent: Agent, bound: OpenBound) -> bool:
        """Whether `agent` may still compare `bound` with a number. May say yes where it cannot."""
        return bool(self.comparisons) and self._comes_to(self._comparisons_with, agent, bound)

    def _comes_to(self, ops: OpsWith, agent: Agent, bound: OpenBound) -> bool:
        place = place_of(agent)
        for depth, (outer, induction) in enumerate(bound.place):
            if depth == len(place):
                return self.may_begin(agent, outer) and self._runs(ops, agent, bound, depth)
            other, own = place[depth]
            if other is not outer:
                return self.may_begin(agent, outer)
            if own != induction:
                return own < induction and self._runs(ops, agent, bound, depth)
        return self._runs(ops, agent, bound, len(bound.place))

    def _runs(self, ops: OpsWith, agent: Agent, bound: OpenBound, depth: int) -> bool:
        """Whether a loop with the term of `bound` is ahead of `agent`, in the present turn of its loop of `depth`."""
        frames = [frame for _, frames in reversed(list(activations(agent))) for frame in frames]
        if not frames:
            # It has not begun yet; or it has left the whole function to agents that it has started, and awaits them.
            return bool(ops(bound)) and not isinstance(agent.waiting_for, EndOfAgents)
        around = [place for place, (_, op) in enumerate(frames) if op in self.loops]
        inherited = len(place_of(agent)) - len(around)
        skipped = depth - inherited
        inner = frames[around[skipped - 1] + 1 :] if 0 < skipped <= len(around) else frames
        at = dict(inner)
        return any(self._is_ahead(op, at) for op in ops(bound))

    def _loops_with(self, bound: OpenBound) -> list[Operation]:
        """The loops that may have `bound`: it is theirs, and as many open loops are around them."""
        key = (bound.term, len(bound.place))
        if key not in self._loops:
            self._loops[key] = [op for op, loop in self.loops.items() if (loop.term, loop.depth) == key]
        return self._loops[key]

    def _comparisons_with(self, bound: OpenBound) -> list[Operation]:
        """The ops that may compare `bound`: also those in loops that it bounds."""
        key = (bound.term, len(bound.place))
        if key not in self._comparisons:
            self._comparisons[key] = [
                op for op, how in self.comparisons.items() if how.term == bound.term and how.depth >= len(bound.place)
            ]
        return self._comparisons[key]

    def _is_ahead(self, op: Operation, at: Mapping[Block, Operation | None]) -> bool:
        outermost: tuple[Block, Operation] | None = None
        node: Operation | None = op
        while node is not None and node.parent is not None:
            if node.parent in at:
                outermost = (node.parent, node)
            node = node.parent.parent_op()
        if outermost is None:
            return False
        block, node = outermost
        current = at[block]
        if node is current:
            return node is not op and not _is_run_by_others(op, node)
        if current is None or block.next_block is not None or block.prev_block is not None:
            return True
        places = self._places.get(block)
        if places is None:
            places = self._places[block] = {each: place for place, each in enumerate(block.ops)}
        return places[node] > places[current]


def _is_run_by_others(op: Operation, around: Operation) -> bool:
    """Whether `around`, which an agent runs, leaves `op`, which is in it, to agents that it has started."""
    node: Operation | None = op
    while node is not None and node is not around:
        node = node.parent_op()
        if node is not None and AgentLikeOpInterface.of(node) is not None:
            return True
    return False


@dataclass(frozen=True)
class LoopHead:
    """An agent is at the head of a loop, or at a comparison, and the machine in the state of `snapshot`."""

    agent: int
    """The place of the agent among the live ones."""
    op: Operation
    snapshot: Snapshot
    place: int
    """How many entries the recorded run has by now."""
    went_wrong: bool
    """Whether something is wrong already, so that the state tells nothing."""


@dataclass
class PutAside:
    """A steered execution at a question: the twin of one that has gone on."""

    machine: Machine
    run: SteeredRun
    agent: Agent
    """The agent that has stopped there."""


@dataclass
class ReachedParts:
    """
    By which forms executions reach the parts of arrays, and which of these they write.

    Two forms lie at a distance that differs between blocks. An execution in which both are reached, and one is written,
    is refused (`opaque_numbers`). What several executions reach may be reached in one that is made of them.
    """

    forms: dict[str, set[object]] = field(default_factory=dict[str, set[object]])
    """Family of an array -> the forms by which it is reached; None where no such number leads there."""
    written: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """Family of an array that is written -> an op that does so."""
    beyond_cells: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """Family of an array -> an op that reaches beyond the cell of a program (`cells`)."""

    def note(self, access: Access) -> None:
        base = access.region.base
        self.forms.setdefault(base.family, set()).add(base.form)
        if access.is_write:
            self.written.setdefault(base.family, access.op)
        if differs_between_programs(base) and not lies_in_its_cell(access.region):
            self.beyond_cells.setdefault(base.family, access.op)

    def add(self, other: ReachedParts) -> None:
        for family, forms in other.forms.items():
            self.forms.setdefault(family, set()).update(forms)
        self.written = {**other.written, **self.written}
        self.beyond_cells = {**other.beyond_cells, **self.beyond_cells}

    def check(self) -> None:
        """Raises `IrregularError` for an array that is written, and reached by several forms or beyond a cell."""
        for family, op in self.written.items():
            if family in self.beyond_cells:
                reason = f"reaches places of '{family}' that those of another program may meet elsewhere"
                raise IrregularError(self.beyond_cells[family], reason)
            if len(self.forms[family]) > 1:
                raise IrregularError(op, f"reaches '{family}' at a distance that differs between blocks")

    def check_programs(self, walked: Mapping[str, Operation], read: Mapping[str, Operation]) -> None:
        """
        Raises `IrregularError` for an array that programs write, if places in it are `walked` in a program, or numbers
        are `read` from it: those that another program has stored elsewhere.
        """
        for family in self.written:
            if not any(isinstance(form, SumOfIds) and form.is_of_program for form in self.forms[family]):
                continue
            if family in walked:
                raise IrregularError(walked[family], f"walks through '{family}', of which each program has a part")
            if family in read:
                raise IrregularError(read[family], f"takes a number from '{family}', of which each program has a part")


KeepTwin = Callable[[], PutAside | None]
"""Makes a twin of the execution as it is at the question; None where that cannot be done."""


OBJECTS_OF_A_STEP = 1
"""So many objects are copied in the time of a step of the machine."""


class Pilot(Protocol):
    """Decides in one execution."""

    def decided(self) -> bool | None:
        """Whether the loop has one more turn, if that is decided without a look at the state; else None."""
        ...

    def goes_on(self, question: LoopHead, keep_twin: KeepTwin) -> bool:
        """Whether the loop has one more turn. With a twin the other decision can be taken later."""
        ...

    @property
    def compares_places(self) -> bool:
        """Whether what follows is the first visit of its decision, with the accesses of which others are compared."""
        ...


class SteeredRun(RecordedRun):
    """The recorded run of an execution in which `guide` decides how often the open loops turn."""

    def __init__(
        self,
        guide: Pilot,
        loops: Mapping[Operation, OpenLoop],
        comparisons: Mapping[Operation, OpenComparison],
        demands: Mapping[SSAValue, Demand],
        reach: Reach,
        *,
        as_slots_turn: bool,
        gathers_leftovers: bool,
    ) -> None:
        super().__init__(None, reach, as_slots_turn=as_slots_turn, gathers_leftovers=gathers_leftovers)
        self.guide = guide
        self.opened = loops
        self.demands = demands
        self.was_put_aside = False
        """Whether it has gone on from a question, and not begun at the start."""
        self._ahead = Ahead(loops, comparisons)
        self._asked: tuple[Agent, Operation] | None = None
        self._goes_on = False
        self._counts: OpenCounts | None = None
        self.contest = Contest[str]()
        """Of all accesses, by families of objects; also of those before the execution was put aside."""
        self.parts = ReachedParts()
        """The same of the parts of arrays that numbers lead to which differ between blocks."""
        # A visit begins at a question that the guide looks at, and ends at the next one, or with the execution.
        self.takes_notes = False

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        super().access(access, mind, history)
        self.contest.note(access.region.base.family, access)
        self.parts.note(access)

    @property
    def counts(self) -> Mapping[Hashable, Sequence[int]]:
        """Term -> the counts that loops with that bound have taken so far."""
        return self._counts.counts if self._counts is not None else {}

    def asks(self, agent: Agent, op: Operation) -> None:
        self._asked = (agent, op)

    def stopped(self, machine: Machine) -> bool:
        """Let the guide decide about the loop at whose head an agent has paused; returns whether one has."""
        if self._asked is None:
            return False
        agent, op = self._asked
        self._asked = None
        machine.part(OpenCounts).forget(machine.live, self._ahead)
        self._counts = machine.part(OpenCounts)
        decided = self.guide.decided()
        self.takes_notes = decided is None
        self._goes_on = self._looked_at(machine, agent, op) if decided is None else decided
        self.notes_encounters = self.guide.compares_places
        return True

    def _looked_at(self, machine: Machine, agent: Agent, op: Operation) -> bool:
        """Show the state to the guide."""
        went_wrong = not machine.is_right_beyond_doubt
        snapshot = take_snapshot(
            machine,
            self._unsettled,
            as_slots_turn=self.as_slots_turn,
            gathers_leftovers=self.gathers_leftovers,
            demands=self.demands,
        )
        place = machine.live.index(agent)
        question = LoopHead(place, op, snapshot, len(self.entries), went_wrong)
        return self.guide.goes_on(question, lambda: self._put_aside(machine, agent, op))

    def _put_aside(self, machine: Machine, agent: Agent, op: Operation) -> PutAside | None:
        """A twin of the execution at this question, which will be asked again. What it has done so far it forgets."""
        self._unsettled.forget_old_groups()
        twins = Twins((Reach, Ahead, DerivedCount))
        for known in (self.opened, self.demands, self.guide):
            twins.known(known, known)
        for past in (self.entries, self.loops, machine.works):
            twins.known(past, [])
        twins.known(self.encounters, {})
        try:
            twin = PutAside(*twins.of((machine, self, agent)))
        except NoTwinError:
            return None
        finally:
            machine.deadline.spend(twins.filled // OBJECTS_OF_A_STEP)
        twin.run._asked = twin.agent, op
        twin.run.was_put_aside = True
        twin.run._unsettled.leave_out_the_others(twin.machine)
        return twin

    def decides_to_go_on(self) -> bool:
        return self._goes_on
