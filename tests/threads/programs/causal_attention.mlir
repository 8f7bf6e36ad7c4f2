#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xf16, #smem>
!k = tensor<16x16xf16, #smem>
!v = tensor<16x16xf16, #smem>
!s = tensor<64x16xf32>
!p = tensor<64x16xf16>
!col = tensor<64x1xf32>
!row = tensor<64xf32>
func.func @f(%q: memref<?x?xf16>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !s
  %scale = arith.constant dense<0.25> : !s
  %neg = arith.constant dense<-1.0e+30> : !s
  %lowest = arith.constant dense<-1.0e+30> : !row
  %nothing = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %qt = nv_tileaa.tiled_load %q[%c0, %c0] : (memref<?x?xf16>, index, index) -> !q
  %acc, %top, %sum = scf.for %j = %c0 to %n step %c1
      iter_args(%out = %zero, %m = %lowest, %l = %nothing) -> (!s, !row, !row) {
    %kt = nv_tileaa.tiled_load %k[%c0, %j] : (memref<?x?xf16>, index, index) -> !k
    %vt = nv_tileaa.tiled_load %v[%j, %c0] : (memref<?x?xf16>, index, index) -> !v
    %s = nv_tileaa.dot %qt, %kt, %zero : (!q, !k, !s) -> !s
    %scaled0 = arith.mulf %s, %scale : !s
    %ji = arith.index_cast %j : index to i32
    %c16 = arith.constant 16 : i32
    %joff = arith.muli %ji, %c16 : i32
    %keep = nv_tileaa.generate {
    ^bb0(%gr: i32, %gc: i32):
      %kc = arith.addi %gc, %joff : i32
      %ok = arith.cmpi sge, %gr, %kc : i32
      nv_tileaa.yield %ok : (i1) -> ()
    } : () -> tensor<64x16xi1>
    %scaled = arith.select %keep, %scaled0, %neg : tensor<64x16xi1>, !s
    %best = nv_tileaa.reduce %scaled attributes {axis = 1 : i32} {
    ^bb0(%rx: f32, %ry: f32):
      %rz = arith.maximumf %rx, %ry : f32
      nv_tileaa.yield %rz : (f32) -> ()
    } : (!s) -> !row
    %m_new = arith.maximumf %m, %best : !row
    %fall = arith.subf %m, %m_new : !row
    %old = nv_tileaa.exp2 %fall : (!row) -> !row
    %m_wide_c = nv_tileaa.expand_dims %m_new : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_wide_c : (!col) -> !s
    %below = arith.subf %scaled, %m_wide : !s
    %p = nv_tileaa.exp2 %below : (!s) -> !s
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%rx: f32, %ry: f32):
      %rz = arith.addf %rx, %ry : f32
      nv_tileaa.yield %rz : (f32) -> ()
    } : (!s) -> !row
    %l_new = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row
    %old_wide_c = nv_tileaa.expand_dims %old : (!row) -> !col
    %old_wide = nv_tileaa.broadcast %old_wide_c : (!col) -> !s
    %kept = arith.mulf %out, %old_wide : !s
    %half = arith.truncf %p : !s to !p
    %out_new = nv_tileaa.dot %half, %vt, %kept : (!p, !v, !s) -> !s
    scf.yield %out_new, %m_new, %l_new : !s, !row, !row
  }
  %some = arith.maximumf %sum, %one : !row
  %l_wide_c = nv_tileaa.expand_dims %some : (!row) -> !col
    %l_wide = nv_tileaa.broadcast %l_wide_c : (!col) -> !s
  %result = arith.divf %acc, %l_wide : !s
  nv_tileaa.tiled_store %y[%c0, %c0], %result : (memref<?x?xf32>, !s, index, index) -> ()
  func.return
}
