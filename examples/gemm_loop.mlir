// A matrix product as one synchronous loop: C = A * B, f16 in, f32 out.
//
// One program computes one 128x128 tile of C. Each iteration loads the next 128x64 tile of A and 64x128 tile of B
// into shared memory and adds their product to the accumulator, which stays in registers. Nothing overlaps: this is
// the loop before anybody pipelines it. `%n` is the number of tiles along K.
//
//   tileas run examples/gemm_loop.mlir --arg a=128x192:iota --arg b=192x128:iota --arg c=128x128:zeros --arg n=3

#smem = #nv_tileas.layout<smem>
!a_tile = tensor<128x64xf16, #smem>
!b_tile = tensor<64x128xf16, #smem>
!acc = tensor<128x128xf32>
!a_view = !nv_tileaa.tiled_view<128x64xf16, gmem>
!b_view = !nv_tileaa.tiled_view<64x128xf16, gmem>
!c_view = !nv_tileaa.tiled_view<128x128xf32, gmem>

func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !acc
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %av = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 128, 64>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf16>) -> !a_view
  %bv = nv_tileaa.block_tile %b attributes {tileSizes = array<i64: 64, 128>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf16>) -> !b_view
  %cv = nv_tileaa.block_tile %c attributes {tileSizes = array<i64: 128, 128>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf32>) -> !c_view
  %out = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
    %at = nv_tileaa.tiled_load %av[%row, %k] : (!a_view, index, index) -> !a_tile
    %bt = nv_tileaa.tiled_load %bv[%k, %col] : (!b_view, index, index) -> !b_tile
    %sum = nv_tileaa.dot %at, %bt, %acc : (!a_tile, !b_tile, !acc) -> !acc
    scf.yield %sum : !acc
  }
  nv_tileaa.tiled_store %cv[%row, %col], %out : (!c_view, !acc, index, index) -> ()
  func.return
}
