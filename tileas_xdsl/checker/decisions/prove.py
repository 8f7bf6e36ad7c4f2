"""
The search for the graph: `prove_all_counts(function, execute)`, and what it shows.

    1. Executions are steered until each decision of each state is known in all directions (`graph`).
    2. What follows from a decision goes on evenly in each direction (`segments`).

Then take any call. Executed in step, it is at each of its questions in one of the states, with numbers of its lattice:
at the first one since all executions are the same up to there; and from one to the next, since its answer is one of the
two decisions, whose steps it takes with numbers that have moved. No step of it is wrong, and it comes to the end. What
the graph has and no call does (an argument that is another number in each turn) only prevents a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import lcm
from typing import Any

from xdsl.ir import Operation, Region, SSAValue

from tileas_xdsl.checker.decisions.demand import demand, handed_on_by_loops, has_counters
from tileas_xdsl.checker.decisions.graph import Explorer, Graph, TooManyStatesError, WentWrongError, Word
from tileas_xdsl.checker.decisions.limits import Limits, may_overflow, never_negative
from tileas_xdsl.checker.decisions.open_loops import OpenLoops, open_loops
from tileas_xdsl.checker.decisions.segments import Findings, check_visits
from tileas_xdsl.checker.decisions.steered_run import PutAside, ReachedParts, SteeredRun
from tileas_xdsl.checker.decisions.thresholds import Thresholds, thresholds
from tileas_xdsl.checker.proof.outcomes import NeverProvedError, NoProofError, SuspicionError
from tileas_xdsl.checker.proof.recorded_run import RecordedRun
from tileas_xdsl.checker.proof.separation import Contest
from tileas_xdsl.checker.snapshot.settled import Reach
from tileas_xdsl.checker.snapshot.snapshot import Demand
from tileas_xdsl.diagnostics import sentence
from tileas_xdsl.machine.arguments import argument_at
from tileas_xdsl.machine.core.loops.open_counts import INDUCTION, Known
from tileas_xdsl.machine.core.moving_numbers import IrregularError

MOST_RUNS = 2_000
"""Executions after which the search is given up."""
Attempts = tuple[tuple[bool, int], ...]
"""Whether leftovers are gathered, and the number of states after which the search is given up."""
FEW_STATES: Attempts = ((True, 64), (False, 64))
MANY_STATES: Attempts = ((True, 400), (False, 400))
MOST_ROUNDS = 5
"""How often the search begins again because executions reach other memory than was known."""

Execute = Callable[[OpenLoops, RecordedRun, PutAside | None], bool]
"""
Executes the function with these loops left open, recorded by the run: from the start, or from where the run was put
aside. Returns whether it is right beyond doubt. Raises `NoProofError` where it cannot be executed.
"""


@dataclass(frozen=True)
class ProofByDecisions:
    """Every combination of loop counts is right."""

    counts: tuple[str, ...]
    """What bounds the open loops: arguments, and long constants."""
    states: int
    decisions: int
    directions: int
    """The rank of the widest lattice: how many numbers are free at most in one state."""
    executions: int
    least: Mapping[str, int]
    """Count -> the number from which on its values are proved by these states; smaller ones were, one by one."""
    overflows: bool
    """Whether an integer may overflow that is computed from counts: nothing says how far they go."""
    reach: Reach = field(repr=False)
    """What the executions have reached."""

    def as_data(self) -> dict[str, Any]:
        """What a report says of it."""
        data = asdict(self)
        del data["reach"]
        return data


@dataclass(frozen=True)
class Problem:
    """A function with arguments that bound loops."""

    body: Region
    opened: OpenLoops
    moduli: Mapping[SSAValue, int]
    counts: Sequence[SSAValue]
    execute: Execute
    reach: Reach
    """What executions are known to reach. If it is more than what they do, states only hold more."""
    ends: Thresholds = field(default_factory=dict[SSAValue, int])
    """Number -> up to which it is told apart one by one."""
    settled: frozenset[Operation] = frozenset()
    """The comparisons with constants that this settles."""
    is_told_apart: bool = False
    """Whether states tell more apart than is needed most often."""
    asks_for_faults: bool = True
    """Whether somebody will look for a wrong call where there is no proof: small counts are wanted then."""

    @cached_property
    def modulus(self) -> int:
        """After how many steps what remainders and masks say comes round, of numbers that loops hand on."""
        moving = handed_on_by_loops(self.body)
        return max((modulus for value, modulus in demand(self.body).items() if value in moving), default=1)

    @cached_property
    def counts_in_rounds(self) -> bool:
        """Whether states tell the place in a round apart, so that loops in loops at once have too many."""
        return has_counters(self.body)

    @property
    def small_counts(self) -> int:
        """How many counts of an inner loop are so small that agents may be in several turns of the outer one."""
        return max(LEAST_SMALL, self.modulus + self.modulus // 2)

    @property
    def demands(self) -> Mapping[SSAValue, Demand]:
        """What tells states apart."""
        names = dict.fromkeys([*self.moduli, *self.ends])
        return {name: Demand(self.moduli.get(name, 1), self.ends.get(name)) for name in names}

    def told_apart_more(self) -> Problem | None:
        """
        The same, where states tell more apart: numbers that are compared with constants, and the turns of loops with
        constant bounds by their residues. None where that is no more.
        """
        if self.is_told_apart:
            return None
        ends, settled = thresholds(self.body, self.counts)
        modulus = self.modulus
        loops = {
            op: replace(loop, modulus=modulus)
            for op, loop in self.opened.loops.items()
            if modulus > 1 and isinstance(loop.term, int)
        }
        if not (settled or loops):
            return None
        inductions = [region.block.args[0] for op in loops for region in op.regions]
        moduli = {**self.moduli, **{name: lcm(modulus, self.moduli.get(name, 1)) for name in inductions}}
        opened = replace(self.opened, loops={**self.opened.loops, **loops})
        ends = {name: max(end, self.ends.get(name, 0)) for name, end in {**self.ends, **ends}.items()}
        return replace(self, opened=opened, moduli=moduli, ends=ends, settled=settled, is_told_apart=True)

    def with_known(self, term: Hashable, known: Known) -> Problem:
        """The same for the calls in which `known` holds of `term`."""
        return replace(self, opened=replace(self.opened, known={**self.opened.known, term: known}))

    def with_small_turns(self) -> Problem:
        """
        The same, where a loop that turns as often as the induction variable around it says does so exactly in the first
        turns. So states tell these turns apart.
        """
        first = self.small_counts
        ends = {name: first - 1 for name in self.opened.turns_around()}
        if not ends or first > MOST_TURNS:
            return self
        return replace(self.with_known(INDUCTION, Known(first)), ends=ends)


NOTHING = Reach()
LEAST_SMALL = 4
"""The least number of small counts."""
MOST_TURNS = 64
"""The largest number of turns that are told apart."""


def problem_of(body: Region, names: Sequence[str], execute: Execute, reach: Reach = NOTHING) -> Problem:
    """
    The problem of proving the function with that `body` for all values of the arguments `names`, and however often its
    other open loops turn; `reach` is what its executions are known to reach.

    Raises `NoProofError` where nothing can be left open.
    """
    arguments = {name: argument_at(body, name) for name in names}
    opened = open_loops(body, arguments)
    if not opened.loops:
        raise NoProofError("no loop can be left open")
    counts = list(arguments.values())
    return Problem(body, opened, demand(body, of_counters=True), counts, execute, reach).with_small_turns()


def prove_all_counts(problem: Problem, attempts: Attempts = MANY_STATES) -> ProofByDecisions:
    """
    Prove that the function is right, where states tell more apart only if they have to. Raises `NoProofError` where
    there is no proof.
    """
    plain, more = _Attempt(problem), _Attempt(problem.told_apart_more())
    for gathers_leftovers, most_states in attempts:
        for attempt in (plain, more):
            if isinstance(plain.failure, TooManyStatesError | NeverProvedError):
                # Leftovers that are not gathered make more states, and so does what else is told apart.
                raise plain.failure
            found = attempt.proof(most_states, gathers_leftovers=gathers_leftovers)
            if found is not None:
                return found
    assert plain.failure is not None
    if isinstance(more.failure, TooManyStatesError):
        raise TooManyStatesError(str(more.failure), told_apart=True)
    raise more.failure if isinstance(more.failure, SuspicionError) else plain.failure


@dataclass
class _Attempt:
    """The attempts to prove a problem, if there is one."""

    problem: Problem | None
    failure: NoProofError | None = None
    """Why there was no proof; that something may be wrong if that was one of the reasons."""

    @property
    def is_over(self) -> bool:
        """Whether another attempt would fail as well."""
        has_counts = isinstance(self.failure, SuspicionError) and bool(self.failure.counts)
        return self.problem is None or has_counts or isinstance(self.failure, TooManyStatesError)

    def proof(self, most_states: int, *, gathers_leftovers: bool) -> ProofByDecisions | None:
        if self.problem is None or self.is_over:
            return None
        try:
            return _proved(self.problem, most_states, gathers_leftovers=gathers_leftovers)
        except NoProofError as error:
            if not isinstance(self.failure, SuspicionError):
                self.failure = error
        return None


def _proved(problem: Problem, most_states: int, *, gathers_leftovers: bool) -> ProofByDecisions:
    search, graph = _searched(problem, most_states, gathers_leftovers=gathers_leftovers)
    limits = Limits(problem.body, never_negative(problem.body, problem.counts))
    _check(graph, search, limits)
    states, directions = graph.size
    known = problem.opened.known.items()
    least = {str(term): each.low for term, each in known if term != INDUCTION and each.high is None}
    counts, executions, reach = problem.opened.counts, search.executions, search.reach
    overflows = may_overflow(problem.body, limits)
    return ProofByDecisions(counts, states, 2 * states, directions, executions, least, overflows, reach)


MAY_GO_WRONG = "loops that turn differently often from one iteration of an outer loop to the next may go wrong"


def _searched(problem: Problem, most_states: int, *, gathers_leftovers: bool) -> tuple[_Search, Graph]:
    """The whole graph. Raises `NoProofError`."""
    search = _Search(problem, most_states, gathers_leftovers=gathers_leftovers, puts_aside=True)
    try:
        return search, search.found()
    except SuspicionError:
        if not problem.asks_for_faults:
            raise
        # From the start, shortest ways first, what goes wrong does so with small counts.
        search = _Search(problem, most_states, gathers_leftovers=gathers_leftovers, puts_aside=False)
        return search, search.found()


class _Search:
    def __init__(self, problem: Problem, most_states: int, *, gathers_leftovers: bool, puts_aside: bool) -> None:
        self.opened = problem.opened
        self.demands = problem.demands
        self.settled = problem.settled
        self.execute = problem.execute
        self.most_states = most_states
        self.gathers_leftovers = gathers_leftovers
        self.puts_aside = puts_aside
        self.reach = problem.reach
        self.executions = 0
        self.contest = Contest[str]()
        self.parts = ReachedParts()
        self.tells_threads_apart = False

    def found(self) -> Graph:
        """The whole graph. Raises `NoProofError`."""
        for _ in range(MOST_ROUNDS):
            reach, graph = self.reach, Graph(self.most_states, puts_aside=self.puts_aside)
            if self._explore(graph, reach):
                return graph
        raise NoProofError("executions reach more and more memory")

    def _explore(self, graph: Graph, reach: Reach) -> bool:
        """Complete `graph`; returns False where an execution touches what `reach` does not have."""
        way: Word | None = ()
        while way is not None:
            self._run(graph, way)
            if self.reach != reach:
                # What was left out of states may matter after all.
                return False
            way = graph.next_way()
        return True

    def _run(self, graph: Graph, way: Word) -> None:
        if self.executions == MOST_RUNS:
            raise NoProofError(f"{self.executions} executions did not find all states")
        explorer = Explorer(graph, way, scouts=graph.puts_aside and self.reach == NOTHING)
        aside = graph.taken_up(way[:-1])
        run = self._fresh_run(explorer) if aside is None else aside.run
        run.guide = explorer
        if aside is not None:
            explorer.word += way[:-1]
        self.executions += 1
        try:
            if not self.execute(self.opened, run, aside):
                raise WentWrongError
        except WentWrongError:
            raise SuspicionError(MAY_GO_WRONG, run.counts) from None
        explorer.take_visits(run)
        self.tells_threads_apart |= run.tells_threads_apart
        self.contest.add(run.contest)
        self.parts.add(run.parts)
        self.reach |= run.reached

    def _fresh_run(self, explorer: Explorer) -> SteeredRun:
        return SteeredRun(
            explorer,
            self.opened.loops,
            self.opened.comparisons,
            self.demands,
            self.reach,
            as_slots_turn=True,
            gathers_leftovers=self.gathers_leftovers,
        )


def _check(graph: Graph, search: _Search, limits: Limits) -> None:
    comparisons = search.opened.comparisons
    contested = frozenset(search.contest.found)
    findings = Findings(contested, limits, search.tells_threads_apart, comparisons, search.settled)
    try:
        for state in graph.states.values():
            for decision in state.decisions.values():
                assert decision.lattice.volume == state.lattice.volume
                check_visits(decision.visits, findings)
        findings.check()
        search.parts.check()
        search.parts.check_programs(findings.walked, findings.read_from)
    except IrregularError as error:
        later = max(error.wrong_after, error.rounds)
        raise SuspicionError(sentence(error.op, error.reason), turns_later=later) from None
