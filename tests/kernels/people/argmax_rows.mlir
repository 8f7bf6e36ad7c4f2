// Which column of each row has the greatest number; of several that do, the first.
!t = tensor<32x32xf32>
!i = tensor<32x32xi32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nowhere = arith.constant dense<1000> : !i
  %column = nv_tileaa.generate {
  ^bb0(%r: i32, %c: i32):
    nv_tileaa.yield %c : (i32) -> ()
  } : () -> !i
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> tensor<32xf32>
    %col = nv_tileaa.expand_dims %top : (tensor<32xf32>) -> tensor<32x1xf32>
    %wide = nv_tileaa.broadcast %col : (tensor<32x1xf32>) -> !t
    %is_top = arith.cmpf oeq, %v, %wide : !t
    %where = arith.select %is_top, %column, %nowhere : tensor<32x32xi1>, !i
    %first = nv_tileaa.reduce %where attributes {axis = 1 : i32} {
    ^bb0(%a: i32, %b: i32):
      %r = arith.minsi %a, %b : i32
      nv_tileaa.yield %r : (i32) -> ()
    } : (!i) -> tensor<32xi32>
    nv_tileaa.tiled_store %y[%i], %first : (memref<?xi32>, tensor<32xi32>, index) -> ()
  }
  func.return
}
