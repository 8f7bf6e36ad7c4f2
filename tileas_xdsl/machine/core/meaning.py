"""
The table that says what each op does. One dialect a file under `meanings/`, one short function an op.

    @pure(arith.AddiOp)
    def _(agent, op, lhs, rhs):
        return wrap(lhs + rhs, op.result.type)

A meaning takes the agent that runs the op, the op, and the run-time values of its operands, in order. It returns
nothing, one value or a tuple, as the op has results. One that cannot do so at once returns a request of what has to
come first, and names the continuation at which it goes on (`standings`):

    @suspends(async_.AwaitOp)
    def _await(agent, op, promise):
        return agent.wait(EventCondition(promise), op).then(_awaited, promise)

    @continuation
    def _awaited(agent, op, _, promise):
        return promise.payload

The decorator says which kind of step it is:

- `pure`: depends on its operands alone. Given an `UNKNOWN` it is not called; its results are unknown too.
- `effect`: touches memory, and never waits.
- `sync`: touches synchronisation that other agents can see (arrives, commits, issues), and never waits.
- `control`: may request that regions run (`agent.run_region(...)`), and does nothing by itself.
- `suspends`: may request a wait (`agent.wait(...)`), and that regions run.
- `issues`: the same for an asynchronous op that takes its operands as they are, late ones included.
- `terminator`: ends a block; hands its operands to whoever runs the block.
- `refused`: synchronises in a way that the machine does not model, and says what to do instead.
- `jump`: ends a block by going on to another: returns that it is to `Enter`.

Its keywords say what else is known of the op (`op_facts`): how its numbers move on, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn, TypeVar, Unpack

from xdsl.ir import Operation

from tileas_xdsl.machine.core.op_facts import Crosses, Facts, Said
from tileas_xdsl.machine.core.violations import UnsupportedError

MeaningFunction = Callable[..., Any]
F = TypeVar("F", bound=MeaningFunction)


class Kind(Enum):
    """How the machine has to treat a step."""

    PURE = auto()
    EFFECT = auto()
    SYNC = auto()
    CONTROL = auto()
    SUSPENDS = auto()
    TERMINATOR = auto()
    JUMP = auto()


@dataclass(frozen=True)
class Meaning:
    """What one op does."""

    kind: Kind
    function: MeaningFunction
    looks_later: bool = False
    """Whether it takes late values (`late_values`) as they are, and looks at them when it is performed."""
    facts: Facts = field(default_factory=Facts)
    """What else is known of the op."""


_meanings: dict[type[Operation], Meaning] = {}
_loaded: set[str] = set()


def _register(
    kind: Kind, ops: tuple[type[Operation], ...], said: Said, *, looks_later: bool = False
) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        meaning = Meaning(kind, function, looks_later, Facts(**said))
        for op in ops:
            if op in _meanings:
                raise ValueError(f"'{op.name}' has a meaning already; say all that is known of it in one place")
            _meanings[op] = meaning
        return function

    return decorate


def pure(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function depends on its operands alone."""
    return _register(Kind.PURE, ops, said)


def effect(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function touches memory and never waits."""
    return _register(Kind.EFFECT, ops, said)


def sync(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function touches synchronisation that others can see, and never waits."""
    return _register(Kind.SYNC, ops, said)


def control(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function may request that regions run, and does nothing by itself."""
    return _register(Kind.CONTROL, ops, said)


def suspends(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function may request a wait, and that regions run."""
    return _register(Kind.SUSPENDS, ops, said)


def issues(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """The decorated function issues asynchronous work that looks at its operands when it is performed."""
    return _register(Kind.SUSPENDS, ops, said, looks_later=True)


def jump(*ops: type[Operation], **said: Unpack[Said]) -> Callable[[F], F]:
    """
    The decorated function returns the block to `Enter`, with its arguments, or what it hands over where no block
    follows. It takes late values as they are.
    """
    return _register(Kind.JUMP, ops, said, looks_later=True)


def terminators(*ops: type[Operation], **said: Unpack[Said]) -> None:
    """Ops that end a block and hand over their operands."""

    def hand_over(_agent: object, _op: Operation, *operands: Any) -> tuple[Any, ...]:
        return operands

    _register(Kind.TERMINATOR, ops, said)(hand_over)


def same_as(known: type[Operation], *ops: type[Operation]) -> None:
    """The ops do what `known` does, and what else is known of it is so of them: one op in two dialects."""
    meaning = meaning_of(known.__new__(known))
    assert meaning is not None
    for op in ops:
        assert op not in _meanings
        _meanings[op] = meaning


def refused(reason: str, *ops: type[Operation]) -> None:
    """
    Ops that synchronise, and that the machine does not model: `reason` completes "'the.op' op ..." and says the way
    out. Such an op is never taken for a function of its operands.
    """

    def refuse(_agent: object, op: Operation, *_operands: Any) -> NoReturn:
        raise UnsupportedError(op, reason)

    _register(Kind.SYNC, ops, {})(refuse)


MODULES = {"async": "async_"}
"""Dialects whose file of meanings is not named as they are."""


def load_dialect(dialect: str) -> None:
    """Load the meanings of `dialect`, at the first call."""
    if dialect in _loaded:
        return
    _loaded.add(dialect)
    module = f"tileas_xdsl.machine.meanings.{MODULES.get(dialect, dialect)}"
    if find_spec(module) is not None:
        import_module(module)


def meaning_of(op: Operation) -> Meaning | None:
    """The meaning of `op`, or None when nobody has said what it does. Loads the dialect's meanings on first use."""
    known = _meanings.get(type(op))
    if known is None:
        load_dialect(op.dialect_name())
        known = _meanings.get(type(op))
    return known


NOTHING_SAID = Facts()


def facts_of(op: Operation) -> Facts:
    """The facts about `op`; for an op without a meaning the defaults, which are the safe ones."""
    meaning = meaning_of(op)
    return NOTHING_SAID if meaning is None else meaning.facts


def crossing_of(op: Operation) -> Crosses:
    """How `op` reaches into other blocks of its cluster."""
    said = facts_of(op).crosses
    return said if isinstance(said, Crosses) else said(op)
