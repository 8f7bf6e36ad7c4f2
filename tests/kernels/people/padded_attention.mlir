// Attention with a mask from memory: where it is 0 a key is padding, and no query looks at it. No running maximum.
#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xf16, #smem>
!k = tensor<16x32xf16, #smem>
!v = tensor<32x16xf16, #smem>
!s = tensor<64x32xf32>
!p = tensor<64x32xf16>
!o = tensor<64x16xf32>
!row = tensor<64xf32>
!col = tensor<64x1xf32>
func.func @f(%q: memref<?x?xf16>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %real: memref<?xi32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0.0> : !s
  %zero = arith.constant dense<0.0> : !o
  %scale = arith.constant dense<0.25> : !s
  %nothing = arith.constant dense<0.0> : !row
  %least = arith.constant dense<1.0> : !row
  %no = arith.constant dense<0> : tensor<64x32xi32>
  %qt = nv_tileaa.tiled_load %q[%c0, %c0] : (memref<?x?xf16>, index, index) -> !q
  %acc, %sum = scf.for %j = %c0 to %n step %c1 iter_args(%out = %zero, %l = %nothing) -> (!o, !row) {
    %kt = nv_tileaa.tiled_load %k[%c0, %j] : (memref<?x?xf16>, index, index) -> !k
    %vt = nv_tileaa.tiled_load %v[%j, %c0] : (memref<?x?xf16>, index, index) -> !v
    %rt = nv_tileaa.tiled_load %real[%j] : (memref<?xi32>, index) -> tensor<32xi32>
    %r_row = nv_tileaa.expand_dims %rt : (tensor<32xi32>) -> tensor<1x32xi32>
    %r_wide = nv_tileaa.broadcast %r_row : (tensor<1x32xi32>) -> tensor<64x32xi32>
    %is_real = arith.cmpi ne, %r_wide, %no : tensor<64x32xi32>
    %s = nv_tileaa.dot %qt, %kt, %none : (!q, !k, !s) -> !s
    %scaled = arith.mulf %s, %scale : !s
    %e = nv_tileaa.exp2 %scaled : (!s) -> !s
    %p = arith.select %is_real, %e, %none : tensor<64x32xi1>, !s
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!s) -> !row
    %l1 = arith.addf %l, %p_sum : !row
    %half = arith.truncf %p : !s to !p
    %out1 = nv_tileaa.dot %half, %vt, %out : (!p, !v, !o) -> !o
    scf.yield %out1, %l1 : !o, !row
  }
  %some = arith.maximumf %sum, %least : !row
  %l_col = nv_tileaa.expand_dims %some : (!row) -> !col
  %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !o
  %result = arith.divf %acc, %l_wide : !o
  nv_tileaa.tiled_store %y[%c0, %c0], %result : (memref<?x?xf32>, !o, index, index) -> ()
  func.return
}
