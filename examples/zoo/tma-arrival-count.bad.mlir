// An init count of 32 for a barrier at which one elected thread arrives
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.mbarrier.init
// mirrors: NVIDIA/cutlass#2404
// happened: A first warp-specialised pipeline in the CuTe DSL, one warp that loads by TMA and one warpgroup that
//   consumes, never came to its end. The user gave the producer group the size of its warp, 32, tried other sizes, and
//   asked how one debugs such a thing. The answer was that one thread copies, so the arrival count of the producer is
//   1.
// wrong: The full barriers are made for 32 arrivals. One elected thread arrives, so no phase of them ever completes:
//   the consumer waits for the first tile for ever, the producer for a slot.
// says: can never complete: 1 of 32 arrivals
// fix: Make the full barriers for the one thread that arrives.

func.func @tma_ring(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>,
    %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %threads = arith.constant 128 : i32
  %producers = arith.constant 32 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %producers : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %threads : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 1, 4>, isolated = false} {
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
