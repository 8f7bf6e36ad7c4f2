"""
How many bytes the box of a tensor copy has. Only its descriptor knows. Where the kernel says what the descriptor maps
(`dialects.tensor_maps`) that is it; else a check takes it from the program.

    .. box[%k, %c0] {tileas.box_bytes = 8192 : i64} : ..                               it says so
    %a = llvm.getelementptr %ring[0, %stage] : .. !llvm.array<2 x array<8192 x i8>>    the array that it fills
    nvvm.mbarrier.arrive.expect_tx %full, %c16384                                      two copies behind it: half each
    %c = llvm.getelementptr %smem[65536] : .. i8                                       a store: up to the next part

What does not say so is assumed, and the verdict names it. Bytes of a load that are wrong show: the phase of its barrier
does not complete, or completes early.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from tileas_xdsl.dialects.extensions.llvm import AddrSpaceCastOp
from tileas_xdsl.dialects.nvvm.bulk import CpAsyncBulkTensorGlobalToSharedClusterOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierArriveExpectTxOp, MBarrierExpectTxOp
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import EVEN_SHARES, FILLS_ARRAY, FILLS_PART
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.tiles.llvm_types import element_offset, size_and_alignment
from tileas_xdsl.machine.tiles.pointers import Pointer
from tileas_xdsl.machine.tiles.tensor_maps import described

BOX_BYTES = "tileas.box_bytes"
"""Discardable attribute on a tensor copy: the bytes of its box, which only the descriptor knows."""


def bytes_of_load(agent: Agent, op: CpAsyncBulkTensorGlobalToSharedClusterOp, descriptor: Pointer) -> int:
    """The bytes that a tensor load brings. Raises `UnsupportedError` where nothing says it."""
    size = _stated(agent, op, descriptor) or _array_size(agent, op, op.dst_mem) or _even_share(agent, op)
    return size if size is not None else _refuse(op)


def bytes_of_store(agent: Agent, op: Operation, source: SSAValue, descriptor: Pointer) -> int:
    """The bytes that a tensor store, or reduction, reads. Raises `UnsupportedError` where nothing says it."""
    size = _stated(agent, op, descriptor) or _array_size(agent, op, source) or _part_length(agent, op, source)
    return size if size is not None else _refuse(op)


def _refuse(op: Operation) -> int:
    raise UnsupportedError(
        op,
        "copies a box that only its descriptor knows: "
        f"say by {TENSOR_MAP} what the argument maps; a check also takes {BOX_BYTES} of the copy",
    )


def _stated(agent: Agent, op: Operation, descriptor: Pointer) -> int | None:
    said, known = op.attributes.get(BOX_BYTES), described(descriptor)
    size = said.value.data if isinstance(said, IntegerAttr) else None
    if known is None:
        return _refuse(op) if agent.has_data else size
    if size not in (None, known.map_.box_bytes):
        raise UnsupportedError(op, f"says that its box has {size} bytes, and its tensor map {known.map_.box_bytes}")
    if known.map_.swizzle > known.map_.row_bytes:
        raise UnsupportedError(
            op,
            f"copies boxes with rows of {known.map_.row_bytes} bytes, which lie {known.map_.swizzle} bytes apart in "
            "shared memory, as far as their swizzle is wide; take the swizzle that is as wide as a row, or none",
        )
    return known.map_.box_bytes


# Arrays ---------------------------------------------------------------------------------------------------------------


def _array_size(agent: Agent, op: Operation, address: SSAValue) -> int | None:
    array = _array_behind(address)
    size = 0 if array is None else size_and_alignment(array, op)[0]
    if size == 0:
        return None
    agent.assume(FILLS_ARRAY)
    return size


def _array_behind(address: SSAValue) -> llvm.LLVMArrayType | None:
    """The type of the array to which `address` leads, if it is made so that there is one."""
    maker = _uncast(address).owner
    found: Attribute | None = None
    if isinstance(maker, llvm.GEPOp):
        found = maker.elem_type
        for _ in maker.rawConstantIndices.get_values()[1:]:
            found = found.type if isinstance(found, llvm.LLVMArrayType) else None
    elif isinstance(maker, llvm.AddressOfOp):
        found = _type_of_global(maker)
    return found if isinstance(found, llvm.LLVMArrayType) else None


def _uncast(address: SSAValue) -> SSAValue:
    while isinstance(address.owner, AddrSpaceCastOp):
        address = address.owner.operands[0]
    return address


def _type_of_global(op: llvm.AddressOfOp) -> Attribute | None:
    target = SymbolTable.lookup_symbol(op, op.global_name)
    return target.global_type if isinstance(target, llvm.GlobalOp) else None


# Shares of what is expected -------------------------------------------------------------------------------------------


def _even_share(agent: Agent, op: CpAsyncBulkTensorGlobalToSharedClusterOp) -> int | None:
    """The bytes expected just before, in the same block and at the same barrier, by the copies that follow there."""
    expected, copies = agent.code.fact(_expectation, op)
    if expected is None:
        return None
    size = agent.known(agent.value(expected), op, "expects")
    if size % len(copies) or any(BOX_BYTES in copy.attributes or _array_behind(copy.dst_mem) for copy in copies):
        return None
    agent.assume(EVEN_SHARES)
    return size // len(copies)


Copies = list[CpAsyncBulkTensorGlobalToSharedClusterOp]


def _expectation(op: CpAsyncBulkTensorGlobalToSharedClusterOp) -> tuple[SSAValue | None, Copies]:
    """What the op before `op` in its block expects at the same barrier, and the copies to that up to the next one."""
    expected: SSAValue | None = None
    copies: Copies = []
    for other in _at_barrier(op):
        if isinstance(other, CpAsyncBulkTensorGlobalToSharedClusterOp):
            copies.append(other)
            continue
        if op in copies:
            break
        expected, copies = other.operands[1], []
    return expected, copies


def _at_barrier(op: CpAsyncBulkTensorGlobalToSharedClusterOp) -> Iterator[Operation]:
    """The tensor loads and the expectations of bytes at the barrier of `op` in its block."""
    assert op.parent is not None
    for other in op.parent.ops:
        if isinstance(other, CpAsyncBulkTensorGlobalToSharedClusterOp):
            barrier = other.mbar
        elif isinstance(other, MBarrierArriveExpectTxOp | MBarrierExpectTxOp):
            barrier = other.operands[0]
        else:
            continue
        if barrier is op.mbar:
            yield other


# Parts of shared memory -----------------------------------------------------------------------------------------------


def _part_length(agent: Agent, op: Operation, source: SSAValue) -> int | None:
    """From `source`, at a constant distance in a global, up to the next such place of the function, or to its end."""
    maker = _uncast(source).owner
    start = _constant_distance(maker)
    if start is None:
        return None
    agent.assume(FILLS_PART)
    assert isinstance(maker, llvm.GEPOp)
    others = (_constant_distance(use.operation) for use in maker.ptr.uses)
    ends = [other for other in others if other is not None and other > start]
    end = min(ends) if ends else agent.value(maker.ptr).base.size
    return max(end - start, 0)


def _constant_distance(op: object) -> int | None:
    """The bytes from the beginning of a global to the address that `op` makes, if that is what it does."""
    if not isinstance(op, llvm.GEPOp) or not isinstance(op.ptr.owner, llvm.AddressOfOp) or op.ssa_indices:
        return None
    return element_offset(op.elem_type, [int(index) for index in op.rawConstantIndices.get_values()], op)
