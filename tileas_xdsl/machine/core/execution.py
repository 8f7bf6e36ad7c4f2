"""
The machine: agents that step, works that are performed, the memory that both access, and the rules that hold in every
order.

One loop runs an execution. The order chooses an agent or a ready work. When it has no choice, the machine performs the
works that a blocked agent waits for. When there are none, the execution is stuck: a deadlock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, get_effects

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import CAPTURED_AT_ISSUE, ONLY_COMPUTES, Assumption
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Exclusive, HowIssued, Touch
from tileas_xdsl.machine.core.code import Code, Step
from tileas_xdsl.machine.core.conflicts import (
    deadlock_of,
    kind_of_conflict,
    violation_of_access_to_object,
    violation_of_conflict,
)
from tileas_xdsl.machine.core.deadline import NO_DEADLINE, Deadline, TimeUpError
from tileas_xdsl.machine.core.handles import synchronises, unknown_outcome
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Conflict, Mind, Proxy, Who, join
from tileas_xdsl.machine.core.late_values import LateValue, when_there
from tileas_xdsl.machine.core.meaning import Kind, meaning_of
from tileas_xdsl.machine.core.memory import Cell, MemoryObject, View
from tileas_xdsl.machine.core.observer import NOBODY, Observer
from tileas_xdsl.machine.core.op_facts import ALL_OPERANDS
from tileas_xdsl.machine.core.opaque_numbers import ONE_BLOCK, Grid
from tileas_xdsl.machine.core.orders import Order
from tileas_xdsl.machine.core.questions import MOST_REFUSALS, Guide, hoping
from tileas_xdsl.machine.core.standings import Standing
from tileas_xdsl.machine.core.state import Parts, SharedPart, SharedPartT
from tileas_xdsl.machine.core.threads.hardware import Elections
from tileas_xdsl.machine.core.threads.slices import constants_of, operands_around, slice_around
from tileas_xdsl.machine.core.trace import Happening, Trace
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import (
    MistakeError,
    NoMeaningError,
    StuckError,
    UndecidedError,
    Unordered,
    UnsupportedError,
    Violation,
    violation_key,
)
from tileas_xdsl.machine.core.what_if import AS_WRITTEN, WhatIf

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.synchronization import PhaseBarrier
    from tileas_xdsl.machine.core.violations import Evidence

STEP_BUDGET = 20_000_000
"""Steps after which an execution counts as endless."""
STEPS_AFTER_HALT = 20_000
"""Steps that others make after an agent has halted."""
STEPS_BETWEEN_LOOKS = 256
"""How many steps are made between two looks at the limits, at least."""
CHOICES_BETWEEN_LOOKS = 2_048
"""How many agents are asked whether they can step between two looks at the time."""
CHOICES_OF_A_STEP = 8
"""So many agents are asked in the time of a step."""


@dataclass
class Indeterminacy:
    """Why one execution may not speak for all: two events are unordered whose order matters."""

    op: Operation
    reason: str
    leaves_open: str = ""
    """What the order of the two decides, where a right program may have it open: "who comes first for columns"."""


@dataclass(eq=False)
class Machine:
    """
    The state of one execution.

    `with_data` computes tile data; otherwise only scalars and synchronisation. `capture` says when asynchronous work
    reads its sources: `completion` (any time until it completes) or `issue`.
    """

    order: Order
    with_data: bool = True
    capture: str = "completion"
    assume_pure: frozenset[str] = frozenset()
    relaxed_proxy: bool = False
    """Whether a missing fence between a generic read and an asynchronous write is a warning only."""
    threads: int | None = None
    """How many threads a block has that runs the function, where the function does not say so itself."""
    unstated_slots: int | None = None
    """How many slots of a queue may be relied on that does not say how many it has; None: as many as it takes."""
    step_budget: int = STEP_BUDGET
    deadline: Deadline = NO_DEADLINE
    """When an execution is ended, wherever it is: it raises `TimeUpError`."""
    elections: Elections = Elections.OPEN
    slices: bool = False
    """Whether ops are left out that only compute what nothing needs (`threads.slices`)."""
    code: Code = field(default_factory=Code)
    """What is known of the ops; executions of the same program without changes may share it."""
    arguments: Sequence[Any] = ()
    """Those of the call that is executed."""
    agents: list[Agent] = field(default_factory=list)
    live: list[Agent] = field(default_factory=list)
    works: list[AsyncWork] = field(default_factory=list)
    """Everything ever issued, in order; where the execution was put aside, without what had no consequences then."""
    violations: dict[object, Violation] = field(default_factory=dict)
    """By key, first come first kept."""
    conflicts: dict[object, Conflict] = field(default_factory=dict)
    """The pairs of accesses behind those violations that are races or missing fences."""
    tolerated: dict[object, Violation] = field(default_factory=dict)
    """What `relaxed_proxy` makes warnings of, by key."""
    what_if: WhatIf = AS_WRITTEN
    guide: Guide | None = None
    """Decides the answers to questions (`questions`)."""
    asked: int = 0
    """How many questions the program has asked."""
    refusals: int = 0
    """How often the answer was no since all had come to a standstill."""
    hopes_in_vain: bool = False
    """Whether the execution has come to a standstill in which an agent hopes for yes: with these answers it is none."""
    halted_by: UndecidedError | None = None
    """Why the first agent has halted that came to what depends on data which are not computed."""
    waits_met: dict[Operation, dict[int | None, None]] = field(default_factory=dict)
    """The waits by count and for tokens that were met, and the counts."""
    indeterminacies: list[Indeterminacy] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)
    observer: Observer[Agent, Machine] = NOBODY
    open_questions: list[Indeterminacy] = field(default_factory=list)
    """What no further execution can answer: functions without a body that may touch memory in use."""
    assumptions: dict[Assumption, None] = field(default_factory=dict)
    """What the execution rests on and nobody looks for, in the order of first use."""
    step_number: int = 0
    grid: Grid = ONE_BLOCK
    """What is known of the place of the block in the grid."""
    opaque_names: frozenset[str] = frozenset()
    """The ids, extents and arguments that the numbers which differ between blocks are computed from."""
    parts: Parts[SharedPart] = field(default_factory=Parts[SharedPart])
    """State that modules of the machine keep for the execution: queues by number, barriers by address, pipelines."""
    phase_barriers: dict[PhaseBarrier, None] = field(default_factory=dict)
    """The barriers of which some phase has begun."""
    footprint: dict[str, bool] = field(default_factory=dict)
    """
    Name of each barrier, queue or resource that the present step shares with other agents -> whether the step must be
    alone with it: see `shares`.
    """
    late_values: bool = False
    """Whether the execution has made any late values (`late_values`)."""
    late_numbers: bool = False
    """Whether one of them may be a number, or lead to what a number indexes: not the registers of a product."""
    tells_threads_apart: bool = False
    """Whether some value differs between the threads of an agent (`threads.hardware`)."""
    before_first_access: Callable[[MemoryObject], Access | None] | None = None
    """What another grid may have done to an object that is now accessed for the first time, if there is one."""
    at_end: list[Callable[[Agent], None]] = field(default_factory=list)
    """Checks to run when the first agent has ended."""
    heads: dict[Block, int] = field(default_factory=dict)
    """The head of a loop -> the largest number of an iteration that has begun there."""
    _histories: dict[int, AccessHistory] = field(default_factory=dict)
    _pending: dict[AsyncWork, None] = field(default_factory=dict)
    _agents_made: int = 0
    _works_issued: int = 0
    _works_ready: int = 0
    _counted_steps: int = 0
    """The steps that the deadline knows of."""
    _next_look: int = 0
    """The step from which on the limits are looked at again."""
    _asked: int = 0
    """How many agents were asked whether they can step since the last look at the time."""
    _due: deque[AsyncWork] = field(default_factory=deque["AsyncWork"])
    """Works to be performed as soon as the present one is performed."""
    _performing: bool = False

    def part(self, kind: type[SharedPartT]) -> SharedPartT:
        """The shared part of type `kind`, made at the first call."""
        return self.parts.of(kind)

    # Agents --------------------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        self.clock = self.order.clock

    def next_agent_number(self) -> int:
        self._agents_made += 1
        return self._agents_made - 1

    def add_agent(self, agent: Agent) -> None:
        self.agents.append(agent)
        self.live.append(agent)
        if self.clock is not None:
            self.clock.agent_added(agent)

    def agent_finished(self, agent: Agent) -> None:
        self.live.remove(agent)

    def run(self, name: str, start: Standing) -> Agent:
        """
        Run the first agent from `start` on, and all that it forks, to the end.

        Raises `StuckError` when nobody can go on, `TimeUpError` at the deadline, `UndecidedError` and
        `UnsupportedError` as meanings do.
        """
        first = Agent(self, name, None)
        self.add_agent(first)
        first.stand([start])
        return self._run_on()

    def run_on(self, agent: Agent) -> Agent:
        """Run to the end from where the observer has put it aside, when `agent` had stopped for it; see `run`."""
        self._let_look(agent)
        return self._run_on()

    def _let_look(self, agent: Agent) -> None:
        """`agent` has paused: if it was for the observer, it goes on at once."""
        while self.observer.stopped(self):
            agent.resume()

    def _run_on(self) -> Agent:
        try:
            return self._run_to_the_end()
        finally:
            self._count_steps()

    def _run_to_the_end(self) -> Agent:
        first = self.agents[0]
        while self.live:
            self._look_at_the_time()
            runnable = [agent for agent in self.live if agent.can_step]
            choice = self.order.choose(self, runnable)
            if isinstance(choice, AsyncWork):
                self.perform(choice)
            elif choice is not None:
                self._resume(self.agents[choice.number])
            elif not (self._force() or self._give_up_hope()):
                self._end_if_halted()
                raise StuckError
        self._end_if_halted()
        self._complete_the_rest()
        for check in self.at_end:
            check(first)
        return first

    def _resume(self, agent: Agent) -> None:
        """
        Let `agent` step. Where it comes to what depends on data that are not computed, it halts there. The others go on
        for a while: they may show a mistake, as where it has read what another has not written yet.
        """
        try:
            agent.resume()
            self._let_look(agent)
        except TimeUpError:
            raise
        except UndecidedError as error:
            if self.with_data:
                raise
            self.halted_by = self.halted_by or error
            self.live.remove(agent)
            self.step_budget = min(self.step_budget, self.step_number + STEPS_AFTER_HALT)
            self._next_look = 0

    def _end_if_halted(self) -> None:
        """
        Where an agent has halted, the execution ends when no other can go on. Raises `NoMeaningError` if a mistake was
        found, else the reason why it has halted.
        """
        if self.halted_by is not None:
            raise NoMeaningError if self.violations else self.halted_by

    def _complete_the_rest(self) -> None:
        """With simulated time, let the works complete at their times for which nobody waits."""
        while self.clock is not None and (work := self.clock.next(())) is not None:
            assert isinstance(work, AsyncWork)
            self.perform(work)

    def _give_up_hope(self) -> bool:
        """Without a guide, say no to one agent that hopes for yes. False when there is none, or none any more."""
        hopes = hoping(self.live)
        if self.guide is not None or not hopes or self.refusals == MOST_REFUSALS:
            return False
        self.refusals += 1
        hopes[0].is_over = True
        return True

    def _force(self) -> bool:
        """Perform one work that somebody waits for, and whatever it depends on. False when there is none."""
        work = next((work for agent in self.live if (work := self.work_awaited_by(agent)) is not None), None)
        if work is not None:
            self.perform(work)
        return work is not None

    def work_awaited_by(self, agent: Who) -> AsyncWork | None:
        """The first work that can be performed now of those that `agent` waits for, or of what holds these up."""
        if agent.waiting_for is None:
            return None
        for work in agent.waiting_for.helpers():
            stack, seen = [work], {work}
            while stack:
                current = stack.pop()
                if current.can_start:
                    return current
                for helper in current.held_up_by():
                    if helper not in seen:
                        seen.add(helper)
                        stack.append(helper)
        return None

    def check_budget(self, at: Operation | Block) -> None:
        """
        Raises `UndecidedError` at an op, or at the op around a block, if there were too many steps; `TimeUpError` if
        the deadline has passed.
        """
        if self.step_number < self._next_look:
            return
        self._next_look = min(self.step_number + STEPS_BETWEEN_LOOKS, self.step_budget + 1)
        self._count_steps()
        op = at.parent_op() if isinstance(at, Block) else at
        assert op is not None
        if self.step_number > self.step_budget:
            raise UndecidedError(op, f"is still running after {self.step_budget} steps; give smaller bounds")
        self.check_time(op)

    def _count_steps(self) -> None:
        """Tell the deadline the steps since the last call."""
        self.deadline.spend(self.step_number - self._counted_steps)
        self._counted_steps = self.step_number

    def check_time(self, op: Operation) -> None:
        """Raises `TimeUpError` at `op` if the deadline has passed: for what takes long between two steps."""
        self.deadline.spend(1)
        if self.deadline.has_passed():
            raise TimeUpError(op, self.deadline)

    def _look_at_the_time(self) -> None:
        """The same between two steps, where many agents take turns and none turns a loop."""
        self._asked += len(self.live)
        if self._asked >= CHOICES_BETWEEN_LOOKS:
            self.deadline.spend(self._asked // CHOICES_OF_A_STEP)
            self._asked = 0
            op = next((agent.current_op for agent in self.live if agent.current_op is not None), None)
            if op is not None:
                self.check_time(op)

    # Code ----------------------------------------------------------------------------------------------------------

    def prepared(self, block: Block) -> list[Step]:
        """The ops of `block` with their meanings."""
        steps = self.code.steps.get(block)
        if steps is None:
            steps = self.code.steps[block] = self._prepared(block)
        return steps

    def _prepared(self, block: Block) -> list[Step]:
        end = block.last_op
        function = enclosing_function(end) if end is not None else None
        left_out = slice_around(self, function).left_out if function is not None else frozenset[Operation]()
        if function is None or not left_out:
            return [self._prepare(op) for op in block.ops]
        left_out = left_out.difference(self.code.meanings)
        known = {value.owner for value in self.code.fact(constants_of, function)}
        ops = (op for op in block.ops if op not in left_out and op not in known)
        return [self._prepare(op, left_out.difference(known)) for op in ops]

    def _prepare(self, op: Operation, left_out: Collection[Operation] = ()) -> Step:
        meaning = self.code.meanings.get(op) or meaning_of(op)
        operands = operands_around(op, left_out)
        results = tuple(op.results)
        if meaning is not None:
            reads_tiles = _is_tile_arithmetic(op, meaning.kind)
            gives_float = len(results) == 1 and isinstance(results[0].type, AnyFloat)
            facts = meaning.facts
            hands_on = meaning.kind in (Kind.CONTROL, Kind.JUMP) and facts.may_move
            return Step(
                op,
                meaning.kind,
                meaning.function,
                operands,
                results,
                reads_tiles,
                looks_later=meaning.looks_later,
                looked_at=facts.deciding if hands_on else ALL_OPERANDS,
                gives_float=gives_float,
                takes=facts.per_thread,
                at_once=facts.at_once,
            )
        if not self.with_data and self._is_harmless(op):
            return Step(op, Kind.EFFECT, _uninterpreted, operands, results)
        if synchronises(op):
            raise UnsupportedError(op, "synchronises in a way that has no meaning here; use ops of docs/machine.md")
        raise UnsupportedError(op, "has no meaning here; remove it, lower it, or (checking) pass it to --assume-pure")

    def _is_harmless(self, op: Operation) -> bool:
        """Whether a check may take an op without a meaning for an uninterpreted function of its operands."""
        if op.regions or op.has_trait(IsTerminator, value_if_unregistered=False):
            return False
        return get_effects(op) == set() or (op_name(op) in self.assume_pure and not synchronises(op))

    # Memory --------------------------------------------------------------------------------------------------------

    @property
    def scatters(self) -> bool:
        """Whether what threads touch in one step may be one scattered window, which no message can name."""
        return not (self.with_data or self.trace.recording)

    def read(self, view: View) -> Any:
        """What is under `view` now, without noting an access."""
        if not self.with_data:
            return view.base.known_at(view) if self.observer.follows(view.element) else UNKNOWN
        array = view.array()
        if view.shape:
            return array.copy()
        return array[()] if view.element.is_float else array.item()

    def write(self, view: View, value: Any) -> None:
        """Put `value` under `view`, without noting an access."""
        if self.with_data:
            view.array()[...] = np.asarray(value).astype(view.element.dtype, copy=False)
            return
        view.base.forget(view.region)
        if view.shape == () and value is not UNKNOWN:
            view.base.cells[view.offset] = Cell(view.element, value)

    def history_of(self, base: MemoryObject) -> AccessHistory | None:
        """The accesses recorded for `base`; None if there have been none."""
        return self._histories.get(base.serial)

    def accesses_of(self, agent: Agent) -> Iterator[Access]:
        """The accesses that `agent` made itself, as far as a later one may still race with them."""
        for history in self._histories.values():
            yield from (access for access in history.all() if access.agent is agent and access.work is None)

    def works_in_histories(self) -> Iterator[AsyncWork]:
        """The works with accesses that a later one may still race with."""
        for history in self._histories.values():
            yield from (access.work for access in history.all() if access.work is not None)

    def note_access(self, access: Access, mind: Mind) -> None:
        """Record an access; each conflict with an earlier one becomes a violation."""
        base = access.region.base
        history = self._histories.get(base.serial)
        if history is None:
            history = self._histories[base.serial] = AccessHistory(base, relaxed_proxy=self.relaxed_proxy)
            before = self.before_first_access(base) if self.before_first_access is not None else None
            if before is not None:
                list(history.record(before, before.agent.mind))
        self.observer.access(access, mind, history)
        if access.region.is_empty:
            return
        if base.array is not None:
            base.note_reached(access.op, access.region.start, access.region.stop)
        if access.is_write:
            self._note_written(base.whole_object)
        conflicts = list(history.record(access, mind))
        for conflict in conflicts:
            self.report_conflict(conflict)
        if base.objects and (name := base.object_under(access.region)) is not None:
            self.report(*violation_of_access_to_object(access, name))
        if base.lifetime_over and not conflicts:
            raise MistakeError(access.op, f"touches '{base.name}' after its end; end its lifetime later")

    def read_somewhere(self, base: MemoryObject, op: Operation) -> None:
        """`op` reads in `base`, and it is not computed where. Raises `UndecidedError` where that makes a difference."""
        whole = base.whole_object
        whole.read_somewhere = op
        if whole.is_written:
            self._note_written(whole)

    def _note_written(self, whole: MemoryObject) -> None:
        whole.is_written = True
        if whole.read_somewhere is not None:
            use = f"computes an address in '{whole.name}', which is written, from"
            raise UndecidedError(whole.read_somewhere, f"{use} data that is not computed when checking")

    def report_conflict(self, conflict: Conflict) -> None:
        """Report a conflict, unless one of the same kind between the same two ops is known."""
        kind = kind_of_conflict(conflict)
        key = violation_key(kind, (conflict.earlier.op, conflict.later.op))
        if key in self.violations or key in self.tolerated:
            return
        if self.relaxed_proxy and conflict.is_unfenced_refill:
            self.tolerated[key] = violation_of_conflict(conflict)
            return
        self.conflicts[key] = conflict
        if self.trace.recording:
            violation = violation_of_conflict(conflict)
            self.report(
                violation, Unordered(conflict.earlier, conflict.later, violation.parties, conflict.missing_fence)
            )
        else:
            # Without a trace nobody is told of it: that there is one is enough.
            self.violations[key] = Violation(kind, "", (), "")

    def report(self, violation: Violation, evidence: Evidence | None = None) -> None:
        """Keep `violation`, which rests on `evidence`, unless the same mistake is known."""
        if violation.key in self.violations:
            return
        if evidence is not None and self.trace.recording:
            violation = self.observer.explained(self, violation, evidence)
        self.violations[violation.key] = violation

    def report_standstill(self) -> None:
        """Report a deadlock, in the words of the observer if it knows the mistake behind it."""
        for agent in self.live:
            doubt = agent.waiting_for.doubt() if agent.waiting_for is not None else None
            if doubt is not None and agent.waiting_at is not None:
                self.doubt(agent.waiting_at, doubt)
        if self.guide is not None and hoping(self.live):
            self.hopes_in_vain = True
            return
        mistakes = [each.waiting_for.mistake() for each in self.live if each.waiting_for is not None]
        for report in filter(None, mistakes):
            report()
        if any(mistakes):
            return
        known = self.observer.standstill(self)
        if known is not None:
            self.report(known)
        else:
            self.report(*deadlock_of(self.live, self.works))

    @property
    def is_right_beyond_doubt(self) -> bool:
        """Whether no violation was found, and this execution speaks for all."""
        return not (self.violations or self.indeterminacies or self.open_questions)

    def allows(self, op: Operation, count: int | None) -> tuple[bool, int]:
        """
        Whether there is a wait at `op` at all, and how many it allows to be unfinished: `count`, as the program says
        (None for a token), unless the wait is relaxed (`what_if`).
        """
        self.waits_met.setdefault(op, {})[count] = None
        relaxed = self.what_if.relaxed
        if relaxed is None or relaxed.op is not op:
            return True, count or 0
        return relaxed.more is not None, (count or 0) + (relaxed.more or 0)

    def doubt(self, op: Operation, reason: str, leaves_open: str = "") -> None:
        """Record at `op` the reason why one execution may not speak for all, and what that leaves open."""
        self.indeterminacies.append(Indeterminacy(op, reason, leaves_open))

    def leave_open(self, op: Operation, reason: str) -> None:
        """Record at `op` why no verdict but a violation is certain."""
        self.open_questions.append(Indeterminacy(op, reason))

    @property
    def left_open(self) -> list[str]:
        """What other interleavings may decide otherwise, each once: noun phrases."""
        return list(dict.fromkeys(each.leaves_open for each in self.indeterminacies if each.leaves_open))

    def assume(self, assumption: Assumption) -> None:
        """Note that the execution rests on `assumption`, which the verdict will name."""
        self.assumptions[assumption] = None

    def shares(self, name: str, *, alone: bool) -> None:
        """
        Note that the present step depends on, or changes, the barrier, queue or resource `name`.

        Two steps that share `name` commute if neither must be `alone` with it. Names rather than objects, so that the
        steps of two executions can be compared.
        """
        self.footprint[name] = alone or self.footprint.get(name, False)

    def doubt_access(self, agent: Agent, view: View, op: Operation) -> None:
        """
        A call of a function without a body may access `view`. Where that would be a conflict, the verdict stays open.
        """
        self.write(view, UNKNOWN)
        access = Access(
            view.region, True, Proxy.UNSPECIFIED, op, agent, None, agent.moment, agent.iteration, self.step_number
        )
        history = self._histories.get(view.base.serial)
        if history is None:
            return
        self.observer.access(access, agent.mind, history)
        if next(iter(history.conflicts(access, agent.mind)), None) is not None:
            reason = f"may touch '{view.base.name}', which asynchronous work is still using"
            self.leave_open(op, reason)

    def happened(
        self,
        agent: Agent,
        op: Operation,
        kind: str,
        text: str,
        *,
        on: object | None = None,
        turn: int = 0,
        iteration: tuple[int, ...] | None = None,
    ) -> None:
        """Put a step of `agent` into the trace; for the other arguments see `Happening`."""
        time = self.clock.happened(agent, op, kind, text, on) if self.clock is not None else None
        if not self.trace.recording:
            return
        # A number of its own, so that accesses before it and after it can be told apart.
        self.step_number += 1
        learner = on if kind == "fork" and isinstance(on, Agent) else agent
        self.trace.add(
            Happening(
                self.step_number,
                agent.number,
                agent.name,
                agent.moment,
                op,
                agent.iteration if iteration is None else iteration,
                kind,
                text,
                on,
                turn,
                dict(learner.clock) if kind in ("wait", "fork") else None,
                time,
            )
        )

    # Asynchronous work ---------------------------------------------------------------------------------------------

    def issue(
        self,
        agent: Agent,
        op: Operation,
        touches: list[Touch],
        move: Callable[[], None] | None,
        **how: Unpack[HowIssued],
    ) -> AsyncWork:
        """Issue asynchronous work for `agent`; `Agent.issue` describes the arguments."""
        if self.capture == "issue":
            self.assume(CAPTURED_AT_ISSUE)
            with agent.delegating():
                for touch in touches:
                    if not touch.is_write:
                        agent.touch(touch.view, op, write=False, proxy=touch.proxy)
            touches = [touch for touch in touches if touch.is_write]
        perform, label, resource = move, how["label"], how.get("resource")
        fetch, deliver = how.get("fetch"), how.get("deliver")
        if self.with_data and fetch is not None and deliver is not None:
            perform = _fetch_and_deliver(fetch, deliver, at_issue=self.capture == "issue")
        mind = Mind(dict(agent.clock), {space: dict(clock) for space, clock in agent.fenced.items()})
        work = AsyncWork(
            op=op,
            issuer=agent,
            serial=self._works_issued,
            iteration=agent.iteration,
            moment=agent.moment,
            mind=mind,
            touches=touches,
            label=label,
            engine=how.get("engine", "copy"),
            perform=perform,
            resource=resource,
            look=how.get("look"),
            needs=[value for value in how.get("needs", ()) if isinstance(value, LateValue)],
            barriers=[resource.name] if resource is not None else [],
            bytes_moved=_bytes_written(touches),
        )
        self.works.append(work)
        self._works_issued += 1
        self._pending[work] = None
        self.happened(agent, op, "issue", f"issues {label}", on=work)
        work.issue_step = self.step_number
        # What the issuer does from here on is not known to the work, and must not look as if it were.
        agent.moment += 1
        agent.clock[agent.number] = agent.moment
        self._make_ready_after(work, list(dict.fromkeys(how.get("dependencies", ()))))
        return work

    def _make_ready_after(self, work: AsyncWork, dependencies: list[Event]) -> None:
        work.blockers = [event for event in dependencies if not event.complete]
        if not work.blockers:
            self.make_ready(work, dependencies)
            return
        countdown = Countdown(self, work, dependencies, len(work.blockers))
        for event in list(work.blockers):
            event.when_complete(countdown)

    def make_ready(self, work: AsyncWork, dependencies: list[Event]) -> None:
        """
        All `dependencies` of `work` are complete: join what they make known; start the work once its late operands are
        there.
        """
        work.blockers = []
        works = list(dict.fromkeys(other for event in dependencies for other in event.knowledge.works))
        for clock in [*(event.knowledge.clock for event in dependencies), *(other.mind.clock for other in works)]:
            join(work.mind.clock, clock)
        work.mind = Mind(work.mind.clock, work.mind.fenced, works)
        when_there(work.needs, lambda: self._let_start(work))

    def _let_start(self, work: AsyncWork) -> None:
        """The work is ready: it looks at its operands, and its accesses are recorded as taking place from here on."""
        if work.look is not None:
            work.touches = work.look(work)
            work.bytes_moved = _bytes_written(work.touches)
        work.turn = self._works_ready
        self._works_ready += 1
        work.ready = True
        for touch in work.touches:
            self.note_access(
                Access(
                    touch.view.region,
                    touch.is_write,
                    touch.proxy,
                    work.op,
                    work.issuer,
                    work,
                    work.moment,
                    work.iteration,
                    work.issue_step,
                    touch.is_atomic,
                ),
                work.mind,
            )
        if self.clock is not None:
            self.clock.work_ready(work)
        if self.order.performs_at_once:
            self._perform_at_once([work])

    def _perform_at_once(self, works: Sequence[AsyncWork]) -> None:
        """
        Perform those of `works` that can start. What becomes ready meanwhile is queued, not performed recursively.
        """
        self._due.extend(works)
        if self._performing:
            return
        self._performing = True
        try:
            while self._due:
                work = self._due.popleft()
                if work.can_start:
                    self.perform(work)
        finally:
            self._due.clear()
            self._performing = False

    def resource_freed(self, resource: Exclusive) -> None:
        """
        `resource` is free. Under orders that perform work as soon as it is ready, perform the works that waited for it.
        """
        if self.clock is not None:
            self.clock.resource_freed(resource)
        if self.order.performs_at_once:
            self._perform_at_once([work for work in self._pending if work.resource is resource])

    def works_under_way(self) -> list[AsyncWork]:
        """Works that are issued and not complete, oldest first."""
        return list(self._pending)

    def ready_works(self) -> list[AsyncWork]:
        """Works that may be performed now, oldest first."""
        return [work for work in self._pending if work.can_start]

    def perform(self, work: AsyncWork) -> None:
        """Make the accesses of `work` happen, complete it and signal those who wait for it."""
        if work.complete:
            return
        self._pending.pop(work, None)
        if work.resource is not None:
            work.resource.performed.append(work)
            self.shares(work.resource.name, alone=True)
        if work.perform is not None:
            work.perform()
        elif not self.with_data:
            self._forget_what_is_overwritten(work)
        work.complete = True
        work.complete_step = self.step_number
        issuer = self.agents[work.issuer.number]
        self.happened(issuer, work.op, "complete", f"{work.label} completes", on=work, iteration=work.iteration)
        for signal in work.signals:
            signal(work)
        work.signals.clear()

    def _forget_what_is_overwritten(self, work: AsyncWork) -> None:
        """Without data nobody computes what `work` writes: what was known of those bytes is UNKNOWN from now on."""
        for touch in work.touches:
            if touch.is_write:
                self.write(touch.view, UNKNOWN)

    def end_grid(self) -> None:
        """Perform the works that the end of the grid completes, such as stores whose sources have been read."""
        for work in [work for work in self._pending if work.ends_with_grid and work.can_start]:
            self.perform(work)

    def perform_all(self) -> None:
        """Perform all works that still can be, though no agent waits for them."""
        while ready := self.ready_works():
            for work in ready:
                self.perform(work)

    def signal_when_complete(self, work: AsyncWork, signal: Callable[[AsyncWork], None]) -> None:
        """Call `signal` once `work` is complete; at once if it is complete already."""
        if work.complete:
            signal(work)
        else:
            work.signals.append(signal)

    def event_of(self, work: AsyncWork, label: str = "token") -> Event:
        """A token that completes with `work`."""
        event = Event(label)
        event.comes_from(work)
        self.signal_when_complete(work, Completion(event))
        return event


@dataclass(frozen=True, eq=False)
class Completion:
    """Signal of a work that completes an event."""

    event: Event

    def __call__(self, done: AsyncWork) -> None:
        self.event.finish(done.event_knowledge)


@dataclass(eq=False)
class Countdown:
    """Counts the incomplete dependencies of a work, and makes the work ready after the last."""

    machine: Machine
    work: AsyncWork
    dependencies: list[Event]
    missing: int

    def __call__(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.machine.make_ready(self.work, self.dependencies)


def _bytes_written(touches: Sequence[Touch]) -> int:
    return sum(touch.view.region.byte_count for touch in touches if touch.is_write)


def _fetch_and_deliver(
    fetch: Callable[[], Any], deliver: Callable[[Any], None], *, at_issue: bool
) -> Callable[[], None]:
    if at_issue:
        data = fetch()
        return lambda: deliver(data)
    return lambda: deliver(fetch())


def _is_tile_arithmetic(op: Operation, kind: Kind) -> bool:
    """Whether `op` is an upstream op that computes from tiles: it reads the operands that are views."""
    if kind is not Kind.PURE or op.dialect_name() not in ("arith", "math", "tensor"):
        return False
    return any(isinstance(operand.type, TensorType) for operand in op.operands)


def _uninterpreted(agent: Agent, op: Operation, *_operands: Any) -> Any:
    if op_name(op) in agent.machine.assume_pure:
        agent.machine.assume(ONLY_COMPUTES.about(op_name(op)))
    return unknown_outcome(op)
