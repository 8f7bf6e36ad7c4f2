// expect: race; a signal hands over no store that is not waited for
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    llvm.store %fone, %lds : f32, !llvm.ptr<3>
    rocdl.s.barrier.signal id = -1
    rocdl.s.wait.dscnt 0
    rocdl.s.barrier.wait id = -1
  }, {
    rocdl.s.barrier.signal id = -1
    rocdl.s.barrier.wait id = -1
    %v = llvm.load %lds : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
