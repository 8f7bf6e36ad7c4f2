"""Barriers that count arrivals and bytes."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.dialects.llvm import TruncOp
from xdsl.ir import SSAValue

from tileas_xdsl.dialects.nvvm import mbarrier
from tileas_xdsl.dialects.nvvm.attributes import MemScope
from tileas_xdsl.dialects.nvvm.mbarrier import CLUSTER_SPACE, FALSE
from tileas_xdsl.dialects.upstream import address_space
from tileas_xdsl.transforms.to_llvm.nvvm_rules.emitting import Emitter, rule

SHARED_SPACE = 3


def _infix(pointer: SSAValue) -> str:
    """How names of PTX and LLVM say that a pointer leads to the block's own shared memory."""
    return ".shared" if address_space(pointer.type) == SHARED_SPACE else ""


# State ----------------------------------------------------------------------------------------------------------------


@rule(mbarrier.MBarrierInitOp)
def _init(op: mbarrier.MBarrierInitOp, emit: Emitter) -> None:
    shared = _infix(op.addr)
    if op.predicate is None:
        emit.call(f"mbarrier.init{shared}", [op.addr, op.count])
    else:
        emit.assembly(f"@$2 mbarrier.init{shared}.b64 [$0], $1;", (), [op.addr, op.count, op.predicate])


@rule(mbarrier.MBarrierInvalOp)
def _inval(op: mbarrier.MBarrierInvalOp, emit: Emitter) -> None:
    emit.call(f"mbarrier.inval{_infix(op.addr)}", [op.addr])


# Bytes and arrivals ---------------------------------------------------------------------------------------------------


def _place(scope: MemScope, pointer: SSAValue) -> str:
    """Who observes the arrival, and whose memory the object is in."""
    space = "cluster" if address_space(pointer.type) == CLUSTER_SPACE else "cta"
    return f"scope.{scope.value}.space.{space}"


def _shared(pointer: SSAValue, emit: Emitter) -> SSAValue:
    """A generic pointer to an mbarrier leads to shared memory."""
    return emit.in_space(pointer, SHARED_SPACE) if address_space(pointer.type) == 0 else pointer


@rule(mbarrier.MBarrierExpectTxOp, mbarrier.MBarrierCompleteTxOp)
def _transaction(op: mbarrier.TransactionOp, emit: Emitter) -> None:
    word = "expect" if isinstance(op, mbarrier.MBarrierExpectTxOp) else "complete"
    emit.call(f"mbarrier.{word}.tx.{_place(op.scope.data, op.addr)}", [op.addr, op.txcount])


def _arrival(
    name: str, op: mbarrier.ArriveLikeOp, pointer: SSAValue, count: SSAValue, emit: Emitter
) -> SSAValue | None:
    relaxed = "" if op.relaxed == FALSE else ".relaxed"
    full_name = f"mbarrier.{name}{relaxed}.{_place(op.scope.data, pointer)}"
    state = emit.call(full_name, [_shared(pointer, emit), count], None if op.is_remote else i64)
    return state if op.res is not None else None


@rule(mbarrier.MBarrierArriveOp)
def _arrive(op: mbarrier.MBarrierArriveOp, emit: Emitter) -> SSAValue | None:
    if op.count is None and op.relaxed == FALSE and op.scope.data is MemScope.CTA and not op.is_remote:
        state = emit.call("mbarrier.arrive.shared", [_shared(op.addr, emit)], i64)
        return state if op.res is not None else None
    return _arrival("arrive", op, op.addr, op.count if op.count is not None else emit.integer(1), emit)


@rule(mbarrier.MBarrierArriveDropOp)
def _arrive_drop(op: mbarrier.MBarrierArriveDropOp, emit: Emitter) -> SSAValue | None:
    return _arrival("arrive.drop", op, op.addr, op.count if op.count is not None else emit.integer(1), emit)


@rule(mbarrier.MBarrierArriveNocompleteOp, mbarrier.MBarrierArriveDropNocompleteOp)
def _nocomplete(op: mbarrier.NoCompleteOp, emit: Emitter) -> SSAValue:
    drop = ".drop" if isinstance(op, mbarrier.MBarrierArriveDropNocompleteOp) else ""
    return emit.call(f"mbarrier.arrive{drop}.noComplete{_infix(op.addr)}", [op.addr, op.count], i64)


@rule(mbarrier.MBarrierArriveExpectTxOp)
def _arrive_expect_tx(op: mbarrier.MBarrierArriveExpectTxOp, emit: Emitter) -> SSAValue | None:
    if op.predicate is None:
        return _arrival("arrive.expect.tx", op, op.addr, op.txcount, emit)
    text = f"@$2 mbarrier.arrive.expect_tx{_infix(op.addr)}.b64 _, [$0], $1;"
    emit.assembly(text, (), [op.addr, op.txcount, op.predicate])
    return None


@rule(mbarrier.MBarrierArriveDropExpectTxOp)
def _arrive_drop_expect_tx(op: mbarrier.MBarrierArriveDropExpectTxOp, emit: Emitter) -> SSAValue | None:
    return _arrival("arrive.drop.expect.tx", op, op.addr, op.txcount, emit)


# Waits ----------------------------------------------------------------------------------------------------------------


@rule(mbarrier.MBarrierTryWaitParityOp)
def _try_wait_parity(op: mbarrier.MBarrierTryWaitParityOp, emit: Emitter) -> None:
    """The op is the whole loop, and does not end its block: so the loop is PTX, with labels of its own."""
    text = (
        "{\n\t.reg .pred P1;\n\tLAB_WAIT:\n"
        f"\tmbarrier.try_wait.parity{_infix(op.addr)}.b64 P1, [$0], $1, $2;\n"
        "\t@P1 bra.uni DONE;\n\tbra.uni LAB_WAIT;\n\tDONE:\n\t}"
    )
    emit.assembly(text, (), [op.addr, op.phase, op.ticks])


@rule(mbarrier.MBarrierTestWaitOp, mbarrier.MBarrierTryWaitOp)
def _test(op: mbarrier.WaitOp, emit: Emitter) -> SSAValue:
    if isinstance(op, mbarrier.MBarrierTestWaitOp) and _is_of_first_chips(op):
        return _test_of_parity(op, emit)
    pointer, awaited, *ticks = op.operands
    name = "mbarrier.try.wait" if isinstance(op, mbarrier.MBarrierTryWaitOp) else "mbarrier.test.wait"
    name += ".parity" * op.waits_for_parity + ".tl" * bool(ticks) + ".relaxed" * (op.relaxed != FALSE)
    return emit.call(f"{name}.{_place(op.scope.data, pointer)}", [_shared(pointer, emit), awaited, *ticks], i1)


def _is_of_first_chips(op: mbarrier.WaitOp) -> bool:
    """Whether chips before sm_90 have the instruction: the intrinsic says its scope, which they cannot (PTX ISA)."""
    return op.waits_for_parity and op.scope.data is MemScope.CTA and op.relaxed == FALSE


def _test_of_parity(op: mbarrier.MBarrierTestWaitOp, emit: Emitter) -> SSAValue:
    text = (
        "{\n\t.reg .pred P1;\n"
        f"\tmbarrier.test_wait.parity{_infix(op.addr)}.b64 P1, [$1], $2;\n"
        "\tselp.b32 $0, 1, 0, P1;\n\t}"
    )
    (answer,) = emit.assembly(text, [i32], list(op.operands))
    return emit.insert(TruncOp(answer, i1)).results[0]
