// Two blocks write to each other, turn by turn.
func.func @exchange(%mine: !llvm.ptr<3>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %other = arith.xori %rank, %c1 : i32
  %peer = nvvm.mapa %mine, %other : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.cluster.arrive {aligned}
  nvvm.cluster.wait {aligned}
  scf.for %k = %c0 to %n step %c1 : i32 {
    llvm.store %one, %peer : f32, !llvm.ptr<7>
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %v = llvm.load %mine : !llvm.ptr<3> -> f32
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
  }
  func.return
}
