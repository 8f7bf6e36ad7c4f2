// expect: race; an asynchronous transfer is no ordinary write: no fence completes it
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    rocdl.load.async.to.lds %src, %lds, 16, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.barrier
  }, {
    rocdl.barrier
    %v = llvm.load %lds : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
