!t = tensor<16x512xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @rows(%x: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
  %log2e = arith.constant dense<1.4426950408> : !t
  %top = nv_tileaa.reduce %v attributes {axis = 1 : i32} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.maximumf %p, %q : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (!t) -> !row
  %top_col = nv_tileaa.expand_dims %top : (!row) -> !col
  %top_wide = nv_tileaa.broadcast %top_col : (!col) -> !t
  %below = arith.subf %v, %top_wide : !t
  %scaled = arith.mulf %below, %log2e : !t
  %e = nv_tileaa.exp2 %scaled attributes {flush_to_zero} : (!t) -> !t
  %sum = nv_tileaa.reduce %e attributes {axis = 1 : i32} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (!t) -> !row
  %sum_col = nv_tileaa.expand_dims %sum : (!row) -> !col
  %sum_wide = nv_tileaa.broadcast %sum_col : (!col) -> !t
  %w = nv_tileaa.divf %e, %sum_wide attributes {rounding_mode = #nv_tileaa<rounding_mode approx>} : (!t, !t) -> !t
  nv_tileaa.tiled_store %c[%i, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
