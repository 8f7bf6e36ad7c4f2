// The first of four blocks reads what each of them has left in its shared memory.
func.func @gather(%part: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {nvvm.cluster_dim = array<i32: 4, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %first = arith.cmpi eq, %rank, %c0 : i32
  llvm.store %one, %part : f32, !llvm.ptr<3>
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.if %first {
    %sum = scf.for %r = %c0 to %c4 step %c1 iter_args(%acc = %one) -> (f32) : i32 {
      %there = nvvm.mapa %part, %r : !llvm.ptr<3> -> !llvm.ptr<7>
      %v = llvm.load %there : !llvm.ptr<7> -> f32
      %next = arith.addf %acc, %v : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  }
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  func.return
}
