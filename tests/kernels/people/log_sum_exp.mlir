// The logarithm of the sum of exponentials of each row, stored as an array of one axis.
!t = tensor<32x64xf32>
!row = tensor<32xf32>
!col = tensor<32x1xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.maximumf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %col = nv_tileaa.expand_dims %top : (!row) -> !col
    %wide = nv_tileaa.broadcast %col : (!col) -> !t
    %below = arith.subf %v, %wide : !t
    %e = math.exp %below : !t
    %sum = nv_tileaa.reduce %e attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %log = math.log %sum : !row
    %all = arith.addf %log, %top : !row
    nv_tileaa.tiled_store %y[%i], %all : (memref<?xf32>, !row, index) -> ()
  }
  func.return
}
