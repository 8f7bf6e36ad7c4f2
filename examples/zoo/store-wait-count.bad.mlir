// Two stages, and a wait that leaves one store in flight
//
// kind: race
// level: nvvm bulk groups
// between: nvvm.cp.async.bulk.global.shared.cta, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: deepseek-ai/DeepEP#657
// happened: A copy through shared memory with two stages: load by TMA, store by TMA, prefetch the next tile into the
//   same stage. Before the prefetch it waited until at most stages - 1 = 1 stores were pending. The store of this stage
//   is the youngest, so nothing was waited for, and the load overwrote what the store was still reading.
// wrong: `wait_group 1 {read}` leaves exactly the store that reads the slot about to be refilled.
// says: write after read on shared 'ring'
// fix: Wait until no store is reading any more, before its own slot is refilled.

func.func @tma_copy(%src: !llvm.ptr<1>, %dst: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  %short = arith.minui %n, %stages : i32
  scf.for %k = %c0 to %short step %c1 : i32 {
    %f = llvm.getelementptr %full[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %slot, %from, %f, %bytes : !llvm.ptr<3>, <1>
  }
  scf.for %k = %c0 to %n step %c1 : i32 {
    %s = arith.remui %k, %stages : i32
    %round = arith.divui %k, %stages : i32
    %bit = arith.andi %round, %c1 : i32
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    %to = llvm.getelementptr %dst[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.cp.async.bulk.global.shared.cta %to, %slot, %bytes : <1>, <3>
    nvvm.cp.async.bulk.commit.group
    %ahead = arith.addi %k, %stages : i32
    %more = arith.cmpi ult, %ahead, %n : i32
    scf.if %more {
      %from = llvm.getelementptr %src[%ahead] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.cp.async.bulk.wait_group 1 {read}
      nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %slot, %from, %f, %bytes : !llvm.ptr<3>, <1>
    }
  }
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
