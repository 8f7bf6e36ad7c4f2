"""
The `mbarrier` family: barriers in shared memory that count arrivals and bytes, in phases.

An mbarrier object is 64 bits: the arrivals still pending in the current phase, the arrivals that
every phase expects, the bytes still in flight (tx-count) and the phase. The phase completes, and
the next begins, when both pending numbers are zero. Phases alternate in parity: a thread that
waits for parity `p` passes once the phase of that parity is over.

    nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32                   // 1 arrival pending
    nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32     // 0 pending, tx = %bytes
    // ... bulk copies that name %bar count their bytes down ...
    %done = nvvm.mbarrier.try_wait %bar, %parity : !llvm.ptr<3>, i32 -> i1

One op per operation: the address space of the pointer says where the object lives (3 in the own
CTA, 7 anywhere in the cluster, 0 generic but pointing into shared memory).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import MemScope, MemScopeAttr
from tileas_xdsl.dialects.upstream import (
    I1,
    I32,
    I64,
    ClassProperty,
    EffectfulOp,
    Value,
    address_space,
    any_type_of,
    integer,
    pointer,
)

CTA = MemScopeAttr(MemScope.CTA)
FALSE = BoolAttr.from_bool(False)
CLUSTER_SPACE = 7

IN_CTA = pointer(0, 3)
ANYWHERE = pointer(0, 3, CLUSTER_SPACE)
STATE_OR_PARITY = any_type_of(I64, I32)


class ScopedMBarrierOp(EffectfulOp):
    """Base of the ops that name the threads which observe the synchronisation directly."""

    scope = prop_def(ClassProperty(MemScopeAttr), default_value=CTA)

    def verify_(self) -> None:
        if self.scope.data not in (MemScope.CTA, MemScope.CLUSTER):
            raise VerifyException("mbarrier scope must be either CTA or Cluster")


# State --------------------------------------------------------------------------------------------

ORDER_IS_ENOUGH = "tileas.order_is_enough"
"""
Discardable attribute on an `init`: copies need no fence behind it, only order, since they access their mbarrier by the
generic proxy (PTX ISA 9.3, "cp.async.bulk"). Only checks know it.
"""


@irdl_op_definition
class MBarrierInitOp(EffectfulOp):
    """
    Make the object expect `count` arrivals a phase; phase 0 begins, tx-count 0.

    `nvvm.mbarrier.init %bar, %count : !llvm.ptr<3>, i32`
    """

    name = "nvvm.mbarrier.init"
    WRITES: ClassVar = ("addr",)
    READS: ClassVar = ()

    addr = operand_def(IN_CTA)
    count = operand_def(I32)
    predicate = opt_operand_def(I1)

    assembly_format = "$addr `,` $count (`,` `predicate` `=` $predicate^)? attr-dict `:` type(operands)"

    def __init__(
        self,
        addr: Value,
        count: Value,
        predicate: Value | None = None,
    ) -> None:
        super().__init__(operands=[addr, count, predicate])


@irdl_op_definition
class MBarrierInvalOp(EffectfulOp):
    """
    End the object's life, so that its memory can be used for something else.

    `nvvm.mbarrier.inval %bar : !llvm.ptr<3>`
    """

    name = "nvvm.mbarrier.inval"
    ENDS_LIFE: ClassVar = True
    WRITES: ClassVar = ("addr",)
    READS: ClassVar = ()

    addr = operand_def(IN_CTA)

    assembly_format = "$addr attr-dict `:` type(operands)"

    def __init__(self, addr: Value) -> None:
        super().__init__(operands=[addr])


# Bytes --------------------------------------------------------------------------------------------


class TransactionOp(ScopedMBarrierOp):
    """Base of the ops that change the tx-count, without ordering any other memory access."""

    READS: ClassVar = ("addr",)
    WRITES: ClassVar = ("addr",)

    addr = operand_def(pointer(3, CLUSTER_SPACE))
    txcount = operand_def(I32)

    assembly_format = "$addr `,` $txcount attr-dict `:` type(operands)"

    def __init__(
        self,
        addr: Value,
        txcount: Value,
        *,
        scope: MemScope = MemScope.CTA,
    ) -> None:
        super().__init__(operands=[addr, txcount], properties={"scope": MemScopeAttr(scope)})


@irdl_op_definition
class MBarrierExpectTxOp(TransactionOp):
    """
    Add `txcount` bytes to those that the current phase waits for.

    `nvvm.mbarrier.expect_tx %bar, %bytes : !llvm.ptr<3>, i32`
    """

    name = "nvvm.mbarrier.expect_tx"


@irdl_op_definition
class MBarrierCompleteTxOp(TransactionOp):
    """
    Take `txcount` bytes off those that the current phase waits for, as a finished copy does.

    `nvvm.mbarrier.complete_tx %bar, %bytes : !llvm.ptr<3>, i32`
    """

    name = "nvvm.mbarrier.complete_tx"


# Arrivals -----------------------------------------------------------------------------------------


class ArriveLikeOp(ScopedMBarrierOp):
    """
    Base of the arrivals; they release what the thread wrote before, unless `relaxed`.

    The object is operand 0. (xDSL orders operands from subclass to base: a base that leaves
    further operands to its subclasses cannot declare the first one.)
    """

    relaxed = prop_def(integer(i1), default_value=FALSE)
    res = opt_result_def(I64)

    @property
    def is_remote(self) -> bool:
        """Whether the object may live in another CTA of the cluster."""
        return address_space(self.operands[0].type) == CLUSTER_SPACE

    def verify_(self) -> None:
        super().verify_()
        if self.res is not None and self.is_remote:
            raise VerifyException("mbarrier in shared_cluster space cannot return any value")


def _arrival_properties(scope: MemScope, relaxed: bool) -> dict[str, Attribute]:
    return {"scope": MemScopeAttr(scope), "relaxed": BoolAttr.from_bool(relaxed)}


class CountedArriveOp(ArriveLikeOp):
    """Base of the arrivals with an optional count (1 when absent)."""

    addr = operand_def(ANYWHERE)
    count = opt_operand_def(I32)

    assembly_format = "$addr (`,` $count^)? attr-dict `:` type($addr) (`->` type($res)^)?"

    def __init__(
        self,
        addr: Value,
        count: Value | None = None,
        *,
        scope: MemScope = MemScope.CTA,
        relaxed: bool = False,
        returns_state: bool = False,
    ) -> None:
        super().__init__(
            operands=[addr, count],
            result_types=[i64 if returns_state else None],
            properties=_arrival_properties(scope, relaxed),
        )


@irdl_op_definition
class MBarrierArriveOp(CountedArriveOp):
    """
    Take `count` off the pending arrivals; the result, if any, names the phase arrived at.

    `%state = nvvm.mbarrier.arrive %bar, %count : !llvm.ptr<3> -> i64`
    """

    name = "nvvm.mbarrier.arrive"


@irdl_op_definition
class MBarrierArriveDropOp(CountedArriveOp):
    """
    Arrive, and expect `count` arrivals less in every later phase.

    `%state = nvvm.mbarrier.arrive_drop %bar : !llvm.ptr<3> -> i64`
    """

    name = "nvvm.mbarrier.arrive_drop"


class NoCompleteOp(EffectfulOp):
    """Base of the arrivals that promise not to be the last of their phase."""

    addr = operand_def(IN_CTA)
    count = operand_def(I32)
    res = result_def(I64)

    assembly_format = "$addr `,` $count attr-dict `:` type(operands) `->` type($res)"

    def __init__(self, addr: Value, count: Value) -> None:
        super().__init__(operands=[addr, count], result_types=[i64])


@irdl_op_definition
class MBarrierArriveNocompleteOp(NoCompleteOp):
    """
    Take `count` off the pending arrivals; undefined if that would complete the phase.

    `%state = nvvm.mbarrier.arrive.nocomplete %bar, %count : !llvm.ptr<3>, i32 -> i64`
    """

    name = "nvvm.mbarrier.arrive.nocomplete"


@irdl_op_definition
class MBarrierArriveDropNocompleteOp(NoCompleteOp):
    """
    Arrive without completing, and expect `count` arrivals less in every later phase.

    `%state = nvvm.mbarrier.arrive_drop.nocomplete %bar, %count : !llvm.ptr<3>, i32 -> i64`
    """

    name = "nvvm.mbarrier.arrive_drop.nocomplete"


@irdl_op_definition
class MBarrierArriveExpectTxOp(ArriveLikeOp):
    """
    Add `txcount` bytes to those waited for, then arrive once.

    `nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32`

    With a predicate the op becomes inline PTX, which knows neither results nor other scopes.
    """

    name = "nvvm.mbarrier.arrive.expect_tx"

    addr = operand_def(ANYWHERE)
    txcount = operand_def(I32)
    predicate = opt_operand_def(I1)

    assembly_format = (
        "$addr `,` $txcount (`,` `predicate` `=` $predicate^)? attr-dict `:` type(operands) (`->` type($res)^)?"
    )

    def __init__(
        self,
        addr: Value,
        txcount: Value,
        predicate: Value | None = None,
        *,
        scope: MemScope = MemScope.CTA,
        relaxed: bool = False,
        returns_state: bool = False,
    ) -> None:
        super().__init__(
            operands=[addr, txcount, predicate],
            result_types=[i64 if returns_state else None],
            properties=_arrival_properties(scope, relaxed),
        )

    def verify_(self) -> None:
        if self.predicate is not None:
            self._verify_predicated()
        super().verify_()

    def _verify_predicated(self) -> None:
        if self.scope.data is not MemScope.CTA:
            raise VerifyException("mbarrier scope must be CTA when using predicate")
        if address_space(self.addr.type) == CLUSTER_SPACE:
            raise VerifyException("mbarrier in shared_cluster space is not supported when using predicate")
        if self.res is not None:
            raise VerifyException("return-value is not supported when using predicate")
        if self.relaxed != FALSE:
            raise VerifyException("mbarrier with relaxed semantics is not supported when using predicate")


@irdl_op_definition
class MBarrierArriveDropExpectTxOp(ArriveLikeOp):
    """
    Add `txcount` bytes to those waited for, arrive once, and expect one arrival less from then on.

    `nvvm.mbarrier.arrive_drop.expect_tx %bar, %bytes : !llvm.ptr<3>, i32`
    """

    name = "nvvm.mbarrier.arrive_drop.expect_tx"

    addr = operand_def(ANYWHERE)
    txcount = operand_def(I32)

    assembly_format = "$addr `,` $txcount attr-dict `:` type(operands) (`->` type($res)^)?"

    def __init__(
        self,
        addr: Value,
        txcount: Value,
        *,
        scope: MemScope = MemScope.CTA,
        relaxed: bool = False,
        returns_state: bool = False,
    ) -> None:
        super().__init__(
            operands=[addr, txcount],
            result_types=[i64 if returns_state else None],
            properties=_arrival_properties(scope, relaxed),
        )


# Waits --------------------------------------------------------------------------------------------


@irdl_op_definition
class MBarrierTryWaitParityOp(EffectfulOp):
    """
    Block until the phase of parity `phase` is over, sleeping up to `ticks` ns between tries.

    `nvvm.mbarrier.try_wait.parity %bar, %parity, %ticks : !llvm.ptr<3>, i32, i32`

    This is the whole loop; `nvvm.mbarrier.try_wait` is the single try.
    """

    name = "nvvm.mbarrier.try_wait.parity"

    addr = operand_def(IN_CTA)
    phase = operand_def(I32)
    ticks = operand_def(I32)

    assembly_format = "$addr `,` $phase `,` $ticks attr-dict `:` type(operands)"

    def __init__(
        self,
        addr: Value,
        phase: Value,
        ticks: Value,
    ) -> None:
        super().__init__(operands=[addr, phase, ticks])


class WaitOp(ScopedMBarrierOp):
    """
    Base of the single tests; they acquire what the arrivals released, unless `relaxed`.

    Operand 1 is the parity of the phase (i32) or the state that an arrival returned (i64).
    """

    relaxed = prop_def(integer(i1), default_value=FALSE)
    res = result_def(I1)

    @property
    def waits_for_parity(self) -> bool:
        """Whether the wait names a parity rather than the state of an arrival."""
        return self.operands[1].type == i32


@irdl_op_definition
class MBarrierTestWaitOp(WaitOp):
    """
    Whether the phase is over, without ever blocking.

    `%done = nvvm.mbarrier.test.wait %bar, %parity : !llvm.ptr<3>, i32 -> i1`
    """

    name = "nvvm.mbarrier.test.wait"

    addr = operand_def(IN_CTA)
    state_or_phase = operand_def(STATE_OR_PARITY)

    assembly_format = "$addr `,` $state_or_phase attr-dict `:` type(operands) `->` type($res)"

    def __init__(
        self,
        addr: Value,
        state_or_phase: Value,
        *,
        scope: MemScope = MemScope.CTA,
        relaxed: bool = False,
    ) -> None:
        super().__init__(
            operands=[addr, state_or_phase],
            result_types=[i1],
            properties=_arrival_properties(scope, relaxed),
        )


@irdl_op_definition
class MBarrierTryWaitOp(WaitOp):
    """
    Whether the phase is over, after blocking for a while (`ticks` ns) if it is not.

    `%done = nvvm.mbarrier.try_wait %bar, %parity, %ticks : !llvm.ptr<3>, i32, i32 -> i1`
    """

    name = "nvvm.mbarrier.try_wait"

    addr = operand_def(IN_CTA)
    state_or_phase = operand_def(STATE_OR_PARITY)
    ticks = opt_operand_def(I32)

    assembly_format = "$addr `,` $state_or_phase (`,` $ticks^)? attr-dict `:` type(operands) `->` type($res)"

    def __init__(
        self,
        addr: Value,
        state_or_phase: Value,
        ticks: Value | None = None,
        *,
        scope: MemScope = MemScope.CTA,
        relaxed: bool = False,
    ) -> None:
        super().__init__(
            operands=[addr, state_or_phase, ticks],
            result_types=[i1],
            properties=_arrival_properties(scope, relaxed),
        )


MBARRIER_OPS: tuple[type[Operation], ...] = (
    MBarrierInitOp,
    MBarrierInvalOp,
    MBarrierExpectTxOp,
    MBarrierCompleteTxOp,
    MBarrierArriveOp,
    MBarrierArriveDropOp,
    MBarrierArriveNocompleteOp,
    MBarrierArriveDropNocompleteOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveDropExpectTxOp,
    MBarrierTryWaitParityOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitOp,
)
