// Causal attention: a block of queries looks at the blocks of keys up to its own, and masks inside of the last one.
#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xf16, #smem>
!k = tensor<64x16xf16, #smem>
!kt = tensor<16x64xf16, #smem>
!v = tensor<64x16xf16, #smem>
!s = tensor<64x64xf32>
!p = tensor<64x64xf16>
!o = tensor<64x16xf32>
!col = tensor<64x1xf32>
!row = tensor<64xf32>
!i = tensor<64x64xi32>
func.func @f(%q: memref<?x?xf16>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %y: memref<?x?xf32>, %block: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant dense<0.0> : !s
  %zero = arith.constant dense<0.0> : !o
  %scale = arith.constant dense<0.25> : !s
  %hidden = arith.constant dense<-1.0e+30> : !s
  %lowest = arith.constant dense<-1.0e+30> : !row
  %nothing = arith.constant dense<0.0> : !row
  %end = arith.addi %block, %c1 : index
  %qt = nv_tileaa.tiled_load %q[%block, %c0] : (memref<?x?xf16>, index, index) -> !q
  %acc, %top, %sum = scf.for %j = %c0 to %end step %c1 iter_args(%out = %zero, %m = %lowest, %l = %nothing) -> (!o, !row, !row) {
    %kt = nv_tileaa.tiled_load %k[%j, %c0] : (memref<?x?xf16>, index, index) -> !k
    %vt = nv_tileaa.tiled_load %v[%j, %c0] : (memref<?x?xf16>, index, index) -> !v
    %turned = nv_tileaa.permute %kt attributes {permutation = array<i64: 1, 0>} : (!k) -> !kt
    %dots = nv_tileaa.dot %qt, %turned, %none : (!q, !kt, !s) -> !s
    %scaled = arith.mulf %dots, %scale : !s
    %behind = arith.subi %block, %j : index
    %behind_by = arith.muli %behind, %c64 : index
    %shift = arith.index_cast %behind_by : index to i32
    %seen = nv_tileaa.generate {
    ^bb0(%r: i32, %c: i32):
      %query = arith.addi %r, %shift : i32
      %ok = arith.cmpi sge, %query, %c : i32
      nv_tileaa.yield %ok : (i1) -> ()
    } : () -> tensor<64x64xi1>
    %s = arith.select %seen, %scaled, %hidden : tensor<64x64xi1>, !s
    %best = nv_tileaa.reduce %s attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!s) -> !row
    %m1 = arith.maximumf %m, %best : !row
    %fall = arith.subf %m, %m1 : !row
    %old = nv_tileaa.exp2 %fall : (!row) -> !row
    %m_col = nv_tileaa.expand_dims %m1 : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_col : (!col) -> !s
    %below = arith.subf %s, %m_wide : !s
    %p = nv_tileaa.exp2 %below : (!s) -> !s
    %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!s) -> !row
    %l1 = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row
    %old_col = nv_tileaa.expand_dims %old : (!row) -> !col
    %old_wide = nv_tileaa.broadcast %old_col : (!col) -> !o
    %kept = arith.mulf %out, %old_wide : !o
    %half = arith.truncf %p : !s to !p
    %out1 = nv_tileaa.dot %half, %vt, %kept : (!p, !v, !o) -> !o
    scf.yield %out1, %m1, %l1 : !o, !row, !row
  }
  %l_col = nv_tileaa.expand_dims %sum : (!row) -> !col
  %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !o
  %result = arith.divf %acc, %l_wide : !o
  nv_tileaa.tiled_store %y[%block, %c0], %result : (memref<?x?xf32>, !o, index, index) -> ()
  func.return
}
