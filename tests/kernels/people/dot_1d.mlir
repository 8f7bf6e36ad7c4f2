// The scalar product of two vectors: a tile of sums, then one number, in a tile of one element.
!t = tensor<256xf32>
func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !t
  %sums = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!t) {
    %a = nv_tileaa.tiled_load %x[%i] : (memref<?xf32>, index) -> !t
    %b = nv_tileaa.tiled_load %y[%i] : (memref<?xf32>, index) -> !t
    %next = nv_tileaa.fma %a, %b, %acc : (!t, !t, !t) -> !t
    scf.yield %next : !t
  }
  %one_row = nv_tileaa.expand_dims %sums : (!t) -> tensor<1x256xf32>
  %all = nv_tileaa.reduce %one_row attributes {axis = 1 : i32} {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (tensor<1x256xf32>) -> tensor<1xf32>
  nv_tileaa.tiled_store %z[%c0], %all : (memref<?xf32>, tensor<1xf32>, index) -> ()
  func.return
}
