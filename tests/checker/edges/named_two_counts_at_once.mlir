// expect: malformed; two counts in one generation of a barrier
func.func @k(%mem: !llvm.ptr<1>) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    nvvm.barrier id = %c1 number_of_threads = %c2
  }, {
    nvvm.barrier id = %c1 number_of_threads = %c3
  }, {
    nvvm.barrier id = %c1 number_of_threads = %c3
  } : () -> ()
  func.return
}
