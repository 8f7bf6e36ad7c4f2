// Two operands, two barriers, one wait
//
// kind: race
// level: nvvm mbarriers
// between: nvvm.cp.async.bulk.shared.cluster.global, llvm.load
// mirrors: NVIDIA/cutlass#3643
// happened: The two-CTA block-scaled MMA example of the CuTe DSL gave wrong results in 249 of 1000 runs. The scale
//   factors of the peer have a barrier of their own, and nothing on the way to the MMA waits for it.
// wrong: The consumer waits for the tile of A and reads the scale factors as well.
// says: read after write on shared 'sf_tile'
// fix: Wait for both barriers before the first use of either operand.

func.func @block_scaled(%a: !llvm.ptr<1>, %sf: !llvm.ptr<1>, %out: !llvm.ptr<1>, %a_tile: !llvm.ptr<3>, %sf_tile: !llvm.ptr<3>,
    %full_a: !llvm.ptr<3>, %full_sf: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full_a, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %full_sf, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: a tile of A and its scale factors, each with a barrier.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %tile = llvm.getelementptr %a[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      %factors = llvm.getelementptr %sf[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.arrive.expect_tx %full_a, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %a_tile, %tile, %full_a, %bytes : !llvm.ptr<3>, <1>
      nvvm.mbarrier.arrive.expect_tx %full_sf, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %sf_tile, %factors, %full_sf, %bytes : !llvm.ptr<3>, <1>
    }
  }, {
    // The consumer.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full_a, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %x = llvm.load %a_tile : !llvm.ptr<3> -> f32
      %y = llvm.load %sf_tile : !llvm.ptr<3> -> f32
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %product : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
