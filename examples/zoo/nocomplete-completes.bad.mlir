// An arrival that must not complete the phase, and does
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.arrive.nocomplete, nvvm.mbarrier.init
// mirrors: NVIDIA (PTX ISA, mbarrier.arrive), NVlabs/cuda-oxide#1100
// happened: mbarrier.arrive.noComplete is cheaper than an arrival, and its author promises that it is not the last of
//   the phase. PTX leaves it undefined if it is. cuda-oxide gives the intrinsic to Rust as an unsafe function.
// wrong: The barrier counts two arrivals, one of the helper and one of the leader, and nothing says that the leader
//   comes last. Each of the two may complete the phase.
// says: completes
// fix: The helper, too, arrives without a promise.

func.func @join(%tile: !llvm.ptr<3>, %out: !llvm.ptr<1>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %full, %c2 : !llvm.ptr<3>, i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The helper: writes the tile, and tells the leader.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      llvm.store %one, %tile : f32, !llvm.ptr<3>
      %state = nvvm.mbarrier.arrive.nocomplete %full, %c1 : !llvm.ptr<3>, i32 -> i64
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.barrier0
    }
  }, {
    // The leader: waits until the tile is there, and reads it.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.arrive %full : !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %tile : !llvm.ptr<3> -> f32
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
      nvvm.barrier0
    }
  } : () -> ()
  func.return
}
