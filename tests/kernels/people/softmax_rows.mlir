// Softmax of rows of 64 numbers, 16 rows a step. The loads say nothing of shared memory.
!t = tensor<16x64xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %log2e = arith.constant dense<1.4426950408> : !t
  scf.for %i = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
    %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.maximumf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %top_col = nv_tileaa.expand_dims %top : (!row) -> !col
    %top_wide = nv_tileaa.broadcast %top_col : (!col) -> !t
    %below = arith.subf %v, %top_wide : !t
    %scaled = arith.mulf %below, %log2e : !t
    %e = nv_tileaa.exp2 %scaled : (!t) -> !t
    %sum = nv_tileaa.reduce %e attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %sum_col = nv_tileaa.expand_dims %sum : (!row) -> !col
    %sum_wide = nv_tileaa.broadcast %sum_col : (!col) -> !t
    %w = arith.divf %e, %sum_wide : !t
    nv_tileaa.tiled_store %y[%i, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
