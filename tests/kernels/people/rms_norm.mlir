// y = x / rms(x) * gain, with x and y of f16 and the gain an array of one axis that stays in registers.
!h = tensor<16x64xf16>
!t = tensor<16x64xf32>
!row = tensor<16xf32>
!col = tensor<16x1xf32>
func.func @f(%x: memref<?x?xf16>, %gain: memref<?xf32>, %y: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %part = arith.constant dense<0.015625> : !row
  %least = arith.constant dense<1.0e-5> : !row
  %g = nv_tileaa.tiled_load %gain[%c0] : (memref<?xf32>, index) -> tensor<64xf32>
  %g_row = nv_tileaa.expand_dims %g : (tensor<64xf32>) -> tensor<1x64xf32>
  %g_wide = nv_tileaa.broadcast %g_row : (tensor<1x64xf32>) -> !t
  scf.for %i = %c0 to %n step %c1 {
    %half = nv_tileaa.tiled_load %x[%i, %c0] : (memref<?x?xf16>, index, index) -> !h
    %v = arith.extf %half : !h to !t
    %square = arith.mulf %v, %v : !t
    %sum = nv_tileaa.reduce %square attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %mean = nv_tileaa.fma %sum, %part, %least : (!row, !row, !row) -> !row
    %inverse = nv_tileaa.rsqrt %mean : (!row) -> !row
    %inverse_col = nv_tileaa.expand_dims %inverse : (!row) -> !col
    %inverse_wide = nv_tileaa.broadcast %inverse_col : (!col) -> !t
    %normal = arith.mulf %v, %inverse_wide : !t
    %scaled = arith.mulf %normal, %g_wide : !t
    %out = arith.truncf %scaled : !t to !h
    nv_tileaa.tiled_store %y[%i, %c0], %out : (memref<?x?xf16>, !h, index, index) -> ()
  }
  func.return
}
