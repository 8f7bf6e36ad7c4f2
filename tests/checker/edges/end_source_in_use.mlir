// expect: undrained; the kernel ends while a store still reads shared memory
func.func @k(%ring: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %bytes = arith.constant 1024 : i32
  nvvm.cp.async.bulk.global.shared.cta %out, %ring, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  func.return
}
