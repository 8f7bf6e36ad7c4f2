// An offset of 32 bits wraps around, and a wait is left out
//
// kind: race
// level: nvvm cp.async
// between: nvvm.cp.async.shared.global, llvm.load
// mirrors: general: row number times row size in 32 bits
// happened: Kernels compute offsets in 32 bits. From row 2,097,152 on, of 1024 elements each, the product is negative,
//   and a test whether it is inside says no. A verdict names the number from which an integer overflows.
// wrong: The last two rows are taken for rows before the array, and their copies are not awaited.
// says: a wait that completes
// fix: Test the number of the row, which does not overflow.

func.func @k(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>) {
  %first = arith.constant 2097150 : i32
  %last = arith.constant 2097154 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %row = arith.constant 1024 : i32
  scf.for %k = %first to %last step %c1 : i32 {
    nvvm.cp.async.shared.global %tile, %src, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    %offset = arith.muli %k, %row : i32
    %is_inside = arith.cmpi sge, %offset, %c0 : i32
    scf.if %is_inside {
      nvvm.cp.async.wait.group 0
    }
    %v = llvm.load %tile : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  }
  nvvm.cp.async.wait.group 0
  func.return
}
