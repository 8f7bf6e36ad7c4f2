#smem = #nv_tileas.layout<smem>
!s = tensor<8x32xf32, #smem>
!t = tensor<8x32xf32>
!q = !nv_tileaa.queue<[!s], depth = 2>
func.func @f(%x: memref<?x?xf32>, %w: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : !t
  %qx = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    %first = nv_tileaa.tiled_load %w[%c1, %c0] : (memref<?x?xf32>, index, index) -> !t
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.tiled_load %x[%k, %c0] : (memref<?x?xf32>, index, index) -> !s
      nv_tileaa.queue.put %qx[%k], %u : (!q, index, !s) -> ()
    }
    nv_tileaa.tiled_store %z[%c0, %c0], %first : (memref<?x?xf32>, !t, index, index) -> ()
  }, {
    %sum = scf.for %j = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (!t) {
      %v = nv_tileaa.tiled_load %w[%j, %c0] : (memref<?x?xf32>, index, index) -> !t
      %more = arith.addf %acc, %v : !t
      scf.yield %more : !t
    }
    scf.for %k = %c0 to %n step %c1 {
      %u = nv_tileaa.queue.get %qx[%k] : (!q, index) -> !s
      %v = nv_tileas.convert_layout %u : (!s) -> !t
      %other = nv_tileaa.tiled_load %w[%k, %c0] : (memref<?x?xf32>, index, index) -> !t
      %part = arith.addf %v, %other : !t
      %whole = arith.addf %part, %sum : !t
      nv_tileaa.tiled_store %y[%k, %c0], %whole : (memref<?x?xf32>, !t, index, index) -> ()
    }
  } : () -> ()
  func.return
}
