// Prefix sums along rows, tile by tile: what the tiles before have summed to is carried on.
!t = tensor<16x32xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nothing = arith.constant dense<0.0> : !row
  %all = scf.for %j = %c0 to %n step %c1 iter_args(%before = %nothing) -> (!row) {
    %v = nv_tileaa.tiled_load %x[%c0, %j] : (memref<?x?xf32>, index, index) -> !t
    %inside = nv_tileaa.scan %v attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !t
    %col = nv_tileaa.expand_dims %before : (!row) -> !col
    %wide = nv_tileaa.broadcast %col : (!col) -> !t
    %so_far = arith.addf %inside, %wide : !t
    nv_tileaa.tiled_store %y[%c0, %j], %so_far : (memref<?x?xf32>, !t, index, index) -> ()
    %sum = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %next = arith.addf %before, %sum : !row
    scf.yield %next : !row
  }
  func.return
}
