// A warp-specialised matrix product: C = A * B, f16 in, f32 out.
//
// Two agents share the work. The first loads tiles of A and B and puts them into two queues of three slots each; the
// second takes them out, multiplies, and stores the 128x128 tile of C. The queues say that data flows, not how: the
// producer runs up to three tiles ahead, and blocks when the slots are full. `%n` is the number of tiles along K.
//
//   tileas run examples/gemm_queue.mlir --arg a=128x192:iota --arg b=192x128:iota --arg c=128x128:zeros --arg n=3

#smem = #nv_tileas.layout<smem>
!a_tile = tensor<128x64xf16, #smem>
!b_tile = tensor<64x128xf16, #smem>
!acc = tensor<128x128xf32>
!a_queue = !nv_tileaa.queue<[!a_tile], depth = 3>
!b_queue = !nv_tileaa.queue<[!b_tile], depth = 3>
!a_view = !nv_tileaa.tiled_view<128x64xf16, gmem>
!b_view = !nv_tileaa.tiled_view<64x128xf16, gmem>
!c_view = !nv_tileaa.tiled_view<128x128xf32, gmem>

func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %av = nv_tileaa.block_tile %a attributes {tileSizes = array<i64: 128, 64>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf16>) -> !a_view
  %bv = nv_tileaa.block_tile %b attributes {tileSizes = array<i64: 64, 128>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf16>) -> !b_view
  %cv = nv_tileaa.block_tile %c attributes {tileSizes = array<i64: 128, 128>,
    dimGroups = [array<i64: 0>, array<i64: 1>]} : (memref<?x?xf32>) -> !c_view
  %qa = nv_tileaa.create_queue : () -> !a_queue
  %qb = nv_tileaa.create_queue : () -> !b_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    // The producer.
    scf.for %k = %c0 to %n step %c1 {
      %at = nv_tileaa.tiled_load %av[%row, %k] : (!a_view, index, index) -> !a_tile
      nv_tileaa.queue.put %qa[%k], %at : (!a_queue, index, !a_tile) -> ()
      %bt = nv_tileaa.tiled_load %bv[%k, %col] : (!b_view, index, index) -> !b_tile
      nv_tileaa.queue.put %qb[%k], %bt : (!b_queue, index, !b_tile) -> ()
    }
  }, {
    // The consumer.
    %zero = arith.constant dense<0.0> : !acc
    %out = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %at = nv_tileaa.queue.get %qa[%k] : (!a_queue, index) -> !a_tile
      %bt = nv_tileaa.queue.get %qb[%k] : (!b_queue, index) -> !b_tile
      %sum = nv_tileaa.dot %at, %bt, %acc : (!a_tile, !b_tile, !acc) -> !acc
      scf.yield %sum : !acc
    }
    nv_tileaa.tiled_store %cv[%row, %col], %out : (!c_view, !acc, index, index) -> ()
  } : () -> ()
  func.return
}
