"""
What the rules work on: the place where ops are built, what stands for each value, numbers of the thread, and its team:
the threads that run code together, which are a block, or the warps of one of its agents.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.ages import Ages
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.transforms.to_llvm.building import Structured
from tileas_xdsl.transforms.to_llvm.rule_table import RuleTable
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import put_together, taken_apart
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import SharedMemory
from tileas_xdsl.transforms.to_llvm.tiles.values import (
    SHARED,
    Accumulators,
    Lowered,
    Plain,
    Registers,
    SharedTile,
    accumulator_types,
    lowered_as,
    types_for,
    values_of,
)
from tileas_xdsl.transforms.to_llvm.warps import Warps


@dataclass
class Team:
    """Warps that run the code that is being built, and the numbers that each of their threads knows of itself."""

    warps: Warps
    lane: SSAValue
    """The number of the thread in its warp, i32; the same for the two below."""
    warp: SSAValue
    """The number of the warp among those of the team."""
    thread: SSAValue
    anchor: Operation
    """The op before which goes what is the same in all turns of loops."""
    own: dict[Hashable, SSAValue | None] = field(default_factory=dict[Hashable, "SSAValue | None"])
    """Numbers of the thread that have been computed ahead, by what they are."""


TABLE: RuleTable[Threads] = RuleTable()
RULES, REFUSALS = TABLE.rules, TABLE.refusals
rule, refusal = TABLE.rule, TABLE.refusal


@dataclass
class Threads(Structured[Lowered]):
    """One function under way, as each of its threads runs it."""

    memory: SharedMemory
    capability: int
    ages: Ages
    """How many products have been started since one that is waited for."""
    row_bytes: dict[int, int] = field(default_factory=dict[int, int])
    """Of arguments that are arrays of open rows: the bytes that are accessed at once."""
    tensor: object = None
    """The tensor memory of the function (`tensor_memory.py`); None where it has none."""
    team: Team = field(init=False)
    """The threads that run what is built now."""
    shared: SSAValue = field(init=False)
    """A pointer to the first byte of shared memory."""

    # Who runs it ------------------------------------------------------------------------------------------------------

    @property
    def warps(self) -> int:
        """How many warps run what is built now."""
        return self.team.warps.count

    @property
    def lane(self) -> SSAValue:
        """The number of the thread in its warp."""
        return self.team.lane

    @property
    def warp(self) -> SSAValue:
        """The number of the warp in its team."""
        return self.team.warp

    @property
    def thread(self) -> SSAValue:
        """The number of the thread in its team."""
        return self.team.thread

    # Building ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def ahead(self) -> Generator[None]:
        """Build in front of everything else meanwhile: what depends on the thread alone."""
        outside, self.block = self.block, Block()
        try:
            yield
            for op in list(self.block.ops):
                op.detach()
                Rewriter.insert_op(op, InsertPoint.before(self.team.anchor))
        finally:
            self.block = outside

    def at_shared(self, offset: int) -> SSAValue:
        """The pointer to byte `offset` of shared memory."""
        return self.shifted(self.shared, offset)

    def once(self, key: Hashable, build: Callable[[], SSAValue | None]) -> SSAValue | None:
        """What `build` computes from numbers of the thread, in front of everything else; equal keys share it."""
        own = self.team.own
        if key not in own:
            with self.ahead():
                own[key] = build()
        return own[key]

    # Values -----------------------------------------------------------------------------------------------------------

    def of(self, value: SSAValue) -> SSAValue:
        """What stands for a number or an array."""
        found = self.forms[value]
        assert isinstance(found, Plain)
        return found.value

    def registers(self, value: SSAValue) -> Registers:
        """What stands for a tile in registers; nothing writes them any more."""
        found = self.forms[value]
        if isinstance(found, Accumulators):
            return taken_apart(self.result, found)
        assert isinstance(found, Registers)
        return found

    def accumulators(self, value: SSAValue) -> Accumulators:
        """What stands for a tile that wgmma adds to."""
        return put_together(self.result, self.forms[value])

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The SSA values that stand for a value, of the types that `types_for` gives."""
        found = self.forms[value]
        if isinstance(found, Registers) and accumulator_types(found.tile):
            found = put_together(self.result, found)
        return values_of(found)

    def tile(self, value: SSAValue) -> SharedTile:
        """What stands for a tile in shared memory."""
        found = self.forms[value]
        assert isinstance(found, SharedTile)
        return found

    def give(self, result: SSAValue, lowered: Lowered | SSAValue) -> None:
        """`lowered` stands for `result` from now on."""
        found = Plain(lowered) if isinstance(lowered, SSAValue) else lowered
        self.forms[result] = found
        if isinstance(found, Plain) and found.value.name_hint is None:
            found.value.name_hint = result.name_hint

    @staticmethod
    def types_for(type_: Attribute) -> Sequence[Attribute] | None:
        return types_for(type_)

    def form_of(self, type_: Attribute, parts: Sequence[SSAValue]) -> Lowered:
        return lowered_as(type_, parts)

    def lower(self, op: Operation) -> None:
        """Build what stands for an op."""
        with self.standing_for(op):
            RULES[type(op)](op, self)


def shared_pointer() -> llvm.LLVMPointerType:
    """The type of pointers into shared memory."""
    return pointer_type(SHARED)
