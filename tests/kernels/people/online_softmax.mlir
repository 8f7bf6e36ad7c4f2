// Softmax of long rows: the first loop carries the greatest number and the sum so far, the second one writes.
!t = tensor<32x32xf32>
!row = tensor<32xf32>
!col = tensor<32x1xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %log2e = arith.constant dense<1.4426950408> : !t
  %lowest = arith.constant dense<-1.0e+30> : !row
  %nothing = arith.constant dense<0.0> : !row
  %top, %total = scf.for %j = %c0 to %n step %c1 iter_args(%m = %lowest, %l = %nothing) -> (!row, !row) {
    %v = nv_tileaa.tiled_load %x[%c0, %j] : (memref<?x?xf32>, index, index) -> !t
    %s = arith.mulf %v, %log2e : !t
    %best = nv_tileaa.reduce %s attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.maximumf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %m1 = arith.maximumf %m, %best : !row
    %fall = arith.subf %m, %m1 : !row
    %old = nv_tileaa.exp2 %fall : (!row) -> !row
    %m_col = nv_tileaa.expand_dims %m1 : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_col : (!col) -> !t
    %below = arith.subf %s, %m_wide : !t
    %e = nv_tileaa.exp2 %below : (!t) -> !t
    %sum = nv_tileaa.reduce %e attributes {axis = 1 : i32} {
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      nv_tileaa.yield %r : (f32) -> ()
    } : (!t) -> !row
    %l1 = nv_tileaa.fma %l, %old, %sum : (!row, !row, !row) -> !row
    scf.yield %m1, %l1 : !row, !row
  }
  scf.for %j = %c0 to %n step %c1 {
    %v = nv_tileaa.tiled_load %x[%c0, %j] : (memref<?x?xf32>, index, index) -> !t
    %s = arith.mulf %v, %log2e : !t
    %m_col = nv_tileaa.expand_dims %top : (!row) -> !col
    %m_wide = nv_tileaa.broadcast %m_col : (!col) -> !t
    %below = arith.subf %s, %m_wide : !t
    %e = nv_tileaa.exp2 %below : (!t) -> !t
    %l_col = nv_tileaa.expand_dims %total : (!row) -> !col
    %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !t
    %w = arith.divf %e, %l_wide : !t
    nv_tileaa.tiled_store %y[%c0, %j], %w : (memref<?x?xf32>, !t, index, index) -> ()
  }
  func.return
}
