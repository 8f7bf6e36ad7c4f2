"""
The changes: what a tired programmer does to a program that was right.

`mutants(program)` gives every one of them, each in a copy of its own: a synchronising op is dropped, a count, a parity,
a number of bytes or a slot is another one, two neighbours change places. A copy that the verifier refuses is no
program, and not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from bench.mutation.programs import Program
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nvvm.attributes import SetMaxRegisterAction, SetMaxRegisterActionAttr
from tileas_xdsl.dialects.nvvm.matrix_attributes import (
    Tcgen05Fence,
    Tcgen05FenceAttr,
    Tcgen05Wait,
    Tcgen05WaitAttr,
)
from tileas_xdsl.dialects.nvvm.mbarrier import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierTestWaitOp,
)

SYNCHRONISING = frozenset(
    {
        *("async.await", "async.await_all", "async.add_to_group"),
        *("async_queue.wait", "async_queue.commit"),
        *("rocdl.asyncmark", "rocdl.wait.asyncmark", "rocdl.s.waitcnt", "rocdl.s.wait.asynccnt"),
        *("nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group", "nvvm.cp.async.mbarrier.arrive"),
        *("nvvm.cp.async.bulk.commit.group", "nvvm.cp.async.bulk.wait_group"),
        *("nvvm.mbarrier.init", "nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.expect_tx", "nvvm.mbarrier.expect_tx"),
        *("nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.inval", "nvvm.barrier0", "nvvm.barrier"),
        *("nvvm.cluster.arrive", "nvvm.cluster.wait", "nvvm.griddepcontrol"),
        *("nvvm.fence.proxy", "nvvm.fence.mbarrier.init", "nvvm.setmaxregister"),
        *(f"nvvm.tcgen05.{name}" for name in ("commit", "wait", "fence", "dealloc", "relinquish_alloc_permit")),
        *("nv_tileaa.queue.put",),
        *(
            f"nv_tileas.async.pipeline.{name}"
            for name in (
                *("producer_acquire", "producer_commit", "consumer_wait", "consumer_release"),
                *("producer_write", "consumer_read", "inc_iter"),
            )
        ),
    }
)
"""Ops that are there for the sake of order: what may be dropped, and what changes places with its neighbours."""

COUNTS = {
    "nvvm.cp.async.wait.group": "n",
    "nvvm.cp.async.bulk.wait_group": "group",
    "nvvm.setmaxregister": "regCount",
    "rocdl.wait.asyncmark": "count",
    "rocdl.s.wait.asynccnt": "count",
    "rocdl.s.waitcnt": "bitfield",
    "async_queue.wait": "count",
    "nv_tileas.async.pipeline.create_pipeline": "numStages",
}
"""Ops with a count in a property, and its name."""

STEPS = {"nvvm.setmaxregister": 8}
"""The distance of one count from the next, where it is not 1."""

SLOTS = {"async_queue.wait": "queue", "async_queue.commit": "queue"}
"""Ops with the number of a slot in a property."""

COUNT_OPERANDS = {"nvvm.mbarrier.init": 1, "nvvm.mbarrier.arrive": 1, "async.create_group": 0, "nvvm.barrier": 1}
"""Ops with a count, or a number of arrivals, among their operands, and where."""

BYTE_OPERANDS = {
    "nvvm.mbarrier.arrive.expect_tx": 1,
    "nvvm.mbarrier.expect_tx": 1,
    "nvvm.cp.async.bulk.shared.cluster.global": 3,
}
PREDICATED = frozenset({"nvvm.mbarrier.init", "nvvm.mbarrier.arrive.expect_tx"})
"""Ops whose last operand may be a predicate."""
REMADE = frozenset({"nvvm.mbarrier.init", "nvvm.mbarrier.inval"})
"""Ops that are done once in the life of a barrier."""
BYTES = 16
"""The smallest number of bytes that a bulk copy moves."""

TURNED: dict[str, tuple[str, type[EnumAttribute[Any]], tuple[StrEnum, StrEnum]]] = {
    "nvvm.setmaxregister": ("action", SetMaxRegisterActionAttr, tuple(SetMaxRegisterAction)),
    "nvvm.tcgen05.wait": ("kind", Tcgen05WaitAttr, tuple(Tcgen05Wait)),
    "nvvm.tcgen05.fence": ("kind", Tcgen05FenceAttr, tuple(Tcgen05Fence)),
}
"""Ops with a property that says one of two things, its name, its attribute, and what it may say."""
SYNCED = frozenset({"nvvm.tcgen05.mma", "nvvm.tcgen05.cp", "nvvm.tcgen05.shift"})
"""Ops of which some pairs are performed in order: they change places with each other."""

Edit = Callable[[Sequence[Operation]], None]
"""Changes a copy of the program, given as its ops in the order of `walk`."""


@dataclass(frozen=True)
class Change:
    """One change: its kind, the op that it is about, by its number in the program, and the rest of the sentence."""

    kind: str
    op: int
    what: str
    edit: Edit
    other: str = ""
    """The name of the other op that it touches, if there is one."""


@dataclass(frozen=True)
class Mutant:
    """A program with one change."""

    program: Program
    kind: str
    ops: tuple[str, ...]
    """The names of the op that was changed, and of the other one that the change touches, if there is one."""
    line: int
    what: str
    module: ModuleOp

    def __str__(self) -> str:
        return f"{self.program.name}:{self.line} '{self.ops[0]}': {self.what}"


def mutants(program: Program) -> Iterator[Mutant]:
    """Every mutant of `program` that the verifier accepts, in program order for each kind of change."""
    originals = list(program.module.walk())
    elsewhere = program.elsewhere
    for change in changes(originals):
        if originals[change.op] in elsewhere:
            continue
        module = program.module.clone()
        change.edit(list(module.walk()))
        try:
            module.verify()
            verify_dominance(module)
        except (VerifyException, RefusedError):
            continue
        op = originals[change.op]
        names = (op.name, change.other) if change.other else (op.name,)
        yield Mutant(program, change.kind, names, line_of(op), change.what, module)


def changes(ops: Sequence[Operation]) -> Iterator[Change]:
    """All changes of a program, kind by kind, in program order."""
    for number, op in enumerate(ops):
        yield from _dropped(number, op)
        yield from _miscounted(number, op)
        yield from _mistaken(number, op)
        yield from _switched(number, op)
        yield from _expected_late(number, op)
        yield from _turned(number, op)
    yield from _swapped(ops)


def line_of(op: Operation) -> int:
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else 0


# Dropping -------------------------------------------------------------------------------------------------------------


def _dropped(number: int, op: Operation) -> Iterator[Change]:
    if op.name == "async.execute":
        for index in range(len(op.dependencies)):  # pyright: ignore[reportAttributeAccessIssue]
            yield Change("drop", number, f"dependency {index} is forgotten", _forgets(number, index))
    elif op.name in SYNCHRONISING and all(_stand_in(result) is not None for result in op.results if result.uses):
        yield Change("drop", number, "is dropped", lambda ops: _drop(ops[number]))


def _stand_in(result: OpResult) -> SSAValue | None:
    """A value that may replace a result of a dropped op: an operand of the same type."""
    return next((operand for operand in result.op.operands if operand.type == result.type), None)


def _drop(op: Operation) -> None:
    """Erase `op`; what stands in its regions stays, in its place."""
    for result in op.results:
        stand_in = _stand_in(result)
        if stand_in is not None:
            result.replace_all_uses_with(stand_in)
    for region in op.regions:
        if region.first_block is not None:
            last = region.block.last_op
            if last is not None and last.has_trait(IsTerminator):
                Rewriter.erase_op(last)
            Rewriter.inline_block(region.block, InsertPoint.before(op))
    Rewriter.erase_op(op)


def _forgets(number: int, index: int) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        op = ops[number]
        sizes = op.properties["operandSegmentSizes"]
        dependencies, *rest = sizes.get_values()  # pyright: ignore[reportAttributeAccessIssue]
        op.operands = [operand for place, operand in enumerate(op.operands) if place != index]
        op.properties["operandSegmentSizes"] = type(sizes).from_list(sizes.elt_type, [dependencies - 1, *rest])  # pyright: ignore

    return edit


# Numbers --------------------------------------------------------------------------------------------------------------


def _miscounted(number: int, op: Operation) -> Iterator[Change]:
    for properties, kind in ((COUNTS, "count"), (SLOTS, "slot")):
        name = properties.get(op.name)
        value = op.properties.get(name) if name is not None else None
        if name is not None and isinstance(value, IntegerAttr):
            step = STEPS.get(op.name, 1)
            for by in (-step, step):
                if value.value.data + by >= 0:
                    yield Change(kind, number, f"its {name} is {_more(by)}", _adds_to_property(number, name, by))
    for operands, kind, step in ((COUNT_OPERANDS, "count", 1), (BYTE_OPERANDS, "bytes", BYTES)):
        index = operands.get(op.name)
        if index is not None and index < len(op.operands):
            for by in (-step, step):
                yield Change(kind, number, f"operand {index} is {_more(by)}", _adds_to_operand(number, index, by))


def _more(by: int) -> str:
    return f"{abs(by)} {'more' if by > 0 else 'less'}"


def _adds_to_property(number: int, name: str, by: int) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        count = ops[number].properties[name]
        assert isinstance(count, IntegerAttr)
        ops[number].properties[name] = IntegerAttr(count.value.data + by, count.type)

    return edit


def _adds_to_operand(number: int, index: int, by: int) -> Edit:
    return lambda ops: _compute_operand(ops[number], index, by, arith.AddiOp)


def _compute_operand(op: Operation, index: int, number: int, compute: type[arith.AddiOp | arith.XOrIOp]) -> None:
    """Operand `index` of `op` becomes what `compute` makes of it and of `number`."""
    old = op.operands[index]
    constant = arith.ConstantOp(IntegerAttr(number, old.type))  # pyright: ignore[reportArgumentType]
    new = compute(old, constant.result)
    Rewriter.insert_op([constant, new], InsertPoint.before(op))
    op.operands[index] = new.result


# Parities, slots ------------------------------------------------------------------------------------------------------


def _mistaken(number: int, op: Operation) -> Iterator[Change]:
    if op.name == "nvvm.mbarrier.try_wait.parity":
        yield Change("parity", number, "waits for the other parity", _turns_parity(number))
    if isinstance(op, arith.RemUIOp):
        for index, use in enumerate(op.result.uses):
            user = use.operation.name
            yield Change("slot", number, f"'{user}' takes the next slot", _takes_next_slot(number, index), user)


def _turns_parity(number: int) -> Edit:
    return lambda ops: _compute_operand(ops[number], 1, 1, arith.XOrIOp)


def _takes_next_slot(number: int, index: int) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        op = ops[number]
        assert isinstance(op, arith.RemUIOp)
        use = list(op.result.uses)[index]
        one = arith.ConstantOp(IntegerAttr(1, op.result.type))  # pyright: ignore[reportArgumentType]
        next_number = arith.AddiOp(op.result, one.result)
        next_slot = arith.RemUIOp(next_number.result, op.rhs)
        Rewriter.insert_op([one, next_number, next_slot], InsertPoint.after(op))
        use.operation.operands[use.index] = next_slot.result

    return edit


# Predicates, lives of barriers, answers -------------------------------------------------------------------------------


def _switched(number: int, op: Operation) -> Iterator[Change]:
    if op.name in PREDICATED and len(op.operands) == 2:
        yield Change("switch", number, "is switched off", _switches_off(number))
    if op.name in REMADE:
        yield Change("life", number, "is done twice", lambda ops: _repeat(ops[number]))
    if op.name == "nvvm.mbarrier.try_wait.parity":
        yield Change("answer", number, "is one test, whose answer is dropped", lambda ops: _test_once(ops[number]))


def _switches_off(number: int) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        never = arith.ConstantOp(IntegerAttr(0, i1))
        Rewriter.insert_op(never, InsertPoint.before(ops[number]))
        ops[number].operands = [*ops[number].operands, never.result]

    return edit


def _repeat(op: Operation) -> None:
    Rewriter.insert_op(op.clone(), InsertPoint.after(op))


def _test_once(wait: Operation) -> None:
    """One test of the phase in the place of a wait for it."""
    barrier, parity, *_ = wait.operands
    Rewriter.replace_op(wait, MBarrierTestWaitOp(barrier, parity), [])


# Expectations ---------------------------------------------------------------------------------------------------------


def _expected_late(number: int, op: Operation) -> Iterator[Change]:
    """What makes a phase wait for more comes behind the arrival, or is counted otherwise."""
    if isinstance(op, MBarrierArriveExpectTxOp) and op.predicate is None and not any(r.uses for r in op.results):
        yield Change(
            "expectation", number, "arrives, and expects the bytes then", lambda ops: _expect_later(ops[number])
        )
    if op.name == "nvvm.cp.async.mbarrier.arrive":
        yield Change("expectation", number, "has the other noinc", lambda ops: _turn_noinc(ops[number]))


def _expect_later(op: Operation) -> None:
    assert isinstance(op, MBarrierArriveExpectTxOp)
    barrier, size, scope = op.addr, op.txcount, op.scope.data
    parts = [MBarrierArriveOp(barrier, scope=scope), MBarrierExpectTxOp(barrier, size, scope=scope)]
    Rewriter.replace_op(op, parts, [None] * len(op.results))


def _turn_noinc(op: Operation) -> None:
    noinc = op.properties["noinc"]
    assert isinstance(noinc, IntegerAttr)
    op.properties["noinc"] = IntegerAttr(1 - (noinc.value.data & 1), i1)


# One of two -----------------------------------------------------------------------------------------------------------


def _turned(number: int, op: Operation) -> Iterator[Change]:
    """Registers are taken in the place of being given, loads waited for in the place of stores, a fence faces away."""
    if op.name in TURNED:
        name, attribute, both = TURNED[op.name]
        said = op.properties[name].data  # pyright: ignore[reportAttributeAccessIssue]
        (other,) = (each for each in both if each is not said)
        yield Change("turn", number, f"says {other}", _says(number, name, attribute(other)))


def _says(number: int, name: str, value: Attribute) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        ops[number].properties[name] = value

    return edit


# Places ---------------------------------------------------------------------------------------------------------------


def _swapped(ops: Sequence[Operation]) -> Iterator[Change]:
    """Neighbours, but for ops between them that only compute, of which one or both synchronise."""
    numbers = {op: number for number, op in enumerate(ops)}
    for block in (block for op in ops for region in op.regions for block in region.blocks):
        acting = [op for op in block.ops if not _is_quiet(op)]
        for first, second in pairwise(acting):
            names = {first.name, second.name}
            if not (names & SYNCHRONISING or names <= SYNCED) or _feeds(first, second):
                continue
            one, other = numbers[first], numbers[second]
            yield Change("swap", one, f"comes after '{second.name}'", _moves_behind(one, other), second.name)


def _is_quiet(op: Operation) -> bool:
    """Whether `op` only computes, so that a swap may skip it."""
    if op.name in SYNCHRONISING or op.regions:
        return False
    return op.name.startswith("arith.") or is_side_effect_free(op) or op.has_trait(IsTerminator)


def _feeds(first: Operation, last: Operation) -> bool:
    """Whether an op from behind `first` to `last` uses what `first` gives."""
    results = set(first.results)
    op: Operation | None = first.next_op
    while op is not None:
        if any(operand in results for inner in op.walk() for operand in inner.operands):
            return True
        if op is last:
            return False
        op = op.next_op
    return False


def _moves_behind(one: int, other: int) -> Edit:
    def edit(ops: Sequence[Operation]) -> None:
        first, second = ops[one], ops[other]
        first.detach()
        Rewriter.insert_op(first, InsertPoint.after(second))

    return edit
