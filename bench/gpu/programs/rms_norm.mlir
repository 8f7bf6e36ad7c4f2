!t = tensor<16x512xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @rows(%x: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %i = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %v = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf32>, index, index) -> !t
  %many = arith.constant dense<512.0> : !row
  %small = arith.constant dense<1.0e-5> : !row
  %sq = arith.mulf %v, %v : !t
  %sum = nv_tileaa.reduce %sq attributes {axis = 1 : i32} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    nv_tileaa.yield %r : (f32) -> ()
  } : (!t) -> !row
  %mean = arith.divf %sum, %many : !row
  %safe = arith.addf %mean, %small : !row
  %inv = nv_tileaa.rsqrt %safe : (!row) -> !row
  %inv_col = nv_tileaa.expand_dims %inv : (!row) -> !col
  %inv_wide = nv_tileaa.broadcast %inv_col : (!col) -> !t
  %w = arith.mulf %v, %inv_wide : !t
  nv_tileaa.tiled_store %c[%i, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
  func.return
}
