// The good twin of barrier-bytes-reused.bad.mlir: the inval comes before the store.

func.func @fetch(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // Fetches a tile, looks at it, and gives the bytes of the barrier back.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %ring, %tile, %full, %bytes : !llvm.ptr<3>, <1>
      nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %ring : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.inval %full : !llvm.ptr<3>
      llvm.store %k, %full : i32, !llvm.ptr<3>
    }
  }, {
    // Another warp, which has nothing to do with it.
    %seen = llvm.load %out : !llvm.ptr<1> -> f32
  } : () -> ()
  func.return
}
