// Layer normalisation: each row of 32 numbers less its mean, over its deviation, times a gain, plus an offset.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x32xf32, #smem>
!t = tensor<16x32xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @f(%x: memref<?x?xf32>, %g: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %part = arith.constant dense<0.03125> : !row
  %least = arith.constant dense<1.0e-5> : !row
  %gain = nv_tileaa.tiled_load %g[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %offset = nv_tileaa.tiled_load %b[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  scf.for %k = %c0 to %n step %c1 {
    %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
    %xv = nv_tileas.convert_layout %xt : (!s) -> !t
    %sum = nv_tileaa.reduce %xv attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %two = arith.addf %p, %q : f32
      nv_tileaa.yield %two : (f32) -> ()
    } : (!t) -> !row
    %mean = arith.mulf %sum, %part : !row
    %mean_col = nv_tileaa.expand_dims %mean : (!row) -> !col
    %mean_wide = nv_tileaa.broadcast %mean_col : (!col) -> !t
    %away = arith.subf %xv, %mean_wide : !t
    %square = arith.mulf %away, %away : !t
    %squares = nv_tileaa.reduce %square attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %two = arith.addf %p, %q : f32
      nv_tileaa.yield %two : (f32) -> ()
    } : (!t) -> !row
    %variance = nv_tileaa.fma %squares, %part, %least : (!row, !row, !row) -> !row
    %inverse = nv_tileaa.rsqrt %variance : (!row) -> !row
    %inverse_col = nv_tileaa.expand_dims %inverse : (!row) -> !col
    %inverse_wide = nv_tileaa.broadcast %inverse_col : (!col) -> !t
    %normal = arith.mulf %away, %inverse_wide : !t
    %scaled = arith.mulf %normal, %gain : !t
    %y = arith.addf %scaled, %offset : !t
    nv_tileaa.tiled_store %c[%k, %c0], %y : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
