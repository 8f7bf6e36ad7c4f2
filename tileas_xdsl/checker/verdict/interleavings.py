"""
All interleavings of a small program, one after the other, within a bound.

Used where one execution does not speak for all. Agents pause only at synchronisation: accesses need no interleaving of
their own, since races are found by happens-before whatever the order. Each run replays a path of choices and then
extends it by the first choice that is not redundant.

Two steps of different agents commute unless both touch one barrier or queue and at least one of them has to be alone
there. What a step touches is its *footprint*, which the machine notes (`Machine.shares`). Runs that differ only in the
order of commuting steps are made once, by dynamic partial-order reduction (Godefroid, "Partial-Order Methods for the
Verification of Concurrent Systems", 1996; Flanagan and Godefroid, POPL 2005; Abdulla et al., "Optimal Dynamic Partial
Order Reduction", POPL 2014): at an earlier step another choice is tried only if a later step of another agent conflicts
with it (`_reversals`), and a choice that was tried there *sleeps* until a step that conflicts with its own is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.deadline import TimeUpError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.loops.open_counts import Looper
from tileas_xdsl.machine.core.orders import Execution, Order, Pauses
from tileas_xdsl.machine.core.violations import Violation

MOST_RUNS = 2_000
"""Interleavings tried before the exploration gives up."""
MOST_STEPS = 2_000_000
"""Steps of all runs together after which it gives up."""
MOST_STEPS_AFTER_VIOLATION = 30_000
"""The bound on steps once a mistake is known: what is left only looks for mistakes of other kinds."""
MOST_STEPS_OF_LATER_CALLS = 2_000
"""The same where many calls have shown mistakes already."""

Choice = tuple[str, int]
"""An agent or a work, by number: the same in every run that follows the same path."""
Footprint = dict[str, bool]
"""Name of a barrier or queue that a step touches -> whether the step has to be alone there."""


def meet(one: Footprint, other: Footprint) -> bool:
    """Whether two steps with these footprints conflict, that is, do not commute."""
    return any(name in other and (alone or other[name]) for name, alone in one.items())


@dataclass
class Branch:
    """A point on the path where something is chosen."""

    options: list[Choice]
    chosen: Choice
    asleep: dict[Choice, Footprint]
    """The sleep set: choices that were tried elsewhere to the same effect, with their footprints."""
    foreseen: dict[Choice, Footprint]
    """
    Footprints of steps that no run may come to make: of ready works, with those of the works behind them, and of agents
    whose wait could pass here.
    """
    footprint: Footprint = field(default_factory=dict[str, bool])
    """The footprint of the chosen step."""
    tried: dict[Choice, Footprint] = field(default_factory=dict[Choice, Footprint])
    wanted: set[Choice] = field(default_factory=set[Choice])
    """The backtrack set: choices that have to be tried here, too."""

    def asleep_after(self) -> dict[Choice, Footprint]:
        """
        The sleep set behind the chosen step: the choices asleep or tried here whose steps do not conflict with it.

        Such a step has to be alone from now on where both touch one barrier: its arrival may have become the last one.
        """
        known = {**self.asleep, **self.tried}
        return {
            choice: {name: alone or name in self.footprint for name, alone in touched.items()}
            for choice, touched in known.items()
            if choice != self.chosen and not meet(touched, self.footprint)
        }


class RedundantRunError(Exception):
    """Raised by `Scripted.choose` where every possible step is asleep: the run would repeat another one."""


class Scripted(Order):
    """
    An order that follows a path of branches, and extends it from its end on.

    `choose` raises `RedundantRunError` where an extension would repeat another run.
    """

    pauses = Pauses.AT_SYNCHRONISATION

    def __init__(self, path: list[Branch]) -> None:
        self.path = path
        self.turn = 0

    def choose(self, machine: Execution, runnable: Sequence[Looper]) -> Looper | AsyncWork | None:
        self.note_footprint(machine)
        named: dict[Choice, Looper | AsyncWork] = {("agent", agent.number): agent for agent in runnable}
        ready = machine.ready_works()
        named.update({("work", work.serial): work for work in ready})
        if not named:
            return None
        if self.turn == len(self.path):
            self._extend(machine, list(named), runnable, ready)
        branch = self.path[self.turn]
        self.turn += 1
        return named[branch.chosen]

    def _extend(
        self, machine: Execution, options: list[Choice], runnable: Sequence[Looper], ready: list[AsyncWork]
    ) -> None:
        asleep = self.path[-1].asleep_after() if self.path else {}
        awake = [choice for choice in options if choice not in asleep]
        if not awake:
            raise RedundantRunError
        foreseen: dict[Choice, Footprint] = {}
        for agent in runnable:
            if agent.waiting_for is not None and agent.waiting_for.may_pass_by is not None:
                foreseen["agent", agent.number] = {agent.waiting_for.may_pass_by: False}
        for work in ready:
            foreseen["work", work.serial] = dict.fromkeys(work.barriers, True)
        for work in machine.works_under_way():
            if not work.ready and work.barriers:
                for first in _beginnings_of(work):
                    foreseen["work", first.serial].update(dict.fromkeys(work.barriers, True))
        self.path.append(Branch(options, awake[0], asleep, foreseen))

    def note_footprint(self, machine: Execution) -> None:
        """Move the footprint of the step just made from the machine to its branch."""
        if self.turn:
            self.path[self.turn - 1].footprint.update(machine.footprint)
        machine.footprint.clear()


def _beginnings_of(work: AsyncWork) -> list[AsyncWork]:
    """The works that can be performed now among those after which `work` can: an arrival comes behind its copies."""
    stack, seen = [work], {work}
    for current in stack:
        fresh = [before for before in current.held_up_by() if before not in seen]
        seen.update(fresh)
        stack += fresh
    return [each for each in stack if each.can_start]


@dataclass
class Exploration:
    """The result of `explore`."""

    violations: dict[object, Violation] = field(default_factory=dict[object, Violation])
    """The violations of all runs, by key."""
    runs: int = 0
    steps: int = 0
    exhausted: bool = False
    """Whether every interleaving was tried, or one to the same effect."""
    known_wrong: bool = False
    """Whether many calls have shown mistakes already."""

    def gives_up(self, most_runs: int) -> bool:
        after_violation = MOST_STEPS_OF_LATER_CALLS if self.known_wrong else MOST_STEPS_AFTER_VIOLATION
        most_steps = after_violation if self.violations else MOST_STEPS
        return self.runs >= most_runs or self.steps >= most_steps


def explore(
    make: Callable[[Order], tuple[Machine, bool]], most_runs: int = MOST_RUNS, *, known_wrong: bool = False
) -> Exploration:
    """
    Run `make(order)` under every order that can make a difference, within the bounds.

    `make` builds a machine and runs it until its end or until the order raises `RedundantRunError`; it tells which.
    Where it raises `TimeUpError` the exploration gives up. With `known_wrong` many calls have shown mistakes, and the
    exploration gives up soon after one here.
    """
    found = Exploration(known_wrong=known_wrong)
    path: list[Branch] = []
    first_new = 0
    while not found.gives_up(most_runs):
        order = Scripted(path)
        try:
            machine, finished = make(order)
        except TimeUpError:
            break
        order.note_footprint(machine)
        found.runs += 1
        found.steps += machine.step_number
        machine.deadline.spend(len(path))
        if finished:
            for key, violation in machine.violations.items():
                found.violations.setdefault(key, violation)
        _reversals(path, first_new)
        if not _advance(path):
            found.exhausted = True
            break
        first_new = len(path) - 1
    return found


def _reversals(path: list[Branch], first_new: int) -> None:
    """
    For each pair of steps of different agents that conflict, ask for a run in which the later one comes first.

    Only pairs with nothing ordered between them count. The steps before `first_new` have been compared with each other
    after an earlier run.
    """
    before: list[int] = []
    """For each step the steps that it must follow, as a bit set."""
    latest: dict[str, list[int]] = {}
    """Barrier or queue -> the last step that was alone there, and the steps after it that were not."""
    own: dict[Choice, int] = {}
    for number, branch in enumerate(path):
        direct = _directly_before(path, branch, latest)
        if branch.chosen in own:
            direct.append(own[branch.chosen])
        through = 0
        for earlier in direct:
            through |= before[earlier]
        before.append(through | sum(1 << earlier for earlier in set(direct)))
        if number >= first_new:
            branch.wanted.update(choice for choice, touch in branch.foreseen.items() if meet(touch, branch.footprint))
            for earlier in direct:
                if path[earlier].chosen != branch.chosen and not through >> earlier & 1:
                    _want_reversal(path, before, earlier, number)
        own[branch.chosen] = number
        for name, alone in branch.footprint.items():
            latest[name] = [number] if alone else [*latest.get(name, []), number]


def _directly_before(path: list[Branch], branch: Branch, latest: dict[str, list[int]]) -> list[int]:
    """The earlier steps with which the step of `branch` conflicts, without those that are followed by one of them."""
    return [
        earlier
        for name, alone in branch.footprint.items()
        for earlier in latest.get(name, ())
        if alone or path[earlier].footprint[name]
    ]


def _want_reversal(path: list[Branch], before: list[int], earlier: int, later: int) -> None:
    """Add to the backtrack set of step `earlier` a choice with which a run can begin that makes step `later` first."""
    branch = path[earlier]
    members = 0
    beginners: list[Choice] = []
    for number in range(earlier + 1, later + 1):
        if before[number] >> earlier & 1 and number != later:
            continue
        if not before[number] & members:
            beginner = path[number].chosen
            if beginner in branch.wanted or beginner in branch.tried:
                return
            if beginner in branch.options:
                beginners.append(beginner)
        members |= 1 << number
    branch.wanted.update(beginners[:1] if beginners else branch.options)


def _advance(path: list[Branch]) -> bool:
    """Turn to the next choice at the last branch that has one; False when there is none."""
    while path:
        branch = path[-1]
        branch.tried[branch.chosen] = branch.footprint
        left = [c for c in branch.options if c in branch.wanted and c not in branch.tried and c not in branch.asleep]
        if left:
            branch.chosen, branch.footprint = left[0], {}
            return True
        path.pop()
    return False
