// expect: race; an exit is no arrival: what was written before it is not ordered by the barrier of the others
func.func @k(%mem: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    llvm.store %fone, %mem : f32, !llvm.ptr<1>
    nvvm.exit
  }, {
    nvvm.barrier0
  }, {
    nvvm.barrier0
    %v = llvm.load %mem : !llvm.ptr<1> -> f32
  } : () -> ()
  func.return
}
