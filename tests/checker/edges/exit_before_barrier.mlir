// expect: safe; whoever has left is not waited for by a barrier of all threads
func.func @k(%mem: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    nvvm.exit
  }, {
    llvm.store %fone, %mem : f32, !llvm.ptr<1>
    nvvm.barrier0
  }, {
    nvvm.barrier0
    %v = llvm.load %mem : !llvm.ptr<1> -> f32
  } : () -> ()
  func.return
}
