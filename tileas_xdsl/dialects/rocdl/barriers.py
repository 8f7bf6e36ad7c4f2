"""
Barriers between the waves of a workgroup, and barriers that hold back the compiler's scheduler.

Up to gfx11 there is one barrier a workgroup, which a wave joins and waits at in one step. gfx12
splits it into `signal` and `wait`; gfx1250 adds *named* barriers, which are objects in LDS with
members that join and leave.

    rocdl.s.barrier.signal id = -1
    // work that needs nothing from the others
    rocdl.s.barrier.wait id = -1
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i16, i32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from tileas_xdsl.dialects.rocdl.aliasing import AliasableOp
from tileas_xdsl.dialects.upstream import I1, I32, I64, EffectfulOp, Value, integer, pointer

LDS = pointer(3)


class PlainOp(EffectfulOp):
    """Base of the barriers without operands and attributes."""

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class SBarrierOp(PlainOp):
    """
    Wait until all waves of the workgroup have arrived; orders no memory access by itself.

    `rocdl.s.barrier`
    """

    name = "rocdl.s.barrier"


@irdl_op_definition
class BarrierOp(PlainOp):
    """
    Release, wait until all waves of the workgroup have arrived, acquire.

    `rocdl.barrier`
    """

    name = "rocdl.barrier"


class NumberedBarrierOp(EffectfulOp):
    """Base of the split barrier's ops that name it by a 32-bit number (-1: the workgroup's)."""

    id = prop_def(integer(i32))

    assembly_format = "`id` `=` $id attr-dict"

    def __init__(self, id: int) -> None:
        super().__init__(properties={"id": IntegerAttr(id, i32)})


class ShortNumberedBarrierOp(EffectfulOp):
    """Base of the split barrier's ops that name it by a 16-bit number."""

    id = prop_def(integer(i16))

    assembly_format = "`id` `=` $id attr-dict"

    def __init__(self, id: int) -> None:
        super().__init__(properties={"id": IntegerAttr(id, i16)})


@irdl_op_definition
class BarrierSignalOp(NumberedBarrierOp):
    """
    Arrive at the barrier `id` without waiting (gfx12).

    `rocdl.s.barrier.signal id = -1`
    """

    name = "rocdl.s.barrier.signal"


@irdl_op_definition
class BarrierWaitOp(ShortNumberedBarrierOp):
    """
    Wait until all waves have arrived at the barrier `id` (gfx12).

    `rocdl.s.barrier.wait id = -1`
    """

    name = "rocdl.s.barrier.wait"


@irdl_op_definition
class BarrierLeaveOp(ShortNumberedBarrierOp):
    """
    Stop being a member of the named barrier that the wave joined (gfx1250).

    `rocdl.s.barrier.leave id = 1`
    """

    name = "rocdl.s.barrier.leave"


@irdl_op_definition
class BarrierSignalIsfirstOp(EffectfulOp):
    """
    Arrive at the barrier `id`; true for the first wave to do so (gfx12).

    `%first = rocdl.s.barrier.signal.isfirst id = 1 -> i1`
    """

    name = "rocdl.s.barrier.signal.isfirst"

    id = prop_def(integer(i32))
    res = result_def(I1)

    assembly_format = "`id` `=` $id attr-dict `->` type($res)"


@irdl_op_definition
class GetBarrierStateOp(EffectfulOp):
    """
    The state of the barrier `id` (gfx12).

    `%state = rocdl.s.get.barrier.state id = 1 -> i32`
    """

    name = "rocdl.s.get.barrier.state"

    id = prop_def(integer(i32))
    res = result_def(I32)

    assembly_format = "`id` `=` $id attr-dict `->` type($res)"


class CountedNamedBarrierOp(EffectfulOp):
    """Base of the ops on a named barrier, given by its LDS address, that set the number of members."""

    ptr = operand_def(LDS)
    member_cnt = prop_def(integer(i32), prop_name="memberCnt")

    assembly_format = "$ptr `member_cnt` `=` $memberCnt attr-dict `:` type($ptr)"

    def __init__(self, ptr: Value, member_cnt: int) -> None:
        super().__init__(operands=[ptr], properties={"memberCnt": IntegerAttr(member_cnt, i32)})


@irdl_op_definition
class BarrierInitOp(CountedNamedBarrierOp):
    """
    Make a named barrier for `member_cnt` waves (gfx1250).

    `rocdl.s.barrier.init %bar member_cnt = 4 : !llvm.ptr<3>`
    """

    name = "rocdl.s.barrier.init"


@irdl_op_definition
class BarrierSignalVarOp(CountedNamedBarrierOp):
    """
    Arrive at a named barrier for `member_cnt` waves (gfx1250; 0 keeps the number it has).

    `rocdl.s.barrier.signal.var %bar member_cnt = 4 : !llvm.ptr<3>`
    """

    name = "rocdl.s.barrier.signal.var"


class NamedBarrierOp(EffectfulOp):
    """Base of the ops on a named barrier, given by its LDS address."""

    ptr = operand_def(LDS)

    assembly_format = "$ptr attr-dict `:` type($ptr)"

    def __init__(self, ptr: Value) -> None:
        super().__init__(operands=[ptr])


@irdl_op_definition
class BarrierJoinOp(NamedBarrierOp):
    """
    Become a member of a named barrier (gfx1250).

    `rocdl.s.barrier.join %bar : !llvm.ptr<3>`
    """

    name = "rocdl.s.barrier.join"


@irdl_op_definition
class WakeupBarrierOp(NamedBarrierOp):
    """
    Wake the waves that sleep at a named barrier, without releasing them (gfx1250).

    `rocdl.s.wakeup.barrier %bar : !llvm.ptr<3>`
    """

    name = "rocdl.s.wakeup.barrier"


@irdl_op_definition
class GetNamedBarrierStateOp(EffectfulOp):
    """
    The state of a named barrier (gfx1250).

    `%state = rocdl.s.get.named.barrier.state %bar : !llvm.ptr<3> -> i32`
    """

    name = "rocdl.s.get.named.barrier.state"

    ptr = operand_def(LDS)
    res = result_def(I32)

    assembly_format = "$ptr attr-dict `:` type($ptr) `->` type($res)"


@irdl_op_definition
class DsAtomicBarrierArriveOp(AliasableOp):
    """
    Subtract `val` from the arrivals that a barrier in LDS waits for; return its state before (gfx1250).

    `%old = rocdl.ds.atomic.barrier.arrive.rtn.b64 %bar, %val : !llvm.ptr<3>, i64 -> i64`
    """

    name = "rocdl.ds.atomic.barrier.arrive.rtn.b64"

    barrier_ptr = operand_def(LDS)
    val = operand_def(I64)
    res = result_def(I64)

    assembly_format = "$barrier_ptr `,` $val attr-dict `:` type($barrier_ptr) `,` type($val) `->` type($res)"


@irdl_op_definition
class DsAtomicAsyncBarrierArriveOp(AliasableOp):
    """
    Arrive at a barrier in LDS once the asynchronous loads issued so far are done (gfx1250).

    `rocdl.ds.atomic.async.barrier.arrive.b64 %bar : !llvm.ptr<3>`
    """

    name = "rocdl.ds.atomic.async.barrier.arrive.b64"

    barrier_ptr = operand_def(LDS)

    assembly_format = "$barrier_ptr attr-dict `:` type($barrier_ptr)"


@irdl_op_definition
class SchedBarrierOp(EffectfulOp):
    """
    Let the scheduler move only instructions of the kinds in `mask` across this point.

    `rocdl.sched.barrier 0`
    """

    name = "rocdl.sched.barrier"

    mask = prop_def(integer(i32))

    assembly_format = "$mask attr-dict"


@irdl_op_definition
class SSetprioOp(EffectfulOp):
    """
    Set the priority of the wave, from 0 to 3; the scheduler of the hardware prefers waves with a higher one.

    `rocdl.s.setprio 2`
    """

    name = "rocdl.s.setprio"

    priority = prop_def(integer(i16))

    assembly_format = "$priority attr-dict"


@irdl_op_definition
class SchedGroupBarrierOp(EffectfulOp):
    """
    Make the scheduler place `size` instructions of the kinds in `mask` here, in group `groupId`.

    `rocdl.sched.group.barrier 8, 1, 0`
    """

    name = "rocdl.sched.group.barrier"

    mask = prop_def(integer(i32))
    size = prop_def(integer(i32))
    group_id = prop_def(integer(i32), prop_name="groupId")

    assembly_format = "$mask `,` $size `,` $groupId attr-dict"


BARRIER_OPS: tuple[type[Operation], ...] = (
    SBarrierOp,
    BarrierOp,
    BarrierSignalOp,
    BarrierWaitOp,
    BarrierLeaveOp,
    BarrierSignalIsfirstOp,
    GetBarrierStateOp,
    BarrierInitOp,
    BarrierSignalVarOp,
    BarrierJoinOp,
    WakeupBarrierOp,
    GetNamedBarrierStateOp,
    DsAtomicBarrierArriveOp,
    DsAtomicAsyncBarrierArriveOp,
    SchedBarrierOp,
    SSetprioOp,
    SchedGroupBarrierOp,
)
