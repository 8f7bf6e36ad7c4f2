"""
Registers: their number in a thread, the special ones that it can read, and the election of one thread.

    nvvm.setmaxregister  increase 232
    %leader = nvvm.elect.sync -> i1
    %x = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32

The special registers differ only in their names, so a function makes each op class from the name. All are pure except
the clocks: two readings of a clock differ, so both are kept.
"""

from __future__ import annotations

from typing import TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import (
    ConstantRangeAttr,
    SetMaxRegisterAction,
    SetMaxRegisterActionAttr,
)
from tileas_xdsl.dialects.upstream import (
    I1,
    I32,
    LLVM_TYPE,
    ClassProperty,
    EffectfulOp,
    UpstreamOp,
    Value,
    integer,
)
from tileas_xdsl.interfaces import DiffersBetweenThreads


@irdl_op_definition
class SetMaxRegisterOp(EffectfulOp):
    """
    Raise or lower the number of registers of each thread of the warpgroup to `regCount`.

    `nvvm.setmaxregister  increase 232`

    A multiple of 8 from 24 to 256. An increase blocks until that many registers are free.
    """

    name = "nvvm.setmaxregister"

    reg_count = prop_def(integer(i32), prop_name="regCount")
    action = prop_def(ClassProperty(SetMaxRegisterActionAttr))

    assembly_format = "` ` custom<Bare>($action) $regCount attr-dict"

    def __init__(self, action: SetMaxRegisterAction, reg_count: int) -> None:
        super().__init__(
            properties={
                "regCount": IntegerAttr(reg_count, i32),
                "action": SetMaxRegisterActionAttr(action),
            }
        )

    def verify_(self) -> None:
        count = self.reg_count.value.data
        if count % 8:
            raise VerifyException(f"'{self.name}' op new register size must be multiple of 8")
        if not 24 <= count <= 256:
            raise VerifyException(f"'{self.name}' op new register size must be in between 24 to 256")


FIRST_IF_NEEDED = "tileas.first_lane_if_needed"
"""
Discardable attribute on an election: where it matters which lane it elects, that is the first, as hardware has it. PTX
leaves it open. Only checks know it.
"""


@irdl_op_definition
class ElectSyncOp(DiffersBetweenThreads, EffectfulOp):
    """
    True in one lane of those in the mask (all 32 when absent), false in the others.

    `%leader = nvvm.elect.sync %mask -> i1`
    """

    name = "nvvm.elect.sync"

    membermask = opt_operand_def(I32)
    pred = result_def(I1)

    assembly_format = "($membermask^)? attr-dict `->` type(results)"

    def __init__(self, membermask: Value | None = None) -> None:
        super().__init__(operands=[membermask], result_types=[i1])


# Special registers --------------------------------------------------------------------------------


class SpecialRegisterOp(UpstreamOp):
    """
    The value of a register that does not change while the thread runs.

    `%m = nvvm.read.ptx.sreg.lanemask.eq : i32`
    """

    res = result_def(LLVM_TYPE)

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute = i32) -> None:
        super().__init__(result_types=[result_type])


class RangedRegisterOp(UpstreamOp):
    """
    The value of a register that does not change while the thread runs, optionally with a range that it is known to lie
    in.

    `%x = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32`
    """

    range = opt_prop_def(ClassProperty(ConstantRangeAttr))
    res = result_def(LLVM_TYPE)

    traits = traits_def(Pure())
    assembly_format = "(`range` $range^)? attr-dict `:` type($res)"

    def __init__(self, result_type: IntegerType = i32, bounds: tuple[int, int] | None = None) -> None:
        promise = None if bounds is None else ConstantRangeAttr(result_type, *bounds)
        super().__init__(result_types=[result_type], properties={"range": promise})

    def verify_(self) -> None:
        if self.range is None or self.range.lower != self.range.upper:
            return
        if self.range.lower.data not in (0, -1):
            greatest = 2**self.range.width.width.data - 1
            raise VerifyException(
                f"'{self.name}' op invalid range attribute: Lower == Upper, but they aren't min "
                f"(0) or max ({greatest}) value! This is an invalid constant range."
            )


class ThreadMaskOp(DiffersBetweenThreads, SpecialRegisterOp):
    """The value of a register that is a mask of lanes, seen from one of them."""


class ThreadNumberOp(DiffersBetweenThreads, RangedRegisterOp):
    """The value of a register that numbers threads, or their warps."""


class ClockRegisterOp(DiffersBetweenThreads, EffectfulOp):
    """
    The value of a register that counts time; it keeps its place among the other accesses.

    `%t = nvvm.read.ptx.sreg.clock64 : i64`
    """

    res = result_def(LLVM_TYPE)

    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute = i32) -> None:
        super().__init__(result_types=[result_type])


RegisterT = TypeVar("RegisterT", bound=UpstreamOp)


def _register(kind: type[RegisterT], class_name: str, register: str) -> type[RegisterT]:
    """The op `nvvm.read.ptx.sreg.<register>`, as a subclass of `kind`."""
    body = {
        "name": f"nvvm.read.ptx.sreg.{register}",
        "__doc__": f"Read the special register `%{register}`.",
        "__module__": __name__,
    }
    return irdl_op_definition(cast(type[RegisterT], type(class_name, (kind,), body)))


LaneIdOp = _register(ThreadNumberOp, "LaneIdOp", "laneid")
WarpSizeOp = _register(RangedRegisterOp, "WarpSizeOp", "warpsize")
WarpIdOp = _register(ThreadNumberOp, "WarpIdOp", "warpid")
WarpDimOp = _register(RangedRegisterOp, "WarpDimOp", "nwarpid")
SmIdOp = _register(RangedRegisterOp, "SmIdOp", "smid")
SmDimOp = _register(RangedRegisterOp, "SmDimOp", "nsmid")
GridIdOp = _register(RangedRegisterOp, "GridIdOp", "gridid")

ThreadIdXOp = _register(ThreadNumberOp, "ThreadIdXOp", "tid.x")
ThreadIdYOp = _register(ThreadNumberOp, "ThreadIdYOp", "tid.y")
ThreadIdZOp = _register(ThreadNumberOp, "ThreadIdZOp", "tid.z")
BlockDimXOp = _register(RangedRegisterOp, "BlockDimXOp", "ntid.x")
BlockDimYOp = _register(RangedRegisterOp, "BlockDimYOp", "ntid.y")
BlockDimZOp = _register(RangedRegisterOp, "BlockDimZOp", "ntid.z")
BlockIdXOp = _register(RangedRegisterOp, "BlockIdXOp", "ctaid.x")
BlockIdYOp = _register(RangedRegisterOp, "BlockIdYOp", "ctaid.y")
BlockIdZOp = _register(RangedRegisterOp, "BlockIdZOp", "ctaid.z")
GridDimXOp = _register(RangedRegisterOp, "GridDimXOp", "nctaid.x")
GridDimYOp = _register(RangedRegisterOp, "GridDimYOp", "nctaid.y")
GridDimZOp = _register(RangedRegisterOp, "GridDimZOp", "nctaid.z")

ClusterIdXOp = _register(RangedRegisterOp, "ClusterIdXOp", "clusterid.x")
ClusterIdYOp = _register(RangedRegisterOp, "ClusterIdYOp", "clusterid.y")
ClusterIdZOp = _register(RangedRegisterOp, "ClusterIdZOp", "clusterid.z")
ClusterDimXOp = _register(RangedRegisterOp, "ClusterDimXOp", "nclusterid.x")
ClusterDimYOp = _register(RangedRegisterOp, "ClusterDimYOp", "nclusterid.y")
ClusterDimZOp = _register(RangedRegisterOp, "ClusterDimZOp", "nclusterid.z")
BlockInClusterIdXOp = _register(RangedRegisterOp, "BlockInClusterIdXOp", "cluster.ctaid.x")
BlockInClusterIdYOp = _register(RangedRegisterOp, "BlockInClusterIdYOp", "cluster.ctaid.y")
BlockInClusterIdZOp = _register(RangedRegisterOp, "BlockInClusterIdZOp", "cluster.ctaid.z")
ClusterDimBlocksXOp = _register(RangedRegisterOp, "ClusterDimBlocksXOp", "cluster.nctaid.x")
ClusterDimBlocksYOp = _register(RangedRegisterOp, "ClusterDimBlocksYOp", "cluster.nctaid.y")
ClusterDimBlocksZOp = _register(RangedRegisterOp, "ClusterDimBlocksZOp", "cluster.nctaid.z")
ClusterIdOp = _register(RangedRegisterOp, "ClusterIdOp", "cluster.ctarank")
ClusterDimOp = _register(RangedRegisterOp, "ClusterDimOp", "cluster.nctarank")

LaneMaskEqOp = _register(ThreadMaskOp, "LaneMaskEqOp", "lanemask.eq")
LaneMaskLeOp = _register(ThreadMaskOp, "LaneMaskLeOp", "lanemask.le")
LaneMaskLtOp = _register(ThreadMaskOp, "LaneMaskLtOp", "lanemask.lt")
LaneMaskGeOp = _register(ThreadMaskOp, "LaneMaskGeOp", "lanemask.ge")
LaneMaskGtOp = _register(ThreadMaskOp, "LaneMaskGtOp", "lanemask.gt")
TotalSmemSizeOp = _register(SpecialRegisterOp, "TotalSmemSizeOp", "total.smem.size")
DynamicSmemSizeOp = _register(SpecialRegisterOp, "DynamicSmemSizeOp", "dynamic.smem.size")
AggrSmemSizeOp = _register(SpecialRegisterOp, "AggrSmemSizeOp", "aggr.smem.size")

ENVIRONMENT_REGISTER_OPS = tuple(
    _register(SpecialRegisterOp, f"EnvReg{number}Op", f"envreg{number}") for number in range(32)
)
"""The ops `nvvm.read.ptx.sreg.envreg0` to `envreg31`, by number."""

ClockOp = _register(ClockRegisterOp, "ClockOp", "clock")
Clock64Op = _register(ClockRegisterOp, "Clock64Op", "clock64")
GlobalTimerOp = _register(ClockRegisterOp, "GlobalTimerOp", "globaltimer")
GlobalTimerLoOp = _register(ClockRegisterOp, "GlobalTimerLoOp", "globaltimer.lo")

REGISTER_OPS: tuple[type[Operation], ...] = (
    SetMaxRegisterOp,
    ElectSyncOp,
    LaneIdOp,
    WarpSizeOp,
    WarpIdOp,
    WarpDimOp,
    SmIdOp,
    SmDimOp,
    GridIdOp,
    ThreadIdXOp,
    ThreadIdYOp,
    ThreadIdZOp,
    BlockDimXOp,
    BlockDimYOp,
    BlockDimZOp,
    BlockIdXOp,
    BlockIdYOp,
    BlockIdZOp,
    GridDimXOp,
    GridDimYOp,
    GridDimZOp,
    ClusterIdXOp,
    ClusterIdYOp,
    ClusterIdZOp,
    ClusterDimXOp,
    ClusterDimYOp,
    ClusterDimZOp,
    BlockInClusterIdXOp,
    BlockInClusterIdYOp,
    BlockInClusterIdZOp,
    ClusterDimBlocksXOp,
    ClusterDimBlocksYOp,
    ClusterDimBlocksZOp,
    ClusterIdOp,
    ClusterDimOp,
    LaneMaskEqOp,
    LaneMaskLeOp,
    LaneMaskLtOp,
    LaneMaskGeOp,
    LaneMaskGtOp,
    TotalSmemSizeOp,
    DynamicSmemSizeOp,
    AggrSmemSizeOp,
    *ENVIRONMENT_REGISTER_OPS,
    ClockOp,
    Clock64Op,
    GlobalTimerOp,
    GlobalTimerLoOp,
)
