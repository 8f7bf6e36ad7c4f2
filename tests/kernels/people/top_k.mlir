// The %n greatest numbers of each row, one a turn: the one that was found is taken out, by its column.
!t = tensor<32x32xf32>
!i = tensor<32x32xi32>
!row = tensor<32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nowhere = arith.constant dense<1000> : !i
  %lowest = arith.constant dense<-1.0e+30> : !t
  %column = nv_tileaa.generate {
  ^bb0(%r: i32, %c: i32):
    nv_tileaa.yield %c : (i32) -> ()
  } : () -> !i
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %rest = scf.for %i = %c0 to %n step %c1 iter_args(%left = %v) -> (!t) {
    %top = nv_tileaa.reduce %left attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %col = nv_tileaa.expand_dims %top : (!row) -> tensor<32x1xf32>
    nv_tileaa.tiled_store %y[%c0, %i], %col : (memref<?x?xf32>, tensor<32x1xf32>, index, index) -> ()
    %wide = nv_tileaa.broadcast %col : (tensor<32x1xf32>) -> !t
    %is_top = arith.cmpf oeq, %left, %wide : !t
    %where = arith.select %is_top, %column, %nowhere : tensor<32x32xi1>, !i
    %first = nv_tileaa.reduce %where attributes {axis = 1 : i32} {
    ^bb0(%a: i32, %b: i32):
      %r = arith.minsi %a, %b : i32
      nv_tileaa.yield %r : (i32) -> ()
    } : (!i) -> tensor<32xi32>
    %first_col = nv_tileaa.expand_dims %first : (tensor<32xi32>) -> tensor<32x1xi32>
    %first_wide = nv_tileaa.broadcast %first_col : (tensor<32x1xi32>) -> !i
    %found = arith.cmpi eq, %column, %first_wide : !i
    %next = arith.select %found, %lowest, %left : tensor<32x32xi1>, !t
    scf.yield %next : !t
  }
  func.return
}
