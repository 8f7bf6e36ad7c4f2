"""
The age of a token: how many groups were committed to its queue since its own. It turns a token into a count.

    age(t, p) = the least number of groups committed to t's queue after t's group, on any path to p

A queue finishes its groups in order. So a wait at `p` that leaves `age(t, p)` groups unfinished covers `t` on every
path, and no larger count does. A token that a loop carries ages by the groups that an iteration commits. A token that a
branch chooses has the smaller of the two ages. Each queue is counted for itself:

    %0 = commit; %1 = commit                                            %1: 0, %0: 1
    scf.for ... iter_args(%a = %0, %b = %1) {
      %c = commit                                                       %c: 0, %b: 1, %a: 2
      wait for %a                       leaves 2 unfinished
      scf.yield %b, %c
    }                                                                   after it: 0 and 1 again

The caller says which ops commit a group, so ages of groups that are only planned can be computed too. A token is the
value that names a group. For a commit without a result the token is the op itself; its age is that of the group that
the op committed last. Each age comes with a path on which it is attained.

Queues are named by hashable keys: equal keys are one queue. Where the queue of a commit is not known (None), its group
is counted for no token, and its own token has age 0. A token that may be of several queues has age 0 as well. Groups
committed by other agents, or in calls that are not followed, are not counted. So a count may be too low, which makes a
wait block longer than needed, but never too high.

A nest of constant loops of at most 256 iterations in all is followed iteration by iteration, so what it commits counts
in full; of longer ones one iteration counts, of loops of unknown trips none. Calls are run through where they are
called; what is opaque commits nothing that counts.
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
from tileas_xdsl.interfaces import GroupTokenOpInterface
from tileas_xdsl.targets.engines import Engine

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
"""A token, and its parts: it stands for all of them, or for one of them. Its age is the least of theirs."""


def selected(op: Operation) -> Combined | None:
    """The token that `arith.select` makes, and its parts; None for any other op."""
    return (op.result, (op.lhs, op.rhs)) if isinstance(op, arith.SelectOp) else None


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path: `op` commits a group that counts or, where `edge` is given, the path takes that edge."""

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
    """The ages of all tokens at all points of one function. Stale once the function changes."""

    def __init__(
        self,
        function: Operation,
        commits_of: CommitsOf | None = None,
        is_token_value: Callable[[SSAValue], bool] | None = None,
        combined: Callable[[Operation], Combined | None] = selected,
        finished: AbstractSet[SSAValue] = frozenset(),
    ) -> None:
        """
        `commits_of` says which groups an op commits; the default reads the commits in the IR (`written_commits`).
        `is_token_value` says which values are tokens; the default goes by type. `combined` gives, for an op that makes
        a token of others, that token and its parts; the token may be one of the parts. Tokens in `finished` are
        complete from the start. A token that is one of them on some paths has the age that it has on the other paths.
        """
        commits = written_commits(function) if commits_of is None else commits_of
        client = _Ageing(commits, is_token_value or _has_token_type, combined, finished)
        self._flow: Flow[Ageing] = analyse(function, client, dict.fromkeys(finished, COMPLETE))

    def at(self, point: Operation) -> Ageing:
        """The age of every token when control reaches `point`; empty where no path reaches it."""
        return self._flow.before.get(point, {})

    def age(self, token: Token, point: Operation) -> Age | None:
        """The age of `token` when control reaches `point`; None where no path leads from its commit to `point`."""
        if point not in self._flow.before:
            return None
        unfollowed = UNFOLLOWED if isinstance(token, SSAValue) else None
        age = self._flow.before[point].get(token, unfollowed)
        return None if age is COMPLETE else age

    def reaches(self, point: Operation) -> bool:
        """Whether some path leads to `point`."""
        return point in self._flow.before


class _Ageing(FlowClient[Ageing]):
    """The client of `forward_flow`. A state maps each token to its least age on the paths seen so far."""

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
        """Other agents may commit at any time, so their groups are not counted."""
        theirs = [commit.token for inner in op.walk() if inner is not op for commit in self.commits_of(inner)]
        return {**state, **dict.fromkeys(theirs, UNFOLLOWED)} if theirs else state


def _older(age: Age, commit: Commit, op: Operation) -> Age:
    """The age once `op` has committed another group."""
    if age.queue is None or age.queue != commit.queue:
        return age
    return Age(age.queue, age.count + 1, PathStep(op, None, age.path))


def _least(ages: Sequence[tuple[Age, FlowEdge | None]]) -> Age:
    """The age where paths meet: the least one. Where the ages differ, the path records which edge brought it."""
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


# Commits ------------------------------------------------------------------------------------------------------------

DEVICE_QUEUE = Engine.CP_ASYNC
"""The one queue that all groups of `nvgpu` are in."""


def written_commits(function: Operation) -> CommitsOf:
    """The groups of `async_queue.commit` and `nvgpu.device_async_create_group`, seen from `function`."""

    def commits_of(op: Operation) -> Sequence[Commit]:
        if isinstance(op, CommitOp):
            return (Commit(op, queue_identity(op.queue, function)),)
        group = GroupTokenOpInterface.of(op)
        return () if group is None else (Commit(group.group_token, DEVICE_QUEUE),)

    return commits_of


def queue_identity(queue: int | SSAValue, function: Operation) -> Queue | None:
    """
    A key of the queue that holds for a whole run of `function`: a constant id, or a value computed once; else None.

    A value that a loop computes may name another queue in each iteration, and an argument another one in each call.
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


# Diagnostics --------------------------------------------------------------------------------------------------------


def describe_path(age: Age) -> str:
    """
    The path of an age in words: `committed by 'x.commit' at a.mlir:3:5, then 'x.commit' at a.mlir:7:5`.

    Each group that counts is named by the op that commits it, with its location or, without one, with its name only.
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
