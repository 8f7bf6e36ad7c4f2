"""
Programs whose agents have changed places: nothing that a checker says of them may depend on the order of agents.

Three ways to exchange them. In the *text* the regions of an op that forks agents change places, and with them whatever
its attributes say of each: how many agents run it, how many warps each has, how many registers. In the *machine* the
order changes in which agents, and so the warps of a block, step while nothing else decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, permutations
from math import factorial
from zlib import crc32

import pytest
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation

from tileas_xdsl.checker.verdict import deciding
from tileas_xdsl.dialects.nv_tileaa.queue import ExecuteOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp
from tileas_xdsl.dialects.triton.partitions import WarpSpecializeOp
from tileas_xdsl.front_door import parse
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.orders import Lazy

MOST_TEXTS = 3
"""Texts with exchanged agents that are made of one program."""
NUMBERS_OF_THREADS = ("nvvm.read.ptx.sreg.tid.x", "nvvm.read.ptx.sreg.warpid", "gpu.thread_id", "rocdl.workitem.id.x")


@dataclass(frozen=True)
class Exchange:
    """One way to exchange the agents of a program."""

    name: str
    text: int = 0
    """Which permutation the groups of every op that forks agents take; 0 leaves them where they are."""
    prefers: Callable[[Agent], int] | None = None
    """Of the agents that can step, the one with the least number does; None for the one that began first."""

    def of(self, text: str) -> ModuleOp:
        """The program `text` with its agents exchanged."""
        module = parse(text)
        for op in list(module.walk()):
            count = _groups(op)
            if count > 1 and self.text:
                _permute(op, _permutation(count, self.text))
        module.verify()
        return module

    @contextmanager
    def on_machine(self) -> Iterator[None]:
        """While this is open, checks let agents step in that order."""
        with pytest.MonkeyPatch.context() as patch:
            if self.prefers is not None:
                patch.setattr(deciding, "Lazy", lambda: _Preferring(self.prefers))
            yield


def exchanges(text: str) -> list[Exchange]:
    """
    The ways to exchange the agents of a program, at most five beside the one in which it is written.

    Threads are numbered agent by agent, so an agent that asks for the number of its thread stays where it is.
    """
    module = parse(text)
    most = max((_groups(op) for op in module.walk()), default=0)
    is_numbered = any(op.name in NUMBERS_OF_THREADS for op in module.walk())
    texts = range(1, 1 + min(MOST_TEXTS, factorial(most) - 1)) if not is_numbered else ()
    return [
        *(Exchange(f"groups permuted, {number}", number) for number in texts),
        Exchange("the youngest first", prefers=lambda agent: -agent.number),
        Exchange("by a hash of the name", prefers=lambda agent: crc32(agent.name.encode())),
    ]


class _Preferring(Lazy):
    """The order in which calls are decided, with other agents first."""

    def __init__(self, prefers: Callable[[Agent], int] | None) -> None:
        assert prefers is not None
        self.prefers = prefers

    def choose(self, machine: Machine, runnable: list[Agent]) -> Agent | AsyncWork | None:
        return min(runnable, key=self.prefers, default=None)


# Exchanging in the text -----------------------------------------------------------------------------------------------


def _groups(op: Operation) -> int:
    if isinstance(op, ExecuteOp | AgentSwitchOp):
        return len(op.regions)
    return len(op.partitions_op.regions) if isinstance(op, WarpSpecializeOp) else 0


def _permutation(count: int, number: int) -> Sequence[int]:
    """The last permutations first: they move the most."""
    found = list(islice(permutations(range(count)), 120))
    return found[-(1 + (number - 1) % (len(found) - 1))] if len(found) > 1 else found[0]


def _permute(op: Operation, order: Sequence[int]) -> None:
    holder = op.partitions_op if isinstance(op, WarpSpecializeOp) else op
    regions = list(holder.regions)
    for region in regions:
        holder.detach_region(region)
    for place in order:
        holder.add_region(regions[place])
    for name, value in [*op.properties.items()]:
        op.properties[name] = _permuted(value, order)
    for name, value in [*op.attributes.items()]:
        op.attributes[name] = _permuted(value, order)


def _permuted(value: Attribute, order: Sequence[int]) -> Attribute:
    """An attribute with a number for each group, or, of `ttg.warp_specialize`, for the default and each partition."""
    if isinstance(value, ArrayAttr) and len(value.data) == len(order):
        return ArrayAttr([value.data[place] for place in order])
    if not isinstance(value, DenseArrayBase) or not isinstance(value.elt_type, IntegerType):
        return value
    numbers = [int(number) for number in value.get_values()]
    first = len(numbers) - len(order)
    if first not in (0, 1):
        return value
    return DenseArrayBase.from_list(value.elt_type, [*numbers[:first], *(numbers[first + place] for place in order)])
