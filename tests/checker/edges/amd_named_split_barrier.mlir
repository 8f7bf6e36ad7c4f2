// expect: refused; waves join a named barrier, which is not modelled
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    rocdl.s.barrier.signal id = 1
    rocdl.s.barrier.wait id = 1
  }, {
    %v = llvm.load %lds : !llvm.ptr<3> -> f32
  } : () -> ()
  func.return
}
