"""
Programs with agents that a tired programmer has changed in one place: an op that orders agents, or waits, is dropped,
done twice, or changes places with its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumerReleaseOp,
    ConsumerWaitOp,
    IncIterOp,
    ProduceOneAsyncOp,
    ProducerAcquireOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp

COORDINATION = (ProducerAcquireOp, ProducerCommitOp, ConsumerWaitOp, ConsumerReleaseOp, IncIterOp, AsyncWaitOp)
KINDS = ("drop", "double", "move")


@dataclass(frozen=True)
class Mutation:
    """One change of a program: its kind, and the number of the op in the order of `walk`."""

    kind: str
    number: int
    name: str

    def __str__(self) -> str:
        return f"{self.kind}-{self.name.rpartition('.')[2]}-{self.number}"


def mutations(module: ModuleOp) -> list[Mutation]:
    """All of them, kind by kind, those that give no program included."""
    return [
        Mutation(kind, number, op.name)
        for kind in KINDS
        for number, op in enumerate(module.walk())
        if isinstance(op, COORDINATION)
    ]


def mutated(module: ModuleOp, mutation: Mutation) -> ModuleOp | None:
    """A copy of `module` with the change; None where it is no program then."""
    copy = module.clone()
    op = list(copy.walk())[mutation.number]
    if not {"drop": _drop, "double": _double, "move": _move}[mutation.kind](op):
        return None
    try:
        copy.verify()
        verify_dominance(copy)
    except (VerifyException, RefusedError):
        return None
    return copy


def why_it_stands(module: ModuleOp, mutation: Mutation) -> str | None:
    """
    Why the change may leave a program right that was right; None where it may not. What is dropped is done by another
    op or needed by nobody; what is doubled waits again for what is over; what is moved may change places.
    """
    op = list(module.walk())[mutation.number]
    match mutation.kind:
        case "double" if isinstance(op, ProducerAcquireOp | ConsumerWaitOp | AsyncWaitOp):
            return "the second one waits for what is over"
        case "move":
            return "the two may change places"
        case "drop" if isinstance(op, ProducerAcquireOp) and _leads_to_a_produce_op(op):
            return "the produce op acquires what nobody has acquired for it"
        case "drop" if isinstance(op, ProducerCommitOp) and isinstance(op.operands[0].owner, ProduceOneAsyncOp):
            return "the produce op commits what nobody commits for it"
        case "drop" if isinstance(op, ConsumerReleaseOp) and not isinstance(op.parent_op(), scf.ForOp):
            return "nobody takes the slot again behind the loop"
        case _:
            return None


def _leads_to_a_produce_op(op: ProducerAcquireOp) -> bool:
    return all(isinstance(use.operation, ProduceOneAsyncOp) for use in op.results[0].uses)


def _drop(op: Operation) -> bool:
    """What used a result takes the operand of the same type."""
    stand_ins = [_stand_in(result) for result in op.results]
    if any(stand_in is None for stand_in in stand_ins):
        return False
    for result, stand_in in zip(op.results, stand_ins, strict=True):
        assert stand_in is not None
        result.replace_all_uses_with(stand_in)
    Rewriter.erase_op(op)
    return True


def _stand_in(result: OpResult) -> SSAValue | None:
    return next((operand for operand in result.op.operands if operand.type == result.type), None)


def _double(op: Operation) -> bool:
    """The second one works on what the first gives, where it can."""
    again = op.clone()
    Rewriter.insert_op(again, InsertPoint.after(op))
    for result, other in zip(op.results, again.results, strict=True):
        result.replace_uses_with_if(other, lambda use: use.operation is not again)
        for index, operand in enumerate(again.operands):
            if isinstance(op, IncIterOp) and operand.type == result.type:
                again.operands[index] = result
    return True


def _move(op: Operation) -> bool:
    """Behind the next op of its block that does more than compute."""
    results = set(op.results)
    for other in _behind(op):
        if any(operand in results for inner in other.walk() for operand in inner.operands):
            return False
        if isinstance(other, scf.ForOp | scf.IfOp) or not other.name.startswith("arith."):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.after(other))
            return True
    return False


def _behind(op: Operation) -> Iterator[Operation]:
    node = op.next_op
    while node is not None and not node.has_trait(IsTerminator, value_if_unregistered=False):
        yield node
        node = node.next_op
