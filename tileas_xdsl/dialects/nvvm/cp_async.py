"""
The `cp.async` family (sm_80): copies of 4, 8 or 16 bytes that a thread starts and later waits for.

The copies of one thread form a queue. `commit.group` closes a group of those started since the
last commit, and `wait.group N` blocks until at most the N youngest groups are unfinished; groups
finish in order. Alternatively an mbarrier tracks them.

    nvvm.cp.async.shared.global %dst, %src, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1

The copied data is visible to the thread that waited; other threads need a barrier as well.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1, i32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import LoadCacheModifier, LoadCacheModifierAttr
from tileas_xdsl.dialects.upstream import I32, ClassProperty, EffectfulOp, Value, integer, pointer


@irdl_op_definition
class CpAsyncOp(EffectfulOp):
    """
    Start copying `size` bytes (4, 8 or 16) from global to shared memory.

    `nvvm.cp.async.shared.global %dst, %src, 16, cache =  cg, %n : !llvm.ptr<3>, !llvm.ptr<1>, i32`

    With `cp_size`, only so many bytes are read and the rest of the destination becomes zero.
    Modifier `cg` (around the L1 cache) needs 16 bytes.
    """

    name = "nvvm.cp.async.shared.global"
    READS: ClassVar = ("src",)
    WRITES: ClassVar = ("dst",)

    dst = operand_def(pointer(3))
    src = operand_def(pointer(1))
    size = prop_def(integer(i32))
    modifier = prop_def(ClassProperty(LoadCacheModifierAttr))
    cp_size = opt_operand_def(I32)

    assembly_format = (
        "$dst `,` $src `,` $size `,` `cache` `=` ` ` custom<Bare>($modifier) (`,` $cp_size^)?"
        " attr-dict `:` type(operands)"
    )

    def __init__(
        self,
        dst: Value,
        src: Value,
        size: int,
        modifier: LoadCacheModifier,
        cp_size: Value | None = None,
    ) -> None:
        super().__init__(
            operands=[dst, src, cp_size],
            properties={
                "size": IntegerAttr(size, i32),
                "modifier": LoadCacheModifierAttr(modifier),
            },
        )

    def verify_(self) -> None:
        modifier, size = self.modifier.data, self.size.value.data
        if modifier not in (LoadCacheModifier.CG, LoadCacheModifier.CA):
            raise VerifyException("Only CG and CA cache modifiers are supported.")
        if size not in (4, 8, 16):
            raise VerifyException("expected byte size to be either 4, 8 or 16.")
        if modifier is LoadCacheModifier.CG and size != 16:
            raise VerifyException("CG cache modifier is only support for 16 bytes copy.")


@irdl_op_definition
class CpAsyncCommitGroupOp(EffectfulOp):
    """
    Close a group of all copies that the thread started since its last commit; it may be empty.

    `nvvm.cp.async.commit.group`
    """

    name = "nvvm.cp.async.commit.group"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class CpAsyncWaitGroupOp(EffectfulOp):
    """
    Block until at most the `n` youngest groups of the thread are unfinished.

    `nvvm.cp.async.wait.group 2`
    """

    name = "nvvm.cp.async.wait.group"

    n = prop_def(integer(i32))

    assembly_format = "$n attr-dict"

    def __init__(self, n: int) -> None:
        super().__init__(properties={"n": IntegerAttr(n, i32)})


@irdl_op_definition
class CpAsyncMBarrierArriveOp(EffectfulOp):
    """
    Make the mbarrier track all copies that the thread has started so far: their completion is an arrival.

    `nvvm.cp.async.mbarrier.arrive %bar : !llvm.ptr<3>`

    The pending count is first raised by one, so that the arrival leaves it unchanged. With `noinc` it is not raised,
    and the arrival must have been counted in `mbarrier.init`.
    """

    name = "nvvm.cp.async.mbarrier.arrive"

    addr = operand_def(pointer(0, 3))
    noinc = prop_def(integer(i1), default_value=BoolAttr.from_bool(False))

    assembly_format = "$addr attr-dict `:` type(operands)"

    def __init__(self, addr: Value, *, noinc: bool = False) -> None:
        super().__init__(operands=[addr], properties={"noinc": BoolAttr.from_bool(noinc)})


CP_ASYNC_OPS: tuple[type[Operation], ...] = (
    CpAsyncOp,
    CpAsyncCommitGroupOp,
    CpAsyncWaitGroupOp,
    CpAsyncMBarrierArriveOp,
)
