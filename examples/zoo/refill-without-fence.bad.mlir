// A slot read with ordinary loads and refilled by TMA
//
// kind: missing-fence
// level: nvvm mbarriers
// between: llvm.load, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: deepseek-ai/DeepEP#642
// happened: In DeepEP ordinary shared-memory loads of a buffer were followed by a TMA load into it. A wait on an
//   mbarrier stood between them, and yet the copy could land before the loads had read. A fence.proxy.async.shared::cta
//   was added, and the results became right on NVL72.
// wrong: The consumer reads the slot through the generic proxy and gives it back; the refill comes through the
//   asynchronous proxy. Reads need the fence as well as writes.
// says: generic read, then asynchronous write of shared 'ring'
// fix: fence.proxy.async by the consumer, between its last read and its arrive.

func.func @tma_ring(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>,
    %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The producer: waits for an empty slot, announces the bytes, lets the copy engine fill it.
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
      nvvm.mbarrier.arrive %e : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
