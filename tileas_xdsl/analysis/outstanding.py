"""
Which asynchronous tasks may be unfinished, in the order of their start, and by which tokens a thread can wait for them.

    %a = start A                    A(%a)
    %b = start B                    A(%a), B(%b)
    wait for %a                     B(%b)
    scf.for ... iter_args(%x = %b) {                       B or C(%x): one instance is outstanding at the loop's head,
      %c = start C                                         which B or an earlier iteration of C started
      wait for %x                   C(%c)
      scf.yield %c
    }

Waiting for a token finishes its task and says nothing about others. A task whose token nobody can name any more stays
outstanding for good. Instances of a task are told apart by their names alone, so names that nobody will use again are
dropped, and a loop that rotates its tokens comes back to the state that it started from.

What the answer is for: tasks in one FIFO finish in the order of their start, so a wait for the younger of two that are
outstanding waits for the older one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.forward_flow import Arrival, EdgeKind, FlowClient, analyse


@dataclass(frozen=True)
class TokenEvents:
    """What an op does with tokens, as the caller sees it: it waits, then it starts a task, then it combines tokens."""

    waits: Sequence[SSAValue] = ()
    starts: SSAValue | None = None
    """The token of the task that the op starts."""
    chooses: tuple[SSAValue, Sequence[SSAValue]] | None = None
    """A token that is one of several others."""
    joins: tuple[SSAValue, Sequence[SSAValue]] | None = None
    """A token that comes to stand for all of others, too, besides what it stands for already: a group and members."""


LineOf = Callable[[Operation], Hashable]
EventsOf = Callable[[Operation], TokenEvents]
NO_EVENTS = TokenEvents()

MOST_ROUNDS = 24
"""A loop that comes round more often has its instances told apart by line alone."""


@dataclass(frozen=True)
class Instance:
    """
    A task that may be unfinished.

    `tasks` are the ops of which one started it, `must` the tokens that are its own wherever it is outstanding, `may`
    those that are on some path.
    """

    tasks: tuple[Operation, ...]
    must: frozenset[SSAValue]
    may: frozenset[SSAValue]
    unordered: bool = False
    """Whether its place among those of its own line differs from path to path."""
    shuffled: bool = False
    """Whether its place among those of other lines does."""

    def without(self, gone: Callable[[SSAValue], bool]) -> Instance:
        """The instance without the names that are `gone`."""
        if not any(map(gone, self.may)):
            return self
        kept = frozenset(name for name in self.may if not gone(name))
        return replace(self, must=self.must & kept, may=kept)


Order = tuple[Instance, ...]
"""What may be outstanding, the oldest first."""


@dataclass(frozen=True)
class Forced:
    """A wait in one FIFO for `token`, whose task is `awaited`, would wait for `older` as well."""

    awaited: Instance
    older: Instance
    is_choice: bool
    """Whether the token may be that of `older` itself, on another path."""


class OutstandingTasks:
    """
    What may be outstanding at each op of a function; valid as long as nobody changes it.

    `line_of` tells which tasks are of one *line*: those whose tokens one name may stand for. Where paths meet, order is
    followed more closely within a line than between lines.
    """

    def __init__(self, function: Operation, events_of: EventsOf, line_of: LineOf) -> None:
        self._line_of = line_of
        self._flow = analyse(function, _Tracking(events_of, line_of, _last_users(function)), ())

    def before(self, op: Operation) -> Order:
        """What may be outstanding when control comes to `op`."""
        return self._flow.before.get(op, ())

    def forced(self, op: Operation, waits: Sequence[SSAValue]) -> Iterator[Forced]:
        """
        What else a wait for all of `waits` at `op` would wait for, if all tasks were in one FIFO: each pair of a task
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
        """Whether the order of the two may be the other way round."""
        if self._line_of(first.tasks[0]) == self._line_of(second.tasks[0]):
            return first.unordered or second.unordered
        return first.shuffled or second.shuffled


@dataclass(frozen=True)
class _Tracking(FlowClient[Order]):
    events_of: EventsOf
    line_of: LineOf
    last_users: dict[Operation, list[SSAValue]] = field(repr=False)
    rounds: dict[Operation, int] = field(default_factory=dict[Operation, int], repr=False)
    """How often each loop has come round."""

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
        """Drop the names that nobody can use after `op`; what a terminator hands on is dropped once it has arrived."""
        if op.has_trait(IsTerminator, value_if_unregistered=False):
            return state
        dead = frozenset(self.last_users.get(op, ()))
        if not dead and not op.regions:
            return state
        remaining = (instance.without(lambda name: name in dead or _is_inside(name, op)) for instance in state)
        return _collapsed(remaining, self.line_of)

    def assign(self, state: Order, targets: Sequence[SSAValue], sources: Sequence[SSAValue | None]) -> Order:
        # A region starts anew: its arguments of the last time, and all that it defined, are names no more.
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
        """The names that `op` is the last to use, and not in its regions."""
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
        """Count a round of `loop`; whether it takes too many to tell the instances of a line apart."""
        self.rounds[loop] = self.rounds.get(loop, 0) + 1
        return self.rounds[loop] > MOST_ROUNDS


def _named(state: Order, name: SSAValue, sources: Sequence[SSAValue], certain: frozenset[SSAValue]) -> Order:
    """Give those that one of `sources` may name another name, certain for those that `certain` names for sure."""
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
    """Instances of one line that no name tells apart are kept as one, at the place of the oldest."""
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
    """One instance for all of a line, of which little is known; so that a loop settles whatever it does."""
    kept: dict[Hashable, Instance] = {}
    for instance in instances:
        line = line_of(instance.tasks[0])
        known = kept.get(line)
        kept[line] = instance if known is None else _met(known, instance, unordered=True, shuffled=True)
    return tuple(kept.values())


# Where paths meet -----------------------------------------------------------------------------------------------------


def _merge(first: Order, second: Order, line_of: LineOf) -> Iterator[Instance]:
    """
    What is outstanding on one of two paths.

    Instances that share a name are one instance, in order where several do; those without a name are one if they are of
    one line. What only one of the paths has keeps its place there.
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
    """For each op the values of its own block that it, or an op in its regions, is the last to use."""
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
    """The op around `user`, or itself, in the block that defines `value`; None where there is none."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    node: Operation | None = user
    while node is not None and node.parent is not block:
        node = node.parent_op()
    return node


def _is_alone(block: Block) -> bool:
    """Whether `block` is the whole of its region."""
    return block.parent is not None and block.parent.first_block is block.parent.last_block


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined in a region of `op`."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    parent = block.parent_op() if block is not None else None
    return parent is not None and _holds(op, parent)


def _holds(op: Operation, inner: Operation) -> bool:
    """Whether `inner` is `op` or stands in one of its regions."""
    node: Operation | None = inner
    while node is not None and node is not op:
        node = node.parent_op()
    return node is not None
