"""
The programs of a grid that one block computes, one after the other: a persistent kernel takes over those that have not
started.

    %id = get_program_id          how many programs are left, with the one that the block was started for: N
    is_valid_program_id %id       N > 0
    cancel_next_program_id        N - 1, N - 2, ...

The opaque id of a program is how many are left, itself among them; below 1 it is that of none. Programs are taken over
in the order of their numbers. The agents of a block compute the same ones: the answer to the k-th question of an agent
is the k-th program that the block has taken over, whoever asks first (as every thread of a cluster reads one answer,
PTX ISA, `clusterlaunchcontrol.try_cancel`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.dialects.nv_tileaa.control import CancelNextProgramIdOp, GetProgramIdOp, IsValidProgramIdOp
from tileas_xdsl.machine.arguments import ArgumentError
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import ASKS_AGAIN
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.opaque_numbers import Grid
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.violations import UnsupportedError

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.execution import Machine

AXES = 3
MOST_PROGRAMS = 1 << 16


class Programs(OwnPart):
    """How many programs an agent has taken over since it began."""

    def __init__(self) -> None:
        self.taken = 0

    def draw(self, canvas: Canvas, agent: Who) -> None:
        assert isinstance(agent, Agent)
        canvas.value(left(agent))


@dataclass
class ClaimedPrograms(SharedPart):
    """Answers in shared memory: which program was taken over, by the object and the byte offset of the answer."""

    at: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def draw(self, canvas: Canvas) -> None:
        for program in self.at.values():
            canvas.value(program)


@dataclass
class Asker(SharedPart):
    """The number of the agent that asks for programs by requests whose answers arrive later; None before it does."""

    number: int | None = None

    def draw(self, canvas: Canvas) -> None:
        canvas.value(self.number)


def one_asker(agent: Agent, op: Operation) -> None:
    """
    Note that `agent` asks, and assume of one that was given none that it does not know it. Raises `UnsupportedError`
    where another agent has asked: which of the two is given which program is open.
    """
    asker = agent.shared(Asker)
    if asker.number is not None and left(agent) <= 0:
        agent.assume(ASKS_AGAIN)
    if asker.number not in (None, agent.number):
        raise UnsupportedError(op, "asks for work as another warp does; let one warp of the cluster ask")
    asker.number = agent.number


def left(agent: Agent) -> int:
    """The id of the program that `agent` is at: how many are left, with that one."""
    taken, each = 0, agent
    while each is not None:
        taken += each.part(Programs).taken
        each = each.parent
    return agent.grid.programs - taken


def next_program(agent: Agent) -> int:
    """`agent` goes on to the next program; returns its id."""
    agent.part(Programs).taken += 1
    return left(agent)


def number_of(agent: Agent, program: int, axis: int) -> int:
    """The number along `axis` of the program with that id: programs are counted along x first."""
    grid = agent.grid
    number = grid.first + grid.programs - program
    for extent in grid.extents[:axis]:
        number //= extent
    return number % grid.extents[axis]


# A launch -------------------------------------------------------------------------------------------------------------


def takes_programs_over(function: Operation) -> bool:
    """Whether `function` has a persistent loop: how often that turns, the number of programs says."""
    return any(isinstance(op, IsValidProgramIdOp) or facts_of(op).takes_programs for op in function.walk())


def extents_given(function: Operation, programs: Sequence[int] | None, numbers: Mapping[str, int]) -> tuple[int, ...]:
    """
    How many programs there are along x, y and z, of a caller who gives `programs` and `numbers` of the grid.

    Raises `ArgumentError` for extents that no grid has, and where `function` never asks which program it is.
    """
    if programs is None:
        return (1,) * AXES
    if not 1 <= len(programs) <= AXES or min(programs) < 1 or prod(programs) > MOST_PROGRAMS:
        raise ArgumentError(f"a grid has 1 to {AXES} extents, and 1 to {MOST_PROGRAMS} programs in all")
    if not any(map(_tells_programs_apart, function.walk())):
        raise ArgumentError("the function never asks which program it is: all programs would do the same")
    if numbers:
        raise ArgumentError(f"'{next(iter(numbers))}' is given, and with a number of programs all of them run")
    return (*programs, *((1,) * (AXES - len(programs))))


def _tells_programs_apart(op: Operation) -> bool:
    return isinstance(op, GetProgramIdOp | CancelNextProgramIdOp) or facts_of(op).tells_programs_apart


def first_block(extents: tuple[int, ...], numbers: Mapping[str, int]) -> Grid:
    """The block of program 0, which may take over all others."""
    return Grid(numbers=numbers, programs=prod(extents), extents=extents)


def shuffled_blocks(extents: tuple[int, ...], numbers: Mapping[str, int], seed: int) -> Iterator[Grid]:
    """A block for each program, in an order by chance: none takes over the program of another."""
    places = list(range(prod(extents)))
    Random(seed).shuffle(places)
    for first in places:
        yield Grid(numbers=numbers, programs=len(places) - first, first=first, extents=extents)


def next_block(machine: Machine) -> Grid | None:
    """The block of the first program that the one on `machine` has not computed, None if it has computed all."""
    grid = machine.grid
    first = grid.first + 1 + max((grid.programs - left(agent) for agent in machine.agents), default=0)
    rest = prod(grid.extents) - first
    return Grid(numbers=grid.numbers, programs=rest, first=first, extents=grid.extents) if rest > 0 else None
