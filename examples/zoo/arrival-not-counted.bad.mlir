// An arrival behind copies that the barrier does not count
//
// kind: race
// level: nvvm mbarriers, cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: NVIDIA (PTX ISA, cp.async.mbarrier.arrive), NVIDIA/cccl#3602
// happened: cp.async.mbarrier.arrive first adds one to the pending count, unless it has .noinc, and takes it off
//   again when the copies are there. So it holds the phase up without a place in the init count, but only from when
//   it is executed. The library libcu++ gives both forms to CUDA C++.
// wrong: The barrier counts one arrival, that of the reader. Where the reader arrives before the loader has added
//   its own, the phase is complete, and nothing waits for the copy.
// says: with nothing that orders the two
// fix: With noinc, and an init count of two: then the phase has to wait for the loader.

func.func @load(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>,
    %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The loader: waits until the tile has been read, and fills it again.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %line = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.cp.async.shared.global %tile, %line, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.mbarrier.arrive %full : !llvm.ptr<3>
    }
  }, {
    // The reader: adds up what has come.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.arrive %full : !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %tile : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
