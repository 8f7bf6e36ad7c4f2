#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
!v = !nv_tileaa.tiled_view<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %z = nv_tileaa.get_program_id attributes {axis = 2 : i32} : () -> index
  %first = arith.muli %z, %n : index
  %end = arith.addi %first, %n : index
  %r = scf.for %k = %first to %end step %c1 iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %s = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %s : !c
  }
  %w = nv_tileaa.block_tile %y attributes {tileSizes = array<i64: 64, 32>, dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !v
  %old = nv_tileaa.tiled_atomic_rmw %w[%c0, %c0], %r attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !c, index, index) -> !c
  func.return
}
