// expect: safe; transfer, wait, barrier
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    rocdl.load.to.lds %src, %lds, 16, 0, 0 : <1>
    rocdl.s.waitcnt 3952
    rocdl.s.barrier
  }, {
    rocdl.s.barrier
    %v = llvm.load %lds : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
