// Stream-K: a program has %n steps of the steps of all tiles, which may begin and end inside of a tile. What it has of
// a tile is added to the result where the tile ends, or its own steps do.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
!v = !nv_tileaa.tiled_view<64x32xf32>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %per_tile = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : !c
  %view = nv_tileaa.block_tile %c attributes {tileSizes = array<i64: 64, 32>, dimGroups = [array<i32: 0>, array<i32: 1>]} : (memref<?x?xf32>) -> !v
  %me = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %first = arith.muli %me, %n : index
  %end = arith.addi %first, %n : index
  %left = scf.for %step = %first to %end step %c1 iter_args(%acc = %zero) -> (!c) {
    %tile = arith.divui %step, %per_tile : index
    %k = arith.remui %step, %per_tile : index
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
    %bt = nv_tileaa.tiled_load %b[%k, %tile] : (memref<?x?xf16>, index, index) -> !b
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
    %k1 = arith.addi %k, %c1 : index
    %step1 = arith.addi %step, %c1 : index
    %ends = arith.cmpi eq, %k1, %per_tile : index
    %last = arith.cmpi eq, %step1, %end : index
    %done = arith.ori %ends, %last : i1
    %next = scf.if %done -> (!c) {
      %old = nv_tileaa.tiled_atomic_rmw %view[%c0, %tile], %sum attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !c, index, index) -> !c
      scf.yield %zero : !c
    } else {
      scf.yield %sum : !c
    }
    scf.yield %next : !c
  }
  func.return
}
