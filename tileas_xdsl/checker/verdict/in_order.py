"""
Functions of tiles in which nothing is asynchronous: a block does one thing after the other.

    %n = nv_tileaa.load %lengths[%b]                   the number of turns is data
    scf.for %j = 0 to %n {
      %page = nv_tileaa.load %table[%b, %j]            so is the place
      %k = nv_tileaa.tiled_load %pages[%page, %c0]
      ..                                               each op is over when the next one begins
    }

One agent executes such a function, and no op leaves work that goes on behind it. So no two of its accesses race, and it
waits for nothing, however often its loops turn, whichever way its branches go, wherever its accesses lie. What may go
wrong is what a single call shows: an index outside of an array, a loop that never ends. Calls are tried as ever; what
they leave open, since data decide it or since there are too many of them, is right by this argument. That loops which
data end do end, and that indices stay inside, is assumed, and said. Blocks beside each other are judged in `tile_ir`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.induction import constant_integer
from tileas_xdsl.analysis.memory.blocks_apart import ACCESSES
from tileas_xdsl.analysis.value_flow import condition_of
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.dialects.nv_tileaa import compute, elementwise, structure
from tileas_xdsl.dialects.nv_tileaa.control import GetNumProgramsOp, GetProgramIdOp
from tileas_xdsl.dialects.nv_tileaa.memory import AddPtrOp, MakeMemrefOp
from tileas_xdsl.machine.arguments import argument_names
from tileas_xdsl.machine.core.assumptions import BLOCKS_ALONE, ENDS, LIES_INSIDE, STAYS_INSIDE, Assumption
from tileas_xdsl.machine.core.handles import is_handle

COMPUTE = frozenset({"arith", "math"})
"""Dialects whose ops compute from their operands."""
PLAIN = (
    *(func.FuncOp, func.ReturnOp, memref.DimOp, GetProgramIdOp, GetNumProgramsOp, AddPtrOp, MakeMemrefOp),
    *(scf.ForOp, scf.IfOp, scf.WhileOp),
    *(compute.DotOp, compute.ReduceOp, compute.ScanOp, elementwise.ElementwiseOp),
    *(structure.ViewOp, structure.SplatOp, structure.BroadcastOp, structure.ExpandDimsOp, structure.PermuteOp),
    *(structure.CatOp, structure.ExtractOp, structure.ExtractSliceOp, structure.GenerateOp),
    *ACCESSES,
)
"""Ops that are over when the next one begins."""


def is_in_order(function: Operation) -> bool:
    """Whether a function of tiles does one thing after the other, and each of its loops may end."""
    ops = list(function.walk())
    return any(isinstance(op, ACCESSES) for op in ops) and all(map(_is_over_at_once, ops)) and all(map(_may_end, ops))


def _is_over_at_once(op: Operation) -> bool:
    is_plain = isinstance(op, PLAIN) or op.dialect_name() in COMPUTE or op.has_trait(IsTerminator)
    return is_plain and not any(is_handle(value.type) for value in (*op.operands, *op.results))


def _may_end(op: Operation) -> bool:
    """Whether an op is no loop that may be known to turn for ever: one without a step, or whose condition stays."""
    if isinstance(op, scf.ForOp):
        step = op.step.owner
        return isinstance(step, GetNumProgramsOp) or (constant_integer(op.step) or 0) > 0
    if not isinstance(op, scf.WhileOp):
        return True
    condition = condition_of(op)
    return condition is not None and any(_may_change(value, op) for value in _behind(condition, op))


def _behind(value: SSAValue, loop: Operation) -> Iterator[SSAValue]:
    """What a value is computed from inside of a loop, itself too."""
    seen, stack = {value}, [value]
    while stack:
        value = stack.pop()
        yield value
        owner = value.owner
        if isinstance(owner, Operation) and loop.is_ancestor(owner):
            inner = [operand for each in owner.walk() for operand in each.operands]
            stack += [each for each in inner if each not in seen]
            seen.update(inner)


def _may_change(value: SSAValue, loop: scf.WhileOp) -> bool:
    """Whether a value may be another one in the next turn: it is read in the loop, or handed on by it."""
    if isinstance(value, OpResult):
        return loop.is_ancestor(value.op) and isinstance(value.op, ACCESSES)
    assert isinstance(value, BlockArgument)
    before, after = loop.before_region.block, loop.after_region.block
    last = after.last_op
    if value.block is before and last is not None:
        return last.operands[value.index] is not value
    return value.block is after


def leave_to_order(op: Operation, attempt: Report, report: Report) -> None:
    """Report an `attempt` to check a function that is in order: what it leaves open is right by that."""
    is_proved = attempt.is_proved and not attempt.only_tried
    if not attempt.findings and not is_proved:
        attempt.undecided.clear()
        attempt.stopped_at.clear()
        attempt.bounded.clear()
        attempt.cut_short.clear()
        attempt.only_tried.clear()
        attempt.assumed |= dict.fromkeys(_assumed(op))
    report.absorb(attempt)


def _assumed(function: Operation) -> Iterator[Assumption]:
    """What is not looked for: that loops end, that accesses lie inside of arrays, and what other blocks do."""
    body = function.regions[0]
    yield from (ENDS.about(f"'{op.name}'") for op in function.walk() if isinstance(op, scf.WhileOp))
    touched = {op.operands[0] for op in function.walk() if isinstance(op, ACCESSES)}
    for name, argument in zip(argument_names(body), body.blocks[0].args, strict=True):
        if argument in touched:
            yield (STAYS_INSIDE if _is_array(argument.type) else LIES_INSIDE).about(name)
    yield BLOCKS_ALONE


def _is_array(kind: Attribute) -> bool:
    return isinstance(kind, MemRefType)
