// The good twin of columns-given-back.bad.mlir: a barrier of all warps stands before the columns are given back.

llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32

llvm.func @epilogue() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %lane_bits = llvm.mlir.constant(21 : i32) : i32
  %warp_bits = llvm.mlir.constant(5 : i32) : i32
  %columns = llvm.mlir.constant(32 : i32) : i32
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %warp = llvm.lshr %thread, %warp_bits : i32
  %is_first = arith.cmpi eq, %warp, %c0 : i32
  scf.if %is_first {
    nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
    nvvm.tcgen05.relinquish_alloc_permit
  }
  nvvm.barrier0
  %address = llvm.load %slot : !llvm.ptr<3> -> i32
  %lanes = llvm.shl %warp, %lane_bits : i32
  %own = llvm.add %address, %lanes : i32
  %mine = llvm.inttoptr %own : i32 to !llvm.ptr<6>
  %tile = nvvm.tcgen05.ld %mine {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
  nvvm.tcgen05.wait <load>
  nvvm.barrier0
  scf.if %is_first {
    %whole = llvm.inttoptr %address : i32 to !llvm.ptr<6>
    nvvm.tcgen05.dealloc %whole, %columns : !llvm.ptr<6>, i32
  }
  llvm.return
}
