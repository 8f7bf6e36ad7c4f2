"""
Which asynchronous tasks may be unfinished, in the order of their start, and which tokens name them.

    %a = start A                    A(%a)
    %b = start B                    A(%a), B(%b)
    wait for %a                     B(%b)
    scf.for ... iter_args(%x = %b) {                       B or C(%x): one instance is outstanding at the loop's head,
      %c = start C                                         which B or an earlier iteration of C started
      wait for %x                   C(%c)
      scf.yield %c
    }

Waiting for a token finishes its task and implies nothing about others. A task whose token is no longer live stays
outstanding for ever. Instances of a task differ only by the tokens that name them. Tokens that are dead are dropped, so
a loop that rotates its tokens returns to the state that it started from.

Purpose: in one FIFO, tasks finish in the order of their start. There a wait for the younger of two outstanding tasks
waits for the older one too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.forward_flow import Arrival, EdgeKind, FlowClient, analyse


@dataclass(frozen=True)
class TokenEvents:
    """The effect of an op on tokens, given by the caller: it waits, then starts a task, then combines tokens."""

    waits: Sequence[SSAValue] = ()
    starts: SSAValue | None = None
    """The token of the task that the op starts."""
    chooses: tuple[SSAValue, Sequence[SSAValue]] | None = None
    """The token that the op selects from several others."""
    joins: tuple[SSAValue, Sequence[SSAValue]] | None = None
    """A token (a group) that from now on stands for all of others too, besides what it already stands for."""


LineOf = Callable[[Operation], Hashable]
EventsOf = Callable[[Operation], TokenEvents]
NO_EVENTS = TokenEvents()

MOST_ROUNDS = 24
"""After this many rounds of a loop without a fixpoint, instances of one line are no longer told apart."""


@dataclass(frozen=True)
class Instance:
    """
    A task that may be unfinished.

    `tasks` are the ops one of which started it, `must` the tokens that name it on every path on which it is
    outstanding, `may` the tokens that name it on some path.
    """

    tasks: tuple[Operation, ...]
    must: frozenset[SSAValue]
    may: frozenset[SSAValue]
    unordered: bool = False
    """Whether its order among the instances of its own line differs between paths."""
    shuffled: bool = False
    """Whether its order relative to instances of other lines differs between paths."""

    def without(self, gone: Callable[[SSAValue], bool]) -> Instance:
        """The instance without the tokens that are `gone`."""
        if not any(map(gone, self.may)):
            return self
        kept = frozenset(name for name in self.may if not gone(name))
        return replace(self, must=self.must & kept, may=kept)


Order = tuple[Instance, ...]
"""The tasks that may be outstanding, oldest first."""


@dataclass(frozen=True)
class Forced:
    """In one FIFO, a wait for `token`, whose task is `awaited`, would wait for `older` as well."""

    awaited: Instance
    older: Instance
    is_choice: bool
    """Whether the token may name `older` itself, on another path."""


class OutstandingTasks:
    """
    The tasks that may be outstanding at each op of a function. Stale once the function changes.

    `line_of` tells which tasks are of one *line*: those that one token may name. Where paths meet, order is tracked
    more precisely within a line than between lines.
    """

    def __init__(self, function: Operation, events_of: EventsOf, line_of: LineOf) -> None:
        self._line_of = line_of
        self._flow = analyse(function, _Tracking(events_of, line_of, _last_users(function)), ())

    def before(self, op: Operation) -> Order:
        """The tasks that may be outstanding when control reaches `op`."""
        return self._flow.before.get(op, ())

    def forced(self, op: Operation, waits: Sequence[SSAValue]) -> Iterator[Forced]:
        """
        What a wait for all of `waits` at `op` would also wait for, if all tasks were in one FIFO: each pair of a task
        that is waited for and an older one that is not.
        """
        order, wanted = self.before(op), frozenset(waits)
        others = [not (instance.must & wanted) for instance in order]
        for place, instance in enumerate(order):
            named = instance.may & wanted
            if not named:
                continue
            for index, older in enumerate(order):
                if index != place and others[index] and (index < place or self._may_cross(older, instance)):
                    yield Forced(instance, older, bool(named <= older.may))

    def _may_cross(self, first: Instance, second: Instance) -> bool:
        """Whether the two may have started in the other order."""
        if self._line_of(first.tasks[0]) == self._line_of(second.tasks[0]):
            return first.unordered or second.unordered
        return first.shuffled or second.shuffled


@dataclass(frozen=True)
class _Tracking(FlowClient[Order]):
    events_of: EventsOf
    line_of: LineOf
    last_users: dict[Operation, list[SSAValue]] = field(repr=False)
    rounds: dict[Operation, int] = field(default_factory=dict[Operation, int], repr=False)
    """Loop -> the number of rounds run through so far."""

    def leave(self, op: Operation, state: Order) -> Order:
        events = self.events_of(op)
        if events.waits:
            wanted = frozenset(events.waits)
            state = tuple(instance for instance in state if not instance.must & wanted)
        if events.starts is not None:
            state = self._started(op, events.starts, state)
        if events.chooses is not None:
            chosen, sources = events.chooses
            state = _named(state, chosen, sources, frozenset(sources) if len(set(sources)) == 1 else frozenset())
        if events.joins is not None:
            group, members = events.joins
            state = _named(state, group, members, frozenset(members))
        return self._forget(op, state)

    def _started(self, op: Operation, token: SSAValue, state: Order) -> Order:
        names = frozenset([token] if token.first_use is not None else [])
        state = tuple(instance.without(lambda name: name is token) for instance in state)
        return _collapsed((*state, Instance((op,), names, names)), self.line_of)

    def _forget(self, op: Operation, state: Order) -> Order:
        """Drop the tokens that are dead after `op`; operands of a terminator are dropped after they are assigned."""
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            return state
        dead = frozenset(self.last_users.get(op, ()))
        if not dead and not op.regions:
            return state
        remaining = (instance.without(lambda name: name in dead or _is_inside(name, op)) for instance in state)
        return _collapsed(remaining, self.line_of)

    def assign(self, state: Order, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> Order:
        # The region is entered anew: its previous arguments and the values that it defined name no task any more.
        owner = targets[0].owner
        loop = owner.parent_op() if isinstance(owner, Block) and _is_alone(owner) else None
        dead = frozenset(self._dead_inside(loop))
        overwritten = frozenset(targets)

        def gone(name: SSAValue) -> bool:
            return name in overwritten or name in dead or (loop is not None and _is_inside(name, loop))

        renamed: list[Instance] = []
        pairs = [(target, source) for target, source in zip(targets, sources, strict=True) if source is not None]
        for instance in state:
            kept = instance.without(gone)
            must = frozenset(target for target, source in pairs if source in instance.must)
            may = frozenset(target for target, source in pairs if source in instance.may)
            renamed.append(replace(kept, must=kept.must | must, may=kept.may | may) if may else kept)
        return _collapsed(renamed, self.line_of)

    def _dead_inside(self, op: Operation | None) -> Iterator[SSAValue]:
        """The tokens whose last use is `op` itself, not an op in its regions."""
        if op is None:
            return
        for name in self.last_users.get(op, ()):
            if all(use.operation is op for use in name.uses if _holds(op, use.operation)):
                yield name

    def join(self, arrivals: Sequence[Arrival[Order]]) -> Order:
        first, *rest = arrivals
        met = first.state
        for arrival in rest:
            met = met if arrival.state is met else _collapsed(_merge(met, arrival.state, self.line_of), self.line_of)
            if arrival.edge is not None and arrival.edge.kind is EdgeKind.AGAIN and self._is_restless(arrival.edge.op):
                met = _one_a_line(met, self.line_of)
        return met

    def _is_restless(self, loop: Operation) -> bool:
        """Count a round of `loop`; return whether it has had too many to tell the instances of a line apart."""
        self.rounds[loop] = self.rounds.get(loop, 0) + 1
        return self.rounds[loop] > MOST_ROUNDS


def _named(state: Order, name: SSAValue, sources: Sequence[SSAValue], certain: frozenset[SSAValue]) -> Order:
    """
    Add a name to each instance that one of `sources` may name; certain for those that `certain` names on every path.
    """
    wanted = frozenset(sources)
    return tuple(
        replace(
            instance,
            may=instance.may | {name},
            must=instance.must | {name} if instance.must & certain else instance.must,
        )
        if instance.may & wanted
        else instance
        for instance in state
    )


def _collapsed(instances: Iterator[Instance] | Sequence[Instance], line_of: LineOf) -> Order:
    """Merge instances of one line that have the same tokens; the result stands at the place of the oldest."""
    kept: dict[tuple[frozenset[SSAValue], frozenset[SSAValue], Hashable], Instance] = {}
    for instance in instances:
        key = (instance.must, instance.may, line_of(instance.tasks[0]))
        like = kept.setdefault(key, instance)
        if like is not instance:
            tasks = tuple(dict.fromkeys((*like.tasks, *instance.tasks)))
            kept[key] = replace(
                like,
                tasks=tasks,
                unordered=like.unordered or instance.unordered,
                shuffled=like.shuffled or instance.shuffled,
            )
    return tuple(kept.values())


def _one_a_line(instances: Order, line_of: LineOf) -> Order:
    """Merge all instances of each line into one of which little is known, so that every loop reaches its fixpoint."""
    kept: dict[Hashable, Instance] = {}
    for instance in instances:
        line = line_of(instance.tasks[0])
        known = kept.get(line)
        kept[line] = instance if known is None else _met(known, instance, unordered=True, shuffled=True)
    return tuple(kept.values())


# Where paths meet -----------------------------------------------------------------------------------------------------


def _merge(first: Order, second: Order, line_of: LineOf) -> Iterator[Instance]:
    """
    The tasks that may be outstanding where two paths meet.

    Instances that share a token are one instance, paired in order where several do. Instances without a token are one
    if they are of one line. An instance that only one path has keeps its place.
    """
    partner = _partners(first, second, line_of)
    matched = set(partner.values())
    place = 0
    latest: dict[Hashable, int] = {}
    for index, instance in enumerate(first):
        other = partner.get(index)
        if other is None:
            yield instance
            continue
        yield from (second[number] for number in range(place, other) if number not in matched)
        line = line_of(instance.tasks[0])
        yield _met(instance, second[other], unordered=other < latest.get(line, -1), shuffled=other < place)
        latest[line] = max(other, latest.get(line, -1))
        place = max(place, other + 1)
    yield from (second[number] for number in range(place, len(second)) if number not in matched)


def _partners(first: Order, second: Order, line_of: LineOf) -> dict[int, int]:
    """Index in `first` -> index in `second` of the same instance."""
    partner: dict[int, int] = {}
    free = list(range(len(second)))
    for index, instance in enumerate(first):
        for other in free:
            candidate = second[other]
            if instance.may & candidate.may or (
                not instance.may and not candidate.may and line_of(instance.tasks[0]) == line_of(candidate.tasks[0])
            ):
                partner[index] = other
                free.remove(other)
                break
    return partner


def _met(first: Instance, second: Instance, *, unordered: bool, shuffled: bool) -> Instance:
    return Instance(
        tuple(dict.fromkeys((*first.tasks, *second.tasks))),
        first.must & second.must,
        first.may | second.may,
        first.unordered or second.unordered or unordered,
        first.shuffled or second.shuffled or shuffled,
    )


# Names ----------------------------------------------------------------------------------------------------------------


def _last_users(function: Operation) -> dict[Operation, list[SSAValue]]:
    """For each op the values defined in its own block of which it, or an op in its regions, is the last user."""
    found: dict[Operation, list[SSAValue]] = {}
    place = {op: index for index, op in enumerate(function.walk())}
    for op in place:
        values: list[SSAValue] = list(op.results)
        for region in op.regions:
            for block in region.blocks:
                values += block.args
        for value in values:
            users = [_ancestor_beside(value, use.operation) for use in value.uses]
            known = [user for user in users if user is not None]
            if known and len(known) == len(users):
                found.setdefault(max(known, key=place.__getitem__), []).append(value)
    return found


def _ancestor_beside(value: SSAValue, user: Operation) -> Operation | None:
    """The ancestor of `user`, or itself, in the block that defines `value`; None where there is none."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    node: Operation | None = user
    while node is not None and node.parent is not block:
        node = node.parent_op()
    return node


def _is_alone(block: Block) -> bool:
    """Whether `block` is the only block of its region."""
    return block.parent is not None and block.parent.first_block is block.parent.last_block


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in a region of `op`."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    parent = block.parent_op() if block is not None else None
    return parent is not None and _holds(op, parent)


def _holds(op: Operation, inner: Operation) -> bool:
    """Whether `inner` is `op` or nested in it."""
    node: Operation | None = inner
    while node is not None and node is not op:
        node = node.parent_op()
    return node is not None
