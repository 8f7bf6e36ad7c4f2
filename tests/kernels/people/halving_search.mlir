// Bisection for square roots of a tile, in as many turns as doublings of 1 are less than %n: a while loop around tiles.
!t = tensor<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %half = arith.constant dense<0.5> : !t
  %low0 = arith.constant dense<0.0> : !t
  %high0 = arith.constant dense<4.0> : !t
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %target = math.absf %v : !t
  %left, %low, %high = scf.while (%i = %c1, %l = %low0, %h = %high0) : (index, !t, !t) -> (index, !t, !t) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %l, %h : index, !t, !t
  } do {
  ^bb0(%i: index, %l: !t, %h: !t):
    %both = arith.addf %l, %h : !t
    %middle = arith.mulf %both, %half : !t
    %square = arith.mulf %middle, %middle : !t
    %is_low = arith.cmpf ole, %square, %target : !t
    %l1 = arith.select %is_low, %middle, %l : tensor<16x32xi1>, !t
    %h1 = arith.select %is_low, %h, %middle : tensor<16x32xi1>, !t
    %i1 = arith.muli %i, %c2 : index
    scf.yield %i1, %l1, %h1 : index, !t, !t
  }
  nv_tileaa.tiled_store %y[%c0, %c0], %low : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
