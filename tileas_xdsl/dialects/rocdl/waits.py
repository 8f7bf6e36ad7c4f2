"""
What a wave waits for on AMD hardware: marks in the program, and counters of the hardware.

A *mark* stands for all asynchronous transfers that the thread issued before it. Every activation of a function has its
own sequence of marks, and a wait sees that sequence only (LLVM's page "AMDGPU Asynchronous Operations"):

    // first block of transfers
    rocdl.asyncmark
    // second block
    rocdl.asyncmark
    rocdl.wait.asyncmark 1      // the first block is complete

A *counter* holds the number of instructions in flight, one counter for each kind of instruction; a wait blocks until it
has fallen to a number. The marks came after LLVM 22, to which they are unknown ops.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i16, i32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.upstream import EffectfulOp, integer

# Marks --------------------------------------------------------------------------------------------


@irdl_op_definition
class AsyncmarkOp(EffectfulOp):
    """
    Put a mark behind all asynchronous transfers that the thread has issued (LLVM 23).

    `rocdl.asyncmark`
    """

    name = "rocdl.asyncmark"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


class CountedWaitOp(EffectfulOp):
    """Base of the waits for a counter to fall to `count`."""

    count = prop_def(integer(i16))

    assembly_format = "$count attr-dict"

    def __init__(self, count: int) -> None:
        super().__init__(properties={"count": IntegerAttr(count, i16)})

    def verify_(self) -> None:
        if self.count.value.data < 0:
            raise VerifyException(f"count must not be negative, found {self.count.value.data}")


@irdl_op_definition
class WaitAsyncmarkOp(CountedWaitOp):
    """
    Block until at most `count` marks of this activation of the function are outstanding (LLVM 23).

    `rocdl.wait.asyncmark 2`
    """

    name = "rocdl.wait.asyncmark"


# Counters -----------------------------------------------------------------------------------------


@irdl_op_definition
class WaitAsynccntOp(CountedWaitOp):
    """
    Block until at most `count` asynchronous loads to LDS are unfinished (gfx1250).

    `rocdl.s.wait.asynccnt 1`
    """

    name = "rocdl.s.wait.asynccnt"


@irdl_op_definition
class WaitTensorcntOp(CountedWaitOp):
    """
    Block until at most `count` tensor transfers are unfinished (gfx1250).

    `rocdl.s.wait.tensorcnt 0`
    """

    name = "rocdl.s.wait.tensorcnt"


@irdl_op_definition
class WaitDscntOp(CountedWaitOp):
    """
    Block until at most `count` LDS instructions are unfinished (gfx12).

    `rocdl.s.wait.dscnt 0`
    """

    name = "rocdl.s.wait.dscnt"


@irdl_op_definition
class WaitLoadcntOp(CountedWaitOp):
    """
    Block until at most `count` vector memory loads are unfinished (gfx12).

    `rocdl.s.wait.loadcnt 0`
    """

    name = "rocdl.s.wait.loadcnt"


@irdl_op_definition
class WaitStorecntOp(CountedWaitOp):
    """
    Block until at most `count` vector memory stores are unfinished (gfx12).

    `rocdl.s.wait.storecnt 0`
    """

    name = "rocdl.s.wait.storecnt"


@irdl_op_definition
class WaitExpcntOp(CountedWaitOp):
    """
    Block until at most `count` exports are unfinished (gfx12).

    `rocdl.s.wait.expcnt 0`
    """

    name = "rocdl.s.wait.expcnt"


@irdl_op_definition
class SWaitcntOp(EffectfulOp):
    """
    Block until several counters have fallen, each to its part of `bitfield` (before gfx12).

    `rocdl.s.waitcnt 3953`

    gfx9: vmcnt in bits 0-3 and 14-15, expcnt 4-6, lgkmcnt 8-11; `3952 + n` is vmcnt(n), n < 16.
    """

    name = "rocdl.s.waitcnt"

    bitfield = prop_def(integer(i32))

    assembly_format = "attr-dict $bitfield"

    def __init__(self, bitfield: int) -> None:
        super().__init__(properties={"bitfield": IntegerAttr(bitfield, i32)})


WAIT_OPS: tuple[type[Operation], ...] = (
    AsyncmarkOp,
    WaitAsyncmarkOp,
    WaitAsynccntOp,
    WaitTensorcntOp,
    WaitDscntOp,
    WaitLoadcntOp,
    WaitStorecntOp,
    WaitExpcntOp,
    SWaitcntOp,
)
