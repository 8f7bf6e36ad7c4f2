// expect: race; wait_group.read frees the source, and says nothing of the target
func.func @k(%ring: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %bytes = arith.constant 1024 : i32
  nvvm.cp.async.bulk.global.shared.cta %out, %ring, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  %v = llvm.load %out : !llvm.ptr<1> -> f32
  func.return
}
