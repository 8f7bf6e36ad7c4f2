// A relaxed arrival at the barrier of the cluster
//
// kind: race
// level: nvvm mbarriers
// between: llvm.store, llvm.load
// mirrors: triton-lang/triton#11404, sgl-project/sglang#38829
// happened: A pass took a relaxed barrier of the cluster for one that orders memory, and left out the barrier that
//   does. In a kernel of SGLang a review found the same: a relaxed arrival behind writes that other blocks read after
//   the wait.
// wrong: The first block writes, arrives relaxed and waits. All blocks meet, and the write is ordered before nothing.
// says: nothing that orders the two
// fix: An arrival that releases.

func.func @exchange(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // One block writes, and both meet.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %one = arith.constant 1.0 : f32
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %one, %o : f32, !llvm.ptr<1>
      nvvm.cluster.arrive.relaxed
      nvvm.cluster.wait
    }
  }, {
    // The other block reads what it finds.
    scf.for %k = %c0 to %n step %c1 : i32 {
      nvvm.cluster.arrive
      nvvm.cluster.wait
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %v = llvm.load %o : !llvm.ptr<1> -> f32
    }
  } : () -> ()
  func.return
}
