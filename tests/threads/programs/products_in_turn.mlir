// Two agents multiply every other pair of tiles of a queue, and each stores its sum: products overlap with nobody's wait.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!q = !nv_tileaa.queue<[!a, !b], depth = 4>
!m = memref<?x?xf16>
func.func @f(%x: !m, %w: !m, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %all = arith.muli %n, %c2 : index
  %pairs = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %all step %c1 {
      %a = nv_tileaa.tiled_load %x[%c0, %k] : (!m, index, index) -> !a
      %b = nv_tileaa.tiled_load %w[%k, %c0] : (!m, index, index) -> !b
      nv_tileaa.queue.put %pairs, %a, %b : (!q, !a, !b) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !c
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %stage = arith.muli %k, %c2 : index
      %a, %b = nv_tileaa.queue.get %pairs[%stage] : (!q, index) -> (!a, !b)
      %d = nv_tileaa.dot %a, %b, %acc : (!a, !b, !c) -> !c
      scf.yield %d : !c
    }
    nv_tileaa.tiled_store %y[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  }, {
    %zero = arith.constant dense<0.0> : !c
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %twice = arith.muli %k, %c2 : index
      %stage = arith.addi %twice, %c1 : index
      %a, %b = nv_tileaa.queue.get %pairs[%stage] : (!q, index) -> (!a, !b)
      %d = nv_tileaa.dot %a, %b, %acc : (!a, !b, !c) -> !c
      scf.yield %d : !c
    }
    nv_tileaa.tiled_store %z[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
