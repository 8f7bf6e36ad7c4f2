"""
Other ops of a thread: exchange within its warp, sleep, exit, and inline PTX.

    %v = nvvm.shfl.sync  idx %mask, %x, %lane, %clamp : i32 -> i32
    nvvm.inline_ptx "mbarrier.init.b64 [$0], $1;" ro(%bar, %n : !llvm.ptr, i32), predicate = %p

Exchanges block until all lanes of the mask arrive, so they count as synchronising.

`mapa` is pure. `#llvm.constant_range` is registered with nvvm, which is the only one to use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, UnitAttr, i1, i32
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import (
    ShflKind,
    ShflKindAttr,
    VoteSyncKind,
    VoteSyncKindAttr,
)
from tileas_xdsl.dialects.upstream import (
    ANY_STRUCT,
    F32,
    I1,
    I32,
    ClassProperty,
    EffectfulOp,
    Value,
    any_type_of,
)


@irdl_op_definition
class ShflOp(EffectfulOp):
    """
    Read `val` of another lane, found from the own lane and `offset` as `kind` says.

    `%v = nvvm.shfl.sync  bfly %mask, %val, %offset, %clamp : f32 -> f32`

    With `return_value_and_is_valid` the result is a struct of the value and an i1.
    """

    name = "nvvm.shfl.sync"

    thread_mask = operand_def(I32)
    val = operand_def(any_type_of(I32, F32))
    offset = operand_def(I32)
    mask_and_clamp = operand_def(I32)
    kind = prop_def(ClassProperty(ShflKindAttr))
    return_value_and_is_valid = opt_prop_def(ClassProperty(UnitAttr))
    res = result_def(any_type_of(I32, F32, ANY_STRUCT))

    assembly_format = (
        "` ` custom<Bare>($kind) $thread_mask `,` $val `,` $offset `,` $mask_and_clamp attr-dict"
        " `:` type($val) `->` type($res)"
    )

    def __init__(self, kind: ShflKind, thread_mask: Value, val: Value, offset: Value, mask_and_clamp: Value) -> None:
        operands = [thread_mask, val, offset, mask_and_clamp]
        value = val.results[0] if isinstance(val, Operation) else val
        super().__init__(operands=operands, result_types=[value.type], properties={"kind": ShflKindAttr(kind)})

    def verify_(self) -> None:
        problem = self._problem()
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")

    def _problem(self) -> str | None:
        result: Attribute = self.res.type
        if self.return_value_and_is_valid is None:
            if isinstance(result, LLVMStructType):
                return '"return_value_and_is_valid" attribute must be specified when the return type is a struct type'
            return _unexpected("return type", result, self.val.type)
        if not isinstance(result, LLVMStructType) or len(result.types) != 2:
            return "expected return type to be a two-element struct"
        value, valid = result.types
        return _unexpected("first element in the returned struct", value, self.val.type) or _unexpected(
            "second element in the returned struct", valid, i1
        )


def _unexpected(what: str, found: Attribute, expected: Attribute) -> str | None:
    if found == expected:
        return None
    return f"expected {what} to be of type '{expected}' but got '{found}' instead"


@irdl_op_definition
class VoteSyncOp(EffectfulOp):
    """
    Combine the predicates of the lanes in `mask`; `ballot` gives them all, one bit a lane.

    `%bits = nvvm.vote.sync  ballot %mask, %pred -> i32`
    """

    name = "nvvm.vote.sync"

    mask = operand_def(I32)
    pred = operand_def(I1)
    kind = prop_def(ClassProperty(VoteSyncKindAttr))
    res = result_def(any_type_of(I32, I1))

    assembly_format = "` ` custom<Bare>($kind) $mask `,` $pred attr-dict `->` type($res)"

    def verify_(self) -> None:
        if self.kind.data is VoteSyncKind.BALLOT:
            if self.res.type != i32:
                raise VerifyException(f"'{self.name}' op vote.sync 'ballot' returns an i32")
            return
        if self.res.type != i1:
            raise VerifyException(f"'{self.name}' op vote.sync 'any', 'all' and 'uni' returns an i1")


@irdl_op_definition
class NanosleepOp(EffectfulOp):
    """
    Sleep for about `duration` nanoseconds, at most a millisecond.

    `nvvm.nanosleep %duration`
    """

    name = "nvvm.nanosleep"

    duration = operand_def(I32)

    assembly_format = "attr-dict $duration"


@irdl_op_definition
class ExitOp(EffectfulOp):
    """
    End the thread. (Not a terminator of its block.)

    `nvvm.exit`
    """

    name = "nvvm.exit"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class InlinePtxOp(EffectfulOp):
    """
    PTX text with operands: `$0`, `$1`, ... count results and `rw` operands first, then `ro`.

    `%r = nvvm.inline_ptx "mov.b32 $0, $1;" ro(%x : i32), predicate = %p -> i32`
    """

    name = "nvvm.inline_ptx"

    read_only_args = var_operand_def()
    read_write_args = var_operand_def()
    ptx_code = prop_def(ClassProperty(StringAttr), prop_name="ptxCode")
    predicate = opt_operand_def(I1)
    write_only_args = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$ptxCode (`ro` `(` $read_only_args^ `:` type($read_only_args) `)`)?"
        " (`rw` `(` $read_write_args^ `:` type($read_write_args) `)`)?"
        " (`,` `predicate` `=` $predicate^)? attr-dict (`->` type($write_only_args)^)?"
    )

    def __init__(
        self,
        ptx_code: str,
        read_only_args: Sequence[Value] = (),
        read_write_args: Sequence[Value] = (),
        predicate: Value | None = None,
        result_types: Sequence[Attribute] = (),
    ) -> None:
        super().__init__(
            operands=[read_only_args, read_write_args, predicate],
            result_types=[result_types],
            properties={"ptxCode": StringAttr(ptx_code)},
        )


THREAD_OPS: tuple[type[Operation], ...] = (
    ShflOp,
    VoteSyncOp,
    NanosleepOp,
    ExitOp,
    InlinePtxOp,
)
