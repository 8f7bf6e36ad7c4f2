// C = X tile by tile: the first agent loads, the second stores what it takes from the queue as it is.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x16xf32, #smem>
!queue = !nv_tileaa.queue<[!s], depth = 4>
func.func @f(%x: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qx = nv_tileaa.create_queue : () -> !queue
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qx[%k], %xt : (!queue, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.queue.get %qx[%k] : (!queue, index) -> !s
      nv_tileaa.tiled_store %c[%k, %c0], %xt : (memref<?x?xf32>, !s, index, index) -> ()
    }
  } : () -> ()
  func.return
}
