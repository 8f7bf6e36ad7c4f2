"""
Agents: threads of control that run IR in order and can be put aside whenever they have to wait.

An agent is a Python generator, never an operating-system thread, so an execution is a function of its input and of
the order that was asked for. A block is prepared once (meanings looked up, operands listed) and then run from that
list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event, Touch
from tileas_xdsl.machine.core.handles import unknown_outcome
from tileas_xdsl.machine.core.happens_before import Access, Clock, Knowledge, Mind, Proxy, join, observe
from tileas_xdsl.machine.core.late_values import LateValue, first_missing, report_missing, seen_by_agent
from tileas_xdsl.machine.core.meaning import Jump, Kind
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.orders import Pauses
from tileas_xdsl.machine.core.recording import Deferred, Recording
from tileas_xdsl.machine.core.state import OwnPart, OwnPartT, Parts
from tileas_xdsl.machine.core.synchronization import Condition, EventCondition, MarkSequence
from tileas_xdsl.machine.core.values import ELECTED, UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.parts.resources import Resource

Suspension = Generator["Condition | None", None, Any]
"""What an agent's steps are: yields the condition that it waits for, or None for a mere pause."""


PAUSING_KINDS = {
    Pauses.NEVER: frozenset[Kind](),
    Pauses.AT_SYNCHRONISATION: frozenset({Kind.SYNC, Kind.SUSPENDS}),
    Pauses.AT_EVERY_EFFECT: frozenset({Kind.EFFECT, Kind.SYNC, Kind.SUSPENDS}),
}


@dataclass(slots=True)
class Step:
    """One op of a block, ready to run."""

    op: Operation
    kind: Kind
    function: Callable[..., Any]
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    reads_tiles: bool = False
    """Whether it is upstream arithmetic on tiles: an operand that is a view is read first."""
    looks_later: bool = False
    """Whether it looks at its operands after it was reached, so that they may be late values."""
    gives_float: bool = False
    """Whether its only result is a float."""


@dataclass(eq=False)
class Activation:
    """One call of a function: its values and its sequence of marks. No two are the same."""

    function: Operation | None
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    marks: MarkSequence = field(default_factory=MarkSequence)
    endings: list[Callable[[Agent], None]] = field(default_factory=list["Callable[[Agent], None]"])
    """What to do when it ends: the lifetimes of its stack buffers end."""


class Agent:
    """A thread of control. Meanings call its methods; the machine resumes it."""

    def __init__(self, machine: Machine, name: str, parent: Agent | None, threads: int = 1) -> None:
        self.machine = machine
        self.name = name
        self.parent = parent
        self.number = machine.next_agent_number()
        self.threads = threads
        """How many hardware threads it stands for where arrivals are counted in threads."""
        self.first_thread = 0
        """Its first hardware thread, whose view of `tid` and the like stands for all of them."""
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
        self.last_words = Knowledge()
        """What its end makes known."""
        self.started_by: Operation | None = None
        """The op whose task it is, if it is one."""
        self.resource: Resource | None = None
        """What it holds, or held, for itself alone."""
        self.recording: Recording | None = None
        self.transfers: list[AsyncWork] = []
        """Marked transfers of this thread, in order of issue."""
        self.transfers_observed = 0
        self.delegates = False
        """Whether what it touches is touched for asynchronous work, which pays for it with its own time."""
        self.parts = Parts[OwnPart]()
        """State that rooms of the machine keep for this thread: uncommitted copies, queues of its own."""
        self._steps: Suspension | None = None

    def part(self, kind: type[OwnPartT]) -> OwnPartT:
        """The state of that kind."""
        return self.parts.of(kind)

    # Life ----------------------------------------------------------------------------------------------------------

    def start(self, steps: Suspension) -> None:
        self._steps = steps

    def resume(self) -> None:
        """Run until the next wait, pause or the end."""
        assert self._steps is not None
        self.waiting_for = None
        try:
            self.waiting_for = next(self._steps)
        except StopIteration:
            self.finished = True
            if self.current_op is not None:
                self.machine.happened(self, self.current_op, "finish", "comes to its end", on=self)
            self.last_words = self.release()
            self.machine.agent_finished(self)

    @property
    def steps(self) -> Suspension:
        """What it runs, put aside."""
        assert self._steps is not None
        return self._steps

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
        """What this agent can hand over now. Its next moment begins."""
        knowledge = Knowledge(dict(self.clock), {s: dict(c) for s, c in self.fenced.items()})
        self.moment += 1
        self.clock[self.number] = self.moment
        return knowledge

    def fence_proxies(self, spaces: Iterable[str]) -> None:
        """`fence.proxy.async`: all that is known now is ordered before later accesses of the asynchronous proxy."""
        for space in spaces:
            join(self.fenced.setdefault(space, {}), self.clock)
        # Accesses of this moment that come after the fence must not pass for fenced.
        self.moment += 1
        self.clock[self.number] = self.moment

    # Waiting -------------------------------------------------------------------------------------------------------

    def pause(self) -> Suspension:
        """Let others go first, if the order has agents pause at synchronisation."""
        if Kind.SYNC in PAUSING_KINDS[self.machine.order.pauses]:
            yield None

    def wait(self, condition: Condition, op: Operation | None = None) -> Suspension:
        """Suspend until `condition` holds, then learn what it hands over."""
        while not condition.holds():
            self.waiting_at = op if op is not None else self.current_op
            yield condition
        condition.observe(self)

    # Memory --------------------------------------------------------------------------------------------------------

    def touch(self, view: View, op: Operation, *, write: bool, proxy: Proxy = Proxy.GENERIC) -> None:
        """Note a synchronous access and compare it with everything that might race with it."""
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
        )
        self.machine.note_access(access, self.mind)

    def load(self, view: View, op: Operation, proxy: Proxy = Proxy.GENERIC) -> Any:
        """
        The elements under `view`: an array, a scalar for a view of rank 0, or UNKNOWN when data is not computed. Inside
        an asynchronous scope the value is deferred: it is read when the work is performed.
        """
        self.check_bounds(view, op)
        if self.recording is not None:
            return self.recording.load(view, proxy)
        self.touch(view, op, write=False, proxy=proxy)
        return self.machine.read(view)

    def store(self, view: View, value: Any, op: Operation, proxy: Proxy = Proxy.GENERIC) -> None:
        """Write `value` (array, scalar or UNKNOWN) to the bytes under `view`."""
        self.check_bounds(view, op)
        if self.recording is not None:
            self.recording.store(view, value, proxy)
            return
        self.touch(view, op, write=True, proxy=proxy)
        self.machine.write(view, value)

    @property
    def in_iteration(self) -> str:
        """` in iteration 3, 0`, for messages: of each loop around, outermost first; nothing outside of loops."""
        return f" in iteration {', '.join(map(str, self.iteration))}" if self.iteration else ""

    def check_bounds(self, view: View, op: Operation) -> None:
        """Raise `UnsupportedError` where `view` reaches outside its object."""
        if not view.in_bounds():
            region, base = view.region, view.base
            raise UnsupportedError(
                op,
                f"reaches outside '{base.name}'{self.in_iteration}: bytes {region.start} to "
                f"{region.stop} of {base.size}; run it with matching sizes, or fix the index",
            )

    # Asynchronous work ---------------------------------------------------------------------------------------------

    def issue(
        self,
        op: Operation,
        touches: Sequence[Touch],
        move: Callable[[], None] | None,
        *,
        label: str,
        engine: str = "copy",
        dependencies: Sequence[Event] = (),
        fetch: Callable[[], Any] | None = None,
        deliver: Callable[[Any], None] | None = None,
        resource: Resource | None = None,
        look: Callable[[AsyncWork], list[Touch]] | None = None,
        needs: Sequence[Any] = (),
    ) -> AsyncWork:
        """
        Issue asynchronous work that reads and writes `touches`.

        Data moves either by `move`, all at once when the work is performed, or by `fetch` (reads the sources) and
        `deliver` (writes the destination), which `capture=issue` takes apart. The work is performed at some time
        after all `dependencies` are complete, and while nobody holds `resource`. Work that looks at its operands only
        then says by `look` what it touches; the late values among `needs` have to be there.
        """
        for touch in touches:
            self.check_bounds(touch.view, op)
        return self.machine.issue(
            self,
            op,
            list(touches),
            move,
            label,
            engine,
            list(dependencies),
            fetch,
            deliver,
            resource,
            look,
            needs,
        )

    # Running IR ----------------------------------------------------------------------------------------------------

    def value(self, ssa: SSAValue) -> Any:
        """What the op that runs now sees of `ssa`."""
        value = self.activation.values[ssa]
        return self._seen_now(value, self.current_op) if isinstance(value, LateValue) else value

    def known(self, value: Any, op: Operation, use: str) -> Any:
        """`value`, which must be known: `use` says what for ("branches on", "computes an address from")."""
        if isinstance(value, Deferred):
            value = self.resolve(value)
        if isinstance(value, LateValue):
            value = self._seen_now(value, op)
        if value is UNKNOWN:
            raise UndecidedError(op, f"{use} data that is not computed when checking")
        return value

    def _seen_now(self, value: LateValue, op: Operation | None) -> Any:
        """What a late value is now, where there is no waiting for it; UNKNOWN when it is not there."""
        assert op is not None
        missing = first_missing([value])
        if missing is None:
            return seen_by_agent(value, self, op)
        report_missing(missing, self, op)
        return UNKNOWN

    def settled(self, values: Sequence[Any], op: Operation) -> Suspension:
        """
        `values` as this agent sees them in `op`. A late one that is not there yet is reported, and waited for, as if it
        had been there in time.
        """
        while (missing := first_missing(values)) is not None:
            report_missing(missing, self, op)
            yield from self.wait(EventCondition(missing.there, "value"), op)
        return [seen_by_agent(value, self, op) for value in values]

    def resolve(self, value: Any) -> Any:
        """The value behind a deferred one, read now, by this thread: for control flow and addresses inside a scope."""
        if self.recording is None or not isinstance(value, Deferred):
            return value
        return self.recording.resolve_now(value)

    def run_block(self, block: Block, arguments: Sequence[Any]) -> Suspension:
        """Run the ops of `block`; returns what its terminator hands over, or a `Jump`."""
        values = self.activation.values
        for argument, value in zip(block.args, arguments, strict=True):
            values[argument] = value
        machine = self.machine
        clock = machine.clock
        observer = machine.observer if machine.observer.watches_steps else None
        pausing = PAUSING_KINDS[machine.order.pauses]
        for step in machine.prepared(block):
            operands = [values[operand] for operand in step.operands]
            self.current_op = step.op
            machine.step_number += 1
            kind = step.kind
            taken = observer.step(self, step, operands) if observer is not None else None
            if kind is Kind.TERMINATOR:
                if clock is not None:
                    # What comes after the region comes at its time.
                    yield None
                return tuple(operands)
            if machine.late_values and not step.looks_later:
                operands = cast("list[Any]", (yield from self.settled(operands, step.op)))
            if kind is Kind.PURE:
                if clock is not None and step.reads_tiles:
                    yield None
                outcome = self._run_pure(step, operands)
            elif kind is Kind.JUMP:
                machine.check_budget(step.op)
                return step.function(self, step.op, *operands)
            else:
                if kind in pausing:
                    yield None
                    machine.step_number += 1
                    self.current_op = step.op
                if self.recording is not None:
                    operands = [self.recording.operand_for(step.op, operand) for operand in operands]
                outcome = step.function(self, step.op, *operands)
                if kind is Kind.SUSPENDS or kind is Kind.CONTROL:
                    outcome = cast(Any, (yield from outcome))
            if clock is not None:
                clock.step_done(self, step, operands, outcome)
            if taken is not None:
                taken.outcome = outcome
            if len(step.results) == 1:
                values[step.results[0]] = outcome
            elif step.results:
                for result, value in zip(step.results, outcome, strict=True):
                    values[result] = value
        if clock is not None:
            # A block without a terminator ends when its last op does.
            yield None
        return ()

    def _run_pure(self, step: Step, operands: list[Any]) -> Any:
        if step.reads_tiles:
            operands = [
                self.load(operand, step.op, Proxy.UNSPECIFIED) if isinstance(operand, View) else operand
                for operand in operands
            ]
        for operand in operands:
            if operand is UNKNOWN:
                return unknown_outcome(step.op)
        if self.recording is not None and any(isinstance(operand, Deferred) for operand in operands):
            return self.recording.apply(step, operands, self)
        if step.gives_float and not self.machine.observer.follows_floats:
            return UNKNOWN
        return step.function(self, step.op, *operands)

    def run_region(self, region: Region, arguments: Sequence[Any] = ()) -> Suspension:
        """Run `region` from its entry block on; returns the operands of the terminator that leaves it."""
        block = region.first_block
        if block is None:
            return ()
        while True:
            outcome = yield from self.run_block(block, arguments)
            if not isinstance(outcome, Jump):
                return outcome
            block, arguments = outcome.target, outcome.values

    def run_iterations(self, body: Block, inductions: Iterable[Any], carried: Sequence[Any]) -> Suspension:
        """Run a counted loop: `body` once for each value of `inductions`; returns what the last iteration yields."""
        outside = self.iteration
        values = tuple(carried)
        observer = self.machine.observer
        turns = observer.loop(self, body, inductions) if observer.watches_steps else None
        for number, induction in enumerate(inductions):
            self.machine.check_budget(self.current_op)
            self.begin_iteration(body, outside, number)
            if turns is not None and turns.begins():
                yield None
            values = yield from self.run_block(body, (induction, *values))
        self.end_loop(body, outside)
        return values

    def begin_iteration(self, body: Block, outside: tuple[int, ...], number: int) -> None:
        """Iteration `number` of the loop around `body` begins; `outside` are those of the loops around it."""
        self.iteration = (*outside, number)
        if self.machine.clock is not None:
            self.machine.clock.begin_iteration(self, body, outside)

    def end_loop(self, body: Block, outside: tuple[int, ...]) -> None:
        self.iteration = outside
        if self.machine.clock is not None:
            self.machine.clock.end_loop(self, body)

    def call(self, function: Operation, body: Region, arguments: Sequence[Any]) -> Suspension:
        """Run the body of `function` in an activation of its own; returns what it returns."""
        caller = self.activation
        self.activation = Activation(function)
        try:
            results = yield from self.run_region(body, arguments)
            for ending in self.activation.endings:
                ending(self)
            return results
        finally:
            self.activation = caller

    @contextmanager
    def as_elected(self, condition: Any) -> Generator[None]:
        """Inside a branch on the result of an election the agent is one thread."""
        threads = self.threads
        if condition is ELECTED:
            self.threads = 1
        try:
            yield
        finally:
            self.threads = threads

    @contextmanager
    def delegating(self) -> Generator[None]:
        """What the agent touches inside, it touches for asynchronous work."""
        before = self.delegates
        self.delegates = True
        try:
            yield
        finally:
            self.delegates = before

    # Forking -------------------------------------------------------------------------------------------------------

    def fork(
        self, name: str, body: Callable[[Agent], Suspension], *, captures: Sequence[Region], threads: int = 1
    ) -> Agent:
        """
        A new agent that knows what this one knows, sees what `captures` (the regions that it will run) take from their
        surroundings as it is now, and runs `body`.
        """
        child = Agent(self.machine, name, self, threads)
        values = self.activation.values
        seen = {value: values[value] for value in self.machine.code.captured(captures)}
        child.activation = Activation(self.activation.function, seen)
        child.learn(self.release())
        child.start(body(child))
        self.machine.add_agent(child)
        return child
