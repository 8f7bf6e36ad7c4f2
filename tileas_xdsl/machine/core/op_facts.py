"""
Facts about an op beside what it does. They are given where its meaning is registered:

    @pure(arith.AddiOp, moves=added)
    @effect(memref.LoadOp, may_move=("indices",), first_index=1)
    @control(scf.ForOp, may_move=("lb", "ub", "iter_args"), deciding=3)

The prover asks how numbers move on, the search for trip counts which operands decide what runs, and the recorder of
asynchronous scopes which operands may come late. A fact that is not given has the safe default: a number that an op
computes is irregular, an operand of an op that acts must stay, what it tells is read from memory, and its operands are
needed at once. (Which values are handles follows from their types: `interfaces.HandleType`. What an op costs is asked
by schedules as well, and stands in `analysis.costs.op_costs`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypedDict, cast

from xdsl.ir import Operation, SSAValue

from tileas_xdsl.machine.core.moving_numbers import Rule
from tileas_xdsl.machine.core.threads.hardware import PerThread

EVERY_OPERAND = ("*",)
"""For `Facts.may_move`: the op hands all its operands on, or takes them for stages of a ring."""

ALL_OPERANDS = 1 << 10
"""For `Facts.deciding`: all of them, however many there are."""


class Tells(Enum):
    """Where the numbers come from that an op takes from an array."""

    CONTENTS = auto()
    EXTENTS = auto()
    """From its shape, which may be made up where types leave it open."""
    RANK = auto()
    """From its type alone, or from no array."""


AtOnce = Callable[..., Sequence[Any] | PerThread | None]
"""What an op gives each thread, done for all of them in one go; None where that cannot be done."""


class TakesPerThread(Enum):
    """What becomes of an operand that differs between the threads of an agent (`machine.core.threads.by_thread`)."""

    NO = auto()
    """The op needs one value for all of them."""
    ONE_BY_ONE = auto()
    """The op is done for each thread by itself."""
    ITSELF = auto()
    """The meaning takes it as it is."""


class Crosses(Enum):
    """How an op reaches into other blocks of its cluster (`machine.core.threads.cluster_calls`)."""

    NO = auto()
    BY_RANK = auto()
    """It takes a place in the block whose rank is its last operand."""
    BY_MEETING = auto()
    """It meets all threads of the cluster."""
    BY_TYPES = auto()
    """Its types or attributes say so, and its module says how many blocks there are."""


@dataclass(frozen=True)
class Facts:
    """The answers about one op. All have a default, which is the safe one."""

    moves: Rule | None = None
    """How the result of an op that only computes moves on with its operands; None: irregularly."""
    may_move: tuple[str, ...] = ()
    """The groups of operands of an op that acts which may move on from iteration to iteration."""
    gives_count: bool = False
    """Whether its result counts parts of the state (the members of a group), and so moves on when they do."""
    first_index: int | None = None
    """The number of the first of the operands that index, one by one, the axes of the operand before them."""
    tells: Tells = Tells.CONTENTS
    deciding: int = 0
    """How many of the leading operands decide what runs."""
    calls: bool = False
    """Whether it hands its operands to a function."""
    data: tuple[str, ...] | Callable[[Operation], Sequence[SSAValue]] = ()
    """
    The groups of operands of an op that acts, or the operands, which make no difference to what it does, whatever
    numbers they are; but its results may depend on them. Ask `slices.data_of`.
    """
    may_fail: bool = False
    """Whether an op that only computes is a mistake for some operands, as a division by zero is."""
    stores_data: bool = False
    """Whether its operands, addresses aside, are data to be stored: they may stay deferred when it is recorded."""
    indexes: tuple[tuple[str, str], ...] = ()
    """The groups of operands that index an array, each with the operand that names the array."""
    index_strides: Callable[[Operation], Sequence[int]] | None = None
    """Bytes from one index to the next, for each of those, where the type of the array does not say it."""
    index_extents: Callable[[Operation], Sequence[int]] | None = None
    """How many elements of the array lie from one index to the next, for each of those; one where nothing says it."""
    number_of_block: Callable[[Operation], str] | None = None
    """The name of the id of a block or the extent of the grid that the op gives."""
    tells_programs_apart: bool = False
    """Whether it gives all ids of a program in the grid at once."""
    opaque: tuple[str, ...] = ()
    """Other groups of operands that may differ between blocks: what is stored, or only says where in global memory."""
    lane_by_lane: bool = False
    """Whether its meaning takes arrays of lanes in place of scalars."""
    per_thread: TakesPerThread = TakesPerThread.NO
    at_once: AtOnce | None = None
    """
    For an op that is done for each thread by itself: a meaning that does it for all active threads in one go, which
    costs less. Takes what the op's meaning takes; gives the outcome of each thread, or None where it has done nothing.
    """
    crosses: Crosses | Callable[[Operation], Crosses] = Crosses.NO
    """Beside copies with a `multicast_mask`, which say it by that. Ask `crossing_of`."""
    takes_programs: bool = False
    """Whether it asks for the work of a block that has not started."""


class Said(TypedDict, total=False):
    """The fields of `Facts`, as keywords of the decorators in `meaning`."""

    moves: Rule | None
    may_move: tuple[str, ...]
    gives_count: bool
    first_index: int | None
    tells: Tells
    deciding: int
    calls: bool
    data: tuple[str, ...] | Callable[[Operation], Sequence[SSAValue]]
    may_fail: bool
    stores_data: bool
    indexes: tuple[tuple[str, str], ...]
    index_strides: Callable[[Operation], Sequence[int]] | None
    index_extents: Callable[[Operation], Sequence[int]] | None
    number_of_block: Callable[[Operation], str] | None
    tells_programs_apart: bool
    opaque: tuple[str, ...]
    lane_by_lane: bool
    per_thread: TakesPerThread
    at_once: AtOnce | None
    crosses: Crosses | Callable[[Operation], Crosses]
    takes_programs: bool


def operands_called(op: Operation, name: str) -> Sequence[SSAValue]:
    """The operands in the group `name` of `op`; none where an optional one is absent."""
    found: Any = getattr(op, name)
    if found is None:
        return ()
    return cast("Sequence[SSAValue]", [found] if isinstance(found, SSAValue) else list(found))
