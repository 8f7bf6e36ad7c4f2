"""
All answers to the questions of a program (`machine.core.questions`), one execution after the other, within a bound.

With given answers a program with tests is one without: a test that says no does nothing, one that says yes is a wait.
So one execution speaks for all interleavings that give these answers, if that program is phase-determinate, and the
program is right if it is right with any answers. An execution that comes to a standstill where an agent hopes for yes
is none: there the answer was no, which is another execution.

Two executions that come to one question in one state go on alike, and the second is cut short there. So arms that end
in the same state are merged, and a loop that asks again until the answer is yes is left after one turn. States are
compared as snapshots (`checker.snapshot`); what cannot be drawn is not merged.

A question in which nobody hopes, and from which no answers lead to the end of the program, is a deadlock: the program
asks for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tileas_xdsl.checker.snapshot.machine import take_snapshot
from tileas_xdsl.checker.snapshot.settled import EVERYTHING, Unsettled
from tileas_xdsl.checker.snapshot.snapshot import MergedError
from tileas_xdsl.machine.core.observer import AnyObserver
from tileas_xdsl.machine.core.questions import hoping
from tileas_xdsl.machine.core.violations import UndecidedError

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from tileas_xdsl.machine.core.execution import Machine
    from tileas_xdsl.machine.core.happens_before import Who

MOST_EXECUTIONS = 400
"""Executions under different answers after which the search gives up."""
Script = Mapping[int, Sequence[bool]]
"""Agent number -> the answers that it gets, in order."""
State = object
"""A question in the state in which it was asked. Two that are equal go on alike."""


@dataclass
class ScriptedAnswers:
    """The guide of an execution in which each agent gets the answers of a script, and yes to all further questions."""

    script: Script
    given: dict[int, int] = field(default_factory=dict[int, int])
    """How many answers each agent has got."""
    runs_out: bool = False
    """Whether some agent has asked more than the script answers."""

    def poses(self, agent: Who, op: Operation) -> bool:
        return False

    def says_yes(self, agent: Who, op: Operation) -> bool:
        number = self.given.get(agent.number, 0)
        self.given[agent.number] = number + 1
        answers = self.script.get(agent.number, ())
        self.runs_out |= number >= len(answers)
        return answers[number] if number < len(answers) else True


@dataclass
class Asked:
    """A question of an execution, and its answer."""

    agent: int
    op: Operation
    state: State
    is_firm: bool
    """Whether nobody hoped for yes when it was asked."""
    answer: bool = True


class Unguided:
    """The guide of an execution that cannot speak for others: it raises `UndecidedError` at a question."""

    def poses(self, agent: Who, op: Operation) -> bool:
        raise UndecidedError(op, "says yes or no as it happens, and what follows depends on the answer")

    def says_yes(self, agent: Who, op: Operation) -> bool:
        return self.poses(agent, op)


class Answering(AnyObserver):
    """
    The guide and observer of an execution that gets the answers of `path`, and yes from its end on.

    It extends `path` by what is asked then, and raises `MergedError` where that is among the `known` states. With None
    for these, no states are compared.
    """

    def __init__(self, path: list[Asked], known: set[State] | None) -> None:
        self.path = path
        self.known = known
        self.number = 0
        self.merged_with: State | None = None
        self._posed: tuple[Who, Operation] | None = None

    def poses(self, agent: Who, op: Operation) -> bool:
        self._posed = (agent, op)
        return True

    def stopped(self, machine: Machine) -> bool:
        if self._posed is None:
            return False
        agent, op = self._posed
        self._posed = None
        if self.number == len(self.path):
            self._extend(machine, agent, op)
        self.number += 1
        return True

    def _extend(self, machine: Machine, agent: Who, op: Operation) -> None:
        state = object() if self.known is None else _state(machine, op)
        if self.known is not None:
            if state in self.known:
                self.merged_with = state
                raise MergedError
            self.known.add(state)
        self.path.append(Asked(agent.number, op, state, not hoping(machine.live)))

    def says_yes(self, agent: Who, op: Operation) -> bool:
        return self.path[self.number - 1].answer


def _state(machine: Machine, op: Operation) -> State:
    snapshot = take_snapshot(machine, Unsettled(EVERYTHING), as_slots_turn=False, gathers_leftovers=False)
    return object() if snapshot.refusal is not None else (id(op), snapshot.shape, snapshot.numbers)


@dataclass
class AnswerSearch:
    """What came of the executions under all answers."""

    machine: Machine
    """After an execution to the end of the program, or the one that shows what is wrong or in doubt."""
    executions: int = 0
    wrong: Script | None = None
    """Answers under which something is wrong."""
    asks_for_ever: Script | None = None
    """Answers under which an agent asks for ever."""
    doubtful: bool = False
    """Whether with some answers one execution does not speak for all."""
    asked: Sequence[Asked] = ()
    """What the last execution has asked, where the bound was reached."""
    exhausted: bool = False
    """Whether every answer was tried, or one to the same effect."""


def explore_answers(make: Callable[[Answering], Machine]) -> AnswerSearch:
    """
    Execute under all answers that make a difference, until something is wrong or in doubt, within the bound. A program
    that asks nothing is executed once.

    `make(guide)` builds a machine with that guide and observer, and executes the program until its end or until the
    guide raises `MergedError`.
    """
    path: list[Asked] = []
    known: set[State] = set()
    graph = _Graph()
    whole: Machine | None = None
    executions = 0
    while True:
        guide = Answering(path, known)
        machine = make(guide)
        executions += 1
        if machine.violations:
            return AnswerSearch(machine, executions, wrong=script_of(path))
        if machine.indeterminacies or machine.open_questions:
            return AnswerSearch(machine, executions, doubtful=True)
        ends = guide.merged_with is None and not machine.hopes_in_vain
        if ends:
            whole = whole or machine
        graph.add(path, guide.merged_with, ends=ends)
        if not turn_back(path):
            return AnswerSearch(whole or machine, executions, asks_for_ever=graph.asks_for_ever(), exhausted=True)
        if executions == MOST_EXECUTIONS:
            return AnswerSearch(machine, executions, asked=path)


def script_of(path: Sequence[Asked]) -> Script:
    """The answers of `path`, agent by agent."""
    script: dict[int, list[bool]] = {}
    for asked in path:
        script.setdefault(asked.agent, []).append(asked.answer)
    return script


def turn_back(path: list[Asked]) -> bool:
    """Change the last yes of `path` to a no, and forget what was asked after it; False when there is none."""
    while path and not path[-1].answer:
        path.pop()
    if path:
        path[-1].answer = False
    return bool(path)


END: State = "the end of the program"


@dataclass
class _Graph:
    """Which question follows which, after some answer."""

    before: dict[State, set[State]] = field(default_factory=dict["State", "set[State]"])
    """State -> the states from which an answer leads there."""
    firm: dict[State, Script] = field(default_factory=dict["State", "Script"])
    """The states in which nobody hopes, and answers that lead there."""

    def add(self, path: Sequence[Asked], merged_with: State | None, *, ends: bool) -> None:
        for number, asked in enumerate(path):
            if asked.is_firm:
                self.firm.setdefault(asked.state, script_of(path[: number + 1]))
        for one, other in pairwise(path):
            self.before.setdefault(other.state, set()).add(one.state)
        last = END if ends else merged_with
        if path and last is not None:
            self.before.setdefault(last, set()).add(path[-1].state)

    def asks_for_ever(self) -> Script | None:
        """Answers that lead to a firm state from which there is no way to the end; None if there are none."""
        reached: set[State] = set()
        stack: list[State] = [END]
        while stack:
            for state in self.before.get(stack.pop(), ()):
                if state not in reached:
                    reached.add(state)
                    stack.append(state)
        return next((script for state, script in self.firm.items() if state not in reached), None)
