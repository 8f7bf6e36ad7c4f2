// expect: unsafe; relaxed arrive releases nothing
func.func @k(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %mem: !llvm.ptr<1>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %fone = arith.constant 1.0 : f32

  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {

      llvm.store %fone, %mem : f32, !llvm.ptr<1>
      nvvm.cluster.arrive.relaxed
      nvvm.cluster.wait
  }, {

      nvvm.cluster.arrive
      nvvm.cluster.wait
      %x = llvm.load %mem : !llvm.ptr<1> -> f32
  } : () -> ()

  func.return
}
