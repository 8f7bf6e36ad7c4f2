// A barrier invalidated while somebody may wait there
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.inval
// mirrors: triton-lang/triton#11244
// happened: Triton's sanitizer of concurrency followed the phases of barriers and not the life of their bytes. An
//   invalidation could run into a waiting warp unseen. It now treats init and inval as writes.
// wrong: The two meet before they wait. The producer sees the phase and invalidates the barrier, where the consumer
//   may still be waiting.
// says: is invalidated while it may still be used
// fix: They meet behind the wait, before the inval.

func.func @tile_by_tile(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: makes a barrier for the tile, and lets the copy engine fill the buffer.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
      nvvm.barrier id = %c1 number_of_threads = %c2
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %ring, %tile, %full, %bytes : !llvm.ptr<3>, <1>
      nvvm.barrier id = %c2 number_of_threads = %c2
      nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.inval %full : !llvm.ptr<3>
    }
  }, {
    // The consumer: waits for the tile, and looks at it.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.barrier id = %c1 number_of_threads = %c2
      nvvm.barrier id = %c2 number_of_threads = %c2
      nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %ring : !llvm.ptr<3> -> f32
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    }
  } : () -> ()
  func.return
}
