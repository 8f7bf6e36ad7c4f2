// A named barrier that counts more threads than come
//
// kind: deadlock
// level: nvvm named barriers
// between: nvvm.barrier, nvvm.barrier
// mirrors: deepseek-ai/FlashMLA#41, deepseek-ai/FlashMLA#57
// happened: Readers of FlashMLA saw a named barrier with the count of all 256 threads in the branch of one of its two
//   warpgroups. They asked whether that hangs. It does unless the other warpgroup comes to the same barrier.
// wrong: The barrier waits for 256 threads (PTX ISA, barrier: the count is that of the threads which take part). Only
//   the 128 of the compute warps ever come. The load warp waits for the slot that they would give back.
// says: no agent can go on
// fix: The count is that of the threads that come.

func.func @softmax(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %slot: !llvm.ptr<3>, %full: !llvm.ptr<3>,
    %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 512 : i32
  %ticks = arith.constant 1000 : i32
  %threads = arith.constant 256 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
    num_warps = array<i32: 4, 1>, isolated = false} {
    // The compute warps: all have read the tile before one thread gives the slot back.
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %mine = llvm.getelementptr %slot[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %v = llvm.load %mine : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier id = %c1 number_of_threads = %threads
      scf.if %first {
        nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      }
      %line = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
      %to = llvm.getelementptr %line[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %to : f32, !llvm.ptr<1>
    }
  }, {
    // The load warp.
    %one = nvvm.elect.sync -> i1
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<128 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      scf.if %one {
        nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %full, %bytes : !llvm.ptr<3>, <1>
      }
    }
  } : () -> ()
  func.return
}
