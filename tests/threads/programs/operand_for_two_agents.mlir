#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x64xf16, #smem>
!c = tensor<64x64xf32>
!qa = !nv_tileaa.queue<[!a], depth = 2>
!qb = !nv_tileaa.queue<[!b], depth = 2>
!m = memref<?x?xf16>
func.func @f(%x: !m, %v: !m, %w: !m, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %as = nv_tileaa.create_queue : () -> !qa
  %os = nv_tileaa.create_queue : () -> !qa
  %bs = nv_tileaa.create_queue : () -> !qb
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %a = nv_tileaa.tiled_load %x[%c0, %k] : (!m, index, index) -> !a
      %o = nv_tileaa.tiled_load %v[%c0, %k] : (!m, index, index) -> !a
      %b = nv_tileaa.tiled_load %w[%k, %c0] : (!m, index, index) -> !b
      nv_tileaa.queue.put %as, %a : (!qa, !a) -> ()
      nv_tileaa.queue.put %os, %o : (!qa, !a) -> ()
      nv_tileaa.queue.put %bs, %b : (!qb, !b) -> ()
    }
  }, {
    %zero = arith.constant dense<0.0> : !c
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %a = nv_tileaa.queue.get %as : (!qa) -> !a
      %b = nv_tileaa.queue.get %bs : (!qb) -> !b
      %d = nv_tileaa.dot %a, %b, %acc : (!a, !b, !c) -> !c
      scf.yield %d : !c
    }
    nv_tileaa.tiled_store %y[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  }, {
    %zero = arith.constant dense<0.0> : !c
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %a = nv_tileaa.queue.get %os : (!qa) -> !a
      %b = nv_tileaa.queue.get %bs : (!qb) -> !b
      %d = nv_tileaa.dot %a, %b, %acc : (!a, !b, !c) -> !c
      scf.yield %d : !c
    }
    nv_tileaa.tiled_store %z[%c0, %c0], %sum : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
