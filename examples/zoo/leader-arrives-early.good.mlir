// The good twin of leader-arrives-early.bad.mlir: the consumers meet before the slot is given back.

func.func @partition(%ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %out: !llvm.ptr<1>, %seen: !llvm.ptr<1>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pair = arith.constant 2 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    // The producer: fills the slot when it is empty.
    %one = arith.constant 1.0 : f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      llvm.store %one, %ring : f32, !llvm.ptr<3>
      nvvm.mbarrier.arrive %full : !llvm.ptr<3>
    }
  }, {
    // The leader of the consumers: reads the slot and gives it back.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %ring : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.barrier id = %c1 number_of_threads = %pair
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  }, {
    // The follower: notes each slot that it has seen full.
    %one = arith.constant 1.0 : f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %note = llvm.getelementptr %seen[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %one, %note : f32, !llvm.ptr<1>
      nvvm.barrier id = %c1 number_of_threads = %pair
    }
  } : () -> ()
  func.return
}
