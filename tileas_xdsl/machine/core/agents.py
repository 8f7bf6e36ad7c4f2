"""
Agents: threads of control that run IR in order and can be suspended wherever they have to wait.

An agent is never an operating-system thread, so an execution is a function of its input and of the order that was asked
for. A suspended agent is a stack of records (`standings`). One loop resumes the innermost record and pushes what it
requests. A block is prepared once (meanings looked up, operands listed) and then run from that list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.memory.atomic_reads import decides_by_atomic
from tileas_xdsl.analysis.thread_dependence import ThreadDependence
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Exclusive, HowIssued, Touch
from tileas_xdsl.machine.core.code import SIGHT, Step
from tileas_xdsl.machine.core.happens_before import Access, Clock, Knowledge, Mind, Proxy, TeamStore, Who, join, observe
from tileas_xdsl.machine.core.late_values import LateValue, first_missing, report_missing, seen_by_agent
from tileas_xdsl.machine.core.loops.open_counts import OpenTurns
from tileas_xdsl.machine.core.loops.turns import LoopTurn, run_iteration
from tileas_xdsl.machine.core.meaning import Kind
from tileas_xdsl.machine.core.memory import ThreadParts, View
from tileas_xdsl.machine.core.opaque_numbers import admitted, computed, is_any_opaque, must_be_alike
from tileas_xdsl.machine.core.recording import Deferred, Recording
from tileas_xdsl.machine.core.standings import (
    Answer,
    Continuation,
    Done,
    Enter,
    Leave,
    Pause,
    Position,
    Request,
    Standing,
    Wait,
    continuation,
)
from tileas_xdsl.machine.core.state import OwnPart, OwnPartT, Parts
from tileas_xdsl.machine.core.synchronization import Condition, EventCondition, MarkSequence, NotYetError
from tileas_xdsl.machine.core.thread import Thread
from tileas_xdsl.machine.core.threads import by_thread, own_copies
from tileas_xdsl.machine.core.threads.hardware import (
    Active,
    BlockOfCluster,
    Elections,
    PerThread,
    Threads,
    name_in_block,
)
from tileas_xdsl.machine.core.threads.slices import LEFT_OUT, constants_of, is_of_triton, slice_around
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError, out_of_bounds

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine

PURE, TERMINATOR, JUMP = Kind.PURE, Kind.TERMINATOR, Kind.JUMP
"""The kinds that are asked for at each step."""


@dataclass(eq=False)
class Activation:
    """One call of a function: its values and its sequence of marks. No two are the same."""

    function: Operation | None
    values: dict[SSAValue, Any] = field(default_factory=dict)
    marks: MarkSequence = field(default_factory=MarkSequence)
    endings: list[Callable[[Agent], None]] = field(default_factory=list)
    """What to do when it ends: the lifetimes of its stack buffers end."""
    depth: int = 0
    """How many calls are around it."""


class Team:
    """
    The warps of one agent. A store that each of them makes by one op, of one value to one place, is one store.

    So the number of times that each warp has executed an op tells which of their stores belong together.
    """

    def __init__(self) -> None:
        self.members: list[Agent] = []
        self._executed: dict[int, dict[Operation, tuple[int, int]]] = {}
        """Number of a member -> op -> how often it has executed that, and the number of its last step there."""

    def instance(self, agent: Agent, op: Operation) -> TeamStore | None:
        """The store that `agent` makes now by `op`; None where warps may store other values, or to other places."""
        code = agent.machine.code
        if not code.fact(code.kept(ThreadDependence).stores_the_same, op):
            return None
        executed = self._executed.setdefault(agent.number, {})
        times, last = executed.get(op, (0, -1))
        if last != agent.machine.step_number:
            executed[op] = (times + 1, agent.machine.step_number)
            times += 1
        return TeamStore(self, op, times)

    def times(self, agent: Who, op: Operation) -> int:
        """How often `agent` has executed `op`."""
        return self._executed.get(agent.number, {}).get(op, (0, -1))[0]

    def ops(self) -> list[Operation]:
        """The ops that are counted, in the order of their first execution."""
        return list(dict.fromkeys(op for executed in self._executed.values() for op in executed))


class Agent(Thread):
    """A thread of control. Meanings call its methods; the machine resumes it."""

    def __init__(self, machine: Machine, name: str, parent: Agent | None, hardware: Threads | None = None) -> None:
        self.machine = machine
        self.name = name
        self.parent = parent
        self.number = machine.next_agent_number()
        self.hardware = hardware
        """The hardware threads that it stands for; None for one of which nobody says which it is."""
        self.block: BlockOfCluster | None = parent.block if parent is not None else None
        """The block that it belongs to, where the execution runs all blocks of a cluster."""
        self.active: Active | None = None
        """Those of them that are in the present branch, where it is not all."""
        self.left: tuple[int, ...] = ()
        """Those of them that have left the block while others have not, counted from its first."""
        self.team: Team | None = None
        """The warps that run the same region with it, if there are several."""
        self.gathering: by_thread.Gathered | None = None
        """What its threads touch, while a step is done thread by thread."""
        self.cohort: list[Agent] = [self]
        """The agents that were forked together, which is who a barrier of the whole block waits for."""
        self.moment = 0
        self.clock: Clock = {self.number: 0}
        self.fenced: dict[str, Clock] = {}
        self.mind = Mind(self.clock, self.fenced)
        self.activation = Activation(None)
        self.iteration: tuple[int, ...] = parent.iteration if parent is not None else ()
        self.waiting_for: Condition | None = None
        self.waiting_at: Operation | None = None
        self.current_op: Operation | None = None
        self.finished = False
        self.final_knowledge = Knowledge()
        """What its end makes known."""
        self.started_by: Operation | None = None
        """The op whose task it is, if it is one."""
        self.resource: Exclusive | None = None
        """What it holds, or held, for itself alone."""
        self.recording: Recording | None = None
        self.own_waits: list[AsyncWork] = []
        """Works for which each of its threads has waited by itself, lately (`core.threads.own_copies`)."""
        self.transfers: list[AsyncWork] = []
        """Marked transfers of this thread, in order of issue."""
        self.transfers_observed = 0
        self.before_touch: Callable[[Agent, View, bool], None] | None = None
        """Called before each access that it makes itself with what it touches and whether it writes."""
        self.delegates = False
        """Whether what it touches is touched for asynchronous work, which pays for it with its own time."""
        self.threads_met = 0
        """The moment from which on its threads have not met at a barrier."""
        self.parts = Parts[OwnPart]()
        """State that modules of the machine keep for this thread: uncommitted copies, queues of its own."""
        self.outcome: Any = None
        """The outcome of its outermost standing, once it has finished."""
        self._stack: list[Standing | Position] = []

    def part(self, kind: type[OwnPartT]) -> OwnPartT:
        """The state of that kind."""
        return self.parts.of(kind)

    # Threads -------------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many hardware threads it stands for."""
        return self.hardware.count if self.hardware is not None else 1

    @property
    def is_of_several_warps(self) -> bool:
        """Whether these are more than one warp: it does what is done to tiles, and its threads do that together."""
        return self.hardware is not None and self.hardware.count > self.hardware.per_warp

    @property
    def threads(self) -> int:
        """How many of them are active: where arrivals are counted in threads, so many arrive."""
        return self.active.count if self.active is not None else self.size

    @property
    def lanes(self) -> Sequence[int]:
        """The active ones, counted from its first."""
        return self.active.lanes if self.active is not None else range(self.size)

    @property
    def elections(self) -> Elections:
        """What is known of the lane that a warp elects."""
        return self.machine.elections

    @property
    def is_elected(self) -> bool:
        """Whether it is, at present, one thread of several, and nobody says which."""
        return self.active is not None and self.active.is_elected

    def new_activation(
        self, function: Operation | None, seen: dict[SSAValue, Any] | None = None, depth: int = 0
    ) -> Activation:
        """An activation of `function` that knows the values `seen`, and nothing of what is left out."""
        made = Activation(function, seen or {}, depth=depth)
        if function is not None and slice_around(self.machine, function).left_out:
            made.values.update(self.machine.code.fact(constants_of, function))
            is_per_thread = not is_of_triton(function)
            made.values[LEFT_OUT] = PerThread((UNKNOWN,) * self.size) if is_per_thread and self.size > 1 else UNKNOWN
            self.machine.tells_threads_apart |= is_per_thread
        return made

    # Life ----------------------------------------------------------------------------------------------------------

    def stand(self, standings: Iterable[Standing | Position]) -> None:
        """Go on from `standings`, outermost first, when the agent is resumed next."""
        self._stack[:] = standings

    @property
    def standings(self) -> tuple[Standing | Position, ...]:
        """Where the suspended agent stands: outermost standing first."""
        return tuple(self._stack)

    def resume(self) -> None:
        """Run until the next wait, pause or the end."""
        condition = self.waiting_for
        if condition is not None:
            if not condition.holds():
                return
            self.waiting_for = None
            condition.observe(self)
        if self._run():
            self._finish()

    def _run(self) -> bool:
        """Resume the innermost standing until the agent finishes, waits or pauses. Returns whether it finished."""
        stack = self._stack
        outcome: Answer = None
        while stack:
            frame = stack.pop()
            if isinstance(frame, Position):
                outcome = self._go_on_in_block(frame, outcome)
            else:
                op, step, data = frame
                outcome = step.function(self, op, outcome, *data)
                if isinstance(outcome, Request):
                    outcome = self._advance(outcome, op)
            while isinstance(outcome, Enter):
                outcome = self._run_block(outcome.block, outcome.arguments)
            if isinstance(outcome, Leave):
                stack.clear()
                outcome = None
            if isinstance(outcome, Request):
                return False
        self.outcome = outcome
        return True

    def _advance(self, answer: Answer, op: Operation) -> Answer:
        """
        Let `op`, which has returned `answer`, go on as far as it can without waiting.

        Returns its outcome. If something else has to run first, returns that, after pushing the standing at which `op`
        goes on.
        """
        ahead: list[tuple[Continuation, tuple[Any, ...]]] = []
        while True:
            if isinstance(answer, Request):
                if type(answer) is Wait and self._sees(answer):
                    ahead += answer.steps[::-1]
                    answer = None
                elif type(answer) is Done:
                    ahead += answer.steps[::-1]
                    answer = answer.outcome
                else:
                    stack = self._stack
                    for step, data in ahead:
                        stack.append(Standing(op, step, data))
                    for step, data in reversed(answer.steps):
                        stack.append(Standing(op, step, data))
                    return answer
            if not ahead:
                return answer
            step, data = ahead.pop()
            answer = step.function(self, op, answer, *data)

    def _sees(self, request: Wait) -> bool:
        """Whether the condition of a wait holds; if it does not, the agent waits for it."""
        condition = request.condition
        if condition.holds():
            condition.observe(self)
            return True
        self.waiting_at = request.op if request.op is not None else self.current_op
        self.waiting_for = condition
        return False

    def _finish(self) -> None:
        self.finished = True
        if self.current_op is not None:
            self.machine.happened(self, self.current_op, "finish", "comes to its end", on=self)
        self.final_knowledge = self.release()
        self.machine.agent_finished(self)

    @property
    def can_step(self) -> bool:
        return self.waiting_for is None or self.waiting_for.holds()

    # Knowledge -----------------------------------------------------------------------------------------------------

    def learn(self, knowledge: Knowledge) -> None:
        """Take in what a synchronisation hands over."""
        join(self.clock, knowledge.clock)
        for space, clock in knowledge.fenced.items():
            join(self.fenced.setdefault(space, {}), clock)
        if knowledge.works:
            observe(self, knowledge.works)

    def release(self) -> Knowledge:
        """What this agent hands over to whoever synchronises with it now. Its next moment begins."""
        knowledge = Knowledge(dict(self.clock), {s: dict(c) for s, c in self.fenced.items()})
        self.moment += 1
        self.clock[self.number] = self.moment
        return knowledge

    def let_threads_meet(self) -> None:
        """All its threads that have not left the block know what each has done so far."""
        if self.size > 1 and self.threads + len(self.left) >= self.size:
            self.release()
            self.threads_met = self.moment

    def fence_proxies(self, spaces: Iterable[str], covered: Clock | None = None) -> None:
        """
        `fence.proxy.async`: all that is known now, or what the clock `covered` has of it, is ordered before later
        accesses of the asynchronous proxy.
        """
        for space in spaces:
            join(self.fenced.setdefault(space, {}), self.clock if covered is None else covered)
        # Accesses of this moment that come after the fence must not pass for fenced.
        self.moment += 1
        self.clock[self.number] = self.moment

    # Waiting -------------------------------------------------------------------------------------------------------

    def pause(self) -> Request:
        """Let others go first, if the order has agents pause at synchronisation."""
        return Pause() if SIGHT[Kind.SYNC] >= self.machine.order.pauses else Done()

    def wait(self, condition: Condition, op: Operation | None = None) -> Request:
        """Suspend until `condition` holds, then learn what it hands over."""
        return Wait(condition, op)

    # Memory --------------------------------------------------------------------------------------------------------

    def touch(
        self,
        view: View,
        op: Operation,
        *,
        write: bool,
        proxy: Proxy = Proxy.GENERIC,
        is_atomic: bool = False,
        parts: ThreadParts | None = None,
    ) -> None:
        """
        Note a synchronous access and compare it with everything that might race with it; atomic ones do not race with
        each other. `parts` are those of the agent's threads, where they differ.
        """
        if self.gathering is not None:
            self.gathering.touch(view, write=write, proxy=proxy, is_atomic=is_atomic)
            return
        if self.before_touch is not None:
            self.before_touch(self, view, write)
        if self.machine.clock is not None:
            self.machine.clock.touched(self, view)
        access = Access(
            view.region,
            write,
            proxy,
            op,
            self,
            None,
            self.moment,
            self.iteration,
            self.machine.step_number,
            is_atomic=is_atomic,
            parts=parts,
            instance=self.team.instance(self, op) if self.team is not None and write else None,
        )
        if self.size > 1 and self.machine.tells_threads_apart:
            by_thread.note_exchange(self, access)
        self.machine.note_access(access, self.mind)
        if self.own_waits:
            own_copies.judge_own_copies(self, access)

    def load(self, view: View, op: Operation, proxy: Proxy = Proxy.GENERIC) -> Any:
        """
        The elements under `view`: an array, a scalar for a view of rank 0, or UNKNOWN when data is not computed. Inside
        an asynchronous scope the value is deferred: it is read when the work is performed.
        """
        self._must_have_numbers(view, op)
        self.check_bounds(view, op)
        if self.recording is not None:
            return self.recording.load(view, proxy)
        self.touch(view, op, write=False, proxy=proxy)
        return self.machine.read(view)

    def store(self, view: View, value: Any, op: Operation, proxy: Proxy = Proxy.GENERIC) -> None:
        """Write `value` (array, scalar or UNKNOWN) to the bytes under `view`."""
        self._must_have_numbers(view, op)
        self.check_bounds(view, op)
        if self.recording is not None:
            self.recording.store(view, value, proxy)
            return
        self.touch(view, op, write=True, proxy=proxy)
        if self.gathering is not None:
            self.gathering.write(view, value)
        self.machine.write(view, value)

    @property
    def in_iteration(self) -> str:
        """` in iteration 3, 0`, for messages: of each loop around, outermost first; nothing outside of loops."""
        return f" in iteration {', '.join(map(str, self.iteration))}" if self.iteration else ""

    def _must_have_numbers(self, view: View, op: Operation) -> None:
        """Raise `UnsupportedError` in a run where `view` has no numbers: tiles of Triton's are not computed."""
        if self.machine.with_data and view.base.data is None:
            raise UnsupportedError(
                op,
                f"accesses '{view.base.name}', and tiles of Triton's have no numbers in a run; check the program, "
                "which needs none, or run it in Triton's interpreter by TRITON_INTERPRET=1",
            )

    def check_bounds(self, view: View, op: Operation) -> None:
        """Raise `OutOfBoundsError` where `view` reaches outside its object."""
        if not view.in_bounds():
            region, base = view.region, view.base
            where = f"{self.in_iteration}: bytes {region.start} to {region.stop} of {base.size}"
            raise out_of_bounds(op, base, where, region.start)

    # Asynchronous work ---------------------------------------------------------------------------------------------

    def issue(
        self, op: Operation, touches: Sequence[Touch], move: Callable[[], None] | None, **how: Unpack[HowIssued]
    ) -> AsyncWork:
        """
        Issue asynchronous work that reads and writes `touches`.

        Data moves either by `move`, all at once when the work is performed, or by `fetch` and `deliver` (`HowIssued`).
        """
        for touch in touches:
            self.check_bounds(touch.view, op)
        return self.machine.issue(self, op, list(touches), move, **how)

    # Running IR ----------------------------------------------------------------------------------------------------

    def value(self, ssa: SSAValue) -> Any:
        """What the op that runs now sees of `ssa`."""
        value = self.activation.values[ssa]
        return self._seen_now(value, self.current_op) if isinstance(value, LateValue) else value

    def doubt(self, op: Operation, reason: str, leaves_open: str = "") -> None:
        """Why one execution may not speak for all (see `Machine.doubt`)."""
        self.machine.doubt(op, reason, leaves_open)

    def leave_open(self, op: Operation, reason: str) -> None:
        """What is found is told; where nothing is, the verdict stays open for `reason`."""
        self.machine.leave_open(op, reason)

    def shares(self, name: str, *, alone: bool) -> None:
        """The present step depends on, or changes, the resource `name` (see `Machine.shares`)."""
        self.machine.shares(name, alone=alone)

    def known(self, value: Any, op: Operation, use: str) -> Any:
        """`value`, which must be known: `use` says what for ("branches on", "computes an address from")."""
        if type(value) is int:
            return value
        if isinstance(value, Deferred):
            value = self.resolve(value)
        if isinstance(value, LateValue):
            value = self._seen_now(value, op)
        if isinstance(value, PerThread):
            value = by_thread.known_to_all(self, value, op, use)
        if value is UNKNOWN:
            what = "data that is not computed when checking"
            if decides_by_atomic(op):
                what = "what an atomic access finds in memory, and who changes that is not followed"
            raise UndecidedError(op, f"{use} {what}")
        return value

    def _seen_now(self, value: LateValue, op: Operation | None) -> Any:
        """What a late value is now, in a place where the agent cannot wait for it; UNKNOWN if it is not there yet."""
        assert op is not None
        missing = first_missing([value])
        if missing is None:
            return seen_by_agent(value, self, op)
        report_missing(missing, self, op)
        return UNKNOWN

    def settled(self, values: Sequence[Any], op: Operation) -> Request:
        """
        `values`, as a list, as this agent sees them in `op`. A late one that is not there yet is reported, and waited
        for, as if it had been there in time.
        """
        missing = first_missing(values)
        if missing is None:
            return Done([seen_by_agent(value, self, op) for value in values])
        report_missing(missing, self, op)
        return self.wait(EventCondition(missing.there, "value"), op).then(_settle_the_rest, values, op)

    def resolve(self, value: Any) -> Any:
        """The value behind a deferred one, read now, by this thread: for control flow and addresses inside a scope."""
        if self.recording is None or not isinstance(value, Deferred):
            return value
        return self.recording.resolve_now(value)

    def _run_block(self, block: Block, arguments: Sequence[Any]) -> Answer:
        """Begin `block`."""
        values = self.activation.values
        for argument, value in zip(block.args, arguments, strict=True):
            values[argument] = value
        return self._run_from(block, 0)

    def _go_on_in_block(self, position: Position, outcome: Any) -> Answer:
        """Go on in a block after the op whose outcome is there."""
        self._note_results(position.step, outcome)
        if position.taken is not None:
            position.taken.outcome = outcome
        return self._run_from(position.block, position.number + 1)

    def go_on_after(self, op: Operation, outcome: Any) -> Answer:
        """
        Go on behind `op`, a jump that ends in its block after all, with its results. What is returned is its outcome:
        the block goes on when the agent comes back to what it stands at.
        """
        block = op.parent
        assert block is not None
        steps = self.machine.prepared(block)
        number = next(number for number, step in enumerate(steps) if step.op is op)
        self._stack.append(Position(block, number, steps[number]))
        return outcome

    def _run_from(self, block: Block, number: int) -> Answer:
        """Run `block` from op `number` on; returns what its terminator hands over, or what some op asks for."""
        machine = self.machine
        values, clock = self.activation.values, machine.clock
        value_of = values.__getitem__
        observer = machine.observer if machine.observer.watches_steps else None
        pauses_from = machine.order.pauses
        steps = machine.prepared(block)
        for place in range(number, len(steps)):
            step = steps[place]
            operands = list(map(value_of, step.operands))
            self.current_op = step.op
            machine.step_number += 1
            kind = step.kind
            is_opaque = machine.opaque_names and (machine.late_numbers or is_any_opaque(operands))
            if is_opaque:
                operands = admitted(machine, step, operands)
            taken = observer.step(self, step, operands) if observer is not None else None
            if kind is TERMINATOR:
                return self._leave_block(step.op, tuple(operands))
            if kind is PURE and clock is None and not machine.late_values:
                outcome = self._run_pure(step, operands)
            else:
                if clock is None and step.sight < pauses_from and self._acts_at_once(kind):
                    try:
                        outcome = step.function(self, step.op, *operands)
                    except NotYetError as error:
                        outcome = self._act_once(error.condition, step, operands)
                else:
                    outcome = self.begin(step, operands)
                if isinstance(outcome, Request):
                    if is_opaque and kind is PURE:
                        outcome = outcome.then(_compute_opaque, step, operands)
                    depth = len(self._stack)
                    outcome = self._advance(outcome, step.op)
                    if isinstance(outcome, Request):
                        if kind is not JUMP:
                            self._stack.insert(depth, Position(block, place, step, taken))
                        return outcome
            if kind is JUMP:
                return outcome
            if is_opaque and kind is PURE:
                outcome = computed(step, operands, outcome)
            elif machine.opaque_names and type(outcome) is PerThread:
                must_be_alike(machine, step.op, outcome.values)
            if taken is not None:
                taken.outcome = outcome
            results = step.results
            if len(results) == 1:
                values[results[0]] = outcome
            elif results:
                self._note_results(step, outcome)
        return self._leave_block(block.parent_op(), ())

    def _acts_at_once(self, kind: Kind) -> bool:
        """Whether a step of that kind takes its operands as they are and does what it does, without more ado."""
        machine = self.machine
        return not (machine.late_values or machine.tells_threads_apart or self.recording is not None or kind is JUMP)

    def _leave_block(self, op: Operation | None, handed_over: tuple[Any, ...]) -> Answer:
        """
        Leave a region with the values `handed_over`. Under the order `timed` the agent pauses first, so that what comes
        after the region runs at its time.
        """
        if self.machine.clock is None:
            return handed_over
        assert op is not None
        return self._advance(Pause().then(_hand_over, handed_over), op)

    def _note_results(self, step: Step, outcome: Any) -> None:
        results, values = step.results, self.activation.values
        if len(results) == 1:
            values[results[0]] = outcome
        elif results:
            for result, value in zip(results, outcome, strict=True):
                values[result] = value

    # One op of a block: settle its operands, pause before what others can see, act ------------------------------------

    def begin(self, step: Step, operands: list[Any], *, settled: bool = False) -> Answer:
        """Run the op of `step`; late values among its operands have to be there first, unless that is `settled`."""
        machine, kind = self.machine, step.kind
        if machine.late_values and not (settled or step.looks_later):
            looked_at = operands[: step.looked_at]
            return self.settled(looked_at, step.op).then(_begin_settled, step, operands[step.looked_at :])
        if kind is Kind.PURE:
            needs_time = machine.clock is not None and step.reads_tiles
            return Pause().then(_act, step, operands) if needs_time else self.act(step, operands)
        if kind is Kind.JUMP:
            machine.check_budget(step.op)
            return step.function(self, step.op, *operands)
        if step.sight >= machine.order.pauses:
            return Pause().then(_act_after_others, step, operands)
        return self.act(step, operands)

    def act(self, step: Step, operands: list[Any]) -> Answer:
        """Do what the op of `step` does."""
        if self.recording is not None and step.kind is not Kind.PURE:
            operands = [self.recording.operand_for(step.op, operand) for operand in operands]
        outcome = self._run_pure(step, operands) if step.kind is Kind.PURE else self._run_effect(step, operands)
        clock = self.machine.clock
        if clock is None:
            return outcome
        if isinstance(outcome, Request):
            return outcome.then(_charge, step, operands)
        clock.step_done(self, step, operands, outcome)
        return outcome

    def _run_effect(self, step: Step, operands: list[Any]) -> Answer:
        try:
            if self.machine.tells_threads_apart and step.kind not in by_thread.PASSED_ON:
                for operand in operands:
                    if type(operand) is PerThread:
                        return by_thread.act(self, step, operands)
            return step.function(self, step.op, *operands)
        except NotYetError as error:
            return self._act_once(error.condition, step, operands)

    def _act_once(self, condition: Condition, step: Step, operands: list[Any]) -> Request:
        """Wait for what the op of `step` needs before it can do anything, and then do what it does."""
        return self.wait(condition, step.op).then(_act, step, operands)

    def _run_pure(self, step: Step, operands: list[Any]) -> Any:
        if self.machine.tells_threads_apart:
            for operand in operands:
                if type(operand) is PerThread:
                    return by_thread.compute(self, step, operands)
        if step.reads_tiles:
            operands = [
                self.load(operand, step.op, Proxy.UNSPECIFIED) if isinstance(operand, View) else operand
                for operand in operands
            ]
        for operand in operands:
            if operand is UNKNOWN:
                return step.unknown_outcome
        if self.recording is not None and any(isinstance(operand, Deferred) for operand in operands):
            return self.recording.apply(step, operands, self)
        if step.gives_float and not self.machine.observer.follows_floats:
            return UNKNOWN
        return step.function(self, step.op, *operands)

    def run_region(self, region: Region, arguments: Sequence[Any] = ()) -> Request:
        """Run `region` from its entry block on. The outcome is the operands of the terminator that leaves it."""
        block = region.first_block
        return Enter(block, tuple(arguments)) if block is not None else Done(())

    def run_iterations(self, body: Block, inductions: Sequence[Any] | OpenTurns, carried: Sequence[Any]) -> Request:
        """
        Run a counted loop: `body` once for each value of `inductions`, or as often as is decided where that is open.
        The outcome is what the last iteration yields.
        """
        observer = self.machine.observer
        turns = observer.loop(self, body, inductions) if observer.watches_steps else None
        return run_iteration(self, tuple(carried), LoopTurn(body, inductions, self.iteration, turns))

    def begin_iteration(self, body: Block, outside: tuple[int, ...], number: int) -> None:
        """Iteration `number` of the loop around `body` begins; `outside` are those of the loops around it."""
        self.iteration = (*outside, number)
        heads = self.machine.heads
        if number >= heads.get(body, 0):
            heads[body] = number
        if self.machine.clock is not None:
            self.machine.clock.begin_iteration(self, body, outside)

    def end_loop(self, body: Block, outside: tuple[int, ...]) -> None:
        self.iteration = outside
        if self.machine.clock is not None:
            self.machine.clock.end_loop(self, body)

    def call(self, function: Operation, body: Region, arguments: Sequence[Any]) -> Request:
        """Run the body of `function` in an activation of its own. The outcome is what it returns."""
        caller = self.activation
        self.activation = self.new_activation(function, depth=caller.depth + 1)
        return self.run_region(body, arguments).then(_leave_call, caller)

    @contextmanager
    def delegating(self) -> Generator[None]:
        """Accesses of the agent inside this context belong to asynchronous work, which pays for their time."""
        before = self.delegates
        self.delegates = True
        try:
            yield
        finally:
            self.delegates = before

    # Forking -------------------------------------------------------------------------------------------------------

    def fork(
        self,
        name: str,
        op: Operation,
        step: Continuation,
        *data: Any,
        captures: Sequence[Region],
        hardware: Threads | None = None,
    ) -> Agent:
        """
        A new agent that knows what this one knows, sees what `captures` (the regions that it will run) take from their
        surroundings as it is now, and begins at `step` of `op` with `data`.
        """
        child = Agent(self.machine, name_in_block(self, name), self, hardware)
        values = self.activation.values
        seen = {value: values[value] for value in self.machine.code.captured(captures) if value in values}
        child.activation = child.new_activation(self.activation.function, seen)
        child.learn(self.release())
        child.stand([Standing(op, step, data)])
        self.machine.add_agent(child)
        return child


# Where agents go on --------------------------------------------------------------------------------------------------


@continuation
def _settle_the_rest(agent: Agent, _op: Operation, _: None, values: Sequence[Any], op: Operation) -> Answer:
    return agent.settled(values, op)


@continuation
def _begin_settled(agent: Agent, _op: Operation, looked_at: list[Any], step: Step, others: list[Any]) -> Answer:
    return agent.begin(step, [*looked_at, *others], settled=True)


@continuation
def _compute_opaque(_agent: Agent, _op: Operation, outcome: Any, step: Step, operands: list[Any]) -> Answer:
    return computed(step, operands, outcome)


@continuation
def _act(agent: Agent, _op: Operation, _: None, step: Step, operands: list[Any]) -> Answer:
    return agent.act(step, operands)


@continuation
def _act_after_others(agent: Agent, _op: Operation, _: None, step: Step, operands: list[Any]) -> Answer:
    agent.machine.step_number += 1
    return agent.act(step, operands)


@continuation
def _charge(agent: Agent, _op: Operation, outcome: Any, step: Step, operands: list[Any]) -> Answer:
    assert agent.machine.clock is not None
    agent.machine.clock.step_done(agent, step, operands, outcome)
    return outcome


@continuation
def _hand_over(_agent: Agent, _op: Operation, _: None, handed_over: tuple[Any, ...]) -> Answer:
    return handed_over


@continuation
def _leave_call(agent: Agent, _op: Operation, results: Any, caller: Activation) -> Answer:
    for ending in agent.activation.endings:
        ending(agent)
    agent.activation = caller
    return results
