"""
How many groups were committed since a token's own: the bridge from tokens to counts.

    age(t, p) = the least number of groups committed to t's queue after t's group, on any path to p

A wait for `t` at `p` that leaves `age(t, p)` groups unfinished is the longest-leash wait that is safe on every path
(design: "Age"). A token that a loop carries ages by what an iteration commits, one that a branch chooses has the lesser
of its ages, and each queue has its own count:

    %0 = commit; %1 = commit                                            %1: 0, %0: 1
    scf.for ... iter_args(%a = %0, %b = %1) {
      %c = commit                                                       %c: 0, %b: 1, %a: 2
      wait for %a                       leaves 2 unfinished
      scf.yield %b, %c
    }                                                                   after it: 0 and 1 again

What commits a group is said by the caller, so that ages of groups that are only planned can be asked for. A token is
the value that names a group, or, for a commit without a result, the op: its age is that of the group that the op
committed last. An age comes with the path that attains it.

A queue is named by whatever compares equal for one queue only. Where it cannot be told which queue an op commits to
(None), that group is not counted for any token, and nothing is counted for its own; likewise for a token that may be of
one queue or another. Groups committed by other agents, or in calls that cannot be followed, are not counted either: a
count may be too low, which waits for more, and never too high.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.dependence import is_token
from tileas_xdsl.analysis.forward_flow import Arrival, EdgeKind, Flow, FlowClient, FlowEdge, analyse
from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.dialects.async_queue import CommitOp
from tileas_xdsl.dialects.nvgpu import DeviceAsyncCreateGroupOp

Token = SSAValue | Operation
"""What names a group: the value that a commit returns, or the commit itself, for the group that it made last."""

Queue = Hashable
"""A queue: equal names are one queue, different ones may not be."""


@dataclass(frozen=True, slots=True)
class Commit:
    """An op makes a group: `token` names it from now on; `queue` is None where it cannot be told."""

    token: Token
    queue: Queue | None


CommitsOf = Callable[[Operation], Sequence[Commit]]
"""The groups that an op appends, in this order, when control leaves it."""

Combined = tuple[SSAValue, Sequence[SSAValue]]
"""A token that stands for all of some others, or for one of them: it has the least of their ages."""


def selected(op: Operation) -> Combined | None:
    """The token that a selection makes."""
    return (op.result, (op.lhs, op.rhs)) if isinstance(op, arith.SelectOp) else None


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a path: a group that counts is committed by `op`, or, with an edge, the path takes that edge."""

    op: Operation
    edge: FlowEdge | None = None
    previous: PathStep | None = None

    def steps(self) -> list[PathStep]:
        """The path up to here, oldest first."""
        found: list[PathStep] = []
        step: PathStep | None = self
        while step is not None:
            found.append(step)
            step = step.previous
        return found[::-1]


@dataclass(frozen=True, slots=True)
class Age:
    """
    The age of a token at a program point.

    `path` leads from the commit of the token's group (its first step) to the point, through `count` other groups.
    """

    queue: Queue | None
    """None where the token may be of several queues, or its queue cannot be told; the count is 0 then."""
    count: int
    path: PathStep | None = field(default=None, compare=False)
    followed: bool = True
    """False for a token that came from where the analysis cannot look: then `count` says nothing."""


UNFOLLOWED = Age(None, 0, followed=False)

COMPLETE = Age(None, 0)
"""Of a token that names no group on any path: it was complete from the start."""

Ageing = Mapping[Token, Age]
"""The ages at one point. A token that is not in it was committed on no path that leads there."""


class Ages:
    """The ages of all tokens at all points of one function; valid as long as nobody changes it."""

    def __init__(
        self,
        function: Operation,
        commits_of: CommitsOf | None = None,
        is_token_value: Callable[[SSAValue], bool] | None = None,
        combined: Callable[[Operation], Combined | None] = selected,
        finished: AbstractSet[SSAValue] = frozenset(),
    ) -> None:
        """
        `commits_of` defaults to the commits in the IR (`written_commits`), `is_token_value`, which tells the values
        that are tokens, to the values of a token type. `combined` tells the token that an op makes of others, or to
        which it adds others, which may be itself. The tokens in `finished` are complete from the start: a token that
        is one of them on some paths has the age that it has on the others.
        """
        commits = written_commits(function) if commits_of is None else commits_of
        client = _Ageing(commits, is_token_value or _has_token_type, combined, finished)
        self._flow: Flow[Ageing] = analyse(function, client, dict.fromkeys(finished, COMPLETE))

    def at(self, point: Operation) -> Ageing:
        """The ages when control comes to `point`, of every token with a group by then; empty where it never does."""
        return self._flow.before.get(point, {})

    def age(self, token: Token, point: Operation) -> Age | None:
        """The age of `token` when control comes to `point`; None where no path commits it and leads there."""
        if point not in self._flow.before:
            return None
        unfollowed = UNFOLLOWED if isinstance(token, SSAValue) else None
        age = self._flow.before[point].get(token, unfollowed)
        return None if age is COMPLETE else age

    def reaches(self, point: Operation) -> bool:
        """Whether some path leads to `point`."""
        return point in self._flow.before


class _Ageing(FlowClient[Ageing]):
    """A state has the least age of each token on the paths seen so far; one without an entry has no group yet."""

    def __init__(
        self,
        commits_of: CommitsOf,
        is_token_value: Callable[[SSAValue], bool],
        combined: Callable[[Operation], Combined | None],
        finished: AbstractSet[SSAValue],
    ) -> None:
        self.finished = finished
        self.commits_of = commits_of
        self.is_token_value = is_token_value
        self.combined = combined

    def leave(self, op: Operation, state: Ageing) -> Ageing:
        made = self.combined(op)
        if made is not None and self.is_token_value(made[0]):
            token, sources = made
            known = [state.get(source, UNFOLLOWED) for source in sources if source is not token or token in state]
            state = {**state, token: _least([(age, None) for age in known])}
        for commit in self.commits_of(op):
            state = {token: _older(age, commit, op) for token, age in state.items()}
            state[commit.token] = Age(commit.queue, 0, PathStep(op))
        return state

    def assign(self, state: Ageing, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> Ageing:
        changed: dict[Token, Age] = {}
        for target, source in zip(targets, sources, strict=True):
            if target in self.finished:
                changed[target] = COMPLETE
            elif self.is_token_value(target):
                changed[target] = UNFOLLOWED if source is None else state.get(source, UNFOLLOWED)
        return {**state, **changed} if changed else state

    def join(self, arrivals: Sequence[Arrival[Ageing]]) -> Ageing:
        first, *rest = arrivals
        if all(arrival.state is first.state for arrival in rest):
            return first.state
        met: dict[Token, Age] = {}
        tokens = dict.fromkeys(token for arrival in arrivals for token in arrival.state)
        for token in tokens:
            met[token] = _least([(a.state[token], a.edge) for a in arrivals if token in a.state])
        return met

    def leave_elsewhere(self, op: Operation, state: Ageing) -> Ageing:
        """Groups that others commit come at no known time."""
        theirs = [commit.token for inner in op.walk() if inner is not op for commit in self.commits_of(inner)]
        return {**state, **dict.fromkeys(theirs, UNFOLLOWED)} if theirs else state


def _older(age: Age, commit: Commit, op: Operation) -> Age:
    """The age once `op` has committed another group."""
    if age.queue is None or age.queue != commit.queue:
        return age
    return Age(age.queue, age.count + 1, PathStep(op, None, age.path))


def _least(ages: Sequence[tuple[Age, FlowEdge | None]]) -> Age:
    """The age after one of several ways; where they differ, the path says by which way the least one came."""
    ages = [item for item in ages if item[0] is not COMPLETE]
    if not ages:
        return COMPLETE
    first = ages[0][0]
    if all(age == first for age, _ in ages):
        return first
    if not all(age.followed for age, _ in ages):
        return UNFOLLOWED
    if any(age.queue is None or age.queue != first.queue for age, _ in ages):
        return Age(None, 0, first.path)
    age, edge = min(ages, key=lambda item: item[0].count)
    return age if edge is None else Age(age.queue, age.count, PathStep(edge.op, edge, age.path))


def _has_token_type(value: SSAValue) -> bool:
    return is_token(value.type)


# What commits -------------------------------------------------------------------------------------------------------

DEVICE_QUEUE = "cp.async"
"""The one queue that all groups of `nvgpu` are in."""


def written_commits(function: Operation) -> CommitsOf:
    """The groups of `async_queue.commit` and `nvgpu.device_async_create_group`, seen from `function`."""

    def commits_of(op: Operation) -> Sequence[Commit]:
        match op:
            case CommitOp():
                return (Commit(op, queue_identity(op.queue, function)),)
            case DeviceAsyncCreateGroupOp():
                return (Commit(op.async_token, DEVICE_QUEUE),)
            case _:
                return ()

    return commits_of


def queue_identity(queue: int | SSAValue, function: Operation) -> Queue | None:
    """
    What names the queue while `function` runs: a number, or a value that is computed once in a run; else None.

    A value that a loop computes anew may be another queue each time, and so may an argument of a called function.
    """
    if isinstance(queue, int):
        return queue
    number = constant_integer(queue)
    if number is not None:
        return number
    block = queue.owner if isinstance(queue.owner, Block) else queue.owner.parent
    region = block.parent if block is not None else None
    if region is None or region.parent is not function or block is not region.first_block:
        return None
    return queue


# Telling people -----------------------------------------------------------------------------------------------------


def describe_path(age: Age) -> str:
    """
    The path of an age in words: `committed by 'x.commit' at a.mlir:3:5, then 'x.commit' at a.mlir:7:5`.

    The groups that count are told by the op that commits them, and by name where it has no location.
    """
    if age.path is None:
        return "on any path"
    first, *rest = age.path.steps()
    text = f"committed by {_place(first.op)}"
    return f"{text}, then {', '.join(map(_step, rest))}" if rest else f"{text}, and none since"


def _step(step: PathStep) -> str:
    if step.edge is None:
        return _place(step.op)
    place = _place(step.op)
    match step.edge.kind:
        case EdgeKind.BRANCH:
            return f"through region {step.edge.index} of {place}"
        case EdgeKind.SKIP:
            return f"past {place}"
        case EdgeKind.AGAIN:
            return f"into the next iteration of {place}"
        case EdgeKind.LAST:
            return f"out of {place}"
        case EdgeKind.JUMP:
            return f"by {place}"


def _place(op: Operation) -> str:
    location = location_of(op)
    return f"'{op.name}'" if location is None else f"'{op.name}' at {location}"
