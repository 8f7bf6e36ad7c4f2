// The good twin of permit-given-up.bad.mlir: all columns are allocated before the permit is given up.

llvm.mlir.global internal @slots() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i32>

llvm.func @accumulators() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %columns = llvm.mlir.constant(32 : i32) : i32
  %slot = llvm.mlir.addressof @slots : !llvm.ptr<3>
  %next = llvm.getelementptr %slot[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
  nvvm.tcgen05.alloc %next, %columns : !llvm.ptr<3>, i32
  nvvm.tcgen05.relinquish_alloc_permit
  %a = llvm.load %slot : !llvm.ptr<3> -> i32
  %b = llvm.load %next : !llvm.ptr<3> -> i32
  %one = llvm.inttoptr %a : i32 to !llvm.ptr<6>
  %other = llvm.inttoptr %b : i32 to !llvm.ptr<6>
  nvvm.tcgen05.dealloc %one, %columns : !llvm.ptr<6>, i32
  nvvm.tcgen05.dealloc %other, %columns : !llvm.ptr<6>, i32
  llvm.return
}
