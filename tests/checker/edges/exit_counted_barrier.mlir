// expect: deadlock; a barrier with a count goes on waiting for threads that have left
func.func @k(%mem: !llvm.ptr<1>) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    nvvm.exit
  }, {
    nvvm.barrier id = %c1 number_of_threads = %c2
  } : () -> ()
  func.return
}
