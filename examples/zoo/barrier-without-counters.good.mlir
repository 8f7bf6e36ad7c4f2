// The good twin of barrier-without-counters.bad.mlir: each wave waits for its LDS accesses before it meets the other.

func.func @exchange(%out: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // This wave writes the tile.
    scf.for %k = %c0 to %n step %c1 : i32 {
      llvm.store %one, %lds : f32, !llvm.ptr<3>
      rocdl.s.waitcnt 49279
      rocdl.s.barrier
      rocdl.s.barrier
    }
  }, {
    // This one reads it.
    scf.for %k = %c0 to %n step %c1 : i32 {
      rocdl.s.barrier
      %v = llvm.load %lds : !llvm.ptr<3> -> f32
      %o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %v, %o : f32, !llvm.ptr<1>
      rocdl.s.barrier
    }
  } : () -> ()
  func.return
}
