// Warp-specialised attention: O = softmax(Q * K^T / 8) * V for 64 queries of 64 dimensions, f16 in, f32 out.
//
// One agent streams tiles of K (stored transposed) and V through two queues of two slots; the other holds the queries,
// and between the two products of each step keeps the softmax up to date: the greatest score `%m` and the sum of
// weights `%l` of each query so far. What was summed under an older maximum is scaled down by `%old`. `%n` is the
// number of tiles of 64 keys. Powers are of two, so the scores are scaled by log2(e) / 8.

#smem = #nv_tileas.layout<smem>
!q_tile = tensor<64x64xf16>
!k_tile = tensor<64x64xf16, #smem>
!v_tile = tensor<64x64xf16, #smem>
!scores = tensor<64x64xf32>
!column = tensor<64x1xf32>
!row = tensor<64xf32>
!k_queue = !nv_tileaa.queue<[!k_tile], depth = 2>
!v_queue = !nv_tileaa.queue<[!v_tile], depth = 2>
!v_view = !nv_tileaa.tiled_view<64x64xf16, gmem>

func.func @attention(%q: memref<64x64xf16>, %kt: memref<64x?xf16>, %v: memref<?x64xf16>, %o: memref<64x64xf32>,
                     %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qk = nv_tileaa.create_queue : () -> !k_queue
  %qv = nv_tileaa.create_queue : () -> !v_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    // The producer: keys and values, tile by tile.
    %values = nv_tileaa.block_tile %v attributes {tileSizes = array<i64: 64, 64>,
      dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x64xf16>) -> !v_view
    scf.for %j = %c0 to %n step %c1 {
      %k_tile = nv_tileaa.tiled_load %kt[%c0, %j] : (memref<64x?xf16>, index, index) -> !k_tile
      nv_tileaa.queue.put %qk[%j], %k_tile : (!k_queue, index, !k_tile) -> ()
      %v_tile = nv_tileaa.tiled_load %values[%j, %c0] : (!v_view, index, index) -> !v_tile
      nv_tileaa.queue.put %qv[%j], %v_tile : (!v_queue, index, !v_tile) -> ()
    }
  }, {
    // The consumer: scores, softmax so far, weighted values.
    %queries = nv_tileaa.tiled_load %q[%c0, %c0] : (memref<64x64xf16>, index, index) -> !q_tile
    %zero = arith.constant dense<0.0> : !scores
    %scale = arith.constant dense<0.18033688> : !scores
    %lowest = arith.constant dense<-1.0e+30> : !row
    %nothing = arith.constant dense<0.0> : !row
    %acc, %top, %weights = scf.for %j = %c0 to %n step %c1
        iter_args(%out = %zero, %m = %lowest, %l = %nothing) -> (!scores, !row, !row) {
      %k_tile = nv_tileaa.queue.get %qk[%j] : (!k_queue, index) -> !k_tile
      %s = nv_tileaa.dot %queries, %k_tile, %zero : (!q_tile, !k_tile, !scores) -> !scores
      %scaled = nv_tileaa.mulf %s, %scale : (!scores, !scores) -> !scores

      // The new maximum, and what it makes of the old sums.
      %best = nv_tileaa.reduce %scaled attributes {axis = 1 : i32} {
      ^bb0(%x: f32, %y: f32):
        %greater = arith.maximumf %x, %y : f32
        nv_tileaa.yield %greater : (f32) -> ()
      } : (!scores) -> !row
      %m_new = arith.maximumf %m, %best : !row
      %fall = nv_tileaa.subf %m, %m_new : (!row, !row) -> !row
      %old = nv_tileaa.exp2 %fall : (!row) -> !row

      // The weights of this tile's keys.
      %m_column = nv_tileaa.expand_dims %m_new : (!row) -> !column
      %m_wide = nv_tileaa.broadcast %m_column : (!column) -> !scores
      %below = nv_tileaa.subf %scaled, %m_wide : (!scores, !scores) -> !scores
      %p = nv_tileaa.exp2 %below : (!scores) -> !scores
      %p_sum = nv_tileaa.reduce %p attributes {axis = 1 : i32} {
      ^bb0(%x: f32, %y: f32):
        %sum = arith.addf %x, %y : f32
        nv_tileaa.yield %sum : (f32) -> ()
      } : (!scores) -> !row
      %l_new = nv_tileaa.fma %l, %old, %p_sum : (!row, !row, !row) -> !row

      // The values, weighted.
      %old_column = nv_tileaa.expand_dims %old : (!row) -> !column
      %old_wide = nv_tileaa.broadcast %old_column : (!column) -> !scores
      %kept = nv_tileaa.mulf %out, %old_wide : (!scores, !scores) -> !scores
      %p_half = nv_tileaa.fp_to_fp %p : (!scores) -> !q_tile
      %v_tile = nv_tileaa.queue.get %qv[%j] : (!v_queue, index) -> !v_tile
      %out_new = nv_tileaa.dot %p_half, %v_tile, %kept : (!q_tile, !v_tile, !scores) -> !scores
      scf.yield %out_new, %m_new, %l_new : !scores, !row, !row
    }
    %l_column = nv_tileaa.expand_dims %weights : (!row) -> !column
    %l_wide = nv_tileaa.broadcast %l_column : (!column) -> !scores
    %result = nv_tileaa.divf %acc, %l_wide : (!scores, !scores) -> !scores
    nv_tileaa.tiled_store %o[%c0, %c0], %result : (memref<64x64xf32>, !scores, index, index) -> ()
  } : () -> ()
  func.return
}
