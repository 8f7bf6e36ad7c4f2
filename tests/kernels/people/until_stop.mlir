// Sums tiles until a flag in memory says stop, or %n of them are done: the loop is ended by data.
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %stop: memref<?xi32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !t
  %last, %sum = scf.while (%k = %c0, %acc = %zero) : (index, !t) -> (index, !t) {
    %flag = nv_tileaa.load %stop[%k] : (memref<?xi32>, index) -> i32
    %goes_on = arith.cmpi sle, %flag, %one : i32
    %inside = arith.cmpi slt, %k, %n : index
    %more = arith.andi %goes_on, %inside : i1
    scf.condition(%more) %k, %acc : index, !t
  } do {
  ^bb0(%k: index, %acc: !t):
    %v = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
    %next = arith.addf %acc, %v : !t
    %k1 = arith.addi %k, %c1 : index
    scf.yield %k1, %next : index, !t
  }
  nv_tileaa.tiled_store %y[%c0, %c0], %sum : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
