// A wrong answer: the fourth slot costs 32 KiB and no cycle becomes free.

#smem = #nv_tileas.layout<smem>
!a_tile = tensor<128x64xf16, #smem>
!b_tile = tensor<64x128xf16, #smem>
!c_tile = tensor<128x128xf32>
!a_queue = !nv_tileaa.queue<[!a_tile], depth = 4>
!b_queue = !nv_tileaa.queue<[!b_tile], depth = 4>

func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = nv_tileaa.get_program_id attributes {axis = 0 : i32} : () -> index
  %col = nv_tileaa.get_program_id attributes {axis = 1 : i32} : () -> index
  %qa = nv_tileaa.create_queue : () -> !a_queue
  %qb = nv_tileaa.create_queue : () -> !b_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    // The producer: loads.
    scf.for %k = %c0 to %n step %c1 {
      %at = nv_tileaa.tiled_load %a[%row, %k] : (memref<?x?xf16>, index, index) -> !a_tile
      nv_tileaa.queue.put %qa[%k], %at : (!a_queue, index, !a_tile) -> ()
      %bt = nv_tileaa.tiled_load %b[%k, %col] : (memref<?x?xf16>, index, index) -> !b_tile
      nv_tileaa.queue.put %qb[%k], %bt : (!b_queue, index, !b_tile) -> ()
    }
  }, {
    // The consumer: products, and the store.
    %zero = arith.constant dense<0.0> : !c_tile
    %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c_tile) {
      %at = nv_tileaa.queue.get %qa[%k] : (!a_queue, index) -> !a_tile
      %bt = nv_tileaa.queue.get %qb[%k] : (!b_queue, index) -> !b_tile
      %sum = nv_tileaa.dot %at, %bt, %acc : (!a_tile, !b_tile, !c_tile) -> !c_tile
      scf.yield %sum : !c_tile
    }
    nv_tileaa.tiled_store %c[%row, %col], %product : (memref<?x?xf32>, !c_tile, index, index) -> ()
  } : () -> ()
  func.return
}
