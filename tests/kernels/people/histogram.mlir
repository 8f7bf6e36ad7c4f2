// How many numbers of a tile are in each of 32 bins: compare with all bins, count, and add to the counts of all programs.
!x = tensor<64xi32>
!m = tensor<64x32xi32>
!bins = tensor<32xi32>
!v = !nv_tileaa.tiled_view<32xi32>
func.func @f(%x: memref<?xi32>, %y: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0> : !bins
  %zeros = arith.constant dense<0> : !m
  %ones = arith.constant dense<1> : !m
  %bin = nv_tileaa.generate {
  ^bb0(%r: i32, %c: i32):
    nv_tileaa.yield %c : (i32) -> ()
  } : () -> !m
  %counts = scf.for %k = %c0 to %n step %c1 iter_args(%so_far = %none) -> (!bins) {
    %numbers = nv_tileaa.tiled_load %x[%k] : (memref<?xi32>, index) -> !x
    %col = nv_tileaa.expand_dims %numbers : (!x) -> tensor<64x1xi32>
    %wide = nv_tileaa.broadcast %col : (tensor<64x1xi32>) -> !m
    %is_in = arith.cmpi eq, %wide, %bin : !m
    %each = arith.select %is_in, %ones, %zeros : tensor<64x32xi1>, !m
    %count = nv_tileaa.reduce %each attributes {axis = 0 : i32} {
    ^bb0(%a: i32, %b: i32):
      %r = arith.addi %a, %b : i32
      nv_tileaa.yield %r : (i32) -> ()
    } : (!m) -> !bins
    %next = arith.addi %so_far, %count : !bins
    scf.yield %next : !bins
  }
  %view = nv_tileaa.block_tile %y attributes {tileSizes = array<i64: 32>, dimGroups = [array<i32: 0>]} : (memref<?xi32>) -> !v
  %old = nv_tileaa.tiled_atomic_rmw %view[%c0], %counts attributes {rmw_mode = #nv_tileaa<rmw_mode add>} : (!v, !bins, index) -> !bins
  func.return
}
