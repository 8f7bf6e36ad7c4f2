// Attention, forward: C = softmax(Q * K^T) * V for 64 queries, one tile of 16 keys in each step.
//
// The greatest score %m and the sum of weights %l of each query so far are carried; what was summed under an older
// maximum is scaled down by %old. K is stored transposed, and powers are of two.
#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xf16, #smem>
!k = tensor<16x16xf16, #smem>
!v = tensor<16x16xf16, #smem>
!s = tensor<64x16xf32>
!p = tensor<64x16xf16>
!col = tensor<64x1xf32>
!row = tensor<64xf32>
func.func @f(%q: memref<?x?xf16>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !s
  %scale = arith.constant dense<0.25> : !s
  %lowest = arith.constant dense<-1.0e+30> : !row
  %nothing = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %qt = nv_tileaa.tiled_load %q[%c0, %c0] : (memref<?x?xf16>, index, index) -> !q
  %acc, %top, %sum = scf.for %j = %c0 to %n step %c1
      iter_args(%out = %zero, %m = %lowest, %l = %nothing) -> (!s, !row, !row) {
    %kt = nv_tileaa.tiled_load %k[%c0, %j] : (memref<?x?xf16>, index, index) -> !k
    %vt = nv_tileaa.tiled_load %v[%j, %c0] : (memref<?x?xf16>, index, index) -> !v
    %s = nv_tileaa.dot %qt, %kt, %zero : (!q, !k, !s) -> !s
    %scaled = arith.mulf %s, %scale : !s
    %best = nv_tileaa.reduce %scaled attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %greater = arith.maximumf %x, %y : f32
      nv_tileaa.yield %greater : (f32) -> ()
    } : (!s) -> !row
    %m_new = arith.maximumf %m, %best : !row
    %fall = arith.subf %m, %m_new : !row
    %old = nv_tileaa.exp2 %fall : (!row) -> !row
    %m_col = nv_tileaa.expand_dims %m_new : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_col : (!col) -> !s
    %below = arith.subf %scaled, %m_wide : !s
    %p = nv_tileaa.exp2 %below : (!s) -> !s
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %two = arith.addf %x, %y : f32
      nv_tileaa.yield %two : (f32) -> ()
    } : (!s) -> !row
    %l_new = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row
    %old_col = nv_tileaa.expand_dims %old : (!row) -> !col
    %old_wide = nv_tileaa.broadcast %old_col : (!col) -> !s
    %kept = arith.mulf %out, %old_wide : !s
    %half = arith.truncf %p : !s to !p
    %out_new = nv_tileaa.dot %half, %vt, %kept : (!p, !v, !s) -> !s
    scf.yield %out_new, %m_new, %l_new : !s, !row, !row
  }
  %some = arith.maximumf %sum, %one : !row
  %l_col = nv_tileaa.expand_dims %some : (!row) -> !col
  %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !s
  %result = arith.divf %acc, %l_wide : !s
  nv_tileaa.tiled_store %c[%c0, %c0], %result : (memref<?x?xf32>, !s, index, index) -> ()
  func.return
}
