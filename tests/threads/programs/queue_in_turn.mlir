// Two agents take the tiles of a queue in turn: one those of even numbers, the other one those of odd numbers.
#smem = #nv_tileas.layout<smem>
!s = tensor<8x32xf32, #smem>
!t = tensor<8x32xf32>
!q = !nv_tileaa.queue<[!s], depth = 2>
func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %qx = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qx[%k], %u : (!q, index, !s) -> ()
    }
  }, {
    scf.for %k = %c0 to %n step %c2 {
      %u = nv_tileaa.queue.get %qx[%k] : (!q, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      nv_tileaa.tiled_store %y[%k, %c0], %v : (memref<?x?xf32>, !t, index, index) -> ()
    }
  }, {
    scf.for %k = %c1 to %n step %c2 {
      %u = nv_tileaa.queue.get %qx[%k] : (!q, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      %w = arith.addf %v, %v : !t
      nv_tileaa.tiled_store %z[%k, %c0], %w : (memref<?x?xf32>, !t, index, index) -> ()
    }
  } : () -> ()
  func.return
}
