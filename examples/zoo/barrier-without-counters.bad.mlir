// A barrier of the workgroup, and LDS writes that nobody waited for
//
// kind: race
// level: AMDGPU counters
// between: llvm.store, llvm.load
// mirrors: GPUOpen-Drivers/llpc#1886, llvm/llvm-project#154970
// happened: LLVM used to wait for all memory operations before an s_barrier, and stopped doing so on targets where the
//   barrier can back off. LLPC had relied on it, and had to insert its own waits.
// wrong: s_barrier lets waves meet and says nothing of their memory operations. The LDS write may still be under way
//   (LLVM, User Guide for AMDGPU Backend, Memory Model gfx942: s_waitcnt lgkmcnt(0) comes before s_barrier).
// says: nothing that orders the two
// fix: Wait until lgkmcnt is 0, then meet.

func.func @exchange(%out: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // This wave writes the tile.
    scf.for %k = %c0 to %n step %c1 : i32 {
      llvm.store %one, %lds : f32, !llvm.ptr<3>
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
