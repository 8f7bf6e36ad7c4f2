#smem = #nv_tileas.layout<smem>
!q = tensor<128x128xf16, #smem>
!k = tensor<128x128xf16, #smem>
!v = tensor<128x128xf16, #smem>
!s = tensor<128x128xf32>
!p = tensor<128x128xf16>
!o = tensor<128x128xf32>
!oh = tensor<128x128xf16>
!col = tensor<128x1xf32>
!row = tensor<128xf32>
func.func @attention(%q: memref<?x?xf16>, %kt: memref<?x?xf16>, %v: memref<?x?xf16>, %c: memref<?x?xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !s
  %empty = arith.constant dense<0.0> : !o
  %scale = arith.constant dense<0.12751743> : !s
  %scale_row = arith.constant dense<0.12751743> : !row
  %minus_one = arith.constant dense<-1.0> : !row
  %lowest = arith.constant dense<-1.0e+30> : !row
  %nothing = arith.constant dense<0.0> : !row
  %one = arith.constant dense<1.0> : !row
  %qi = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %head = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %end = arith.addi %qi, %c1 : index
  %hidden = arith.constant dense<-1.0e+30> : !s
  %c128 = arith.constant 128 : index
  %qt = nv_tileaa.tiled_load %q[%qi, %head] : (memref<?x?xf16>, index, index) -> !q
  %acc, %top, %sum = scf.for %j = %c0 to %end step %c1
      iter_args(%out = %empty, %m = %lowest, %l = %nothing) -> (!o, !row, !row) {
    %kt_ = nv_tileaa.tiled_load %kt[%head, %j] : (memref<?x?xf16>, index, index) -> !k
    %vt = nv_tileaa.tiled_load %v[%j, %head] : (memref<?x?xf16>, index, index) -> !v
    %dots = nv_tileaa.dot %qt, %kt_, %zero : (!q, !k, !s) -> !s
    %behind = arith.subi %qi, %j : index
    %behind_by = arith.muli %behind, %c128 : index
    %shift = arith.index_cast %behind_by : index to i32
    %seen = nv_tileaa.generate {
    ^bb0(%r: i32, %column: i32):
      %query = arith.addi %r, %shift : i32
      %ok = arith.cmpi sge, %query, %column : i32
      nv_tileaa.yield %ok : (i1) -> ()
    } : () -> tensor<128x128xi1>
    %s = arith.select %seen, %dots, %hidden : tensor<128x128xi1>, !s
    %best = nv_tileaa.reduce %s attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %greater = arith.maximumf %x, %y : f32
      nv_tileaa.yield %greater : (f32) -> ()
    } : (!s) -> !row
    %scaled = arith.mulf %best, %scale_row : !row
    %m_new = arith.maximumf %m, %scaled : !row
    %fall = arith.subf %m, %m_new : !row
    %old = nv_tileaa.exp2 %fall attributes {flush_to_zero} : (!row) -> !row
    %m_minus = arith.mulf %m_new, %minus_one : !row
    %m_col = nv_tileaa.expand_dims %m_minus : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_col : (!col) -> !s
    %below = nv_tileaa.fma %s, %scale, %m_wide : (!s, !s, !s) -> !s
    %p = nv_tileaa.exp2 %below attributes {flush_to_zero} : (!s) -> !s
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%x: f32, %y: f32):
      %two = arith.addf %x, %y : f32
      nv_tileaa.yield %two : (f32) -> ()
    } : (!s) -> !row
    %l_new = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row
    %old_col = nv_tileaa.expand_dims %old : (!row) -> !col
    %old_wide = nv_tileaa.broadcast %old_col : (!col) -> !o
    %kept = arith.mulf %out, %old_wide : !o
    %half = arith.truncf %p : !s to !p
    %out_new = nv_tileaa.dot %half, %vt, %kept : (!p, !v, !o) -> !o
    scf.yield %out_new, %m_new, %l_new : !o, !row, !row
  }
  %some = arith.maximumf %sum, %one : !row
  %l_col = nv_tileaa.expand_dims %some : (!row) -> !col
  %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !o
  %result = nv_tileaa.divf %acc, %l_wide attributes {rounding_mode = #nv_tileaa<rounding_mode approx>} : (!o, !o) -> !o
  %h = arith.truncf %result : !o to !oh
  nv_tileaa.tiled_store %c[%qi, %head], %h : (memref<?x?xf16>, !oh, index, index) -> ()
  func.return
}
