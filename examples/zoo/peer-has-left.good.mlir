// The good twin of peer-has-left.bad.mlir: the blocks meet before they end.

func.func @add_up(%part: !llvm.ptr<3>, %out: !llvm.ptr<1>, %n: i32) attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %adds = arith.cmpi eq, %rank, %c0 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %own = llvm.getelementptr %part[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %one, %own : f32, !llvm.ptr<3>
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %adds {
    %there = nvvm.mapa %part, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %one) -> (f32) : i32 {
      %word = llvm.getelementptr %there[%k] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, f32
      %v = llvm.load %word : !llvm.ptr<7> -> f32
      %next = arith.addf %acc, %v : f32
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  func.return
}
