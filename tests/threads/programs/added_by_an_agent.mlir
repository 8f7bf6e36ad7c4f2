#smem = #nv_tileas.layout<smem>
!s = tensor<16x32xf32, #smem>
!t = tensor<16x32xf32>
!q = !nv_tileaa.queue<[!s], depth = 3>
!v = !nv_tileaa.tiled_view<16x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qx = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qx[%k], %u : (!q, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.queue.get %qx[%k] : (!q, index) -> !s
      %t = nv_tileas.convert_layout %u : (!s) -> !t
      %w = nv_tileaa.block_tile %y attributes {tileSizes = array<i64: 16, 32>, dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !v
      %old = nv_tileaa.tiled_atomic_rmw %w[%c0, %c0], %t attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !t, index, index) -> !t
      %before = nv_tileaa.tiled_load %z[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
      %after = arith.addf %before, %t : !t
      nv_tileaa.tiled_store %z[%c0, %c0], %after : (memref<?x?xf32>, !t, index, index) -> ()
    }
  } : () -> ()
  func.return
}
