#smem = #nv_tileas.layout<smem>
!s = tensor<16x32xf32, #smem>
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %last, %sum = scf.while (%k = %c0, %acc = %zero) : (index, !t) -> (index, !t) {
    %more = arith.cmpi slt, %k, %n : index
    scf.condition(%more) %k, %acc : index, !t
  } do {
  ^bb0(%k: index, %acc: !t):
    %row = scf.for %j = %c0 to %k step %c1 iter_args(%part = %acc) -> (!t) {
      %u = nv_tileaa.tiled_load %x[%j, %c0] : (memref<?x?xf32>, index, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      %next = arith.addf %part, %v : !t
      scf.yield %next : !t
    }
    nv_tileaa.tiled_store %y[%k, %c0], %row : (memref<?x?xf32>, !t, index, index) -> ()
    %k1 = arith.addi %k, %c1 : index
    scf.yield %k1, %row : index, !t
  }
  nv_tileaa.tiled_store %y[%c0, %c1], %sum : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
