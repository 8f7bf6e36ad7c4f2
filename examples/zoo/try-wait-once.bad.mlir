// One try to wait, whatever comes of it
//
// kind: race
// level: nvvm mbarriers
// between: llvm.load, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: FlashGPU-Sim/FlashGPU-Sim#16
// happened: A simulator let mbarrier.try_wait block until the phase is over, which it need not be. The instruction
//   gives up after a time limit and says no. A kernel that was only ever run there need not look at the answer; on
//   hardware it reads too early.
// wrong: The consumer tries once and reads the tile, whether the answer is yes or no.
// says: nothing that orders the two
// fix: The wait that repeats the try until the answer is yes.

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
      nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.barrier id = %c2 number_of_threads = %c2
      nvvm.mbarrier.inval %full : !llvm.ptr<3>
    }
  }, {
    // The consumer: waits for the tile, and looks at it.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.barrier id = %c1 number_of_threads = %c2
      %ok = nvvm.mbarrier.try_wait %full, %c0, %ticks : !llvm.ptr<3>, i32, i32 -> i1
      %v = llvm.load %ring : !llvm.ptr<3> -> f32
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier id = %c2 number_of_threads = %c2
    }
  } : () -> ()
  func.return
}
