// expect: safe; the compiler waits for a load before it uses the value
func.func @k(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>, %out: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    rocdl.s.barrier
    llvm.store %fone, %lds : f32, !llvm.ptr<3>
  }, {
    %v = llvm.load %lds : !llvm.ptr<3> -> f32
    llvm.store %v, %out : f32, !llvm.ptr<1>
    rocdl.s.barrier
  } : () -> ()
  func.return
}
