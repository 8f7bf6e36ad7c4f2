!t = tensor<8x32xf32>
!v = !nv_tileaa.tiled_view<8x32xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = nv_tileaa.tiled_load %x[%c0, %c0] : (memref<?x?xf32>, index, index) -> !t
  %u = nv_tileaa.tiled_load %x[%c1, %c0] : (memref<?x?xf32>, index, index) -> !t
  %w = nv_tileaa.block_tile %y attributes {tileSizes = array<i64: 8, 32>, dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !v
  %old = nv_tileaa.tiled_atomic_rmw %w[%c0, %c0], %v attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !t, index, index) -> !t
  %olds = nv_tileaa.tiled_atomic_rmw %w[%c0, %c0], %u attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !t, index, index) -> !t
  func.return
}
