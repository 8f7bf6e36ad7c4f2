"""What the rules work on: the place where ops are built, what stands for each value, and numbers of the thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from tileas_xdsl.analysis.ages import Ages
from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.dialects.nvvm.attributes import ProxyKind, SharedSpace
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op, BarrierOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveOp
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.transforms.to_llvm.rule_table import RuleTable
from tileas_xdsl.transforms.to_llvm.tiles.accumulators import put_together, taken_apart
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import SharedMemory
from tileas_xdsl.transforms.to_llvm.tiles.teams import Team
from tileas_xdsl.transforms.to_llvm.tiles.values import (
    SHARED,
    Accumulators,
    Array,
    Lowered,
    Plain,
    Registers,
    SharedTile,
    Turn,
    accumulator_types,
    lowered_as,
    types_for,
    values_of,
)

OpT = TypeVar("OpT", bound=Operation)

TABLE: RuleTable[Threads] = RuleTable()
RULES, REFUSALS = TABLE.rules, TABLE.refusals
rule, refusal = TABLE.rule, TABLE.refusal


@dataclass
class Threads:
    """One function under way, as each of its threads runs it."""

    block: Block
    """Where ops are built now, at the end."""
    memory: SharedMemory
    roots: PipelineRoots
    capability: int
    ages: Ages
    """How many products have been started since one that is waited for."""
    team: Team = field(init=False)
    """The threads that run what is built now."""
    shared: SSAValue = field(init=False)
    """A pointer to the first byte of shared memory."""
    arrays: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    """What is known of arrays, of those that are arguments from the start on."""
    counted: SSAValue | None = None
    """The barrier at which the bytes of the slot that is being filled are counted."""
    lowered: dict[SSAValue, Lowered] = field(default_factory=dict[SSAValue, Lowered])

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

    def meet(self) -> None:
        """Let the threads of the team wait for each other, unless they have just done so."""
        warps = self.team.warps
        if not warps.number:
            if not self.stands_behind(Barrier0Op):
                self.insert(Barrier0Op())
            return
        number, count = self.number(warps.number), self.number(warps.threads)
        self.insert(BarrierOp(number, count))

    def stands_behind(self, kind: type[Operation], *passed: type[Operation]) -> bool:
        """Whether a `kind` stands at the end of the block, with ops behind it that only compute, or are `passed`."""
        last = self.block.last_op
        while (
            last is not None and not isinstance(last, kind) and (is_side_effect_free(last) or isinstance(last, passed))
        ):
            last = last.prev_op
        return isinstance(last, kind)

    # Building ---------------------------------------------------------------------------------------------------------

    def insert(self, op: OpT) -> OpT:
        """Build an op at the end of the block."""
        return Builder(InsertPoint.at_end(self.block)).insert(op)

    def result(self, op: Operation) -> SSAValue:
        """Build an op and take its only result."""
        return self.insert(op).results[0]

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

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Build at the end of `block` meanwhile."""
        outside, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outside

    def number(self, value: int, type_: IntegerType | IndexType = i32) -> SSAValue:
        """A constant."""
        attribute = (
            IntegerAttr.from_index_int_value(value) if isinstance(type_, IndexType) else IntegerAttr(value, type_)
        )
        return self.result(arith.ConstantOp(attribute))

    def compute(self, op: Callable[[SSAValue, SSAValue], Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
        """`op(a, b)`; a number becomes a constant of the type of `a`."""
        other = self.number(b, cast("IntegerType | IndexType", a.type)) if isinstance(b, int) else b
        return self.result(op(a, other))

    def compare(self, a: SSAValue, word: str, b: SSAValue | int) -> SSAValue:
        """An i1: `a` is equal to, less than, ... `b`."""
        return self.compute(lambda x, y: arith.CmpiOp(x, y, word), a, b)

    def shifted(self, pointer: SSAValue, offset: SSAValue | int) -> SSAValue:
        """The pointer so many bytes behind another one."""
        if offset == 0:
            return pointer
        space = cast(llvm.LLVMPointerType, pointer.type)
        byte = IntegerType(8)
        if isinstance(offset, int):
            return self.result(llvm.GEPOp(pointer, [offset], byte, result_type=space))
        return self.result(llvm.GEPOp(pointer, [llvm.GEP_USE_SSA_VAL], byte, [offset], result_type=space))

    def at_shared(self, offset: int) -> SSAValue:
        """The pointer to byte `offset` of shared memory."""
        return self.shifted(self.shared, offset)

    def when(self, condition: SSAValue, build: Callable[[], None]) -> None:
        """Do what `build` builds, in the threads where the condition is true."""
        body = Block()
        with self.inside(body):
            build()
            self.insert(scf.YieldOp())
        self.insert(scf.IfOp(condition, [], Region(body)))

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
        found = self.lowered[value]
        assert isinstance(found, Plain)
        return found.value

    def registers(self, value: SSAValue) -> Registers:
        """What stands for a tile in registers; nothing writes them any more."""
        found = self.lowered[value]
        if isinstance(found, Accumulators):
            return taken_apart(self.result, found)
        assert isinstance(found, Registers)
        return found

    def accumulators(self, value: SSAValue) -> Accumulators:
        """What stands for a tile that wgmma adds to."""
        return put_together(self.result, self.lowered[value])

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The SSA values that stand for a value, of the types that `types_for` gives."""
        found = self.lowered[value]
        if isinstance(found, Registers) and accumulator_types(found.tile):
            found = put_together(self.result, found)
        return values_of(found)

    def tile(self, value: SSAValue) -> SharedTile:
        """What stands for a tile in shared memory."""
        found = self.lowered[value]
        assert isinstance(found, SharedTile)
        return found

    def turn(self, value: SSAValue) -> Turn:
        """What stands for an iterator."""
        found = self.lowered[value]
        assert isinstance(found, Turn)
        return found

    def give(self, result: SSAValue, lowered: Lowered | SSAValue) -> None:
        """`lowered` stands for `result` from now on."""
        found = Plain(lowered) if isinstance(lowered, SSAValue) else lowered
        self.lowered[result] = found
        if isinstance(found, Plain) and found.value.name_hint is None:
            found.value.name_hint = result.name_hint

    def bind(self, values: Sequence[SSAValue], found: Sequence[SSAValue]) -> None:
        """Values before the lowering, and the SSA values that stand for them, one behind the other."""
        start = 0
        for value in values:
            count = len(types_for(value.type) or ())
            self.lowered[value] = lowered_as(value.type, found[start : start + count])
            for each in found[start : start + count]:
                each.name_hint = value.name_hint
            start += count


def fence_for_engines(threads: Threads) -> None:
    """
    What each thread has done to shared memory comes before what engines do to it behind the next meeting, or behind the
    next arrival at a barrier. One fence is enough for all that was touched before it.
    """
    if not threads.stands_behind(FenceProxyOp, MBarrierArriveOp):
        threads.insert(FenceProxyOp(ProxyKind.ASYNC_SHARED, SharedSpace.CTA))


def lower(op: Operation, threads: Threads) -> None:
    """Build what stands for an op."""
    RULES[type(op)](op, threads)


def all_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of all SSA values that stand for `values`."""
    return [type_ for value in values for type_ in types_for(value.type) or ()]


def shared_pointer() -> llvm.LLVMPointerType:
    """The type of pointers into shared memory."""
    return pointer_type(SHARED)
