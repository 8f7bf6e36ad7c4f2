// Weights over scores that other warps still read
//
// kind: race
// level: nvvm tcgen05
// between: nvvm.tcgen05.ld, nvvm.tcgen05.st
// mirrors: facebookexperimental/triton#1993
// happened: In the backward pass of attention the weights, of 16 bits, take the columns of the scores, of 32. Triton
//   inserts barriers where buffers in shared memory overlap, and did not look at tensor memory. Eight warps shared the
//   rows, so that one stored weights into columns from which another one had not loaded its scores yet.
// wrong: Two warps have the same lanes, each half of the columns. The weights of the second half take columns of the
//   first one.
// says: nvvm.tcgen05.st
// fix: All warps meet between the loads and the stores.

llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32

llvm.func @softmax() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
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
  %quarter = llvm.and %warp, %c3 : i32
  %half = llvm.lshr %warp, %c2 : i32
  %lanes = llvm.shl %quarter, %lane_bits : i32
  %row = llvm.add %address, %lanes : i32
  %scores = llvm.shl %half, %c3 : i32
  %at = llvm.add %row, %scores : i32
  %from = llvm.inttoptr %at : i32 to !llvm.ptr<6>
  %s = nvvm.tcgen05.ld %from {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
  nvvm.tcgen05.wait <load>
  %p = llvm.mlir.constant(dense<0> : vector<4xi32>) : vector<4xi32>
  %weights = llvm.shl %half, %c2 : i32
  %over = llvm.add %row, %weights : i32
  %to = llvm.inttoptr %over : i32 to !llvm.ptr<6>
  nvvm.tcgen05.st %to, %p {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.wait <store>
  nvvm.barrier0
  scf.if %is_first {
    %whole = llvm.inttoptr %address : i32 to !llvm.ptr<6>
    nvvm.tcgen05.dealloc %whole, %columns : !llvm.ptr<6>, i32
  }
  llvm.return
}
