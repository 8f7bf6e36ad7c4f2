"""
Transfers between memory and LDS (AMD's shared memory).

Three generations exist, each with its own way to complete:

| transfers | target | completed by |
|---|---|---|
| `load.to.lds`, `global.load.lds`, `raw.ptr.buffer.load.lds` | gfx9, gfx10 | an ordinary write: the compiler waits |
| the same with `async` in the name (LLVM 23) | gfx9, gfx10 | `asyncmark` and `wait.asyncmark N` |
| `{global,cluster}.load.async.to.lds.bN` | gfx1250 | marks, or the counter of `s.wait.asynccnt N` |
| `global.store.async.from.lds.bN` (LLVM 23) | gfx1250 | the same |
| `tensor.load.to.lds`, `tensor.store.from.lds` | gfx1250 | marks, or the counter of `s.wait.tensorcnt N` |

    rocdl.load.async.to.lds %global, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
    rocdl.wait.asyncmark 0      // the transfer is complete

A transfer is a plain read of its source and a plain write of its destination, at any time between
its issue and its completion (LLVM's page "AMDGPU Asynchronous Operations"). The `async` twins of the
first row came after LLVM 22; three families of buffer loads have no op and are calls of an intrinsic.
`async_lds_transfer` recognises them all.

`tensor.load.to.lds` and `tensor.store.from.lds` read and write through their descriptor; the number of bytes is not
known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr, VectorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.rocdl.aliasing import AliasableOp
from tileas_xdsl.dialects.upstream import (
    ANY_POINTER,
    I32,
    TypeConstraint,
    Value,
    exactly,
    integer,
    pointer,
)
from tileas_xdsl.targets.amdgpu import Counter

GLOBAL = pointer(1)
LDS = pointer(3)
BUFFER_RESOURCE = pointer(8)


def _i32_vector(length: int) -> TypeConstraint:
    return exactly(
        VectorType(i32, [length]),
        f"fixed-length vector of 32-bit signless integer values of length {length}",
    )


# Transfers that the compiler orders ----------------------------------------------------------------


class GatherOp(AliasableOp):
    """
    Base of the gfx9 and gfx10 loads from any address: `size` bytes for each lane.

    The lanes' bytes land one behind the other at `lds_ptr`, which is the same for all lanes; the
    constant `offset` is added to both addresses.
    """

    READS: ClassVar = ("global_ptr",)
    WRITES: ClassVar = ("lds_ptr",)

    global_ptr = operand_def(ANY_POINTER)
    lds_ptr = operand_def(LDS)
    size = prop_def(integer(i32))
    offset = prop_def(integer(i32))
    aux = prop_def(integer(i32))

    def __init__(self, global_ptr: Value, lds_ptr: Value, size: int, offset: int = 0, aux: int = 0) -> None:
        super().__init__(operands=[global_ptr, lds_ptr], properties=_gather_properties(size, offset, aux))


class GlobalGatherOp(AliasableOp):
    """Base of the gfx9 and gfx10 loads from an address in global memory."""

    READS: ClassVar = ("global_ptr",)
    WRITES: ClassVar = ("lds_ptr",)

    global_ptr = operand_def(GLOBAL)
    lds_ptr = operand_def(LDS)
    size = prop_def(integer(i32))
    offset = prop_def(integer(i32))
    aux = prop_def(integer(i32))

    def __init__(self, global_ptr: Value, lds_ptr: Value, size: int, offset: int = 0, aux: int = 0) -> None:
        super().__init__(operands=[global_ptr, lds_ptr], properties=_gather_properties(size, offset, aux))


def _gather_properties(size: int, offset: int, aux: int) -> dict[str, Attribute]:
    return {
        "size": IntegerAttr(size, i32),
        "offset": IntegerAttr(offset, i32),
        "aux": IntegerAttr(aux, i32),
    }


class BufferGatherOp(AliasableOp):
    """Base of the gfx9 and gfx10 loads from a buffer resource; the lanes' addresses differ in `voffset`."""

    READS: ClassVar = ("rsrc",)
    WRITES: ClassVar = ("lds_ptr",)

    rsrc = operand_def(BUFFER_RESOURCE)
    lds_ptr = operand_def(LDS)
    size = operand_def(I32)
    voffset = operand_def(I32)
    soffset = operand_def(I32)
    offset = operand_def(I32)
    aux = operand_def(I32)

    assembly_format = "operands attr-dict"

    def __init__(
        self,
        rsrc: Value,
        lds_ptr: Value,
        size: Value,
        voffset: Value,
        soffset: Value,
        offset: Value,
        aux: Value,
    ) -> None:
        super().__init__(operands=[rsrc, lds_ptr, size, voffset, soffset, offset, aux])


@irdl_op_definition
class LoadToLdsOp(GatherOp):
    """
    Load `size` bytes a lane to LDS, as an ordinary write that the compiler waits for.

    `rocdl.load.to.lds %src, %lds, 16, 0, 0 : <1>`
    """

    name = "rocdl.load.to.lds"

    assembly_format = (
        "$global_ptr `,` $lds_ptr `,` $size `,` $offset `,` $aux attr-dict `:` custom<PointerType>(type($global_ptr))"
    )


@irdl_op_definition
class GlobalLoadLdsOp(GlobalGatherOp):
    """
    Load `size` bytes a lane from global memory to LDS, as an ordinary write that the compiler waits for.

    `rocdl.global.load.lds %src, %lds, 4, 0, 0`
    """

    name = "rocdl.global.load.lds"

    assembly_format = "$global_ptr `,` $lds_ptr `,` $size `,` $offset `,` $aux attr-dict"


@irdl_op_definition
class RawPtrBufferLoadLdsOp(BufferGatherOp):
    """
    Load `size` bytes a lane from a buffer resource to LDS, as an ordinary write that the compiler waits for.

    `rocdl.raw.ptr.buffer.load.lds %rsrc, %lds, %size, %voffset, %soffset, %offset, %aux`
    """

    name = "rocdl.raw.ptr.buffer.load.lds"


# Transfers that the program waits for ---------------------------------------------------------------


@dataclass(frozen=True)
class LdsTransfer:
    """What an asynchronous transfer between memory and LDS reads and writes."""

    source: SSAValue
    """The pointer operand that is read; of a tensor transfer, the descriptor, which holds both addresses."""

    destination: SSAValue
    """The pointer operand that is written."""

    bytes: int | None
    """The bytes that each lane moves; None when only known at run time, or for transfers that are not per lane."""


class AsyncTransferOp(AliasableOp):
    """Base of the transfers that may be in flight until a wait: for a mark behind them, or for a counter."""

    @property
    def transfer(self) -> LdsTransfer:
        """What the transfer reads and writes; by default, the memory of its first two operands."""
        return LdsTransfer(self.operands[0], self.operands[1], self.bytes_per_lane)

    @property
    def bytes_per_lane(self) -> int | None:
        """The bytes that each lane moves, where known."""
        return None


@irdl_op_definition
class LoadAsyncToLdsOp(GatherOp, AsyncTransferOp):
    """
    Start loading `size` bytes a lane to LDS (gfx9, gfx10; LLVM 23).

    `rocdl.load.async.to.lds %src, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>`
    """

    name = "rocdl.load.async.to.lds"

    assembly_format = (
        "$global_ptr `,` $lds_ptr `,` $size `,` $offset `,` $aux attr-dict `:` type($global_ptr) `,` type($lds_ptr)"
    )

    @property
    def bytes_per_lane(self) -> int:
        return self.size.value.data


@irdl_op_definition
class GlobalLoadAsyncLdsOp(GlobalGatherOp, AsyncTransferOp):
    """
    Start loading `size` bytes a lane from global memory to LDS (gfx9, gfx10; LLVM 23).

    `rocdl.global.load.async.lds %src, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>`
    """

    name = "rocdl.global.load.async.lds"

    assembly_format = (
        "$global_ptr `,` $lds_ptr `,` $size `,` $offset `,` $aux attr-dict `:` type($global_ptr) `,` type($lds_ptr)"
    )

    @property
    def bytes_per_lane(self) -> int:
        return self.size.value.data


@irdl_op_definition
class RawPtrBufferLoadAsyncLdsOp(BufferGatherOp, AsyncTransferOp):
    """
    Start loading `size` bytes a lane from a buffer resource to LDS (gfx9, gfx10; LLVM 23).

    `rocdl.raw.ptr.buffer.load.async.lds %rsrc, %lds, %size, %voffset, %soffset, %offset, %aux`
    """

    name = "rocdl.raw.ptr.buffer.load.async.lds"

    @property
    def bytes_per_lane(self) -> int | None:
        return _constant(self.size)


class SizedTransferOp(AsyncTransferOp):
    """Base of the gfx1250 transfers of which there is an op for each size; `BYTES` for each lane."""

    BYTES: ClassVar[int]

    @property
    def bytes_per_lane(self) -> int:
        return self.BYTES


class GlobalTransferOp(SizedTransferOp):
    """Base of the gfx1250 transfers between global memory and the LDS of a workgroup."""

    global_ptr = operand_def(GLOBAL)
    lds_ptr = operand_def(LDS)
    offset = prop_def(integer(i32))
    aux = prop_def(integer(i32))

    assembly_format = "$global_ptr `,` $lds_ptr `,` $offset `,` $aux attr-dict `:` type($global_ptr) `,` type($lds_ptr)"

    def __init__(self, global_ptr: Value, lds_ptr: Value, offset: int = 0, aux: int = 0) -> None:
        super().__init__(
            operands=[global_ptr, lds_ptr],
            properties={"offset": IntegerAttr(offset, i32), "aux": IntegerAttr(aux, i32)},
        )


class GlobalLoadAsyncToLdsOp(GlobalTransferOp):
    """Start loading from global memory to LDS."""

    READS: ClassVar = ("global_ptr",)
    WRITES: ClassVar = ("lds_ptr",)


class GlobalStoreAsyncFromLdsOp(GlobalTransferOp):
    """Start storing from LDS to global memory (LLVM 23)."""

    READS: ClassVar = ("lds_ptr",)
    WRITES: ClassVar = ("global_ptr",)

    @property
    def transfer(self) -> LdsTransfer:
        return LdsTransfer(self.lds_ptr, self.global_ptr, self.BYTES)


class ClusterLoadAsyncToLdsOp(SizedTransferOp):
    """Start a load that one workgroup makes to the LDS of all those of the cluster in `mask`."""

    READS: ClassVar = ("global_ptr",)
    WRITES: ClassVar = ("lds_ptr", None)

    global_ptr = operand_def(GLOBAL)
    lds_ptr = operand_def(LDS)
    offset = prop_def(integer(i32))
    cpol = prop_def(integer(i32))
    mask = operand_def(I32)

    assembly_format = (
        "$global_ptr `,` $lds_ptr `,` $offset `,` $cpol `,` $mask attr-dict `:` type($global_ptr) `,` type($lds_ptr)"
    )

    def __init__(self, global_ptr: Value, lds_ptr: Value, mask: Value, offset: int = 0, cpol: int = 0) -> None:
        super().__init__(
            operands=[global_ptr, lds_ptr, mask],
            properties={"offset": IntegerAttr(offset, i32), "cpol": IntegerAttr(cpol, i32)},
        )


SizedT = TypeVar("SizedT", bound=SizedTransferOp)

SUFFIXES = {1: "b8", 4: "b32", 8: "b64", 16: "b128"}
"""Bytes that a lane moves -> how the name of a transfer of that size ends."""


def _of_each_size(base: type[SizedT], name: str, operands: str) -> dict[int, type[SizedT]]:
    """
    Bytes that a lane moves -> the op that does what `base` says with so many: `rocdl.NAME.b32 OPERANDS : !llvm.ptr<1>,
    !llvm.ptr<3>`.
    """

    def op_of(size: int) -> type[SizedT]:
        full = f"{name}.{SUFFIXES[size]}"
        text = f"{base.__doc__} A lane moves {size} bytes.\n\n`rocdl.{full} {operands} : !llvm.ptr<1>, !llvm.ptr<3>`"
        fields = {"name": f"rocdl.{full}", "BYTES": size, "__doc__": text, "__annotations__": {"BYTES": ClassVar}}
        title = "".join(word.capitalize() for word in full.split("."))
        made: Any = type(f"{title}Op", (base,), fields)
        return irdl_op_definition(made)

    return {size: op_of(size) for size in SUFFIXES}


GLOBAL_LOADS = _of_each_size(GlobalLoadAsyncToLdsOp, "global.load.async.to.lds", "%src, %lds, 0, 0")
GLOBAL_STORES = _of_each_size(GlobalStoreAsyncFromLdsOp, "global.store.async.from.lds", "%dst, %lds, 0, 0")
CLUSTER_LOADS = _of_each_size(ClusterLoadAsyncToLdsOp, "cluster.load.async.to.lds", "%src, %lds, 0, 0, %mask")


class TensorTransferOp(AsyncTransferOp):
    """Base of the gfx1250 transfers of a tile of a tensor of up to 5 dimensions."""

    dgroup0 = operand_def(_i32_vector(4))
    dgroup1 = operand_def(_i32_vector(8))
    dgroup2 = operand_def(_i32_vector(4))
    dgroup3 = operand_def(_i32_vector(4))
    cache_policy = prop_def(integer(i32), prop_name="cachePolicy")

    assembly_format = "attr-dict operands `cachepolicy` $cachePolicy `:` type($dgroup0) `,` type($dgroup1)"

    def __init__(self, dgroup0: Value, dgroup1: Value, dgroup2: Value, dgroup3: Value, cache_policy: int = 0) -> None:
        super().__init__(
            operands=[dgroup0, dgroup1, dgroup2, dgroup3],
            properties={"cachePolicy": IntegerAttr(cache_policy, i32)},
        )

    @property
    def transfer(self) -> LdsTransfer:
        return LdsTransfer(self.dgroup0, self.dgroup0, None)


class TensorTransferD2Op(AsyncTransferOp):
    """Base of the gfx1250 transfers of a tile of a tensor of up to 2 dimensions, with a shorter descriptor."""

    dgroup0 = operand_def(_i32_vector(4))
    dgroup1 = operand_def(_i32_vector(8))
    cache_policy = prop_def(integer(i32), prop_name="cachePolicy")

    assembly_format = "attr-dict operands `cachepolicy` $cachePolicy `:` type($dgroup0) `,` type($dgroup1)"

    def __init__(self, dgroup0: Value, dgroup1: Value, cache_policy: int = 0) -> None:
        super().__init__(
            operands=[dgroup0, dgroup1],
            properties={"cachePolicy": IntegerAttr(cache_policy, i32)},
        )

    @property
    def transfer(self) -> LdsTransfer:
        return LdsTransfer(self.dgroup0, self.dgroup0, None)


@irdl_op_definition
class TensorLoadToLdsOp(TensorTransferOp):
    """
    Start loading a tile of a tensor in global memory to LDS.

    `rocdl.tensor.load.to.lds %d0, %d1, %d2, %d3 cachepolicy 0 : vector<4xi32>, vector<8xi32>`
    """

    name = "rocdl.tensor.load.to.lds"


@irdl_op_definition
class TensorStoreFromLdsOp(TensorTransferOp):
    """
    Start storing a tile in LDS to a tensor in global memory.

    `rocdl.tensor.store.from.lds %d0, %d1, %d2, %d3 cachepolicy 0 : vector<4xi32>, vector<8xi32>`
    """

    name = "rocdl.tensor.store.from.lds"


@irdl_op_definition
class TensorLoadToLdsD2Op(TensorTransferD2Op):
    """
    Start loading a tile of a matrix in global memory to LDS.

    `rocdl.tensor.load.to.lds.d2 %d0, %d1 cachepolicy 0 : vector<4xi32>, vector<8xi32>`
    """

    name = "rocdl.tensor.load.to.lds.d2"


@irdl_op_definition
class TensorStoreFromLdsD2Op(TensorTransferD2Op):
    """
    Start storing a tile in LDS to a matrix in global memory.

    `rocdl.tensor.store.from.lds.d2 %d0, %d1 cachepolicy 0 : vector<4xi32>, vector<8xi32>`
    """

    name = "rocdl.tensor.store.from.lds.d2"


# Every asynchronous transfer, op or intrinsic --------------------------------------------------------

ASYNC_INTRINSICS: dict[str, int] = {
    "llvm.amdgcn.load.async.to.lds": 5,
    "llvm.amdgcn.global.load.async.lds": 5,
    "llvm.amdgcn.raw.buffer.load.async.lds": 7,
    "llvm.amdgcn.raw.ptr.buffer.load.async.lds": 7,
    "llvm.amdgcn.struct.buffer.load.async.lds": 8,
    "llvm.amdgcn.struct.ptr.buffer.load.async.lds": 8,
}
"""
The asynchronous LDS loads of LLVM's page "AMDGPU Asynchronous Operations" as intrinsics, with their numbers of
operands. The first three operands are always the source, the LDS pointer and the bytes for each lane.
"""


COUNTED_INTRINSICS: dict[str, str] = {
    "llvm.amdgcn.load.async.to.lds": "llvm.amdgcn.load.to.lds",
    "llvm.amdgcn.global.load.async.lds": "llvm.amdgcn.global.load.lds",
    "llvm.amdgcn.raw.buffer.load.async.lds": "llvm.amdgcn.raw.buffer.load.lds",
    "llvm.amdgcn.raw.ptr.buffer.load.async.lds": "llvm.amdgcn.raw.ptr.buffer.load.lds",
    "llvm.amdgcn.struct.buffer.load.async.lds": "llvm.amdgcn.struct.buffer.load.lds",
    "llvm.amdgcn.struct.ptr.buffer.load.async.lds": "llvm.amdgcn.struct.ptr.buffer.load.lds",
}
"""
Each of them with its synchronous twin, which LLVM 22 has: the same transfer, which only the hardware counters track.
"""


MANGLING = re.compile(r"\.p\d+$")
"""How LLVM writes the type of a pointer behind an intrinsic's name; a call may leave it out."""


def async_lds_transfer(op: Operation) -> LdsTransfer | None:
    """
    The source, destination and size of `op` if it is an asynchronous LDS transfer, as an op or as a call of an
    intrinsic.

    None for any other op. Refuses a call of one of the intrinsics with another number of operands.
    """
    if isinstance(op, AsyncTransferOp):
        return op.transfer
    if not isinstance(op, llvm.CallIntrinsicOp):
        return None
    return _store_from_lds(op) if is_store_from_lds(op) else _intrinsic_transfer(op, ASYNC_INTRINSICS)


def counted_lds_transfer(op: Operation) -> LdsTransfer | None:
    """
    The source, destination and size of `op` if it is a call of an LDS transfer that only counters track; None for any
    other op.

    Refuses a call with another number of operands.
    """
    if not isinstance(op, llvm.CallIntrinsicOp):
        return None
    return _intrinsic_transfer(op, {twin: ASYNC_INTRINSICS[name] for name, twin in COUNTED_INTRINSICS.items()})


def counted_twin(op: Operation) -> Operation | None:
    """
    A new op that moves what the asynchronous transfer `op` moves, and that only counters track (LLVM 22).

    None where `op` has no twin: counters track it already, or it is no transfer.
    """
    if isinstance(op, llvm.CallIntrinsicOp):
        name = MANGLING.sub("", op.intrin.data)
        if name not in COUNTED_INTRINSICS:
            return None
        twin = op.clone()
        twin.properties["intrin"] = StringAttr(COUNTED_INTRINSICS[name] + op.intrin.data.removeprefix(name))
        return twin
    twin_type = _COUNTED_TWINS.get(type(op))
    if twin_type is None:
        return None
    return twin_type.create(operands=op.operands, properties=op.properties, attributes=op.attributes)


_COUNTED_TWINS: dict[type[Operation], type[Operation]] = {
    LoadAsyncToLdsOp: LoadToLdsOp,
    GlobalLoadAsyncLdsOp: GlobalLoadLdsOp,
    RawPtrBufferLoadAsyncLdsOp: RawPtrBufferLoadLdsOp,
}


COUNTED_BY_ASYNCCNT = (GlobalLoadAsyncToLdsOp, ClusterLoadAsyncToLdsOp, GlobalStoreAsyncFromLdsOp)

STORES_FROM_LDS = {f"llvm.amdgcn.global.store.async.from.lds.{suffix}": size for size, suffix in SUFFIXES.items()}
"""The stores from LDS as intrinsics, with the bytes for each lane. Their operands: target, LDS, offset, policy."""


def is_store_from_lds(op: Operation) -> bool:
    """Whether `op` is a call of an intrinsic that stores from LDS to global memory."""
    return isinstance(op, llvm.CallIntrinsicOp) and MANGLING.sub("", op.intrin.data) in STORES_FROM_LDS


def _store_from_lds(op: llvm.CallIntrinsicOp) -> LdsTransfer:
    if len(op.args) != 4:
        refuse(
            op,
            f"{op.intrin.data} takes 4 operands, found {len(op.args)}",
            "pass the address in global memory, the LDS pointer, the offset and the policy",
        )
    target, source, *_ = op.args
    return LdsTransfer(source, target, STORES_FROM_LDS[MANGLING.sub("", op.intrin.data)])


def counter_of(op: Operation) -> Counter:
    """
    The hardware counter that counts the transfer `op`: one each for tensor transfers, gfx1250's asynchronous loads, and
    older loads.
    """
    if isinstance(op, TensorTransferOp | TensorTransferD2Op):
        return "tensorcnt"
    return "asynccnt" if isinstance(op, COUNTED_BY_ASYNCCNT) or is_store_from_lds(op) else "vmcnt"


def _intrinsic_transfer(op: llvm.CallIntrinsicOp, intrinsics: Mapping[str, int]) -> LdsTransfer | None:
    name = MANGLING.sub("", op.intrin.data)
    expected = intrinsics.get(name)
    if expected is None:
        return None
    if len(op.args) != expected:
        refuse(
            op,
            f"{name} takes {expected} operands, found {len(op.args)}",
            "pass the source, the LDS pointer, the bytes for each lane and the offsets",
        )
    source, destination, size, *_ = op.args
    return LdsTransfer(source, destination, _constant(size))


def _constant(value: SSAValue) -> int | None:
    """The number that `value` is, if it is a constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp | llvm.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


TRANSFER_OPS: tuple[type[Operation], ...] = (
    LoadToLdsOp,
    GlobalLoadLdsOp,
    RawPtrBufferLoadLdsOp,
    LoadAsyncToLdsOp,
    GlobalLoadAsyncLdsOp,
    RawPtrBufferLoadAsyncLdsOp,
    *GLOBAL_LOADS.values(),
    *GLOBAL_STORES.values(),
    *CLUSTER_LOADS.values(),
    TensorLoadToLdsOp,
    TensorStoreFromLdsOp,
    TensorLoadToLdsD2Op,
    TensorStoreFromLdsD2Op,
)
