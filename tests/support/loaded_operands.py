"""Operands of `wgmma` in shared memory: arrays of 16 KiB, which one thread copies there before anybody goes on."""

from __future__ import annotations

from textwrap import indent

OPERAND_BYTES = 16384


def loaded(*operands: str) -> str:
    """
    The beginning of a kernel: %tid and %t are the number of the thread, and for an operand "a", which is at %a in
    global memory, %pa is where it lies in @sa, and %sa the same as a descriptor says it, in units of 16 bytes.
    """
    places = "\n".join(f"%p{name} = llvm.mlir.addressof @s{name} : !llvm.ptr<3>" for name in operands)
    copies = "\n".join(
        f"nvvm.cp.async.bulk.shared.cluster.global %p{name}, %{name}, %bar, %bytes : !llvm.ptr<3>, <1>"
        for name in operands
    )
    addresses = "\n".join(
        f"%i{name} = llvm.ptrtoint %p{name} : !llvm.ptr<3> to i64\n"
        f"%l{name} = llvm.and %i{name}, %mask : i64\n"
        f"%s{name} = llvm.lshr %l{name}, %four : i64"
        for name in operands
    )
    text = f"""
%tid = nvvm.read.ptx.sreg.tid.x : i32
%t = arith.index_cast %tid : i32 to index
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%bytes = arith.constant {OPERAND_BYTES} : i32
%all = arith.constant {len(operands) * OPERAND_BYTES} : i32
%ticks = arith.constant 1000 : i32
%bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
{places}
%first = arith.cmpi eq, %tid, %zero : i32
scf.if %first {{
  nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nvvm.mbarrier.arrive.expect_tx %bar, %all : !llvm.ptr<3>, i32
{copies}
}}
nvvm.barrier0
nvvm.mbarrier.try_wait.parity %bar, %zero, %ticks : !llvm.ptr<3>, i32, i32
%mask = arith.constant 262143 : i64
%four = arith.constant 4 : i64
{addresses}"""
    return indent(text, "  ")
