// Two tiles brought ahead, in the one block that has a single tile
//
// kind: undrained
// level: nvvm mbarriers
// between: nvvm.cp.async.bulk.shared.cluster.global
// mirrors: triton-lang/triton#2716
// happened: In causal attention the number of key tiles depends on the block: block i has i + 1 of them. A prologue
//   that always brings two tiles is right in every block but the first. Triton's pipeliner brought more tiles than a
//   loop has iterations, too.
// wrong: In block 0 nothing waits for the second tile: it is copied to shared memory that belongs to another block by
//   then. A check of one block, or of blocks with a fixed number of tiles, does not see it.
// says: asynchronous work may be unfinished when the function ends
// fix: The second tile is brought only where there is one.

func.func @attention(%keys: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %stages = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %zero = arith.constant 0.0 : f32
  scf.for %s = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
  }
  nvvm.fence.mbarrier.init
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %tiles = arith.addi %block, %c1 : i32
  // The prologue: tiles 0 and 1.
  scf.for %k = %c0 to %stages step %c1 : i32 {
    %f = llvm.getelementptr %full[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    %tile = llvm.getelementptr %keys[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
    nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
  }
  // Each turn uses tile k and brings tile k + 2.
  %sum = scf.for %k = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %s = arith.remui %k, %stages : i32
    %round = arith.divui %k, %stages : i32
    %bit = arith.andi %round, %c1 : i32
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
    nvvm.mbarrier.try_wait.parity %f, %bit, %ticks : !llvm.ptr<3>, i32, i32
    %v = llvm.load %slot : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %ahead = arith.addi %k, %stages : i32
    %more = arith.cmpi slt, %ahead, %tiles : i32
    scf.if %more {
      %tile = llvm.getelementptr %keys[%ahead] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>
      nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>
    }
    scf.yield %next : f32
  }
  %o = llvm.getelementptr %out[%block] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %sum, %o : f32, !llvm.ptr<1>
  func.return
}
