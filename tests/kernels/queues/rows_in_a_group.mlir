// C = A * (sum of B) for 128 rows in three agents: the first loads tiles of B, and two of one group multiply them with
// 64 rows of A, each with its own.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!b_queue = !nv_tileaa.queue<[!b], depth = 3>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qb = nv_tileaa.create_queue : () -> !b_queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>, max_regs = array<i32: 40, 232>} {
    scf.for %k = %c0 to %n step %c1 {
      %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
      nv_tileaa.queue.put %qb[%k], %bt : (!b_queue, index, !b) -> ()
    }
  }, {
  ^bb0(%number: index):
    %zero = arith.constant dense<0.0> : !c
    %at = nv_tileaa.tiled_load %a[%number, %c0] : (memref<?x?xf16>, index, index) -> !a
    %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %bt = nv_tileaa.queue.get %qb[%k] : (!b_queue, index) -> !b
      %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %sum : !c
    }
    nv_tileaa.tiled_store %c[%number, %c0], %product : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
