// C = A * B in two agents: the first loads tiles into two queues of three slots, the second multiplies.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!a_queue = !nv_tileaa.queue<[!a], depth = 3>
!b_queue = !nv_tileaa.queue<[!b], depth = 3>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qa = nv_tileaa.create_queue : () -> !a_queue
  %qb = nv_tileaa.create_queue : () -> !b_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
    scf.for %k = %c0 to %n step %c1 {
      %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
      nv_tileaa.queue.put %qa[%k], %at : (!a_queue, index, !a) -> ()
      %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
      nv_tileaa.queue.put %qb[%k], %bt : (!b_queue, index, !b) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !c
    %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %at = nv_tileaa.queue.get %qa[%k] : (!a_queue, index) -> !a
      %bt = nv_tileaa.queue.get %qb[%k] : (!b_queue, index) -> !b
      %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %sum : !c
    }
    nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
