// The good twin of barrier-sixteen.bad.mlir: the barriers begin with 12.

func.func @k(%ring: !llvm.ptr<3>, %out: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %first = arith.constant 12 : i32
  %slots = arith.constant 4 : i32
  %warp = arith.constant 32 : i32
  %threads = arith.constant 64 : i32
  %one = arith.constant 1.0 : f32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %writes = arith.cmpi ult, %tid, %warp : i32
  scf.for %k = %c0 to %slots step %c1 : i32 {
    %slot = llvm.getelementptr %ring[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %full = arith.addi %first, %k : i32
    scf.if %writes {
      llvm.store %one, %slot : f32, !llvm.ptr<3>
      nvvm.barrier.arrive id = %full number_of_threads = %threads
    } else {
      nvvm.barrier id = %full number_of_threads = %threads
      %v = llvm.load %slot : !llvm.ptr<3> -> f32
      llvm.store %v, %out : f32, !llvm.ptr<1>
    }
  }
  func.return
}
