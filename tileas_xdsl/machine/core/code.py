"""
Facts about the ops of a program that are computed once and shared by all executions of one check.

An op does not change while a program is checked. So its meaning, the values that its regions capture and what `per_op`
derives from it are the same in every execution. A program that a pass has changed needs a `Code` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.machine.core.handles import unknown_outcome
from tileas_xdsl.machine.core.meaning import Kind, Meaning
from tileas_xdsl.machine.core.op_facts import ALL_OPERANDS, AtOnce, TakesPerThread

OpT = TypeVar("OpT", bound=Operation)
FactT = TypeVar("FactT")


def bound(block: Block, values: Sequence[Any]) -> dict[SSAValue, Any]:
    """What the arguments of `block` are where it begins with `values`."""
    return dict(zip(block.args, values, strict=True))


SIGHT = {Kind.EFFECT: 1, Kind.SYNC: 2, Kind.SUSPENDS: 2}
"""How well others can see a step of that kind: 0 not at all, 1 by what it does to memory, 2 by synchronisation.
From which on agents pause before a step, the order says (`orders.Pauses`)."""


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
    looked_at: int = ALL_OPERANDS
    """How many of its leading operands it looks at itself: the others it hands on, late or not."""
    gives_float: bool = False
    """Whether its only result is a float."""
    takes: TakesPerThread = TakesPerThread.NO
    """What becomes of an operand that differs between the threads of the agent."""
    at_once: AtOnce | None = None
    """How the op is done for all its threads in one go (`Facts.at_once`)."""
    sight: int = field(init=False)
    """How well others can see it: see `SIGHT`."""
    _unknown: Any = field(init=False, default=None)
    """Its outcome where an operand is unknown, once that was asked for."""

    def __post_init__(self) -> None:
        self.sight = SIGHT.get(self.kind, 0)

    @property
    def unknown_outcome(self) -> Any:
        """Its outcome where an operand is unknown. Raises `UndecidedError` where a result may not be."""
        if self._unknown is None:
            self._unknown = unknown_outcome(self.op)
        return self._unknown


@dataclass(eq=False)
class Code:
    """The ops of a program, with what is known of them."""

    steps: dict[Block, list[Step]] = field(default_factory=dict[Block, "list[Step]"])
    """The ops of each block with their meanings. They hold for machines that compute data, or for those that do not."""
    meanings: Mapping[Operation, Meaning] = field(default_factory=dict[Operation, "Meaning"])
    """The ops that do something else than ops of their kind."""
    outcomes: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    """Of ops that compute from integers which differ between threads (`threads.by_thread`)."""
    _facts: dict[object, dict[int, tuple[Operation, Any]]] = field(
        default_factory=dict[object, "dict[int, tuple[Operation, Any]]"]
    )
    """By what derives them and the id of the op, which is kept with its fact: hashing an op takes as long as a fact."""
    _kept: dict[type, Any] = field(default_factory=dict[type, Any])
    _captured: dict[tuple[int, ...], list[SSAValue]] = field(default_factory=dict[tuple[int, ...], "list[SSAValue]"])

    def fact(self, derive: Callable[[OpT], FactT], op: OpT) -> FactT:
        """What `derive` makes of `op`: it is called once."""
        facts = self._facts.get(derive)
        if facts is None:
            facts = self._facts[derive] = {}
        found = facts.get(id(op))
        if found is None:
            found = facts[id(op)] = (op, derive(op))
        return found[1]

    def kept(self, kind: type[FactT]) -> FactT:
        """The object of `kind` in which it is kept what is worked out about the program; made at the first call."""
        found = self._kept.get(kind)
        if found is None:
            found = self._kept[kind] = kind()
        return found

    def captured(self, regions: Sequence[Region]) -> list[SSAValue]:
        """The values that `regions` take from their surroundings."""
        key = tuple(map(id, regions))
        values = self._captured.get(key)
        if values is None:
            values = self._captured[key] = captured_values(regions)
        return values


class Knows(Protocol):
    """Who runs a program, and knows what is known of its ops."""

    @property
    def code(self) -> Code: ...


def per_op(derive: Callable[[OpT], FactT]) -> Callable[[Knows, OpT], FactT]:
    """
    Decorator for what a meaning derives from an op alone: computed once per op, and looked up each time the op runs.

        @per_op
        def _window(op: memref.SubviewOp) -> Window: ...

        window = _window(agent, op)
    """

    def lookup(agent: Knows, op: OpT) -> FactT:
        return agent.code.fact(derive, op)

    return lookup
