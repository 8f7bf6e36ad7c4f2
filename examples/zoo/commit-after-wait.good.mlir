// The good twin of commit-after-wait.bad.mlir: the group is committed before it is waited for.

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    nvvm.cp.async.shared.global %tile, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  nvvm.cp.async.wait.group 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
