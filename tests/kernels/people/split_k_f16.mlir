// Each program sums a part of K, and adds it to the result, which begins with zeros.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x32xf16, #smem>
!b = tensor<32x64xf16, #smem>
!c = tensor<64x64xf32>
!v = !nv_tileaa.tiled_view<64x64xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !c
  %part = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %parts = nv_tileaa.get_num_programs attributes {axis = 0 : i32} : () -> index
  %sum = scf.for %k = %part to %n step %parts iter_args(%acc = %zero) -> (!c) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
    %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    scf.yield %next : !c
  }
  %view = nv_tileaa.block_tile %c attributes {tileSizes = array<i64: 64, 64>, dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !v
  %old = nv_tileaa.tiled_atomic_rmw %view[%c0, %c0], %sum attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !c, index, index) -> !c
  func.return
}
