// Attention, forward, in two agents: the first streams tiles of K and, through a view, of V; the second holds the queries.
//
// The greatest score %m and the sum of weights %l of each query so far are carried, as in attention_64.
#smem = #nv_tileas.layout<smem>
!q = tensor<64x16xf16, #smem>
!k = tensor<16x16xf16, #smem>
!v = tensor<16x16xf16, #smem>
!s = tensor<64x16xf32>
!p = tensor<64x16xf16>
!col = tensor<64x1xf32>
!row = tensor<64xf32>
!k_queue = !nv_tileaa.queue<[!k], depth = 2>
!v_queue = !nv_tileaa.queue<[!v], depth = 3>
!v_view = !nv_tileaa.tiled_view<16x16xf16, gmem>
func.func @f(%q: memref<?x?xf16>, %k: memref<?x?xf16>, %v: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qk = nv_tileaa.create_queue : () -> !k_queue
  %qv = nv_tileaa.create_queue : () -> !v_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    %values = nv_tileaa.block_tile %v attributes {tileSizes = array<i64: 16, 16>,
      dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf16>) -> !v_view
    scf.for %j = %c0 to %n step %c1 {
      %kt = nv_tileaa.tiled_load %k[%c0, %j] : (memref<?x?xf16>, index, index) -> !k
      nv_tileaa.queue.put %qk[%j], %kt : (!k_queue, index, !k) -> ()
      %vt = nv_tileaa.tiled_load %values[%j, %c0] : (!v_view, index, index) -> !v
      nv_tileaa.queue.put %qv[%j], %vt : (!v_queue, index, !v) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !s
    %scale = arith.constant dense<0.25> : !s
    %lowest = arith.constant dense<-1.0e+30> : !row
    %nothing = arith.constant dense<0.0> : !row
    %one = arith.constant dense<1.0> : !row
    %qt = nv_tileaa.tiled_load %q[%c0, %c0] : (memref<?x?xf16>, index, index) -> !q
    %acc, %top, %sum = scf.for %j = %c0 to %n step %c1
        iter_args(%out = %zero, %m = %lowest, %l = %nothing) -> (!s, !row, !row) {
      %kt = nv_tileaa.queue.get %qk[%j] : (!k_queue, index) -> !k
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
      %vt = nv_tileaa.queue.get %qv[%j] : (!v_queue, index) -> !v
      %out_new = nv_tileaa.dot %half, %vt, %kept : (!p, !v, !s) -> !s
      scf.yield %out_new, %m_new, %l_new : !s, !row, !row
    }
    %some = arith.maximumf %sum, %one : !row
    %l_col = nv_tileaa.expand_dims %some : (!row) -> !col
    %l_wide = nv_tileaa.broadcast %l_col : (!col) -> !s
    %result = arith.divf %acc, %l_wide : !s
    nv_tileaa.tiled_store %c[%c0, %c0], %result : (memref<?x?xf32>, !s, index, index) -> ()
  } : () -> ()
  func.return
}
