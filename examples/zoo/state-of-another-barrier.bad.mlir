// A barrier is tested for the state of another one
//
// kind: malformed
// level: nvvm mbarriers
// between: nvvm.mbarrier.test.wait
// mirrors: NVIDIA (PTX ISA, mbarrier.test_wait)
// happened: An arrival returns a state, which stands for the phase it was in. PTX lets a test name a state of the same
//   barrier only, of the current phase or of the one before. Two barriers whose phases change alike hide the mistake
//   for a while.
// wrong: The agent that fills the tile again tests the barrier of the way back for the state of the other barrier.
// says: tests mbarrier 'empty' + 0 for a state that an arrival at mbarrier 'full' + 0 has given
// fix: Name the state of the last arrival at the barrier that is tested.

func.func @k(%tile: !llvm.ptr<3>, %out: !llvm.ptr<1>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>) {
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  nvvm.mbarrier.init %full, %c2 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c2 : !llvm.ptr<3>, i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    llvm.store %one, %tile : f32, !llvm.ptr<3>
    %filled = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64
    %taken = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
    scf.while : () -> () {
      %over = nvvm.mbarrier.test.wait %empty, %filled : !llvm.ptr<3>, i64 -> i1
      %more = arith.xori %over, %true : i1
      scf.condition(%more)
    } do {
      scf.yield
    }
    llvm.store %one, %tile : f32, !llvm.ptr<3>
  }, {
    %filled = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64
    scf.while : () -> () {
      %over = nvvm.mbarrier.test.wait %full, %filled : !llvm.ptr<3>, i64 -> i1
      %more = arith.xori %over, %true : i1
      scf.condition(%more)
    } do {
      scf.yield
    }
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    %taken = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
    llvm.store %v, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
