// The good twin of address-of-columns.bad.mlir: a barrier of the block stands behind the allocation, whatever the
// number of tiles is.

llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : i64

llvm.func @attention(%tiles: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %columns = llvm.mlir.constant(32 : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %some = arith.minui %tiles, %c1 : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %is_first = arith.cmpi eq, %thread, %c0 : i32
  scf.if %is_first {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  }
  %multiplies = arith.cmpi ult, %thread, %columns : i32
  scf.if %multiplies {
    nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
    nvvm.tcgen05.relinquish_alloc_permit
  }
  nvvm.barrier0
  scf.if %multiplies {
    scf.for %tile = %c0 to %some step %c1 : i32 {
      %elected = nvvm.elect.sync -> i1
      scf.if %elected {
        nvvm.mbarrier.arrive %full : !llvm.ptr<3>
      }
    }
  } else {
    scf.for %tile = %c0 to %some step %c1 : i32 {
      nvvm.mbarrier.try_wait.parity %full, %tile, %ticks : !llvm.ptr<3>, i32, i32
    }
    %address = llvm.load %slot : !llvm.ptr<3> -> i32
    %whole = llvm.inttoptr %address : i32 to !llvm.ptr<6>
    nvvm.tcgen05.dealloc %whole, %columns : !llvm.ptr<6>, i32
  }
  llvm.return
}
