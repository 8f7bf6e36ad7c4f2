// The good twin of unexpected-bytes.bad.mlir: block 1 announces the bytes at its own barrier.

func.func @multicast(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tiles: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %blocks = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %other_full = llvm.getelementptr %full[%c1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %other_tile = llvm.getelementptr %tiles[%c1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %other_full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %blocks : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %other_out = llvm.getelementptr %out[%c1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // Block 0: asks for the tile, for both blocks, and uses its copy.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %tiles, %tile, %full, %bytes : !llvm.ptr<3>, <1>
      nvvm.cp.async.bulk.shared.cluster.global %other_tile, %tile, %other_full, %bytes : !llvm.ptr<3>, <1>
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %tiles : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  }, {
    // Block 1: uses its copy.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.arrive.expect_tx %other_full, %bytes : !llvm.ptr<3>, i32
      nvvm.mbarrier.try_wait.parity %other_full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %other_tile : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %other_out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
