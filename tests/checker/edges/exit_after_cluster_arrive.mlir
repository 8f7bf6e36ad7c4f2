// expect: safe; an arrival counts, also of a thread that leaves after it
func.func @k(%mem: !llvm.ptr<1>) {
  %fone = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    llvm.store %fone, %mem : f32, !llvm.ptr<1>
    nvvm.cluster.arrive
    nvvm.exit
  }, {
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %v = llvm.load %mem : !llvm.ptr<1> -> f32
  } : () -> ()
  func.return
}
