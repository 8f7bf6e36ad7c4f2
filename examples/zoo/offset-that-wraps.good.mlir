// The good twin of offset-that-wraps.bad.mlir: the row is tested, and not the offset.

func.func @k(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  %first = arith.constant 2097150 : i32
  %last = arith.constant 2097154 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %row = arith.constant 1024 : i32
  scf.for %k = %first to %last step %c1 : i32 {
    nvvm.cp.async.shared.global %tile, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    %is_inside = arith.cmpi sge, %k, %c0 : i32
    scf.if %is_inside {
      nvvm.cp.async.wait.group 0
    }
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  }
  nvvm.cp.async.wait.group 0
  func.return
}
