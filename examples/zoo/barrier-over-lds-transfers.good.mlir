// The good twin of barrier-over-lds-transfers.bad.mlir: each wave waits for its transfer before the barrier.

llvm.func @tiles(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>)
    attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 128, 1, 1>, target = "gfx942"} {
  %lanes = llvm.mlir.constant(64 : i32) : i32
  %last = llvm.mlir.constant(1 : i32) : i32
  %id = gpu.thread_id x
  %tid = arith.index_cast %id : index to i32
  %wave = llvm.udiv %tid, %lanes : i32
  %other = llvm.sub %last, %wave : i32
  %from = llvm.getelementptr %src[%wave] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
  %mine = llvm.getelementptr %lds[%wave] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
  %theirs = llvm.getelementptr %lds[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
  rocdl.load.to.lds %from, %mine, 16, 0, 0 : !llvm.ptr<1>
  rocdl.s.waitcnt 3952
  rocdl.s.barrier
  %v = llvm.load %theirs : !llvm.ptr<3> -> f32
  %to = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %to : f32, !llvm.ptr<1>
  llvm.return
}
