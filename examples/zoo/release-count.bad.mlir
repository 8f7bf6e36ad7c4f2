// An empty barrier made for 64 arrivals, and 32 threads that release
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.init
// mirrors: NVIDIA/cutlass#2418
// happened: In the CuTe DSL the size of the consumer group is the arrival count of the empty barriers. The compiler
//   does not compare it with the threads that arrive. Counts of 64 for 32 threads, and of 1 for a warpgroup, compile
//   without a word; the kernel hangs once the ring has gone round.
// wrong: The empty barriers are made for 64 arrivals, the consumer is one warp of 32 threads. The first tiles arrive;
//   when the producer wants the first slot back, its barrier has 32 of 64 arrivals. No thread is left to make the
//   others.
// says: can never complete: 32 of 64 arrivals
// fix: Make the empty barriers for the 32 threads that release.

func.func @tma_ring(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>,
    %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %consumers = arith.constant 64 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %consumers : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 1, 1>, isolated = false} {
    // The producer: one thread of the warp waits for an empty slot, announces the bytes, lets the copy engine fill it.
    %leader = nvvm.elect.sync -> i1
    scf.if %leader {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %s = arith.remui %k, %stages : i32
        %round = arith.divui %k, %stages : i32
        %bit = arith.andi %round, %c1 : i32
        %turn = arith.xori %bit, %c1 : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
        %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
        nvvm.mbarrier.try_wait.parity %e, %turn, %ticks : !llvm.ptr<3>, i32, i32
        nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
      }
    }
  }, {
    // The consumer: waits for a full slot, adds it up, gives it back.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %s = arith.remui %k, %stages : i32
      %round = arith.divui %k, %stages : i32
      %bit = arith.andi %round, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
