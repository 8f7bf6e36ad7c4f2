// A product by hand: one agent loads both operands into a queue of three slots, the other multiplies, and adds a bias.
#smem = #nv_tileas.layout<smem>
!a = tensor<64x16xf16, #smem>
!b = tensor<16x32xf16, #smem>
!c = tensor<64x32xf32>
!q = !nv_tileaa.queue<[!a, !b], depth = 3>
func.func @f(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %bias: memref<?xf32>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !c
  %queue = nv_tileaa.create_queue : () -> !q
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    scf.for %k = %c0 to %n step %c1 {
      %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !a
      %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !b
      nv_tileaa.queue.put %queue[%k], %at, %bt : (!q, index, !a, !b) -> ()
    }
  }, {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!c) {
      %at, %bt = nv_tileaa.queue.get %queue[%k] : (!q, index) -> (!a, !b)
      %next = nv_tileaa.dot %at, %bt, %acc : (!a, !b, !c) -> !c
      scf.yield %next : !c
    }
    %row = nv_tileaa.tiled_load %bias[%c0] : (memref<?xf32>, index) -> tensor<32xf32>
    %deep = nv_tileaa.expand_dims %row : (tensor<32xf32>) -> tensor<1x32xf32>
    %wide = nv_tileaa.broadcast %deep : (tensor<1x32xf32>) -> !c
    %biased = arith.addf %sum, %wide : !c
    nv_tileaa.tiled_store %c[%c0, %c0], %biased : (memref<?x?xf32>, !c, index, index) -> ()
  } : () -> ()
  func.return
}
