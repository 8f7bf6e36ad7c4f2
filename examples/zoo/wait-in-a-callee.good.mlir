// The good twin of wait-in-a-callee.bad.mlir: the function that waits makes a mark of its own.

func.func private @drain() {
  rocdl.asyncmark
  rocdl.wait.asyncmark 0
  func.return
}

func.func @sum(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    rocdl.load.async.to.lds %from, %tile, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
    func.call @drain() : () -> ()
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  }
  rocdl.wait.asyncmark 0
  llvm.store %sum, %out : f32, !llvm.ptr<1>
  func.return
}
