// C = (X + Y) * X tile by tile in three agents: each of the first two loads one array, the third computes.
#smem = #nv_tileas.layout<smem>
!s = tensor<16x16xf32, #smem>
!queue = !nv_tileaa.queue<[!s], depth = 4>
!short = !nv_tileaa.queue<[!s], depth = 3>
!t = tensor<16x16xf32>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qx = nv_tileaa.create_queue : () -> !queue
  %qy = nv_tileaa.create_queue : () -> !short
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qx[%k], %xt : (!queue, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %yt = nv_tileaa.tiled_load %y[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qy[%k], %yt : (!short, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c1 {
      %xt = nv_tileaa.queue.get %qx[%k] : (!queue, index) -> !s
      %yt = nv_tileaa.queue.get %qy[%k] : (!short, index) -> !s
      %xv = nv_tileas.convert_layout %xt : (!s) -> !t
      %yv = nv_tileas.convert_layout %yt : (!s) -> !t
      %sum = arith.addf %xv, %yv : !t
      %product = arith.mulf %sum, %xv : !t
      nv_tileaa.tiled_store %c[%k, %c0], %product : (memref<?x?xf32>, !t, index, index) -> ()
    }
  } : () -> ()
  func.return
}
