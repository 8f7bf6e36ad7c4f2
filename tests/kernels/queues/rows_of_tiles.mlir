// C = A * B for one row of tiles after the other, in two agents. The queue goes on from one to the next: its puts and
// gets do not say in which slot.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!queue = !nv_tileaa.queue<[!a, !b], depth = 3>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q = nv_tileaa.create_queue : () -> !queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        %at = nv_tileaa.tiled_load %a[%i, %k] : (memref<?x?xf16>, index, index) -> !a
        %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
        nv_tileaa.queue.put %q, %at, %bt : (!queue, !a, !b) -> ()
      }
    }
  }, {
    scf.for %i = %c0 to %c2 step %c1 {
      %zero = arith.constant dense<0.0> : !c
      %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
        %at, %bt = nv_tileaa.queue.get %q : (!queue) -> (!a, !b)
        %sum = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
        scf.yield %sum : !c
      }
      nv_tileaa.tiled_store %c[%i, %c0], %product : (memref<?x?xf32>, !c, index, index) -> ()
    }
  } : () -> ()
  func.return
}
