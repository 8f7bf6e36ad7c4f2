"""
Decide whether a function is right when it is called with certain scalars: `decide(subject, scalars)`.

One execution on scalars and synchronisation alone speaks for every interleaving if the program is phase-determinate,
which the execution itself tests (`machine.parts.barriers`). Where it is not, all interleavings are tried within a
bound; where that bound is reached first, the decision names a doubt. A call with a mistake is executed again with a
trace, which explains the mistake.

A program that tests barriers is decided under all answers that these tests may give (`answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import Any, TypeGuard

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.memref import ExtractAlignedPointerAsIndexOp
from xdsl.ir import Attribute, Operation, Region

from tileas_xdsl.checker.snapshot.snapshot import MergedError
from tileas_xdsl.checker.verdict.answers import (
    Answering,
    Asked,
    Script,
    ScriptedAnswers,
    explore_answers,
    script_of,
    turn_back,
)
from tileas_xdsl.checker.verdict.blocks import PROGRAMS, TURNS, LoopsOverBlocks
from tileas_xdsl.checker.verdict.interleavings import MOST_RUNS, RedundantRunError, explore
from tileas_xdsl.checker.verdict.loop_bounds import made_up_extent
from tileas_xdsl.checker.verdict.preconditions import Numbers, counting
from tileas_xdsl.checker.verdict.scope import assumptions_about_memory
from tileas_xdsl.checker.witnesses.diagnosis import blame_first_wait
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.arguments import (
    DYNAMIC_EXTENT,
    argument_at,
    argument_names,
    is_argument,
    object_behind,
    symbolic_arguments,
)
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.calling import execute, execute_on
from tileas_xdsl.machine.core.code import Code
from tileas_xdsl.machine.core.conflicts import deadlock_of, violation_of_conflict
from tileas_xdsl.machine.core.deadline import NO_DEADLINE, Deadline, TimeUpError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.opaque_numbers import Grid, OfProgram, OpaqueNumber, PartsOfArrays, SumOfIds
from tileas_xdsl.machine.core.orders import Lazy, Order, Random
from tileas_xdsl.machine.core.threads.hardware import Elections
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import (
    MistakeError,
    OutOfBoundsError,
    Party,
    UndecidedError,
    Unordered,
    Violation,
    ViolationKind,
    report_mistake,
)
from tileas_xdsl.machine.core.what_if import WhatIf
from tileas_xdsl.machine.parts.barriers import judge_open_phases

BOUNDLESS_EXTENT = 1 << 30
"""An extent that no loop walks to the end, and that an integer of 32 bits can hold."""
ADDRESSABLE = 1 << 62
"""Bytes of an array: the distance of any two of them is an integer of 64 bits, with its sign."""


def computes_addresses(function: Operation) -> bool:
    """Whether `function` takes an address of an array as a number, as code of threads does."""
    return any(isinstance(op, ExtractAlignedPointerAsIndexOp) for op in function.walk())


def addressable_extent(body: Region) -> int:
    """The largest power of two, up to BOUNDLESS_EXTENT, with which all array arguments of `body` are addressable."""
    assert body.first_block is not None
    kinds = [argument.type for argument in body.first_block.args]
    return min((_addressable_extent(kind) for kind in kinds if is_open(kind)), default=BOUNDLESS_EXTENT)


def is_open(kind: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    """Whether `kind` is an array some of whose extents are open."""
    return isinstance(kind, MemRefType) and DYNAMIC_INDEX in kind.get_shape()


def _addressable_extent(array: MemRefType[Attribute]) -> int:
    """The same for one array, of which some extents are open."""
    shape = array.get_shape()
    element = element_type(array.element_type)
    known = prod(extent for extent in shape if extent != DYNAMIC_INDEX) * (1 if element is None else element.size)
    room = (ADDRESSABLE // max(1, known)).bit_length() - 1
    return min(BOUNDLESS_EXTENT, 1 << room // shape.count(DYNAMIC_INDEX))


@dataclass(frozen=True)
class Assumptions:
    """What a check takes for granted; see the arguments of `check`."""

    capture: str = "completion"
    may_alias: tuple[tuple[str, str], ...] = ()
    pure: frozenset[str] = frozenset()
    relaxed_proxy: bool = False
    threads: int | None = None
    preconditions: Mapping[str, Numbers] = field(default_factory=dict[str, Numbers])
    """Arguments that count the numbers which keep their preconditions."""


@dataclass(frozen=True)
class Subject:
    """The function that is decided about."""

    op: Operation
    body: Region
    assumptions: Assumptions = Assumptions()
    code: Code = field(default_factory=Code)
    """What is worked out about its ops once, for all executions."""
    deadline: Deadline = NO_DEADLINE
    """When executions of it end, wherever they are."""
    numbers: frozenset[str] = frozenset()
    """The ids and extents of the grid that are arguments, since they decide something (`blocks`)."""
    loops: LoopsOverBlocks | None = None
    """The loops over blocks, if the number of their turns is an argument."""
    programs: tuple[str, ...] = ()
    """The arguments that stand for what is computed from the number of a program (`any_programs`)."""
    judges_waits: bool = True
    """Whether waits that could be weaker are looked for, of what is proved."""
    slices: bool = True
    """Whether executions leave out what only computes data (`machine.core.threads.slices`)."""
    elections: Elections = Elections.OPEN
    known_wrong: bool = False
    """Whether many calls of it have shown mistakes: then few interleavings of a wrong call are tried."""

    def of(self, op: Operation, body: Region) -> Subject:
        """
        Another function, in place of this one and decided about likewise, in half of the time that is left: if that
        fails, there must be time to execute the function as it stands.
        """
        deadline = self.deadline.halfway()
        return Subject(
            op,
            body,
            self.assumptions,
            deadline=deadline,
            judges_waits=self.judges_waits,
            slices=self.slices,
            elections=self.elections,
        )

    def under(self, name: str, numbers: Mapping[str, Numbers]) -> Subject:
        """
        The function, called `name`, for those calls only in which arguments are among `numbers`.

        Raises `ArgumentError` for an argument that is no integer.
        """
        op, body = counting(self.op, name, numbers)
        known = {**self.assumptions.preconditions, **numbers}
        return replace(self, op=op, body=body, code=Code(), assumptions=replace(self.assumptions, preconditions=known))

    def machine(self, order: Order) -> Machine:
        """A machine on which to execute it without data."""
        taken = self.assumptions
        return Machine(
            order,
            with_data=False,
            capture=taken.capture,
            assume_pure=taken.pure,
            relaxed_proxy=taken.relaxed_proxy,
            threads=taken.threads,
            unstated_slots=1,
            slices=self.slices,
            elections=self.elections,
            code=self.code,
            deadline=self.deadline,
        )

    @cached_property
    def extent(self) -> int:
        """What the open extents of arrays are taken to be: beyond what loops walk, unless that bounds the loops."""
        if made_up_extent(self.op) is not None:
            return DYNAMIC_EXTENT
        return addressable_extent(self.body) if computes_addresses(self.op) else BOUNDLESS_EXTENT

    def arguments(self, scalars: Mapping[str, int]) -> list[Any]:
        """The arguments of a call with `scalars`, without data (see `symbolic_arguments`)."""
        pairs = self.assumptions.may_alias
        aliases = [pair for pair in pairs if all(is_argument(self.body, name) for name in pair)]
        return symbolic_arguments(self.body, scalars, aliases=aliases, extent=self.extent)

    def prepare(self, machine: Machine, scalars: Mapping[str, int]) -> list[Any]:
        """The arguments of a call on `machine`, to which the ids and extents among `scalars` are given."""
        loops = self.loops.loops if self.loops is not None else frozenset[Operation]()
        numbers = {name: number for name, number in scalars.items() if name in self.numbers}
        machine.grid = Grid(True, numbers, loops, scalars.get(TURNS, 0), scalars.get(PROGRAMS, 1))
        others = {*self.numbers, TURNS, PROGRAMS}
        own = {name: number for name, number in scalars.items() if name not in others}
        arguments = self.arguments(own)
        for name in self.loops.arguments if self.loops is not None else ():
            machine.opaque_names |= {name}
            place = argument_at(self.body, name).index
            arguments[place] = OpaqueNumber(scalars.get(TURNS, 0), SumOfIds(((name, 1),)), frozenset([name]))
        for name in self.programs:
            machine.opaque_names |= {name}
            place = argument_at(self.body, name).index
            arguments[place] = OpaqueNumber(0, SumOfIds(((OfProgram(name), 1),)), frozenset([name]))
        return arguments

    def execute(self, machine: Machine, scalars: Mapping[str, int]) -> None:
        """Execute the function on `machine` to its end, and perform all work that is still in flight then."""
        machine.at_end.append(report_at_end_of(self.op))
        arguments = self.prepare(machine, scalars)
        self._to_the_end(machine, lambda: execute(machine, self.op, arguments))

    def execute_on(self, machine: Machine, agent: Agent) -> None:
        """The same for an execution that was put aside when `agent` had stopped for the observer."""
        self._to_the_end(machine, lambda: execute_on(machine, agent))

    def _to_the_end(self, machine: Machine, run: Callable[[], object]) -> None:
        try:
            run()
        except MergedError:
            # From here on another execution goes on for this one, with what it has touched itself.
            machine.part(PartsOfArrays).judge(machine)
            raise
        # Work that nothing waits for completes some time, too, and may complete a phase of a barrier.
        machine.perform_all()
        judge_open_phases(machine)
        machine.part(PartsOfArrays).judge(machine)
        memory = self._memory_of(machine.arguments)
        for assumption in assumptions_about_memory(machine, memory, of_a_kernel=_is_entry(self.op)):
            machine.assume(assumption)

    def _memory_of(self, arguments: Sequence[Any]) -> dict[str, MemoryObject]:
        """The objects in memory that `arguments`, the values of the call's arguments, name: by name of the argument."""
        objects = zip(argument_names(self.body), map(object_behind, arguments), strict=True)
        return {name: base for name, base in objects if base is not None}


@dataclass(frozen=True)
class Decision:
    """The answer about one call. It is right if there are no violations and there is no doubt."""

    machine: Machine
    """After the execution that speaks for all, or the one that shows what is wrong."""
    violations: Sequence[Violation] = ()
    doubt: str | None = None
    """Why the call may be wrong although no mistake was found; None where that is excluded."""
    stopped_at: Operation | None = None
    """The op whose question no execution can answer: it depends on data that are not computed."""
    unexplored: str | None = None
    """Which interleavings were left out after something wrong was found."""
    executions: int = 1


def decide(subject: Subject, scalars: Mapping[str, int], *, leaves_arrays: bool = False) -> Decision:
    """
    Decide whether the call of `subject` with the integer arguments `scalars` is right.

    Raises `UndecidedError` where control flow depends on data, `TimeUpError` where the deadline passes before anything
    wrong is found, `UnsupportedError` for ops without a meaning; and `OutOfBoundsError`, if `leaves_arrays`, where an
    access reaches outside an array, which is a mistake else.
    """
    try:
        return _decided(subject, scalars)
    except MistakeError as error:
        if leaves_arrays and isinstance(error, OutOfBoundsError):
            raise
        return _mistaken(subject, scalars, error)


def _mistaken(subject: Subject, scalars: Mapping[str, int], error: MistakeError) -> Decision:
    """The decision that a call is wrong at the op of `error`, with the execution that leads there."""
    machine = subject.machine(Lazy())
    machine.observer = Investigator()
    machine.guide = ScriptedAnswers({})
    with suppress(MistakeError, TimeUpError):
        subject.execute(machine, scalars)
    report_mistake(machine, error)
    return Decision(machine, list(machine.violations.values()), executions=2)


def _decided(subject: Subject, scalars: Mapping[str, int]) -> Decision:
    """The same as `decide`. Raises `MistakeError` where the program does what is not defined."""
    found = explore_answers(partial(_under_answers, subject, scalars))
    inquest = partial(_Inquest, subject, scalars)
    if found.wrong is not None:
        try:
            return inquest(found.wrong).decide()
        except TimeUpError:
            return Decision(found.machine, _unexplained(found.machine), executions=found.executions)
    if found.asks_for_ever is not None:
        return inquest(found.asks_for_ever).standstill()
    if found.doubtful:
        return _decide_script_by_script(subject, scalars) if found.machine.asked else inquest({}).decide()
    doubt = None if found.exhausted else _too_many_answers(found.asked, found.executions)
    return Decision(found.machine, doubt=doubt, executions=found.executions)


def _unexplained(machine: Machine) -> list[Violation]:
    """The violations of an execution without a trace, for which there is no time to look for witnesses."""
    conflicts = machine.conflicts
    return [
        violation_of_conflict(conflicts[key]) if key in conflicts else violation
        for key, violation in machine.violations.items()
    ]


def _under_answers(subject: Subject, scalars: Mapping[str, int], guide: Answering) -> Machine:
    """An execution with the answers of `guide`, as far as that lets it go."""
    machine = subject.machine(Lazy())
    # Most programs are right, and a trace of what happened is only needed to tell of mistakes.
    machine.trace.recording = False
    machine.guide = machine.observer = guide
    with suppress(MergedError):
        subject.execute(machine, scalars)
    return machine


RANDOM_ORDERS = 16
"""Random orders that are tried where there are too many interleavings to try all."""
MOST_SCRIPTS = 64
"""Combinations of answers for each of which all interleavings are tried."""


def _decide_script_by_script(subject: Subject, scalars: Mapping[str, int]) -> Decision:
    """Decide a call that asks, and in which one execution need not speak for all that give the same answers."""
    path: list[Asked] = []
    doubt: str | None = None
    executions = scripts = 0
    while True:
        scripts += 1
        _under_answers(subject, scalars, Answering(path, None))
        decision = _Inquest(subject, scalars, script_of(path)).decide()
        executions += 1 + decision.executions
        if decision.violations:
            return replace(decision, executions=executions)
        doubt = doubt or decision.doubt
        if not turn_back(path):
            return replace(decision, doubt=doubt, executions=executions)
        if executions >= MOST_RUNS or scripts == MOST_SCRIPTS:
            return replace(decision, doubt=_too_many_answers(path, executions), executions=executions)


def _too_many_answers(asked: Sequence[Asked], executions: int) -> str:
    reason = f"may say yes or no, and there are too many answers; {executions} executions were made and none went wrong"
    return str(UndecidedError(asked[-1].op, reason))


class _Inquest:
    """
    Finds out why an execution was not right beyond doubt: by a trace, and by other interleavings.

    Tests get the answers of `script`.
    """

    def __init__(self, subject: Subject, scalars: Mapping[str, int], script: Script) -> None:
        self.subject = subject
        self.scalars = scalars
        self.script = script
        self.executions = 0
        self.runs_out = False
        """Whether some execution has asked more than the script answers."""
        self.undecided: UndecidedError | None = None
        """Why an interleaving was not executed to its end, if one was not."""

    def standstill(self) -> Decision:
        """Report that with these answers an agent asks for ever."""
        machine = self._executed(self._machine(Lazy()))
        machine.report(*deadlock_of(machine.live, machine.works))
        return self._decision(machine, list(machine.violations.values()))

    def decide(self) -> Decision:
        machine = self._executed(self._machine(Lazy()))
        blame_first_wait(machine, self._with_inverted)
        violations = list(machine.violations.values())
        if machine.open_questions and not violations:
            question = machine.open_questions[0]
            reason = str(UndecidedError(question.op, question.reason))
            return Decision(machine, doubt=reason, stopped_at=question.op, executions=self.executions)
        if not machine.indeterminacies:
            return self._decision(machine, violations)
        return self._explored(machine)

    def _explored(self, machine: Machine) -> Decision:
        """Decide by all interleavings, or by as many as the bounds of `interleavings` allow."""
        doubt = machine.indeterminacies[0]
        reason = UndecidedError(doubt.op, doubt.reason)
        exploration = explore(self._under, known_wrong=self.subject.known_wrong)
        violations = list({**machine.violations, **exploration.violations}.values())
        if self.undecided is not None and not violations:
            raise self.undecided
        if exploration.exhausted and not self.runs_out:
            return self._decision(machine, violations)
        tried = f"{reason}; {exploration.runs} interleavings were tried"
        violations = violations or self._found_by_chance()
        if violations:
            return self._decision(machine, violations, unexplored=f"{tried}, there are more")
        return self._decision(machine, doubt=f"{tried} and none went wrong")

    def _found_by_chance(self) -> Sequence[Violation]:
        """
        What some random order finds. The interleavings that were tried differ by their last steps; where many agents
        compete from the start, these go further apart.
        """
        for seed in range(RANDOM_ORDERS):
            machine, _ = self._under(Random(seed))
            if machine.violations:
                return list(machine.violations.values())
        return ()

    def _decision(
        self,
        machine: Machine,
        violations: Sequence[Violation] = (),
        doubt: str | None = None,
        unexplored: str | None = None,
    ) -> Decision:
        return Decision(machine, violations, doubt, unexplored=unexplored, executions=self.executions)

    def _machine(self, order: Order) -> Machine:
        self.executions += 1
        machine = self.subject.machine(order)
        machine.observer = Investigator()
        machine.guide = ScriptedAnswers(self.script)
        return machine

    def _executed(self, machine: Machine) -> Machine:
        self.subject.execute(machine, self.scalars)
        self.runs_out |= isinstance(machine.guide, ScriptedAnswers) and machine.guide.runs_out
        return machine

    def _under(self, order: Order) -> tuple[Machine, bool]:
        """An execution under `order`, and whether it was made to the end: an order may find that it is redundant."""
        machine = self._machine(order)
        try:
            return self._executed(machine), True
        except RedundantRunError:
            return machine, False
        except TimeUpError:
            raise
        except UndecidedError as error:
            self.undecided = self.undecided or error
            return machine, False

    def _with_inverted(self, wait: Operation) -> Machine:
        machine = self._machine(Lazy())
        machine.what_if = WhatIf(inverted=wait)
        return self._executed(machine)


def _is_entry(function: Operation) -> bool:
    interface = FunctionOpInterface.of(function)
    return interface is not None and interface.is_entry


def report_at_end_of(function: Operation) -> Callable[[Agent], None]:
    """What reports works that are under way when `function` ends, or the grid with it."""
    return report_undrained_of_kernel if _is_entry(function) else report_undrained


def report_undrained(first: Agent) -> None:
    """Report works that `first`, the agent of the function itself, does not know to be complete at its end."""
    for work in first.machine.works:
        if not first.mind.knows_work(work) and not _is_left_to_the_caller(work):
            _report_undrained_work(first, work)


def report_undrained_of_kernel(first: Agent) -> None:
    """
    The same where the grid ends as well, which completes what is on its way to global memory (PTX ISA,
    `cp.async.bulk.wait_group.read`: the sources have been read; CUTLASS kernels wait for no more at their end).
    """
    for work in first.machine.works:
        if not (work.ends_with_grid or first.mind.knows_work(work) or _is_left_to_the_caller(work)):
            _report_undrained_work(first, work)


def _is_left_to_the_caller(work: AsyncWork) -> bool:
    """Whether `work` touches memory that the caller has given: who calls the function may wait for it."""
    return any(touch.view.base.is_callers for touch in work.touches)


def _report_undrained_work(first: Agent, work: AsyncWork) -> None:
    role = f"issues {work.label}, which nobody waits for"
    party = Party(work.op, work.issuer.name, work.iteration, role)
    violation = Violation(
        ViolationKind.UNDRAINED,
        "asynchronous work may be unfinished when the function ends",
        (party,),
        "a wait for it on every path to the end of the function",
    )
    first.machine.report(violation, Unordered(work, first, [party]))
